"""Steps whose samples the client names, and steps of samples of different length."""

from __future__ import annotations

from dataclasses import replace

import pytest

from loader_service.core import actions as a
from loader_service.core import events as e
from loader_service.core.events import Lengths
from tests.core.desk import MIB, Desk, ready, send
from tests.core.sources import SpreadSource, sample_of

# ---- an index


@pytest.fixture
def indexed() -> Desk:
    """Two workers, one stream whose wants name their samples, one slot."""
    desk = Desk(workers=2)
    desk.open(indexed=True)
    return desk


def _ask(want: int, samples: tuple[int, ...], positions: tuple[int, ...], step: int = 0) -> e.StepWanted:
    return e.StepWanted("train", 1, want, 0, step, samples, positions)


def test_a_step_holds_the_samples_that_the_client_names(indexed: Desk) -> None:
    assert indexed.happen(_ask(5, (1, 0, 1), (0, 80, 90))) == [
        replace(send(1, 1, (0, 2), (1, 1)), positions=(0, 90)),
        replace(send(2, 2, (1,), (0,)), positions=(80,)),
    ]


def test_a_step_of_an_index_has_as_many_rows_as_the_client_names(indexed: Desk) -> None:
    task = indexed.happen(_ask(5, (1,), (70,)))
    assert task == [replace(send(1, 1, (0,), (1,)), positions=(70,))]
    assert indexed.end(1, 1) == [ready(5, lease=1, rows=1)]


def test_an_index_has_no_last_step(indexed: Desk) -> None:
    assert indexed.happen(_ask(5, (1,), (70,), step=10**9)) == [replace(send(1, 1, (0,), (1,)), positions=(70,))]


@pytest.mark.parametrize(("samples", "positions"), [((), ()), ((1,), ()), ((1,), (7, 8)), ((), (7,))])
def test_a_want_without_what_an_index_needs_fails(
    indexed: Desk, samples: tuple[int, ...], positions: tuple[int, ...]
) -> None:
    assert [type(each) for each in indexed.happen(_ask(5, samples, positions))] == [a.SendFailed]
    assert indexed.scheduler.idle


def test_a_want_that_names_samples_where_the_plan_does_fails(desk: Desk) -> None:
    assert [type(each) for each in desk.happen(_ask(5, (1,), (70,)))] == [a.SendFailed]


def test_a_substitute_has_the_position_of_what_it_replaces() -> None:
    desk = Desk(workers=1, files=1)
    desk.open(files=(0,), indexed=True, substitutes=1)
    desk.happen(_ask(5, (0,), (70,)))
    assert desk.end(1, 1, 0)[1:] == [replace(send(1, 2, (0,), (100,)), positions=(70,))]


# ---- lengths


def test_padded_rows_have_room_for_as_many_frames_as_the_longest() -> None:
    desk = Desk(workers=1, files=1)
    desk.open(files=(0, 0, 0), frames=(4, 9, 2), lengths=Lengths.PADDED)
    tasks = desk.want(5)
    assert [(each.rows, each.offsets, each.lengths, each.room) for each in tasks] == [
        ((0, 1, 2), (0, 9, 18), (4, 9, 2), 9),
    ]
    assert desk.end(1, 1) == [ready(5, lease=1, rows=3, frames=27)]


def test_ragged_rows_lie_one_after_the_other() -> None:
    desk = Desk(workers=2)
    desk.open(files=(0, 1, 0), frames=(4, 9, 2), lengths=Lengths.RAGGED)
    tasks = desk.want(5)
    assert [(each.rows, each.offsets, each.lengths, each.room) for each in tasks] == [
        ((1,), (4,), (9,), 0),
        ((0, 2), (0, 13), (4, 2), 0),
    ]
    desk.end(2, tasks[1].task)
    assert desk.end(1, tasks[0].task) == [ready(5, lease=1, rows=3, frames=15)]


def test_a_substitute_leaves_every_row_in_its_place() -> None:
    desk = Desk(workers=1, files=1)
    desk.open(files=(0, 0), frames=(4, 9), lengths=Lengths.RAGGED, substitutes=1)
    (task,) = desk.want(5)
    (_, again) = desk.end(1, task.task, 0)
    assert (again.samples, again.offsets, again.lengths) == ((100,), (0,), (4,))
    assert desk.end(1, again.task) == [ready(5, lease=1, frames=13, substituted=1)]


def test_a_substitute_of_another_length_is_a_bug_that_is_found() -> None:
    class Longer(SpreadSource):
        def substitute(self, epoch: int, bad: e.Row, attempt: int) -> e.Row | None:
            return bad._replace(frames=bad.frames + 1)

    desk = Desk(workers=1, files=1)
    source = Longer(1, varying=True)
    desk.happen(e.StreamOpened("train", 1, source, 100, (10,), MIB, 1, MIB, Lengths.RAGGED))
    (task,) = desk.want(5)
    with pytest.raises(AssertionError, match="no fit substitute"):
        desk.end(1, task.task, 0)


def test_a_bad_row_that_nothing_can_replace_fails_the_step() -> None:
    desk = Desk(workers=1, files=1)
    desk.happen(e.StreamOpened("train", 1, SpreadSource(4), 100, (10,), MIB, 8, indexed=True))
    (task,) = desk.happen(_ask(5, (sample_of(0, 3),), (0,)))  # place 3 has no substitute
    answers = desk.end(1, task.task, 0)
    why = "row 0; there is no other sample that fits into its place"
    assert answers[-1] == a.SendFailed("train", 1, 5, "DecodeError", why)


def test_work_is_measured_by_the_real_frames() -> None:
    desk = Desk(workers=2, files=1)
    frames = (40, 1, 1, 1, 1, 30)
    desk.open(files=(0,) * 6, frames=frames, lengths=Lengths.PADDED, frame_bytes=3 * MIB)
    tasks = desk.want(5)
    assert [each.rows for each in tasks] == [(0,), (1, 2, 3, 4, 5)]
