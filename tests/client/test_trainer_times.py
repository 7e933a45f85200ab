"""A session tells with its heartbeats how long the trainer waited for steps; time is a number here."""

from __future__ import annotations

import pytest

from loader_client.session import session_effects as f
from loader_service.protocol import messages as m
from loader_service.protocol.totals import TrainerTimes
from tests.client.test_session import Talk


class TimedTalk(Talk):
    """The same, with slots that are mapped when they are heard of."""

    now = 0.0

    def do(self, effects: list[f.Effect]) -> None:
        for effect in effects:
            match effect:
                case f.Enqueue(message) | f.SendNow(message):
                    self.sent.append(message)
                case f.MapSlot(at, _, want):
                    self.do(self.session.happened(f.SlotMapped(at, want), self.now))

    def hear(self, message: m.ToClient, now: float = 0.0) -> None:
        self.now = now
        super().hear(message, now)


@pytest.fixture
def talk() -> Talk:
    """Return a session whose stream opened at the time 0."""
    talk = TimedTalk()
    talk.tick(0.0)
    talk.welcome()
    talk.open()
    return talk


def told(talk: Talk, now: float) -> tuple[TrainerTimes, ...]:
    """Return what the next heartbeat says, sent then."""
    talk.sent.clear()
    talk.tick(now)
    (beat,) = (each for each in talk.sent if isinstance(each, m.Heartbeat))
    return beat.streams


def test_waiting_counts_from_the_question_to_the_batch(talk: Talk) -> None:
    talk.ask(0, now=2.0)
    assert told(talk, 3.0) == (TrainerTimes(1, 1.0, 3.0),), "as long as it is, while it waits"
    talk.hear(m.Ready(1, 1, 10, 1, 2), now=5.0)
    assert told(talk, 9.0) == (TrainerTimes(1, 3.0, 9.0),)


def test_a_step_that_came_ahead_is_not_waited_for(talk: Talk) -> None:
    talk.ask(0, now=1.0)
    for want in (1, 2):
        talk.hear(m.Ready(1, want, 9 + want, want, 2), now=2.0)
    assert talk.ask(1, now=6.0).answer is not None
    assert told(talk, 8.0) == (TrainerTimes(1, 1.0, 8.0),)


def test_several_threads_that_wait_at_a_time_count_once(talk: Talk) -> None:
    talk.ask(0, now=1.0)
    talk.ask(1, now=2.0)
    talk.hear(m.Ready(1, 1, 10, 1, 2), now=3.0)
    talk.hear(m.Ready(1, 2, 11, 2, 2), now=4.0)
    assert told(talk, 10.0) == (TrainerTimes(1, 3.0, 10.0),)


def test_another_run_of_the_service_is_told_of_its_own_time_only(talk: Talk) -> None:
    talk.ask(0, now=1.0)
    talk.welcome(2, now=5.0)
    (asked,) = talk.take_sent(m.OpenStream)
    talk.hear(m.Opened(asked.request, 7, *OPENED), now=6.0)
    assert told(talk, 8.0) == (TrainerTimes(7, 2.0, 2.0),), "the wait goes on, for a stream that opened just now"


OPENED = ((m.Field("frames", "uint8", (20_000,)), m.Field("index", "int64", ())), 100, 4, 2, 200)


def test_a_stream_that_was_closed_is_not_told_of(talk: Talk) -> None:
    talk.do(talk.session.close(1))
    assert told(talk, 2.0) == ()


def test_a_wait_that_was_given_up_ends_with_the_next_beat(talk: Talk) -> None:
    pending = talk.ask(0, now=1.0)
    talk.do(talk.session.abandon(pending))
    first = told(talk, 2.0)[0].waiting_s
    assert first <= 1.0
    assert told(talk, 30.0)[0].waiting_s == first, "the heartbeat had noticed"
