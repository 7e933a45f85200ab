"""The commands of docs/object-stores.md run as they stand, on a bucket of an S3 server; services are not started."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.docs.command_lines import command_lines, installed_extras, run
from tests.support.videos import make_videos, write_videos


def test_every_command_of_the_page_runs(
    s3: Callable[..., None], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_videos(tmp_path / "a.h5", "padded", make_videos([2, 3]))
    s3("train/a.h5", (tmp_path / "a.h5").read_bytes(), "bucket")
    assert list(installed_extras("object-stores.md")) == ["stores"]
    ours = [words for words in command_lines("object-stores.md") if words[0] == "loader-service"]
    assert [words[1] for words in ours] == ["inspect", "start", "start"]
    for words in ours:
        run(words)
    assert "2 videos" in capsys.readouterr().out
