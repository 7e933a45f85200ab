"""Who may speak, streams that open, transforms that are tried, memory that returns, stop and restart: whole answers."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

import loader_service
from loader_service.core import events as e
from loader_service.core.effects import (
    Announce,
    CheckFile,
    Effect,
    End,
    KillWorker,
    LookAtWorkers,
    MakeSegments,
    Note,
    NoteKind,
    RemoveSegments,
    Send,
    StartWorker,
    UnwatchClient,
    WatchClient,
)
from loader_service.core.openings import LOOK_EVERY_S, MOST_STREAMS_OF_ONE, WAIT_FOR_ANY_S, WAIT_FOR_MORE_S
from loader_service.protocol import messages as m
from loader_service.protocol.totals import WorkerTotals
from tests.core.desk import EVAL, LIMITS, TRAIN, Desk, retired
from tests.core.planner import ABOUT, INPUTS, OUTPUTS, spec_of

OTHER = b"other"
NO_ROOM = e.Shortage("2 batches need 14 bytes, 3 are left", "other files: 5 B", "use less")


def told(answers: list[Effect], kind: type) -> list[object]:
    """Return the messages of a kind among some effects."""
    return [each.message for each in answers if isinstance(each, Send) and isinstance(each.message, kind)]


@pytest.fixture
def trying() -> Desk:
    """Two workers and a transform; one stream that is planned, with two slots."""
    made = Desk(workers=2, tries_transforms=True)
    made.plan(1, slots=2)
    return made


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


# ---- streams


def test_a_stream_opens_when_its_segments_are_made(desk: Desk) -> None:
    desk.plan(2, slots=4)
    assert desk.ask(2) == [MakeSegments(2, 4, 2, 7)]
    opened = m.Opened(2, 2, (), 100, 3, 2, 10**6)
    *prepared, answer, note = desk.happen(e.SegmentsMade(2, (20, 21, 22)))
    assert prepared == [Send(worker, m.PrepareStream(2, spec_of(2), ())) for worker in (1, 2)]
    assert answer == Send(TRAIN, opened)
    assert isinstance(note, Note)
    assert desk.ask(2) == [Send(TRAIN, opened)], "its answer was lost"


def test_a_request_that_is_under_way_is_the_same_when_it_is_asked_again(desk: Desk) -> None:
    desk.plan(2, slots=4)
    desk.ask(2)
    assert desk.ask(2) == []
    assert len(told(desk.happen(e.SegmentsMade(2, (20, 21))), m.Opened)) == 1


def test_segments_of_a_stream_that_is_gone_meanwhile_are_removed(desk: Desk) -> None:
    desk.plan(2, slots=4)
    desk.ask(2)
    desk.lose(TRAIN)
    assert desk.happen(e.SegmentsMade(2, (20, 21))) == [RemoveSegments((20, 21))]


def test_a_stream_that_the_catalog_cannot_give_is_refused(desk: Desk) -> None:
    refused = Send(TRAIN, m.Refused(9, "ConfigError", "no stream has seed 9"))
    assert desk.ask(9) == [refused]
    assert desk.ask(9) == [refused]
    assert desk.service.counters.requests_refused == 2


def test_too_little_memory_says_who_holds_the_rest(desk: Desk) -> None:
    desk.open(stream=2, client=EVAL, slots=2)
    desk.plan(3, slots=4)
    desk.ask(3)
    held = "client train (pid 1) holds 7 B in 1 slot of 1 stream; client eval (pid 1) holds 14 B in 2 slots of 1 stream"
    words = f"2 batches need 14 bytes, 3 are left; {held}; other files: 5 B; use less"
    assert desk.happen(e.SegmentsMade(3, (), NO_ROOM)) == [Send(TRAIN, m.Refused(3, "ConfigError", words))]


def test_a_new_stream_takes_free_slots_from_the_one_that_has_most(desk: Desk) -> None:
    desk.open(stream=2, client=EVAL, slots=5)
    desk.plan(3, slots=4)
    desk.ask(3)
    removed = (24, 23)  # those that were used longest ago, or never
    assert desk.happen(e.SegmentsMade(3, (), NO_ROOM)) == [
        RemoveSegments(removed),
        *(Send(worker, m.DropSlots(2, removed)) for worker in (1, 2)),
        Send(EVAL, m.Resized(2, 3, 2, 1, removed)),
    ]
    assert desk.tick(LOOK_EVERY_S) == [MakeSegments(3, 4, 2, 7)]
    (opened,) = told(desk.happen(e.SegmentsMade(3, (30, 31))), m.Opened)
    assert isinstance(opened, m.Opened)
    assert opened.slots == 2


def test_a_stream_that_could_never_fit_takes_nothing_from_others(desk: Desk) -> None:
    desk.open(stream=2, client=EVAL, slots=3)
    desk.plan(3, slots=4, slot_bytes=70)
    desk.ask(3)
    (refused,) = desk.happen(e.SegmentsMade(3, (), NO_ROOM))
    assert isinstance(refused, Send)
    assert isinstance(refused.message, m.Refused)
    assert desk.streams()[1].slots == 3


def test_slots_that_are_lent_or_filled_go_when_they_are_free_and_one_always_stays(desk: Desk) -> None:
    desk.open(stream=2, client=EVAL, slots=4)
    for want in (1, 2, 3):
        desk.want(want, stream=2, client=EVAL)
    for worker, task in ((1, 2), (2, 1), (1, 4), (2, 3), (1, 6), (2, 5)):
        desk.end(worker, task)
    assert desk.streams()[1].slots_leased == 3
    desk.plan(3, slots=4)
    desk.ask(3)
    assert desk.happen(e.SegmentsMade(3, (), NO_ROOM)) == [Send(EVAL, m.Resized(2, 2, 1, 1))]
    answers = desk.release(1, stream=2, client=EVAL)
    assert RemoveSegments((23,)) in answers
    assert told(answers, m.Resized) == [m.Resized(2, 2, 1, 2, (23,))]
    assert desk.streams()[1].slots == 3, "the slot that was just released is left to fill"
    assert told(desk.release(2, stream=2, client=EVAL), m.Resized) == [m.Resized(2, 2, 1, 3, (23, 20))]


def test_a_stream_that_another_run_was_asked_for_is_not_opened(desk: Desk) -> None:
    desk.plan(5, slots=2)
    ours = ABOUT.welcome.instance
    assert desk.hear(TRAIN, m.OpenStream(5, spec_of(5), "another run")) == [Send(TRAIN, ABOUT.welcome)]
    assert desk.hear(TRAIN, m.OpenStream(5, spec_of(5), ours)) == [MakeSegments(2, 2, 2, 7)]


def test_there_is_a_most_of_streams_of_one_client(desk: Desk) -> None:
    for stream in range(2, MOST_STREAMS_OF_ONE + 1):
        desk.open(stream=stream)
    desk.plan(100, slots=2)
    (refused,) = told(desk.ask(100), m.Refused)
    assert "64 streams of this client and 64 in all are open, the most are 64 and 1024" in str(refused)
    desk.close(2)
    assert isinstance(desk.ask(100)[0], MakeSegments)


# ---- memory on its way back


def test_who_opens_a_stream_just_after_one_was_closed_waits_for_all_of_its_memory(desk: Desk) -> None:
    desk.close()
    desk.plan(2, slots=4)
    assert desk.ask(2) == [MakeSegments(2, 4, 4, 7)]
    assert desk.happen(e.SegmentsMade(2, (), NO_ROOM)) == []
    assert desk.service.next_deadline() == LOOK_EVERY_S
    assert desk.tick(LOOK_EVERY_S) == [MakeSegments(2, 4, 4, 7)]
    desk.happen(e.SegmentsMade(2, (), NO_ROOM))
    assert desk.tick(WAIT_FOR_MORE_S) == [MakeSegments(2, 4, 2, 7)], "it takes fewer after a while"
    desk.happen(e.SegmentsMade(2, (), NO_ROOM))
    assert desk.tick(WAIT_FOR_ANY_S) == [MakeSegments(2, 4, 2, 7)]
    assert told(desk.happen(e.SegmentsMade(2, (), NO_ROOM)), m.Refused), "and none at all is too few at last"


def test_who_waits_for_memory_and_ends_is_forgotten(desk: Desk) -> None:
    desk.close()
    desk.plan(2, slots=4)
    desk.ask(2)
    desk.happen(e.SegmentsMade(2, (), NO_ROOM))
    desk.lose()
    assert desk.service.openings.next_deadline() is None
    assert not told(desk.tick(WAIT_FOR_ANY_S), m.Refused)


# ---- transforms


def test_a_transform_is_tried_before_its_stream_opens(trying: Desk) -> None:
    assert trying.ask(1) == [Send(1, m.ProbeStream(1, spec_of(1), INPUTS))]
    assert trying.ask(1) == [], "it is under way"
    assert trying.hear(1, m.Probed(1, 1, OUTPUTS, "", "")) == [MakeSegments(1, 2, 2, 7)]


def test_an_error_of_a_transform_refuses_its_stream(trying: Desk) -> None:
    trying.ask(1)
    refused = Send(TRAIN, m.Refused(1, "SourceError", "it raised"))
    assert trying.hear(1, m.Probed(1, 1, (), "SourceError", "it raised")) == [refused]


def test_a_transform_that_ends_its_worker_is_tried_by_others_until_three_have_ended(trying: Desk) -> None:
    trying.ask(1)
    again = Send(2, m.ProbeStream(1, spec_of(1), INPUTS))
    assert trying.exit(1) == [StartWorker(3), again]
    assert trying.exit(2) == [StartWorker(4)]
    assert trying.ready(3) == [replace_peer(again, 3)]
    (refused,) = told(trying.exit(3), m.Refused)
    words = "3 workers died while they tried the transform; the last one was killed by SIGKILL"
    assert refused == m.Refused(1, "WorkerDied", words)


def test_a_transform_that_hangs_ends_its_worker_and_refuses_its_stream(trying: Desk) -> None:
    trying.ask(1)
    assert trying.tick(10.0) == [], "tasks behind it would be given to others"
    assert trying.service.next_deadline() == 25.0
    answers = trying.tick(25.0)
    assert KillWorker(1) in answers
    (refused,) = told(answers, m.Refused)
    assert "the transform did not return within 25 s when it was tried" in str(refused)


def test_a_file_is_looked_at_while_a_transform_is_tried(trying: Desk) -> None:
    trying.ask(1)
    assert trying.hear(1, m.Probed(1, 1, (), "", "", file=1)) == [CheckFile(1)]
    adoption = m.AdoptFile(1, 10, 20, 30)
    answers = trying.happen(e.FileChecked(1, "", adoption))
    assert answers[:2] == [Send(1, adoption), Send(2, adoption)]
    assert told(answers, m.ProbeStream) == [m.ProbeStream(1, spec_of(1), INPUTS)]
    trying.hear(1, m.Probed(1, 1, (), "", "", file=1))
    (refused,) = told(trying.happen(e.FileChecked(1, "other frames")), m.Refused)
    assert refused == m.Refused(1, "CatalogChanged", "other frames")


def test_a_worker_that_is_late_is_given_no_transform_to_try_while_another_is_there(trying: Desk) -> None:
    late = trying.scheduler.staff.get(1)
    assert late
    late.late = True
    assert trying.ask(1) == [Send(2, m.ProbeStream(1, spec_of(1), INPUTS))]


def replace_peer(order: Send, worker: int) -> Send:
    """Return an order for another worker."""
    return order._replace(peer=worker)


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
        "loader_service/cli.py",
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
    assert desk.exit(2) == [End(again=False)]
    assert desk.tick(100.0) == [], "once"


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
    assert desk.exit(2) == [End(again=True)]
    other = Desk(workers=1)
    other.hear(TRAIN, m.Restart(7))
    (refused,) = told(other.hear(EVAL, m.Restart(8)), m.Refused)
    assert refused == m.Refused(8, "ConfigError", "the service is stopping; start it when it has ended")
    other.happen(e.StopWanted("SIGTERM"))
    assert other.exit(1) == [End(again=False)]
