"""A data set that writes itself and a small training on it: `python -m loader_client.demo`."""
