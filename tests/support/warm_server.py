"""Imports TensorFlow and Keras once, then forks a process for each program that `warm_python` asks for.

TensorFlow has made no thread and no context when it forks. The process is then what ``python -c program`` is after the
imports; nothing of this project is loaded.
"""

from __future__ import annotations

import gc
import json
import os
import select
import socket
import sys
import types
from collections.abc import Callable
from typing import Any

import keras  # noqa: F401 - for the programs
import tensorflow  # noqa: F401, ICN001 - for the programs

_MOST_BYTES = 1_000_000


def _serve(address: str) -> Callable[[], None] | None:
    """Fork a child for each program until the tests are over; return what a child has to run."""
    gc.collect()
    gc.freeze()
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(f"{address}.new")
        listening.listen()
        os.rename(f"{address}.new", address)
        while True:
            ready, _, _ = select.select([sys.stdin, listening], [], [])
            if sys.stdin in ready:
                return None
            with listening.accept()[0] as asking:
                child = _child_for(asking)
            if child is not None:
                return child


def _child_for(asking: socket.socket) -> Callable[[], None] | None:
    """Fork twice, so that the tests' process inherits the grandchild; return what that one has to run."""
    text, given, _, _ = socket.recv_fds(asking, _MOST_BYTES, 3)
    while more := asking.recv(_MOST_BYTES):
        text += more
    reading, writing = os.pipe()
    between = os.fork()
    if between == 0:
        grandchild = os.fork()
        if grandchild == 0:
            os.close(reading)
            os.close(writing)
            return _program(json.loads(text), given)
        os.write(writing, str(grandchild).encode())
        os._exit(0)
    os.waitpid(between, 0)  # only now is the grandchild an orphan
    asking.sendall(os.read(reading, 100))
    for descriptor in (reading, writing, *given):
        os.close(descriptor)
    return None


def _program(request: dict[str, Any], given: list[int]) -> Callable[[], None]:
    """Become the process that was asked for; return what it runs when all that served is closed."""
    for place, descriptor in enumerate(given):
        os.dup2(descriptor, place)
    for descriptor in given:
        os.close(descriptor)
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["environment"])
    _, program, *arguments = request["argv"]
    sys.argv[:] = ["-c", *arguments]
    sys.path[0] = ""
    main = types.ModuleType("__main__")
    sys.modules["__main__"] = main
    return lambda: exec(compile(program, "<string>", "exec"), main.__dict__)


if __name__ == "__main__":
    run = _serve(sys.argv[1])
    if run is not None:
        run()
