"""Ranges of objects that are read next, in their order: fetched ahead in threads, those that touch as one."""

from __future__ import annotations

from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

#: Ranges with less between them are fetched together, up to so many bytes.
_GAP_BYTES, _MOST_BYTES = 64 * 2**10, 8 * 2**20

#: Requests in flight at most, and bytes that are fetched and not used yet; a larger one goes alone.
_AT_A_TIME, _HELD_BYTES = 16, 32 * 2**20


class Range(NamedTuple):
    """Some bytes of an object."""

    url: str
    offset: int
    length: int

    @property
    def end(self) -> int:
        """The byte after its last."""
        return self.offset + self.length


class RangesAhead:
    """Fetches what is said to be read next; used by one thread.

    Parameters
    ----------
    fetch
        Reads a range, in any thread, and raises what `take` shall raise.
    """

    def __init__(self, fetch: Callable[[Range], bytes]) -> None:
        self._fetch = fetch
        self._threads: ThreadPoolExecutor | None = None
        self._next: deque[Range] = deque()
        self._begun: deque[tuple[Range, Future[bytes]]] = deque()

    def expect(self, ranges: Iterable[Range]) -> None:
        """Begin to fetch ranges, in the order in which they are read; what was expected before is forgotten."""
        self._begun.clear()
        self._next = deque(together(ranges))
        self._go_on()

    def take(self, wanted: Range) -> bytes | None:
        """Return the bytes of a range; None where it was not expected. What was expected before it is let go."""
        if not any(_holds(each, wanted) for each, _ in self._begun):
            if not any(_holds(each, wanted) for each in self._next):
                return None
            self._begun.clear()
            while not _holds(self._next[0], wanted):
                self._next.popleft()
        while self._begun and not _holds(self._begun[0][0], wanted):
            self._begun.popleft()
        self._go_on()
        whole, coming = self._begun[0]
        begin = wanted.offset - whole.offset
        return coming.result()[begin : begin + wanted.length]

    def close(self) -> None:
        """Forget what was expected, and end the threads; it can be used again."""
        self.expect(())
        if self._threads is not None:
            self._threads.shutdown(cancel_futures=True)
            self._threads = None

    def _go_on(self) -> None:
        held = sum(each.length for each, _ in self._begun)
        while self._next and len(self._begun) < _AT_A_TIME:
            if self._begun and held + self._next[0].length > _HELD_BYTES:
                return
            following = self._next.popleft()
            if self._threads is None:
                self._threads = ThreadPoolExecutor(_AT_A_TIME)
            self._begun.append((following, self._threads.submit(self._fetch, following)))
            held += following.length


def together(ranges: Iterable[Range]) -> list[Range]:
    """Return ranges in their order, as one those that follow each other closely."""
    found: list[Range] = []
    for each in ranges:
        last = found[-1] if found else None
        near = last is not None and each.url == last.url and 0 <= each.offset - last.end <= _GAP_BYTES
        if last is not None and near and each.end - last.offset <= _MOST_BYTES:
            found[-1] = last._replace(length=each.end - last.offset)
        elif each.length:
            found.append(each)
    return found


def _holds(whole: Range, part: Range) -> bool:
    return whole.url == part.url and whole.offset <= part.offset and part.end <= whole.end
