"""Imports some modules once, then forks a process for each program that `warm_python` asks for.

None of the modules has made a thread when it forks. The process is then what the program's own is after the imports,
command line included; nothing but those modules is loaded.
"""

from __future__ import annotations

import ctypes
import faulthandler
import gc
import importlib
import json
import os
import select
import socket
import sys
import types
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

_MOST_BYTES = 1_000_000


def _serve(address: str) -> Callable[[], None] | None:
    """Fork a child for each program until the tests are over; return what a child has to run."""
    gc.collect()
    gc.freeze()
    gc.enable()
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
    waiting, going = os.pipe()
    between = os.fork()
    if between == 0:
        grandchild = os.fork()
        if grandchild == 0:
            os.read(waiting, 1)
            for descriptor in (reading, writing, waiting, going):
                os.close(descriptor)
            return _program(json.loads(text), given)
        os.write(writing, str(grandchild).encode())
        os._exit(0)
    os.waitpid(between, 0)  # only now is the grandchild an orphan, which has the parent that it will see
    os.write(going, b"1")
    asking.sendall(os.read(reading, 100))
    for descriptor in (reading, writing, waiting, going, *given):
        os.close(descriptor)
    return None


def _program(request: dict[str, Any], given: list[int]) -> Callable[[], None]:
    """Become the process that was asked for; return what it runs when all that served is closed."""
    for place, descriptor in enumerate(given):
        os.dup2(descriptor, place)
    for descriptor in given:
        os.close(descriptor)
    if request["has_session"]:
        os.setsid()
    faulthandler.enable()  # one that is aborted says what it was at
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["environment"])
    sys.argv[:], sys.orig_argv[:] = request["argv"], request["command"]
    show_command(request["command"])
    sys.path[0] = ""
    main = types.ModuleType("__main__")
    sys.modules["__main__"] = main
    return lambda: exec(compile(request["program"], "<string>", "exec"), main.__dict__)


def show_command(words: Sequence[str]) -> None:
    """Have ``/proc`` show this command line, cut to the room of the one that this process was started with."""
    fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    start, end = (int(fields[place - 3]) for place in (48, 49))  # as proc(5) numbers them
    text = "\0".join(words).encode("utf-8", "surrogateescape")[: end - start - 1]
    ctypes.memset(start, 0, end - start)
    ctypes.memmove(start, text, len(text))


if __name__ == "__main__":
    gc.disable()  # until all is imported: looks for garbage take a fifth of the time of TensorFlow's
    for name in sys.argv[3:]:
        importlib.import_module(name)
    run = _serve(sys.argv[1])
    if run is not None:
        run()
