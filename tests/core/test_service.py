"""Who may speak, what is told of workers, status, stop and restart: whole answers."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

import loader_service
from loader_service.core import events as e
from loader_service.core.effects import (
    Announce,
    End,
    LookAtWorkers,
    Note,
    NoteKind,
    Send,
    StartWorker,
    UnwatchClient,
    WatchClient,
)
from loader_service.protocol import messages as m
from loader_service.protocol.totals import WorkerTotals
from tests.core.desk import EVAL, LIMITS, TRAIN, Desk, retired, told
from tests.core.planner import ABOUT, spec_of

OTHER = b"other"


# ---- clients


def test_who_says_hello_is_welcome_and_watched(desk: Desk) -> None:
    assert desk.hear(OTHER, m.Hello("other", 77)) == [
        WatchClient(OTHER, 77),
        Note("client other (pid 77) connected", NoteKind.CLIENT, is_fault=False),
        Send(OTHER, ABOUT.welcome),
    ]
    assert desk.hear(OTHER, m.Hello("other", 77)) == [Send(OTHER, ABOUT.welcome)]


@pytest.mark.parametrize("message", [m.Heartbeat(), m.Want(1, 1, 0, 0), m.GetStatus(3), m.Stop(4), m.Goodbye()])
def test_who_has_not_said_hello_is_told_so_and_nothing_else_happens(desk: Desk, message: m.FromClient) -> None:
    assert desk.hear(OTHER, message) == [Send(OTHER, m.Stranger())]


def test_a_heartbeat_is_answered(desk: Desk) -> None:
    assert desk.hear(TRAIN, m.Heartbeat()) == [Send(TRAIN, m.Heartbeat())]


def test_a_client_that_is_silent_loses_its_streams_and_is_a_stranger_then() -> None:
    desk = Desk(workers=2, limits=replace(LIMITS, client_timeout_s=5.0))
    desk.open()
    desk.now = 3.0
    desk.hear(TRAIN, m.Heartbeat())
    assert desk.service.next_deadline() == 5.0, "when the other client has been silent"
    desk.tick(5.0)
    assert desk.service.next_deadline() == 8.0
    why = "was not heard for 5 s; raise --client-timeout if it only was busy"
    assert desk.tick(8.0) == [
        Note(f"client train (pid 1) {why}", NoteKind.CLIENT, is_fault=False),
        UnwatchClient(TRAIN),
        *retired(1, 10),
    ]
    assert desk.want(1) == [Send(TRAIN, m.Stranger())]


def test_a_client_that_held_batches_when_it_ended_is_a_fault(desk: Desk) -> None:
    desk.want(5)
    desk.end(1, 2)
    desk.end(2, 1)
    note, *_ = desk.happen(e.ClientEnded(TRAIN))
    assert note == Note("client train (pid 1) has ended; 1 batches that it held are given up", NoteKind.CLIENT)


def test_a_goodbye_is_no_fault_whatever_is_held(desk: Desk) -> None:
    desk.want(5)
    desk.end(1, 2)
    desk.end(2, 1)
    note, *_ = desk.hear(TRAIN, m.Goodbye())
    assert note == Note("client train (pid 1) has said goodbye", NoteKind.CLIENT, is_fault=False)


def test_a_client_out_of_reach_is_given_up_unless_its_goodbye_comes_first(desk: Desk) -> None:
    for client in (TRAIN, EVAL):
        desk.happen(e.ClientUnreachable(client))
    assert desk.service.next_deadline() == 0.5
    desk.hear(EVAL, m.Goodbye())
    note, *_ = desk.tick(0.5)
    assert note == Note("client train (pid 1) cannot be reached", NoteKind.CLIENT, is_fault=False)
    assert desk.service.next_deadline() is None


def test_all_are_strangers_after_their_connections_were_dropped(desk: Desk) -> None:
    first, *others = desk.happen(e.ClientsDisconnected("a flood"))
    assert first == Note("a flood")
    assert {UnwatchClient(TRAIN), UnwatchClient(EVAL)} < set(others)
    assert desk.want(1) == [Send(TRAIN, m.Stranger())]


def test_what_is_no_message_is_refused_and_counted(desk: Desk) -> None:
    assert desk.happen(e.Malformed(OTHER, "ProtocolError", "no msgpack")) == [
        Note("a message was refused: no msgpack", NoteKind.MALFORMED, is_fault=False),
        Send(OTHER, m.Refused(0, "ProtocolError", "no msgpack")),
    ]
    note = Note("a worker's message was refused: no msgpack", NoteKind.MALFORMED)
    assert desk.happen(e.Malformed(0, "ProtocolError", "no msgpack")) == [note]
    assert desk.service.counters.messages_malformed == 2


# ---- workers


def test_a_worker_that_is_ready_is_told_of_files_and_streams(desk: Desk) -> None:
    adoption = m.AdoptFile(1, 10, 20, 30)
    desk.happen(e.FileChecked(1, "", adoption))
    desk.happen(e.ScaleWanted(3))
    assert desk.hear(3, m.WorkerReady(3)) == [
        Send(3, adoption),
        Send(3, m.PrepareStream(1, spec_of(1), ())),
    ]


def test_a_worker_that_is_heard_after_its_end_is_told_nothing(desk: Desk) -> None:
    desk.happen(e.ScaleWanted(3))
    desk.exit(3)
    assert desk.hear(3, m.WorkerReady(3)) == []


def test_the_service_is_ready_once_when_all_workers_are_there() -> None:
    desk = Desk(workers=2)
    desk.happen(e.ScaleWanted(3))
    assert Announce("ready") not in desk.hear(3, m.WorkerReady(3)), "it was said before"


def test_a_worker_that_is_too_heavy_is_replaced_and_counted(desk: Desk) -> None:
    assert desk.happen(e.WorkerOverweight(1)) == [StartWorker(3)]
    assert desk.happen(e.WorkerOverweight(1)) == []
    assert desk.service.counters.workers_recycled == 1


# ---- what is asked of the service itself


def test_the_status_names_what_each_worker_is_at(desk: Desk) -> None:
    desk.want(5)
    assert desk.hear(TRAIN, m.GetStatus(7)) == [LookAtWorkers(TRAIN, 7)]
    desk.now = 2.0
    seen = {1: e.Sight(100, 2, 1), 2: e.Sight(200)}
    (status,) = told(desk.happen(e.WorkersSeen(TRAIN, 7, seen, (m.Fault(1.0, 1, "a fault"),))), m.Status)
    assert isinstance(status, m.Status)
    assert (status.request, status.uptime_s, status.memory_bytes, status.events) == (7, 2.0, 7, ("1.0 s: a fault",))
    up = WorkerTotals(up_seconds_total=2.0)
    assert status.workers == (
        m.WorkerStatus(1, 100, "working", 1, 1, 0, "task", 2.0, 1, 0, 5, "file 1", "sample 1", totals=up),
        m.WorkerStatus(2, 200, "working", 1, 1, 0, "task", 2.0, 1, 0, 5, "file 0", "sample 0", totals=up),
    )
    assert [(each.client, each.client_pid, each.slots_filling) for each in status.streams] == [("train", 1, 1)]
    assert {each.name for each in status.counters} >= {"workers_lost", "messages_malformed", "requests_refused"}


def test_the_status_tells_who_tries_a_transform(trying: Desk) -> None:
    trying.ask(1)
    trying.now = 3.0
    (status,) = told(trying.happen(e.WorkersSeen(TRAIN, 7, {})), m.Status)
    assert isinstance(status, m.Status)
    assert [(each.doing, each.busy_s) for each in status.workers] == [("probe", 3.0), ("", 0.0)]


def test_the_catalog_is_told_with_the_number_of_the_request(desk: Desk) -> None:
    assert desk.hear(TRAIN, m.GetCatalog(7)) == [Send(TRAIN, replace(ABOUT.catalog, request=7))]


def test_a_client_has_the_service_scaled(desk: Desk) -> None:
    assert desk.hear(TRAIN, m.Scale(7, 3)) == [
        Send(TRAIN, m.Done(7, "2 → 3 workers")),
        Note("client train scales from 2 to 3 workers", is_fault=False),
        StartWorker(3),
    ]
    (refused,) = told(desk.hear(TRAIN, m.Scale(8, 0)), m.Refused)
    assert isinstance(refused, m.Refused)
    assert (refused.request, refused.error) == (8, "ConfigError")


def test_a_request_that_acts_is_named_in_three_files_and_the_command_line() -> None:
    root = Path(loader_service.__file__).parents[1]
    named = re.compile(r"\bm\.Scale\b|\bclass Scale\b|\.scale\(workers\)")
    files = [*root.glob("loader_service/**/*.py"), *root.glob("client/loader_client/**/*.py")]
    found = {each.relative_to(root).as_posix() for each in files if named.search(each.read_text())}
    assert found <= {
        "loader_service/protocol/messages.py",
        "loader_service/core/service.py",
        "client/loader_client/connection.py",
        "loader_service/commands/asking_commands.py",
    }
    assert len(found) >= 3


def test_a_service_that_is_told_to_stop_ends_when_its_workers_have(desk: Desk) -> None:
    done, note, stopping, *answers = desk.hear(EVAL, m.Stop(7))
    assert done == Send(EVAL, m.Done(7, "service 4711 is stopping"))
    assert note == Note("stopping: asked by eval (pid 1)", is_fault=False)
    assert stopping == Announce("stopping")
    why = m.Stopping("asked by eval (pid 1)")
    assert answers == [Send(TRAIN, why), Send(EVAL, why), Send(2, m.Drain()), Send(1, m.Drain())]
    assert desk.exit(1) == []
    assert desk.exit(2) == [], "the answer may not have been read yet"
    assert desk.hear(EVAL, m.Goodbye())[-1] == End(again=False)
    assert desk.tick(100.0) == [], "once"


def test_who_asked_a_service_to_stop_and_says_no_goodbye_is_waited_for_a_second(desk: Desk) -> None:
    desk.hear(EVAL, m.Stop(7))
    desk.exit(1)
    assert desk.exit(2) == []
    assert desk.service.next_deadline() == 1.0
    assert desk.tick(1.0) == [End(again=False)]


def test_a_service_that_is_told_to_stop_ends_in_time_whatever_its_workers_do(desk: Desk) -> None:
    desk.want(5)
    desk.happen(e.StopWanted("SIGTERM"))
    assert desk.service.next_deadline() == 10.0
    assert desk.tick(10.0)[-1] == End(again=False)


def test_a_service_that_stops_opens_no_streams(desk: Desk) -> None:
    desk.happen(e.StopWanted("SIGTERM"))
    desk.plan(2, slots=2)
    refused = m.Refused(2, "ConfigError", "the service is stopping and opens no streams")
    assert desk.ask(2) == [Send(TRAIN, refused)]


def test_a_restart_begins_anew_unless_somebody_wants_an_end_too(desk: Desk) -> None:
    done, *_ = desk.hear(TRAIN, m.Restart(7))
    assert done == Send(TRAIN, m.Done(7, "service 4711 is restarting"))
    desk.exit(1)
    desk.exit(2)
    assert desk.tick(1.0) == [End(again=True)]
    other = Desk(workers=1)
    other.hear(TRAIN, m.Restart(7))
    (refused,) = told(other.hear(EVAL, m.Restart(8)), m.Refused)
    assert refused == m.Refused(8, "ConfigError", "the service is stopping; start it when it has ended")
    other.happen(e.StopWanted("SIGTERM"))
    other.exit(1)
    assert other.tick(1.0) == [End(again=False)]
