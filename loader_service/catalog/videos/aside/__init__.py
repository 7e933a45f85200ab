"""What is never a field: references, structs, pickled objects, second names of what is one already."""
