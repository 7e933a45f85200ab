"""What daemon, workers and clients say to each other; the only room that all three share."""
