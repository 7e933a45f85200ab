"""A child process that the loop watches: its end and its words wake an epoll, and its words go to the log."""

from __future__ import annotations

import logging
import select
from collections.abc import Mapping, Sequence
from typing import Any

from loader_service.children import Child
from loader_service.daemon.words import Words


class WatchedChild(Child):
    """A child process, watched by a pidfd and two pipes. Used by the daemon's main thread only.

    Parameters
    ----------
    words, variables, **more
        As `Child` takes them.
    who
        Begins each of its lines in the log.
    watched
        Becomes ready when it has said something, or ended. Closed descriptors leave it by themselves.
    """

    def __init__(
        self, words: Sequence[str], variables: Mapping[str, str], who: str, watched: select.epoll, **more: Any
    ) -> None:
        super().__init__(words, variables, **more)
        self._watched = watched
        self._logged = (Words(self.out, who, logging.INFO), Words(self.errors, who, logging.WARNING))
        try:
            for descriptor in (self.pidfd, *self.outputs):
                watched.register(descriptor, select.EPOLLIN)
        except OSError:
            self.close()  # nobody has it yet who would
            raise

    def log_words(self) -> None:
        """Log what has come."""
        for words in self._logged:
            was_open = words.output.is_open
            words.read()
            if was_open and not words.output.is_open:  # an epoll would report its end for ever
                self._watched.unregister(words.output.descriptor)

    def bury(self) -> str:
        """Log the last that it has said, when it has ended, and close it; return how it ended."""
        for words in self._logged:
            words.end()
        cause = self.cause(self.errors.last_line or self.out.last_line)
        self.close()
        return cause
