"""Ends a program whose work is done; knows nothing of the work.

Python takes all modules apart before it ends: 40 ms of CPU for a service, which every command and worker would pay.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
from typing import NoReturn


def end(code: object) -> NoReturn:
    """End this process as ``sys.exit(code)`` does, but sooner where no other thread is to be waited for."""
    if threading.active_count() > 1 or not isinstance(code, int | None):
        sys.exit(code)  # type: ignore[arg-type] # what SystemExit had
    end_at_once(code or 0)


def end_at_once(code: int) -> NoReturn:
    """End this process without waiting for threads, such as those that the user's code has started and not ended."""
    atexit._run_exitfuncs()  # noqa: SLF001 - what the interpreter does once it has waited: it ends processes
    try:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
    except (OSError, ValueError, AttributeError):
        sys.exit(code)  # nobody reads it any more, or there is none: Python says what it always says
    os._exit(code)
