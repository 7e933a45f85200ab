"""What users wrote themselves, sources and transforms: found, called, and checked. Knows no file and no worker."""
