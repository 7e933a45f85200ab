"""Where frames are kept: no two at one place, none outside its file, the same part of each run of frames."""

from __future__ import annotations

import itertools

from hypothesis import given, settings
from hypothesis import strategies as st

from loader_service.frame_cache.cells import BLOCK_FRAMES, HEADER_BYTES, STAMP_BYTES, Cells

SIZES = st.tuples(st.integers(1, 3_000), st.integers(1, 500))


@given(SIZES)
def test_every_place_has_one_block(sizes: tuple[int, int]) -> None:
    cells = Cells(*sizes)

    assert sorted(map(cells.place_of, range(cells.blocks))) == list(range(cells.blocks))


@settings(max_examples=30)
@given(SIZES, st.integers(0, 200))
def test_no_two_frames_and_no_stamp_share_a_byte(sizes: tuple[int, int], kept: int) -> None:
    cells = Cells(min(sizes[0], 300), sizes[1])
    taken: list[tuple[int, int]] = [(0, HEADER_BYTES)]
    for frame in range(cells.frames):
        block, index = divmod(frame, BLOCK_FRAMES)
        place = cells.place_of(block)
        if place < kept:
            taken.append((cells.stamp_at(place, index), STAMP_BYTES))
            taken.append((cells.frame_at(place, index), cells.frame_bytes))
    taken.sort()

    assert all(at + size <= following for (at, size), (following, _) in itertools.pairwise(taken))
    assert sum(taken[-1]) <= cells.file_bytes(min(kept, cells.blocks))


@given(st.integers(64, 200_000), st.floats(0.05, 0.95), st.integers(0, 10**6))
def test_of_each_long_run_of_blocks_the_same_part_is_kept(blocks: int, part: float, first: int) -> None:
    cells = Cells(blocks * BLOCK_FRAMES, 1)
    kept = int(part * cells.blocks)
    run = min(cells.blocks, 128)
    found = sum(cells.place_of((first + number) % cells.blocks) < kept for number in range(run))

    assert abs(found - run * kept / cells.blocks) <= 10


@given(SIZES, st.integers(1, 40), st.integers(1, 5), st.data())
def test_runs_hold_each_frame_once_in_order(
    sizes: tuple[int, int], length: int, stride: int, data: st.DataObject
) -> None:
    cells = Cells(sizes[0] + length * stride, sizes[1])
    start = data.draw(st.integers(0, sizes[0] - 1))
    frames = list(range(start, start + length * stride, stride))
    runs = list(cells.runs(frames))

    assert [run.first + number for run in runs for number in range(run.length)] == list(range(length))
    for run in runs:
        for number in range(run.length):
            block, index = divmod(frames[run.first + number], BLOCK_FRAMES)
            assert (run.place, run.begin + number) == (cells.place_of(block), index)


def test_a_clip_of_neighbours_is_two_runs_at_most() -> None:
    cells = Cells(10_000, 100)

    assert {len(list(cells.runs(range(start, start + 16)))) for start in range(64)} == {1, 2}
