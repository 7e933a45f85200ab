"""Which wants go together, and what waits for them."""

from __future__ import annotations

import pytest

from loader_client.session.unsent import Unsent

_LARGE = 64 * 2**20


@pytest.mark.parametrize(
    ("prefetch", "step_bytes", "together"),
    [(32, 1_000, 16), (64, 1_000, 16), (4, 1_000, 2), (1, 1_000, 1), (4, _LARGE, 1), (64, _LARGE, 1)],
)
def test_wants_go_by_half_of_the_prefetch_and_large_steps_one_by_one(
    prefetch: int, step_bytes: int, together: int
) -> None:
    unsent = Unsent()
    unsent.go_by(prefetch, step_bytes)
    for number in range(1, together + 1):
        assert not unsent.is_due
        unsent.want(number)
    assert unsent.is_due


def test_a_want_that_was_not_sent_cannot_wait_nor_one_whose_slot_a_returned_lease_may_be() -> None:
    unsent = Unsent()
    unsent.go_by(4, _LARGE)
    unsent.want(1)
    assert not unsent.can_wait(1, free=3)
    unsent.flush()
    unsent.other()
    assert unsent.can_wait(1, free=1)
    assert not unsent.can_wait(1, free=0)
