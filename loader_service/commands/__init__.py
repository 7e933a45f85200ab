"""The commands that start a service, look at it, ask of it, and look at files: what people type and read."""
