"""What a file without encoded frames holds: videos, pictures or rows of arrays, and what is asked of them."""
