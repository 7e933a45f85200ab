"""A probe that waits behind other work blames nobody for it; one that hangs is ended, whoever still waits for it."""

from __future__ import annotations

import pytest

from loader_service.core.effects import Send
from loader_service.core.ledger import Ledger
from loader_service.core.probes import Probes
from loader_service.protocol.fields import Field
from loader_service.protocol.messages import OpenStream, Probed
from loader_service.protocol.spec import Frame, Spec

INPUTS = (Field("x", "float32", (3,)),)


@pytest.fixture
def probes() -> Probes:
    """Probes of two streams of two clients, begun at 100 s, 25 s for each."""
    probes = Probes(Ledger(), timeout_s=25.0)
    probes.begin(b"one", OpenStream(1, Spec(4, Frame())), INPUTS, 100.0)
    probes.begin(b"two", OpenStream(1, Spec(8, Frame())), INPUTS, 100.0)
    return probes


def test_a_client_whose_probe_no_worker_came_to_is_told_so_and_no_worker_is_killed(probes: Probes) -> None:
    probes.dispatch({4}, 100.0)
    probes.heard(4, 120.0)
    answers = list(probes.late(125.0))
    assert [(worker, answer.client) for worker, answer in answers] == [(None, b"one"), (None, b"two")]
    assert all("no worker was free to try the transform within 25 s" in str(answer.error) for _, answer in answers)
    assert list(probes.late(144.9)) == []


def test_a_probe_that_hangs_ends_its_worker_though_its_client_waits_no_longer(probes: Probes) -> None:
    probes.dispatch({4}, 100.0)
    probes.heard(4, 120.0)
    list(probes.late(125.0))
    assert probes.next_deadline() == 145.0
    assert list(probes.late(145.0)) == [(4, None)]


def test_a_probe_of_a_client_that_is_gone_still_ends_its_worker_when_it_hangs(probes: Probes) -> None:
    probes.dispatch({4}, 100.0)
    probes.forget(b"one")
    ((worker, answer),) = list(probes.late(125.0))[:1]
    assert (worker, answer) == (4, None)


def test_only_the_probe_that_a_worker_was_at_is_blamed_and_the_one_behind_it_goes_to_another() -> None:
    ledger = Ledger()
    probes = Probes(ledger, timeout_s=25.0)
    probes.begin(b"one", OpenStream(1, Spec(4, Frame())), INPUTS, 100.0)
    probes.begin(b"two", OpenStream(1, Spec(8, Frame())), INPUTS, 110.0)
    probes.dispatch({4}, 100.0)
    ((worker, answer),) = probes.late(125.0)
    assert (worker, answer.client) == (4, b"one")
    assert list(probes.lost(4, "was killed by SIGKILL")) == []
    probes.dispatch({5}, 126.0)
    sent = [(each.peer, each.message.probe) for each in ledger.take() if isinstance(each, Send)]  # type: ignore[union-attr]
    assert sent == [(4, 1), (4, 2), (5, 2)]
    assert probes.answered(Probed(5, 2, (), "", "")).client == b"two"


def test_a_probe_that_nobody_waits_for_is_not_tried_again(probes: Probes) -> None:
    probes.dispatch({4}, 100.0)
    probes.forget(b"one")
    probes.forget(b"two")
    assert list(probes.lost(4, "was killed by SIGKILL")) == []
    assert probes.next_deadline() is None


def test_a_client_that_comes_back_with_its_request_waits_for_the_same_probe(probes: Probes) -> None:
    probes.dispatch({4}, 100.0)
    probes.forget(b"one")
    probes.begin(b"one", OpenStream(1, Spec(4, Frame())), INPUTS, 110.0)
    assert probes.answered(Probed(4, 1, (), "", "")).client == b"one"
