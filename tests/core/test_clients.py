"""Clients that get lost, overreach or compete, told by the whole list of what the scheduler answers."""

from __future__ import annotations

import pytest

from loader_service.core import effects as a
from loader_service.core import events as e
from loader_service.core.effects import Send
from loader_service.protocol import messages as m
from tests.core.desk import EVAL, TRAIN, Desk, failed, orders, ready, refused, retired, send


def test_a_lost_client_takes_its_streams_along_and_nobody_elses(desk: Desk) -> None:
    desk.open(stream=2, client=b"eval")
    desk.want(5)
    desk.end(1, 2)
    desk.end(2, 1)
    assert desk.want(1, stream=2, client=b"eval") == [send(1, 4, (1,), slot=20), send(2, 3, (0,), slot=20)]
    assert desk.lose(b"train") == retired(1, 10)
    desk.end(1, 4)
    assert desk.end(2, 3) == [Send(EVAL, m.Ready(2, 1, 20, 2, 2))]
    assert desk.release(2, stream=2, client=b"eval") == []


def test_tasks_of_a_lost_client_that_wait_are_dropped_and_those_given_end_quietly(desk: Desk) -> None:
    desk.open(stream=2, client=b"eval", slots=3)
    for want in (1, 2, 3):
        desk.want(want, stream=2, client=b"eval")
    desk.want(5)
    assert desk.lose(b"eval") == retired(2, 20, 21, 22)
    assert desk.end(1, 2) == [send(1, 8, (1,))]
    assert desk.end(2, 1) == [send(2, 7, (0,))]
    assert desk.end(1, 4) == desk.end(2, 3) == []
    desk.end(1, 8)
    assert desk.end(2, 7) == [ready(5, lease=1)]


def test_a_worker_that_dies_with_tasks_of_a_lost_client_leaves_nothing_to_redo(desk: Desk) -> None:
    desk.want(5)
    desk.lose(b"train")
    assert desk.exit(1) == [a.StartWorker(3)]
    assert desk.service.counters.rows_reassigned == 0


def test_a_closed_stream_is_retired_with_all_its_slots(desk: Desk) -> None:
    desk.want(5)
    assert desk.close(1) == retired(1, 10)
    assert desk.streams() == []


def test_an_unknown_client_that_is_lost_changes_nothing(desk: Desk) -> None:
    assert desk.happen(e.ClientEnded(b"nobody")) == []


_FOREIGN = "stream 1 is not open for this client; open a stream first"


@pytest.mark.parametrize(
    "message",
    [
        m.Want(1, 6, 0, 6),
        m.Forget(1, 5),
        m.Release(1, 1),
        m.CloseStream(1),
    ],
)
def test_another_clients_stream_is_refused_and_untouched(desk: Desk, message: m.FromClient) -> None:
    desk.want(5)
    desk.end(1, 2)
    desk.end(2, 1)
    before = desk.streams()
    assert desk.hear(EVAL, message) == [refused(_FOREIGN, b"eval")]
    assert desk.streams() == before
    assert desk.service.counters.messages_refused == 1


def test_a_lease_released_twice_is_refused_the_second_time(desk: Desk) -> None:
    desk.want(5)
    desk.end(1, 2)
    desk.end(2, 1)
    desk.release(1)
    assert desk.release(1) == [refused("lease 1 of stream 1 is not out: released before, or never given")]


def test_a_lease_released_twice_leaves_the_other_leases_alone() -> None:
    desk = Desk(workers=1, files=1)
    desk.open(slots=2, files=(0,))
    for want in (1, 2):
        desk.want(want)
        desk.end(1, want)
    desk.release(1)
    assert desk.release(1) == [refused("lease 1 of stream 1 is not out: released before, or never given")]
    assert desk.streams()[0].slots_leased == 1
    assert desk.release(2) == []


@pytest.mark.parametrize(("epoch", "step"), [(0, 100), (0, -1), (-1, 0)])
def test_a_want_of_a_step_that_no_epoch_has_fails_and_leaves_nothing(desk: Desk, epoch: int, step: int) -> None:
    words = f"want 5 of stream 1: epoch {epoch} has no step {step}; an epoch has 100 steps"
    assert desk.hear(TRAIN, m.Want(1, 5, epoch, step)) == [failed(5, "ConfigError", words)]
    assert desk.service.counters.requests_refused == 1
    assert desk.scheduler.idle


def test_more_wants_than_a_stream_may_have_are_refused(desk: Desk) -> None:
    for want in (1, 2, 3, 4):
        desk.want(want)
    assert desk.want(5) == [refused("want 5 of stream 1: 4 wants are open for 1 slots; release some first")]
    desk.forget(4)
    assert desk.want(5) == []


def test_streams_share_the_workers_in_turns() -> None:
    desk = Desk(workers=1, files=1)
    desk.open(stream=1, client=b"train", slots=4, files=(0,))
    desk.open(stream=2, client=b"eval", slots=4, files=(0,))
    for want in range(4):
        desk.want(want)
    for want in range(4):
        desk.want(want, stream=2, client=b"eval")
    streams = []
    for task in (1, 2, 5, 3, 6, 4):
        streams += [given.stream for _, given in orders(desk.end(1, task))]
    assert streams == [2, 1, 2, 1, 2, 2]


def test_a_copy_of_a_want_that_comes_after_its_batch_was_returned_is_not_made_again(desk: Desk) -> None:
    desk.want(5)
    desk.end(1, 2)
    desk.end(2, 1)
    desk.release(1)
    assert desk.want(5) == []
    assert desk.want(6) != []
