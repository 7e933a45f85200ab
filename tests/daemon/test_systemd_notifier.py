"""Whoever is not systemd's own main process tells it nothing: not for a supervisor, and not for a trainer."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from loader_service.daemon.launcher import PrivateService
from loader_service.daemon.systemd_notifier import SystemdNotifier


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[socket.socket]:
    """The socket at which systemd would wait to be told."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(f"{tmp_path}/notify")
        manager.setblocking(False)
        yield manager


@pytest.mark.parametrize(
    ("pid", "beat_s"),
    [("", 1.0), (str(os.getpid()), 1.0), (str(os.getppid()), None)],
    ids=["anyone", "this", "another"],
)
def test_only_the_process_that_the_watchdog_is_meant_for_beats(manager, monkeypatch, pid, beat_s):
    monkeypatch.setenv("WATCHDOG_USEC", "3000000")
    monkeypatch.setenv("WATCHDOG_PID", pid)
    with SystemdNotifier(manager.getsockname()) as notifier:
        assert notifier.beat_s == beat_s


def test_who_has_no_address_says_nothing_and_beats_for_nobody(monkeypatch):
    monkeypatch.setenv("WATCHDOG_USEC", "3000000")
    with SystemdNotifier("") as notifier:
        assert notifier.beat_s is None
        notifier.ready("serving")


def test_a_private_service_does_not_speak_for_its_trainer(manager, monkeypatch, small_videos):
    monkeypatch.setenv("NOTIFY_SOCKET", manager.getsockname())
    service = PrivateService([f"{small_videos}/*.h5"], {"workers": "1"}, 60)
    service.stop()
    with pytest.raises(BlockingIOError):
        manager.recv(4096)
