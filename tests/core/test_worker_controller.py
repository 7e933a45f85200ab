"""The controller comes to the least number of workers that keeps trainers busy, rests there, and keeps its bounds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from math import ceil, pi, sin

import pytest
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as some

from loader_service.core.size_decision import Kind
from loader_service.core.worker_controller import CALM_S, MOST_WAITING, WorkerController
from loader_service.core.worker_demand import PoolReading, StreamReading
from tests.core.simulated_training import Host, Run, Trainer, begin, least_enough, measured

#: Changes until the number is right, and how long a simulated training may take for them, in seconds.
DECISIONS, LONG_S = 12, 900.0

#: After that the number rests for so long, but for one try that is taken back.
REST_S = 300.0

STARTS = some.sampled_from([1, 2, 4, 8, 16])
NOISE = some.sampled_from([0.0, 0.1, 0.2])
SEEDS = some.integers(0, 2**16)


def sized(host: Host, start: int, most: int = 16, least: int = 1, seconds: float = LONG_S) -> Run:
    """Let a training run for long, its workers sized from some number."""
    run = begin(host, (Kind("local", least, most),), {"local": start})
    for _ in range(round(seconds / 10)):
        run.go_on(10)
        assert least <= run.workers <= most, run.changes
    return run


def at_rest(run: Run) -> int:
    """Return the number that a run holds, once it has come to rest within the decisions that it may take.

    A try of one less, which is taken back, may be under way at any moment: it is the number that is there for longest.
    """
    number, began = run.workers, run.host.now
    early = len(run.changes)
    assert early <= DECISIONS, f"{early} decisions: {run.changes}"
    run.go_on(REST_S)
    late = run.changes[early:]
    assert len(late) <= 2, f"it does not rest: {run.changes}"
    assert not late or abs(late[0][1] - number) <= max(1, number // 4), run.changes
    times = [began, *(when for when, _ in late), run.host.now]
    held = Counter[int]()
    for workers, (since, until) in zip([number, *(each for _, each in late)], pairwise(times), strict=True):
        held[workers] += round(until - since)
    return held.most_common(1)[0][0]


def cycle(works_s: float, rests_s: float) -> Callable[[float], bool]:
    """Return whether a trainer rests at a time: it works for a while and rests for a while, in turn."""
    return lambda now: now % (works_s + rests_s) >= works_s


@settings(max_examples=10, phases=[Phase.explicit, Phase.generate])
@given(need=some.floats(0.3, 15.5), start=STARTS, noise=NOISE, seed=SEEDS)
def test_a_steady_trainer_gets_the_least_number_that_keeps_it_busy(
    need: float, start: int, noise: float, seed: int
) -> None:
    host = Host([Trainer(1 / need)], noise=noise, seed=seed)
    found = at_rest(sized(host, start))
    least = max(1, ceil((1 - MOST_WAITING) * need))
    at_the_edge = (1 - MOST_WAITING) * need > least - 0.06 * least - 0.1 or (1 - MOST_WAITING) * need < least - 0.9
    assert found in ((least - 1, least, least + 1) if at_the_edge else (least,)), (found, least)


@settings(max_examples=10, phases=[Phase.explicit, Phase.generate])
@given(
    need=some.floats(2.0, 12.0),
    works_s=some.floats(0.5, 2.0),
    rests_s=some.floats(0.5, 3.0),
    start=STARTS,
    seed=SEEDS,
)
@example(need=11.935252202661502, works_s=1.8016627256380922, rests_s=2.9747927203037294, start=4, seed=792)
@example(need=11.47857332352705, works_s=1.972117589360604, rests_s=2.3211796098999677, start=2, seed=43818)
@example(need=10.789271052833016, works_s=1.8189226105738276, rests_s=2.3502307259726396, start=1, seed=9296)
def test_a_bursty_trainer_gets_enough_and_hardly_more(
    need: float, works_s: float, rests_s: float, start: int, seed: int
) -> None:
    host = Host([Trainer(1 / need, pause=cycle(works_s, rests_s))], noise=0.1, seed=seed)
    found = at_rest(sized(host, start))
    working = works_s / (works_s + rests_s)  # it rests so shortly that its rests count as its time
    assert found <= least_enough(host, 16, MOST_WAITING / working) + 2
    assert measured(host, found)[0] * working <= 1.6 * MOST_WAITING


@settings(max_examples=10, phases=[Phase.explicit, Phase.generate])
@given(
    need=some.floats(1.0, 14.0), works_s=some.floats(40, 200), rests_s=some.floats(20, 120), start=STARTS, seed=SEEDS
)
def test_a_trainer_that_evaluates_now_and_then_is_sized_for_when_it_trains(
    need: float, works_s: float, rests_s: float, start: int, seed: int
) -> None:
    host = Host([Trainer(1 / need, pause=cycle(works_s, rests_s))], noise=0.1, seed=seed)
    found = at_rest(sized(host, start, seconds=1.5 * LONG_S))
    least = max(1, ceil((1 - MOST_WAITING) * need))
    assert least - 1 <= found <= least + 1
    assert measured(host, found, 3 * (works_s + rests_s))[0] <= 2 * MOST_WAITING


@settings(max_examples=10, phases=[Phase.explicit, Phase.generate])
@given(needs=some.lists(some.floats(0.2, 4.0), min_size=2, max_size=4), start=STARTS, seed=SEEDS)
def test_several_trainers_get_what_all_of_them_need(needs: list[float], start: int, seed: int) -> None:
    host = Host([Trainer(1 / need) for need in needs], noise=0.1, seed=seed)
    found = at_rest(sized(host, start, most=20))
    least = max(1, ceil((1 - MOST_WAITING) * sum(needs)))
    assert least - 1 <= found <= least + 1
    assert measured(host, found)[0] <= 2 * MOST_WAITING


@settings(max_examples=10, phases=[Phase.explicit, Phase.generate])
@given(
    need=some.floats(1.0, 12.0),
    cores=some.integers(2, 12),
    trainer_cores=some.floats(0.5, 3.0),
    start=STARTS,
    seed=SEEDS,
)
def test_a_worker_that_only_takes_the_trainers_core_is_sent_away(
    need: float, cores: int, trainer_cores: float, start: int, seed: int
) -> None:
    host = Host([Trainer(1 / need)], cores=cores, trainer_cores=trainer_cores, seed=seed)
    run = sized(host, min(start, cores), most=cores)
    found = at_rest(run)
    rates = {number: measured(host, number)[1] for number in range(1, cores + 1)}
    assert rates[found] >= 0.85 * max(rates.values()), (found, rates)
    as_good = min(number for number, rate in rates.items() if rate >= 0.95 * max(rates.values()))
    assert found <= as_good + 1 + as_good // 4, (found, as_good, rates)


@settings(max_examples=10, phases=[Phase.explicit, Phase.generate])
@given(
    need=some.floats(1.0, 12.0),
    burst=some.tuples(some.floats(0.5, 2.0), some.floats(0.5, 3.0)),
    cores=some.integers(2, 12),
    trainer_cores=some.floats(0.5, 3.0),
    start=STARTS,
    seed=SEEDS,
)
@example(need=1.46424717, burst=(1.3641813, 0.64505806), cores=2, trainer_cores=1.94381392, start=8, seed=26677)
def test_bursts_on_a_crowded_host_leave_the_pool_at_rest(
    need: float, burst: tuple[float, float], cores: int, trainer_cores: float, start: int, seed: int
) -> None:
    trainer = Trainer(1 / need, pause=cycle(*burst))
    host = Host([trainer], cores=cores, trainer_cores=trainer_cores, noise=0.1, seed=seed)
    at_rest(sized(host, min(start, cores), most=cores))


@settings(max_examples=10, phases=[Phase.explicit, Phase.generate])
@given(
    need=some.floats(1.0, 14.0),
    here=some.integers(1, 8),
    remote_rate=some.floats(0.4, 1.5),
    start=STARTS,
    elsewhere=some.sampled_from([0, 4, 12]),
    seed=SEEDS,
)
def test_two_kinds_of_workers_together_are_enough(
    need: float, here: int, remote_rate: float, start: int, elsewhere: int, seed: int
) -> None:
    host = Host([Trainer(1 / need)], noise=0.1, seed=seed, remote_rate=remote_rate)
    kinds = (Kind("local", 1, here), Kind("remote", 0, 40))
    run = begin(host, kinds, {"local": min(start, here), "remote": elsewhere}).go_on(LONG_S)
    at_rest(run)
    waited_s = host.trainers[0].waited_s
    run.go_on(REST_S)
    assert host.trainers[0].waited_s - waited_s <= 1.6 * MOST_WAITING * REST_S


def test_workers_elsewhere_are_tried_where_one_here_takes_the_trainers_core() -> None:
    host = Host([Trainer(1 / 12)], cores=4, trainer_cores=2.0)
    kinds = (Kind("local", 1, 4), Kind("remote", 0, 64))
    run = begin(host, kinds, {"local": 4, "remote": 0}).go_on(600)
    assert run.host.numbers["remote"] > 0
    assert len(run.changes) <= DECISIONS
    taken, now = host.trainers[0].taken, host.now
    run.go_on(60)
    assert (host.trainers[0].taken - taken) / (host.now - now) > 1.5 * measured(
        Host([Trainer(1 / 12)], cores=4, trainer_cores=2.0), 4
    )[1]


def test_workers_elsewhere_go_first_when_fewer_are_needed() -> None:
    run = begin(Host([Trainer(1 / 3)]), (Kind("local", 1, 4), Kind("remote", 0, 64)), {"local": 4, "remote": 8})
    run.go_on(600)
    assert run.host.numbers == {"local": 3, "remote": 0}


def test_another_demand_is_followed_up_at_once_and_down_after_a_while() -> None:
    host = Host([Trainer(1 / 2)])
    run = sized(host, 2, seconds=300)
    assert run.workers == 2
    host.trainers[0].step_s = 1 / 9
    asked = host.now
    run.go_on(120)
    assert run.workers == 9
    assert run.changes[-1][0] - asked < 60
    host.trainers[0].step_s = 1 / 2
    run.go_on(20)
    assert run.workers == 9
    run.go_on(20 * CALM_S)
    assert run.workers == 2


@settings(max_examples=5, phases=[Phase.explicit, Phase.generate])
@given(
    need=some.floats(1.0, 12.0),
    swing=some.floats(0.05, 0.35),
    period_s=some.floats(60.0, 900.0),
    noise=NOISE,
    seed=SEEDS,
)
@example(need=11.03247785041342, swing=0.33254772646149555, period_s=376.6926427632656, noise=0.0, seed=59379)
def test_rates_that_drift_are_followed_without_a_restless_pool(
    need: float, swing: float, period_s: float, noise: float, seed: int
) -> None:
    host = Host([Trainer(1 / need)], noise=noise, seed=seed)
    run = sized(host, 4, seconds=300)
    early, waited_s = len(run.changes), host.trainers[0].waited_s
    for second in range(1800):
        host.worker_rate = 1 + swing * sin(2 * pi * second / period_s)
        run.go_on(1)
    late = [number for _, number in run.changes[early:]]
    ups = [after > before for before, after in pairwise(late)]
    turns = sum(before != after for before, after in pairwise(ups))
    assert turns <= min(12, 2 * 1800 / period_s + 4), f"it turns more often than the rate does: {run.changes}"
    assert host.trainers[0].waited_s - waited_s <= 0.05 * 1800
    most = ceil(need / (1 - swing)) + 1
    assert max(late, default=0) <= min(16, most), run.changes


def test_the_reason_says_what_was_measured() -> None:
    run = sized(Host([Trainer(1 / 3.5)]), 16, seconds=400)
    assert run.decisions[-1].why == "the trainer waits 0% of its time, which takes 3.5 workers"
    assert not run.decisions[-1].is_change


def test_where_more_are_not_allowed_that_is_the_reason() -> None:
    run = sized(Host([Trainer(1 / 9)]), 4, most=4, seconds=200)
    assert run.workers == 4
    assert run.decisions[-1].why.endswith("of its time, and no more are allowed")


@pytest.mark.parametrize("room", [3, 5])
def test_more_than_the_machine_bears_there_never_are(room: int) -> None:
    run = begin(Host([Trainer(1 / 9)]), (Kind("local", 2, 16),), {"local": 4})
    run.go_on(30)
    run.room["local"] = room
    for _ in range(100):
        run.go_on(2)
        assert run.workers <= room
    assert run.workers == room
    assert run.decisions[-1].why.endswith("and the machine has no room for more")


def test_the_lower_bound_holds_even_where_the_machine_bears_less() -> None:
    run = begin(Host([Trainer(1 / 9)]), (Kind("local", 3, 16),), {"local": 4})
    run.room["local"] = 1
    run.go_on(100)
    assert run.workers == 3


READINGS = some.lists(
    some.tuples(
        some.floats(0, 30), some.floats(0, 40), some.integers(0, 50), some.floats(0, 9), some.integers(0, 20), SEEDS
    ),
    max_size=60,
)


@settings(max_examples=100)
@given(readings=READINGS, least=some.integers(0, 6), more=some.integers(0, 12), remote=some.integers(0, 9))
def test_bounds_hold_whatever_is_measured(
    readings: list[tuple[float, float, int, float, int, int]], least: int, more: int, remote: int
) -> None:
    kinds = (Kind("local", least, least + more), Kind("remote", 0, remote))
    numbers = {"local": least, "remote": 0}
    controller = WorkerController(kinds, numbers)
    now, busy_s, steps, waited_s = 0.0, 0.0, 0, 0.0
    for seconds, busy, taken, waited, room, seed in readings:
        now, busy_s, steps, waited_s = now + seconds, busy_s + busy, steps + taken, waited_s + waited
        streams = {seed % 2: StreamReading(steps, steps, waited_s, 100)}
        reading = PoolReading(now, busy_s, streams, dict(numbers), {"local": room}, seed % 3)
        decision = controller.observe(reading)
        if decision is not None:
            numbers = dict(decision.numbers)
        assert least <= numbers["local"] <= max(least, min(room, least + more)) or decision is None
        assert 0 <= numbers["remote"] <= remote
        assert controller.total == sum(numbers.values())


@settings(max_examples=10, phases=[Phase.explicit, Phase.generate])
@given(waits=some.lists(some.floats(0, 1), min_size=200, max_size=200), start=STARTS)
def test_noise_without_meaning_is_not_followed(waits: list[float], start: int) -> None:
    controller = WorkerController((Kind("local", 1, 16),), {"local": start})
    numbers, changes = {"local": start}, []
    waited_s = 0.0
    for second in range(3600):
        waited_s += waits[second // 18] ** 4
        streams = {1: StreamReading(4 * second, 4 * second, waited_s, 100)}
        decision = controller.observe(PoolReading(float(second), 3.0 * second, streams, dict(numbers), {}))
        if decision is not None and decision.is_change:
            numbers = dict(decision.numbers)
            changes.append(second)
    assert len([each for each in changes if each >= 1800]) <= 40, changes  # of some 150 windows
