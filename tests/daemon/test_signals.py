"""Signals, and the end of the process that is served, as reasons to stop."""

from __future__ import annotations

import os
import signal

import pytest

from loader_service.daemon.signals import StopSignals
from loader_service.errors import ConfigError


def ready(watched):
    return {descriptor for descriptor, _ in watched.poll(60)}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT])
def test_the_first_signal_is_left_to_the_loop_and_the_second_to_the_system(watched, number):
    with StopSignals(watched, 0) as signals:
        assert signals.take(set()) == ""
        os.kill(os.getpid(), number)
        assert signals.take(ready(watched)) == number.name
        assert signal.getsignal(signal.SIGTERM) is signal.getsignal(signal.SIGINT) is signal.SIG_DFL
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN, "a closed terminal may send it twice"


def test_a_hangup_that_is_ignored_stays_so(watched):
    old = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as after nohup
    try:
        with StopSignals(watched, 0):
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, old)


def test_other_signals_are_no_reason_to_stop(watched):
    old = signal.signal(signal.SIGUSR1, lambda *_: None)
    try:
        with StopSignals(watched, 0) as signals:
            os.kill(os.getpid(), signal.SIGUSR1)
            assert signals.take(ready(watched)) == ""
    finally:
        signal.signal(signal.SIGUSR1, old)


def test_old_handlers_come_back(watched):
    all_four = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)
    before = [signal.getsignal(number) for number in all_four]
    old_wakeup = signal.set_wakeup_fd(-1)  # a client of this process may have set one
    signal.set_wakeup_fd(old_wakeup)
    with StopSignals(watched, 0):
        assert [signal.getsignal(number) for number in all_four] != before
    assert [signal.getsignal(number) for number in all_four] == before
    wakeup = signal.set_wakeup_fd(-1)
    signal.set_wakeup_fd(wakeup)
    assert wakeup == old_wakeup


def test_the_end_of_the_process_that_is_served_is_a_reason_to_stop(watched, sleeper):
    with StopSignals(watched, sleeper.pid) as signals:
        assert watched.poll(0) == []
        sleeper.kill()
        assert signals.take(ready(watched)) == f"process {sleeper.pid}, which it served, has ended"


@pytest.mark.parametrize("pid", [2**22 + 1, 2**31, 2**70, -4])
def test_a_process_that_is_not_there_cannot_be_served(watched, pid):
    with pytest.raises(ConfigError, match=f"cannot watch process {pid}"):
        StopSignals(watched, pid)
