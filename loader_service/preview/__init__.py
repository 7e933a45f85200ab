"""Pictures of samples and videos for people, made in a process of its own."""
