"""Labels and classes: from CSV files, lists and folders, as numbers. Knows no HDF5."""
