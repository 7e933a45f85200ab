"""Lists and volumes whose sides differ are unpacked with their lengths and sides beside them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import numpy as np

from loader_service.formats.examples import decode_example
from loader_service.formats.tfrecord import read_records
from loader_service.schema import Schema, SchemaField
from loader_service.unpack.unpack_options import UnpackOptions
from tests.support.boxes import COUNTS, boxes_of, boxes_schema, write_boxes
from tests.support.catalogs import catalog_of
from tests.unpack.runs import UnpackingHere, unheard


def test_lists_and_their_lengths_are_unpacked(tmp_path: Path) -> None:
    write_boxes(tmp_path / "a.h5")
    schema = str(boxes_schema(tmp_path / "schema.toml"))
    catalog = catalog_of(tmp_path, schema=schema)
    for target, options in (("folders", {}), ("folders", {"sample": "frame"}), ("tfrecord", {}), ("webdataset", {})):
        given: dict[str, Any] = {"to": target, **options}
        place = tmp_path / f"{target}{len(options)}"
        unpacking = UnpackingHere(catalog, UnpackOptions(output=str(place), **given), 1)
        unpacking.run(unheard)
        assert unpacking.check(unheard) == []
    catalog.close()
    for video, counts in enumerate(COUNTS):
        boxes = [boxes_of(video, frame) for frame in range(len(counts))]
        folder = tmp_path / "folders0" / f"video{video}"
        assert np.array_equal(np.load(folder / "boxes.npy"), np.concatenate(boxes))
        assert np.load(folder / "boxes_length.npy").tolist() == list(counts)
        for frame, expected in enumerate(boxes):
            found = np.load(tmp_path / "folders1" / f"video{video}" / f"{frame + 1:06}.boxes.npy")
            assert np.array_equal(found, expected)
    (record, *_) = read_records(tmp_path / "tfrecord0" / "data-00000-of-00001.tfrecord")
    example = decode_example(record.data)
    assert np.asarray(example["boxes_length"]).tolist() == list(COUNTS[0])
    assert (
        np.asarray(example["boxes"]).reshape(-1, 4).tolist()
        == np.concatenate([boxes_of(0, each) for each in range(4)]).tolist()
    )


def test_volumes_are_unpacked_with_their_sides(tmp_path: Path) -> None:
    for side in (3, 7):
        with h5py.File(tmp_path / f"scan{side}.h5", "w") as file:
            file["image"] = np.arange(4 * 5 * side, dtype=np.float32).reshape(4, 5, side)
    whole = Schema(("files",), (SchemaField("image", "array", ("image",), "", (0, 0, 0)),))
    catalog = catalog_of(tmp_path, schema=whole)
    for target, options in (("folders", {}), ("folders", {"sample": "video"}), ("tfrecord", {})):
        given: dict[str, Any] = {"to": target, **options}
        unpacking = UnpackingHere(catalog, UnpackOptions(output=str(tmp_path / f"{target}{len(options)}"), **given), 1)
        unpacking.run(unheard)
        assert unpacking.check(unheard) == []
    catalog.close()
    found = {each.name: np.load(each).shape for each in (tmp_path / "folders0").rglob("*.npy")}
    assert sorted(found.values()) == [(3,), (3,), (4, 5, 3), (4, 5, 7)]
