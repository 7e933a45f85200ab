"""A stream goes on with a service that comes back, unless that is another one or stays away for too long."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from loader_client.patience import Patience
from loader_service.errors import CatalogChanged, LoaderError, ProtocolError, ServiceUnavailable
from loader_service.protocol import messages as m
from tests.client.scripted_service import ScriptedService
from tests.client.stream_scene import SOON_S, Scene, scene
from tests.support.waiting import eventually


def test_a_service_that_comes_back_is_asked_again_for_everything():
    with scene(prefetch=2) as play:
        fetching = play.fetch(0)
        before = {play.service.expect(m.Want) for _ in range(3)}
        play.service.forget_client()
        play.service.welcome()
        play.service.open_stream(stream=5)
        again = [play.service.expect(m.Want) for _ in range(3)]
        assert {(want.want, want.step) for want in again} == {(want.want, want.step) for want in before}
        assert {want.stream for want in again} == {5}
        play.service.say(play.service.fill(again[0], lease=1))
        assert fetching.result(SOON_S) == 0


def test_an_answered_step_is_delivered_though_its_service_ended_before_it_was_fetched():
    with ThreadPoolExecutor(4) as threads:
        with ScriptedService(prefetch=1) as service:
            play = Scene(service, threads, Patience())
            fetching = play.fetch(0)
            zero, one = play.expect_want(0), play.expect_want(1)
            service.say(service.fill(zero, lease=1), service.fill(one, lease=2, place=1))
            assert fetching.result(SOON_S) == 0
            service.expect(m.Release)
        with play.connection:
            assert play.fetch(1).result(SOON_S) == 1


def test_an_answer_that_came_too_late_to_map_its_slot_is_asked_for_again(caplog):
    with scene() as play:
        fetching = play.fetch(0)
        answer = play.service.fill(play.expect_want(0), lease=1)
        play.service.unlink_slots()  # as a service does that ends just after it has announced a step
        play.service.say(answer)
        eventually(lambda: "it will be asked for again" in caplog.text, "the answer is refused")
        play.service.forget_client()
        play.service.welcome()
        play.service.open_stream(stream=2)
        play.service.say(play.service.fill(play.expect_want(0), lease=1))
        assert fetching.result(SOON_S) == 0


def test_a_lease_of_the_service_before_is_not_released_to_the_one_after():
    with scene() as play:
        held: list[Any] = []
        fetching = play.threads.submit(lambda: held.append(play.stream.fetch(0, 0)))
        play.service.say(play.service.fill(play.expect_want(0), lease=1))
        fetching.result(SOON_S)
        play.service.restart()
        play.service.welcome()
        play.service.open_stream(stream=1)
        play.expect_want(1)
        held.clear()
        assert play.serve(1, lease=1) == 1
        assert play.service.expect(m.Release) == m.Release(1, 1)  # of step 1
        play.serve(2, lease=2)
        assert play.service.expect(m.Release) == m.Release(1, 2)


def test_a_service_that_comes_back_with_other_files_ends_the_stream():
    with scene() as play:
        fetching = play.fetch(0)
        play.expect_want(0)
        play.service.forget_client()
        play.service._fingerprint = "e" * 16
        play.service.welcome()
        with pytest.raises(CatalogChanged, match=r"came back with another catalog: same counts, "):
            fetching.result(SOON_S)
        with pytest.raises(CatalogChanged):
            play.stream.fetch(0, 1)
        play.stream.close()  # a stream that has failed can be closed


def test_a_service_that_comes_back_with_another_number_of_steps_ends_the_stream():
    with scene() as play:
        fetching = play.fetch(0)
        play.expect_want(0)
        play.service.restart()
        play.service.welcome()
        play.service.steps_per_epoch = 99
        play.service.open_stream()
        with pytest.raises(ProtocolError, match="another number of steps"):
            fetching.result(SOON_S)


def test_a_service_that_comes_back_and_refuses_the_stream_ends_it_with_its_words():
    with scene() as play:
        fetching = play.fetch(0)
        play.expect_want(0)
        play.service.forget_client()
        play.service.welcome()
        question = play.service.expect(m.OpenStream)
        play.service.say(m.Refused(question.request, "ConfigError", "the memory does not suffice"))
        with pytest.raises(LoaderError, match="the memory does not suffice"):
            fetching.result(SOON_S)


def test_a_service_that_stays_away_is_given_up_with_its_endpoint():
    with scene(Patience(reconnect_timeout_s=2.0)) as play:
        fetching = play.fetch(0)
        play.expect_want(0)
        play.service.heartbeats = False
        with pytest.raises(ServiceUnavailable, match=rf"epoch 0, step 0: no service .* at {play.service.endpoint} for"):
            fetching.result(SOON_S)
