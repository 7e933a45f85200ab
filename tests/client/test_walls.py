"""What the client loads, and when: no TensorFlow for NumPy users, and none of the service's rooms but pure ones."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.support.services import Service


def _run(program: str, *arguments: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=False, timeout=60
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


@pytest.mark.tensorflow
def test_dataset_is_the_function_at_every_access() -> None:
    _run(
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
