"""The process that makes pictures: what it answers, and what becomes of it and of those who wait when it dies."""

from __future__ import annotations

import base64
import os
import signal
from contextlib import closing
from pathlib import Path

import cv2
import numpy as np
import pytest

from loader_service.errors import LoaderError, WorkerDied
from loader_service.preview.previewer import Previewer
from tests.support import processes
from tests.support.catalogs import catalog_of
from tests.support.episodes import write_episode
from tests.support.waiting import eventually


def _preview_pids() -> list[int]:
    return [pid for pid, words in processes.children().items() if "preview_worker" in words]


def test_frames_of_a_video_plots_and_faults(tmp_path: Path) -> None:
    write_episode(tmp_path / "e.h5", 30, seed=3)
    with closing(catalog_of(tmp_path)) as catalog, Previewer(str(catalog.directory)) as previewer:
        ask = {"do": "frames", "video": 0, "field": "top", "numbers": [0, 7, 29], "side": 32}
        strip = previewer.ask(ask).result(60)
        picture = cv2.imdecode(np.frombuffer(base64.b64decode(strip["jpeg"]), np.uint8), cv2.IMREAD_COLOR)
        assert picture.shape == (strip["height"], 3 * (strip["width"] + 2) - 2, 3)
        assert max(strip["height"], strip["width"]) <= 32
        plot = previewer.ask({"do": "plot", "video": 0, "field": "qpos", "points": 10}).result(60)
        assert (plot["at"], plot["components"], len(plot["lines"])) == (list(range(0, 30, 3)), 14, 14)
        assert previewer.ask(ask).result(0) is strip  # kept
        for wrong, words in (
            ({**ask, "numbers": [30]}, "the video has 30"),
            ({**ask, "video": 99}, "video 99"),
            ({**ask, "field": "nothing"}, "'nothing' is none of 'top', 'wrist'"),
            ({**ask, "side": 10**6}, "8 to 1024 pixels"),
            ({"do": "plot", "video": 0, "field": "top", "points": 5}, "'top' is none of"),
        ):
            with pytest.raises(LoaderError, match=words):
                previewer.ask(wrong).result(60)
        assert len(_preview_pids()) == 1  # whatever was wrong, it is the same one
        os.kill(_preview_pids()[0], signal.SIGKILL)
        eventually(lambda: not _preview_pids(), "its end")
        with pytest.raises(WorkerDied, match="was killed by SIGKILL"):
            previewer.ask({**ask, "side": 16}).result(60)
        assert previewer.ask({**ask, "side": 24}).result(60)["width"] <= 24  # by another one
        os.kill(_preview_pids()[0], signal.SIGSTOP)
    assert _preview_pids() == []


def test_one_that_hangs_is_ended_and_says_so(tmp_path: Path) -> None:
    write_episode(tmp_path / "e.h5", 4)
    with closing(catalog_of(tmp_path)) as catalog, Previewer(str(catalog.directory), answer_s=20) as previewer:
        ask = {"do": "frames", "video": 0, "field": "top", "numbers": [0], "side": 32}
        previewer.ask(ask).result(60)
        previewer._answer_s = 0.3
        os.kill(_preview_pids()[0], signal.SIGSTOP)
        with pytest.raises(WorkerDied, match="said nothing for"):
            previewer.ask({**ask, "side": 16}).result(60)
        assert _preview_pids() == []
