"""Ties this process's life to its parent's, by the kernel; works however the parent ends."""

from __future__ import annotations

import ctypes
import os
import signal

_PR_SET_PDEATHSIG = 1


def die_with_parent(parent_pid: int) -> None:
    """Have the kernel kill this process when its parent's main thread ends.

    Parameters
    ----------
    parent_pid
        Who started this process: when it has ended already, this process ends now.

    References
    ----------
    prctl(2), PR_SET_PDEATHSIG: the signal is sent when the *thread* that started this process ends, so the daemon
    starts workers from its main thread only.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG) failed")
    if os.getppid() != parent_pid:
        os._exit(0)
