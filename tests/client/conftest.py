"""What the client's tests share: a service for those that change nothing, plain contents, TensorFlow on demand."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from loader_client.interrupts import INTERRUPTS
from tests.client.reference import Reference
from tests.support.services import Service, running_service


@pytest.fixture(scope="module")
def service(small_videos: Path) -> Iterator[Service]:
    """Run one service of `small_videos` with two workers, for all tests of a file that leave it as it is."""
    with running_service(small_videos / "*.h5", workers=2) as running:
        yield running


@pytest.fixture(scope="session")
def reference(small_videos: Path) -> Reference:
    """Return what `small_videos` holds, read without any of the tested code."""
    return Reference(small_videos)


@pytest.fixture(scope="session")
def tf() -> Any:
    """Return TensorFlow with two logical devices, awake: what it opens once per process is open."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # those of TensorFlow's own imports
        import tensorflow  # noqa: PLC0415, ICN001 - 4 s that only some tests need; `tf` is this function

    cpu = tensorflow.config.list_physical_devices("CPU")[0]
    two = [tensorflow.config.LogicalDeviceConfiguration()] * 2
    tensorflow.config.set_logical_device_configuration(cpu, two)
    doubled = tensorflow.data.Dataset.range(4).map(
        lambda number: tensorflow.py_function(lambda plain: 2 * plain, [number], tensorflow.int64)
    )
    assert [int(number) for number in doubled.prefetch(2)] == [0, 2, 4, 6]
    INTERRUPTS.watch()
    return tensorflow
