"""The receiver's table: rows are written for open tasks of living workers, in order, and for nobody else."""

from __future__ import annotations

import typing
from dataclasses import replace

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from loader_service.protocol import messages as m
from loader_service.protocol import remote_messages as r
from loader_service.protocol.fields import Field
from loader_service.protocol.rows import Rows
from loader_service.protocol.spec import Clip, Spec
from loader_service.protocol.totals import FileSystemReads, SlowReads
from loader_service.remote.row_intake import SILENCE_S, Attach, Detach, Report, RowIntake, Speak, Tell, Unmap

SAME = {"version": "1", "decoder": "d", "catalog": "f"}
HELLO = r.RemoteHello(**SAME, node="n1", pid=7)
FIELDS = (Field("frames", "uint8", (100,)), Field("label", "int64", ()))
PREPARE = m.PrepareStream(1, Spec(4, Clip(1)), FIELDS)
ROW_BYTES = 108
PEERS = (b"a", b"b", b"c")


def task(number: int, *rows: int, stream: int = 1, slot: int = 10) -> m.Task:
    return m.Task(number, stream, 0, slot, Rows(rows, rows))


def said(acts, kind):
    return [act.message for act in acts if isinstance(act, Report) and isinstance(act.message, kind)]


@pytest.fixture
def intake():
    """One worker, number 5, on connection `a`, with a stream."""
    made = RowIntake(SAME, 3, 0, 0.0)
    made.heard(b"a", HELLO, "proof", 0.0)
    made.told(r.AdmitArrival(0, 5))
    made.given(5, PREPARE)
    return made


def test_a_connection_is_welcome_arrives_and_becomes_a_worker():
    intake = RowIntake(SAME, 3, 100, 0.0)
    assert intake.heard(b"a", HELLO, "proof", 0.0) == [
        Tell(b"a", r.RemoteWelcome("proof")),
        Report(r.RemoteArrived(100, "n1", 7)),
    ]
    assert intake.told(r.AdmitArrival(100, 5)) == [Attach(5), Speak(5, m.WorkerReady(5))]


def test_rows_go_to_their_places_in_the_slot_and_the_task_is_done_after_the_last_byte(intake):
    intake.given(5, task(1, 0, 2))
    assert intake.rows(b"a", 1, 0, 100, 0.0) == (10, [(0, 100)], [])
    assert intake.rows(b"a", 1, 100, 116, 0.0) == (10, [(200, 100), (448, 8), (464, 8)], [])
    assert intake.heard(b"a", m.TaskDone(0, 1, (), 0.5), "", 0.0) == [Speak(5, m.TaskDone(5, 1, (), 0.5))]


@pytest.mark.parametrize(
    ("number", "begin", "size"), [(1, 10, 10), (1, 0, 217), (2, 0, 10)], ids=["out of order", "too much", "no task"]
)
def test_rows_that_were_not_asked_for_end_the_connection_and_are_not_written(intake, number, begin, size):
    intake.given(5, task(1, 0, 2))
    slot, pieces, acts = intake.rows(b"a", number, begin, size, 0.0)
    assert (slot, pieces) == (0, [])
    assert [type(act) for act in acts] == [Tell, Detach, Report]
    assert intake.rows(b"a", 1, 0, 10, 0.0) == (0, [], [Tell(b"a", r.RemoteLeave(comes_again=True))])


def test_a_task_that_is_reported_before_its_rows_came_is_not_done(intake):
    intake.given(5, task(1, 0))
    intake.rows(b"a", 1, 0, 10, 0.0)
    (ended,) = said(intake.heard(b"a", m.TaskDone(0, 1, ()), "", 0.0), r.RemoteEnded)
    assert ended == r.RemoteEnded(5, "on node n1 (pid 7) reported task 1 after 10 of 108 bytes")


def test_what_a_worker_says_of_its_time_is_passed_on_as_that_worker_s(intake):
    spent = m.TimeSpent(0, 9.5, 3.5, 2.0)
    assert intake.heard(b"a", spent, "", 0.0) == [Speak(5, replace(spent, worker=5))]


def test_a_worker_that_is_fenced_writes_nothing_more(intake):
    intake.given(5, task(1, 0))
    assert said(intake.told(r.FenceRemote(5)), r.RemoteEnded) == [r.RemoteEnded(5, "on node n1 (pid 7) was let go")]
    assert intake.rows(b"a", 1, 0, 108, 0.0)[1] == []
    assert said(intake.told(r.FenceRemote(5)), r.RemoteEnded) == [r.RemoteEnded(5, "had ended")]


def test_rows_of_a_stream_that_was_closed_are_dropped_and_their_task_is_reported(intake):
    intake.given(5, task(1, 0))
    intake.rows(b"a", 1, 0, 10, 0.0)
    assert Unmap((10,)) in intake.given(5, m.DropStream(1))
    assert intake.rows(b"a", 1, 10, 98, 0.0) == (0, [], [])
    assert intake.heard(b"a", m.TaskDone(0, 1, ()), "", 0.0) == [Speak(5, m.TaskDone(5, 1, ()))]


def test_a_slot_that_cannot_be_mapped_makes_all_rows_of_the_task_bad(intake):
    intake.given(5, task(1, 0, 1))
    intake.rows(b"a", 1, 0, 216, 0.0)
    intake.cannot_map(b"a", 1, "no slot")
    bad = tuple(m.BadRow(row, "ServiceUnavailable", "no slot") for row in (0, 1))
    assert intake.heard(b"a", m.TaskDone(0, 1, ()), "", 0.0) == [Speak(5, m.TaskDone(5, 1, bad))]


@pytest.mark.parametrize("name", ["version", "decoder", "catalog"])
def test_another_version_is_refused_by_name(name):
    intake = RowIntake(SAME, 3, 0, 0.0)
    other = r.RemoteHello(**{**SAME, name: "x"}, node="n1", pid=7)
    refusal, rejected = intake.heard(b"a", other, "", 0.0)
    assert f"{name} 'x' instead of {SAME[name]!r}" in refusal.message.message
    assert "on node n1" in rejected.message.line
    assert intake.connections == ()


@pytest.mark.parametrize("name", ["version", "node"])
def test_a_hello_of_a_million_letters_is_refused_in_a_short_line(name):
    intake = RowIntake(SAME, 3, 0, 0.0)
    refusal, rejected = intake.heard(b"a", replace(HELLO, **{name: "x" * 2**20}), "", 0.0)
    assert refusal.message.message == "it says more than who it is"
    assert rejected.message.line == "a connection was refused: it says more than who it is"
    assert intake.connections == ()


def test_who_is_silent_is_let_go_but_not_when_the_receiver_itself_stood_still(intake):
    assert intake.tick(SILENCE_S * 10) == []
    beats = [intake.tick(SILENCE_S * 10 + each / 10) for each in range(1, 20)]
    assert sum(len(said(acts, r.RemoteEnded)) for acts in beats) == 1


def test_a_stranger_is_told_to_come_anew(intake):
    assert intake.heard(b"b", r.RemoteBeat(), "", 0.0) == [Tell(b"b", r.RemoteLeave(comes_again=True))]


@pytest.mark.parametrize(
    ("message", "words"),
    [
        (m.TaskDone(0, 1, (m.BadRow(3, "DecodeError", "x"),)), "row 3 of task 1, which has no such row"),
        (m.TaskDone(0, 1, (), -1.0), "waited for -1 s"),
        (m.TimeSpent(0, 1.0, 0.0, 0.0, slow=(SlowReads(3, 1),)), "file 3, of 3"),
        (m.TimeSpent(0, 1.0, 0.0, 0.0, slow=(SlowReads(2**70, 1),)), "file 1180591620717411303424"),
        (m.TimeSpent(0, -1.0, 0.0, 0.0), "below zero"),
        (m.TimeSpent(0, 1.0, 0.0, 0.0, (FileSystemReads("x" * 5000, 1.0, 1, 0),)), "longer name"),
        (m.TimeSpent(0, 1.0, 0.0, 0.0, (FileSystemReads("x", 1.0, 1, 0),) * 300), "300 file systems"),
    ],
    ids=["row", "wait", "file", "huge file", "negative", "name", "names"],
)
def test_a_report_that_cannot_be_true_ends_the_connection_and_goes_nowhere(intake, message, words):
    intake.given(5, task(1, 0))
    intake.rows(b"a", 1, 0, ROW_BYTES, 0.0)
    acts = intake.heard(b"a", message, "", 0.0)
    (ended,) = said(acts, r.RemoteEnded)
    assert words in ended.cause
    assert not [act for act in acts if isinstance(act, Speak)]


def test_whatever_the_loop_of_a_worker_reports_a_remote_one_may_say():
    others = {m.WorkerReady, m.CopyRead, m.Probed}  # said by the receiver; of a local copy; of a transform
    assert set(typing.get_args(m.FromWorker)) - others <= set(typing.get_args(r.FromRemote))


class Table(RuleBasedStateMachine):
    """The daemon, three connections that say anything at any time, and a model of what may be written."""

    @initialize()
    def begin(self) -> None:
        self.intake = RowIntake(SAME, 3, 0, 0.0)
        self.now = 0.0
        self.waiting: list[int] = []  # arrivals
        self.alive: dict[int, bytes] = {}  # workers, as the daemon knows them
        self.came: dict[int, bytes] = {}
        self.open: dict[int, dict[int, tuple[int, int, int]]] = {}  # worker → task → size, received, slot
        self.streams = {1}
        self.last_worker = self.last_task = 0

    def act(self, acts) -> None:
        attached = set()
        for act in acts:
            match act:
                case Report(r.RemoteArrived(arrival)):
                    self.waiting.append(arrival)
                case Attach(worker):
                    attached.add(worker)
                case Report(r.RemoteEnded(worker)):
                    assert worker in self.alive
                    del self.alive[worker]
                    self.open.pop(worker, None)
                case Speak(worker, m.TaskDone(_, number)):
                    size, received, _ = self.open[worker].pop(number)
                    assert received in (size, -1), "done before all bytes came"

    @rule(peer=st.sampled_from(PEERS))
    def hello(self, peer: bytes) -> None:
        before = len(self.waiting)
        self.act(self.intake.heard(peer, HELLO, "", self.now))
        if len(self.waiting) > before:
            self.came[self.waiting[-1]] = peer

    @precondition(lambda self: self.waiting)
    @rule(admits=st.booleans())
    def decide(self, admits: bool) -> None:
        arrival = self.waiting.pop(0)
        if not admits:
            self.act(self.intake.told(r.DismissArrival(arrival)))
            return
        self.last_worker += 1
        worker = self.last_worker
        self.alive[worker] = self.came[arrival]
        self.open[worker] = {}
        self.act(self.intake.told(r.AdmitArrival(arrival, worker)))
        for stream in self.streams:
            self.act(self.intake.given(worker, m.PrepareStream(stream, PREPARE.spec, FIELDS)))

    @precondition(lambda self: self.alive)
    @rule(data=st.data(), rows=st.sets(st.integers(0, 3), min_size=1))
    def give(self, data, rows: set[int]) -> None:
        worker = data.draw(st.sampled_from(sorted(self.alive)))
        self.last_task += 1
        stream = max(self.streams)
        slot = stream * 10 + self.last_task % 2
        self.open[worker][self.last_task] = (len(rows) * ROW_BYTES, 0, slot)
        self.act(self.intake.given(worker, task(self.last_task, *sorted(rows), stream=stream, slot=slot)))

    @rule(peer=st.sampled_from(PEERS), data=st.data(), size=st.integers(1, 500))
    def rows(self, peer: bytes, data, size: int) -> None:
        number = data.draw(st.integers(max(0, self.last_task - 3), self.last_task + 1))
        worker = next((each for each, where in self.alive.items() if where == peer), 0)
        held = self.open.get(worker, {}).get(number)
        begin = data.draw(st.sampled_from([0, held[1] if held else 0, held[1] + 1 if held else 3]))
        slot, pieces, acts = self.intake.rows(peer, number, begin, size, self.now)
        if pieces:
            assert held is not None, "written without a task"
            assert begin == held[1], "written out of order"
            assert slot == held[2]
            assert sum(length for _, length in pieces) == size
        if held is not None and not acts:
            received = -1 if held[1] == -1 or not pieces else held[1] + size
            self.open[worker][number] = (held[0], received, held[2])
        self.act(acts)

    @rule(peer=st.sampled_from(PEERS), data=st.data())
    def done(self, peer: bytes, data) -> None:
        number = data.draw(st.integers(max(0, self.last_task - 3), self.last_task + 1))
        self.act(self.intake.heard(peer, m.TaskDone(99, number, ()), "", self.now))

    @precondition(lambda self: self.alive)
    @rule(data=st.data())
    def fence(self, data) -> None:
        worker = data.draw(st.sampled_from(sorted(self.alive)))
        self.act(self.intake.told(r.FenceRemote(worker)))
        assert worker not in self.alive

    @rule(peer=st.sampled_from(PEERS))
    def close(self, peer: bytes) -> None:
        self.act(self.intake.unreachable(peer))

    @precondition(lambda self: self.alive)
    @rule(data=st.data())
    def drop_stream(self, data) -> None:
        """Close the stream and open another one: some workers hear of it later."""
        stream = max(self.streams)
        workers = sorted(self.alive)
        for worker in workers:
            self.open[worker] = {number: (size, -1, slot) for number, (size, _, slot) in self.open[worker].items()}
            self.act(self.intake.given(worker, m.DropStream(stream)))
        self.streams = {stream + 1}
        for worker in workers:
            self.act(self.intake.given(worker, m.PrepareStream(stream + 1, PREPARE.spec, FIELDS)))

    @rule(passed=st.floats(0.0, 2.0))
    def wait(self, passed: float) -> None:
        self.now += passed
        self.act(self.intake.tick(self.now))

    @invariant()
    def the_same_workers_live(self) -> None:
        if hasattr(self, "alive"):
            assert set(self.intake.workers) == set(self.alive)


TestTable = Table.TestCase
TestTable.settings = settings(max_examples=60, stateful_step_count=40)
