"""A transform is tried by one worker, by another when that ends, and never for longer than a stream's client waits."""

from __future__ import annotations

import pytest

from loader_service.core.effects import Send
from loader_service.core.probes import Answer
from loader_service.errors import ConfigError, SourceError, WorkerDied
from loader_service.protocol.messages import Probed, ProbeStream
from tests.core.desk import killed
from tests.core.probing import INPUTS, OUTPUTS, SPEC, TRAINER, Probing


@pytest.fixture
def desk() -> Probing:
    return Probing(workers=1)


def test_a_probe_goes_to_one_worker_once(desk: Probing) -> None:
    desk.begin()
    desk.probes.dispatch(100.0)
    assert desk.ledger.take() == [Send(1, ProbeStream(1, SPEC, INPUTS))]
    desk.scale(2)
    assert desk.dispatch() == []


def test_an_idle_worker_is_asked_first(desk: Probing) -> None:
    desk.scale(2)
    desk.work(1, 1, 100.0)
    desk.begin()
    assert desk.dispatch() == [(2, 1)]


def test_a_probe_waits_while_there_is_no_worker() -> None:
    desk = Probing(workers=0)
    desk.begin()
    assert desk.dispatch() == []
    desk.scale(1)
    assert desk.dispatch() == [(1, 1)]


def test_its_answer_goes_to_who_asked_and_comes_once(desk: Probing) -> None:
    asked = desk.begin()
    desk.dispatch()
    assert desk.answer(1, 1) == Answer(TRAINER, asked, OUTPUTS, None)
    assert desk.answer(1, 1) is None
    assert desk.probes.next_deadline() is None
    assert desk.staff.next_deadline() is None


def test_an_error_arrives_under_its_class(desk: Probing) -> None:
    desk.begin()
    desk.dispatch()
    _, answer = desk.probes.answered(Probed(1, 1, (), "SourceError", "a.h5: it raised"), 101.0)
    assert answer is not None
    assert answer.fields == ()
    assert isinstance(answer.error, SourceError)
    assert str(answer.error) == "a.h5: it raised"


def test_an_answer_of_a_worker_that_was_not_asked_is_no_answer(desk: Probing) -> None:
    desk.scale(2)
    desk.begin()
    assert desk.answer(1, 1) is None
    desk.dispatch()
    assert desk.answer(2, 1) is None
    assert desk.answer(1, 9) is None
    assert desk.answer(1, 1) is not None


def test_a_request_that_is_said_again_is_tried_once(desk: Probing) -> None:
    for _ in range(3):
        desk.begin(request=4)
    desk.begin(request=4, client=b"other")
    desk.begin(request=5)
    assert desk.dispatch() == [(1, 1), (1, 2), (1, 3)]


def test_a_client_may_have_64_on_the_way_and_no_more(desk: Probing) -> None:
    for request in range(64):
        desk.begin(request=request)
    with pytest.raises(ConfigError, match="64 streams of this client are being opened; wait for them first"):
        desk.begin(request=64)
    desk.begin(request=63)
    desk.begin(client=b"other")
    assert len(desk.dispatch()) == 65


def test_a_worker_that_ends_gives_its_probes_to_another(desk: Probing) -> None:
    asked = desk.begin()
    desk.begin(client=b"other")
    assert desk.dispatch() == [(1, 1), (1, 2)]
    desk.scale(2)
    assert desk.exit(1, "was killed by SIGKILL") == []
    assert desk.dispatch() == [(2, 1), (2, 2)]
    assert desk.answer(1, 1) is None
    assert desk.answer(2, 1) == Answer(TRAINER, asked, OUTPUTS, None)


def test_a_worker_that_had_none_takes_none_along(desk: Probing) -> None:
    desk.begin()
    desk.dispatch()
    desk.scale(10)
    for worker in range(2, 11):
        assert desk.exit(worker, "ended") == []
    assert desk.answer(1, 1) is not None


def test_a_transform_that_ends_three_workers_is_refused_with_the_last_cause(desk: Probing) -> None:
    asked = desk.begin()
    for worker, cause in ((1, "was killed by SIGSEGV"), (2, "was killed by SIGSEGV")):
        assert desk.dispatch() == [(worker, 1)]
        desk.scale(worker + 1)
        assert desk.exit(worker, cause) == []
    desk.dispatch()
    (answer,) = desk.exit(3, "was killed by SIGBUS")
    assert (answer.client, answer.asked) == (TRAINER, asked)
    assert isinstance(answer.error, WorkerDied)
    assert str(answer.error) == "3 workers died while they tried the transform; the last one was killed by SIGBUS"
    assert desk.probes.next_deadline() is None


def test_one_that_takes_too_long_is_refused_and_ends_its_worker(desk: Probing) -> None:
    desk.begin(now=100.0)
    desk.begin(client=b"other", now=110.0)
    desk.dispatch()
    assert desk.probes.next_deadline() == 125.0
    assert desk.tick(124.9) == ([], [])
    done, (answer,) = desk.tick(125.0)
    assert done == killed(1, "took too long to try the transform")
    assert answer.client == TRAINER
    assert isinstance(answer.error, ConfigError)
    assert str(answer.error) == "the transform did not return within 25 s when it was tried; make it faster"
    assert desk.probes.next_deadline() == 135.0


def test_one_that_no_worker_was_there_for_ends_as_well() -> None:
    desk = Probing(workers=0)
    desk.begin(now=0.0)
    (answer,) = desk.probes.late(25.0)
    assert "no worker was free" in str(answer.error)
    assert desk.probes.next_deadline() is None


def test_a_client_that_is_gone_gets_no_answer(desk: Probing) -> None:
    desk.begin()
    desk.begin(client=b"other")
    desk.dispatch()
    desk.probes.forget(TRAINER)
    assert desk.answer(1, 1) is None
    assert desk.answer(1, 2) is not None
