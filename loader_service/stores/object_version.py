"""What tells one version of an object from the next. Asks nobody."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass


@dataclass(frozen=True)
class ObjectVersion:
    """A version of an object.

    Attributes
    ----------
    size_bytes
        Its size.
    tag
        Its ETag, or what its store says in place of one, such as the time of its last change.
    """

    size_bytes: int
    tag: str

    @property
    def is_etag(self) -> bool:
        """Whether a request can ask for this version: a weak ETag matches nothing."""
        return self.tag.startswith('"')

    @property
    def number(self) -> int:
        """Stands for the tag in a catalog, in 63 bits."""
        return int.from_bytes(hashlib.blake2b(self.tag.encode(), digest_size=8).digest(), "little") >> 1
