"""What every test of `pack` gets: processes that pack, which have their imports already."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def forked_packing(warm_children: None) -> None:
    """Have the processes that pack forked from one that has imported what they need."""
