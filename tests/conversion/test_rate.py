"""Rates and times as people read them."""

from __future__ import annotations

import pytest

from loader_service.conversion.rate import RateBar, duration_text, rate_text


def test_rate_and_time_left() -> None:
    assert rate_text(2**30, 4 * 2**30, 10.0) == "1.0 GiB of 4.0 GiB, 102.4 MiB/s, 0:00:30 left"
    assert rate_text(0, 2**20, 10.0) == "0 B of 1.0 MiB"
    assert duration_text(3_723.4) == "1:02:03"


def test_a_log_gets_no_line_within_the_first_seconds() -> None:
    said: list[str] = []
    with RateBar("unpacking", said.append) as bar:
        bar.at(5, 10)
        bar.at(10, 10)
    assert said == []


def test_the_rate_counts_from_the_first_call_even_when_that_was_at_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([0.0, 0.0, 20.0])
    monkeypatch.setattr("loader_service.conversion.rate.time.monotonic", lambda: next(clock))
    said: list[str] = []
    with RateBar("packing", said.append) as bar:
        bar.at(0, 2**30)
        bar.at(2**29, 2**30)
    assert said == ["packing: 512.0 MiB of 1.0 GiB, 25.6 MiB/s, 0:00:20 left"]
