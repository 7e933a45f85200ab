"""Every snippet of docs/coming-from.md runs as it stands, in the folder that the page describes."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import h5py
import numpy as np
import pytest

from loader_service.formats.examples import encode_example
from loader_service.formats.tfrecord import RecordWriter
from tests.support import warm_python
from tests.support.videos import make_videos, write_videos

_ROOT = Path(__file__).parent.parent.parent
_PAGE = _ROOT / "docs" / "coming-from.md"
_SNIPPET = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)

#: Runs each file that it is given in a namespace of its own, and says which one it is at.
_RUN_ALL = """
import runpy, sys
for path in sys.argv[1:]:
    print("running", path, flush=True)
    runpy.run_path(path)
print("all ran", flush=True)
"""


def _snippets() -> list[tuple[str, str]]:
    """Return (section, code) of each snippet."""
    page = _PAGE.read_text()
    heads = [(match.start(), match[1]) for match in re.finditer(r"^## (.*)$", page, re.MULTILINE)]
    return [
        (next(title for start, title in reversed(heads) if start < match.start()), match[1])
        for match in _SNIPPET.finditer(page)
    ]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the files that the page names."""
    place = tmp_path_factory.mktemp("coming-from")
    (place / "data" / "train").mkdir(parents=True)
    (place / "data" / "unequal").mkdir()
    shutil.copy(Path(__file__).parent / "scenes.py", place)
    for number in range(2):
        videos = make_videos([12, 9, 15, 10], seed=number, prefix=f"video{number}")
        write_videos(place / "data" / "train" / f"part{number}.h5", "group_vlen", videos, dict.fromkeys(videos, number))
    random = np.random.default_rng(0)
    for number, rows in enumerate((1000, 2000, 3000)):
        with h5py.File(place / "data" / "unequal" / f"rows{number}.h5", "w") as file:
            file["features"] = random.standard_normal((rows, 8)).astype(np.float32)
            file["label"] = random.integers(0, 5, rows)
    (place / "data" / "records").mkdir()
    with (place / "data" / "records" / "clips.tfrecord").open("wb") as file, RecordWriter(file) as writer:
        for number, frames in enumerate(make_videos([10, 12, 9] * 4, seed=9).values()):
            writer.write(encode_example({"frames": frames, "label": np.array([number % 3])}))
    with h5py.File(place / "data" / "features.h5", "w") as file:
        file["features"] = random.standard_normal((200, 64)).astype(np.float32)
        file["key"] = np.array([f"img{row:03}".encode() for row in range(200)])
    with h5py.File(place / "data" / "audio.h5", "w") as file:
        for recording in range(16):
            group = file.create_group(f"recording{recording:02}")
            group["samples"] = random.standard_normal(100 + 37 * recording).astype(np.float32)
            group.attrs["label"] = recording % 3
    with h5py.File(place / "data" / "table.h5", "w") as file:
        table = np.zeros(10, [("index", np.int64), ("values_block_0", np.float64, (3,))])
        table["index"] = np.arange(10)
        file["df/table"] = table
    (place / "structs.py").write_text(next(code for title, code in _snippets() if title == "Compound tables"))
    return place


def test_every_row_of_the_table_has_a_section_with_a_snippet() -> None:
    rows = re.findall(r"^\| \[.*?\]\(#(.*?)\)", _PAGE.read_text(), re.MULTILINE)
    sections = {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title, _ in _snippets()}
    assert len(rows) == 11
    assert set(rows) <= sections


@pytest.mark.tensorflow
def test_every_snippet_runs(folder: Path) -> None:
    paths = []
    for number, (_, code) in enumerate(_snippets()):
        paths.append(folder / f"snippet{number:02}.py")
        paths[-1].write_text(code)
    done = warm_python.run(_RUN_ALL, *paths, cwd=folder)
    assert done.stdout.endswith("all ran\n"), f"{done.stdout}\n{done.stderr[-4000:]}"
