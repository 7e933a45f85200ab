"""The page in a browser: a process of its own, and a client of the service like any other."""
