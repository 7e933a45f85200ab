"""Every snippet of docs/training.md runs as it stands, in the folder that the page describes."""

from __future__ import annotations

import re
from pathlib import Path

import h5py
import numpy as np
import pytest

from loader_service.advice import volume_advice
from tests.support import warm_python
from tests.support.boxes import write_boxes
from tests.support.catalogs import catalog_of
from tests.support.videos import make_videos, write_videos

_PAGE = Path(__file__).parent.parent.parent / "docs" / "training.md"
_SCHEMA = re.compile(r"^```toml\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_SNIPPET = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def _write_volumes(folder: Path) -> None:
    """Write a file a volume, of sides that differ, and the schema that `inspect` advises."""
    (folder / "volumes").mkdir()
    for number, sides in enumerate(((20, 18, 8), (22, 16, 8), (19, 18, 9), (16, 18, 7))):
        with h5py.File(folder / "volumes" / f"v{number}.h5", "w") as file:
            file["image"], file["label"] = np.zeros(sides, np.float32), np.zeros(sides, np.uint8)
    advice = volume_advice(catalog_of(folder, folder / "volumes" / "*.h5"))
    assert advice is not None
    (folder / "volumes.toml").write_text("\n".join(re.findall(r"`([^`]*)`", advice)))


@pytest.mark.tensorflow
def test_every_snippet_runs(tmp_path: Path) -> None:
    (tmp_path / "data" / "train").mkdir(parents=True)
    for number in range(2):
        videos = make_videos([12, 9, 15, 10], seed=number, prefix=f"video{number}")
        write_videos(
            tmp_path / "data" / "train" / f"part{number}.h5", "group_vlen", videos, dict.fromkeys(videos, number)
        )
    write_boxes(tmp_path / "data" / "boxes.h5")
    (boxes,) = _SCHEMA.findall(_PAGE.read_text())
    (tmp_path / "data" / "boxes.toml").write_text(boxes)
    _write_volumes(tmp_path / "data")
    snippets = _SNIPPET.findall(_PAGE.read_text())
    assert len(snippets) == 8
    program = "\n".join(f"exec({snippet!r}, {{'__name__': 'snippet'}})" for snippet in snippets)
    done = warm_python.run(program, cwd=tmp_path)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr[-4000:]}"
    assert not (tmp_path / "backup").exists()
