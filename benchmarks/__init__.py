"""Measures loader-service beside its peers; `python -m benchmarks` runs it all. Nothing in the product imports it."""
