"""What `inspect` says of a file beside its fields: what they may be besides, what is unused, what was never written."""
