"""Catalogs and scans on disk: their columns, who uses them, and which are removed."""
