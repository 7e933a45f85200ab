"""Numbered pictures that are a video each have the reason that is true of them: gaps, sides, or where they begin."""

from __future__ import annotations

from contextlib import closing

import h5py
import numpy as np
import pytest

from loader_service.catalog.videos.encoded.why_samples import why_samples
from loader_service.errors import CatalogError
from tests.support.catalogs import catalog_of


@pytest.mark.parametrize(
    ("paths", "shapes", "why"),
    [
        (["a/0", "a/1", "a/3"], [()], "some numbers are missing"),
        (["a/0", "a/20", "a/60", "b/0", "b/20"], [()], "some numbers are missing"),
        (["a/img_3.jpg", "a/img_90.jpg", "a/img_1000.jpg"], [()], "most numbers are missing"),
        (["a/0", "a/1", "b/0", "b/1"], [(2, 3), (2, 4)], "their sides differ"),
        (["0", "1", "3"], [(2, 3), (2, 4)], "some numbers are missing and their sides differ"),
        (["a/0", "a/20", "a/40"], [()], "their numbers grow by 20"),
        (["a/5", "a/6"], [()], "their numbers begin with 5"),
        (["a/0.5", "a/1.5"], [()], "their numbers are no whole ones"),
        (["a/0", "a/1"], [()], "not all hold the same"),
    ],
)
def test_the_reason_is_what_numbers_and_sides_show(paths, shapes, why):
    assert why_samples(paths, shapes) == why


@pytest.mark.parametrize(
    ("names", "sides", "why"),
    [
        ("imgs/{}", (24, 25, 26), "their sides differ"),
        ("run/{}/rgb", (24, 25, 26), "their sides differ"),
        ("frames/{}", (24, 25, 26), "though their sides differ"),
        ("a/frame_{0}|b/frame_{0}", (24, 25, 26), "though their sides differ"),
        ("imgs/{}", (None, None, None, None, None, 24, 24, 24), "their numbers begin with 5"),
        ("run/{}/rgb", (24, None, 24, 24), "some numbers are missing"),
        ("t{}/rgb", (24, *[None] * 9, 24, *[None] * 9, 24), "their numbers grow by 10"),
    ],
)
def test_a_line_or_question_about_numbered_pictures_says_the_true_reason(tmp_path, names, sides, why):
    with h5py.File(tmp_path / "a.h5", "w") as root:
        for number, side in enumerate(sides):
            for name in names.split("|") if side else ():
                root[name.format(number)] = np.full((side, 32, 3), number, np.uint8)
    try:
        with closing(catalog_of(tmp_path)) as found:
            (said,) = found.left_out
    except CatalogError as error:
        said = str(error)
    assert why in said
    assert ("missing" in said) == ("missing" in why)


def test_groups_that_are_alone_with_their_number_have_no_line(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as root:
        for number in range(3):
            root[f"v{number}/0/rgb"] = np.full((24, 32, 3), number, np.uint8)
    with closing(catalog_of(tmp_path)) as found:
        assert not found.left_out
