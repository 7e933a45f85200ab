"""Reads HDF5 files: their datasets, where bytes lie in the file, and the plain way to them. Knows no video."""
