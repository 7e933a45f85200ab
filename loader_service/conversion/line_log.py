"""A log of a conversion: lines of JSON that outlive any kill, and the one rule for all of them. Knows no conversion.

A line says that something is done, and is written when it is. One that a kill has cut off is none, and is cut away
before the next is written. A line that has files renamed is on disk before they are; of others the content is compared
with its checksum when a run goes on, so nobody waits for the disk at each of them.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from typing import Any


class LineLog:
    """A log that is open for reading and writing; a context manager that closes it.

    Parameters
    ----------
    descriptor
        Of the file; it is this one's from now on.
    take
        Called with each whole line, in order; ValueError, KeyError or TypeError for one that is none of the log: it is
        cut away, with all that follow.
    """

    def __init__(self, descriptor: int, take: Callable[[dict[str, Any]], object]) -> None:
        self._descriptor = descriptor
        whole = 0
        with os.fdopen(os.dup(descriptor), "rb") as file:
            file.seek(0)
            for line in file:
                try:
                    if not line.endswith(b"\n"):
                        break
                    take(json.loads(line))
                except (ValueError, KeyError, TypeError):
                    break
                whole += len(line)
        os.ftruncate(descriptor, whole)
        os.lseek(descriptor, whole, os.SEEK_SET)

    def __enter__(self) -> LineLog:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        os.close(self._descriptor)

    def clear(self) -> None:
        """Forget all lines."""
        os.ftruncate(self._descriptor, 0)
        os.lseek(self._descriptor, 0, os.SEEK_SET)

    def write(self, lines: Iterable[dict[str, Any]], *, sync: bool = False) -> None:
        """Add lines; with `sync` they, and all before them, are on disk when this returns. Raises OSError."""
        data = memoryview(b"".join(json.dumps(line).encode("ascii") + b"\n" for line in lines))
        while data:
            data = data[os.write(self._descriptor, data) :]
        if sync:
            os.fsync(self._descriptor)
