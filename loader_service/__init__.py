"""The service: daemon, workers, catalog and plan. Never imports TensorFlow."""

__version__ = "0.1.0"
