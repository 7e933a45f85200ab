"""Streams that open, transforms that are tried, memory that returns: whole answers."""

from __future__ import annotations

from loader_service.core import events as e
from loader_service.core.effects import (
    CheckFile,
    KillWorker,
    MakeSegments,
    Note,
    RemoveSegments,
    Send,
    StartWorker,
)
from loader_service.core.openings import LOOK_EVERY_S, MOST_STREAMS_OF_ONE, WAIT_FOR_ANY_S, WAIT_FOR_MORE_S
from loader_service.protocol import messages as m
from tests.core.desk import EVAL, TRAIN, Desk, told
from tests.core.planner import ABOUT, INPUTS, OUTPUTS, spec_of

NO_ROOM = e.Shortage("2 batches need 14 bytes, 3 are left", "other files: 5 B", "use less")


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
