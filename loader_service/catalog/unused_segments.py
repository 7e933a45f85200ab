"""Leaves out of JPEGs and PNGs what no decoder here uses, and what could keep it from decoding the picture. Pure."""

from __future__ import annotations

from loader_service.catalog.codecs import PNG_SIGNATURE, START_OF_SCAN

#: What the codec says of a colour profile of which parts are missing, or come twice.
BAD_PROFILE = "bad ICC marker"

#: APP2, and how such a segment begins that holds part of a profile.
_PROFILE_MARKER, _PROFILE = 0xE2, b"ICC_PROFILE\0"

#: The first chunk of an animated PNG, and all that only an animation has (PNG, third edition, 11.3.4).
_ANIMATION, _OF_ANIMATIONS = b"acTL", frozenset({b"acTL", b"fcTL", b"fdAT"})


def without_profile(jpeg: bytes) -> bytes:
    """Return a JPEG without the segments of its colour profile; the same bytes where none comes before its scan.

    No decoder here uses a profile. One with parts that are missing, or come twice, is no damage of the picture.

    References
    ----------
    ICC.1:2022, B.4: a profile in a JPEG, in segments APP2.
    """
    kept, at = [jpeg[:2]], 2
    while jpeg[at : at + 1] == b"\xff" and jpeg[at : at + 2] != START_OF_SCAN and len(jpeg) >= at + 4:
        end = at + 2 + int.from_bytes(jpeg[at + 2 : at + 4], "big")
        if not jpeg.startswith(_PROFILE, at + 4) or jpeg[at + 1] != _PROFILE_MARKER:
            kept.append(jpeg[at:end])
        at = end
    return b"".join((*kept, jpeg[at:]))


def without_animation(png: bytes) -> bytes:
    """Return an animated PNG as the one picture that it is for a decoder that knows no animations; others as they are.

    Which picture of an animation a library gives differs from version to version: of OpenCV, since 4.11 the first one
    of the animation, which may be another.
    """
    if _ANIMATION not in png[: png.find(b"IDAT") + 1]:
        return png
    kept, at = [PNG_SIGNATURE], len(PNG_SIGNATURE)
    while len(png) >= at + 12:
        end = at + 12 + int.from_bytes(png[at : at + 4], "big")
        if png[at + 4 : at + 8] not in _OF_ANIMATIONS:
            kept.append(png[at:end])
        at = end
    return b"".join((*kept, png[at:]))
