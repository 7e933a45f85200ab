"""The scheduler: a pure state machine. Nothing here opens, reads, waits, or asks what time it is."""
