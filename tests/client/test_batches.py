"""NumPy batches hold what the files hold, in an order that workers, runs and other clients have no part in."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import loader_client
from loader_client import Clip, ConfigError, Connection, DecodeError, Image, Spec
from loader_client.starts import MAX_EPOCH
from tests.client.reference import Reference, decode
from tests.support.services import Service, running_service
from tests.support.videos import frame_jpeg, make_videos, write_videos
from tests.support.waiting import eventually

_FIELDS = ("frames", "label", "index", "video", "start", "length")
_CLIP = Clip(frames=4, stride=2)


def fingerprints(batches: Iterator[dict[str, Any]]) -> list[dict[str, bytes]]:
    """Return every byte of every field of every batch."""
    return [{name: array.tobytes() for name, array in batch.items()} for batch in batches]


def indices(batches: Iterator[dict[str, Any]]) -> list[int]:
    return [int(index) for batch in batches for index in batch["index"]]


# ---- contents


@pytest.mark.parametrize("sampling", ["random", "center", "start", "every"])
def test_every_field_is_what_the_files_hold(connection: Connection, reference: Reference, sampling: Any) -> None:
    clip = Clip(frames=4, stride=2, sampling=sampling)
    spec = Spec(3, clip, drop_remainder=False, shuffle=sampling != "every")
    stream = connection.open(spec)
    assert [field.name for field in stream.fields] == list(_FIELDS)
    for step in range(stream.steps_per_epoch):
        batch = stream.fetch(1, step)
        if sampling == "every":  # samples are windows there: their videos are told by name
            batch["index"] = np.array([reference.names.index(name.decode()) for name in batch["video"]])
        reference.check(batch, frames=4, stride=2)


def test_an_epoch_has_each_video_once(connection: Connection, reference: Reference) -> None:
    for epoch in range(3):
        seen = indices(connection.batches(5, clip=_CLIP, drop_remainder=False, start=(epoch, 0)))
        assert sorted(seen) == list(range(reference.videos))


def test_nothing_is_made_ahead_that_comes_after_the_last_epoch(connection: Connection) -> None:
    batches = connection.batches(5, clip=_CLIP, fields=("index",), epochs=2, prefetch=32)
    taken = list(itertools.islice(batches, 4))
    (stream,) = connection.status().streams
    assert stream.steps_done + stream.slots_filling + stream.wants_waiting == len(taken) == 2 * stream.steps_per_epoch
    batches.close()


def test_the_last_batch_is_shorter_or_left_out(connection: Connection) -> None:
    kept = [len(batch["index"]) for batch in connection.batches(5, clip=_CLIP, drop_remainder=False)]
    assert kept == [5, 5, 2]
    assert [len(batch["index"]) for batch in connection.batches(5, clip=_CLIP)] == [5, 5]


def test_a_center_crop_is_the_middle_of_the_frame(connection: Connection, reference: Reference) -> None:
    image = Image(size=(32, 40), crop="center")
    for batch in connection.batches(4, clip=_CLIP, image=image):
        for row, (video, start) in enumerate(zip(batch["index"].tolist(), batch["start"].tolist(), strict=True)):
            whole = reference.clip(video, start, frames=4, stride=2)
            np.testing.assert_array_equal(batch["frames"][row], whole[:, 8:40, 12:52])


def test_a_random_crop_and_mirroring_are_the_same_for_all_frames_of_a_clip(
    connection: Connection, reference: Reference
) -> None:
    image = Image(size=(40, 56), crop="random", flip=True)
    places = set()
    for batch in connection.batches(4, clip=_CLIP, image=image, epochs=3):
        for row, (video, start) in enumerate(zip(batch["index"].tolist(), batch["start"].tolist(), strict=True)):
            places.add(_place(batch["frames"][row], reference.clip(video, start, frames=4, stride=2)))
    assert {mirrored for _, _, mirrored in places} == {False, True}
    assert len({(top, left) for top, left, _ in places}) > 8


def _place(cut: Any, whole: Any) -> tuple[int, int, bool]:
    """Return top, left and mirroring of a clip in the whole one; fail when it is nowhere."""
    height, width = cut.shape[1:3]
    for top, left, mirrored in itertools.product(
        range(whole.shape[1] - height + 1), range(whole.shape[2] - width + 1), (False, True)
    ):
        window = whole[:, top : top + height, left : left + width]
        if np.array_equal(window[:, :, ::-1] if mirrored else window, cut):
            return top, left, mirrored
    raise AssertionError("the clip is no window of its video")


def test_grey_frames_have_one_channel(connection: Connection) -> None:
    (batch,) = itertools.islice(connection.batches(4, clip=_CLIP, image=Image(channels=1)), 1)
    assert batch["frames"].shape == (4, 4, 48, 64, 1)


@pytest.mark.parametrize("count", range(1, len(_FIELDS) + 1))
def test_any_choice_of_fields_comes_in_its_order_with_the_same_bytes(connection: Connection, count: int) -> None:
    (whole,) = itertools.islice(connection.batches(4, clip=_CLIP), 1)
    for names in itertools.combinations(_FIELDS[::-1], count):
        (batch,) = itertools.islice(connection.batches(4, clip=_CLIP, fields=names), 1)
        assert tuple(batch) == names
        for name in names:
            np.testing.assert_array_equal(batch[name], whole[name])


# ---- order


@pytest.fixture(scope="module")
def two_epochs(small_videos: Path) -> list[dict[str, bytes]]:
    """Return two epochs as one worker delivers them."""
    with (
        running_service(small_videos / "*.h5", workers=1) as alone,
        loader_client.connect(alone.endpoint) as connection,
    ):
        return fingerprints(connection.batches(5, clip=_CLIP, epochs=2, drop_remainder=False))


@pytest.mark.parametrize("workers", [1, 3])
def test_bytes_and_order_are_the_same_for_any_number_of_workers_and_in_every_run(
    small_videos: Path, two_epochs: list[dict[str, bytes]], workers: int
) -> None:
    with (
        running_service(small_videos / "*.h5", workers=workers) as again,
        loader_client.connect(again.endpoint) as connection,
    ):
        assert fingerprints(connection.batches(5, clip=_CLIP, epochs=2, drop_remainder=False)) == two_epochs


def test_scaling_while_batches_are_read_changes_neither_bytes_nor_order(
    small_videos: Path, two_epochs: list[dict[str, bytes]]
) -> None:
    with (
        running_service(small_videos / "*.h5", workers=1) as scaled,
        loader_client.connect(scaled.endpoint) as connection,
    ):
        seen = []
        for number, batch in enumerate(connection.batches(5, clip=_CLIP, epochs=2, drop_remainder=False)):
            seen += fingerprints(iter([batch]))
            if number in (0, 2, 3):
                connection.scale({0: 4, 2: 2, 3: 1}[number])
        assert seen == two_epochs


@pytest.mark.parametrize("start", [(0, 0), (0, 2), (1, 0), (1, 1)])
def test_a_training_resumes_at_any_step(
    connection: Connection, two_epochs: list[dict[str, bytes]], start: tuple[int, int]
) -> None:
    rest = fingerprints(connection.batches(5, clip=_CLIP, epochs=2 - start[0], start=start, drop_remainder=False))
    assert rest == two_epochs[start[0] * 3 + start[1] :]


def test_a_training_resumes_at_numbers_of_numpy(connection: Connection, two_epochs: list[dict[str, bytes]]) -> None:
    start = (np.int64(1), np.int32(1))
    rest = connection.batches(np.int64(5), clip=_CLIP, epochs=np.int64(1), start=start, drop_remainder=False)
    assert fingerprints(rest) == two_epochs[4:]
    stream = connection.open(Spec(5, _CLIP, drop_remainder=False))
    assert fingerprints(iter([stream.fetch(np.uint8(1), np.int16(2))])) == two_epochs[5:]


def test_a_training_resumes_at_the_end_of_an_epoch(connection: Connection, two_epochs: list[dict[str, bytes]]) -> None:
    rest = connection.batches(5, clip=_CLIP, epochs=2, start=(0, 3), drop_remainder=False)
    assert fingerprints(rest) == two_epochs[3:]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"start": (0, -3)}, "start step=-3 is out of range; give 0 to 3"),
        ({"start": (0, 4)}, "start step=4 is out of range; give 0 to 3"),
        ({"start": (-1, 0)}, "start epoch=-1 is out of range"),
        ({"start": (0.5, 0)}, r"start epoch=0\.5 is not a whole number"),
        ({"start": 3}, r"start=3 is not a pair; give \(epoch, step\)"),
        ({"epochs": -1}, "epochs=-1 is out of range"),
        ({"epochs": "2"}, "epochs='2' is not a whole number"),
    ],
)
def test_a_start_that_is_no_step_is_refused(connection: Connection, options: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        next(connection.batches(4, clip=_CLIP, **options))
    assert connection.status().streams == ()


@pytest.mark.parametrize(
    ("position", "said"),
    [
        ((0, 3), "step=3 is out of range; give 0 to 2"),
        ((0, 10**6), "step=1000000 is out of range; give 0 to 2"),
        ((0, -1), "step=-1 is out of range"),
        ((-1, 0), "epoch=-1 is out of range"),
        ((2**63 - 1, 0), "epoch=9223372036854775807 is out of range"),
        (("0", 0), "epoch='0' is not a whole number"),
    ],
)
def test_a_step_that_no_epoch_has_is_refused_at_once(
    connection: Connection, position: tuple[Any, Any], said: str
) -> None:
    stream = connection.open(Spec(4, _CLIP))
    with pytest.raises(ConfigError, match=said):
        stream.fetch(*position)
    assert len(stream.fetch(MAX_EPOCH, 2)["index"]) == 4


def test_epochs_differ_and_so_do_seeds(connection: Connection) -> None:
    orders = [
        tuple(indices(connection.batches(4, clip=_CLIP, seed=seed, start=(epoch, 0))))
        for seed in (0, 1)
        for epoch in (0, 1)
    ]
    assert len(set(orders)) == 4


def test_without_shuffle_samples_come_in_the_order_of_the_files(connection: Connection, reference: Reference) -> None:
    order = indices(connection.batches(4, clip=_CLIP, shuffle=False, epochs=2))
    assert order == list(range(reference.videos)) * 2


def test_shards_are_disjoint_and_cover_the_epoch(connection: Connection, reference: Reference) -> None:
    parts = [
        indices(connection.batches(2, clip=_CLIP, shard=(rank, 3), drop_remainder=False, start=(1, 0)))
        for rank in range(3)
    ]
    assert sorted(itertools.chain.from_iterable(parts)) == list(range(reference.videos))


# ---- several at once


def test_two_streams_of_different_batch_sizes_interleave_and_each_is_as_if_alone(
    connection: Connection, service: Service
) -> None:
    sizes = (2, 5)
    alone = [indices(connection.batches(size, clip=_CLIP, epochs=4)) for size in sizes]
    with loader_client.connect(service.endpoint) as other:
        streams = [
            each.batches(size, clip=_CLIP, epochs=4) for each, size in zip((connection, other), sizes, strict=True)
        ]
        together: list[list[int]] = [[], []]
        for batches in itertools.zip_longest(*streams):
            for seen, batch in zip(together, batches, strict=True):
                seen.extend([] if batch is None else batch["index"].tolist())
    assert together == alone


def test_a_greedy_client_does_not_starve_another(tmp_path: Path) -> None:
    """Both want the same batches, the greedy one sixteen at a time; decoding is nearly all of the work."""
    for number in range(2):
        videos = make_videos([16] * 4, height=256, width=342, seed=number)
        write_videos(tmp_path / f"{number}.h5", "group_vlen", videos)
    done = threading.Event()
    with (
        running_service(tmp_path / "*.h5", workers=2) as running,
        loader_client.connect(running.endpoint) as greedy,
        loader_client.connect(running.endpoint) as modest,
        ThreadPoolExecutor(1) as threads,
    ):
        flood = greedy.open(Spec(8, Clip(frames=16), prefetch=16))
        flooding = threads.submit(lambda: [flood.fetch(epoch, 0) and None for epoch in _until(done)])
        eventually(lambda: _steps_done(greedy) > 20, "the flood has begun")
        stream = modest.open(Spec(8, Clip(frames=16), prefetch=4))
        stream.fetch(0, 0)
        before = _steps_done(greedy)
        for epoch in range(1, 21):
            stream.fetch(epoch, 0)
        during = _steps_done(greedy) - before
        done.set()
        flooding.result()
    # Level would be 20; in the order of asking it would be four times as many, as the greedy one asks for.
    assert during <= 50, f"20 steps of the modest client against {during} of the greedy one"


def _until(done: threading.Event) -> Iterator[int]:
    return itertools.takewhile(lambda _: not done.is_set(), itertools.count())


def _steps_done(connection: Connection) -> int:
    """Return how many steps the first stream of a service has had."""
    return connection.status().streams[0].steps_done


# ---- bad samples


@pytest.fixture(scope="module")
def spoiled_videos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a file of eight videos of six frames; the third one's frame 4 is a PNG by its first bytes."""
    directory = tmp_path_factory.mktemp("spoiled")
    videos = make_videos([6] * 8, seed=77)
    videos["video2"][4] = b"\x89PNG\r\n\x1a\n" + frame_jpeg(5)[8:]
    write_videos(directory / "a.h5", "group_vlen", videos, dict.fromkeys(videos, 0))
    return directory


def test_a_bad_frame_is_named_with_file_video_and_number(spoiled_videos: Path) -> None:
    with (
        running_service(spoiled_videos / "a.h5") as running,
        loader_client.connect(running.endpoint) as connection,
    ):
        stream = connection.open(Spec(2, Clip(frames=6), shuffle=False))
        stream.fetch(0, 0)
        with pytest.raises(DecodeError, match=r"epoch 0, step 1: file '.*a\.h5', video 'video2', frame 4: .*PNG"):
            stream.fetch(0, 1)
        stream.fetch(0, 2)


def test_a_bad_sample_is_substituted_by_the_same_other_one_in_every_run(spoiled_videos: Path) -> None:
    runs = []
    for workers in (1, 3):
        with (
            running_service(spoiled_videos / "a.h5", workers=workers) as running,
            loader_client.connect(running.endpoint) as connection,
        ):
            batches = connection.batches(4, clip=Clip(frames=6), on_error="substitute", epochs=3)
            runs.append(fingerprints(batches))
            counters = {each.name: each.count for each in connection.status().counters}
            assert counters["samples_substituted"] >= 3
    assert runs[0] == runs[1]


def test_only_the_bad_sample_is_substituted(spoiled_videos: Path) -> None:
    with (
        running_service(spoiled_videos / "a.h5") as running,
        loader_client.connect(running.endpoint) as connection,
    ):
        (first, second) = connection.batches(4, clip=Clip(frames=6), on_error="substitute", shuffle=False)
    assert second["index"].tolist() == [4, 5, 6, 7]
    seen = first["index"].tolist()
    assert seen[:2] + seen[3:] == [0, 1, 3]
    assert seen[2] != 2
    assert (first["frames"][0, 0] == decode(make_videos([6] * 8, seed=77)["video0"][0])).all()


# ---- what cannot be


def test_a_spec_that_cannot_be_met_is_refused_by_the_service(connection: Connection) -> None:
    with pytest.raises(ConfigError, match="batch_size=13 is more than one epoch has: 12 samples"):
        connection.open(Spec(13, _CLIP))
    with pytest.raises(ConfigError, match="there is no field 'depth'"):
        connection.open(Spec(2, _CLIP, fields=("depth",)))
    with pytest.raises(ConfigError, match="seed=-1 is out of range"):
        next(connection.batches(2, seed=-1))
    with pytest.raises(
        TypeError,
        match="'pile' of dataset and batches; they take batch_size, clip, image, start, fields, shuffle, seed, ",
    ):
        next(connection.batches(2, pile=3))


def test_an_iteration_that_is_left_closes_its_stream(connection: Connection) -> None:
    for _ in connection.batches(2, clip=_CLIP):
        break
    assert connection.status().streams == ()
