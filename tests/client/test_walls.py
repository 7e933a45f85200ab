"""What the client loads, and when: no TensorFlow for NumPy users, and none of the service's rooms but pure ones."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.support import warm_python
from tests.support.services import Service


def _run(program: str, *arguments: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr


def test_the_numpy_client_loads_no_tensorflow_and_no_room_of_the_service(service: Service) -> None:
    _run(
        """
import sys
import loader_client

with loader_client.connect(sys.argv[1]) as connection:
    for batch in connection.batches(4, clip=loader_client.Clip(frames=4)):
        pass
heavy = {"tensorflow", "keras", "h5py", "cv2", "simplejpeg", "click"} & set(sys.modules)
assert not heavy, heavy
for room in ("catalog", "core", "worker"):
    assert f"loader_service.{room}" not in sys.modules, room
""",
        service.endpoint,
    )


def test_every_name_that_the_package_promises_is_there() -> None:
    _run(
        """
import loader_client
promised = set(loader_client.__all__) - {"dataset", "error_of"}
missing = [name for name in promised if not hasattr(loader_client, name)]
assert not missing, missing
try:
    loader_client.datasets
except AttributeError as error:
    assert "no attribute 'datasets'" in str(error)
else:
    raise AssertionError("a name that is none was found")
"""
    )


def test_without_tensorflow_the_package_serves_numpy_and_its_dataset_says_in_one_line_what_to_install() -> None:
    _run(
        """
import sys
sys.modules["tensorflow"] = None  # as if it were not installed
import loader_client
assert callable(loader_client.connect)
for name in ("dataset", "error_of", "state_after"):
    try:
        getattr(loader_client, name)
    except ModuleNotFoundError as error:
        assert error.name == "tensorflow"
        assert "pip install 'loader-service[tensorflow]'" in str(error)
        assert "\\n" not in str(error)
    else:
        raise AssertionError(f"{name} was found without TensorFlow")
"""
    )


def test_a_tensorflow_that_lacks_a_part_of_itself_is_not_said_to_be_missing() -> None:
    _run(
        """
import sys

class Broken:
    def find_spec(self, name, path=None, target=None):
        if name == "tensorflow":
            raise ModuleNotFoundError("No module named 'numpy.core._multiarray_umath'", name="numpy.core")

sys.meta_path.insert(0, Broken())
import loader_client
try:
    loader_client.dataset
except ModuleNotFoundError as error:
    assert error.name == "numpy.core", error
else:
    raise AssertionError("a broken TensorFlow was imported")
"""
    )


@pytest.mark.tensorflow
def test_dataset_is_the_function_at_every_access() -> None:
    done = warm_python.run(
        """
import types
import loader_client
assert isinstance(loader_client.dataset, types.FunctionType)
from loader_client import dataset, error_of
import loader_client.dataset
for found in (loader_client.dataset, loader_client.dataset, dataset, error_of, loader_client.error_of):
    assert isinstance(found, types.FunctionType), found
"""
    )
    assert done.returncode == 0, done.stderr
