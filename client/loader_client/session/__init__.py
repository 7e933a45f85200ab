"""What a client wants of a service and what has come of it, over restarts; pure: messages and times in, effects out."""
