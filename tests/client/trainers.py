"""Runs trainers as processes of their own, which import TensorFlow anew; knows nothing of what they train."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

#: How long a trainer may take, in seconds: TensorFlow alone takes 5 to be imported, on a busy machine 20 and more.
_PATIENCE_S = 100.0


@contextmanager
def trainer(program: str, *arguments: object) -> Iterator[subprocess.Popen[str]]:
    """Start a Python program; it is dead, and its pipes are closed, at the end."""
    process = subprocess.Popen(
        [sys.executable, "-c", program, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
    )
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
