"""What a line or a refusal advises of arrays beside frames, that are a value of each video or of each column, works."""

from __future__ import annotations

import re
from contextlib import closing

import h5py
import numpy as np
import pytest

from loader_service.catalog.schema_text import schema_toml
from loader_service.errors import CatalogError
from tests.catalog.advice import schemas_in
from tests.public_layouts.pictures import jpegs, write_vlen
from tests.support.catalogs import catalog_of, declared_catalog


def test_tokens_of_another_count_in_each_video_are_a_value_by_the_field_that_their_line_shows(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as root:
        for number in range(3):
            root[f"utt{number}/mel"] = np.ones((20 + number, 8), np.float32)
            root[f"utt{number}/tokens"] = np.arange(4 + number)
    with closing(catalog_of(tmp_path)) as found:
        shown = r"add a \[\[field\]\] with (.*), (kind = .value.) and (.*) to what"
        fields = [match.groups() for line in found.left_out if (match := re.search(shown, line))]
        added = ["\n".join(["[[field]]", *field]) for field in fields]
        schema = "\n".join([schema_toml(found), *added, ""])
    with closing(declared_catalog(tmp_path, schema)) as found:
        served = {each.name: (each.kind, each.shape) for each in found.fields}
    assert served == {"mel": ("array", (8,)), "tokens": ("value", (0,))}


def test_captions_of_another_count_in_each_video_are_advised_to_be_one_text(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as root:
        for number in range(3):
            write_vlen(root.create_group(f"vid{number}"), "frames", jpegs(number, 6 + number))
            root[f"vid{number}/captions"] = [f"caption {each}" for each in range(3 + number % 2)]
    with closing(catalog_of(tmp_path)) as found:
        assert [line for line in found.left_out if "captions" in line and "as one text of it, such as JSON" in line]
    with h5py.File(tmp_path / "a.h5", "a") as root:
        for number in range(3):
            del root[f"vid{number}/captions"]
            root[f"vid{number}/captions"] = f'["caption {number}"]'
    with closing(catalog_of(tmp_path)) as found:
        assert ("captions", "value") in [(field.name, field.kind) for field in found.fields]


def test_labels_of_columns_name_the_axes_that_give_each_row_one(tmp_path):
    for transposed in (False, True):
        with h5py.File(tmp_path / "a.h5", "w") as root:
            features = np.ones((64, 20), np.float32)
            root["features"] = np.moveaxis(features, -1, 0) if transposed else features
            root["labels"] = np.arange(20) % 3
        if transposed:
            with closing(catalog_of(tmp_path)) as found:
                assert (found.kind, found.frame_count) == ("rows", 20)
                assert sorted(field.name for field in found.fields) == ["features", "labels"]
        else:
            with pytest.raises(
                CatalogError, match=r"as many as 'features' has columns; .* np.moveaxis\(array, -1, 0\)"
            ):
                catalog_of(tmp_path)


def test_transcripts_of_sounds_that_lie_end_to_end_are_values_of_the_videos_that_a_question_offers(tmp_path):
    ends = np.cumsum([30, 41, 25])
    with h5py.File(tmp_path / "a.h5", "w") as root:
        root["audio"], root["transcript"] = np.ones(96, np.float32), ["a b", "c", "d"]
        root["start"], root["end"] = ends - [30, 41, 25], ends
    with pytest.raises(CatalogError, match="of different length") as caught:
        catalog_of(tmp_path)
    (spans,) = [each for each in schemas_in(str(caught.value)) if '"spans"' in each]
    with closing(declared_catalog(tmp_path, spans)) as found:
        assert found.frame_counts.tolist() == [30, 41, 25]
        assert ("transcript", "value") in [(field.name, field.kind) for field in found.fields]


@pytest.mark.parametrize(("sides", "said"), [((5, 16, 16), True), ((4, 16, 16), False), ((16, 16, 4), False)])
def test_a_volume_of_few_small_grey_pictures_may_hold_videos_beside_each_other(tmp_path, sides, said):
    with h5py.File(tmp_path / "a.h5", "w") as root:
        root["data"] = np.ones((20, *sides), np.uint8)
    with closing(catalog_of(tmp_path)) as found:
        assert any("the second one counts videos" in line for line in found.left_out) == said


def _write_captions(path, frames, captions):
    with h5py.File(path, "w") as root:
        for number, (count, texts) in enumerate(zip(frames, captions, strict=True)):
            write_vlen(root.create_group(f"vid{number}"), "frames", jpegs(number, count))
            root[f"vid{number}/captions"] = [f"caption {number} {each}" for each in range(texts)]


def test_captions_as_many_as_frames_in_some_videos_are_advised_to_be_one_text_before_films_are_cut(tmp_path):
    _write_captions(tmp_path / "a.h5", (5, 7, 6), (5, 4, 6))
    with closing(catalog_of(tmp_path)) as found:
        (line,) = [line for line in found.left_out if "captions" in line]
    assert 'as one text of it, such as JSON; `lengths = "shortest"` in a --schema ends each video' in line
    assert "if they are of its frames" in line


def test_captions_as_many_as_frames_in_all_videos_have_a_line_whose_kind_works(tmp_path):
    _write_captions(tmp_path / "a.h5", (5, 5, 5), (5, 5, 5))
    with closing(catalog_of(tmp_path)) as found:
        (line,) = [line for line in found.left_out if "captions" in line]
        schema = schema_toml(found)
    assert "entries, and so one for each frame, perhaps by chance; if it is of a whole video, say kind" in line
    before, field = schema.split('name = "captions"')
    field = "\n".join(each for each in field.splitlines() if not each.startswith("shape"))
    value = field.replace('kind = "array"', 'kind = "value"')
    with closing(declared_catalog(tmp_path, f'{before}name = "captions"{value}\n')) as found:
        assert (found.field("captions").kind, found.field("captions").shape) == ("value", (5,))


def test_captions_of_the_rows_of_a_table_have_no_such_line(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as root:
        root["images"] = np.zeros((6, 16, 24, 3), np.uint8)
        root["captions"] = [f"caption {each}" for each in range(6)]
    with closing(catalog_of(tmp_path)) as found:
        assert ("captions", "array") in [(field.name, field.kind) for field in found.fields]
        assert not any("by chance" in line for line in found.left_out)


@pytest.mark.parametrize("names", [("video_0", "video_1"), ("alice", "bob")], ids=lambda names: names[0])
def test_what_has_the_name_of_one_video_is_not_advised_to_be_a_value_of_all(tmp_path, names):
    with h5py.File(tmp_path / "a.h5", "w") as root:
        for number, name in enumerate(names):
            write_vlen(root.create_group(name), "frames", jpegs(number, 5 + number))
            root.attrs[f"{name}/audio_len"] = 9600 + number
            root.attrs[f"length_of_{name}"] = 7.5 + number
            root[f"audio/{name}"] = np.ones(600 + number, np.float32)
        root.attrs["rate"], root["mean/rgb"] = 16000.0, np.ones(3)
    with closing(catalog_of(tmp_path)) as found:
        advised = [line for line in found.left_out if "if it is of all videos" in line]
        said = [line for line in found.left_out if any(name in line for name in names)]
    assert len(advised) == 2
    assert all("'mean/rgb'" in line or "'@rate'" in line for line in advised)
    assert len(said) == 6
