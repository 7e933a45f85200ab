"""How often a private service is started again, at literal times."""

from __future__ import annotations

from loader_service.daemon.restarts import FORGIVEN_AFTER_S, Restarts


def test_it_is_started_again_three_times_and_not_a_fourth():
    restarts = Restarts()
    for now in (0.0, 60.0, 120.0):
        restarts.ready(now)
        assert restarts.allow(now + 59.0)
    restarts.ready(180.0)
    assert not restarts.allow(200.0)


def test_a_death_before_it_was_ready_counts_like_any_other():
    restarts = Restarts()
    restarts.ready(0.0)
    assert [restarts.allow(1.0 + number) for number in range(4)] == [True, True, True, False]


def test_a_life_of_ten_minutes_forgives_what_was_before():
    restarts = Restarts()
    for hour in range(50):  # once an hour, it goes on for days
        restarts.ready(3600.0 * hour)
        assert restarts.allow(3600.0 * (hour + 1) - 5.0)
        assert restarts.in_a_row == 1


def test_a_life_that_is_a_little_shorter_forgives_nothing():
    restarts = Restarts()
    allowed = []
    for number in range(4):
        restarts.ready(1000.0 * number)
        allowed.append(restarts.allow(1000.0 * number + FORGIVEN_AFTER_S - 0.1))
    assert allowed == [True, True, True, False]


def test_a_long_start_is_no_long_life():
    restarts = Restarts()
    restarts.ready(0.0)
    assert [restarts.allow(FORGIVEN_AFTER_S * 2 * number) for number in range(1, 6)] == [True, True, True, False, False]
