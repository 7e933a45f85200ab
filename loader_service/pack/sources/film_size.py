"""How large a film says that it is, which tells whether it was cut off. Decodes nothing."""

from __future__ import annotations

#: What the first bytes of a film must hold for that.
HEAD_BYTES = 4096

#: The elements that a Matroska file consists of (RFC 8794, 11.2.1; RFC 9559, 5.1).
_EBML, _SEGMENT = b"\x1a\x45\xdf\xa3", b"\x18\x53\x80\x67"


def stated_bytes(head: bytes) -> int:
    """Return how many bytes a Matroska, WebM or AVI file must have at least, by its first ones; 0 if it says nothing.

    References
    ----------
    RFC 8794, section 4: sizes of elements. "AVI RIFF File Reference", Microsoft: the sizes of chunks.
    """
    if head[:4] == b"RIFF" and head[8:11] == b"AVI":
        size = int.from_bytes(head[4:8], "little")
        # It counts what follows, or all, as programs differ. That large is what a pipe leaves.
        return 0 if size >= 2**31 else size
    if head[:4] != _EBML:
        return 0
    size, place = _size_at(head, 4)
    segment = place + size
    if not size or head[segment : segment + 4] != _SEGMENT:
        return 0
    size, place = _size_at(head, segment + 4)
    return place + size if size else 0


def _size_at(head: bytes, place: int) -> tuple[int, int]:
    """Return the size of an element, 0 if it is not known, and where its content begins."""
    first = head[place] if place < len(head) else 0
    length = 9 - first.bit_length()
    if not first or place + length > len(head):
        return 0, place
    size = int.from_bytes(head[place : place + length], "big") & (2 ** (7 * length) - 1)
    return (0 if size == 2 ** (7 * length) - 1 else size), place + length
