"""What a stream is made of: slots that hold every step, and what is refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from loader_service.catalog.columns import Catalog
from loader_service.catalog.header import CatalogKind
from loader_service.catalog.scan.source_rows import catalog_of_source
from loader_service.core.planned import Lengths, PlannedStream
from loader_service.core.slots import SlotTable
from loader_service.core.stream_state import StreamState
from loader_service.core.tasks import SMALL_TASK_BYTES
from loader_service.daemon.planner import EASE_OF_COPIES, CatalogPlanner
from loader_service.errors import ConfigError
from loader_service.protocol.fields import CatalogField, Field
from loader_service.protocol.messages import PrepareStream, Want
from loader_service.protocol.spec import Clip, Frame, Image, Spec
from loader_service.protocol.windows import Window
from tests.support.boxes import write_boxes
from tests.support.catalogs import catalog_of
from tests.support.videos import make_videos, write_videos

#: Frames of the videos.
LENGTHS = (3, 8, 5, 20, 5, 7)

#: Bytes of one frame of them.
FRAME_BYTES = 48 * 64 * 3


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    directory = tmp_path_factory.mktemp("openings")
    write_videos(directory / "few.h5", "group_vlen", make_videos(LENGTHS))
    return catalog_of(directory)


@pytest.fixture
def opening(catalog: Catalog) -> Callable[..., PlannedStream]:
    """Plans a stream on the few videos."""

    def plan(clip: Clip | Frame | None, batch_size: int = 2, **options: Any) -> PlannedStream:
        return CatalogPlanner(catalog).plan(Spec(batch_size, clip, prefetch=1, **options))

    return plan


# ---- slots


@pytest.mark.parametrize(
    ("options", "frames"),
    [
        ({"batching": "pad"}, 2 * 20),
        ({"batching": "bucket"}, 2 * 20),
        ({"batching": "ragged"}, 20 + 8),
        ({"batching": "ragged", "indexed": True}, 2 * 20),
        ({"batching": "pad", "batch_size": 9, "drop_remainder": False}, 6 * 20),
        ({"batching": "ragged", "batch_size": 9, "drop_remainder": False}, sum(LENGTHS)),
    ],
)
def test_a_slot_has_room_for_the_longest_step_there_can_be(opening, options, frames):
    opened = opening(None, fields=("frames",), **options)
    assert opened.slot_frames == frames
    assert opened.slot_bytes >= frames * FRAME_BYTES + options.get("batch_size", 2) * 8
    assert opened.lengths is (Lengths.RAGGED if options["batching"] == "ragged" else Lengths.PADDED)
    assert opened.frame_bytes == FRAME_BYTES


@pytest.mark.parametrize("batching", ["pad", "bucket", "ragged"])
@pytest.mark.parametrize("seed", range(5))
def test_every_step_fits_into_the_slot(opening, batching, seed):
    opened = opening(None, batching=batching, seed=seed)
    for step in range(3):
        frames = [row.frames for row in opened.source.rows(0, step)]
        taken = sum(frames) if batching == "ragged" else max(frames) * len(frames)
        assert taken <= opened.slot_frames


def test_clips_and_frames_take_no_room_that_varies(opening):
    for clip in (Clip(4), Frame()):
        opened = opening(clip)
        assert (opened.slot_frames, opened.lengths, opened.frame_bytes) == (0, Lengths.ALIKE, 0)
    assert opened.samples == sum(LENGTHS)
    assert opened.steps_per_epoch == sum(LENGTHS) // 2


def test_a_batch_of_whole_videos_says_why_it_is_large(opening):
    text = opening(None, fields=("frames",)).why_large()
    assert "few.h5', video 'video3' is the longest with 20 frames of 9216 bytes, the usual one has 6" in text
    assert "a batch of 2 must have room for 40 frames; batching='ragged'" in text
    assert opening(Clip(4)).why_large() == ""


def test_a_batch_of_lists_says_which_field_makes_it_large_and_what_cuts_it(tmp_path: Path) -> None:
    write_boxes(tmp_path / "a.h5")
    planner = CatalogPlanner(catalog_of(tmp_path))
    plan = planner.plan(Spec(2, Frame(), fields=("boxes", "index")))
    assert plan.why_large() == (
        "'boxes' takes 80 bytes of a sample, since the longest sides of all are (20,), the usual ones (4,); "
        "windows=[Window('boxes', (4,))] cuts what is larger"
    )
    cut = planner.plan(Spec(2, Frame(), fields=("boxes", "index"), windows=(Window("boxes", (4,)),)))
    assert cut.slot_bytes < plan.slot_bytes
    assert planner.plan(Spec(2, Frame(), fields=("frames", "boxes"))).why_large() == ""


def test_a_stream_with_an_index_has_as_many_steps_as_its_client_wants(opening):
    opened = opening(Clip(4), indexed=True, batch_size=100)
    assert (opened.steps_per_epoch, opened.samples, opened.indexed) == (0, len(LENGTHS), True)


def test_too_few_samples_for_a_step_are_refused(opening):
    with pytest.raises(ConfigError, match="6 samples make no full batch"):
        opening(Clip(4), batch_size=7)


# ---- padding


def test_the_padding_is_reported_with_and_without_buckets(opening):
    lengths = np.sort(LENGTHS)
    sorted_share = 1 - lengths.sum() / (2 * lengths[1::2].sum())
    padded, bucketed, ragged = (opening(None, batching=each) for each in ("pad", "bucket", "ragged"))
    assert bucketed.padding == pytest.approx(sorted_share)
    assert padded.padding == padded.padding_unsorted == bucketed.padding_unsorted == ragged.padding_unsorted
    assert bucketed.padding < padded.padding
    assert ragged.padding == 0
    assert opening(Clip(4)).padding == opening(None, indexed=True).padding == 0


# ---- work


def test_rows_that_are_copied_are_less_work_than_pixels(opening, tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["plain"] = np.ones((50, 4096), np.float32)
        file.create_dataset("packed", data=file["plain"], chunks=(1, 4096), compression="gzip")
    table = catalog_of(tmp_path)
    planner = CatalogPlanner(table)
    plans = {name: planner.plan(Spec(4, Frame(), fields=(name, "index"))) for name in ("plain", "packed")}
    assert plans["plain"].work == ((16384 + 8) // EASE_OF_COPIES, 0)
    assert plans["plain"].row_bytes == plans["packed"].row_bytes == 16384 + 8
    assert plans["packed"].work == (16384 + 8, 0)  # HDF5 decompresses it
    assert opening(None).work == (opening(None).row_bytes, FRAME_BYTES)
    table.close()


# ---- transforms and sources


def test_a_transform_decides_the_fields(catalog):
    opener = CatalogPlanner(catalog, tries_transforms=True)
    spec = Spec(2, Clip(4), fields=("mean", "index"), prefetch=1)
    inputs = opener.inputs(spec)
    assert [each.name for each in inputs] == ["frames", "index", "video", "start", "length"]
    opened = opener.plan(spec, (Field("mean", "float32", (3,)), Field("other", "int8", ())))
    fields = (Field("mean", "float32", (3,)), Field("index", "int64", ()))
    assert opened.fields == fields
    assert opened.inputs == inputs
    assert opened.row_bytes == SMALL_TASK_BYTES // 16  # whatever a row of own code takes, it is not nothing


@contextmanager
def source_of(kind: CatalogKind) -> Iterator[Catalog]:
    made = catalog_of_source("module:Name", 1000, (CatalogField("x", "array", "float32", (5,)),), kind, "0" * 32)
    yield made
    made.close()


@pytest.fixture
def source() -> Iterator[Catalog]:
    with source_of("map") as made:
        yield made


def test_a_python_source_is_cut_into_tasks_however_small_its_samples(source):
    opened = CatalogPlanner(source).plan(Spec(32, Frame()))
    assert opened.row_bytes * 32 > SMALL_TASK_BYTES
    assert opened.steps_per_epoch == 1000 // 32


@pytest.mark.parametrize("clip", [Clip(4), None])
def test_items_of_a_python_source_make_no_clips(source, clip):
    with pytest.raises(ConfigError, match=r"give clip=Frame\(\)"):
        CatalogPlanner(source).plan(Spec(4, clip))


def test_a_generator_has_no_index():
    with source_of("generator") as generator:
        opener = CatalogPlanner(generator)
        with pytest.raises(ConfigError, match="cannot be asked for its n-th item; leave the index out"):
            opener.plan(Spec(4, Frame(), indexed=True))
        assert opener.plan(Spec(4, Frame())).steps_per_epoch == 250


def test_image_options_that_make_no_sense_are_refused(opening):
    with pytest.raises(ConfigError, match="no field 'frame'; did you mean 'frames'"):
        opening(Clip(4), fields=("frame",), image=Image(size=(8, 8)))


# ---- wants


def objection(plan: PlannedStream, want: Want) -> str:
    """Return what a stream objects to a want."""
    prepare = PrepareStream(1, Spec(2, Frame()), plan.fields)
    return StreamState(b"", prepare, plan, SlotTable(()), 0).objection(want)


def test_a_want_names_its_samples_exactly_when_there_is_an_index(opening):
    assert not objection(opening(Clip(4)), Want(1, 1, 0, 0))
    assert not objection(opening(Clip(4), indexed=True), Want(1, 1, 0, 0, (5, 0), (0, 2**62 - 1)))
    assert "the stream has no index" in objection(opening(Clip(4)), Want(1, 1, 0, 0, (5, 0), (0, 1)))


@pytest.mark.parametrize(
    ("samples", "positions", "text"),
    [
        ((), (), "0 samples and 0 positions; a step of an index has 1 to 2 samples"),
        ((1, 2, 3), (1, 2, 3), "3 samples and 3 positions"),
        ((1, 2), (1,), "2 samples and 1 positions"),
        ((1, 6), (1, 2), "names sample 6; there are 6, numbered from 0"),
        ((-1, 2), (1, 2), "names sample -1; there are 6, numbered from 0"),
        ((1, 2), (1, -3), "names position -3"),
        ((1, 2), (1, 2**62), f"names position {2**62}"),
    ],
)
def test_a_want_of_an_index_that_makes_no_sense_is_refused(opening, samples, positions, text):
    assert text in objection(opening(Clip(4), indexed=True), Want(1, 9, 0, 0, samples, positions))
