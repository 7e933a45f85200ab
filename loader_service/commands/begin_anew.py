"""A command begins anew in its own process; loaded before it begins, since the package may be another one by then."""

from __future__ import annotations

import logging
import os
import sys
from typing import NoReturn

from loader_service.errors import ServiceUnavailable


def begin_anew() -> NoReturn:
    """Become the same command once more, as it was given to this process.

    Raises
    ------
    ServiceUnavailable
        When that is no longer possible.
    """
    sys.stdout.flush()
    logging.shutdown()
    try:
        os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])  # noqa: S606 - the command that this process is
    except OSError as error:
        raise ServiceUnavailable(f"cannot start {sys.executable!r} again: {error.strerror}") from error
