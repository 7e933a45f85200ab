"""A caller that waits for a step reads the socket itself, and the session's thread sleeps; nobody else notices."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from loader_client.socket_duty import SocketDuty
from loader_service.errors import ServiceUnavailable
from loader_service.protocol import messages as m
from tests.client.stream_scene import SOON_S, Scene, scene


def _elsewhere(duty: SocketDuty, now: float) -> bool:
    """Have another thread try to take the duty."""
    taken: list[bool] = []
    thread = threading.Thread(target=lambda: taken.append(duty.take(now)))
    thread.start()
    thread.join()
    return taken[0]


def test_one_at_a_time_has_the_duty():
    duty = SocketDuty()
    assert duty.take(10.0)
    assert not _elsewhere(duty, 10.0)
    assert duty.is_mine
    duty.leave()
    assert duty.is_free
    assert _elsewhere(duty, 10.0)
    assert not duty.is_mine


def test_the_thread_has_the_duty_from_a_quarter_of_a_second_after_callers_asked_last():
    duty = SocketDuty()
    assert duty.stand_by_s(9.0, 20.0, is_called=False) == 0.0
    assert not _elsewhere(duty, 10.0)  # it reads, and knows now that callers can
    assert duty.stand_by_s(10.0, 20.0, is_called=False) == pytest.approx(0.25)
    assert duty.is_free
    assert duty.stand_by_s(10.2, 20.0, is_called=False) == pytest.approx(0.05)
    assert duty.stand_by_s(10.25, 20.0, is_called=False) == 0.0
    assert duty.is_mine


def test_the_thread_has_it_at_once_when_it_is_called_or_somebody_cannot_read_or_the_session_is_due():
    duty = SocketDuty()
    duty.take(10.0)
    duty.leave()
    assert duty.stand_by_s(10.0, 20.0, is_called=True) == 0.0
    duty.cannot_read = 1
    assert duty.stand_by_s(10.0, 20.0, is_called=False) == 0.0
    duty.cannot_read = 0
    assert duty.stand_by_s(10.0, 9.9, is_called=False) == 0.0
    assert duty.stand_by_s(10.0, 10.1, is_called=False) == pytest.approx(0.1)


def test_the_thread_takes_it_from_nobody():
    duty = SocketDuty()
    assert _elsewhere(duty, 10.0)
    assert duty.stand_by_s(11.0, 9.0, is_called=True) > 0.0
    assert not duty.is_mine


def _wakes(play: Scene) -> int:
    """Return how often the session's thread has woken up."""
    status = Path(f"/proc/self/task/{play.connection._thread._thread.native_id}/status").read_text()
    return int(status.partition("\nvoluntary_ctxt_switches:")[2].split()[0])


def _with_a_reader(play: Scene) -> None:
    """Have a caller read the socket, which the second one to ask does."""
    for step in (0, 1):
        assert play.serve(step, lease=step + 1, place=step) == step


def test_the_sessions_thread_sleeps_while_callers_read():
    with scene(heartbeat_s=1.0) as play:
        _with_a_reader(play)
        before = _wakes(play)
        for step in range(2, 52):
            assert play.serve(step, lease=step + 1, place=step % 4) == step
        assert _wakes(play) - before < 40  # 50 and more if it read; some are due, on a busy machine more


def test_a_question_is_answered_while_a_caller_reads():
    with scene() as play:
        _with_a_reader(play)
        waiting = play.fetch(2)
        want = play.expect_want(2)
        scaling = play.threads.submit(play.connection.scale, 2)
        play.service.say(m.Done(play.service.expect(m.Scale).request, "2 workers"))
        assert scaling.result(SOON_S) == "2 workers"
        play.service.say(play.service.fill(want, lease=3))
        assert waiting.result(SOON_S) == 2


def test_of_two_that_wait_the_other_goes_on_reading():
    with scene() as play:
        _with_a_reader(play)
        first, second = play.fetch(2), play.fetch(3)
        wants = {step: play.expect_want(step) for step in (2, 3)}
        play.service.say(play.service.fill(wants[2], lease=3))
        assert first.result(SOON_S) == 2
        play.service.say(play.service.fill(wants[3], lease=4, place=1))
        assert second.result(SOON_S) == 3


def test_the_end_of_the_connection_ends_the_wait_of_who_reads():
    with scene() as play:
        _with_a_reader(play)
        waiting = play.fetch(2)
        play.expect_want(2)
        play.connection.close()
        with pytest.raises(ServiceUnavailable, match="closed"):
            waiting.result(SOON_S)


def test_a_stream_that_is_closed_ends_the_wait_of_who_reads():
    with scene() as play:
        _with_a_reader(play)
        waiting = play.fetch(2)
        play.expect_want(2)
        play.stream.close()
        with pytest.raises(ServiceUnavailable, match="closed"):
            waiting.result(SOON_S)
        assert play.service.expect(m.CloseStream).stream == 1
