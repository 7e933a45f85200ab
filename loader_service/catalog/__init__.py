"""Finds the videos in HDF5 files and keeps what it found in memory-mapped columns; knows no plan and no stream."""
