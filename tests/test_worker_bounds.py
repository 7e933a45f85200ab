"""Bounds of the number of workers are read as people write them, and anything else is refused in one line."""

from __future__ import annotations

from typing import Any

import pytest

from loader_service.config import ServiceConfig
from loader_service.errors import ConfigError
from loader_service.worker_bounds import WorkerBounds
from loader_service.worker_limits import most_workers


@pytest.mark.parametrize(
    ("given", "bounds"),
    [
        (None, WorkerBounds(1, None)),
        ("auto", WorkerBounds(1, None)),
        (8, WorkerBounds(8, 8)),
        ("8", WorkerBounds(8, 8)),
        ((2, 16), WorkerBounds(2, 16)),
        ("2..16", WorkerBounds(2, 16)),
        ("3..3", WorkerBounds(3, 3)),
        (WorkerBounds(2, 5), WorkerBounds(2, 5)),
    ],
)
def test_bounds_are_read_as_people_write_them(given: object, bounds: WorkerBounds) -> None:
    assert WorkerBounds.of(given) == bounds


@pytest.mark.parametrize("text", ["auto", "8", "2..16"])
def test_bounds_are_written_as_they_are_read(text: str) -> None:
    assert str(WorkerBounds.of(text)) == text


@pytest.mark.parametrize(
    "given",
    [
        0,
        -1,
        True,
        2.5,
        "",
        "two",
        "0",
        "-2",
        "0..4",
        "4..2",
        "2..",
        "..4",
        "2...4",
        "1..2..3",
        " 2..4",
        "٢",
        "2-4",
        (2,),
        (4, 2),
        (1, 2, 3),
        ("a", "b"),
        [],
        {},
        "9" * 30,
        "1.." + "9" * 30,
        "2..4\n",
    ],
)
def test_what_is_no_number_of_workers_is_refused_with_what_is_one(given: Any) -> None:
    with pytest.raises(
        ConfigError, match=r"^workers=.{0,90}; give 1 or more, bounds such as 2\.\.16, within which .* 'auto'$"
    ):
        WorkerBounds.of(given)


def test_no_worker_at_all_is_a_lower_bound_where_that_makes_sense() -> None:
    assert WorkerBounds.of("0..64", least=0) == WorkerBounds(0, 64)


@pytest.mark.parametrize(
    ("given", "bounds"), [(0, "0"), ("32", "32"), ("0..64", "0..64"), ((2, 8), "2..8"), (WorkerBounds(1, 3), "1..3")]
)
def test_remote_workers_are_given_alike_from_none_on(given: Any, bounds: str) -> None:
    assert str(WorkerBounds.of_remote(given)) == bounds
    assert str(ServiceConfig(("x.h5",), ray="auto", ray_workers=given).ray_workers) == bounds


@pytest.mark.parametrize("given", ["auto", None, -1, True, "4..2", "", WorkerBounds()])
def test_how_many_a_cluster_has_room_for_is_not_known_so_there_is_no_auto(given: Any) -> None:
    with pytest.raises(ConfigError, match=r"^ray_workers=.*; give a number, 0 or more, or bounds such as 0\.\.64"):
        WorkerBounds.of_remote(given)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"ray_workers": "0..64"}, "ray_workers='0..64' without a cluster; give --ray ADDRESS"),
        ({"ray_workers": "0..4096", "ray": "auto"}, "ray_workers=4096; give 0 to 512"),
    ],
)
def test_remote_workers_that_cannot_be_are_an_error_of_the_start(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        ServiceConfig(("x.h5",), **options)


@pytest.mark.parametrize(
    ("text", "first", "high"), [("auto", 4, 4), ("1..2", 2, 2), ("2..16", 4, 16), ("6..16", 6, 16), ("9", 9, 9)]
)
def test_a_service_begins_with_one_worker_for_each_core_within_the_bounds(text: str, first: int, high: int) -> None:
    bounds = WorkerBounds.of(text)
    assert (bounds.first(4), bounds.high(4)) == (first, high)


def test_more_than_the_host_bears_is_refused_as_an_upper_bound_too() -> None:
    with pytest.raises(ConfigError, match=f"workers={most_workers() + 1}; give 1 to {most_workers()}"):
        ServiceConfig(("x.h5",), workers=WorkerBounds(1, most_workers() + 1))
