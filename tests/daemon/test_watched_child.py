"""A child process that the loop watches; the pool's tests have the rest."""

from __future__ import annotations

import os
import select
import sys

import pytest

from loader_service.daemon.watched_child import WatchedChild


def test_what_a_child_prints_and_the_end_of_its_pipes_wake_the_loop_once(
    watched: select.epoll, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    program = "import os; os.write(1, b'hello\\n'); os.close(1); os.close(2); input()"
    read, write = os.pipe()
    with WatchedChild([sys.executable, "-c", program], dict(os.environ), "a child", watched, stdin=read) as child:
        while child.outputs:
            assert watched.poll(20), "neither words nor an end"
            child.log_words()
        assert watched.poll(0) == [], "the loop would turn for ever"
        assert caplog.messages == ["a child says: hello"]
        os.close(write)
        assert child.wait(60)
        assert child.bury() == "exited with code 1: hello"
    os.close(read)
