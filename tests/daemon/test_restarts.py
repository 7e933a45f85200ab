"""How often a service is started again, after lives of literal lengths."""

from __future__ import annotations

import pytest

from loader_service.daemon.restarts import Restarts


@pytest.mark.parametrize("served_s", [0.0, 59.0, 599.9])
def test_it_is_started_again_three_times_and_not_a_fourth(served_s: float) -> None:
    restarts = Restarts(3, 600.0)
    assert [restarts.allow(served_s) for _ in range(5)] == [True, True, True, False, False]


def test_a_life_of_ten_minutes_forgives_what_was_before() -> None:
    restarts = Restarts(3, 600.0)
    for _ in range(50):  # it goes on for days
        assert restarts.allow(600.0)
        assert restarts.in_a_row == 1


def test_a_long_life_forgives_even_after_the_last_restart() -> None:
    restarts = Restarts(3, 600.0)
    lives = (1.0, 0.0, 0.0, 3600.0, 0.0, 0.0, 0.0)
    assert [restarts.allow(each) for each in lives] == [True, True, True, True, True, True, False]
