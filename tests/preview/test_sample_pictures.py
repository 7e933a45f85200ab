"""What people are shown of a step is what workers have written into its slot, to the bit."""

from __future__ import annotations

import dataclasses
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from loader_service.catalog.columns import Catalog
from loader_service.core.planned import Lengths
from loader_service.daemon.planner import CatalogPlanner
from loader_service.errors import DecodeError
from loader_service.preview.sample_pictures import SamplePictures
from loader_service.protocol.fields import SlotLayout
from loader_service.protocol.recent_steps import RecentStep
from loader_service.protocol.rows import Row, Rows
from loader_service.protocol.spec import Clip, Frame, Image, Spec
from loader_service.worker.frame_fields import Origin
from loader_service.worker.reader import Reader
from loader_service.worker.row_writer import RowWriter
from tests.support.catalogs import catalog_of
from tests.support.episodes import write_episode
from tests.support.videos import make_videos, write_videos


def made(catalog: Catalog, spec: Spec, epoch: int, step: int, samples: tuple[int, ...] = ()) -> tuple[Any, RecentStep]:
    """Return the slot of a step as a worker fills it, and what the service says of the step."""
    plan = CatalogPlanner(catalog).plan(spec)
    if samples:
        rows = plan.source.rows_of(samples, tuple(range(100, 100 + len(samples))))
    else:
        rows = plan.source.rows(epoch, step)
    told = RecentStep(
        stream=1,
        spec=dataclasses.replace(spec, videos=None, split=None),
        fields=plan.fields,
        transformed=False,
        epoch=epoch,
        step=step,
        rows=len(rows),
        samples=tuple(row.sample for row in rows),
        positions=tuple(row.position or 0 for row in rows) if plan.indexed else (),
        lengths=tuple(row.frames for row in rows) if plan.lengths is not Lengths.ALIKE else (),
    )
    return _slot(catalog, spec, epoch, rows, plan.fields), told


def _slot(catalog: Catalog, spec: Spec, epoch: int, rows: tuple[Row, ...], fields: Any) -> dict[str, Any]:
    room = max((row.frames for row in rows), default=0)
    layout = SlotLayout(fields, len(rows), room * len(rows))
    memory = bytearray(layout.size_bytes)
    offsets = tuple(range(0, room * len(rows), room)) if room else ()
    asked = Rows.of(tuple(range(len(rows))), rows, indexed=spec.indexed, offsets=offsets, room=room)
    with closing(Reader(catalog)) as reader:
        assert RowWriter(Origin(catalog, reader), spec, layout).write(memory, epoch, asked) == ()
    views = {field.name: layout.view(field.name, memory) for field in fields}
    if room:
        views = {
            field.name: views[field.name].reshape(len(rows), room, *field.shape) if field.varies else views[field.name]
            for field in fields
        }
    return views


SPECS = (
    Spec(4, Clip(3, stride=2), Image(size=(24, 24), crop="random", flip=True), seed=5),
    Spec(3, Clip(16, sampling="center"), Image(size=(20, 30))),
    Spec(5, Frame(), Image(size=20, crop="center", channels=1)),
    Spec(3, None, Image(size=(16, 16), flip=True), drop_remainder=False),
    Spec(4, Clip(2, sampling="every", hop=3), split="all[:50%]"),
    Spec(4, Clip(2), Image(size=(24, 32), crop="resized", flip=True), seed=2),
    Spec(4, Clip(2), Image(size=(24, 24), crop="random", short_side=(26, 40)), seed=2),
)


@pytest.mark.parametrize("spec", SPECS, ids=range(len(SPECS)))
@pytest.mark.parametrize("place", [(0, 0), (3, 1)])
def test_each_frame_is_the_one_in_the_slot(
    small_videos: Path, spec: Spec, place: tuple[int, int], tmp_path: Path
) -> None:
    with closing(catalog_of(tmp_path, small_videos / "*.h5")) as catalog, closing(Reader(catalog)) as reader:
        slot, told = made(catalog, spec, *place)
        shown = SamplePictures(catalog, reader, told)
        _compare(shown, slot, spec)
        crops = {each.crop for each in shown.samples()}
        assert (crops == {""}) == (spec.image.crop == "none")


def _compare(shown: SamplePictures, slot: dict[str, Any], spec: Spec) -> None:
    for sample in shown.samples():
        row = sample.row
        assert sample.video == slot["video"][row].decode()
        assert sample.sample == slot["index"][row]
        assert (sample.start, sample.length) == (slot["start"][row], slot["length"][row])
        assert sample.values["label"] == slot["label"][row]
        for frame in range(sample.frames):
            batch = slot["frames"][row] if isinstance(spec.clip, Frame) else slot["frames"][row][frame]
            assert np.array_equal(shown.frame("frames", row, frame), batch)


def test_an_index_draws_by_its_positions(small_videos: Path, tmp_path: Path) -> None:
    spec = Spec(4, Clip(4), Image(size=(24, 24), crop="random", flip=True), indexed=True)
    with closing(catalog_of(tmp_path, small_videos / "*.h5")) as catalog, closing(Reader(catalog)) as reader:
        slot, told = made(catalog, spec, 1, 0, samples=(5, 5, 5, 2))
        shown = SamplePictures(catalog, reader, told)
        _compare(shown, slot, spec)
        draws = {(each.start, each.flip, each.crop) for each in shown.samples()[:3]}
        assert len(draws) > 1


def test_cameras_and_numbers_of_an_episode(tmp_path: Path) -> None:
    for number in range(2):
        write_episode(tmp_path / f"e{number}.h5", 12, seed=number)
    spec = Spec(2, Clip(5, stride=2), Image(size=(16, 16)))
    with closing(catalog_of(tmp_path)) as catalog, closing(Reader(catalog)) as reader:
        slot, told = made(catalog, spec, 0, 0)
        shown = SamplePictures(catalog, reader, told)
        assert shown.images == ["top", "wrist"]
        assert {"qpos", "qvel"} <= set(shown.arrays)
        for name in (*shown.images, *shown.arrays):
            for row in range(2):
                frames = np.stack([shown.frame(name, row, frame) for frame in range(5)])
                assert np.array_equal(frames, slot[name][row])


def test_a_damaged_frame_is_an_error_by_name_and_the_others_are_shown(tmp_path: Path) -> None:
    videos = make_videos((3,))
    videos["video0"][1] = videos["video0"][1][:200]
    write_videos(tmp_path / "a.h5", "group_vlen", videos, {"video0": 1})
    spec = Spec(1, None)
    with closing(catalog_of(tmp_path)) as catalog, closing(Reader(catalog)) as reader:
        told = RecentStep(1, spec, CatalogPlanner(catalog).plan(spec).fields, False, 0, 0, 1, (0,), (), (3,))
        shown = SamplePictures(catalog, reader, told)
        with pytest.raises(DecodeError, match=r"video 'a', frame 1: the JPEG"):
            shown.frame("frames", 0, 1)
        assert shown.frame("frames", 0, 2).shape == (48, 64, 3)
        with pytest.raises(IndexError):
            shown.frame("frames", 0, -1)
        with pytest.raises(IndexError):
            shown.frame("frames", 1, 0)
