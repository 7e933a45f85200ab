"""The last hour as sums, and the rates between them, at literal times."""

from __future__ import annotations

import pytest

from loader_service.web.live_facts import moment_of
from loader_service.web.recording import KEPT_S, Recording, rates_between
from loader_service.web.recording import RecordedSums as Sums
from tests.watching.looks import look, stream, worker


def recorded(*moments: Sums) -> Recording:
    recording = Recording()
    for each in moments:
        recording.add(each)
    return recording


def test_rates_are_differences_of_sums() -> None:
    before = Sums(10, 5, steps=100, frames=1600, waiting_s=3, observed_s=10, decoding_s=8, idle_s=2, reading_s=1)
    after = Sums(20, 15, steps=150, frames=2400, waiting_s=8, observed_s=20, decoding_s=14, idle_s=6, reading_s=1,
                   workers=4)  # fmt: skip
    assert rates_between(before, after) == pytest.approx(
        {"steps": 5, "frames": 80, "size_bytes": 0, "waiting": 0.5, "reading": 0, "decoding": 0.6, "transforming": 0,
         "sending": 0, "idle": 0.4, "workers": 4, "memory_bytes": 0}
    )  # fmt: skip


def test_sending_is_a_part_of_what_workers_do() -> None:
    parts = [(t, worker(1, t, working=0.8, sending=0.5, reading=0.25)) for t in (5.0, 15.0)]
    moments = [moment_of(look(t, [each], [stream(1, t)], worker_totals=each.totals), t) for t, each in parts]
    found = rates_between(*moments)
    assert [found[name] for name in ("sending", "reading", "decoding", "idle")] == pytest.approx([0.4, 0.2, 0.2, 0.2])
    assert recorded(*moments).history(60, 10)["sending"] == [0.4]


def test_nothing_is_known_across_a_new_beginning() -> None:
    assert rates_between(Sums(10, 500, steps=90), Sums(11, 1, steps=0)) == {}
    assert rates_between(Sums(10, 5), Sums(10, 5)) == {}
    history = recorded(Sums(0, 90, steps=9), Sums(1, 91, steps=10), Sums(2, 1, steps=0)).history(60, 10)
    assert history["steps"] == [1.0, None]


def test_shares_that_nobody_told_are_unknown_and_not_zero() -> None:
    found = rates_between(Sums(0, 0), Sums(1, 1, steps=5))
    assert "waiting" not in found
    assert "decoding" not in found
    assert recorded(Sums(0, 0), Sums(1, 1)).history(60, 10)["waiting"] == [None]


def test_a_stream_that_was_closed_makes_no_negative_rate() -> None:
    assert rates_between(Sums(0, 0, steps=50), Sums(1, 1, steps=20))["steps"] == 0


def test_an_hour_is_kept_and_no_more() -> None:
    recording = recorded(*(Sums(float(second), float(second), steps=second) for second in range(5000)))
    times = recording.history(1e9, 10_000)["t"]
    assert times[0] == -KEPT_S + 1
    assert times[-1] == 0
    assert len(times) == 3600


@pytest.mark.parametrize("points", [1, 10, 240])
def test_a_history_has_no_more_points_than_were_asked_for_and_loses_no_step(points: int) -> None:
    recording = recorded(*(Sums(float(second), float(second), steps=second * 3) for second in range(1001)))
    history = recording.history(1000, points)
    assert len(history["t"]) <= points + 1
    assert set(history["steps"]) == {3.0}
    assert Recording().history(60, 10)["t"] == []
