"""The commands of docs/packing.md run as they stand, on little data of each kind."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from loader_service.formats.examples import encode_example
from tests.docs.command_lines import command_lines, run
from tests.pack.films import write_film
from tests.pack.runs import catalog_in
from tests.pack.test_records import write_records
from tests.support.videos import frame_jpeg, make_videos, write_videos


def _write_sources(place: Path) -> None:
    write_film(place / "UCF101" / "run" / "a.avi", 3)
    for name in ("cat/video/000001.jpg", "cat/video/000002.jpg"):
        path = place / "frames" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(frame_jpeg(1))
    for number in range(16):
        path = place / "photos" / f"class{number % 2}" / f"photo{number:02}a.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(frame_jpeg(number))
    features = {"image/encoded": frame_jpeg(0), "image/class/label": np.array([3]), "tags": [b"wet", b"dark"]}
    example = encode_example(features)
    write_records(place / "records" / "train.tfrecord", [example])
    write_videos(place / "old.h5", "padded", make_videos([2, 3]))


def test_every_command_of_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _write_sources(tmp_path)
    monkeypatch.chdir(tmp_path)
    packs = [words for words in command_lines("packing.md") if words[1] == "pack"]
    outputs = []
    for words in command_lines("packing.md"):
        run(words, *(["--workers", "1"] if words in packs else []))
        if words in packs:
            output = Path(words[words.index("-o") + 1])
            outputs.append(catalog_in(tmp_path, *sorted(tmp_path.glob(f"{output.stem}*.h5"))))
    videos = [each.video_count for each in outputs]
    for each in outputs:
        each.close()
    assert videos == [1, 1, 16, 1, 2]
