"""The number of a share tells rank and world exactly, and whether the rest is the same."""

from __future__ import annotations

import pytest

from loader_client.share_number import check_saved, share_number
from loader_service.errors import ConfigError

ORDER = (("seed", 0), ("shuffle", True))


def test_the_same_share_and_order_has_the_same_number_which_tf_data_can_count_from():
    for shard in ((0, 1), (3, 4), (99_999, 100_000)):
        number = share_number(shard, ORDER, 8, None)
        check_saved(number, share_number(shard, ORDER, 8, None))
        assert 0 <= number < 2**62


@pytest.mark.parametrize(
    ("now", "words"),
    [
        (share_number((1, 2), ORDER, 8, None), "saved by rank 1 of 4, and this is rank 1 of 2"),
        (share_number((0, 4), ORDER, 8, None), "saved by rank 1 of 4, and this is rank 0 of 4"),
        (share_number((1, 4), ORDER, 9, None), "another batch size, seed or order"),
        (share_number((1, 4), (("seed", 1), ("shuffle", True)), 8, None), "another batch size, seed or order"),
    ],
    ids=["world", "rank", "batch size", "seed"],
)
def test_another_share_or_order_is_refused_with_what_differs(now, words):
    with pytest.raises(ConfigError, match=words):
        check_saved(share_number((1, 4), ORDER, 8, None), now)
