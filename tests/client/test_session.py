"""A session says what is to be said, once and again, to whatever service answers; time is a number here."""

from __future__ import annotations

from typing import Any

import pytest

from loader_client.patience import Patience, PrivateProcess
from loader_client.request import Request
from loader_client.session import session_effects as f
from loader_client.session.pending import Pending
from loader_client.session.session import Session
from loader_client.session.session_effects import Effect
from loader_service.errors import CatalogChanged, ServiceUnavailable
from loader_service.protocol import messages as m
from loader_service.protocol.fields import Field
from loader_service.protocol.spec import Frame, Spec

_HELLO = m.Hello("trainer", 7)
_SPEC = Spec(2, Frame())
_FIELDS = (Field("frames", "uint8", (20_000,)), Field("index", "int64", ()))
_PATIENCE = Patience(reconnect_timeout_s=60.0, step_timeout_s=600.0, ask_again_s=10.0)


class Talk:
    """A session, and what it said: messages that were sent, and other effects, as they came."""

    def __init__(self, *, is_private: bool = False) -> None:
        self.session = Session("ipc:///here", _HELLO, _PATIENCE, 0.0, is_private=is_private)
        self.sent: list[Any] = []
        self.effects: list[Effect] = []

    def do(self, effects: list[Effect]) -> None:
        """Carry effects out; each slot can be mapped."""
        for effect in effects:
            self.effects.append(effect)
            match effect:
                case f.Enqueue(message) | f.SendNow(message):
                    self.sent.append(message)
                case f.MapSlot(at, _, want):
                    self.do(self.session.happened(f.SlotMapped(at, want), 0.0))

    def hear(self, message: m.ToClient, now: float = 0.0) -> None:
        self.do(self.session.heard(message, now))

    def tick(self, now: float, process: PrivateProcess | None = None) -> None:
        self.do(self.session.happened(f.Ticked(process), now))

    def take_sent(self, kind: type[Any] | tuple[type[Any], ...] = object) -> list[Any]:
        """Return what was sent since, of a kind."""
        sent, self.sent = self.sent, []
        return [each for each in sent if isinstance(each, kind) and not isinstance(each, (m.Hello, m.Heartbeat))]

    def welcome(self, instance: int = 1, fingerprint: str = "f" * 16, now: float = 0.0) -> None:
        """Be welcomed, by this run of the service."""
        if self.session.welcome is not None:
            self.hear(m.Stranger(), now)
        self.hear(m.Welcome(f"{instance:016x}", 1, fingerprint, 3, 12, 146, 1.0), now)

    def open(self, stream: int = 1, slots: int = 4, now: float = 0.0) -> Pending:
        """Open a stream; return what its caller gets."""
        pending = Pending()
        self.do(self.session.open(pending, Request(_SPEC), now))
        self.answer_opening(stream, slots)
        self.take_sent()
        return pending

    def answer_opening(self, stream: int, slots: int = 4) -> None:
        """Open the stream that was asked for last."""
        (asked,) = self.take_sent(m.OpenStream)
        self.hear(m.Opened(asked.request, stream, _FIELDS, 100, slots, slots // 2, 200))

    def ask(self, step: int, now: float = 0.0) -> Pending:
        """Ask for a step of the first stream."""
        pending = Pending()
        self.do(self.session.ask(pending, 1, (0, step), now))
        return pending


@pytest.fixture
def talk() -> Talk:
    talk = Talk()
    talk.tick(0.0)
    assert talk.sent == [_HELLO]
    talk.welcome()
    return talk


def test_a_service_is_greeted_until_it_answers_and_then_told_that_we_live():
    talk = Talk()
    times = []
    while len(times) < 4:
        times.append(talk.session.next_deadline())
        talk.tick(times[-1])
    assert times == [0.0, 0.5, 1.0, 1.5]
    talk.hear(m.Welcome("1" * 16, 1, "f" * 16, 3, 12, 146, 1.0), 1.7)
    talk.sent.clear()
    talk.tick(talk.session.next_deadline())
    assert talk.sent == [m.Heartbeat()]


def test_a_step_that_came_ahead_is_delivered_at_once(talk):
    talk.open()
    first = talk.ask(0)
    wants = talk.take_sent(m.Want)
    assert [want.step for want in wants] == [0, 1, 2]
    for place, want in enumerate(wants):
        talk.hear(m.Ready(1, want.want, 10 + place, 1 + place, 2))
    assert first.answer.ready.slot == 10
    assert talk.ask(1).answer.ready.slot == 11
    assert [want.step for want in talk.take_sent(m.Want)] == [3]


def test_a_want_without_an_answer_is_said_again_with_what_may_hold_its_slot(talk):
    talk.open()
    first = talk.ask(0)
    (want, *_) = talk.take_sent(m.Want)
    talk.hear(m.Ready(1, want.want, 10, 1, 2))
    talk.do(talk.session.end_lease(first.answer.at, 1))
    talk.ask(1)
    talk.take_sent()
    talk.tick(10.0)
    assert talk.take_sent() == [m.Forget(1, want.want), m.Want(1, 2, 0, 1)]


def test_a_step_whose_want_was_lost_gets_the_slot_of_one_that_came_ahead_of_it(talk):
    talk.open(slots=2)
    talk.ask(0)
    lost, ahead = talk.take_sent(m.Want)
    talk.hear(m.Ready(1, ahead.want, 10, 1, 2))
    held = talk.ask(1)  # by another iterator, whose batch stays
    (further,) = talk.take_sent(m.Want)
    assert held.answer.lent
    talk.hear(m.Ready(1, further.want, 11, 2, 2))  # both slots are ours now
    talk.tick(10.0)
    assert talk.take_sent() == [m.Forget(1, further.want), lost]
    talk.ask(2)
    assert talk.take_sent(m.Want)[0].step == 2  # it is wanted anew when it is its turn


def test_the_same_run_of_a_service_goes_on_with_a_stream_that_it_did_not_lose(talk):
    talk.open()
    first = talk.ask(0)
    wants = talk.take_sent(m.Want)
    talk.hear(m.Ready(1, wants[0].want, 10, 1, 2))
    talk.welcome()
    talk.answer_opening(1)
    assert talk.take_sent() == wants[1:]
    talk.do(talk.session.end_lease(first.answer.at, 1))
    assert talk.take_sent() == [m.Release(1, 1)]


def test_another_run_of_a_service_is_told_all_wants_and_no_lease_of_the_one_before(talk):
    talk.open()
    first = talk.ask(0)
    wants = talk.take_sent(m.Want)
    talk.hear(m.Ready(1, wants[0].want, 10, 1, 2))
    talk.welcome(instance=2)
    talk.answer_opening(7)
    assert [(want.stream, want.want, want.step) for want in talk.take_sent()] == [(7, 2, 1), (7, 3, 2)]
    talk.do(talk.session.end_lease(first.answer.at, 1))
    assert not talk.take_sent()


def test_a_stream_that_was_closed_is_closed_again_when_the_same_run_welcomes_us_again(talk):
    pending = talk.open()
    talk.do(talk.session.close(pending.stream))
    assert talk.take_sent() == [m.CloseStream(1)]
    talk.welcome()
    assert talk.take_sent() == [m.CloseStream(1)]
    talk.welcome(instance=2)
    assert not talk.take_sent()


def test_an_answer_between_stranger_and_welcome_changes_nothing(talk):
    pending = Pending()
    talk.do(talk.session.open(pending, Request(_SPEC), 0.0))
    (asked,) = talk.take_sent(m.OpenStream)
    talk.hear(m.Stranger())
    talk.hear(m.Opened(asked.request, 1, _FIELDS, 100, 4, 2, 200))
    assert not pending.is_settled
    talk.welcome()
    assert talk.take_sent(m.OpenStream) == [asked]


def test_a_stream_that_opens_when_nobody_wants_it_any_more_is_closed(talk):
    pending = Pending()
    talk.do(talk.session.open(pending, Request(_SPEC), 0.0))
    talk.do(talk.session.close(pending.stream))
    (asked,) = talk.take_sent()
    talk.hear(m.Opened(asked.request, 1, _FIELDS, 100, 4, 2, 200))
    assert talk.take_sent() == [m.CloseStream(1)]


@pytest.mark.parametrize("is_wanted_until_it_opens", [False, True])
def test_a_stream_that_opens_while_we_are_strangers_and_is_given_up_is_closed_later(talk, is_wanted_until_it_opens):
    pending = Pending()
    talk.do(talk.session.open(pending, Request(_SPEC), 0.0))
    (asked,) = talk.take_sent()
    talk.hear(m.Stranger())
    steps = [
        lambda: talk.do(talk.session.close(pending.stream)),
        lambda: talk.hear(m.Opened(asked.request, 1, _FIELDS, 100, 4, 2, 200)),
    ]
    for step in reversed(steps) if is_wanted_until_it_opens else steps:
        step()
    assert not talk.take_sent()
    talk.welcome()
    assert talk.take_sent() == [m.CloseStream(1)]


def test_a_run_of_the_service_is_never_asked_for_the_streams_of_another(talk):
    """Of a trainer that was halted, wakes up, and hears first what an earlier run said."""
    pending = talk.open()
    talk.hear(m.Stranger())
    talk.hear(m.Welcome(f"{1:016x}", 1, "f" * 16, 3, 12, 146, 1.0))
    (asked,) = talk.take_sent()
    assert asked == m.OpenStream(1, _SPEC, f"{1:016x}")
    talk.hear(m.Welcome(f"{2:016x}", 2, "f" * 16, 3, 12, 146, 1.0))
    assert talk.sent == [_HELLO], "it has taken us in unheard, so it is greeted anew"
    talk.welcome(instance=2)
    talk.hear(m.Opened(1, 1, _FIELDS, 100, 4, 2, 200))
    assert talk.take_sent() == [m.OpenStream(2, _SPEC, f"{2:016x}")]
    talk.hear(m.Opened(2, 7, _FIELDS, 100, 4, 2, 200))
    assert pending.result().at.opened.stream == 7


def test_a_size_counts_once_and_not_after_a_later_one(talk):
    talk.open(slots=8)
    talk.ask(0)
    wants = [each.want for each in talk.take_sent(m.Want)]
    assert wants == [1, 2, 3, 4, 5]
    for _ in range(2):
        talk.hear(m.Resized(1, 4, 2, 2, (11, 12, 13, 14)))
    assert talk.take_sent() == [m.Forget(1, 4), m.Forget(1, 5)]
    talk.hear(m.Resized(1, 6, 3, 1, (11, 12)))
    assert [each.slots for each in talk.effects if isinstance(each, f.UnmapSlots)] == [(11, 12, 13, 14)]
    talk.ask(1)
    assert [each.step for each in talk.take_sent(m.Want)] == [3], "two ahead"


def test_a_size_that_came_before_its_stream_is_as_old_as_what_the_stream_opened_with(talk):
    pending = Pending()
    talk.do(talk.session.open(pending, Request(_SPEC), 0.0))
    (asked,) = talk.take_sent()
    talk.hear(m.Resized(1, 6, 3, 1))
    talk.hear(m.Opened(asked.request, 1, _FIELDS, 100, 4, 2, 200, resizes=2))
    talk.hear(m.Resized(1, 6, 3, 1))
    talk.ask(0)
    assert len(talk.take_sent(m.Want)) == 3


@pytest.mark.parametrize("instance", [1, 2], ids=["the same run", "another run"])
def test_who_welcomes_us_again_is_asked_at_once_what_was_asked_before(talk, instance):
    lost, unsaid = Pending(), Pending()
    talk.do(talk.session.request(lost, m.GetStatus, 0.0))
    talk.hear(m.Stranger())
    talk.do(talk.session.request(unsaid, m.GetCatalog, 0.0))
    assert talk.take_sent() == [m.GetStatus(1)]
    talk.welcome(instance)
    assert talk.take_sent() == [m.GetStatus(1), m.GetCatalog(2)]


def test_a_request_is_said_again_until_it_is_answered_or_given_up(talk):
    answered, given_up = Pending(), Pending()
    for each in (answered, given_up):
        talk.do(talk.session.request(each, m.GetStatus, 0.0))
    assert [each.request for each in talk.take_sent()] == [1, 2]
    talk.tick(10.0)
    assert [each.request for each in talk.take_sent()] == [1, 2]
    talk.hear(m.Done(1, "fine"), 10.0)
    talk.tick(30.0)
    assert answered.result() == m.Done(1, "fine")
    with pytest.raises(ServiceUnavailable, match="not answer within 30 s: it is busy, halted or lost; see `loader"):
        given_up.result()


def test_a_silent_service_is_given_up_and_one_that_is_started_again_is_not(talk):
    talk.open()
    pending = talk.ask(0)
    assert talk.session.next_deadline() <= 60.0
    talk.tick(59.9, PrivateProcess(5, 0.0))
    talk.tick(119.0, PrivateProcess(5, 59.1))
    assert pending.error is None
    talk.tick(119.9, PrivateProcess(5, 60.0))
    with pytest.raises(ServiceUnavailable, match=r"the private service \(pid 5\) lives, but has not answered for 60 s"):
        pending.result()


def test_a_service_with_another_catalog_ends_the_session(talk):
    talk.welcome(instance=2, fingerprint="e" * 16)
    assert isinstance(talk.effects[-1], f.EndSession)
    assert isinstance(talk.effects[-1].error, CatalogChanged)
