"""The process that places remote workers: what is said when it ends, and when there is nothing to place them with."""

from __future__ import annotations

import importlib.util
import os
import select
import signal

import pytest

from loader_service.daemon.placement import Placement
from loader_service.errors import ConfigError
from tests.support import processes
from tests.support.waiting import eventually


@pytest.fixture
def begun():
    """A placement without a cluster, and the lines that it says."""
    said: list[str] = []
    with select.epoll() as watched, Placement("processes") as placement:
        placement.connect()
        placement.begin(None, watched, said.append)
        yield placement, said


def end(placement: Placement) -> None:
    """Kill the process, and have that noticed."""
    (pid,) = [
        each
        for each, words in processes.children(os.getpid()).items()
        if "loader_service.remote.process_placement" in words
    ]
    os.kill(pid, signal.SIGKILL)
    eventually(lambda: placement.listen() or not processes.is_alive(pid), "the process to end")
    eventually(lambda: placement.listen() or placement._child is None, "that it is noticed")


def test_its_end_is_said_once_and_it_is_tried_again(begun):
    placement, said = begun
    end(placement)
    assert len(said) == 1
    assert "workers of this host go on, and it is tried again" in said[0]
    assert placement.next_deadline() is not None


def test_its_end_while_the_service_ends_is_no_news_and_it_is_not_tried_again(begun):
    placement, said = begun
    placement.stopping()
    end(placement)
    assert said == []
    assert placement.next_deadline() is None


def test_without_ray_the_error_says_how_it_is_installed(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(ConfigError, match=r"needs Ray.*pip install 'loader-service\[ray\]'"):
        Placement("auto")
