"""The commands of docs/unpacking.md run as they stand, and TensorFlow reads the records as the page says."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import pytest

from tests.docs.command_lines import command_lines, run
from tests.docs.snippets import DOCS, snippets_of
from tests.support.late_tensorflow import tf
from tests.support.videos import make_videos, write_videos

LENGTHS = (3, 2)


@pytest.mark.usefixtures("tf")
def test_every_snippet_of_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    videos = make_videos(LENGTHS)
    (tmp_path / "data").mkdir()
    write_videos(tmp_path / "data" / "a.h5", "group_vlen", videos, {"video0": 1, "video1": 2})
    with h5py.File(tmp_path / "data" / "a.h5", "a") as file:
        for name, frames in videos.items():
            file[name]["action"] = np.ones((len(frames), 14), np.float32)
            file[name]["qpos"] = np.arange(len(frames), dtype=np.float64)
    monkeypatch.chdir(tmp_path)
    places = []
    for words in command_lines("unpacking.md"):
        run(words, "--workers", "1")
        places.append(words[words.index("-o") + 1])
    assert places == ["records", "shards", "pictures", "films"]
    assert all((tmp_path / each / "manifest.json").exists() for each in places)
    (snippet,) = [each for each in snippets_of(DOCS / "unpacking.md") if each.language == "python"]
    named: dict[str, object] = {"tf": tf}
    exec(compile(snippet.code, f"unpacking.md:{snippet.line}", "exec"), named)
    read = [{name: value.numpy() for name, value in each.items()} for each in named["ds"]]  # type: ignore[attr-defined]
    assert [list(each["frames"]) for each in read] == list(videos.values())
    assert [each["label"] for each in read] == [1, 2]
    assert [each["action"].shape for each in read] == [(3, 14), (2, 14)]
    assert np.frombuffer(read[0]["qpos"]).tolist() == [0.0, 1.0, 2.0]
