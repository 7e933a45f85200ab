"""Makes the values of videos alike: what is a list in one of them is a list in all, also of one entry or none.

Formats such as `tf.train.Example` have lists alone, so one entry may be a number or a list that happens to be short.
That is seen when all videos of a file are known, and before their values are written.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from loader_service.pack.records import PackedVideo, of_plain, to_plain


class AlikeValues:
    """What is a list in the videos up to now."""

    def __init__(self) -> None:
        self._types: dict[str, Any] = {}

    def see(self, record: PackedVideo) -> None:
        """Take note of the values of a video."""
        for name, value in record.attributes.items():
            if isinstance(value, (list, dict)):
                found = of_plain(value)
                if found.ndim and found.size:
                    self._types.setdefault(name, found.dtype)

    def alike(self, record: PackedVideo) -> PackedVideo:
        """Return a video with lists where others have some."""
        changed = {}
        for name in record.attributes.keys() & self._types.keys() - {"label"}:
            found = of_plain(record.attributes[name])
            if not found.ndim:
                changed[name] = to_plain(found.reshape(1))
            elif not found.size:
                changed[name] = to_plain(found.astype(self._types[name]))
        return replace(record, attributes=record.attributes | changed) if changed else record


def values_alike(records: list[PackedVideo], alike: AlikeValues) -> list[PackedVideo]:
    """Return the videos of a shard, alike with each other and with those that were seen before."""
    for record in records:
        alike.see(record)
    return [alike.alike(record) for record in records]
