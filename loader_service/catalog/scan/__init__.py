"""Makes a catalog of files: in processes of their own, file by file, and put together."""
