"""A stream with an index tells the service what its steps hold: ahead, again after a restart, and never what is not."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from loader_client.connecting import connect
from loader_client.connection import Connection
from loader_client.indexes import AnnouncedIndex, Index, RowIndex
from loader_client.request import Request
from loader_client.stream import Stream
from loader_service.errors import ConfigError, LoaderError
from loader_service.protocol import messages as m
from loader_service.protocol.spec import Frame, Spec
from tests.client.scripted_service import ScriptedService

_SPEC = Spec(2, Frame(), shuffle=False, indexed=True, on_error="substitute", max_bad_samples=2)
_SOON_S = 60.0
_ENTRIES = np.arange(199, 99, -1)


class Scene:
    """A client with a stream of an index on a scripted service."""

    def __init__(self, service: ScriptedService, threads: ThreadPoolExecutor, index: Index) -> None:
        self.service = service
        self.threads = threads
        connecting = threads.submit(connect, service.endpoint)
        service.welcome()
        self.connection: Connection = connecting.result(_SOON_S)
        self.opening = threads.submit(self.connection.open, Request(_SPEC, index))
        service.open_stream()

    @property
    def stream(self) -> Stream:
        """The stream, once it is open."""
        return self.opening.result(_SOON_S)

    def fetch(self, step: int, epoch: int = 0) -> Future[Any]:
        """Have a step fetched."""
        stream = self.stream
        return self.threads.submit(lambda: int(stream.fetch(epoch, step)["index"][0]))

    def expect_want(self, step: int) -> m.Want:
        """Return the next want, which is of this step."""
        want = self.service.expect(m.Want)
        assert want.step == step
        return want


@contextmanager
def scene(index: Index, **options: Any) -> Iterator[Scene]:
    with ThreadPoolExecutor(4) as threads, ScriptedService(**options) as service:
        made = Scene(service, threads, index)
        with made.connection:
            yield made


def test_a_want_carries_the_samples_of_its_step_and_their_positions():
    with scene(RowIndex(_ENTRIES, _SPEC), prefetch=2) as play:
        fetching = play.fetch(0)
        wants = [play.expect_want(step) for step in range(3)]
        assert [(want.samples, want.positions) for want in wants] == [
            ((199, 198), (0, 1)),
            ((197, 196), (2, 3)),
            ((195, 194), (4, 5)),
        ]
        play.service.say(play.service.fill(wants[0], lease=1))
        assert fetching.result(_SOON_S) == 0
        assert play.stream.steps_per_epoch == 50  # of the index, not of the service's samples


def test_the_turn_of_an_epoch_is_that_of_the_index():
    with scene(RowIndex(_ENTRIES[:4], _SPEC), prefetch=2) as play:
        fetching = play.fetch(1)
        wants = [play.service.expect(m.Want) for _ in range(3)]
        assert [(want.epoch, want.step) for want in wants] == [(0, 1), (1, 0), (1, 1)]
        play.service.say(play.service.fill(wants[0], lease=1))
        assert fetching.result(_SOON_S) == 1


def test_an_entry_that_is_no_sample_is_an_error_before_anything_starts():
    with scene(RowIndex(_ENTRIES, _SPEC), samples=150) as play:
        with pytest.raises(ConfigError, match=r"index\[0\] is 199 \(50 entries .*150 samples, numbered 0 to 149"):
            play.opening.result(_SOON_S)
        assert play.service.expect(m.CloseStream) == m.CloseStream(1)


def test_a_new_service_is_told_again_what_the_wanted_steps_hold():
    with scene(RowIndex(_ENTRIES, _SPEC), prefetch=1) as play:
        fetching = play.fetch(7)
        before = [play.expect_want(7), play.expect_want(8)]
        play.service.forget_client()
        play.service.welcome()
        play.service.open_stream(stream=2)
        again = [play.expect_want(7), play.expect_want(8)]
        assert [(want.want, want.samples, want.positions) for want in again] == [
            (want.want, want.samples, want.positions) for want in before
        ]
        play.service.say(play.service.fill(again[0], lease=1))
        assert fetching.result(_SOON_S) == 7


def test_announced_steps_are_wanted_before_they_are_fetched():
    with scene(AnnouncedIndex(2), prefetch=2) as play:
        stream = play.stream
        for step in range(4):
            stream.announce(5, step, np.array([10 + step, 20]), 2 * step)
        wants = [play.expect_want(0), play.expect_want(1)]
        assert [(want.epoch, want.samples, want.positions) for want in wants] == [
            (5, (10, 20), (0, 1)),
            (5, (11, 20), (2, 3)),
        ]
        fetching = play.fetch(0, epoch=5)
        assert play.expect_want(2).samples == (12, 20)
        play.service.say(play.service.fill(wants[0], lease=1))
        assert fetching.result(_SOON_S) == 5000


def test_an_announced_entry_that_is_no_sample_is_an_error():
    says = "entry 7 of the index dataset is 150, and the service has 150 samples"
    with scene(AnnouncedIndex(2), samples=150) as play, pytest.raises(ConfigError, match=says):
        play.stream.announce(0, 3, np.array([149, 150]), 6)


def test_a_step_with_one_bad_sample_too_many_is_an_error_and_its_lease_is_returned(caplog):
    with scene(RowIndex(_ENTRIES[:6], _SPEC), prefetch=1) as play:
        for step, bad, lease in ((0, 1, 1), (1, 1, 2), (2, 1, 3)):
            fetching = play.fetch(step)
            want = play.service.expect(m.Want)
            while want.step != step:
                want = play.service.expect(m.Want)
            play.service.say(play.service.fill(want, lease=lease, substituted=bad))
            if step < 2:
                assert fetching.result(_SOON_S) == step
                assert play.service.expect(m.Release).lease == lease
        with pytest.raises(LoaderError, match=r"epoch 0, step 2: 3 samples of this epoch were bad .*max_bad_samples=2"):
            fetching.result(_SOON_S)
        assert play.service.expect(m.Release).lease == 3


def test_an_epoch_with_bad_samples_says_at_its_end_how_many(caplog):
    with scene(RowIndex(_ENTRIES[:2], _SPEC), prefetch=1) as play, caplog.at_level(logging.WARNING):
        fetching = play.fetch(0)
        play.service.say(play.service.fill(play.expect_want(0), lease=1, substituted=2))
        assert fetching.result(_SOON_S) == 0
    assert "epoch 0: 2 of 2 samples were bad and replaced" in caplog.text
