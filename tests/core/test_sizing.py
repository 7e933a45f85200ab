"""A service sizes itself from the counters: it looks each second while a stream is open, and says why."""

from __future__ import annotations

from dataclasses import replace

import pytest

from loader_service.core import events as e
from loader_service.core.effects import Effect, LookAtMachine, Note, Send, StartWorker
from loader_service.protocol import messages as m
from loader_service.protocol.totals import TrainerTimes
from loader_service.worker_bounds import WorkerBounds
from tests.core.desk import LIMITS, TRAIN, Desk


@pytest.fixture
def desk() -> Desk:
    """Two workers on a host of four cores, and no stream."""
    return Desk(workers=2, limits=replace(LIMITS, cores=4, most_workers=64))


def scale(desk: Desk, text: str) -> list[Effect]:
    """Ask for bounds, as a client does."""
    bounds = WorkerBounds.of(text)
    return desk.hear(TRAIN, m.Scale(7, bounds.least, None if bounds.is_fixed else bounds.most or 0))


def live(desk: Desk, seconds: int, waiting: float, room: int = 64) -> list[Effect]:
    """Let a trainer take five steps a second for each worker, and wait for a share of its time."""
    heard: list[Effect] = []
    stream = next(iter(desk.scheduler.streams))
    for _ in range(seconds):
        desk.now += 1.0
        waited_s, observed_s = stream.clock.waiting_s + waiting, desk.now - stream.clock.opened_at
        desk.hear(TRAIN, m.Heartbeat((TrainerTimes(stream.number, waited_s, observed_s),)))
        stream.clock.steps += 5 * desk.service.workers_wanted
        answers = desk.happen(e.ClockTicked())
        if LookAtMachine() in answers:
            answers += desk.happen(e.MachineSeen(4, 2.0, room))
        heard += answers
        for each in answers:
            if isinstance(each, StartWorker):
                desk.ready(each.worker)
    return heard


def started(effects: list[Effect]) -> int:
    return sum(isinstance(each, StartWorker) for each in effects)


def test_a_fixed_number_is_never_looked_at(desk: Desk) -> None:
    desk.open()
    assert LookAtMachine() not in live(desk, 10, 0.9)
    assert desk.service.workers_wanted == 2


def test_without_a_stream_there_is_nothing_to_look_at(desk: Desk) -> None:
    scale(desk, "auto")
    desk.now = 5.0
    assert desk.happen(e.ClockTicked()) == []
    desk.open()
    assert LookAtMachine() in desk.happen(e.ClockTicked())


def test_bounds_are_told_as_they_are_taken(desk: Desk) -> None:
    done, note, *rest = scale(desk, "3..16")
    assert done == Send(TRAIN, m.Done(7, "2 → 3 workers, sized within 3..16"))
    assert note == Note("client train scales from 2 to 3 workers, sized within 3..16", is_fault=False)
    assert rest == [StartWorker(3)]


def test_bounds_that_the_host_does_not_bear_are_refused(desk: Desk) -> None:
    (refused,) = scale(desk, "2..65")
    assert isinstance(refused, Send)
    assert isinstance(refused.message, m.Refused)
    assert refused.message.message.startswith("workers=65; give 1 to 64")
    assert desk.service.workers_wanted == 2


def test_bounds_upside_down_are_refused(desk: Desk) -> None:
    (refused,) = desk.hear(TRAIN, m.Scale(7, 9, 3))
    assert isinstance(refused, Send)
    assert isinstance(refused.message, m.Refused)
    assert "the low bound must be" in refused.message.message


def test_a_trainer_that_waits_gets_more_up_to_the_cores_with_auto(desk: Desk) -> None:
    scale(desk, "auto")
    desk.open()
    heard = live(desk, 22, 0.5)
    assert started(heard) == 2
    assert desk.service.workers_wanted == 4
    changed = [each.line for each in heard if isinstance(each, Note) and "→" in each.line]
    assert changed[0].startswith("2 → 3 workers: the trainer waits 50% of its time, which takes ")
    assert changed[1].startswith("3 → 4 workers: ")


def test_more_than_memory_has_room_for_there_never_are(desk: Desk) -> None:
    scale(desk, "auto")
    desk.open()
    live(desk, 30, 0.5, room=3)
    assert desk.service.workers_wanted == 3


def test_bounds_of_the_users_own_may_exceed_the_cores(desk: Desk) -> None:
    scale(desk, "2..6")
    desk.open()
    live(desk, 14, 0.6)
    assert desk.service.workers_wanted > 2
    heard = live(desk, 30, 0.6)
    assert 2 <= desk.service.workers_wanted <= 6, heard


def test_a_number_of_ones_own_ends_the_sizing(desk: Desk) -> None:
    scale(desk, "auto")
    desk.open()
    live(desk, 3, 0.5)
    done, *_ = scale(desk, "2")
    assert done == Send(TRAIN, m.Done(7, "2 → 2 workers, no longer sized within auto"))
    assert LookAtMachine() not in live(desk, 20, 0.9)
    assert desk.service.workers_wanted == 2


def test_a_service_that_stops_starts_nobody(desk: Desk) -> None:
    scale(desk, "auto")
    desk.open()
    desk.now += 1.0
    assert LookAtMachine() in desk.happen(e.ClockTicked())
    desk.happen(e.StopWanted("enough"))
    assert started(desk.happen(e.MachineSeen(4, 0.0, 64))) == 0
    assert not desk.service.next_deadline() or LookAtMachine() not in desk.happen(e.ClockTicked())


def test_status_says_the_bounds_and_the_reason(desk: Desk) -> None:
    scale(desk, "2..3")
    desk.open()
    live(desk, 40, 0.5)
    (told,) = desk.happen(e.WorkersSeen(TRAIN, 9, {}))
    assert isinstance(told, Send)
    status = told.message
    assert isinstance(status, m.Status)
    assert (status.workers_wanted, status.workers_bounds) in {(2, "2..3"), (3, "2..3")}
    assert status.workers_why.startswith("the trainer waits 50% of its time, and ") or "brought" in status.workers_why
