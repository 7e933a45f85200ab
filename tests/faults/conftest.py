"""What the fault tests share: data, the log of a run without a fault, and the trainers that must repeat it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.training import Log, Train, train_numpy, train_tf_data
from tests.support.services import running_service
from tests.support.videos import make_videos, write_videos


@pytest.fixture(scope="session")
def videos(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a pattern of four files with 32 videos: enough for tasks of several owners in each step."""
    folder = tmp_path_factory.mktemp("faults")
    for number in range(4):
        lengths = [10 + (number * 11 + place * 7) % 40 for place in range(8)]
        found = make_videos(lengths, seed=number, prefix=f"f{number}v")
        write_videos(folder / f"{number}.h5", "group_vlen", found, {name: at for at, name in enumerate(found)})
    return str(folder / "*.h5")


@pytest.fixture(scope="session")
def undisturbed(videos: str) -> Log:
    """Return the log of a training during which nothing fails, with a single worker."""
    with running_service(videos) as service:
        return list(train_numpy(service.endpoint))


#: The faults are inflicted on tf.data in every run; the NumPy client, on which it stands, has its turn in `make soak`.
_TRAINERS = (pytest.param("numpy", marks=pytest.mark.soak), pytest.param("tf_data", marks=pytest.mark.tensorflow))


@pytest.fixture(scope="session", params=_TRAINERS)
def train(request: pytest.FixtureRequest) -> Train:
    """Return a trainer of either kind; for the session, so that TensorFlow is there before leaks are counted."""
    if request.param == "numpy":
        return train_numpy
    request.getfixturevalue("tf")
    return train_tf_data


class Once:
    """Writes failpoints, each with a file of its own that says whether it has fired."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._made = 0

    def __call__(self, *points: str, always: str = "") -> dict[str, str]:
        """Return the environment in which each of `points` fires in one process, once, and `always` in each."""
        texts = [always]
        for point in points:
            self._made += 1
            texts.append(f"{point}:{self._folder}/fired-{self._made}")
        return {"LOADER_SERVICE_FAILPOINTS": ";".join(texts)}

    @property
    def fired(self) -> int:
        """How many have fired."""
        return len(list(self._folder.glob("fired-*")))


@pytest.fixture
def once(tmp_path: Path) -> Once:
    """Return a maker of failpoints that fire a given number of times, in whichever processes come by."""
    return Once(tmp_path)
