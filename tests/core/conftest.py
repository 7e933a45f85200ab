"""What several tests of the scheduler start from."""

from __future__ import annotations

import pytest

from loader_service.core.effects import StartWorker
from tests.core.crew import Crew
from tests.core.desk import Desk


@pytest.fixture
def desk() -> Desk:
    """Two workers, one stream, one slot."""
    made = Desk(workers=2)
    made.open()
    return made


@pytest.fixture
def crew() -> Crew:
    return Crew()


@pytest.fixture
def pair() -> Crew:
    """Two workers that work."""
    made = Crew()
    assert made.scale(2, 0.0) == [StartWorker(1), StartWorker(2)]
    made.start(1)
    made.start(2)
    assert made.hire(1.0) == []
    return made


@pytest.fixture
def trying() -> Desk:
    """Two workers and a transform; one stream that is planned, with two slots."""
    made = Desk(workers=2, tries_transforms=True)
    made.plan(1, slots=2)
    return made
