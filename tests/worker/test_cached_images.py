"""The bytes of a batch are those of decoding alone, whatever the cache of frames has: nothing, half, all, or damage."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import cv2
import h5py
import numpy as np
import pytest

from loader_service.catalog.columns import Catalog
from loader_service.frame_cache.cache_counts import CacheCounts
from loader_service.frame_cache.frame_folder import FrameFolder, folder_name
from loader_service.protocol.rows import Rows
from loader_service.protocol.spec import Clip, Frame, Image, Spec
from loader_service.worker.cached_images import FrameCache
from loader_service.worker.frame_fields import Origin
from loader_service.worker.image_forms import ImageForms
from loader_service.worker.reader import Reader
from tests.support.catalogs import catalog_of
from tests.support.videos import frame_image, frame_jpeg, make_videos, write_videos
from tests.worker.filling import fill_slot, filled, rows_of, writer_of

MUCH = 2**30
CLIP = Clip(frames=5, stride=2, sampling="random")


@contextmanager
def cached(catalog: Catalog, folder: Path, budget: int = MUCH) -> Iterator[tuple[Origin, CacheCounts, list[str]]]:
    """Yield an origin whose decoded frames are kept, what is counted, and the lines for people."""
    lines: list[str] = []
    reader, counts = Reader(catalog), CacheCounts()
    cache = FrameCache(FrameFolder(folder, budget, lines.append), counts)
    try:
        yield Origin(catalog, reader, make_images=cache.images), counts, lines
    finally:
        cache.close()
        reader.close()


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    folder = tmp_path_factory.mktemp("videos")
    for number in range(2):
        videos = make_videos([9, 20, 33], height=48, width=64, seed=number, prefix=f"v{number}_")
        write_videos(folder / f"{number}.h5", "flat", videos)
    return catalog_of(folder)


def spec_of(image: Image, clip: Any = CLIP) -> Spec:
    return Spec(batch_size=6, clip=clip, image=image, fields=("frames",), seed=3)


IMAGES = {
    "whole": Image(),
    "flipped": Image(flip=True),
    "random crop": Image(size=(30, 40), crop="random"),
    "center crop": Image(size=32, crop="center"),
    "short side": Image(size=(20, 20), crop="random", short_side=24, flip=True),
    "half": Image(size=(24, 32)),
    "other shape": Image(size=(33, 31)),
    "grey": Image(channels=1),
    "swapped": Image(colors="bgr", flip=True),
    "exact": Image(size=(16, 20), crop="random", chroma="exact"),
    "larger": Image(size=(96, 100), crop="center"),
}


@pytest.fixture(params=["disk", "memory"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    if request.param == "disk":
        yield tmp_path
    else:
        with tempfile.TemporaryDirectory(prefix="loader-service-test-", dir="/dev/shm") as folder:
            yield Path(folder)


@pytest.mark.parametrize("name", IMAGES)
def test_bytes_are_those_of_decoding(catalog: Catalog, place: Path, name: str) -> None:
    spec, samples = spec_of(IMAGES[name]), list(range(6))
    plain = [filled(catalog, spec, samples, epoch=epoch)["frames"] for epoch in range(2)]
    with cached(catalog, place) as (origin, counts, lines):
        writer, rows = writer_of(origin, spec), rows_of(catalog, spec, samples)
        cold = [fill_slot(writer, rows, epoch)["frames"] for epoch in range(2)]
        before = counts.values[0]
        warm = [fill_slot(writer, rows, epoch)["frames"] for epoch in range(2)]
        assert counts.values[0] - before == 2 * 6 * 5
    with cached(catalog, place) as (origin, counts, _):  # another worker, later
        later = fill_slot(writer_of(origin, spec), rows)["frames"]
        assert counts.values == (30, 0, 0)

    assert all(np.array_equal(*each) for each in zip(plain, cold, strict=True))
    assert all(np.array_equal(*each) for each in zip(plain, warm, strict=True))
    assert np.array_equal(later, plain[0])
    assert lines == []


@pytest.mark.parametrize("part", [0.0, 0.3, 0.7])
def test_a_part_that_is_kept_gives_the_same_bytes(catalog: Catalog, place: Path, part: float) -> None:
    spec, samples = spec_of(Image(), Clip(frames=9, sampling="every", hop=3)), list(range(20))
    (form,) = ImageForms(catalog, "frames", Image()).forms
    budget = int(form.header.cells.file_bytes(form.header.cells.blocks) * part) + 1
    with cached(catalog, place, budget) as (origin, counts, lines):
        writer = writer_of(origin, spec)
        for _ in range(2):
            for first in range(0, 20, 5):
                some = samples[first : first + 5]
                got = fill_slot(writer, rows_of(catalog, spec, some))["frames"]
                assert np.array_equal(got, filled(catalog, spec, some)["frames"])
        hits, misses, _ = counts.values
    taken = sum(path.stat().st_blocks * 512 for path in (place / folder_name()).glob("*.frames"))

    assert taken <= budget + 3 * 4096  # files take whole pages
    assert (hits == 0) == (part == 0.0)
    assert misses > 0
    assert lines == []


def test_streams_that_differ_in_crop_and_flip_share_frames(catalog: Catalog, tmp_path: Path) -> None:
    with cached(catalog, tmp_path) as (origin, counts, _):
        for image in (Image(), Image(size=(20, 30), crop="random"), Image(flip=True), Image(size=(48, 64))):
            spec = spec_of(image, Frame())
            got = fill_slot(writer_of(origin, spec), rows_of(catalog, spec, range(6)))["frames"]
            assert np.array_equal(got, filled(catalog, spec, range(6))["frames"])

    assert counts.values == (18, 6, 6)
    assert len(list((tmp_path / folder_name()).glob("*.frames"))) == 1


@pytest.mark.parametrize("damage", ["bits", "zeros", "cut", "extent", "header", "gone"])
def test_damage_between_two_runs_costs_decodes_and_no_byte(catalog: Catalog, place: Path, damage: str) -> None:
    spec, samples = spec_of(Image(), Frame()), list(range(0, 120, 20))
    plain = filled(catalog, spec, samples)["frames"]
    with cached(catalog, place) as (origin, _, _):
        fill_slot(writer_of(origin, spec), rows_of(catalog, spec, samples))
    (path,) = (place / folder_name()).glob("*.frames")
    data = bytearray(path.read_bytes())
    if damage == "bits":
        for at in range(4096, len(data), 509):
            data[at] ^= 0x10
    elif damage == "zeros":
        data[8192:] = bytes(len(data) - 8192)
    elif damage == "extent":
        data[2050] ^= 1
    elif damage == "header":
        data[12] ^= 1
    path.write_bytes(data[: len(data) // 2] if damage == "cut" else data)
    if damage == "gone":
        path.unlink()
    with cached(catalog, place) as (origin, counts, _):
        writer = writer_of(origin, spec)
        assert np.array_equal(fill_slot(writer, rows_of(catalog, spec, samples))["frames"], plain)
        decoded = counts.values[1]
        assert np.array_equal(fill_slot(writer, rows_of(catalog, spec, samples))["frames"], plain)
        assert counts.values[1] == decoded  # what was damaged was written again

    assert decoded > 0


def test_a_file_that_was_written_anew_gives_its_new_frames(tmp_path: Path) -> None:
    path, spec = tmp_path / "a.h5", spec_of(Image(), Frame())
    for seed in (1, 2):
        write_videos(path, "flat", make_videos([6], seed=seed))
        catalog = catalog_of(tmp_path)
        with cached(catalog, tmp_path) as (origin, counts, _):
            got = fill_slot(writer_of(origin, spec), rows_of(catalog, spec, range(6)))["frames"]
            assert counts.values[0] == 0
        assert np.array_equal(got, filled(catalog, spec, range(6))["frames"])


def test_a_file_that_is_replaced_while_it_is_served_is_noticed_though_its_frames_are_kept(tmp_path: Path) -> None:
    path, spec = tmp_path / "a.h5", spec_of(Image(), Frame())
    write_videos(path, "flat", make_videos([6], seed=1))
    catalog = catalog_of(tmp_path)
    with cached(catalog, tmp_path) as (origin, _, _):
        writer, rows = writer_of(origin, spec), rows_of(catalog, spec, range(6))
        fill_slot(writer, rows)
        os.utime(path)
        bad = fill_slot(writer, rows).bad

    assert {each.error for each in bad} == {"FileTouched"}
    assert len(bad) == 6


def test_one_look_at_a_file_is_for_the_kept_frames_of_the_tasks_that_are_reported_together(tmp_path: Path) -> None:
    path, spec = tmp_path / "a.h5", spec_of(Image(), Frame())
    write_videos(path, "flat", make_videos([6], seed=1))
    catalog = catalog_of(tmp_path)
    with cached(catalog, tmp_path) as (origin, _, _):
        writer, rows, files = writer_of(origin, spec), rows_of(catalog, spec, range(6)), origin.reader.files
        files.begin_task(is_with_others=False)
        first = fill_slot(writer, rows)
        os.utime(path)
        files.begin_task(is_with_others=True)
        second = fill_slot(writer, rows)
        files.begin_task(is_with_others=False)
        third = fill_slot(writer, rows)

    assert not first.bad
    assert not second.bad
    assert np.array_equal(second["frames"], first["frames"])
    assert {each.error for each in third.bad} == {"FileTouched"}


def test_sizes_of_all_kinds_get_cells_that_waste_little(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    sides = [(int(random.integers(16, 120)), int(random.integers(16, 120))) for _ in range(40)]
    with h5py.File(tmp_path / "a.h5", "w") as file:
        for number, (height, width) in enumerate(sides):
            group = file.create_group(f"picture{number:03}")
            frames = group.create_dataset("frames", (2,), h5py.vlen_dtype(np.uint8))
            for frame in range(2):
                frames[frame] = np.frombuffer(frame_jpeg(number * 2 + frame, height, width), np.uint8)
    catalog = catalog_of(tmp_path)
    for image in (Image(size=(32, 32)), Image(size=(24, 24), crop="random", short_side=40, flip=True)):
        forms = ImageForms(catalog, "frames", image)
        for form in forms.forms:
            videos = np.flatnonzero(form.firsts >= 0).tolist()
            real = [np.prod(forms.sizes(video).scaled) * 3 for video in videos]
            assert form.header.cells.frame_bytes >= max(real)
            assert len(forms.forms) == 1 or form.header.cells.frame_bytes <= min(real) * 1.126
            assert form.header.cells.frames == 2 * len(videos)
        assert sum((form.firsts >= 0).sum() for form in forms.forms) == 40
        spec = spec_of(image, Frame())
        with cached(catalog, tmp_path) as (origin, counts, _):
            writer = writer_of(origin, spec)
            for _ in range(2):
                for first in range(0, 80, 5):
                    some = range(first, first + 5)
                    got = fill_slot(writer, rows_of(catalog, spec, some))["frames"]
                    assert np.array_equal(got, filled(catalog, spec, some)["frames"])
            assert counts.values == (80, 80, 80)


def test_a_frame_unlike_the_others_of_its_video_is_decoded_each_time(tmp_path: Path) -> None:
    frames = [frame_jpeg(0), frame_jpeg(1, 60, 40), frame_jpeg(2)]
    write_videos(tmp_path / "a.h5", "flat", {"v": frames})
    catalog, spec = catalog_of(tmp_path), spec_of(Image(size=(20, 20), crop="center", short_side=30), Frame())
    with cached(catalog, tmp_path) as (origin, counts, _):
        writer, rows = writer_of(origin, spec), rows_of(catalog, spec, range(3))
        got = [fill_slot(writer, rows)["frames"] for _ in range(2)]

    assert np.array_equal(got[0], got[1])
    assert np.array_equal(got[0][:3], filled(catalog, spec, range(3))["frames"][:3])
    assert counts.values == (2, 4, 2)


def test_a_frame_that_is_scaled_beyond_what_can_be_kept_is_decoded_each_time(tmp_path: Path) -> None:
    write_videos(tmp_path / "a.h5", "flat", {"long": [frame_jpeg(0, 1, 40)], "usual": [frame_jpeg(1)]})
    catalog, spec = catalog_of(tmp_path), spec_of(Image(size=(500, 500), crop="center"), Frame())
    with cached(catalog, tmp_path) as (origin, counts, lines):
        writer, rows = writer_of(origin, spec), rows_of(catalog, spec, range(2))
        got = [fill_slot(writer, rows) for _ in range(2)]

    assert [each.bad for each in got] == [(), ()]
    assert all(np.array_equal(each["frames"], filled(catalog, spec, range(2))["frames"]) for each in got)
    assert counts.values == (1, 1, 1)
    assert lines == []


def test_a_bad_frame_is_named_and_never_kept(tmp_path: Path) -> None:
    frames = [frame_jpeg(0), frame_jpeg(1)[:-200], frame_jpeg(2)]
    write_videos(tmp_path / "a.h5", "flat", {"v": frames})
    catalog, spec = catalog_of(tmp_path), spec_of(Image(), Frame())
    with cached(catalog, tmp_path) as (origin, counts, _):
        writer, rows = writer_of(origin, spec), rows_of(catalog, spec, range(3))
        bad = [fill_slot(writer, rows).bad for _ in range(2)]

    assert [each.row for each in bad[0]] == [1]
    assert bad[0] == bad[1] == filled(catalog, spec, range(3)).bad
    assert counts.values[2] == 2


def test_pngs_are_kept_too(tmp_path: Path) -> None:
    pictures = [cv2.imencode(".png", frame_image(seed))[1].tobytes() for seed in range(4)]
    write_videos(tmp_path / "a.h5", "flat", {"v": pictures})
    catalog = catalog_of(tmp_path)
    for image in (Image(flip=True), Image(size=(20, 24), colors="bgr")):
        spec = spec_of(image, Frame())
        with cached(catalog, tmp_path) as (origin, counts, _):
            writer, rows = writer_of(origin, spec), rows_of(catalog, spec, range(4))
            got = [fill_slot(writer, rows)["frames"] for _ in range(2)]
            assert counts.values == (4, 4, 4)
        assert np.array_equal(got[0], got[1])
        assert np.array_equal(got[0], filled(catalog, spec, range(4))["frames"])


def test_what_is_kept_is_not_read_ahead(catalog: Catalog, tmp_path: Path) -> None:
    spec = spec_of(Image(), Frame())
    rows = Rows(tuple(range(6)), tuple(range(10, 16)))
    with cached(catalog, tmp_path) as (origin, _, _):
        writer = writer_of(origin, spec)
        before = list(writer.ranges(0, rows))
        fill_slot(writer, Rows((0, 1, 2), (10, 11, 12)))
        after = list(writer.ranges(0, rows))

    assert len(before) == 6
    assert after == before[3:]


def test_a_stream_that_ends_gives_its_share_back(catalog: Catalog, tmp_path: Path) -> None:
    with cached(catalog, tmp_path) as (origin, _, _):
        first = writer_of(origin, spec_of(Image()))
        second = writer_of(origin, spec_of(Image(size=(24, 32))))
        first.close()
        first.close()
        second.close()
        third = writer_of(origin, spec_of(Image()))
        got = fill_slot(third, rows_of(catalog, spec_of(Image()), range(6)))["frames"]

    assert np.array_equal(got, filled(catalog, spec_of(Image()), range(6))["frames"])


@pytest.mark.parametrize(
    "image", [Image(size=(24, 24), crop="resized"), Image(size=(24, 24), crop="random", short_side=(28, 40))]
)
def test_frames_whose_scale_is_drawn_are_decoded_each_time(catalog: Catalog, tmp_path: Path, image: Image) -> None:
    spec = spec_of(image)
    with cached(catalog, tmp_path) as (origin, counts, lines):
        writer, rows = writer_of(origin, spec), rows_of(catalog, spec, range(6))
        got = [fill_slot(writer, rows, epoch)["frames"] for epoch in (0, 1, 0)]

    assert np.array_equal(got[0], got[2])
    assert np.array_equal(got[1], filled(catalog, spec, range(6), epoch=1)["frames"])
    assert counts.values == (0, 0, 0)
    assert lines == []


@pytest.mark.parametrize("cut_bytes", [2, 100, 400, 900])
def test_a_frame_that_ends_early_has_the_same_verdict_as_without_a_cache(tmp_path: Path, cut_bytes: int) -> None:
    frames = [frame_jpeg(0), frame_jpeg(1)[:-cut_bytes], frame_jpeg(2)]
    write_videos(tmp_path / "a.h5", "flat", {"v": frames})
    catalog = catalog_of(tmp_path)
    for image in (Image(size=(16, 20), crop="random"), Image(size=(48, 64)), Image(size=(12, 16), crop="center")):
        spec = spec_of(image, Frame())
        plain = filled(catalog, spec, range(3))
        with cached(catalog, tmp_path) as (origin, _, _):
            writer, rows = writer_of(origin, spec), rows_of(catalog, spec, range(3))
            for _ in range(2):
                got = fill_slot(writer, rows)
                assert got.bad == plain.bad
                good = [row for row in range(3) if row not in {each.row for each in plain.bad}]
                assert np.array_equal(got["frames"][good], plain["frames"][good])
