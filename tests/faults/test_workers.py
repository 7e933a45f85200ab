"""Workers that die, stand still, crash or never come up: the trainer sees the same bytes in the same order."""

from __future__ import annotations

import itertools
import os
import signal
import time

import pytest

import loader_client
from loader_client import WorkerDied
from loader_service.protocol.messages import Status
from tests.faults.conftest import Once
from tests.faults.pauses import halted_for
from tests.faults.training import STREAM, Entry, Log, Train, disturb, train_numpy
from tests.support.machine import at_most
from tests.support.services import Service, running_service, started_service
from tests.support.waiting import eventually


def status_of(service: Service) -> Status:
    with loader_client.connect(service.endpoint) as connection:
        return connection.status()


def counters_of(service: Service) -> dict[str, int]:
    return {counter.name: counter.count for counter in status_of(service).counters}


def faults_of(service: Service, said: str) -> list[str]:
    return [line for line in status_of(service).events if said in line]


def test_an_idle_worker_that_is_killed_is_replaced_within_a_second(videos: str, undisturbed: Log) -> None:
    took_s = []
    with running_service(videos, workers=2) as service, loader_client.connect(service.endpoint) as connection:
        for _ in range(3):
            victim = service.worker_pids[0]
            killed = time.monotonic()
            os.kill(victim, signal.SIGKILL)

            def replaced(victim: int = victim) -> bool:
                workers = connection.status().workers
                return [w.state for w in workers] == ["working"] * 2 and victim not in [w.pid for w in workers]

            eventually(replaced, "another worker is there")
            took_s.append(time.monotonic() - killed)
        print("replaced after", ", ".join(f"{each:.3f} s" for each in took_s))
        assert min(took_s) < at_most(1.0)  # the fastest: the machine may be busy with something else
        assert list(train_numpy(service.endpoint)) == undisturbed
        assert counters_of(service)["workers_lost"] == 3


def test_rows_of_a_worker_killed_while_it_fills_a_slot_are_done_again(
    videos: str, undisturbed: Log, train: Train, once: Once
) -> None:
    environment = once(*["worker.frame_written=kill@200"] * 3)
    with running_service(videos, workers=2, environment=environment) as service:
        assert list(train(service.endpoint)) == undisturbed
        assert once.fired == 3
        assert counters_of(service)["workers_lost"] == 3
        assert counters_of(service)["rows_reassigned"] > 0
        assert len(faults_of(service, "was killed by SIGKILL")) == 3


def test_rows_of_a_worker_killed_before_it_reports_them_are_neither_lost_nor_doubled(
    videos: str, undisturbed: Log, once: Once
) -> None:
    environment = once(*["worker.task_written=kill@2"] * 3)
    with running_service(videos, workers=2, environment=environment) as service:
        assert list(train_numpy(service.endpoint)) == undisturbed
        assert once.fired == 3
        assert counters_of(service)["rows_reassigned"] > 0


def test_a_worker_that_stands_still_is_killed_at_its_deadline_and_another_does_its_task(
    videos: str, undisturbed: Log, train: Train, once: Once
) -> None:
    environment = once(*["worker.frame_written=stop@200"] * 3)
    with running_service(videos, workers=2, task_timeout=1, environment=environment) as service:
        assert list(train(service.endpoint)) == undisturbed
        assert once.fired == 3
        assert len(faults_of(service, "did not finish task")) >= 3  # one that lacks a core for a second is killed, too


def test_a_worker_that_stands_still_beside_an_idle_one_costs_two_seconds_and_no_byte(
    videos: str, undisturbed: Log, train: Train
) -> None:
    with running_service(videos, workers=2) as service:
        longest_s = []
        log: Log = []
        steps = train(service.endpoint)
        for worker in service.worker_pids[::-1]:
            log += itertools.islice(steps, 3)
            pauses_s = []
            with halted_for(worker, 30.0):
                for _ in range(4):
                    begun = time.monotonic()
                    log += itertools.islice(steps, 1)
                    pauses_s.append(time.monotonic() - begun)
            longest_s.append(max(pauses_s))
        log += steps
        print("longest pauses", ", ".join(f"{each:.2f} s" for each in longest_s))
        assert log == undisturbed
        assert counters_of(service)["steps_redone"] > 0
        assert counters_of(service)["workers_lost"] == 0, "its deadline is a minute"
        assert min(longest_s) <= at_most(2.0)  # the shorter: the machine may be busy with something else


def test_a_worker_that_stands_still_for_less_than_its_deadline_is_not_killed(videos: str, undisturbed: Log) -> None:
    with running_service(videos, workers=2) as service:
        workers = service.worker_pids
        log = []
        steps = train_numpy(service.endpoint)
        for worker in (workers[0], workers[1], workers[0]):
            log += itertools.islice(steps, 3)
            with halted_for(worker, 0.5):
                log += itertools.islice(steps, 3)
        log += steps
        assert log == undisturbed
        assert service.worker_pids == workers


@pytest.mark.parametrize(("action", "name"), [("segv", "SIGSEGV"), ("bus", "SIGBUS")])
def test_a_worker_that_crashes_is_replaced_and_its_signal_named(
    videos: str, undisturbed: Log, once: Once, action: str, name: str
) -> None:
    environment = once(*[f"worker.frame_written={action}@200"] * 3)
    with running_service(videos, workers=2, environment=environment) as service:
        assert list(train_numpy(service.endpoint)) == undisturbed
        assert len(faults_of(service, f"was killed by {name}")) == 3


#: The number of the sample that kills, and a pause before each row, in which those before it are reported.
_FATAL, _PAUSE = 40, "worker.row_begun=delay"


def the_fatal_step(endpoint: str, undisturbed: Log, on_error: str) -> tuple[Entry, Entry]:
    """Return the first step that has the fatal sample, as it comes now and as it is without a fault."""
    position = next(number for number, line in enumerate(undisturbed) if _FATAL in line.samples)
    steps = train_numpy(endpoint, start=position, prefetch=1, on_error=on_error)
    return next(steps), undisturbed[position]


def video_of(service: Service, sample: int) -> str:
    """Return the name of the video that a sample is cut out of."""
    with loader_client.connect(service.endpoint) as connection:
        stream = {**STREAM, "fields": ("index", "video"), "shuffle": False}
        batches = list(connection.batches(**stream))
    names = {number: name for batch in batches for number, name in zip(batch["index"], batch["video"], strict=True)}
    return names[sample].decode()


def test_a_sample_that_kills_worker_after_worker_is_a_bad_sample_by_name(videos: str, undisturbed: Log) -> None:
    environment = {"LOADER_SERVICE_FAILPOINTS": f"{_PAUSE};worker.row_begun[{_FATAL}]=segv"}
    with running_service(videos, workers=2, environment=environment) as service:
        name = video_of(service, _FATAL)
        with pytest.raises(WorkerDied, match=rf"video '{name}': 3 workers died while .* by SIGSEGV"):
            the_fatal_step(service.endpoint, undisturbed, "raise")
        assert faults_of(service, f"video '{name}': 3 workers died")
        assert counters_of(service)["workers_lost"] == 3


def test_a_sample_that_kills_worker_after_worker_is_replaced_where_that_is_allowed(
    videos: str, undisturbed: Log, once: Once
) -> None:
    environment = once(*[f"worker.row_begun[{_FATAL}]=segv"] * 3, always=_PAUSE)
    with running_service(videos, workers=2, environment=environment) as service:
        mine, theirs = the_fatal_step(service.endpoint, undisturbed, "substitute")
        assert counters_of(service)["workers_lost"] == 3
        assert counters_of(service)["samples_substituted"] == 1
    ((_, fatal),) = [(new, old) for new, old in zip(mine.samples, theirs.samples, strict=True) if new != old]
    assert fatal == _FATAL


def test_workers_that_fail_while_starting_end_the_start_with_the_reason(videos: str) -> None:
    environment = {"LOADER_SERVICE_FAILPOINTS": "worker.starting=exit"}
    with started_service(videos, workers=2, environment=environment) as service:
        assert service.wait() == 1
        (last,) = service.log.splitlines()[-1:]
    assert "workers in a row failed to start; the last one exited with code 1" in last


def test_a_worker_that_fails_to_start_three_times_is_started_a_fourth_time_when_others_work(
    videos: str, undisturbed: Log, once: Once
) -> None:
    environment = once(*["worker.starting=kill"] * 3)
    with running_service(videos, workers=2, environment=environment) as service:
        assert once.fired == 3
        assert list(train_numpy(service.endpoint)) == undisturbed


def test_all_workers_killed_at_once_are_a_pause_and_no_more(videos: str, undisturbed: Log, train: Train) -> None:
    with running_service(videos, workers=2) as service:

        def kill_all() -> None:
            for pid in service.worker_pids:
                os.kill(pid, signal.SIGKILL)
            eventually(lambda: len(service.worker_pids) == 2, "workers are started again")

        assert disturb(train(service.endpoint), dict.fromkeys((0, 5, 10), kill_all)) == undisturbed
        assert counters_of(service)["workers_lost"] == 6


@pytest.mark.parametrize("task", [1, 3, 6])
def test_a_worker_whose_memory_grows_is_replaced_and_the_trainer_notices_nothing(
    videos: str, undisturbed: Log, once: Once, task: int
) -> None:
    environment = once(f"worker.task_written=grow@{task}")
    with running_service(videos, workers=2, worker_memory="100M", environment=environment) as service:
        assert list(train_numpy(service.endpoint)) == undisturbed
        assert once.fired == 1
        eventually(lambda: counters_of(service)["workers_recycled"] == 1, "the large worker is to be replaced")
        eventually(lambda: [w.state for w in status_of(service).workers] == ["working"] * 2, "two workers are left")
        assert list(train_numpy(service.endpoint)) == undisturbed
        assert counters_of(service)["workers_lost"] == 0
        assert len(faults_of(service, "--worker-memory=")) == 1
