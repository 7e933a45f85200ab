"""A service with a cluster sizes its remote workers too: after those of its host, within bounds, and says why."""

from __future__ import annotations

from dataclasses import replace

import pytest

from loader_service.core import effects as a
from loader_service.core import events as e
from loader_service.protocol import messages as m
from loader_service.protocol.totals import TrainerTimes
from tests.core.desk import LIMITS, TRAIN, Desk, told


class Cluster:
    """A service of one worker and one core, with a cluster that has room for so many remote ones."""

    def __init__(self, room: int = 8) -> None:
        self.desk = Desk(workers=1, limits=replace(LIMITS, cores=1, most_workers=64, most_remote=8))
        self.desk.open()
        self.wanted, self.there, self._room, self._arrivals = 0, 0, room, 0

    def ask(self, least: int, most: int | None) -> list[a.Effect]:
        """Ask for remote workers, as a client does."""
        return self._heard(self.desk.hear(TRAIN, m.ScaleRemote(7, least, most)))

    def live(self, seconds: int, needed: float) -> list[a.Effect]:
        """Let a trainer live that so many workers keep busy: with fewer it waits for the rest of its time."""
        desk, effects = self.desk, list[a.Effect]()
        stream = next(iter(desk.scheduler.streams))
        for _ in range(seconds):
            desk.now += 1.0
            share = min(1.0, (1 + self.there) / needed)
            waited_s, observed_s = stream.clock.waiting_s + 1 - share, desk.now - stream.clock.opened_at
            desk.hear(TRAIN, m.Heartbeat((TrainerTimes(stream.number, waited_s, observed_s),)))
            stream.clock.steps += round(20 * share)
            for worker in desk.scheduler.staff:  # what is left of their time they have nothing to do
                worker.times.idle_since = None
                worker.times.idle_s += max(0.0, 1 - needed / (1 + self.there))
            answers = self._heard(desk.happen(e.ClockTicked()))
            if a.LookAtMachine() in answers:
                answers += self._heard(desk.happen(e.MachineSeen(1, 1.0, 64)))
            effects += answers
        return effects

    def _heard(self, effects: list[a.Effect]) -> list[a.Effect]:
        for each in effects:
            if isinstance(each, a.PlaceRemote):
                self.wanted = each.workers
        while self.there < min(self.wanted, self._room):
            self._arrivals += 1
            (admitted,) = self.desk.happen(e.RemoteCame(self._arrivals, "n1"))
            assert isinstance(admitted, a.AdmitRemote)
            self.desk.ready(admitted.worker)
            self.there += 1
        for each in effects:
            if isinstance(each, a.Send) and isinstance(each.message, m.Drain):
                self.desk.happen(e.WorkerExited(int(each.peer), "was told to go"))
                self.there -= 1
        return effects

    def status(self) -> m.Status:
        """Return what the service says of itself."""
        (said,) = told(self.desk.happen(e.WorkersSeen(TRAIN, 9, {})), m.Status)
        assert isinstance(said, m.Status)
        return said


def lines(effects: list[a.Effect]) -> list[str]:
    return [each.line for each in effects if isinstance(each, a.Note)]


def test_remote_workers_are_had_where_no_more_of_this_host_are_allowed_and_go_when_they_are_not_needed() -> None:
    cluster = Cluster()
    assert told(cluster.ask(0, 8), m.Done) == [m.Done(7, "0 → 0 remote workers, sized within 0..8")]
    more = cluster.live(120, needed=3.0)
    assert cluster.there == 2
    assert cluster.desk.service.workers_wanted == 1
    assert any(each.startswith("0 → 1 remote worker: the trainer waits") for each in lines(more))
    fewer = cluster.live(300, needed=0.5)
    assert cluster.there == 0
    assert any("→ 0 remote workers: " in each for each in lines(fewer))


def test_a_cluster_that_has_no_room_is_not_asked_again_and_again() -> None:
    cluster = Cluster(room=0)
    cluster.ask(0, 8)
    effects = cluster.live(200, needed=2.0)
    placed = [each.workers for each in effects if isinstance(each, a.PlaceRemote)]
    assert 1 <= placed.count(0) <= 3, "what brought nothing is taken back, and seldom tried"
    assert "brought +0% of steps" in cluster.status().workers_why or "no use" in cluster.status().workers_why


def test_a_number_of_ones_own_ends_the_sizing() -> None:
    cluster = Cluster()
    cluster.ask(0, 8)
    assert told(cluster.ask(2, None), m.Done) == [m.Done(7, "0 → 2 remote workers, no longer sized within 0..8")]
    assert a.LookAtMachine() not in cluster.live(20, needed=8.0)
    assert (cluster.there, cluster.status().remote_bounds) == (2, "2")


def test_status_says_number_bounds_and_reason() -> None:
    cluster = Cluster()
    cluster.ask(0, 8)
    cluster.live(120, needed=3.0)
    status = cluster.status()
    assert (status.workers_wanted, status.workers_bounds) == (1, "1")
    assert (status.remote_wanted, status.remote_bounds) == (2, "0..8")
    assert status.workers_why.startswith("the trainer waits 0% of its time")
    assert Desk(workers=1).happen(e.WorkersSeen(TRAIN, 9, {}))[0].message.remote_bounds == ""  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("least", "most", "words"), [(0, 9, "ray_workers=9; give 0 to 8"), (5, 3, "the low bound must be 0 or more")]
)
def test_bounds_that_cannot_be_are_refused_and_change_nothing(least: int, most: int, words: str) -> None:
    cluster = Cluster()
    (refusal,) = told(cluster.ask(least, most), m.Refused)
    assert isinstance(refusal, m.Refused)
    assert words in refusal.message
    assert (cluster.wanted, cluster.status().remote_bounds) == (0, "0")


def test_a_service_that_stops_takes_none() -> None:
    cluster = Cluster()
    cluster.ask(0, 8)
    cluster.live(120, needed=3.0)
    cluster.desk.happen(e.StopWanted("enough"))
    (refusal,) = told(cluster.desk.hear(TRAIN, m.ScaleRemote(8, 1)), m.Refused)
    assert isinstance(refusal, m.Refused)
    assert "the service is stopping" in refusal.message
