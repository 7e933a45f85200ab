"""Frames that a word before their number tells apart are videos or cameras: asked, with schemas that serve each."""

from __future__ import annotations

from contextlib import closing

import cv2
import h5py
import numpy as np
import pytest

from loader_service.errors import CatalogError
from loader_service.worker.reader import Reader
from tests.catalog.advice import schemas_in
from tests.support.catalogs import catalog_of, declared_catalog, names_of


def _picture(number):
    return np.full((24, 32, 3), number, np.uint8)


def _encoded(number):
    return cv2.imencode(".jpg", _picture(number))[1].tobytes()


def _write(tmp_path, counts, name="{word}_{number:04d}", *, encoded=False, first=0):
    """Write so many frames of each word; the value of each is its number, and 100 for each word before its own."""
    with h5py.File(tmp_path / "a.h5", "a") as root:
        for place, (word, count) in enumerate(counts.items()):
            for number in range(count):
                value = 100 * place + number + first
                data = np.void(_encoded(value)) if encoded else _picture(value)
                root[name.format(word=word, number=number)] = data


def _served(tmp_path, schema, *, encoded):
    """Return the first number of each frame, by video and field."""
    with closing(declared_catalog(tmp_path, schema)) as found:
        reader = Reader(found)
        values = {
            (name, field.name): _values(reader, video, field.name, int(found.frame_counts[video]), encoded=encoded)
            for video, name in enumerate(names_of(found))
            for field in found.fields
            if field.kind == "image"
        }
        reader.close()
    return values


def _values(reader, video, field, count, *, encoded):
    pictures = np.zeros((count, 24, 32, 3), np.uint8)
    if encoded:
        frames = reader.read(video, range(count), field)
        pictures = np.array([cv2.imdecode(np.frombuffer(each, np.uint8), cv2.IMREAD_COLOR) for each in frames])
    else:
        reader.read_array(video, field, 0, pictures)
    return pictures[:, 0, 0, 0].tolist()


@pytest.mark.parametrize("encoded", [False, True], ids=["raw", "encoded"])
@pytest.mark.parametrize("group", ["", "clips/"], ids=["file", "group"])
@pytest.mark.parametrize("counts", [{"alice": 5, "bob": 7}, {"alice": 6, "bob": 6}], ids=["unequal", "equal"])
def test_words_before_numbers_are_videos_or_cameras_and_both_schemas_work(tmp_path, counts, group, encoded):
    _write(tmp_path, counts, group + "{word}_{number:04d}", encoded=encoded)
    with pytest.raises(CatalogError, match=r"which may be cameras or videos.*a video for each name or one video") as no:
        catalog_of(tmp_path)
    each, whole, *single = (_served(tmp_path, schema, encoded=encoded) for schema in schemas_in(str(no.value)))
    assert encoded or [len(picture) for picture in single[0].values()] == [1] * sum(counts.values())
    alice, bob = (list(range(100 * place, 100 * place + count)) for place, count in enumerate(counts.values()))
    assert each == {(f"{group}alice", "frames"): alice, (f"{group}bob", "frames"): bob}
    shortest = min(counts.values())
    assert whole == {("a", "alice"): alice[:shortest], ("a", "bob"): bob[:shortest]}


@pytest.mark.parametrize("words", [("left", "right"), ("rgb", "mask"), ("cam0", "cam1")])
def test_words_for_what_is_seen_are_cameras(tmp_path, words):
    _write(tmp_path, dict.fromkeys(words, 6))
    with closing(catalog_of(tmp_path)) as found:
        assert found.frame_counts.tolist() == [6]
        assert len(found.fields) >= len(words)


def test_encoded_frames_with_words_behind_their_numbers_are_one_video_by_the_schema_that_is_shown(tmp_path):
    _write(tmp_path, {"left": 6, "right": 6}, "frame{number}_{word}", encoded=True)
    with pytest.raises(CatalogError, match="expected frames of one name, found 'frame#_left' and 'frame#_right'") as no:
        catalog_of(tmp_path)
    (schema,) = schemas_in(str(no.value))
    served = _served(tmp_path, schema, encoded=True)
    assert served == {("a", "frame_left"): list(range(6)), ("a", "frame_right"): list(range(100, 106))}


def test_matrices_that_words_before_numbers_tell_apart_have_a_line_with_the_schema_for_their_frames(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as root:
        for word, count in {"alice": 5, "bob": 7}.items():
            for number in range(count):
                root[f"{word}_{number:04d}"] = np.full((24, 32), number, np.float32)
    with closing(catalog_of(tmp_path)) as found:
        assert found.frame_counts.tolist() == [24] * 12
        (line,) = [each for each in found.left_out if "(numbers)" in each]
    (schema,) = schemas_in(line)
    with closing(declared_catalog(tmp_path, schema)) as declared:
        assert names_of(declared) == ["alice", "bob"]
        assert declared.frame_counts.tolist() == [5, 7]


@pytest.mark.parametrize("encoded", [False, True], ids=["raw", "encoded"])
@pytest.mark.parametrize("groups", [["v1", "v2"], ["walk/v1", "run/v2"]])
def test_both_schemas_for_words_before_numbers_serve_all_groups_that_have_them(tmp_path, groups, encoded):
    for place, group in enumerate(groups):
        _write(tmp_path, {"alice": 6, "bob": 6}, group + "/{word}_{number:04d}", encoded=encoded, first=10 * place)
    with pytest.raises(CatalogError, match=r"a video for each name or a video of each group with a field for") as no:
        catalog_of(tmp_path)
    each, whole = (_served(tmp_path, schema, encoded=encoded) for schema in schemas_in(str(no.value))[:2])
    alice, bob = (
        {group: list(range(n, n + 6)) for n, group in zip((k, k + 10), groups, strict=True)} for k in (0, 100)
    )
    expected = {"alice": alice, "bob": bob}
    assert each == {(f"{group}/{word}", "frames"): of[group] for word, of in expected.items() for group in groups}
    assert whole == {(group, word): of[group] for word, of in expected.items() for group in groups}


def test_flow_between_numbered_pictures_is_one_entry_less_and_leaves_none_of_them_out(tmp_path):
    _write(tmp_path, {"flow_x": 5, "flow_y": 5, "img": 6}, "v1/{word}_{number:05d}")
    _write(tmp_path, {"flow_x": 7, "flow_y": 7, "img": 8}, "v2/{word}_{number:05d}")
    with closing(catalog_of(tmp_path)) as found:
        assert found.frame_counts.tolist() == [6, 8]
        reader = Reader(found)
        assert _values(reader, 1, "img", 8, encoded=False) == list(range(200, 208))
        assert _values(reader, 1, "flow_y", 7, encoded=False) == list(range(100, 107))
        reader.close()


def test_sequences_of_one_length_that_a_word_and_a_number_name_may_be_a_video_each(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as root:
        for word in ("alice", "bob"):
            for number in range(3):
                root[f"people/{word}_{number:04d}"] = np.stack([_picture(number)] * 5)
    with pytest.raises(CatalogError, match="2 names with these numbers") as said:
        catalog_of(tmp_path)
    counts = []
    for schema in schemas_in(str(said.value)):
        with closing(declared_catalog(tmp_path, schema)) as found:
            counts.append((found.frame_counts.tolist(), [field.kind for field in found.fields]))
    assert counts == [([5] * 3, ["image"] * 2), ([5] * 6, ["image"]), ([5], ["image"] * 3)]


def _write_of_unlike_sides(path, counts, name="data/{word}_{number}"):
    """Write so many pictures of each word, of sides of its own; the value of each is its number, as of `_write`."""
    with h5py.File(path, "w") as root:
        for place, (word, count) in enumerate(counts.items()):
            for number in range(count):
                sides = (20 + place, 24 + 2 * place, 3)
                root[name.format(word=word, number=number)] = np.full(sides, 100 * place + number, np.uint8)


@pytest.mark.parametrize("counts", [(3, 3), (3, 2, 3), (1, 2, 3)], ids=str)
def test_pictures_of_unlike_sides_by_word_are_asked_about_and_never_cut(tmp_path, counts):
    words = dict(zip(("hiking.jpg", "sea.jpg", "town.jpg"), counts, strict=False))
    _write_of_unlike_sides(tmp_path / "a.h5", words)
    with pytest.raises(CatalogError, match=r"which may be cameras or videos.*a video for each name or one video") as no:
        catalog_of(tmp_path)
    films, whole, single = schemas_in(str(no.value))
    with closing(declared_catalog(tmp_path, films)) as found:
        assert dict(zip(names_of(found), found.frame_counts.tolist(), strict=True)) == {
            f"data/{word}": count for word, count in words.items()
        }
    with closing(declared_catalog(tmp_path, whole)) as found:
        assert found.frame_counts.tolist() == [min(count for count in counts if count > 1)]
    with closing(declared_catalog(tmp_path, single)) as found, closing(Reader(found)) as reader:
        assert names_of(found) == [f"data/{word}_{number}" for word, count in words.items() for number in range(count)]
        last = len(counts) - 1
        picture = np.zeros((1, 20 + last, 24 + 2 * last, 3), np.uint8)
        reader.read_array(found.video_count - 1, "frames", 0, picture)
        assert set(picture.ravel().tolist()) == {100 * last + counts[-1] - 1}


def test_fields_of_unlike_sides_by_the_words_for_them_are_one_video(tmp_path):
    _write_of_unlike_sides(tmp_path / "a.h5", {"lr": 4, "hr": 4}, "{word}_{number}")
    with closing(catalog_of(tmp_path)) as found:
        assert found.frame_counts.tolist() == [4]
        assert sorted(field.name for field in found.fields) == ["hr", "lr"]
