"""What is the same for all processes that this package starts: how they start, and the names of what ended them."""

from __future__ import annotations

import os
import signal
import sys

from loader_service import boot

#: One core each: no library in a process that has one shall start threads of its own, or reserve memory for them.
ONE_THREAD = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")

#: What a user's own code may depend on without knowing: a set of names has the same order in every process.
SAME_EVERYWHERE = {"PYTHONHASHSEED": "0"}


def command(module: str, *arguments: str) -> list[str]:
    """Return the command that runs a module of this package in a process that never imports from the current folder."""
    safe_path = ["-P"] if sys.version_info >= (3, 11) else []  # before that, `boot` does the same
    return [sys.executable, *safe_path, boot.__file__, module, *arguments]


def environment(**more: str) -> dict[str, str]:
    """Return the environment of such a process: this one's, and more.

    An empty entry in PYTHONPATH, as ``PYTHONPATH=$PYTHONPATH:/mine`` makes it, names the current folder to Python, and
    to nobody who wrote it. All other entries stay.
    """
    inherited = dict(os.environ)
    entries = [entry for entry in inherited.pop("PYTHONPATH", "").split(os.pathsep) if entry]
    if entries:
        inherited["PYTHONPATH"] = os.pathsep.join(entries)
    return {**inherited, **more}


def signal_name(number: int) -> str:
    """Return a signal's name; real-time signals have numbers only."""
    return signal.Signals(number).name if number in set(signal.Signals) else f"signal {number}"


def cause_of_end(code: int, last_words: str = "", why: str = "") -> str:
    """Return how a child process ended, to follow its name: the one place that words it.

    Parameters
    ----------
    code
        As `subprocess.Popen.returncode`: negative for a signal.
    last_words
        The last line that it wrote to its standard error, if that tells anything about its end.
    why
        What is known of the reason, as `OomWatch.explain` tells it.
    """
    if code < 0:
        said = f"; its last words: {last_words}" if last_words else ""
        return f"was killed by {signal_name(-code)}{why}{said}"
    return f"exited with code {code}: {last_words}" if last_words else f"exited with code {code}"
