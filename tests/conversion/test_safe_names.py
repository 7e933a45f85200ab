"""Names from files never lead out of a place, nor two of them to one path."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import unquote_to_bytes

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loader_service.conversion.safe_names import distinct_paths, safe_path

NAMES = st.one_of(
    st.text(max_size=40),
    st.binary(max_size=40).map(os.fsdecode),
    st.lists(st.sampled_from(["..", ".", "", "a", "A", "~2", "%", "con", "x" * 300]), max_size=5).map("/".join),
)


@given(NAMES)
def test_a_path_stays_in_its_place_and_can_be_made(name: str) -> None:
    path = safe_path(name)
    parts = path.split("/")
    assert path
    assert not path.startswith("/")
    assert all(part and not part.startswith(".") and len(part.encode()) <= 180 for part in parts)
    assert "\0" not in path
    assert len(path.encode()) < 4096
    assert Path("/place", path).is_relative_to("/place")


@given(st.lists(NAMES, max_size=8))
def test_no_two_names_lead_to_one_path_or_into_each_other(names: list[str]) -> None:
    paths = distinct_paths(map(safe_path, names))
    folded = [path.casefold() for path in paths]
    assert len(paths) == len(names)
    assert len(set(folded)) == len(folded)
    assert not any(one != other and other.startswith(f"{one}/") for one in folded for other in folded)


@given(
    st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=20).filter(
        lambda text: "/" not in text
    )
)
def test_the_name_can_be_read_from_the_path(name: str) -> None:
    assert unquote_to_bytes(safe_path(name).replace("+", "%2B")) == name.encode()


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("/cats/video 1", "cats/video 1"),
        ("../../etc/passwd", "%2E./%2E./etc/passwd"),
        ("a\0b", "a%00b"),
        ("vid\udcff", "vid%FF"),
        ("100%", "100%25"),
        ("", "%"),
        (".hidden", "%2Ehidden"),
        ("höhe", "höhe"),
    ],
)
def test_names_as_paths(name: str, path: str) -> None:
    assert safe_path(name) == path


def test_without_dots_the_last_part_has_no_extension() -> None:
    assert safe_path("a.b/v_1.avi", dots=False) == "a.b/v_1%2Eavi"


def test_names_that_differ_after_their_cut_stay_apart() -> None:
    assert safe_path("x" * 500 + "1") != safe_path("x" * 500 + "2")


def test_the_first_of_two_of_one_name_keeps_it() -> None:
    assert distinct_paths(["a", "A", "a", "b/c", "b"]) == ["a", "A~2", "a~3", "b/c", "b~2"]
