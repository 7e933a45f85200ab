"""A private service that is started in a notebook shows there how far its scan is; elsewhere nothing is loaded."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import loader_client
from loader_client import notebook_bar
from loader_service.daemon.launcher import PrivateService


def test_only_the_kernel_of_a_notebook_has_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    assert notebook_bar.scan_bar() is None
    for shell, has_bar in ((None, False), (SimpleNamespace(), False), (SimpleNamespace(kernel=object()), True)):
        monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda shell=shell: shell))
        assert notebook_bar.in_notebook() is has_bar


def test_a_private_service_tells_how_far_its_scan_is(small_videos: Path, tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    options = {"workers": "1", "cache_dir": str(tmp_path)}
    service = PrivateService([str(small_videos / "*.h5")], options, 60.0, lambda *each: seen.append(each))
    service.stop()
    assert seen[-1] == (3, 3)
    assert seen == sorted(seen)


def test_the_bar_goes_from_the_first_file_to_the_last(
    small_videos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(notebook_bar, "in_notebook", lambda: True)
    files = str(small_videos / "*.h5")
    with loader_client.connect(files, workers=1, service={"cache_dir": tmp_path}) as connection:
        assert connection.catalog.files == 3
    assert "indexing" in capsys.readouterr().err


def test_without_a_notebook_no_widgets_are_looked_for() -> None:
    code = "import sys, loader_client; assert 'tqdm.auto' not in sys.modules and 'cv2' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=300)
