"""Where videos that lie end to end begin: by lists, lengths, flags, and what each row says."""
