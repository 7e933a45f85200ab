"""CRC32C, as TFRecord files have it: plain and masked. The one place that knows which package computes it."""

from __future__ import annotations

from loader_service.formats.damage import missing_package

try:
    import google_crc32c
except ImportError as _error:
    raise missing_package("google-crc32c", "a checksum (CRC32C)") from _error

#: What TFRecord adds to a rotated checksum, so that a checksum of data that hold checksums stays useful.
_MASK_DELTA = 0xA282EAD8


def crc32c(data: bytes, before: int = 0) -> int:
    """Return the CRC32C of some bytes, 0 to 2³² - 1; `before` is that of the bytes that come before them.

    References
    ----------
    RFC 3720, B.4: the Castagnoli polynomial.
    """
    value: int = google_crc32c.extend(before, data) if before else google_crc32c.value(data)
    return value


def masked_crc32c(data: bytes) -> int:
    """Return the checksum of some bytes as TFRecord writes it: rotated right by 15 bits, plus a constant."""
    value: int = google_crc32c.value(data)
    return ((value >> 15 | value << 17) + _MASK_DELTA) & 0xFFFFFFFF
