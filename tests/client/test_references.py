"""Streams, connections and private services end with the last reference to them: no cycle collector runs here."""

from __future__ import annotations

import gc
import re
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import loader_client
from loader_client import Clip, ConfigError, Spec
from loader_service.protocol.segment_files import shared_memory
from tests.support import processes, warm_python
from tests.support.services import Service
from tests.support.waiting import eventually

_SPEC = Spec(4, Clip(frames=4))


@pytest.fixture(autouse=True)
def no_cycle_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def _mapped_slots() -> int:
    return Path("/proc/self/maps").read_text().count(f"{shared_memory()}/")


def _drop_connection(files: str) -> list[weakref.ref[Any]]:
    connection = loader_client.connect(files, workers=1)
    assert connection.catalog.files
    return [weakref.ref(connection)]


def _drop_stream(files: str) -> list[weakref.ref[Any]]:
    connection = loader_client.connect(files, workers=1)
    stream = connection.open(_SPEC)
    held = [stream.fetch(0, step) for step in range(2)]
    del held
    return [weakref.ref(connection), weakref.ref(stream)]


def _drop_the_connection_first(files: str) -> list[weakref.ref[Any]]:
    connection = loader_client.connect(files, workers=1)
    stream = connection.open(_SPEC)
    gone = [weakref.ref(connection), weakref.ref(stream)]
    del connection
    assert stream.fetch(0, 0)["frames"].any()
    return gone


def _leave_batches_early(files: str) -> list[weakref.ref[Any]]:
    connection = loader_client.connect(files, workers=1)
    for _ in connection.batches(4, clip=Clip(frames=4)):
        break
    return [weakref.ref(connection)]


def _leave_an_iterator_suspended(files: str) -> list[weakref.ref[Any]]:
    connection = loader_client.connect(files, workers=1)
    batches = connection.batches(4, clip=Clip(frames=4))
    next(batches)
    gone = [weakref.ref(connection)]
    del connection
    next(batches)
    return gone


def _be_refused(files: str) -> list[weakref.ref[Any]]:
    connection = loader_client.connect(files, workers=1)
    with pytest.raises(ConfigError):
        connection.open(Spec(4, Clip(frames=4), fields=("nothing",)))
    return [weakref.ref(connection)]


@pytest.mark.parametrize(
    "use",
    [
        _drop_connection,
        _drop_stream,
        _drop_the_connection_first,
        _leave_batches_early,
        _leave_an_iterator_suspended,
        _be_refused,
    ],
)
def test_a_private_service_ends_with_the_last_reference_to_what_it_serves(small_videos: Path, use: Any) -> None:
    before, mapped = set(processes.children()), _mapped_slots()
    gone = use(str(small_videos / "*.h5"))
    assert [each() for each in gone] == [None] * len(gone)
    eventually(lambda: set(processes.children()) <= before, "the private service ends")
    assert _mapped_slots() == mapped


def test_a_batch_that_is_kept_keeps_its_own_slot_and_nothing_else(small_videos: Path) -> None:
    before, mapped = set(processes.children()), _mapped_slots()
    connection = loader_client.connect(str(small_videos / "*.h5"), workers=1)
    spec = Spec(4, Clip(frames=8))  # large enough to lie in its slot
    stream = connection.open(spec)
    kept = stream.fetch(0, 0)
    stream.fetch(0, 1)
    gone = weakref.ref(stream)
    del connection, stream
    assert gone() is None
    eventually(lambda: set(processes.children()) <= before, "the private service ends")
    assert _mapped_slots() == mapped + 1
    assert kept["frames"].any()
    del kept
    assert _mapped_slots() == mapped


def test_a_stream_that_is_dropped_is_closed_at_the_service(service: Service) -> None:
    with loader_client.connect(service.endpoint) as connection:
        stream = connection.open(_SPEC)
        stream.fetch(0, 0)
        assert len(connection.status().streams) == 1
        del stream
        eventually(lambda: not connection.status().streams, "the service closes the stream")


def test_a_dropped_sequence_ends_its_private_service(tf: Any, small_videos: Path) -> None:
    from loader_client.keras import LoaderSequence  # noqa: PLC0415 - Keras is for the tests that need it

    before = set(processes.children())
    sequence = LoaderSequence(str(small_videos / "*.h5"), workers=1, batch_size=4, clip=Clip(frames=4))
    assert sequence[0][0].any()
    gone = weakref.ref(sequence)
    del sequence
    assert gone() is None
    eventually(lambda: set(processes.children()) <= before, "the private service ends")


#: A notebook's cell, run again and again; at each turn the old dataset is dropped after the new one was made.
_NOTEBOOK = """
import gc, os, re, sys
gc.disable()
import loader_client
from loader_client import Clip, Image

def services():
    return len(open(f"/proc/self/task/{os.getpid()}/children").read().split())

def shared_bytes():
    return int(re.search(r"RssShmem:\\s*(\\d+)", open("/proc/self/status").read())[1]) * 1024

for run in range(int(sys.argv[2])):
    ds = loader_client.dataset(
        sys.argv[1], workers=1, batch_size=4, clip=Clip(frames=4), image=Image(size=256), fields=("frames", "label")
    )
    mapped = ds.map(lambda frames, label: (frames[:, 0], label)).prefetch(2)
    for batch in ds.take(2):
        pass
    for batch in mapped.take(2):
        pass
    print("run", services(), shared_bytes(), flush=True)
del ds, mapped, batch
print("end", services(), shared_bytes(), flush=True)
"""


@pytest.mark.tensorflow
@pytest.mark.parametrize("times", [4, pytest.param(12, marks=pytest.mark.soak)])
def test_a_cell_that_is_run_again_and_again_leaves_one_service_and_its_memory(small_videos: Path, times: int) -> None:
    done = warm_python.run(_NOTEBOOK, small_videos / "*.h5", times)
    assert done.returncode == 0, done.stderr
    runs = [(int(services), int(shared)) for services, shared in re.findall(r"run (\d+) (\d+)", done.stdout)]
    assert [services for services, _ in runs] == [1] * times
    first, *_, last = [shared for _, shared in runs]
    assert last < 1.5 * first + 2**20
    assert re.findall(r"end (\d+) (\d+)", done.stdout) == [("0", "0")]
