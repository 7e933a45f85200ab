"""A new encoded layout is one file and one row: the walk of CONTRIBUTING.md, in a copy of the package.

There is no other way to register one: nothing that a client, an option or the environment says can name a layout.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
import simplejpeg

import loader_client
import loader_service
from loader_client import Clip, Image
from tests.catalog.layouts import base64_texts
from tests.catalog.layouts.writers import write_base64
from tests.support.services import command_line, running_service
from tests.support.videos import Storage, make_videos

_PACKAGE = Path(loader_service.__file__).parent
_CLIENT = Path(loader_client.__file__).parent


@pytest.fixture
def package(tmp_path):
    """Return a copy of the package with the new layout: a file, and its row in the registry."""
    root = tmp_path / "copy"
    for folder in (_PACKAGE, _CLIENT):
        shutil.copytree(folder, root / folder.name, ignore=shutil.ignore_patterns("__pycache__"))
    layouts = root / "loader_service" / "catalog" / "layouts"
    shutil.copy(base64_texts.__file__, layouts / "base64_texts.py")
    registry = layouts / "__init__.py"
    text = registry.read_text(encoding="utf-8")
    first = "from loader_service.catalog.layouts.datasets import Datasets\n"
    assert text.count(first) == text.count("    Datasets(),\n") == 1
    text = text.replace(first, f"from loader_service.catalog.layouts.base64_texts import Base64Texts\n{first}")
    registry.write_text(text.replace("    Datasets(),\n", "    Datasets(),\n    Base64Texts(),\n"), encoding="utf-8")
    return root / "loader_service"


def inspect(package, tmp_path, *arguments):
    """Return what `inspect` of a copy of the package prints."""
    return subprocess.run(
        command_line("inspect", tmp_path / "a.h5", f"--cache-dir={tmp_path / 'cache'}", *arguments, package=package),
        env={**os.environ, "PYTHONPATH": str(package.parent)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def test_a_new_layout_is_one_file_and_one_row(tmp_path, package):
    videos = make_videos([5, 3])
    write_base64(tmp_path / "a.h5", videos, Storage())
    # Without it, the same file is refused; with it, it is scanned by other processes and served by real workers.
    before = inspect(_PACKAGE, tmp_path)
    assert before.returncode == 1
    assert "found base64 text of a JPEG" in before.stderr
    assert "read by HDF5, base64 (2 videos)" in inspect(package, tmp_path).stdout
    with (
        running_service(tmp_path / "a.h5", package=package, workers=2) as service,
        loader_client.connect(service.endpoint) as connection,
    ):
        batches = connection.batches(
            2, clip=Clip(frames=3, sampling="start"), image=Image(size=(48, 64)), shuffle=False, epochs=1
        )
        served = [batch["frames"].copy() for batch in batches]
    decoded = [
        [simplejpeg.decode_jpeg(frame, fastdct=True, fastupsample=True) for frame in frames[:3]]
        for frames in videos.values()
    ]
    assert len(served) == 1
    np.testing.assert_array_equal(served[0], np.array(decoded))


def test_what_is_named_in_a_pattern_may_be_of_the_new_layout(tmp_path, package):
    write_base64(tmp_path / "a.h5", make_videos([5, 3]), Storage())
    found = json.loads(inspect(package, tmp_path, "--json", "--frames=*/frames").stdout)
    assert found["frames"] == 8
    # The catalog that is kept is not found by a package without the layout, though no version was counted up.
    refused = inspect(_PACKAGE, tmp_path, "--frames=*/frames").stderr
    assert "expected a vlen uint8 dataset per video" in refused
