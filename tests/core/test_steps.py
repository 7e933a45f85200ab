"""Steps whose samples the client names, and steps of samples of different length."""

from __future__ import annotations

import pytest

from loader_service.core.planned import Lengths
from loader_service.protocol import messages as m
from loader_service.protocol.rows import Row
from tests.core.desk import MIB, TRAIN, Desk, at, failed, orders, ready, send
from tests.core.sources import SpreadSource, sample_of

# ---- an index


@pytest.fixture
def indexed() -> Desk:
    """Two workers, one stream whose wants name their samples, one slot."""
    desk = Desk(workers=2)
    desk.open(indexed=True)
    return desk


def _ask(want: int, samples: tuple[int, ...], positions: tuple[int, ...], step: int = 0) -> m.Want:
    return m.Want(1, want, 0, step, samples, positions)


def test_a_step_holds_the_samples_that_the_client_names(indexed: Desk) -> None:
    assert indexed.hear(TRAIN, _ask(5, (1, 0, 1), (0, 80, 90))) == [
        at(send(1, 1, (0, 2), (1, 1)), (0, 90)),
        at(send(2, 2, (1,), (0,)), (80,)),
    ]


def test_a_step_of_an_index_has_as_many_rows_as_the_client_names(indexed: Desk) -> None:
    task = indexed.hear(TRAIN, _ask(5, (1,), (70,)))
    assert task == [at(send(1, 1, (0,), (1,)), (70,))]
    assert indexed.end(1, 1) == [ready(5, lease=1, rows=1)]


def test_an_index_has_no_last_step(indexed: Desk) -> None:
    assert indexed.hear(TRAIN, _ask(5, (1,), (70,), step=10**9)) == [at(send(1, 1, (0,), (1,)), (70,))]


@pytest.mark.parametrize(("samples", "positions"), [((), ()), ((1,), ()), ((1,), (7, 8)), ((), (7,))])
def test_a_want_without_what_an_index_needs_fails(
    indexed: Desk, samples: tuple[int, ...], positions: tuple[int, ...]
) -> None:
    assert [type(each.message) for each in indexed.hear(TRAIN, _ask(5, samples, positions))] == [m.Failed]
    assert indexed.scheduler.idle


def test_a_want_that_names_samples_where_the_plan_does_fails(desk: Desk) -> None:
    assert [type(each.message) for each in desk.hear(TRAIN, _ask(5, (1,), (70,)))] == [m.Failed]


def test_a_substitute_has_the_position_of_what_it_replaces() -> None:
    desk = Desk(workers=1, files=1)
    desk.open(files=(0,), indexed=True, substitutes=1)
    desk.hear(TRAIN, _ask(5, (0,), (70,)))
    assert desk.end(1, 1, 0)[2:] == [at(send(1, 2, (0,), (100,)), (70,))]


# ---- lengths


def test_padded_rows_have_room_for_as_many_frames_as_the_longest() -> None:
    desk = Desk(workers=1, files=1)
    desk.open(files=(0, 0, 0), frames=(4, 9, 2), lengths=Lengths.PADDED)
    tasks = [task for _, task in orders(desk.want(5))]
    assert [(rows.numbers, rows.offsets, rows.lengths, rows.room) for rows in (each.rows for each in tasks)] == [
        ((0, 1, 2), (0, 9, 18), (4, 9, 2), 9),
    ]
    assert desk.end(1, 1) == [ready(5, lease=1, rows=3, frames=27)]


def test_ragged_rows_lie_one_after_the_other() -> None:
    desk = Desk(workers=2)
    desk.open(files=(0, 1, 0), frames=(4, 9, 2), lengths=Lengths.RAGGED)
    tasks = [task for _, task in orders(desk.want(5))]
    assert [(rows.numbers, rows.offsets, rows.lengths, rows.room) for rows in (each.rows for each in tasks)] == [
        ((1,), (4,), (9,), 0),
        ((0, 2), (0, 13), (4, 2), 0),
    ]
    desk.end(2, tasks[1].task)
    assert desk.end(1, tasks[0].task) == [ready(5, lease=1, rows=3, frames=15)]


def test_a_substitute_leaves_every_row_in_its_place() -> None:
    desk = Desk(workers=1, files=1)
    desk.open(files=(0, 0), frames=(4, 9), lengths=Lengths.RAGGED, substitutes=1)
    ((_, task),) = orders(desk.want(5))
    ((_, again),) = orders(desk.end(1, task.task, 0))
    assert (again.rows.samples, again.rows.offsets, again.rows.lengths) == ((100,), (0,), (4,))
    assert desk.end(1, again.task) == [ready(5, lease=1, frames=13, substituted=1)]


def test_a_substitute_of_another_length_is_a_bug_that_is_found() -> None:
    class Longer(SpreadSource):
        def substitute(self, epoch: int, bad: Row, attempt: int) -> Row | None:
            return bad._replace(frames=bad.frames + 1)

    desk = Desk(workers=1, files=1)
    source = Longer(1, varying=True)
    desk.open(source=source, row_bytes=MIB, substitutes=1, frame_bytes=MIB, lengths=Lengths.RAGGED)
    ((_, task),) = orders(desk.want(5))
    with pytest.raises(AssertionError, match="no fit substitute"):
        desk.end(1, task.task, 0)


def test_a_bad_row_that_nothing_can_replace_fails_the_step() -> None:
    desk = Desk(workers=1, files=1)
    desk.open(source=SpreadSource(4), row_bytes=MIB, substitutes=8, indexed=True)
    ((_, task),) = orders(desk.hear(TRAIN, _ask(5, (sample_of(0, 3),), (0,))))  # place 3 has no substitute
    answers = desk.end(1, task.task, 0)
    why = "row 0; there is no other sample that fits into its place"
    assert answers[-1] == failed(5, "DecodeError", why)


def test_work_is_measured_by_the_real_frames() -> None:
    desk = Desk(workers=2, files=1)
    frames = (40, 1, 1, 1, 1, 30)
    desk.open(files=(0,) * 6, frames=frames, lengths=Lengths.PADDED, frame_bytes=3 * MIB)
    tasks = [task for _, task in orders(desk.want(5))]
    assert [each.rows.numbers for each in tasks] == [(0,), (1, 2, 3, 4, 5)]
