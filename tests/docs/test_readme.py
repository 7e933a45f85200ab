"""The README's snippet with validation data runs as it stands, on the service that was started."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from tests.support import warm_python
from tests.support.services import running_service
from tests.support.videos import make_videos, write_videos

_README = Path(__file__).parent.parent.parent / "README.md"
_SNIPPETS = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)

#: Goes once through what `fit` gets, and says how many rows that were.
_MODEL = """
import loader_client
from loader_client import Clip, Image

class Model:
    def fit(self, train, validation_data, epochs):
        for data in (train, validation_data):
            shapes = [tuple(frames.shape) for frames, label in data]
            assert {shape[1:] for shape in shapes} == {(16, 224, 224, 3)}, shapes
            print("rows", sum(shape[0] for shape in shapes))

model = Model()
"""


@pytest.mark.tensorflow
def test_training_and_validation_data_come_from_one_service(tmp_path: Path) -> None:
    (snippet,) = [each for each in _SNIPPETS.findall(_README.read_text()) if "validation_data" in each]
    videos = make_videos([2] * 100)
    write_videos(tmp_path / "a.h5", "group_vlen", videos, dict.fromkeys(videos, 1))
    with running_service(tmp_path / "*.h5", workers=2) as service:
        environment = {**os.environ, "LOADER_SERVICE_ENDPOINT": service.endpoint}
        done = warm_python.run(_MODEL + snippet, env=environment)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr[-4000:]}"
    train, validation = map(int, re.findall(r"rows (\d+)", done.stdout))
    assert train % 16 == 0  # the last batch is left out if it is not whole
    assert 0 <= 100 - validation - train < 16
    assert validation
