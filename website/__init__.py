"""Builds the site of docs/; no part of the product."""
