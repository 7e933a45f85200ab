"""Tells encoded pictures that are never shown, and only serve to predict others. Decodes nothing."""

from __future__ import annotations


def is_hidden(codec: str, packet: memoryview) -> bool:
    """Tell whether a packet of a film, which is not empty, holds a picture that is not shown.

    References
    ----------
    RFC 6386, 9.1: ``show_frame`` of VP8. VP9 Bitstream & Decoding Process Specification, 6.2 and Annex B: that of VP9,
    and superframes, which hold a picture that is shown.
    """
    if codec in {"vp8", "libvpx"}:
        return not packet[0] & 0x10
    if codec not in {"vp9", "libvpx-vp9"} or packet[-1] & 0xE0 == 0xC0:
        return False
    profile_3 = packet[0] & 0x30 == 0x30  # which has one bit more before these
    shows_existing, shows = (0x04, 0x01) if profile_3 else (0x08, 0x02)
    return not packet[0] & (shows_existing | shows)
