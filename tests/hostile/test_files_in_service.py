"""Files that lie, break or change: the whole service tells the trainer which and why, and never gives it zeros."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import h5py
import numpy as np
import pytest

import loader_client
from loader_client import Clip, Image
from loader_service.errors import CatalogChanged, DecodeError, LoaderError
from loader_service.protocol.spec import Spec
from tests.catalog import test_bad_files as bad
from tests.support.services import running_service, started_service
from tests.support.videos import Storage, frame_jpeg, make_videos, write_videos

_SPEC = Spec(2, Clip(2, sampling="start"), Image(size=(48, 64)), shuffle=False, drop_remainder=False)
_EACH_FRAME = Spec(1, Clip(1, sampling="every"), Image(size=(48, 64)), shuffle=False)


def outcomes(endpoint, spec=_EACH_FRAME):
    """Return for each step of an epoch its frames, or the error that it ended in."""
    found = []
    with loader_client.connect(endpoint) as connection:
        stream = connection.open(spec)
        for step in range(stream.steps_per_epoch):
            try:
                found.append(stream.fetch(0, step)["frames"].copy())
            except LoaderError as error:
                found.append(error)
    return found


def test_all_frames_of_good_files_come(tmp_path):
    bad.write_good(tmp_path / "good.h5")
    with running_service(tmp_path / "*.h5") as service:
        assert all(frames.any() for frames in outcomes(service.endpoint))


@pytest.mark.parametrize(("write", "message"), bad.BAD.items(), ids=[write.__name__ for write in bad.BAD])
def test_a_service_does_not_start_on_a_bad_file(tmp_path, write, message):
    bad.write_good(tmp_path / "good.h5")
    write(tmp_path / "bad.h5")
    with started_service(tmp_path / "*.h5") as service:
        assert service.wait() == 1
        assert message in service.log
        assert str(tmp_path / "bad.h5") in service.log
        assert "Traceback" not in service.log


def test_bad_files_are_left_out_when_asked_to(tmp_path):
    bad.write_good(tmp_path / "good.h5")
    for write in bad.BAD:
        write(tmp_path / f"{write.__name__}.h5")
    with running_service(tmp_path / "*.h5", on_bad_file="skip") as service:
        assert "1 file, 2 videos" in service.said
        assert f"{len(bad.BAD)} files skipped" in service.said
        assert all(frames.any() for frames in outcomes(service.endpoint))
        for write, message in bad.BAD.items():
            assert any(message in line and write.__name__ in line for line in service.log.splitlines())


def test_a_service_does_not_start_on_a_file_that_is_being_written(tmp_path):
    path = bad.write_good(tmp_path / "a.h5")
    program = "import h5py, sys\nfile = h5py.File(sys.argv[1], 'a')\nprint('open', flush=True)\nsys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", program, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as writer:
        assert writer.stdout.readline() == b"open\n"
        with started_service(path) as service:
            assert service.wait() == 1
            assert "another program has it open for writing" in service.log
            assert "wait until the writer has closed it" in service.log
        writer.stdin.close()


def truncate(path):
    os.truncate(path, path.stat().st_size // 2)


def empty(path):
    os.truncate(path, 0)


def grow(path):
    with open(path, "ab") as stream:
        stream.write(bytes(4096))


def replace(path):
    shutil.copyfile(path, path.with_suffix(".new"))
    os.replace(path.with_suffix(".new"), path)


def overwrite_with_zeros(path):
    size = path.stat().st_size
    path.write_bytes(bytes(size))


HARMFUL = (truncate, empty, overwrite_with_zeros, os.unlink)


@pytest.mark.parametrize("storage", [Storage(), Storage(chunks=2, compression="gzip")], ids=["direct", "hdf5"])
def test_a_file_that_changes_under_a_running_service_is_named_to_the_trainer(tmp_path, storage):
    changes = [*HARMFUL, grow, replace]
    names = [f"{number}-{change.__name__}.h5" for number, change in enumerate(changes)]
    for name in (*names, "untouched.h5"):
        write_videos(tmp_path / name, "padded", make_videos([4, 4]), storage=storage)
    with running_service(tmp_path / "*.h5") as service, loader_client.connect(service.endpoint) as connection:
        stream = connection.open(_SPEC)
        assert stream.steps_per_epoch == len(names) + 1
        before = [stream.fetch(0, step)["frames"].copy() for step in range(stream.steps_per_epoch)]
        assert all(frames.any() for frames in before)
        for change, name in zip(changes, names, strict=True):
            change(tmp_path / name)
        for epoch in (5, 6):
            for step, name in enumerate(names[: len(HARMFUL)]):
                with pytest.raises(CatalogChanged, match=rf"{name}' is not the file that was scanned: "):
                    stream.fetch(epoch, step)
            for step in range(len(HARMFUL), stream.steps_per_epoch):  # the same content, or more after it
                np.testing.assert_array_equal(stream.fetch(epoch, step)["frames"], before[step])


def write_unwritten_chunks(path):
    """Leave the chunk of frame 2 unwritten: HDF5 gives zeros for it."""
    frames = [np.frombuffer(frame_jpeg(number), np.uint8) for number in range(4)]
    with h5py.File(path, "w") as file:
        width = max(map(len, frames))
        dataset = file.create_dataset("v/images", (4, width), np.uint8, chunks=(1, width))
        file.create_dataset("v/lengths", data=[len(frame) for frame in frames])
        for number in (0, 1, 3):
            dataset[number, : len(frames[number])] = frames[number]


def write_empty_frame(path):
    with h5py.File(path, "w") as file:
        dataset = file.create_dataset("v", (4,), h5py.vlen_dtype(np.uint8))
        for number in (0, 1, 3):
            dataset[number] = np.frombuffer(frame_jpeg(number), np.uint8)


def write_late_bad_checksum(path):
    frame = frame_jpeg(0)
    with h5py.File(path, "w") as file:
        rows = np.zeros((4, len(frame)), np.uint8) + np.frombuffer(frame, np.uint8)
        dataset = file.create_dataset("v/images", data=rows, chunks=(1, len(frame)), fletcher32=True)
        file.create_dataset("v/lengths", data=[len(frame)] * 4)
        offset = dataset.id.get_chunk_info(2).byte_offset
    with open(path, "r+b") as stream:
        stream.seek(offset + 100)
        stream.write(b"\0\1\2\3")


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (write_unwritten_chunks, "zero bytes"),
        (write_empty_frame, "expected an image, got 0 bytes"),
        (write_late_bad_checksum, "HDF5 cannot give its bytes"),
    ],
)
def test_a_frame_that_is_not_there_is_an_error_by_name_and_its_neighbours_come(tmp_path, write, message):
    write(tmp_path / "a.h5")
    with running_service(tmp_path / "a.h5") as service:
        found = outcomes(service.endpoint)
    assert [isinstance(each, DecodeError) for each in found] == [False, False, True, False]
    assert message in str(found[2])
    assert str(tmp_path / "a.h5") in str(found[2])
    assert "frame 2" in str(found[2])
    assert all(found[number].any() for number in (0, 1, 3))


def test_a_filter_that_is_not_installed_is_named_at_the_start(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        properties.set_chunk((1, 4096))
        properties.set_filter(32_004, h5py.h5z.FLAG_OPTIONAL)  # LZ4, a plugin
        space = h5py.h5s.create_simple((2, 4096))
        group = file.create_group("v")
        dataset = h5py.h5d.create(group.id, b"images", h5py.h5t.NATIVE_UINT8, space, properties)
        for number in range(2):
            dataset.write_direct_chunk((number, 0), frame_jpeg(number).ljust(4096, b"\0"))
    with started_service(tmp_path / "a.h5") as service:
        assert service.wait() == 1
        assert str(tmp_path / "a.h5") in service.log
        assert "filter" in service.log
