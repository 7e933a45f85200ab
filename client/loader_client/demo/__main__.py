"""Runs the demo in a process of its own, and leaves out what TensorFlow says when it starts; knows nothing of the demo.

TensorFlow writes some lines before it has read how much it shall say: that it found no GPU, which instructions it will
use. No setting hides them. Whatever else the process says on its standard error is passed on as it comes, and what it
says in its last moment too.
"""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Sequence

from loader_service.children import command, environment, signal_name

#: Information and warnings in the form of TensorFlow's log, and what introduces them; errors have other letters.
_STARTING = re.compile(
    rb"[IW]\d{4} \d\d:\d\d:\d+\.\d+ +\d+ [\w./+-]+:\d+\] "
    rb"|WARNING: All log messages before absl::InitializeLog\(\) is called "
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the demo and return its exit code; that of a shell when a signal has ended it."""
    arguments = sys.argv[1:] if argv is None else argv
    return run(command("loader_client.demo.training", *arguments))


def run(program: Sequence[str]) -> int:
    """Run a program that loads TensorFlow; see `main`."""
    with subprocess.Popen(program, env=environment(), stderr=subprocess.PIPE) as process:
        # Ctrl-C reaches the program too, which ends in its own way; SIGTERM has one receiver.
        signal.signal(signal.SIGINT, lambda *_: None)
        signal.signal(signal.SIGTERM, lambda *_: process.terminate())
        assert process.stderr is not None  # noqa: S101 - it is a pipe
        for line in process.stderr:
            if not _STARTING.match(line):
                sys.stderr.buffer.write(line)
                sys.stderr.buffer.flush()
    if process.returncode < 0:
        sys.stderr.write(f"the demo was killed by {signal_name(-process.returncode)}\n")
        return 128 - process.returncode
    return process.returncode


if __name__ == "__main__":
    sys.exit(main())
