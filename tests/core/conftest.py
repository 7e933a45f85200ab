"""What several tests of the scheduler start from."""

from __future__ import annotations

import pytest

from tests.core.desk import Desk


@pytest.fixture
def desk() -> Desk:
    """Two workers, one stream, one slot."""
    made = Desk(workers=2)
    made.open()
    return made
