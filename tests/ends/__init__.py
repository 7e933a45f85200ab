"""Both pure ends against each other: a real `Service`, real `Session`s, and a model of all that is between them."""
