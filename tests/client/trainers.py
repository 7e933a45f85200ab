"""Runs trainers as processes of their own, which have TensorFlow; knows nothing of what they train."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from tests.support.warm_python import WarmPython

#: How long a trainer may take, in seconds, on a busy machine.
_PATIENCE_S = 300.0


@contextmanager
def trainer(program: str, *arguments: object) -> Iterator[subprocess.Popen[str]]:
    """Start a Python program; it is dead, and its pipes are closed, at the end."""
    process = WarmPython(program, *arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    with process:
        try:
            yield process
        finally:
            process.kill()


def result_of(process: subprocess.Popen[str]) -> str:
    """Return what a trainer wrote to its standard output, once it has ended well."""
    said, errors = process.communicate(timeout=_PATIENCE_S)
    assert process.returncode == 0, errors
    return said


def first_line(process: subprocess.Popen[str]) -> str:
    """Return the first line that a trainer writes, without its end."""
    assert process.stdout is not None
    return process.stdout.readline().rstrip("\n")
