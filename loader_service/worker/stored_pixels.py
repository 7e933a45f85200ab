"""Takes the pixels of one picture out of bytes that say their own shape; knows no file, crop or slot."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from loader_service.catalog.codecs import PIXELS_HEADER_BYTES, describe_bytes, pixels_shape
from loader_service.errors import DecodeError
from loader_service.worker.decode import DecodeLimits, check_size


def stored_pixels(data: bytes, limits: DecodeLimits) -> NDArray[np.uint8]:
    """Return a view of the pixels behind a header of `codecs.pixels_header`, ``(height, width, 1 or 3) uint8``.

    Raises
    ------
    DecodeError
        When the bytes are something else, have another length than their shape says, or exceed a limit.
    """
    shape = pixels_shape(data)
    if shape is None or len(data) - PIXELS_HEADER_BYTES != shape[0] * shape[1] * shape[2] or shape[2] not in {1, 3}:
        raise DecodeError(
            f"the frame is {describe_bytes(data)}, expected raw pixels of the shape beside them; write them again"
        )
    check_size(len(data), shape[:2], limits)
    return np.frombuffer(data, np.uint8, offset=PIXELS_HEADER_BYTES).reshape(shape)
