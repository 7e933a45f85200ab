"""Starts Python programs in processes that have TensorFlow and Keras, without 4 s of CPU for each to import them.

The process that imports them is `warm_server`, a child of this one. It forks each program's process, which becomes a
child of this one too, since the tests adopt all orphans.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.support import processes
from tests.support.waiting import eventually

#: Its name in a command line tells the process that lasts as long as the tests.
SERVER = Path(__file__).with_name("warm_server.py")

#: How long both may take to be imported, in seconds, on a busy machine.
_IMPORTS_S = 200.0

#: How long a program may take, in seconds, on a busy machine.
_PATIENCE_S = 300.0

_started: dict[Path, subprocess.Popen[bytes]] = {}


class WarmPython(subprocess.Popen[str]):
    """A program that runs in a child of the process with the imports; otherwise as any `subprocess.Popen`.

    Parameters
    ----------
    program
        What ``python -c`` takes.
    *arguments
        Its arguments.
    **options
        Of `subprocess.Popen`: the three pipes, ``cwd`` and ``env``. Others have no effect.
    """

    def __init__(self, program: str, *arguments: object, **options: Any) -> None:
        super().__init__(["-c", program, *map(str, arguments)], text=True, **options)

    def _execute_child(self, args: list[str], *rest: Any) -> None:
        cwd, environment = rest[4], rest[5]
        child_in, _, _, child_out, _, child_err = rest[9:15]
        given = [0 if child_in == -1 else child_in, *(2 if end == -1 else end for end in (child_out, child_err))]
        request = {"argv": args, "cwd": str(cwd or os.getcwd()), "environment": dict(environment or os.environ)}
        with socket.socket(socket.AF_UNIX) as asking:
            asking.connect(str(_address()))
            socket.send_fds(asking, [json.dumps(request).encode()], given)
            asking.shutdown(socket.SHUT_WR)
            self.pid = int(asking.recv(100))
        self._child_created = True
        for end in {child_in, child_out, child_err} - {-1}:
            os.close(end)
        assert processes.parent(self.pid) == os.getpid(), "the orphan is this process's child, to be waited for"


def run(program: str, *arguments: object, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a program to its end, which must come in time; return what it wrote and its exit code.

    Options are those of `WarmPython`, but the pipes.
    """
    process = WarmPython(program, *arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)
    with process:
        try:
            said, errors = process.communicate(timeout=_PATIENCE_S)
        finally:
            process.kill()
    return subprocess.CompletedProcess([program], process.returncode, said, errors)


def _address() -> Path:
    """Return where the process with the imports listens; start it when there is none."""
    address = Path(os.environ["XDG_RUNTIME_DIR"]).parent / "warm.sock"
    if address not in _started:
        _started[address] = subprocess.Popen(
            [sys.executable, str(SERVER), str(address)],
            stdin=subprocess.PIPE,  # ends it with this process
            env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
            start_new_session=True,
        )
        eventually(address.exists, "TensorFlow is imported", within_s=_IMPORTS_S)
    return address
