"""The server's end of a connection: one on which no whole request comes in time is closed. Knows no page, no token."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

#: How long the head of a request may take, from the connection or the answer before it, in seconds.
HEAD_S = 20.0

#: Connections that may wait for a head at a time: beyond, the one that has waited longest is closed.
MOST_WAITING = 128


class PromptConnection(H11Protocol):
    """HTTP/1.1, for peers that ask within a time, however many others do not: they hold no place for long."""

    #: Those that wait for a head, the longest first; all are of one server's loop.
    _waiting: dict[PromptConnection, asyncio.TimerHandle] = {}  # noqa: RUF012 - the server makes one of these for each

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for the first request."""
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Take in what came; a request that is being answered waits for nothing."""
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self._wait_no_more()

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        super().on_response_complete()
        if not self.transport.is_closing():
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget it."""
        self._wait_no_more()
        super().connection_lost(exc)

    def _wait(self) -> None:
        self._wait_no_more()
        self._waiting[self] = self.loop.call_later(HEAD_S, self.leave)
        if len(self._waiting) > MOST_WAITING:
            next(iter(self._waiting)).leave()

    def _wait_no_more(self) -> None:
        timer = self._waiting.pop(self, None)
        if timer is not None:
            timer.cancel()

    def leave(self) -> None:
        """Close it."""
        self._wait_no_more()
        self.transport.close()
