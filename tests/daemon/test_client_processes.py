"""The processes of clients: whose end is noticed at once, and who cannot be watched."""

from __future__ import annotations

import os
import select
import subprocess

import pytest

from loader_service.daemon.client_processes import ClientProcesses


def test_a_client_whose_process_ends_is_told_of_at_once(
    watched: select.epoll, sleeper: subprocess.Popen[bytes]
) -> None:
    with ClientProcesses(watched) as clients:
        clients.watch(b"\x01", sleeper.pid)
        clients.watch(b"\x02", os.getpid())
        assert watched.poll(0) == []
        sleeper.kill()
        ended = {descriptor for descriptor, _ in watched.poll(60)}
        assert clients.ended(ended) == [b"\x01"]


def test_a_client_that_is_not_watched_any_more_is_not_told_of(
    watched: select.epoll, sleeper: subprocess.Popen[bytes]
) -> None:
    with ClientProcesses(watched) as clients:
        clients.watch(b"\x01", sleeper.pid)
        clients.unwatch(b"\x01")
        clients.unwatch(b"\x01")
        sleeper.kill()
        sleeper.wait(60)
        assert watched.poll(0) == []


@pytest.mark.parametrize("pid", [0, -1, 2**22 + 1, 2**31, 2**63 - 1, -(2**63)])
def test_a_pid_that_cannot_be_watched_leaves_only_silence_to_tell(watched: select.epoll, pid: int) -> None:
    before = set(os.listdir("/proc/self/fd"))
    with ClientProcesses(watched) as clients:
        clients.watch(b"\x01", pid)
        assert len(os.listdir("/proc/self/fd")) == len(before)


def test_the_process_of_another_user_is_not_watched(watched: select.epoll) -> None:
    if os.getuid() == 0:
        pytest.skip("root has processes of its own only to show")
    before = set(os.listdir("/proc/self/fd"))
    with ClientProcesses(watched) as clients:
        clients.watch(b"\x01", 1)
        assert len(os.listdir("/proc/self/fd")) == len(before)
