"""A transform is tried by one worker, by another when that ends, and never for longer than a stream's client waits."""

from __future__ import annotations

from typing import Any

import pytest

from loader_service.core.ledger import Ledger
from loader_service.core.probes import Answer, Probes
from loader_service.errors import ConfigError, SourceError, WorkerDied
from loader_service.protocol.fields import Field
from loader_service.protocol.messages import OpenStream, Probed, ProbeStream
from loader_service.protocol.spec import Frame, Spec

SPEC = Spec(4, Frame())
INPUTS = (Field("x", "float32", (3,)),)
TRAINER = b"trainer"
OUTPUTS = (Field("y", "uint8", (2, 2)),)


class Desk:
    """Probes and what they have sent."""

    def __init__(self) -> None:
        self.ledger = Ledger()
        self.probes = Probes(self.ledger, timeout_s=25.0)

    @property
    def sent(self) -> list[Any]:
        """What workers were told, each message with its worker."""
        return self.ledger.effects

    def begin(self, client: bytes = TRAINER, request: int = 1, now: float = 100.0) -> OpenStream:
        asked = OpenStream(request, SPEC)
        self.probes.begin(client, asked, INPUTS, now)
        return asked


@pytest.fixture
def desk() -> Desk:
    return Desk()


def test_a_probe_goes_to_one_worker_once(desk: Desk) -> None:
    desk.begin()
    desk.probes.dispatch({5, 3}, 100.0)
    desk.probes.dispatch({5, 3, 2}, 100.0)
    assert desk.sent == [(3, ProbeStream(1, SPEC, INPUTS))]


def test_a_probe_waits_while_there_is_no_worker(desk: Desk) -> None:
    desk.begin()
    desk.probes.dispatch(set(), 100.0)
    assert desk.sent == []
    desk.probes.dispatch({7}, 100.0)
    assert [worker for worker, _ in desk.sent] == [7]


def test_its_answer_goes_to_who_asked_and_comes_once(desk: Desk) -> None:
    asked = desk.begin()
    desk.probes.dispatch({1}, 100.0)
    assert desk.probes.answered(Probed(1, 1, OUTPUTS, "", "")) == Answer(TRAINER, asked, OUTPUTS, None)
    assert desk.probes.answered(Probed(1, 1, OUTPUTS, "", "")) is None
    assert desk.probes.next_deadline() is None


def test_an_error_arrives_under_its_class(desk: Desk) -> None:
    desk.begin()
    desk.probes.dispatch({1}, 100.0)
    answer = desk.probes.answered(Probed(1, 1, (), "SourceError", "a.h5: it raised"))
    assert answer.fields == ()
    assert isinstance(answer.error, SourceError)
    assert str(answer.error) == "a.h5: it raised"


def test_an_answer_of_a_worker_that_was_not_asked_is_no_answer(desk: Desk) -> None:
    desk.begin()
    assert desk.probes.answered(Probed(1, 1, OUTPUTS, "", "")) is None
    desk.probes.dispatch({1}, 100.0)
    assert desk.probes.answered(Probed(2, 1, OUTPUTS, "", "")) is None
    assert desk.probes.answered(Probed(1, 9, OUTPUTS, "", "")) is None
    assert desk.probes.answered(Probed(1, 1, OUTPUTS, "", "")) is not None


def test_a_request_that_is_said_again_is_tried_once(desk: Desk) -> None:
    for _ in range(3):
        desk.begin(request=4)
    desk.begin(request=4, client=b"other")
    desk.begin(request=5)
    desk.probes.dispatch({1}, 100.0)
    assert [message.probe for _, message in desk.sent] == [1, 2, 3]


def test_a_client_may_have_64_on_the_way_and_no_more(desk: Desk) -> None:
    for request in range(64):
        desk.begin(request=request)
    with pytest.raises(ConfigError, match="64 streams of this client are being opened; wait for them first"):
        desk.begin(request=64)
    desk.begin(request=63)
    desk.begin(client=b"other")


def test_a_worker_that_ends_gives_its_probes_to_another(desk: Desk) -> None:
    asked = desk.begin()
    desk.begin(client=b"other")
    desk.probes.dispatch({1}, 100.0)
    assert list(desk.probes.lost(1, "was killed by SIGKILL")) == []
    desk.probes.dispatch({2}, 100.0)
    assert [worker for worker, _ in desk.sent] == [1, 1, 2, 2]
    assert desk.probes.answered(Probed(1, 1, OUTPUTS, "", "")) is None
    assert desk.probes.answered(Probed(2, 1, OUTPUTS, "", "")) == Answer(TRAINER, asked, OUTPUTS, None)


def test_a_worker_that_had_none_takes_none_along(desk: Desk) -> None:
    desk.begin()
    desk.probes.dispatch({1}, 100.0)
    for worker in range(2, 10):
        assert list(desk.probes.lost(worker, "ended")) == []
    assert desk.probes.answered(Probed(1, 1, OUTPUTS, "", "")) is not None


def test_a_transform_that_ends_three_workers_is_refused_with_the_last_cause(desk: Desk) -> None:
    asked = desk.begin()
    for worker in (1, 2):
        desk.probes.dispatch({worker}, 100.0)
        assert list(desk.probes.lost(worker, "was killed by SIGSEGV")) == []
    desk.probes.dispatch({3}, 100.0)
    (answer,) = desk.probes.lost(3, "was killed by SIGBUS")
    assert (answer.client, answer.asked) == (TRAINER, asked)
    assert isinstance(answer.error, WorkerDied)
    assert str(answer.error) == "3 workers died while they tried the transform; the last one was killed by SIGBUS"
    assert desk.probes.next_deadline() is None


def test_one_that_takes_too_long_is_refused_and_its_worker_named(desk: Desk) -> None:
    desk.begin(now=100.0)
    desk.begin(client=b"other", now=110.0)
    desk.probes.dispatch({4}, 100.0)
    assert desk.probes.next_deadline() == 125.0
    assert list(desk.probes.late(124.9)) == []
    ((worker, answer),) = desk.probes.late(125.0)
    assert worker == 4
    assert answer.client == TRAINER
    assert isinstance(answer.error, ConfigError)
    assert str(answer.error) == "the transform did not return within 25 s when it was tried; make it faster"
    assert desk.probes.next_deadline() == 135.0


def test_one_that_no_worker_was_there_for_ends_as_well(desk: Desk) -> None:
    desk.begin(now=0.0)
    ((worker, answer),) = desk.probes.late(25.0)
    assert worker is None
    assert answer.error is not None


def test_a_client_that_is_gone_gets_no_answer(desk: Desk) -> None:
    desk.begin()
    desk.begin(client=b"other")
    desk.probes.dispatch({1}, 100.0)
    desk.probes.forget(TRAINER)
    assert desk.probes.answered(Probed(1, 1, OUTPUTS, "", "")) is None
    assert desk.probes.answered(Probed(1, 2, OUTPUTS, "", "")) is not None
