"""What a child program is told on its command line, and what ties its life to its parent's, however that ends."""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
from dataclasses import asdict
from typing import Any, BinaryIO, TypeVar

from loader_service import boot

_Options = TypeVar("_Options")

_PR_SET_PDEATHSIG = 1


def arguments_for(options: Any) -> tuple[str, str]:
    """Return the arguments of a child program of this process, for `told` to read there.

    Parameters
    ----------
    options
        A dataclass of what JSON can say; a dataclass in it arrives as a mapping of its fields.
    """
    return str(os.getpid()), json.dumps(asdict(options))


def told(kind: type[_Options]) -> _Options:
    """Tie this process to the one that started it, and return what that told it: what a child program does first."""
    if len(sys.argv) != 3:
        sys.exit("this program is started by the service; it is not for people")
    die_with_parent(int(sys.argv[1]))
    return kind(**json.loads(sys.argv[2]))


def answers() -> BinaryIO:
    """Return the standard output, for answers alone: what libraries and users print goes to the standard error."""
    kept = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return kept


def die_with_parent(parent_pid: int) -> None:
    """Have the kernel kill this process when its parent's main thread ends: what a child program does first.

    Parameters
    ----------
    parent_pid
        Who started this process: when it has ended already, this process ends now.

    References
    ----------
    prctl(2), PR_SET_PDEATHSIG: the signal is sent when the *thread* that started this process ends, so the daemon
    starts workers from its main thread only.
    """
    boot.imported()
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG) failed")
    if os.getppid() != parent_pid:
        os._exit(0)
