"""What time goes into is counted with the time passed in: sums that only grow, and outlive who made them."""

from __future__ import annotations

import dataclasses

import pytest

from loader_service.core import events as e
from loader_service.core.file_troubles import FileTroubles
from loader_service.core.worker_times import WorkerTimes
from loader_service.protocol import messages as m
from loader_service.protocol.totals import (
    FileSystemReads,
    FileSystemTotals,
    FileTotals,
    SlowReads,
    StreamTotals,
    TimeSpent,
    TrainerTimes,
    WorkerTotals,
)
from loader_service.stopwatch import Stopwatch
from tests.core.desk import EVAL, MIB, TRAIN, Desk


@pytest.fixture
def desk() -> Desk:
    """Return two workers and a stream with one slot, whose steps each of them has a row of."""
    desk = Desk(workers=2)
    desk.open()
    return desk


def status_of(desk: Desk) -> m.Status:
    """Return what a client is told that asks for the status."""
    (sent,) = desk.happen(e.WorkersSeen(TRAIN, 7, {}, ()))
    assert isinstance(sent.message, m.Status)  # type: ignore[union-attr]
    return sent.message  # type: ignore[union-attr,return-value]


def test_a_stopwatch_adds_up_what_it_was_on_for() -> None:
    watch = Stopwatch()
    assert watch.set(True, 1.0)
    assert not watch.set(True, 2.0)
    assert (watch.is_on, watch.seconds(3.5)) == (True, 2.5)
    assert watch.set(False, 4.0)
    watch.set(True, 10.0)
    assert watch.seconds(11.0) == 4.0
    assert watch.seconds(9.0) == 3.0, "a clock that goes back takes nothing away"


def test_a_worker_without_tasks_waits_for_one_and_for_a_slot_where_wants_have_none(desk: Desk) -> None:
    desk.now = 2.0  # nothing was wanted so far
    desk.want(5)
    desk.want(6)  # has no slot
    desk.now = 3.0
    desk.end(1, 2)  # worker 1 has nothing left, and the second want no slot
    desk.now = 5.0
    first, second = status_of(desk).workers
    assert first.totals == WorkerTotals(
        up_seconds_total=5.0,
        waiting_task_seconds_total=2.0,
        waiting_slot_seconds_total=2.0,
        tasks_total=1,
        rows_total=1,
        bytes_total=3 * MIB,
    )
    assert (second.totals.waiting_task_seconds_total, second.totals.waiting_slot_seconds_total) == (2.0, 0.0)


def test_a_stream_counts_the_time_without_a_slot_and_that_in_which_all_lay_ready(desk: Desk) -> None:
    desk.now = 1.0
    desk.want(5)
    desk.want(6)
    desk.now = 4.0
    desk.end(1, 2)
    desk.end(2, 1)  # the first step is ready; the second still has no slot
    desk.now = 5.0
    desk.release(1)  # now it has
    desk.now = 7.0
    desk.end(1, 4)
    desk.end(2, 3)  # and now all lies ready
    desk.now = 10.0
    (stream,) = status_of(desk).streams
    assert stream.totals == StreamTotals(
        open_seconds_total=10.0,
        slots_full_seconds_total=3.0,
        waiting_slot_seconds_total=4.0,
        steps_total=2,
        rows_total=4,
        frames_total=4,
        bytes_total=12 * MIB,
    )
    assert (stream.first_batch_s, stream.oldest_want_s) == (4.0, 0.0)


def test_the_oldest_want_is_as_old_as_the_one_that_is_open_longest(desk: Desk) -> None:
    desk.now = 1.0
    desk.want(5)
    desk.now = 3.0
    desk.want(6)
    desk.now = 4.5
    assert status_of(desk).streams[0].oldest_want_s == 3.5


def test_the_first_batch_counts_from_the_request_for_the_stream(desk: Desk) -> None:
    desk.plan(2, 1)
    desk.now = 10.0
    desk.ask(2)
    desk.now = 12.0
    desk.happen(e.SegmentsMade(2, (20,)))
    desk.want(1, stream=2)
    desk.now = 13.0
    desk.end(1, 2)
    desk.end(2, 1)
    assert status_of(desk).streams[1].first_batch_s == 3.0


def test_a_trainer_says_how_long_it_waited(desk: Desk) -> None:
    desk.now = 10.0
    desk.hear(TRAIN, m.Heartbeat((TrainerTimes(1, 2.5, 9.0),)))
    totals = status_of(desk).streams[0].totals
    assert (totals.trainer_waiting_seconds_total, totals.trainer_observed_seconds_total) == (2.5, 9.0)


@pytest.mark.parametrize(
    "times",
    [
        pytest.param(TrainerTimes(1, 1.0, 9.5), id="waiting shrinks"),
        pytest.param(TrainerTimes(1, 3.0, 1.0), id="time shrinks"),
        pytest.param(TrainerTimes(2, 3.0, 9.5), id="no such stream"),
        pytest.param(TrainerTimes(1, -1.0, -1.0), id="negative"),
    ],
)
def test_what_a_trainer_says_that_cannot_be_changes_nothing(desk: Desk, times: TrainerTimes) -> None:
    desk.now = 10.0
    desk.hear(TRAIN, m.Heartbeat((TrainerTimes(1, 2.5, 9.0),)))
    before = status_of(desk).streams
    desk.hear(TRAIN, m.Heartbeat((times,)))
    assert status_of(desk).streams == before


def test_a_trainer_is_believed_of_its_own_streams_only(desk: Desk) -> None:
    desk.now = 10.0
    desk.hear(EVAL, m.Heartbeat((TrainerTimes(1, 2.5, 9.0),)))
    assert status_of(desk).streams[0].totals.trainer_observed_seconds_total == 0.0


def test_nobody_waited_for_longer_than_the_stream_is_open(desk: Desk) -> None:
    desk.now = 10.0
    desk.hear(TRAIN, m.Heartbeat((TrainerTimes(1, 1e300, 1e300),)))
    totals = status_of(desk).streams[0].totals
    assert (totals.trainer_waiting_seconds_total, totals.trainer_observed_seconds_total) == (10.0, 10.0)


SPENT = TimeSpent(
    1, 9.0, 3.0, 2.0, (FileSystemReads("nfs4 at /data", 2.5, 700, 3), FileSystemReads("ext4 at /", 0.5, 50, 0)),
    (SlowReads(0, 2), SlowReads(1, 1)),
)  # fmt: skip


def test_what_a_worker_says_of_its_time_becomes_its_totals(desk: Desk) -> None:
    desk.hear(1, SPENT)
    totals = status_of(desk).workers[0].totals
    assert (totals.reading_seconds_total, totals.decoding_seconds_total) == (3.0, 4.0)
    assert (totals.transforming_seconds_total, totals.slow_reads_total) == (2.0, 3)
    assert status_of(desk).file_systems == (
        FileSystemTotals("nfs4 at /data", 2.5, 700, 3),
        FileSystemTotals("ext4 at /", 0.5, 50, 0),
    )


def test_what_a_remote_worker_had_tasks_for_beyond_its_work_went_into_sending() -> None:
    times = WorkerTimes()
    times.rest(now=10.0, short_s=0.0)
    times.work(now=12.0, short_s=0.0)
    times.told(TimeSpent(7, 3.0, 1.0, 0.0), now=20.0, is_remote=True)
    assert times.totals(now=20.0, short_s=0.0).sending_seconds_total == 5.0, "8 s with tasks, and 3 s of work"
    times.rest(now=21.0, short_s=0.0)
    times.told(TimeSpent(7, 8.5, 1.0, 0.0), now=30.0, is_remote=True)
    assert times.totals(now=30.0, short_s=0.0).sending_seconds_total == 5.0, "it does not shrink"


def test_a_worker_of_this_host_sends_nothing() -> None:
    times = WorkerTimes()
    times.rest(now=10.0, short_s=0.0)
    times.work(now=12.0, short_s=0.0)
    times.told(TimeSpent(7, 3.0, 1.0, 0.0), now=20.0)
    assert times.totals(now=20.0, short_s=0.0).sending_seconds_total == 0.0


def test_sums_do_not_shrink_when_workers_and_streams_go(desk: Desk) -> None:
    desk.now = 1.0
    desk.want(5)
    desk.want(6)
    desk.hear(1, SPENT)
    desk.end(1, 2)
    desk.end(2, 1)
    desk.hear(2, dataclasses.replace(SPENT, worker=2))
    desk.now = 4.0
    before = status_of(desk)
    desk.exit(1)
    desk.close(1)
    after = status_of(desk)
    assert (len(after.workers), len(after.streams)) == (2, 0)
    assert (
        after.file_systems
        == before.file_systems
        == (
            FileSystemTotals("nfs4 at /data", 5.0, 1400, 6),
            FileSystemTotals("ext4 at /", 1.0, 100, 0),
        )
    )
    for kept, was in ((after.worker_totals, before.worker_totals), (after.stream_totals, before.stream_totals)):
        assert kept == was


def test_a_stream_that_closes_ends_its_shortage(desk: Desk) -> None:
    desk.want(5)
    desk.want(6)
    desk.now = 2.0
    desk.close(1)
    desk.now = 9.0
    assert desk.service.scheduler._ledger.sums.short_s == 2.0


def test_files_are_named_that_gave_bad_samples_or_slow_reads(desk: Desk) -> None:
    desk.want(5)
    desk.hear(1, SPENT)
    desk.end(1, 2, 1)
    assert status_of(desk).files == (FileTotals(1, "1", 1, 1), FileTotals(0, "0", 0, 2))
    desk.end(2, 1)
    assert status_of(desk).streams[0].totals.failed_steps_total == 1


def test_troubles_of_a_million_files_take_bounded_memory_and_a_short_status() -> None:
    troubles = FileTroubles()
    for file in range(10_000):
        troubles.bad(file)
        troubles.slow(file, 2)
    troubles.slow(3, 50)
    troubles.bad(-1)
    worst = troubles.worst()
    assert len(worst) == 20
    assert worst[0] == FileTotals(3, "", 1, 52)
    assert len(troubles._of) == 4096


def test_what_a_worker_that_is_gone_still_says_is_nothing(desk: Desk) -> None:
    desk.exit(1)
    assert desk.hear(1, SPENT) == []
    assert status_of(desk).file_systems == ()
