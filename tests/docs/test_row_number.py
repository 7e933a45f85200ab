"""A number more for each row touches the files that CONTRIBUTING.md names, and no other: added, and served."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import loader_client
from loader_client import Clip
from tests.support.services import running_service
from tests.support.videos import make_videos, write_videos

ROOT = Path(__file__).parents[2]

#: Gives each row a weight, the remainder of its sample by 3: in each file, what stands there and what follows it.
_EDITS = {
    "loader_service/protocol/rows.py": (
        ("    frames: int = 0  # that it takes in the fields that vary\n", "    weight: int = 0\n"),
        ("    room: int = 0\n", "    weights: tuple[int, ...] = ()\n"),
        ("            room,\n", '            rows.column("weight", numbers),\n'),
    ),
    "loader_service/daemon/stream_rows.py": (
        ("StepRows(numbers, files.tolist(), positions, frames", ", (samples % 3).tolist()"),
    ),
    "loader_service/protocol/fields.py": (('BOOKKEEPING = ("index", "video", "start", "length"', ', "weight"'),),
    "loader_service/worker/values.py": (
        ('    "length": lambda picks: picks.lengths,\n', '    "weight": lambda picks: picks.asked.weights,\n'),
    ),
}


def named_files() -> list[str]:
    """Return the files of the walk, in its order."""
    text = (ROOT / "CONTRIBUTING.md").read_text().partition("**A number more for each row**")[2].partition("\n\n**")[0]
    return re.findall(r"^\d\. `([^`]+)`", text, re.MULTILINE)


def _package_with_weights(folder: Path) -> Path:
    """Copy the package, follow the walk there, and return the copy."""
    package = folder / "loader_service"
    shutil.copytree(ROOT / "loader_service", package, ignore=shutil.ignore_patterns("__pycache__"))
    for name, edits in _EDITS.items():
        path = folder / name
        text = path.read_text()
        for there, more in edits:
            assert text.count(there) == 1, f"{name} has {there!r} {text.count(there)} times"
            text = text.replace(there, there + more)
        path.write_text(text)
    return package


def test_the_walk_names_at_most_four_files() -> None:
    assert named_files() == list(_EDITS)
    assert len(_EDITS) <= 4


def test_a_number_that_follows_the_walk_reaches_its_row_of_a_batch(tmp_path: Path) -> None:
    write_videos(tmp_path / "a.h5", "group_vlen", make_videos([6] * 11, height=16, width=24))
    package = _package_with_weights(tmp_path / "copy")
    with (
        running_service(tmp_path / "a.h5", package=package, workers=2) as service,
        loader_client.connect(service.endpoint) as connection,
    ):
        batches = connection.batches(batch_size=4, clip=Clip(2), fields=("index", "weight"), drop_remainder=False)
        rows = [pair for batch in batches for pair in zip(*(batch[name].tolist() for name in batch), strict=True)]
    assert sorted(rows) == [(sample, sample % 3) for sample in range(11)]
