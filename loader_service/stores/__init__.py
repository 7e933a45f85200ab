"""Reads files that lie in object stores and behind web servers, by ranges. Knows no HDF5, no video and no catalog."""
