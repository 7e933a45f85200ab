"""What is the same for all processes that this package starts: their environment, and the names of what ended them."""

from __future__ import annotations

import signal

#: One core each: no library in a process that has one shall start threads of its own, or reserve memory for them.
ONE_THREAD = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")

#: What a user's own code may depend on without knowing: a set of names has the same order in every process.
SAME_EVERYWHERE = {"PYTHONHASHSEED": "0"}


def signal_name(number: int) -> str:
    """Return a signal's name; real-time signals have numbers only."""
    return signal.Signals(number).name if number in set(signal.Signals) else f"signal {number}"


def cause_of_end(code: int, last_words: str = "") -> str:
    """Return how a child process ended, to follow its name: the one place that words it.

    Parameters
    ----------
    code
        As `subprocess.Popen.returncode`: negative for a signal.
    last_words
        The last line that it wrote to its standard error, if that tells anything about its end.
    """
    if code < 0:
        said = f"; its last words: {last_words}" if last_words else ""
        return f"was killed by {signal_name(-code)}{said}"
    return f"exited with code {code}: {last_words}" if last_words else f"exited with code {code}"
