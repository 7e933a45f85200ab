"""A file whose time or inode changes under a training is looked at again: the same content goes on, other ends it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import h5py
import numpy as np
import pytest

import loader_client
from loader_client import CatalogChanged, Clip, Frame, Image, Patience, Spec
from tests.faults.training import STREAM, disturb, entry
from tests.support.services import running_service
from tests.support.videos import Storage, make_videos, write_videos
from tests.support.waiting import eventually

SPEC = Spec(2, Clip(2, sampling="start"), Image(size=(48, 64)), shuffle=False, drop_remainder=False)


def touch(path: Path) -> None:
    os.utime(path)


def open_to_append(path: Path) -> None:
    with h5py.File(path, "a"):
        pass
    os.utime(path)  # as a library of another version may


def copy(path: Path) -> None:
    """Put a copy in its place: another inode."""
    shutil.copy(path, path.with_suffix(".new"))
    os.replace(path.with_suffix(".new"), path)


def grow(path: Path) -> None:
    """Add bytes that belong to no dataset."""
    with open(path, "ab") as stream:
        stream.write(bytes(4096))


def add_a_note(path: Path) -> None:
    with h5py.File(path, "a") as file:
        file.attrs["note"] = "seen"


HARMLESS = [touch, open_to_append, copy, grow, add_a_note]


@pytest.fixture(params=[Storage(), Storage(chunks=2, compression="gzip")], ids=["direct", "hdf5"])
def videos(tmp_path, request):
    for number in range(2):
        found = make_videos([12, 9, 15, 10], seed=number, prefix=f"f{number}v")
        labels = {name: at for at, name in enumerate(found)}
        write_videos(tmp_path / f"{number}.h5", "padded", found, labels, storage=request.param)
    return tmp_path


def train(endpoint, **options):
    with loader_client.connect(endpoint) as connection:
        clip = Clip(4, sampling="every", hop=2)
        stream = connection.open(Spec(**{**STREAM, "batch_size": 4, "clip": clip, **options}))
        for position in range(4 * stream.steps_per_epoch):
            epoch, step = divmod(position, stream.steps_per_epoch)
            yield entry(epoch, step, stream.fetch(epoch, step))


@pytest.mark.parametrize("on_error", ["raise", "substitute"])
def test_a_training_goes_on_when_files_are_touched_copied_or_opened_to_append(videos, on_error):
    with running_service(videos / "*.h5", workers=2) as service:
        undisturbed = list(train(service.endpoint, on_error=on_error))
        faults = {
            4 + 5 * at: lambda change=change: [change(path) for path in videos.glob("?.h5")]
            for at, change in enumerate(HARMLESS)
        }
        assert disturb(train(service.endpoint, on_error=on_error), faults) == undisturbed
        with loader_client.connect(service.endpoint) as connection:
            counters = {each.name: each.count for each in connection.status().counters}
        assert counters["samples_bad"] == counters["samples_substituted"] == 0
        assert service.log.count("the same content; trainings go on") in (1, 2)  # once for each file, or for both


def test_a_worker_that_starts_later_knows_of_files_that_were_touched(videos):
    with running_service(videos / "*.h5") as service, loader_client.connect(service.endpoint) as connection:
        stream = connection.open(SPEC)
        before = [stream.fetch(0, step)["frames"].tobytes() for step in range(stream.steps_per_epoch)]
        touch(videos / "0.h5")
        stream.fetch(7, 0)
        connection.scale(3)
        eventually(lambda: len(connection.status().workers) == 3, "three workers")
        os.kill(connection.status().workers[0].pid, 9)
        after = [stream.fetch(8, step)["frames"].tobytes() for step in range(stream.steps_per_epoch)]
        assert after == before


def reencode(path: Path) -> None:
    """Write as many videos of as many frames, with other pictures."""
    write_videos(path, "padded", make_videos([12, 9, 15, 10], seed=77, prefix="f0v"))


def lengthen(path: Path) -> None:
    found = make_videos([12, 10, 15, 10], prefix="f0v")
    write_videos(path, "padded", found, {name: at for at, name in enumerate(found)})


def rename(path: Path) -> None:
    with h5py.File(path, "a") as file:
        file.move("f0v1", "other")


def relabel(path: Path) -> None:
    with h5py.File(path, "a") as file:
        file["f0v2"].attrs["label"] = 77


def truncate(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


HARMFUL = [
    (reencode, r"frame \d of video 'f0v0' has \d+ bytes where it had \d+|labels"),
    (lengthen, "video 'f0v1' has 10 frames where it had 9"),
    (rename, "video 'f0v1' is missing"),
    (relabel, "its labels are not those that it had"),
    (truncate, "the file is truncated"),
    (os.unlink, "No such file"),
]


@pytest.mark.parametrize(("change", "words"), HARMFUL, ids=[change.__name__ for change, _ in HARMFUL])
def test_other_content_ends_trainings_with_what_differs_in_words(videos, change, words):
    options = {"clip": Clip(2, sampling="start"), "image": Image(size=(48, 64)), "shuffle": False}
    with running_service(videos / "*.h5") as service, loader_client.connect(service.endpoint) as connection:
        streams = [connection.open(Spec(2, on_error=each, **options)) for each in ("substitute", "raise")]
        change(videos / "0.h5")
        for stream in streams:
            with pytest.raises(
                CatalogChanged, match=rf"0\.h5' is not the file that was scanned: .*({words})"
            ) as caught:
                stream.fetch(9, 0)
            with pytest.raises(CatalogChanged):  # and so it stays
                stream.fetch(10, 0)
            assert not any(word in str(caught.value) for word in ("mtime", "inode", "_ns"))
            assert stream.fetch(20, stream.steps_per_epoch - 1)["frames"].any()  # of the other file


def write_table(path, seed=0, **stored):
    features = np.random.default_rng(seed).normal(size=(64, 256)).astype(np.float32)
    with h5py.File(path, "w") as file:
        file.create_dataset("features", data=features, **stored)


@pytest.mark.parametrize("stored", [{}, {"chunks": (8, 256), "compression": "gzip"}], ids=["contiguous", "compressed"])
def test_rows_of_a_touched_table_come_as_before_and_those_of_another_of_the_same_form_do_not(tmp_path, stored):
    path = tmp_path / "table.h5"
    write_table(path, **stored)
    with running_service(path) as service, loader_client.connect(service.endpoint) as connection:
        stream = connection.open(Spec(batch_size=16, clip=Frame(), fields=("features", "index")))
        before = stream.fetch(3, 0)["features"].copy()
        touch(path)
        np.testing.assert_array_equal(stream.fetch(3, 0)["features"], before)
        copy(path)
        np.testing.assert_array_equal(stream.fetch(3, 0)["features"], before)
        write_table(tmp_path / "another.h5", seed=1, **stored)
        path.write_bytes((tmp_path / "another.h5").read_bytes())  # the service may hold HDF5's lock of it
        with pytest.raises(CatalogChanged, match=r"the bytes of 'features' (are not those|lie elsewhere)"):
            stream.fetch(30, 0)


def test_a_file_that_is_open_for_writing_and_unchanged_is_waited_for(videos):
    program = (
        "import h5py, os, sys\nfile = h5py.File(sys.argv[1], 'a')\nos.utime(sys.argv[1])\n"
        "print('open', flush=True)\nsys.stdin.read()"
    )
    with running_service(videos / "*.h5") as service, loader_client.connect(service.endpoint) as connection:
        stream = connection.open(SPEC)
        before = stream.fetch(0, 0)["frames"].copy()
        with subprocess.Popen(
            [sys.executable, "-c", program, str(videos / "0.h5")], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ) as writer:
            assert writer.stdout.readline() == b"open\n"
            closing = time.monotonic() + 1.5
            threading.Timer(1.5, writer.stdin.close).start()
            np.testing.assert_array_equal(stream.fetch(50, 0)["frames"], before)
            assert time.monotonic() >= closing - 0.1


def test_a_training_goes_on_when_the_service_is_started_again_on_touched_files(videos):
    with running_service(videos / "*.h5") as service:
        endpoint, patience = service.endpoint, Patience(reconnect_timeout_s=60)
        with loader_client.connect(endpoint, patience=patience) as connection:
            stream = connection.open(SPEC)
            before = [stream.fetch(0, step)["frames"].tobytes() for step in range(stream.steps_per_epoch)]
            service.kill()
            for change in HARMLESS[:3]:
                change(videos / "1.h5")
            with running_service(videos / "*.h5", endpoint=endpoint):
                after = [stream.fetch(1, step)["frames"].tobytes() for step in range(stream.steps_per_epoch)]
            assert after == before


def test_a_transform_is_tried_on_a_touched_file(videos):
    with running_service(videos / "*.h5", transform="tests.daemon.own_sources:noisy") as service:
        for path in videos.glob("?.h5"):
            touch(path)
        with loader_client.connect(service.endpoint) as connection:
            assert connection.open(SPEC).steps_per_epoch
