"""Every snippet of docs/training.md runs as it stands, in the folder that the page describes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support import warm_python
from tests.support.videos import make_videos, write_videos

_PAGE = Path(__file__).parent.parent.parent / "docs" / "training.md"
_SNIPPET = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@pytest.mark.tensorflow
def test_every_snippet_runs(tmp_path: Path) -> None:
    (tmp_path / "data" / "train").mkdir(parents=True)
    for number in range(2):
        videos = make_videos([12, 9, 15, 10], seed=number, prefix=f"video{number}")
        write_videos(
            tmp_path / "data" / "train" / f"part{number}.h5", "group_vlen", videos, dict.fromkeys(videos, number)
        )
    snippets = _SNIPPET.findall(_PAGE.read_text())
    assert len(snippets) == 5
    program = "\n".join(f"exec({snippet!r}, {{'__name__': 'snippet'}})" for snippet in snippets)
    done = warm_python.run(program, cwd=tmp_path)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr[-4000:]}"
    assert not (tmp_path / "backup").exists()
