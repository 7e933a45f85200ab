"""A worker process: reads frames, decodes them, writes them into slots. Knows no client and no other worker."""
