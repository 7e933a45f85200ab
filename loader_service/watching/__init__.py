"""What a service does, for people and programs, from its `Status` messages alone."""
