"""Requests and replies that are lost, doubled or reordered: they are asked for again, and nothing else happens."""

from __future__ import annotations

import pytest

import loader_client
from loader_client import Patience
from loader_service.sizes import counted
from tests.faults.lossy_wire import LossyWire
from tests.faults.training import Log, train_numpy
from tests.support.services import running_service

_PATIENCE = Patience(step_timeout_s=300, ask_again_s=0.2)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_messages_lost_doubled_and_swapped_are_asked_for_again_and_harmless(
    videos: str, undisturbed: Log, seed: int
) -> None:
    """With two slots: each one that is not given back would be half of them."""
    with running_service(videos, workers=2) as service, LossyWire(service.endpoint, seed) as wire:
        assert list(train_numpy(wire.endpoint, patience=_PATIENCE, prefetch=1)) == undisturbed
        assert min(wire.fates[each] for each in ("lost", "doubled", "swapped")) >= 3, wire.fates


def test_questions_lost_doubled_and_swapped_are_asked_again(videos: str) -> None:
    with (
        running_service(videos) as service,
        LossyWire(service.endpoint, 4) as wire,
        loader_client.connect(wire.endpoint, patience=_PATIENCE) as connection,
    ):
        for workers in (2, 1, 2):
            assert connection.scale(workers).endswith(f"→ {counted(workers, 'worker')}")
            assert connection.catalog.videos == 32
            assert connection.status().pid == service.pid
        assert connection._thread._session._requests.all() == []  # nothing is asked for any more
