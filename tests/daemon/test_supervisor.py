"""The supervisor ends when it is told to, at whichever moment that is."""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

import pytest

from loader_service.daemon.supervisor import Supervisor
from tests.support.waiting import eventually


def supervise_and_be_told(at_line: int) -> int:
    """Supervise what dies at once; be told to end when so many lines of Python were run in the pause after that."""
    left = at_line

    def in_pause(_frame: Any, event: str, _argument: Any) -> Any:
        nonlocal left
        if event == "line":
            left -= 1
            if not left:
                os.kill(os.getpid(), signal.SIGTERM)
        return in_pause

    def in_warning(frame: Any, event: str, _argument: Any) -> Any:
        if event == "return":
            frame.f_back.f_trace = in_pause
            sys.settrace(in_pause)
        return in_warning

    def before(frame: Any, _event: str, _argument: Any) -> Any:
        return in_warning if frame.f_code.co_name == "warning" else None  # what it says before the pause

    sys.executable = "/bin/false"
    sys.settrace(before)
    return Supervisor([]).run()


@pytest.mark.parametrize("at_line", range(1, 31))
def test_a_signal_ends_it_at_any_moment_of_a_pause(at_line):
    child = os.fork()
    if not child:
        os._exit(supervise_and_be_told(at_line))
    try:
        eventually(lambda: os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT), "it ends")
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
