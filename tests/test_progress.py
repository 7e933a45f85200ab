"""What workers are at can be read from outside, also while they stand still."""

from __future__ import annotations

import os

from loader_service.progress import Progress, ProgressBoard


def test_each_worker_has_a_place_of_its_own():
    with ProgressBoard() as board:
        one, other = (Progress(os.dup(board.descriptor), worker) for worker in (1, 2))
        one.begin(7)
        assert board.read(1) == (7, -1)
        one.at(70_000)
        other.begin(8)
        other.at(3)
        assert (board.read(1), board.read(2)) == ((7, 70_000), (8, 3))
        for each in (one, other):
            each._memory.close()


def test_nobody_need_look():
    progress = Progress()
    progress.begin(1)
    progress.at(2)
