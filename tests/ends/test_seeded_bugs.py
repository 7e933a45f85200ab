"""The play of both ends can fail: each bug that is put into one of them is found, within so many events."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from loader_client.session.lease_book import LeaseBook
from loader_client.session.pending import Pending
from loader_client.session.stream_wants import StreamWants
from loader_service.core.effects import KillWorker
from loader_service.core.fillings import Fillings
from loader_service.core.openings import Openings
from loader_service.core.service import Service
from loader_service.core.streams import Streams
from tests.ends.lives import Tally, live

#: Each of them is found much sooner.
_MOST_EVENTS = 150_000

#: Lives for each bug. Some show in one life of ten only.
_LIVES = 1000

_Bug = Callable[[pytest.MonkeyPatch], None]


def _mute(patch: pytest.MonkeyPatch, name: str) -> None:
    """Have a method of the client do what it does, and say nothing of it."""
    method = getattr(StreamWants, name)

    def muted(self: StreamWants, *arguments: Any) -> list[Any]:
        method(self, *arguments)
        return []

    patch.setattr(StreamWants, name, muted)


def a_release_is_forgotten(patch: pytest.MonkeyPatch) -> None:
    _mute(patch, "end_lease")


def answers_of_an_earlier_service_are_kept(patch: pytest.MonkeyPatch) -> None:
    opened = StreamWants.opened

    def opened_with_answers_of_before(self: StreamWants, at: Any) -> Any:
        before = {want: (each.answer, each.is_mapped) for want, each in self._wants.items()}
        effects = opened(self, at)
        for want, each in self._wants.items():
            each.answer, each.is_mapped = before[want]
        return effects

    patch.setattr(StreamWants, "opened", opened_with_answers_of_before)


def what_a_killed_worker_was_at_is_done_again_in_its_slot_before_it_is_reaped(patch: pytest.MonkeyPatch) -> None:
    happened = Service.happened

    def happened_to_the_dead(self: Service, event: Any, now: float) -> Any:
        effects = happened(self, event, now)
        for each in [each for each in effects if isinstance(each, KillWorker)]:
            self.scheduler.worker_exited(each.worker, "is about to die", now)
            self.scheduler.settle(now)
            effects += self._ledger.take()
        return effects

    patch.setattr(Service, "happened", happened_to_the_dead)


def a_slot_is_free_while_a_worker_is_at_a_step_that_nobody_wants(patch: pytest.MonkeyPatch) -> None:
    abandon = Fillings.abandon

    def abandon_at_once(self: Fillings, stream: Any, filling: Any) -> None:
        abandon(self, stream, filling)
        if filling.open_tasks:
            filling.open_tasks.clear()
            self._free(stream, filling)
            for step in stream.steps.values():
                if filling in step.fillings:
                    step.fillings.remove(filling)

    patch.setattr(Fillings, "abandon", abandon_at_once)
    patch.setattr(Service, "validate", lambda _: None)  # which would see it before the play does


def a_repeated_request_opens_another_stream(patch: pytest.MonkeyPatch) -> None:
    ask = Openings.ask

    def ask_anew(self: Openings, client: Any, asked: Any, now: float) -> None:
        self._by_key.pop((client.address, asked.request), None)
        ask(self, client, asked, now)

    patch.setattr(Openings, "ask", ask_anew)


def the_service_keeps_forgotten_wants(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Streams, "forget", lambda *_: None)


def the_client_says_nothing_of_wants_that_it_forgets(patch: pytest.MonkeyPatch) -> None:
    _mute(patch, "forget")


def a_lost_message_is_not_said_again(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Pending, "ask_at", property(lambda _: float("inf"), lambda *_: None), raising=False)


def an_answer_that_comes_twice_is_given_back(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(LeaseBook, "knows", lambda *_: False)


@pytest.fixture(autouse=True)
def no_warnings() -> Iterator[None]:
    logging.disable(logging.WARNING)
    yield
    logging.disable(logging.NOTSET)


#: Each bug, and the seed of the first life: one in which it shows, as long as lives are what they are.
_BUGS: dict[_Bug, int] = {
    a_release_is_forgotten: 30,
    answers_of_an_earlier_service_are_kept: 30,
    what_a_killed_worker_was_at_is_done_again_in_its_slot_before_it_is_reaped: 43,
    a_slot_is_free_while_a_worker_is_at_a_step_that_nobody_wants: 30,
    a_repeated_request_opens_another_stream: 40,
    the_service_keeps_forgotten_wants: 35,
    the_client_says_nothing_of_wants_that_it_forgets: 35,
    a_lost_message_is_not_said_again: 46,
    an_answer_that_comes_twice_is_given_back: 34,
}


@pytest.mark.parametrize("bug", _BUGS, ids=lambda bug: bug.__name__)
def test_a_bug_is_found(bug: _Bug, monkeypatch: pytest.MonkeyPatch, record_property: Any) -> None:
    bug(monkeypatch)
    tally = Tally()
    for seed in range(_BUGS[bug], _BUGS[bug] + _LIVES):
        try:
            live(seed, tally)
        except (AssertionError, LookupError, RuntimeError) as error:
            record_property("events", tally.events)
            print(f"{bug.__name__}: {error!r:.200} after {tally}")
            return
        assert tally.events < _MOST_EVENTS, f"not found: {tally}"
