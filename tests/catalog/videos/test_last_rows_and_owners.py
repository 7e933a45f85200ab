"""Ends that are last rows are decided by what rows say, or asked about; rows of several environments are not cut."""

from __future__ import annotations

from contextlib import closing

import h5py
import numpy as np
import pytest

from loader_service.errors import CatalogError
from tests.catalog.advice import schemas_in
from tests.support.catalogs import catalog_of

_SPANS = 'videos = "spans"\nfield = [{name = "obs", kind = "array", dataset = "obs"}]'


def _write(tmp_path, count, **columns):
    with h5py.File(tmp_path / "a.h5", "w") as root:
        root["obs"] = np.arange(count * 4, dtype=np.float32).reshape(count, 4)
        for name, values in columns.items():
            root[name] = values


def _flags(count, *rows):
    return np.isin(np.arange(count), rows)


def _counts(tmp_path, schema=""):
    (tmp_path / "schema.toml").write_text(schema)
    with closing(catalog_of(tmp_path, **({"schema": str(tmp_path / "schema.toml")} if schema else {}))) as found:
        return found.frame_counts.tolist(), "\n".join(found.left_out)


@pytest.mark.parametrize(
    ("count", "ends", "beside", "lengths"),
    [
        (30, [9, 19, 29], {"done": _flags(30, 9, 19, 29)}, [10, 10, 10]),
        (30, [9, 19, 29], {"done": _flags(30, 9, 29)}, [10, 10, 10]),
        (30, [9, 19, 29], {"step": np.tile(np.arange(10), 3)}, [10, 10, 10]),
        (31, [10, 20, 30], {"done": _flags(31, 9, 19, 29)}, [10, 10, 10]),
    ],
)
def test_rows_decide_whether_ends_are_last_rows(tmp_path, count, ends, beside, lengths):
    _write(tmp_path, count, episode_ends=np.array(ends), **beside)
    counts, lines = _counts(tmp_path)
    assert counts == lengths
    assert ("1 of 31 rows lie in no video" in lines) == (count == 31)


@pytest.mark.parametrize("beside", [{}, {"done": _flags(30, 5, 12)}])
def test_ends_of_which_no_row_says_more_have_both_readings(tmp_path, beside):
    _write(tmp_path, 30, episode_ends=np.array([9, 19, 29]), **beside)
    with pytest.raises(CatalogError, match="videos of which these are the last rows or one video of all rows") as said:
        catalog_of(tmp_path)
    served = [_counts(tmp_path, schema)[0] for schema in schemas_in(str(said.value))]
    assert served == [[10, 10, 10], [30]]


def test_pairs_alone_beside_rows_may_bound_videos(tmp_path):
    _write(tmp_path, 30, episode_ranges=np.array([[0, 9], [10, 19], [20, 29]]))
    with pytest.raises(CatalogError, match="videos that 'episode_ranges' bounds") as said:
        catalog_of(tmp_path)
    assert _counts(tmp_path, schemas_in(str(said.value))[0])[0] == [10, 10, 10]


def test_ends_in_groups_have_both_readings(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as root:
        for task in range(2):
            root[f"task{task}/obs"] = np.zeros((30, 4), np.float32)
            root[f"task{task}/episode_ends"] = np.array([9, 19, 29])
    with pytest.raises(CatalogError, match="videos of which these are the last rows or one video of all rows") as said:
        catalog_of(tmp_path)
    assert [_counts(tmp_path, schema)[0] for schema in schemas_in(str(said.value))] == [[10] * 6, [30, 30]]


@pytest.mark.parametrize("kind", [np.int64, np.float32, "S1"])
def test_rows_of_environments_in_turns_are_not_cut_and_the_remedy_works(tmp_path, kind):
    owners, done = np.tile(np.arange(3), 10).astype(kind), _flags(30, 9, 20, 29)
    _write(tmp_path, 30, env_id=owners, done=done)
    _, lines = _counts(tmp_path)
    assert "rows of 3 environments, or agents, lie in turns" in lines
    assert "spans" not in lines
    with pytest.raises(CatalogError, match="lie in turns"):
        _counts(tmp_path, _SPANS)
    rows = np.argsort(owners, kind="stable")
    _write(tmp_path, 30, env_id=owners[rows], done=done[rows])
    assert _counts(tmp_path, _SPANS)[0] == [4, 6, 10, 7, 3]


def test_flags_of_episodes_in_turns_are_asked_about(tmp_path):
    _write(tmp_path, 30, agent_id=np.tile(np.arange(2), 15), is_first=_flags(30, 0, 1, 12, 13))
    with pytest.raises(CatalogError, match="rows of 2 environments, or agents, lie in turns") as said:
        catalog_of(tmp_path)
    assert [_counts(tmp_path, schema)[0] for schema in schemas_in(str(said.value))] == [[30]]


def test_an_environment_that_begins_ends_the_episode_of_another(tmp_path):
    _write(tmp_path, 30, env_id=np.repeat(np.arange(3), 10), done=_flags(30, 4, 24))
    assert _counts(tmp_path, _SPANS)[0] == [5, 5, 10, 5, 5]
