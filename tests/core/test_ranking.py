"""The first of many numbers is found without looking at all of them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from loader_service.core.ranking import Ranking

#: A number, and the rank that it gets; None takes it out.
_CHANGES = st.lists(st.tuples(st.integers(0, 20), st.none() | st.integers(-5, 5)), max_size=300)


@given(_CHANGES)
def test_the_first_is_the_lowest_of_the_latest_ranks(changes: list[tuple[int, int | None]]) -> None:
    ranking: Ranking[float] = Ranking()
    latest: dict[int, int] = {}
    for number, rank in changes:
        if rank is None:
            ranking.discard(number)
            latest.pop(number, None)
        else:
            ranking.put(number, rank)
            latest[number] = rank
        assert ranking.first() == min(((rank, number) for number, rank in latest.items()), default=None)
        assert len(ranking) == len(latest)


def test_ranks_that_change_for_ever_take_no_more_memory() -> None:
    ranking: Ranking[float] = Ranking()
    ranking.put(0, -1.0)  # comes first all the time, so no stale entry is ever seen
    for rank in range(10_000):
        ranking.put(1 + rank % 10, rank)
    assert len(ranking._heap) < 200
    assert ranking.first() == (-1.0, 0)
