"""Calls from other threads are over before the interpreter ends."""

from __future__ import annotations

import threading
import time

import pytest

from loader_client import calls
from loader_client.calls import Calls


class _Waiting:
    """Something that is called, and waits in there until it is closed."""

    def __init__(self, counter: Calls) -> None:
        self.closed, self.inside, self.left = threading.Event(), threading.Event(), threading.Event()
        self._counter = counter

    def call(self) -> None:
        with self._counter:
            self.inside.set()
            self.closed.wait(20)
            self.left.set()

    def close(self) -> None:
        self.closed.set()


def test_the_end_closes_what_is_called_and_waits_until_its_calls_have_ended() -> None:
    counter = Calls()
    waiting = _Waiting(counter)
    counter.close_at_end(waiting)
    thread = threading.Thread(target=waiting.call)
    thread.start()
    assert waiting.inside.wait(20)
    counter.end()
    assert waiting.left.is_set()
    thread.join()


def test_the_end_does_not_wait_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "_PATIENCE_S", 0.2)
    counter = Calls()
    with counter:
        begun = time.monotonic()
        counter.end()
    assert 0.2 <= time.monotonic() - begun < 10
