"""Which datasets of one file make a video, and what fields it has. Knows no other file."""
