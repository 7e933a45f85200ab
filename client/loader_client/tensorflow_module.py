"""TensorFlow, imported by this file and by no other; where it is missing, one line says what to install."""

from __future__ import annotations

try:
    import tensorflow as tf
except ModuleNotFoundError as error:
    if error.name != "tensorflow":  # it is there, and lacks something itself
        raise
    raise ModuleNotFoundError(
        "loader_client.dataset and what belongs to it need TensorFlow, which this Python does not have: "
        "pip install 'loader-service[tensorflow]'; loader_client.connect(...).batches(...) gives NumPy arrays without",
        name="tensorflow",
    ) from None

__all__ = ["tf"]
