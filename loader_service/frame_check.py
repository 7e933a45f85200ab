"""Has frames of all videos decoded in other processes, and lists those that cannot be; decodes none itself."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import NamedTuple

from loader_service.catalog.columns import Catalog
from loader_service.children import command, readable
from loader_service.errors import WorkerDied
from loader_service.lifeline import arguments_for
from loader_service.line_worker import LineWorker

#: Videos that a process is given ahead, so that it need not wait for this one between two.
_AHEAD = 4

#: How long nothing may happen without a look at the time, in seconds.
_LONGEST_WAIT_S = 1.0


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
            words = command("loader_service.worker.check", *arguments_for(self._options))
            checkers = [stack.enter_context(_Checker(words, self._timeout_s)) for _ in range(min(processes, total))]
            while len(bad) < total:
                readable([each for checker in checkers for each in checker.outputs], _LONGEST_WAIT_S)
                for checker in checkers:
                    bad.update((video, self._named(video, found)) for video, found in checker.answers())
                    if checker.is_over(is_busy=bool(checker.asked)):
                        bad.update(self._give_up(checker))
                        checker.begin_anew()
                    while self._waiting and len(checker.asked) < _AHEAD:
                        checker.ask(self._waiting.popleft())
                progress(len(bad), total)
        return [each for video in sorted(bad) for each in bad[video]]

    def _named(self, video: int, found: list[list[int | str]]) -> list[BadFrame]:
        file, name = self._catalog.place(video)
        return [BadFrame(file, name, int(frame), str(field), str(reason)) for frame, field, reason in found]

    def _give_up(self, checker: _Checker) -> dict[int, list[BadFrame]]:
        """Blame the video at which a process ended, or has had its time; the others that it was given go to another."""
        cause = checker.end("was not done in time")
        if not checker.asked:
            raise WorkerDied(f"a process that checks frames {cause}; look at memory and limits, and try again")
        guilty = checker.asked.popleft()
        self._waiting.extendleft(reversed(checker.asked))
        file, name = self._catalog.place(guilty)
        return {guilty: [BadFrame(file, name, None, "", f"the process that decoded it {cause}; leave the file out")]}


class _Checker(LineWorker):
    """A process, and the videos that it was given, the first of which it is at. A context manager."""

    def begin_anew(self) -> None:
        """Start a process, when there is none."""
        super().begin_anew()
        self.asked: deque[int] = deque()

    def __enter__(self) -> _Checker:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def ask(self, video: int) -> None:
        """Give it a video."""
        self.asked.append(video)
        self.tell(video)

    def answers(self) -> list[tuple[int, list[list[int | str]]]]:
        """Return what was found in the videos that it is done with since the last call."""
        return [(self.asked.popleft(), reply) for reply in self.replies()]
