"""Packs videos, pictures and records of other formats into HDF5 files that the service reads fastest."""
