"""Columns that mark first or last rows get a line whose schema cuts there; other numbers of such names get none."""

from __future__ import annotations

from contextlib import closing

import h5py
import numpy as np
import pytest

from tests.catalog.advice import schemas_in
from tests.support.catalogs import catalog_of

_FIRST = np.isin(np.arange(12), [0, 4, 9])
_LAST = np.isin(np.arange(12), [3, 8, 11])
_OPEN = np.isin(np.arange(12), [3, 8])
_LENGTHS = [4, 5, 3]


def _write(tmp_path, **columns):
    with h5py.File(tmp_path / "a.h5", "w") as root:
        root["obs"] = np.random.default_rng(0).integers(0, 256, (12, 16, 20, 3), np.uint8)
        for name, values in columns.items():
            root[name] = values


def _counts(tmp_path, schema=""):
    (tmp_path / "schema.toml").write_text(schema)
    with closing(catalog_of(tmp_path, **({"schema": str(tmp_path / "schema.toml")} if schema else {}))) as found:
        return found.frame_counts.tolist(), "\n".join(found.left_out)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("first", _FIRST),
        ("firsts", _FIRST.astype(np.uint8)),
        ("new", _FIRST.astype(np.float32)),
        ("reset", _FIRST),
        ("reset", _LAST),
        ("masks", 1 - _FIRST.astype(np.float32)),
        ("masks", 1 - _LAST.astype(np.float32)),
        ("masks", 1 - _OPEN.astype(np.float32)),
        ("discount", 0.99 * ~_LAST),
        ("discount", 0.99 * ~_OPEN),
        ("cont", ~_LAST),
        ("last", _LAST),
        ("end", _OPEN[:, None]),
        ("not_done", 1 - _LAST.astype(np.float32)),
        ("nonterminals", ~_LAST[:, None]),
        ("dones_float", _LAST.astype(np.float32)),
        ("sequence", np.repeat([7, 3, 5], _LENGTHS)),
        ("t", np.concatenate([np.arange(each) / 8 for each in _LENGTHS])),
    ],
)
def test_marks_get_a_line_and_its_schema_cuts_there(tmp_path, name, values):
    _write(tmp_path, action=np.zeros((12, 2), np.float32), reward=np.zeros(12, np.float32), **{name: values})
    counts, lines = _counts(tmp_path)
    assert counts == [12]
    assert "seem to end 3 episodes in all 12 rows, and a clip crosses their ends" in lines
    (schema,) = schemas_in(lines)
    assert _counts(tmp_path, schema)[0] == _LENGTHS


@pytest.mark.parametrize(
    ("name", "values"), [("is_init", _FIRST), ("t", np.concatenate([np.arange(each) for each in _LENGTHS]))]
)
def test_marks_that_say_nothing_else_cut(tmp_path, name, values):
    _write(tmp_path, **{name: values})
    assert _counts(tmp_path)[0] == _LENGTHS


@pytest.mark.parametrize(
    ("name", "values"),
    [
        *(
            (name, np.array([1, 0, 0, 1, 1, 0, 1, 1, 1, 0, 0, 1], np.uint8))
            for name in ("first", "last", "mask", "new")
        ),
        ("first", np.arange(12)),
        ("first", ~_FIRST),
        ("reset", _OPEN),
        ("masks", np.ones(12, np.float32)),
        ("masks", np.tile([0.0, 0.5, 1.0], 4)),
        ("discount", np.linspace(0, 1, 12)),
        ("t", np.linspace(0, 1, 12)),
        ("t", np.random.default_rng(1).random(12)),
        ("t", np.random.default_rng(1).integers(0, 1000, 12)),
        ("sequence", np.tile([0, 0, 1, 1], 3)),
        ("sequence", np.arange(12)),
    ],
)
def test_other_numbers_of_such_names_say_nothing(tmp_path, name, values):
    _write(tmp_path, action=np.zeros((12, 2), np.float32), **{name: values})
    assert _counts(tmp_path) == ([12], "")


def test_a_mask_where_no_agent_acts_says_which_rows_count(tmp_path):
    _write(tmp_path, mask=~_LAST)
    assert _counts(tmp_path) == ([12], "")


def test_marks_of_environments_in_turns_have_a_remedy_but_no_schema(tmp_path):
    _write(tmp_path, env_id=np.tile(np.arange(3), 4), first=_FIRST)
    counts, lines = _counts(tmp_path)
    assert counts == [12]
    assert "rows of 3 environments, or agents, lie in turns" in lines
    assert "--schema" not in lines
