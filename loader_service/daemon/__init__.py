"""The daemon: one process, one loop, and the resources that it owns. Knows no frame and no TensorFlow."""
