"""Has frames of all videos decoded in other processes, and lists those that cannot be; decodes none itself."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import time
from collections import deque
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import NamedTuple

from loader_service.catalog.columns import Catalog
from loader_service.children import ONE_THREAD, Child, command, environment, readable
from loader_service.errors import WorkerDied
from loader_service.lifeline import arguments_for

#: Videos that a process is given ahead, so that it need not wait for this one between two.
_AHEAD = 4

#: How long nothing may happen without a look at the time, in seconds.
_LONGEST_WAIT_S = 1.0

#: How long a process that can say no more may take to end, in seconds.
_END_S = 5.0


@dataclass(frozen=True)
class CheckOptions:
    """What a process that checks is told at its start: the folder of the columns, and whether it decodes each frame."""

    catalog: str
    every_frame: bool


class BadFrame(NamedTuple):
    """A frame that cannot be decoded; frame and field say nothing where a video ended the process that decoded it."""

    file: str
    video: str
    frame: int | None
    field: str
    reason: str

    def __str__(self) -> str:
        place = "" if self.frame is None else f", frame {self.frame} of {self.field!r}"
        return f"bad: {self.file!r}, video {self.video!r}{place}: {self.reason}"


class FrameCheck:
    """A check of all videos of a catalog; used by one thread, which must live as long: the processes end with it.

    Parameters
    ----------
    catalog
        What the files hold.
    every_frame
        Whether each frame is decoded, or the first, the middle and the last of each field.
    timeout_s
        How long one video may take.
    """

    def __init__(self, catalog: Catalog, *, every_frame: bool, timeout_s: float) -> None:
        self._catalog = catalog
        self._options = CheckOptions(str(catalog.directory), every_frame)
        self._timeout_s = timeout_s
        self._waiting = deque(range(catalog.video_count))

    def run(self, processes: int, progress: Callable[[int, int], None]) -> list[BadFrame]:
        """Return the bad frames, in the order of the catalog.

        Parameters
        ----------
        processes
            How many decode side by side.
        progress
            Called with the number of videos done and of all, after each and about once a second.

        Raises
        ------
        WorkerDied
            When a process ends that was asked for nothing: it cannot be started here.
        """
        bad: dict[int, list[BadFrame]] = {}
        total = self._catalog.video_count
        with ExitStack() as stack:
            checkers = [stack.enter_context(_Checker(self._options)) for _ in range(min(processes, total))]
            while len(bad) < total:
                readable([each for checker in checkers for each in checker.child.outputs], _LONGEST_WAIT_S)
                for checker in checkers:
                    bad.update((video, self._named(video, found)) for video, found in checker.answers())
                    if checker.is_over(self._timeout_s):
                        bad.update(self._give_up(checker))
                        checker.begin_anew()
                    while self._waiting and len(checker.asked) < _AHEAD:
                        checker.ask(self._waiting.popleft())
                progress(len(bad), total)
        return [each for video in sorted(bad) for each in bad[video]]

    def _named(self, video: int, found: list[list[int | str]]) -> list[BadFrame]:
        file, name = self._place(video)
        return [BadFrame(file, name, int(frame), str(field), str(reason)) for frame, field, reason in found]

    def _give_up(self, checker: _Checker) -> dict[int, list[BadFrame]]:
        """Blame the video at which a process ended, or has had its time; the others that it was given go to another."""
        cause = checker.end()
        if not checker.asked:
            raise WorkerDied(f"a process that checks frames {cause}; look at memory and limits, and try again")
        guilty = checker.asked.popleft()
        self._waiting.extendleft(reversed(checker.asked))
        file, name = self._place(guilty)
        return {guilty: [BadFrame(file, name, None, "", f"the process that decoded it {cause}; leave the file out")]}

    def _place(self, video: int) -> tuple[str, str]:
        path = self._catalog.file_path(int(self._catalog.video_file[video]))
        return path, self._catalog.name(video).decode("utf-8", "replace")


class _Checker:
    """A process, then another where that ended, and the videos that it was given, the first of which it is at.

    A context manager.
    """

    def __init__(self, options: CheckOptions) -> None:
        self._words = command("loader_service.worker.check", *arguments_for(options))
        self.begin_anew()

    def begin_anew(self) -> None:
        """Start a process, when there is none."""
        self.child = Child(self._words, environment(**ONE_THREAD), stdin=subprocess.PIPE)
        self.asked: deque[int] = deque()
        self._received = b""
        self._began = time.monotonic()

    def __enter__(self) -> _Checker:
        return self

    def __exit__(self, *_: object) -> None:
        self.child.close()

    def ask(self, video: int) -> None:
        """Give it a video."""
        if not self.asked:
            self._began = time.monotonic()
        self.asked.append(video)
        with contextlib.suppress(BrokenPipeError):  # it has ended, which is seen at the next turn
            os.write(self.child.stdin, f"{video}\n".encode("ascii"))

    def answers(self) -> list[tuple[int, list[list[int | str]]]]:
        """Return what was found in the videos that it is done with since the last call."""
        self.child.errors.read()  # else it could not go on
        *lines, self._received = (self._received + self.child.out.read()).split(b"\n")
        if lines:
            self._began = time.monotonic()
        return [(self.asked.popleft(), json.loads(line)) for line in lines]

    def is_over(self, timeout_s: float) -> bool:
        """Tell whether it has ended, or has had its time for a video."""
        return not self.child.out.is_open or (bool(self.asked) and time.monotonic() - self._began > timeout_s)

    def end(self) -> str:
        """End it, and return in words how it came to that."""
        if self.child.out.is_open:
            self.child.close()
            return "was not done in time"
        self.child.wait(_END_S)
        cause = self.child.cause()
        self.child.close()
        return cause
