"""Sequences of encoded frames in groups by what is seen: ``JPEGImages/480p/bear`` beside ``Annotations/480p/bear``."""

from __future__ import annotations

from contextlib import closing

import cv2
import h5py
import numpy as np
import pytest

from loader_service.errors import CatalogError
from loader_service.scan_options import GROUP
from tests.catalog.advice import schemas_in
from tests.public_layouts.pictures import depth_png, jpegs
from tests.support.catalogs import catalog_of, declared_catalog, frames_of, names_of

_WORDS, _IDS = ("bear", "camel", "dog"), ("v_Run_g01_c01", "v_Run_g01_c02", "v_Walk_g02_c01")
_EQUAL, _UNLIKE = (6, 6, 6), (5, 8, 6)

#: Groups of one kind each, with how its frames are encoded.
_KINDS = {
    "masks": {"frames": "jpeg", "masks": "png"},
    "depth": {"frames": "jpeg", "depth": "depth"},
    "davis": {"JPEGImages/480p": "jpeg", "Annotations/480p": "png"},
    "sizes": {"BIx4": "jpeg", "GT": "jpeg"},
    "flow": {"rgb": "jpeg", "flow/u": "jpeg", "flow/v": "jpeg"},
    "hmdb": {"jpegs_256": "jpeg", "tvl1_flow/u": "jpeg", "tvl1_flow/v": "jpeg"},
}


def _encode(how, seed, count):
    if how == "jpeg":
        return jpegs(seed, count)
    if how == "depth":
        return [depth_png(1000 * seed + number) for number in range(count)]
    return [cv2.imencode(".png", np.full((24, 32), seed + number, np.uint8))[1].tobytes() for number in range(count)]


def _write_sequence(root, path, frames, storage):
    if storage == "vlen":
        rows = root.create_dataset(path, (len(frames),), h5py.vlen_dtype(np.uint8))
        for number, frame in enumerate(frames):
            rows[number] = np.frombuffer(frame, np.uint8)
        return
    for number, frame in enumerate(frames):
        root[f"{path}/{number:05d}.img"] = np.frombuffer(frame, np.uint8)


def _write(path, kinds, names, counts, storage, less=0):
    """Write a sequence of each kind for each name; return their frames, by kind. All but the first lack `less`."""
    written = {}
    with h5py.File(path, "w") as root:
        for place, (kind, how) in enumerate(kinds.items()):
            for seed, (name, count) in enumerate(zip(names, counts, strict=True)):
                frames = _encode(how, 10 * place + seed, count - less * (place > 0))
                _write_sequence(root, f"{kind}/{name}", frames, storage)
                written.setdefault(kind, []).append(frames)
    return written


def _served(folder):
    """Return what is served, or, where it is asked, what the first schema serves."""
    try:
        return catalog_of(folder)
    except CatalogError as error:
        schema = schemas_in(str(error))[0]
    return declared_catalog(folder, schema)


@pytest.mark.parametrize("storage", ["vlen", "numbered"])
@pytest.mark.parametrize("counts", [_EQUAL, _UNLIKE], ids=["equal", "unlike"])
@pytest.mark.parametrize("names", [_WORDS, _IDS], ids=["words", "ids"])
@pytest.mark.parametrize("kinds", list(_KINDS))
def test_sequences_of_the_same_names_are_fields_of_one_video_or_asked_about(tmp_path, kinds, names, counts, storage):
    written = _write(tmp_path / "a.h5", _KINDS[kinds], names, counts, storage)
    with closing(_served(tmp_path)) as found:
        assert found.frame_counts.tolist() == list(counts)
        assert [name.rpartition("/")[2] for name in names_of(found)] == list(names)
        sources = {facts.sources[0].removesuffix("/{video}"): facts.field.name for facts in found.facts}
        assert set(sources) == set(written)
        for kind, sequences in written.items():
            assert [frames_of(found, video, sources[kind]) for video in range(3)] == sequences


@pytest.mark.parametrize("storage", ["vlen", "numbered"])
@pytest.mark.parametrize("less", [1, 3])
@pytest.mark.parametrize("names", [_WORDS, _IDS], ids=["words", "ids"])
def test_sequences_of_the_same_names_and_other_lengths_are_asked_about(tmp_path, names, less, storage):
    written = _write(tmp_path / "a.h5", _KINDS["masks"], names, _UNLIKE, storage, less)
    with pytest.raises(CatalogError, match="videos by 'frames' alone") as asked:
        catalog_of(tmp_path)
    first, *rest = schemas_in(str(asked.value))
    with closing(declared_catalog(tmp_path, first)) as found:
        assert found.frame_counts.tolist() == [count - (less == 1) for count in _UNLIKE]
        assert len(found.fields) == 1 + (less == 1)
    alone = rest[0] if less == 1 else first
    with closing(declared_catalog(tmp_path, alone)) as found:
        assert [frames_of(found, video) for video in range(3)] == written["frames"]


def test_kinds_above_classes_are_asked_about_with_a_schema_that_works(tmp_path):
    names = ("Run/anna", "Run/bob", "Walk/anna")
    written = _write(tmp_path / "a.h5", {"rgb": "jpeg", "flow": "jpeg"}, names, _UNLIKE, "numbered")
    with pytest.raises(CatalogError, match="a field in each group") as asked:
        catalog_of(tmp_path)
    with closing(declared_catalog(tmp_path, schemas_in(str(asked.value))[0])) as found:
        assert names_of(found) == [f"rgb/{name}" for name in names] or names_of(found)[0].startswith("flow/")
        for kind, sequences in written.items():
            assert [frames_of(found, video, kind) for video in range(3)] == sequences


@pytest.mark.parametrize("storage", ["vlen", "numbered"])
def test_classes_of_videos_of_the_same_names_and_other_lengths_are_none(tmp_path, storage):
    with h5py.File(tmp_path / "a.h5", "w") as root:
        for seed, (name, count) in enumerate({"run/p01": 5, "run/p02": 8, "walk/p01": 7, "walk/p02": 4}.items()):
            _write_sequence(root, name, jpegs(seed, count), storage)
    with closing(catalog_of(tmp_path)) as found:
        assert sorted(found.frame_counts.tolist()) == [4, 5, 7, 8]


def test_a_user_who_says_that_groups_are_classes_is_not_asked(tmp_path):
    _write(tmp_path / "a.h5", _KINDS["sizes"], _WORDS, _UNLIKE, "numbered")
    with closing(catalog_of(tmp_path, label=GROUP)) as found:
        assert found.video_count == 6
        assert sorted(set(found.labels.tolist())) == [0, 1]


def test_names_of_words_in_groups_of_one_length_may_be_cameras_too(tmp_path):
    written = _write(tmp_path / "a.h5", {"kitchen": "jpeg", "office": "jpeg"}, ("zed", "mynt"), (6, 6), "vlen")
    with pytest.raises(CatalogError, match="a video for each group, with a camera for each name") as asked:
        catalog_of(tmp_path)
    with closing(declared_catalog(tmp_path, schemas_in(str(asked.value))[1])) as found:
        assert names_of(found) == ["kitchen", "office"]
        assert [frames_of(found, 0, name) for name in ("zed", "mynt")] == written["kitchen"]
