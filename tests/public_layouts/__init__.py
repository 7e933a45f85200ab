"""HDF5 files as public projects write them, and what the service must make of each without being told."""
