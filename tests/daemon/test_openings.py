"""What a stream is made of: slots that hold every step, how many are filled ahead, and what is refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import pytest

from loader_service.catalog.columns import Catalog
from loader_service.catalog.header import CatalogKind
from loader_service.catalog.source_rows import catalog_of_source
from loader_service.core.events import Lengths
from loader_service.core.tasks import SMALL_TASK_BYTES
from loader_service.daemon.openings import Opening, StreamOpener, choose_slots
from loader_service.daemon.room import Room
from loader_service.daemon.segments import NoSpace, SegmentStore
from loader_service.errors import ConfigError
from loader_service.plan.prefetch import LEAST_PREFETCH, MOST_PREFETCH, PREFETCH_BYTES, steps_ahead, wanted_slots
from loader_service.protocol.fields import CatalogField, Field
from loader_service.protocol.messages import Want
from loader_service.protocol.spec import Clip, Frame, Image, Spec
from tests.support.catalogs import catalog_of
from tests.support.videos import make_videos, write_videos

MIB = 2**20

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
def store() -> Iterator[SegmentStore]:
    with SegmentStore() as store:
        yield store


@pytest.fixture
def opening(catalog: Catalog, store: SegmentStore) -> Callable[..., Opening]:
    """Opens a stream on the few videos."""

    def open_(clip: Clip | Frame | None, memory: int = 64 * MIB, batch_size: int = 2, **options: object) -> Opening:
        spec = Spec(batch_size, clip, prefetch=1, **options)
        return StreamOpener(catalog, store, memory).open("train", 7, spec)

    return open_


@pytest.mark.parametrize(
    ("slot_bytes", "prefetch"),
    [(64, MOST_PREFETCH), (MIB, MOST_PREFETCH), (PREFETCH_BYTES // 8, 8), (PREFETCH_BYTES, LEAST_PREFETCH)],
)
def test_small_steps_are_filled_further_ahead(slot_bytes, prefetch):
    assert wanted_slots(slot_bytes, 0) == 2 * prefetch


def room_of(left_bytes: int) -> list[Room]:
    return [
        Room(2**60, "in the tmpfs", "name a larger tmpfs"),
        Room(left_bytes, "of the budget", "start the service with more --memory", is_budget=True),
    ]


def test_what_was_asked_for_is_given_where_there_is_room():
    assert choose_slots(MIB, wanted_slots(MIB, 100), room_of(2**40)) == 200


@pytest.mark.parametrize(("left", "slots"), [(2, 2), (3, 2), (5, 2), (6, 3), (7, 3), (20, 10), (24, 12), (99, 12)])
def test_a_stream_gets_half_of_what_is_left_but_two_slots_at_least(left, slots):
    assert choose_slots(MIB, 12, room_of(left * MIB)) == slots


def test_streams_open_one_after_the_other_until_two_slots_do_not_fit():
    left, opened = 512, []
    while left >= 2 * 38:
        opened.append(choose_slots(38 * MIB, 12, room_of(left * MIB)))
        left -= opened[-1] * 38
    assert opened == [6, 3, 2, 2]


@pytest.mark.parametrize("left", [2 * MIB - 1, 0, -5])
def test_too_little_memory_is_an_error_with_needed_and_free_bytes(left):
    with pytest.raises(ConfigError) as caught:
        choose_slots(MIB, 8, room_of(left))
    assert f"need {2 * MIB} bytes of shared memory, {max(0, left)} are left of the budget" in str(caught.value)
    assert "use a smaller batch_size" in str(caught.value)
    assert "--memory" in str(caught.value)


def test_a_larger_budget_is_no_remedy_where_another_wall_is_as_close():
    walls = [*room_of(MIB), Room(MIB + 1, "below a limit", "raise that")]
    with pytest.raises(ConfigError, match=rf"{MIB + 1} are left below a limit; .*, or raise that$"):
        choose_slots(MIB, 8, walls)


@pytest.mark.parametrize(("slots", "ahead"), [(2, 1), (3, 2), (4, 2), (5, 3), (12, 6)])
def test_of_an_odd_number_of_slots_one_more_is_filled_ahead_than_is_held(slots, ahead):
    assert steps_ahead(slots) == ahead


def test_room_that_somebody_else_takes_in_between_means_fewer_slots(catalog, store, monkeypatch):
    create, asked = store.create, []

    def create_four(count: int, size_bytes: int) -> tuple[int, ...]:
        asked.append(count)
        if count > 4:
            raise NoSpace("full")
        return create(count, size_bytes)

    monkeypatch.setattr(store, "create", create_four)
    opened = StreamOpener(catalog, store, 64 * MIB).open("train", 1, Spec(2, Clip(4), prefetch=8))
    assert asked == [16, 8, 4]
    assert (opened.opened.slots, opened.opened.prefetch, opened.wanted_slots) == (4, 2, 16)


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
    assert opened.opened.frames == opened.prepare.frames == frames
    assert opened.slot_bytes >= frames * FRAME_BYTES + options.get("batch_size", 2) * 8
    assert opened.event.lengths is (Lengths.RAGGED if options["batching"] == "ragged" else Lengths.PADDED)
    assert opened.event.frame_bytes == FRAME_BYTES


@pytest.mark.parametrize("batching", ["pad", "bucket", "ragged"])
@pytest.mark.parametrize("seed", range(5))
def test_every_step_fits_into_the_slot(opening, batching, seed):
    opened = opening(None, batching=batching, seed=seed)
    for step in range(3):
        frames = [row.frames for row in opened.event.source.rows(0, step)]
        taken = sum(frames) if batching == "ragged" else max(frames) * len(frames)
        assert taken <= opened.opened.frames


def test_clips_and_frames_take_no_room_that_varies(opening):
    for clip in (Clip(4), Frame()):
        opened = opening(clip)
        assert (opened.opened.frames, opened.event.lengths, opened.event.frame_bytes) == (0, Lengths.ALIKE, 0)
    assert opened.opened.samples == sum(LENGTHS)
    assert opened.opened.steps_per_epoch == sum(LENGTHS) // 2


def test_a_batch_that_cannot_fit_says_why_with_figures(opening, store):
    with pytest.raises(ConfigError) as caught:
        opening(None, memory=MIB // 4, fields=("frames",))
    text = str(caught.value)
    assert "few.h5', video 'video3' is the longest with 20 frames of 9216 bytes, the usual one has 6" in text
    assert "a batch of 2 must have room for 40 frames; batching='ragged'" in text
    assert f"of shared memory, {MIB // 4} are left" in text
    assert store.total_bytes == 0


def test_a_stream_with_an_index_has_as_many_steps_as_its_client_wants(opening):
    opened = opening(Clip(4), indexed=True, batch_size=100)
    assert (opened.opened.steps_per_epoch, opened.opened.samples, opened.event.indexed) == (0, len(LENGTHS), True)


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


# ---- transforms and sources


def test_a_transform_decides_the_fields(catalog, store):
    opener = StreamOpener(catalog, store, 64 * MIB)
    spec = Spec(2, Clip(4), fields=("mean", "index"), prefetch=1)
    inputs = opener.inputs(spec)
    assert [each.name for each in inputs] == ["frames", "index", "video", "start", "length"]
    opened = opener.open("train", 1, spec, outputs=(Field("mean", "float32", (3,)), Field("other", "int8", ())))
    fields = (Field("mean", "float32", (3,)), Field("index", "int64", ()))
    assert opened.opened.fields == opened.prepare.fields == fields
    assert opened.prepare.inputs == inputs
    assert opened.event.row_bytes == SMALL_TASK_BYTES // 16  # whatever a row of own code takes, it is not nothing


@contextmanager
def source_of(kind: CatalogKind) -> Iterator[Catalog]:
    made = catalog_of_source("module:Name", 1000, (CatalogField("x", "array", "float32", (5,)),), kind, "0" * 32)
    yield made
    made.close()


@pytest.fixture
def source() -> Iterator[Catalog]:
    with source_of("map") as made:
        yield made


def test_a_python_source_is_cut_into_tasks_however_small_its_samples(source, store):
    opened = StreamOpener(source, store, 64 * MIB).open("train", 1, Spec(32, Frame()))
    assert opened.event.row_bytes * 32 > SMALL_TASK_BYTES
    assert opened.opened.steps_per_epoch == 1000 // 32


@pytest.mark.parametrize("clip", [Clip(4), None])
def test_items_of_a_python_source_make_no_clips(source, store, clip):
    with pytest.raises(ConfigError, match=r"give clip=Frame\(\)"):
        StreamOpener(source, store, 64 * MIB).open("train", 1, Spec(4, clip))


def test_a_generator_has_no_index(store):
    with source_of("generator") as generator:
        opener = StreamOpener(generator, store, 64 * MIB)
        with pytest.raises(ConfigError, match="cannot be asked for its n-th item; leave the index out"):
            opener.open("train", 1, Spec(4, Frame(), indexed=True))
        assert opener.open("train", 1, Spec(4, Frame())).opened.steps_per_epoch == 250


def test_image_options_that_make_no_sense_are_refused_before_there_are_slots(opening, store):
    with pytest.raises(ConfigError, match="no field 'frame'; did you mean 'frames'"):
        opening(Clip(4), fields=("frame",), image=Image(size=(8, 8)))
    assert store.total_bytes == 0


# ---- wants


def test_a_want_names_its_samples_exactly_when_there_is_an_index(opening):
    opening(Clip(4)).check(Want(1, 1, 0, 0))
    opening(Clip(4), indexed=True).check(Want(1, 1, 0, 0, (5, 0), (0, 2**62 - 1)))
    with pytest.raises(ConfigError, match="the stream has no index"):
        opening(Clip(4)).check(Want(1, 1, 0, 0, (5, 0), (0, 1)))


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
    with pytest.raises(ConfigError, match=text):
        opening(Clip(4), indexed=True).check(Want(1, 9, 0, 0, samples, positions))
