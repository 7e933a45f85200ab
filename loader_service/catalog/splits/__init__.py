"""Splits of one file: found by names, by an attribute or as lists of names, and never mixed."""
