"""An image option touches the files that CONTRIBUTING.md names, and no other: counted, and served."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import numpy as np
import pytest

import loader_client
from loader_client import Clip, Image
from tests.support.videos import make_videos, write_videos

ROOT = Path(__file__).parents[2]


def named_files() -> list[Path]:
    """Return the files of the walk, in its order."""
    text = (ROOT / "CONTRIBUTING.md").read_text().partition("**An image option**")[2].partition("\n\n**")[0]
    return [ROOT / path for path in re.findall(r"^\d\. `([^`]+)`", text, re.MULTILINE)]


def names_in(path: Path) -> set[str]:
    """Return what the code of a file calls things, its texts left out."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        for attribute in ("id", "attr", "arg", "name"):
            names.add(str(getattr(node, attribute, "")).lower())
    return names


def mentioned_in(option: str) -> set[Path]:
    """Return the files of the product whose code names an option of `Image` because of what it does to pixels.

    `pack` has a `--short-side` of its own, and the preview only tells people what was drawn.
    """
    tree = [path for folder in ("loader_service", "client") for path in (ROOT / folder).rglob("*.py")]
    apart = [ROOT / "loader_service" / room for room in ("pack", "preview")]
    return {path for path in tree if not any(map(path.is_relative_to, apart)) and option in names_in(path)}


def test_the_walk_names_at_most_four_files() -> None:
    assert 1 <= len(named_files()) <= 4
    assert all(path.is_file() for path in named_files())


def test_an_option_that_draws_is_in_the_files_of_the_walk_and_in_no_other() -> None:
    assert mentioned_in("flip") == set(named_files())


def test_an_option_that_draws_a_size_is_where_sizes_are_found_and_not_where_pixels_are_written() -> None:
    writer, sizes = (ROOT / "loader_service" / path for path in ("worker/image.py", "plan/image_shape.py"))
    assert mentioned_in("short_side") == {*named_files(), sizes} - {writer}


@pytest.mark.parametrize("option", ["chroma", "colors"])
def test_an_option_that_draws_nothing_is_known_where_it_is_declared_and_where_it_acts(option: str) -> None:
    assert len(mentioned_in(option)) == 2


def test_options_reach_the_pixels_of_a_batch_that_is_served(tmp_path: Path) -> None:
    write_videos(tmp_path / "a.h5", "group_vlen", make_videos([6, 6], height=16, width=24))
    asked = {"batch_size": 2, "clip": Clip(3), "shuffle": False}
    with loader_client.connect(str(tmp_path / "a.h5"), workers=1) as connection:
        plain, swapped, exact = (
            next(iter(connection.batches(image=image, **asked)))["frames"].copy()
            for image in (Image(), Image(colors="bgr"), Image(colors="bgr", chroma="exact"))
        )
    assert np.array_equal(swapped, plain[..., ::-1])
    assert not np.array_equal(exact, swapped)
    assert np.abs(exact.astype(int) - swapped).mean() < 20
