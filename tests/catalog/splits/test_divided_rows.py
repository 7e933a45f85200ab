"""Splits of rows that lists of numbers, masks, or a column say: never mixed, and served alone."""

from __future__ import annotations

from contextlib import closing

import h5py
import numpy as np
import pytest

from loader_service.catalog.schema_text import schema_toml
from loader_service.errors import CatalogError
from loader_service.worker.reader import Reader
from tests.public_layouts.pictures import jpegs, write_vlen
from tests.support.catalogs import catalog_of, declared_catalog

_ROWS = 10


_TEST = [1, 4, 5, 9]


_TRAIN = [row for row in range(_ROWS) if row not in _TEST]


_WORDS = np.array(["test" if row in _TEST else "train" for row in range(_ROWS)], "S")


def _mask(rows):
    return np.isin(np.arange(_ROWS), rows)


_FORMS = {
    "lists": {"train_idx": _TRAIN, "test_idx": _TEST},
    "shuffled lists in a group": {"splits/train": _TRAIN[::-1], "splits/test": _TEST},
    "masks": {"train_mask": _mask(_TRAIN), "test_mask": _mask(_TEST)},
    "masks with a word alone": {"train": _mask(_TRAIN), "test": _mask(_TEST)},
    "flags as numbers": {"train_mask": _mask(_TRAIN).astype(np.uint8), "test_mask": _mask(_TEST).astype(np.int64)},
    "flags with a word alone": {"train": _mask(_TRAIN).astype(np.uint8), "test": _mask(_TEST).astype(np.uint8)},
    "is": {"is_train": _mask(_TRAIN), "is_test": _mask(_TEST)},
    "column": {"split": _WORDS},
    "wide column": {"split": _WORDS[:, None]},
    "texts of any length": {"subset": _WORDS.astype(object)},
    "column of any name": {"usage": _WORDS},
}


def _write_table(path, columns):
    with h5py.File(path, "w") as root:
        root["x"] = np.arange(2 * _ROWS, dtype=np.float32).reshape(_ROWS, 2)
        root["y"] = np.arange(_ROWS)
        for name, values in columns.items():
            root[name] = values
    return path


def _column(catalog, name="y"):
    """Return all entries of a field, row by row, as a worker reads them."""
    reader, rows = Reader(catalog), []
    for video, count in enumerate(catalog.frame_counts.tolist()):
        out = np.zeros(count, np.int64)
        reader.read_array(video, name, 0, out)
        rows += out.tolist()
    reader.close()
    return rows


@pytest.mark.parametrize("form", _FORMS)
def test_rows_of_splits_are_never_mixed_and_each_split_is_served_alone(tmp_path, form):
    path = _write_table(tmp_path / "table.h5", _FORMS[form])
    with pytest.raises(CatalogError, match=r"never mixed: 'train' \(6 rows\), 'test' \(4 rows\); choose one: --split"):
        catalog_of(tmp_path, path)
    for name, rows in (("train", _TRAIN), ("test", _TEST), ("all", list(range(_ROWS)))):
        with closing(catalog_of(tmp_path, path, split=name)) as catalog:
            assert (catalog.kind, catalog.split, _column(catalog)) == ("rows", name, rows)


def test_a_lone_list_has_a_line_that_works_and_lists_that_overlap_too(tmp_path):
    path = _write_table(tmp_path / "table.h5", {"train_idx": _TRAIN})
    with closing(catalog_of(tmp_path, path)) as catalog:
        assert catalog.frame_count == _ROWS
        assert any("'train_idx': takes 6 rows, which `--split train` serves alone" in each for each in catalog.left_out)
    with closing(catalog_of(tmp_path, path, split="train")) as catalog:
        assert _column(catalog) == _TRAIN
    path = _write_table(tmp_path / "other.h5", {"train_idx": _TRAIN, "val_idx": _TRAIN[:2]})
    with closing(catalog_of(tmp_path, path)) as catalog:
        assert catalog.frame_count == _ROWS


@pytest.mark.parametrize("name", ["is_train", "train_mask", "train"])
def test_a_lone_mask_is_a_field_with_a_line_that_works(tmp_path, name):
    path = _write_table(tmp_path / "table.h5", {name: _mask(_TRAIN)})
    with closing(catalog_of(tmp_path, path)) as catalog:
        assert name in {field.name for field in catalog.fields}
        lines = [each for each in catalog.left_out if "takes 6 rows, which `--split train` serves alone" in each]
        assert len(lines) == 1
        assert f"'{name} (split)'" in lines[0]
    with closing(catalog_of(tmp_path, path, split="train")) as catalog:
        assert _column(catalog) == _TRAIN


def test_lists_that_overlap_have_a_line_each_with_the_split_that_they_say(tmp_path):
    path = _write_table(tmp_path / "table.h5", {"test_idx": np.array([0, 9]), "train_idx": np.array([0, 4])})
    with closing(catalog_of(tmp_path, path)) as catalog:
        lines = "\n".join(catalog.left_out)
        assert "'test_idx': takes 2 rows, 1 of them in 'train' too, which `--split test` serves alone" in lines
        assert "'train_idx': takes 2 rows, 1 of them in 'test' too, which `--split train` serves alone" in lines
    with closing(catalog_of(tmp_path, path, split="train")) as catalog:
        assert _column(catalog) == [0, 4]


def test_a_lone_mask_of_nothing_has_a_line_that_names_no_option(tmp_path):
    path = _write_table(tmp_path / "table.h5", {"test": _mask([])})
    with closing(catalog_of(tmp_path, path)) as catalog:
        (line,) = [each for each in catalog.left_out if "'test (split)'" in each]
        assert "takes none, so nothing is of the split 'test'" in line
        assert "--split" not in line


def test_a_split_that_is_a_bool_is_two_splits(tmp_path):
    path = _write_table(tmp_path / "table.h5", {"split": _mask(_TEST)})
    with pytest.raises(CatalogError, match=r"never mixed: '0' \(6 rows\), '1' \(4 rows\)"):
        catalog_of(tmp_path, path)
    with closing(catalog_of(tmp_path, path, split="1")) as catalog:
        assert _column(catalog) == _TEST


@pytest.mark.parametrize("entry", [-1, _ROWS])
def test_a_list_of_rows_that_are_not_there_is_refused_with_a_remedy(tmp_path, entry):
    path = _write_table(tmp_path / "table.h5", {"train_idx": [0, entry]})
    with pytest.raises(
        CatalogError, match=rf"'train_idx', entry 1: expected .* of 10 rows.* found {entry}; .*--schema"
    ):
        catalog_of(tmp_path, path)
    with closing(
        declared_catalog(tmp_path, 'videos = "table"\n[[field]]\nname = "x"\nkind = "array"\ndataset = "x"\n', path)
    ) as catalog:
        assert catalog.frame_count == _ROWS
    with closing(catalog_of(tmp_path, path, split="all")) as catalog:
        assert catalog.frame_count == _ROWS


def test_a_schema_says_of_which_split_it_was_made(tmp_path):
    path = _write_table(tmp_path / "table.h5", {"train_idx": _TRAIN, "test_idx": _TEST})
    with closing(catalog_of(tmp_path, path, split="test")) as catalog:
        schema = schema_toml(catalog)
    assert '# It was made with --split "test", which a schema does not keep: give both.\n' in schema
    with closing(declared_catalog(tmp_path, schema, path, split="test")) as catalog:
        assert catalog.frame_count == len(_TEST)


def test_pictures_in_rows_and_their_labels_keep_together(tmp_path):
    frames = jpegs(5, _ROWS)
    with h5py.File(tmp_path / "pictures.h5", "w") as root:
        write_vlen(root, "images", frames)
        root["y"], root["train_idx"], root["val_idx"] = np.arange(_ROWS), _TRAIN, _TEST
    with closing(catalog_of(tmp_path, tmp_path / "pictures.h5", split="val")) as catalog:
        assert _column(catalog) == _TEST
        reader = Reader(catalog)
        got = [reader.read(video, [frame])[0] for video, n in enumerate(catalog.frame_counts) for frame in range(n)]
        reader.close()
    assert got == [frames[row] for row in _TEST]


def _numbers(root, attributes, dtype="uint8"):
    root.create_dataset("split", data=np.isin(np.arange(_ROWS), _TEST).astype("uint8").astype(dtype), dtype=dtype)
    root["split"].attrs.update(attributes)


@pytest.mark.parametrize(
    "attributes",
    [
        {"names": ["train", "test"]},
        {"train": 0, "test": 1},
        {"mapping": '{"train": 0, "test": 1}'},
        {"mapping": '{"0": "train", "1": "test"}'},
        {"unit": "one of two", "classes": np.array([b"train", b"test"])},
    ],
)
def test_numbers_with_names_in_an_attribute_are_splits(tmp_path, attributes):
    path = _write_table(tmp_path / "table.h5", {})
    with h5py.File(path, "a") as root:
        _numbers(root, attributes)
    with pytest.raises(CatalogError, match=r"'train' \(6 rows\), 'test' \(4 rows\); choose one"):
        catalog_of(tmp_path, path)
    with closing(catalog_of(tmp_path, path, split="test")) as catalog:
        assert _column(catalog) == _TEST


def test_numbers_of_an_enumeration_are_splits(tmp_path):
    path = _write_table(tmp_path / "table.h5", {})
    with h5py.File(path, "a") as root:
        _numbers(root, {}, h5py.enum_dtype({"train": 0, "test": 1}, "i1"))
    with closing(catalog_of(tmp_path, path, split="train")) as catalog:
        assert _column(catalog) == _TRAIN


def test_numbers_without_names_are_never_mixed_and_chosen_by_number(tmp_path):
    path = _write_table(tmp_path / "table.h5", {})
    with h5py.File(path, "a") as root:
        _numbers(root, {"unit": "none"})
    with pytest.raises(CatalogError, match=r"'0' \(6 rows\), '1' \(4 rows\); choose one: --split 0 or --split 1"):
        catalog_of(tmp_path, path)
    with closing(catalog_of(tmp_path, path, split="1")) as catalog:
        assert _column(catalog) == _TEST
    with closing(catalog_of(tmp_path, path, split="all")) as catalog:
        assert _column(catalog) == list(range(_ROWS))


@pytest.mark.parametrize("name", ["phase", "set", "fold"])
def test_numbers_of_a_name_that_means_other_things_too_are_a_field(tmp_path, name):
    path = _write_table(tmp_path / "table.h5", {name: np.arange(_ROWS) % 2})
    with closing(catalog_of(tmp_path, path)) as catalog:
        assert _column(catalog, name) == (np.arange(_ROWS) % 2).tolist()


@pytest.mark.parametrize("name", ["valid", "is_valid", "meta/valid_mask"])
@pytest.mark.parametrize("beside", [{}, {"train_idx": _TRAIN[:3]}, {"is_train": _mask(range(7))}])
def test_flags_of_valid_rows_are_no_split_unless_others_are(tmp_path, name, beside):
    path = _write_table(tmp_path / "a.h5", {name: _mask(_TRAIN), **beside})
    with closing(catalog_of(tmp_path)) as found:
        assert found.frame_counts.tolist() == [_ROWS]
        assert "--split valid" not in "".join(found.left_out)
    _write_table(path, {name: _mask(_TEST), "train_mask": _mask(_TRAIN)})
    with closing(catalog_of(tmp_path, split="valid")) as chosen:
        assert _column(chosen) == _TEST


def test_a_mask_without_a_row_is_no_split_that_is_advised(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as root:
        root["X"], root["y"] = np.zeros((6, 4), np.float32), np.arange(6)
        root["train_mask"], root["val_mask"] = np.ones(6, bool), np.zeros(6, bool)
    with pytest.raises(CatalogError, match=r"'train' \(6 rows\), 'val' \(0 rows\); choose one: --split train$"):
        catalog_of(tmp_path)
    with pytest.raises(CatalogError, match=r"--split leaves nothing of 1 video, or table, in 1 file such as '.*a.h5'"):
        catalog_of(tmp_path, split="val")


def test_lists_of_rows_in_a_group_of_each_fold_are_splits_by_their_paths_and_never_put_together(tmp_path):
    path = tmp_path / "folds.h5"
    rows = np.arange(20)
    with h5py.File(path, "w") as root:
        root["images"], root["masks"] = np.zeros((20, 24, 24, 3), np.uint8), np.zeros((20, 24, 24), np.uint8)
        root["number"] = rows
        for fold in range(5):
            held = rows // 4 == fold
            root[f"fold{fold}/train_idx"], root[f"fold{fold}/val_idx"] = rows[~held], rows[held]
    with closing(catalog_of(tmp_path, path)) as found:
        assert found.frame_count == 20
        assert any("takes 16 rows, which `--split fold3/train_idx` serves" in line for line in found.left_out)
    with closing(catalog_of(tmp_path, path, split="fold3/val_idx")) as found:
        reader = Reader(found)
        try:
            numbers = np.zeros(4, np.int64)
            reader.read_array(0, "number", 0, numbers)
        finally:
            reader.close()
        assert (found.frame_count, numbers.tolist()) == (4, [12, 13, 14, 15])
    with pytest.raises(CatalogError, match="--split 'train' leaves nothing of it: expected one of its splits"):
        catalog_of(tmp_path, path, split="train")


def test_rows_with_an_empty_word_are_in_no_split_and_a_word_with_a_blank_is_quoted(tmp_path):
    words = np.array([b"train"] * 4 + [b""] * 2 + [b"hold out"] * 3)
    with h5py.File(tmp_path / "a.h5", "w") as root:
        root["x"], root["split"] = np.zeros((9, 3)), words
    with pytest.raises(CatalogError, match="never mixed") as said:
        catalog_of(tmp_path)
    assert str(said.value).endswith("choose one: --split train or --split 'hold out'")
    with closing(catalog_of(tmp_path, split="hold out")) as found:
        assert found.frame_count == 3


def test_words_of_something_else_called_a_phase_are_values(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as root:
        for number, word in enumerate(["boost", "glide", "test"]):
            root[f"ep{number}/x"], root[f"ep{number}/phase"] = np.zeros((4 + number, 3)), word
    with closing(catalog_of(tmp_path)) as found:
        assert found.video_count == 3


def test_rows_of_several_splits_that_a_schema_serves_together_have_lines(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as root:
        root["x"], root["split"] = np.ones((10, 4)), np.array(["train", "test"] * 5, "S5")
    with pytest.raises(CatalogError, match="never mixed"):
        catalog_of(tmp_path)
    schema = 'videos = "table"\nfield = [{name = "x", kind = "array", dataset = "x"}]\n'
    with closing(declared_catalog(tmp_path, schema, tmp_path / "a.h5")) as catalog:
        lines = " ".join(catalog.left_out)
        assert catalog.frame_counts.sum() == 10
    assert "serves together; `--split train` serves 5 rows and `--split test` serves 5 rows alone" in lines
