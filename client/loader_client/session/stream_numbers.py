"""Streams by the numbers that one run of the service gives them, and those that are to be closed there. Pure."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from loader_client.session.stream_wants import StreamWants

#: Streams that were closed and are closed again when the same run of the service welcomes us again.
_CLOSED_KEPT = 1024


class StreamNumbers:
    """The streams that a run of the service has opened for us."""

    def __init__(self) -> None:
        self._streams: dict[int, StreamWants] = {}
        self._closed: deque[int] = deque(maxlen=_CLOSED_KEPT)

    def __len__(self) -> int:
        return len(self._streams)

    @property
    def closed(self) -> Iterable[int]:
        """Numbers of the streams that were closed: the service need not have heard of it."""
        return self._closed

    def get(self, number: int) -> StreamWants | None:
        """Return the stream with a number."""
        return self._streams.get(number)

    def add(self, number: int, stream: StreamWants) -> None:
        """Take note that the service has opened a stream, under this number alone."""
        for before in self.of(stream):
            del self._streams[before]
        self._streams[number] = stream

    def of(self, stream: StreamWants) -> list[int]:
        """Return the numbers of a stream: one, or none."""
        return [number for number, each in self._streams.items() if each is stream]

    def close(self, number: int) -> None:
        """Take note that a stream is to be closed, be it ours or nobody's."""
        self._streams.pop(number, None)
        self._closed.append(number)

    def clear(self) -> None:
        """Begin with another run of the service, where these numbers mean nothing."""
        self._streams.clear()
        self._closed.clear()
