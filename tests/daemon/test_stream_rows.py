"""The rows of steps over a real catalog: files, lengths, and what takes the place of a bad sample."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from loader_service.catalog.columns import Catalog
from loader_service.daemon.stream_rows import SUBSTITUTES, CatalogRows
from loader_service.protocol.rows import Row
from loader_service.protocol.spec import Clip, Frame, Spec
from tests.support.catalogs import catalog_of
from tests.support.videos import make_videos, write_videos

#: Frames of the videos of the two files; none is empty.
LENGTHS = (3, 8, 5, 5), (12, 5, 2)


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    directory: Path = tmp_path_factory.mktemp("rows")
    for number, lengths in enumerate(LENGTHS):
        write_videos(directory / f"{number}.h5", "group_vlen", make_videos(lengths, seed=number))
    return catalog_of(directory)


def rows_of(catalog: Catalog, clip, **options) -> CatalogRows:
    return CatalogRows(catalog, Spec(2, clip, on_error="substitute", **options))


def test_whole_videos_have_their_lengths_and_files(catalog):
    rows = rows_of(catalog, None, shuffle=False)
    assert tuple(rows.rows(0, 1)) == (Row(2, 0, None, 5), Row(3, 0, None, 5))
    assert tuple(rows.rows(0, 2)) == (Row(4, 1, None, 12), Row(5, 1, None, 5))


def test_clips_and_frames_have_no_length_to_lay_out(catalog):
    assert tuple(rows_of(catalog, Clip(3), shuffle=False).rows(0, 2)) == (Row(4, 1), Row(5, 1))
    assert tuple(rows_of(catalog, Frame(), shuffle=False).rows(0, 10)) == (Row(20, 0), Row(21, 1))


def test_rows_of_an_index_are_what_the_client_names(catalog):
    rows = rows_of(catalog, None, indexed=True)
    assert tuple(rows.rows_of((4, 0, 4), (7, 8, 900))) == (Row(4, 1, 7, 12), Row(0, 0, 8, 3), Row(4, 1, 900, 12))


@pytest.mark.parametrize("bad", [Row(2, 0, None, 5), Row(5, 1, 17, 5), Row(0, 0, None, 3), Row(6, 1, None, 2)])
def test_a_whole_video_is_replaced_by_one_that_is_as_long_at_least_and_by_each_of_them(catalog, bad):
    rows = rows_of(catalog, None)
    lengths = [length for file in LENGTHS for length in file]
    candidates = {sample for sample, length in enumerate(lengths) if length >= bad.frames} - {bad.sample}
    substitutes = [rows.substitute(epoch, bad, 1) for epoch in range(300)]
    assert {each.sample for each in substitutes} == candidates
    assert {(each.frames, each.position) for each in substitutes} == {(bad.frames, bad.position)}
    assert all(each.file == (each.sample >= len(LENGTHS[0])) for each in substitutes)


def test_the_longest_video_has_no_substitute(catalog):
    assert rows_of(catalog, None).substitute(0, Row(4, 1, None, 12), 1) is None


@pytest.mark.parametrize("bad", [Row(0, 0), Row(3, 0), Row(6, 1)])
def test_a_clip_is_replaced_by_each_other_one_equally_often(catalog, bad):
    rows = rows_of(catalog, Clip(3))
    counts = Counter(rows.substitute(epoch, bad, 1).sample for epoch in range(1200))
    assert set(counts) == set(range(7)) - {bad.sample}
    assert all(140 <= count <= 260 for count in counts.values())  # 200, within 4.6 standard deviations


def test_a_substitute_is_the_same_whoever_asks_and_another_at_each_attempt(catalog):
    bad = Row(3, 0)
    chains = [
        [rows_of(catalog, Clip(3), seed=5).substitute(2, bad, attempt) for attempt in range(1, SUBSTITUTES + 1)]
        for _ in range(2)
    ]
    assert chains[0] == chains[1]
    assert len({each.sample for each in chains[0]}) > 2


def test_the_only_sample_has_no_substitute(tmp_path):
    write_videos(tmp_path / "one.h5", "group_vlen", make_videos([4]))
    assert rows_of(catalog_of(tmp_path), Clip(3)).substitute(0, Row(0, 0), 1) is None


def test_substitutes_in_an_index_hang_on_the_position(catalog):
    rows = rows_of(catalog, Clip(3), indexed=True)
    assert len({rows.substitute(0, Row(3, 0, position), 1).sample for position in range(100)}) == 6
    assert rows.substitute(0, Row(3, 0, 2**62 - 1), SUBSTITUTES) is not None


def test_a_sample_is_described_by_file_and_video(catalog):
    assert rows_of(catalog, Clip(3)).describe(5).endswith("1.h5', video 'video1'")
