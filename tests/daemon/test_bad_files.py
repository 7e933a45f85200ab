"""Files that are not what they should be: `start` says so by name, or the trainer does, and the service lives."""

from __future__ import annotations

import os

import h5py
import numpy as np
import pytest

from loader_client import Clip, DecodeError, Image, Spec, connect
from tests.support.services import running_service, started_service
from tests.support.videos import frame_jpeg, make_videos, write_videos


def failed_start(*files, **options):
    """Return exit code and last line of a service that cannot start."""
    with started_service(*files, **options) as service:
        code = service.wait()
        assert "Traceback" not in service.log
        return code, service.log.splitlines()[-1]


def labels_of(service):
    with connect(service.endpoint) as connection:
        batches = connection.batches(1, clip=Clip(frames=1), fields=("label",), shuffle=False)
        return [batch["label"].tolist()[0] for batch in batches]


def videos_of(service):
    with connect(service.endpoint) as connection:
        batches = connection.batches(1, clip=Clip(frames=2), fields=("video", "frames", "length"), shuffle=False)
        return [batch["video"].tolist()[0] for batch in batches]


# ---- names


@pytest.mark.parametrize(
    ("name", "said"),
    [("nothing*.h5", "matches no file"), ("", "is a directory"), ("pipe", "is a device, pipe or socket")],
)
def test_what_is_no_file_ends_the_start_with_code_2(tmp_path, name, said):
    os.mkfifo(tmp_path / "pipe")
    code, line = failed_start(f"{tmp_path}/{name}" if name else tmp_path)
    assert code == 2
    assert said in line
    assert str(tmp_path) in line


def test_a_symlink_loop_is_named(tmp_path):
    (tmp_path / "a.h5").symlink_to("b.h5")
    (tmp_path / "b.h5").symlink_to("a.h5")
    code, line = failed_start(tmp_path / "a.h5")
    assert code in (1, 2)
    assert "a.h5" in line


def test_odd_names_work(tmp_path):
    names = ["ä ß 中.h5", "new\nline.h5", b"caf\xe9.h5", "-rf.h5", "[1].h5", "a'b\"c.h5"]
    paths = [os.fsdecode(os.path.join(os.fsencode(tmp_path), os.fsencode(name))) for name in names]
    for number, path in enumerate(paths):
        write_videos(path, "group_vlen", {f"{letter} in file {number}": [frame_jpeg(number)] for letter in "AB"})
    with running_service(*paths) as service:
        assert sorted(videos_of(service)) == sorted(
            b"%c in file %d" % (letter, number) for number in range(len(names)) for letter in b"AB"
        )


def test_an_error_in_a_file_of_an_odd_name_reaches_the_trainer(tmp_path):
    path = os.path.join(os.fsencode(tmp_path), b"caf\xe9\n.h5")
    write_videos(os.fsdecode(path), "group_vlen", {"v": [frame_jpeg(0)[:300]]})
    with running_service(os.fsdecode(path)) as service, connect(service.endpoint) as connection:
        batches = connection.batches(1, clip=Clip(frames=1))
        with pytest.raises(DecodeError, match=r"caf\\udce9\\n\.h5"):
            next(batches)


# ---- files


@pytest.mark.parametrize("kind", ["empty", "text", "truncated"])
def test_a_file_that_is_no_whole_hdf5_is_named(small_videos, tmp_path, kind):
    path = tmp_path / "bad.h5"
    whole = (small_videos / "part0.h5").read_bytes()
    path.write_bytes({"empty": b"", "text": b"hello" * 1000, "truncated": whole[: len(whole) // 2]}[kind])
    code, line = failed_start(path)
    assert code == 1
    assert str(path) in line


def test_a_bad_file_can_be_left_out(small_videos, tmp_path):
    (tmp_path / "bad.h5").write_bytes(b"no")
    with running_service(small_videos / "part0.h5", tmp_path / "bad.h5", on_bad_file="skip") as service:
        assert "1 file skipped" in service.said
        assert len(videos_of(service)) == 4


def test_a_dataset_that_is_missing_or_of_a_wrong_kind_is_named_with_what_was_found(tmp_path):
    with h5py.File(tmp_path / "numbers.h5", "w") as file:
        file["table"] = np.zeros((4, 5), np.complex64)  # of real numbers it would be a table of rows
    code, line = failed_start(tmp_path / "numbers.h5")
    assert code == 1
    assert "numbers.h5" in line
    assert "table" in line
    assert "(4, 5)" in line


# ---- videos and labels


def test_videos_without_frames_are_left_out_and_counted_and_short_ones_padded(tmp_path):
    write_videos(tmp_path / "a.h5", "group_vlen", {"none": [], "one": [frame_jpeg(1)], "two": [frame_jpeg(2)] * 2})
    with running_service(tmp_path / "a.h5") as service:
        assert "1 empty video left out" in service.said
        with connect(service.endpoint) as connection:
            stream = connection.batches(2, clip=Clip(frames=2), shuffle=False)
            batch = next(stream)
            assert batch["length"].tolist() == [1, 2]
            np.testing.assert_array_equal(batch["frames"][0, 0], batch["frames"][0, 1])
            assert connection.catalog.empty_videos == 1
            assert [each.padded_videos for each in connection.status().streams] == [1]
            stream.close()
            assert "every video is shorter" not in service.log
            next(connection.batches(2, clip=Clip(frames=2, stride=5)))
            assert "every video is shorter than Clip(frames=2, stride=5): last frames are repeated" in service.log


def test_labels_that_are_missing_or_not_numbers_are_named(tmp_path):
    videos = make_videos([2, 3])
    write_videos(tmp_path / "some.h5", "group_vlen", videos, {"video0": 1})
    code, line = failed_start(tmp_path / "some.h5")
    assert code == 1
    assert "some.h5" in line
    assert "video1" in line
    write_videos(tmp_path / "short.h5", "group_vlen", videos)
    with h5py.File(tmp_path / "short.h5", "a") as file:
        file["labels"] = [1]
    code, line = failed_start(tmp_path / "short.h5", label="labels")
    assert code == 1
    assert "short.h5" in line


def test_labels_come_with_their_videos(small_videos):
    with running_service(small_videos / "*.h5") as service:
        assert sorted(labels_of(service)) == [0, 1, 2, 3, 10, 11, 12, 20, 21, 22, 23, 24]


# ---- frames


def flipped(jpeg):
    """Return a JPEG whose header is whole and whose last half is noise with a false marker."""
    middle = len(jpeg) // 2
    return jpeg[:middle] + b"\xff\xc4\x00\x00" * 20 + jpeg[middle + 80 :]


BOMB = b"\xff\xd8\xff\xc0\x00\x11\x08\xff\xdc\xff\xdc\x03\x01\x22\x00\x02\x11\x01\x03\x11\x01" + b"\0" * 200

BROKEN = {
    "truncated": frame_jpeg(5)[:400],
    "no header": b"\0" * 500,
    "almost a PNG": b"\x89PNX\r\n\x1a\n" + b"\0" * 500,
    "empty": b"",
    "flipped": flipped(frame_jpeg(5)),
    "a bomb": BOMB,
}


def test_a_broken_frame_is_an_error_that_names_file_video_and_frame(tmp_path):
    for kind, jpeg in BROKEN.items():
        frames = [frame_jpeg(10), frame_jpeg(11), jpeg, frame_jpeg(13)]
        write_videos(tmp_path / f"{kind}.h5", "group_vlen", {"good": [frame_jpeg(0)] * 4, "bad": frames})
    with running_service(tmp_path / "*.h5") as service, connect(service.endpoint) as connection:
        (pid,) = service.worker_pids
        clip = Clip(frames=4, sampling="start")
        errors = errors_of(connection.open(Spec(1, clip, Image(size=(48, 64)), shuffle=False)))
        assert len(errors) == len(BROKEN)
        for kind in BROKEN:
            (error,) = [text for text in errors if f"{tmp_path}/{kind}.h5" in text]
            assert "'bad'" in error
            assert "frame 2" in error
            assert any(f"{kind}.h5" in line and "frame 2" in line for line in connection.status().events)
        clip = Clip(frames=2, sampling="start")
        assert errors_of(connection.open(Spec(1, clip, Image(size=(48, 64)), shuffle=False))) == []
        assert service.worker_pids == [pid]


def errors_of(stream):
    """Return the decode errors of an epoch's steps."""
    errors = []
    for step in range(stream.steps_per_epoch):
        try:
            stream.fetch(0, step)
        except DecodeError as error:
            errors.append(str(error))
    return errors


def test_a_broken_frame_can_be_substituted(tmp_path):
    videos = make_videos([4] * 6)
    videos["bad"] = [BROKEN["truncated"]] * 4
    write_videos(tmp_path / "a.h5", "group_vlen", videos)
    with running_service(tmp_path / "a.h5") as service, connect(service.endpoint) as connection:
        epochs = [
            [
                (batch["index"].tolist(), batch["frames"].tobytes())
                for batch in connection.batches(7, clip=Clip(frames=2), on_error="substitute")
            ]
            for _ in range(2)
        ]
        assert epochs[0] == epochs[1]
        counters = {counter.name: counter.count for counter in connection.status().counters}
        assert counters["samples_substituted"] >= 2


def test_a_file_that_changes_while_it_is_served_is_named(tmp_path):
    path = tmp_path / "a.h5"
    write_videos(path, "group_vlen", make_videos([4, 5]))
    with running_service(path) as service, connect(service.endpoint) as connection:
        write_videos(path, "group_vlen", make_videos([5, 4], seed=9))
        with pytest.raises(Exception, match=r"a\.h5") as caught:
            list(connection.batches(1, clip=Clip(frames=4)))
        assert type(caught.value).__name__ == "CatalogChanged"
