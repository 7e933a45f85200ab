"""Lists of numbers by which splits are said: short words, subsets, MATLAB's form, and from which number they count."""

from __future__ import annotations

from contextlib import closing

import h5py
import numpy as np
import pytest

from loader_service.errors import CatalogError
from loader_service.worker.reader import Reader
from tests.support.catalogs import catalog_of, names_of

_ROWS = 20
_TRAIN, _VAL, _TEST = [0, 1, 2, 3, 4, 5, 6, 7, 12, 13, 19], [8, 9, 14, 15], [10, 11, 16, 17, 18]


def _write_rows(tmp_path, **lists):
    with h5py.File(tmp_path / "a.h5", "w") as root:
        root["features"], root["row"] = np.zeros((_ROWS, 3)), np.arange(_ROWS)
        for name, values in lists.items():
            root[name] = values


def _rows_of(tmp_path, split):
    rows: list[int] = []
    with closing(catalog_of(tmp_path, split=split)) as catalog, closing(Reader(catalog)) as reader:
        for video, count in enumerate(catalog.frame_counts.tolist()):
            out = np.zeros(count, np.int64)
            reader.read_array(video, "row", 0, out)
            rows += out.tolist()
    return rows


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize(
    "names",
    [
        ("tr_idx", "va_idx", "te_idx"),
        ("tr", "va", "te"),
        ("split/tr", "split/va", "split/te"),
        ("idxTr", "idxVa", "idxTe"),
    ],
)
def test_lists_with_short_words_beside_each_other_are_never_mixed(tmp_path, names, first):
    lists = zip(names, (_TRAIN, _VAL, _TEST), strict=True)
    _write_rows(tmp_path, **{name: np.array(rows) + first for name, rows in lists})
    with pytest.raises(CatalogError, match=r"(?i)'tr' \(11 rows\), 'va' \(4 rows\), 'te' \(5 rows\)") as refused:
        catalog_of(tmp_path)
    assert ("count from 1, since together they are 1 to 20" in str(refused.value)) == bool(first)
    assert _rows_of(tmp_path, "te" if "/" in names[0] or names[0][0] == "t" else "Te") == _TEST


def test_a_short_word_alone_is_no_split(tmp_path):
    _write_rows(tmp_path, te_idx=np.array(_TEST))
    with closing(catalog_of(tmp_path)) as catalog:
        assert catalog.frame_count == _ROWS
        assert not any("--split" in line for line in catalog.left_out)


def test_lists_of_subsets_of_one_split_are_one_each_and_together_with_a_line(tmp_path):
    _write_rows(tmp_path, train_ind=_TRAIN, test_seen_ind=_VAL, test_unseen_ind=_TEST)
    with pytest.raises(CatalogError, match=r"'train' \(11 rows\), 'test_seen' \(4 rows\), 'test_unseen' \(5 rows\)"):
        catalog_of(tmp_path)
    assert _rows_of(tmp_path, "test_unseen") == _TEST
    with closing(catalog_of(tmp_path, split="test")) as catalog:
        assert catalog.frame_count == len(_VAL + _TEST)
        assert any("--split test_seen or --split test_unseen serves one alone" in line for line in catalog.left_out)


def _as_matlab(rows):
    return np.array([rows], np.float64) + 1


def test_lists_as_matlab_writes_them_count_from_1_and_are_no_fields(tmp_path):
    lists = {"trainval_loc": _TRAIN + _VAL, "test_seen_loc": _TEST[:2], "test_unseen_loc": _TEST[2:]}
    _write_rows(tmp_path, **{name: _as_matlab(rows) for name, rows in lists.items()})
    with pytest.raises(CatalogError, match=r"'trainval' \(15 rows\).*; their numbers count from 1, since together"):
        catalog_of(tmp_path)
    assert _rows_of(tmp_path, "test_unseen") == _TEST[2:]
    with closing(catalog_of(tmp_path, split="trainval")) as catalog:
        assert {field.name for field in catalog.fields} == {"features", "row"}
    with closing(catalog_of(tmp_path, split="all")) as catalog:
        assert catalog.frame_count == _ROWS
    _write_rows(tmp_path, **{name: _as_matlab(rows) for name, rows in [*lists.items(), ("train_loc", _TRAIN)]})
    with closing(catalog_of(tmp_path)) as catalog:
        assert catalog.frame_count == _ROWS
        assert any("takes 2 rows, which `--split test_seen` serves alone" in line for line in catalog.left_out)
        assert any("their numbers count from 1" in line for line in catalog.left_out)


def test_lists_of_a_part_of_the_rows_that_may_be_of_matlab_are_asked(tmp_path):
    lists = {"train_loc": _as_matlab([1, 2, 3]), "test_loc": _as_matlab([7, 8])}
    _write_rows(tmp_path, **lists)
    for split in (None, "train"):
        with pytest.raises(CatalogError, match=r"nothing says from where.*--split all"):
            catalog_of(tmp_path, split=split)
    with closing(catalog_of(tmp_path, split="all")) as catalog:
        assert catalog.frame_count == _ROWS
    with h5py.File(tmp_path / "a.h5", "a") as root:
        for name in lists:
            root[name].attrs["MATLAB_class"] = np.bytes_("double")
    with pytest.raises(CatalogError, match="count from 1, since MATLAB wrote them"):
        catalog_of(tmp_path)
    assert _rows_of(tmp_path, "train") == [1, 2, 3]


def test_whole_numbers_that_do_not_tell_where_they_count_from_are_read_from_0_with_a_line(tmp_path):
    _write_rows(tmp_path, train_idx=[1, 2, 3], test_idx=[7, 8])
    with pytest.raises(CatalogError, match="numbers are read from 0 on, and neither 0 nor 20 is among them"):
        catalog_of(tmp_path)
    with closing(catalog_of(tmp_path, split="train")) as catalog:
        assert any("read from 0 on" in line for line in catalog.left_out)
    assert _rows_of(tmp_path, "train") == [1, 2, 3]
    _write_rows(tmp_path, train_idx=[0, 2, 3], test_idx=[7, 8])
    with closing(catalog_of(tmp_path, split="train")) as catalog:
        assert not any("read from" in line for line in catalog.left_out)


@pytest.mark.parametrize("places", [np.array([[12.5, 3.0]]), np.array([[120.0, 300.0]])])
def test_places_of_another_kind_are_no_lists(tmp_path, places):
    _write_rows(tmp_path, train_loc=places, test_loc=places + 1)
    with closing(catalog_of(tmp_path)) as catalog:
        assert catalog.frame_count == _ROWS


def test_lists_from_1_name_videos_that_count_from_1(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as root:
        for number in range(1, 13):
            root[f"ep{number}/x"] = np.zeros((3 + number, 4), np.float32)
        root["train_idx"], root["test_idx"] = [1, 2, 3, 12], list(range(4, 12))
    with closing(catalog_of(tmp_path, split="train")) as catalog:
        assert names_of(catalog) == ["ep1", "ep2", "ep3", "ep12"]
        assert any("count from 1, since together they are 1 to 12" in line for line in catalog.left_out)
