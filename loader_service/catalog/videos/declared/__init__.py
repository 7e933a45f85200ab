"""The videos of a file as a schema declares them."""
