"""How many steps are filled ahead, and what it takes."""

from __future__ import annotations

import pytest

from loader_service.daemon.openings import LEAST_PREFETCH, MOST_PREFETCH, PREFETCH_BYTES, choose_prefetch
from loader_service.errors import ConfigError

MIB = 2**20


@pytest.mark.parametrize(
    ("slot_bytes", "prefetch"),
    [(64, MOST_PREFETCH), (MIB, MOST_PREFETCH), (PREFETCH_BYTES // 8, 8), (PREFETCH_BYTES, LEAST_PREFETCH)],
)
def test_small_steps_are_filled_further_ahead(slot_bytes, prefetch):
    assert choose_prefetch(slot_bytes, 0, 2**40) == prefetch


def test_what_was_asked_for_is_given():
    assert choose_prefetch(MIB, 100, 2**40) == 100
    assert choose_prefetch(MIB, 3, 6 * MIB) == 3


@pytest.mark.parametrize(("available", "prefetch"), [(2 * MIB, 1), (5 * MIB, 2), (7 * MIB, 3)])
def test_little_memory_means_fewer_steps_ahead(available, prefetch):
    assert choose_prefetch(MIB, 0, available) == prefetch


@pytest.mark.parametrize(("wanted", "available", "need"), [(0, 2 * MIB - 1, 2), (3, 6 * MIB - 1, 6), (0, -5, 2)])
def test_too_little_memory_is_an_error_with_needed_and_free_bytes(wanted, available, need):
    with pytest.raises(ConfigError) as caught:
        choose_prefetch(MIB, wanted, available)
    assert f"need {need * MIB} bytes of shared memory, {max(0, available)} are left" in str(caught.value)
    assert "--memory" in str(caught.value)
