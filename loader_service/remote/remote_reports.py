"""Whether what a remote worker reports can be true: rows of its task, files of the catalog, bounded words. Pure.

Who has the run's keys is known, and may still be wrong: what is checked here would end the daemon, or fill its memory.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from loader_service.protocol.messages import TaskDone, TimeSpent
from loader_service.protocol.remote_messages import RemoteHello

#: Letters of all words in a task's report: with what names its rows it has to fit into one frame (`MOST_FRAME_BYTES`).
_MOST_LETTERS = 2**18

#: Letters of each text of a hello, and of why a worker leaves: people read them.
_LONGEST_TEXT, LONGEST_CAUSE = 1000, 2000

#: File systems that one node may name, and letters of each name; a worker names those that its files lie on.
_MOST_FILE_SYSTEMS, _LONGEST_NAME = 256, 4096


def fitting(done: TaskDone) -> TaskDone:
    """Return a report that fits into a frame: of many bad rows, only the beginning of what is wrong with each."""
    most = _MOST_LETTERS // max(1, len(done.bad))
    return replace(done, bad=tuple(replace(each, message=each.message[:most]) for each in done.bad))


def wrong_in_hello(hello: RemoteHello) -> str:
    """Return what cannot be in a first message, "" when all can."""
    texts = (hello.version, hello.decoder, hello.catalog, hello.node)
    return "it says more than who it is" if max(map(len, texts)) > _LONGEST_TEXT else ""


def wrong_in_done(done: TaskDone, numbers: Iterable[int]) -> str:
    """Return what cannot be in the report of a task with these rows, "" when all can."""
    known = set(numbers)
    odd = next((each.row for each in done.bad if each.row not in known), None)
    if odd is not None:
        return f"reported row {odd} of task {done.task}, which has no such row"
    return "" if done.waited_s >= 0 else f"reported that task {done.task} waited for {done.waited_s:g} s"


def wrong_in_times(spent: TimeSpent, files: int) -> str:
    """Return what cannot be in what a worker's time went into, with a catalog of so many files, "" when all can."""
    odd = next((each.file for each in spent.slow if not 0 <= each.file < files), None)
    if odd is not None:
        return f"reported slow reads of file {odd}, of {files}"
    named = spent.file_systems
    if len(named) > _MOST_FILE_SYSTEMS or any(len(each.file_system) > _LONGEST_NAME for each in named):
        return f"reported {len(named)} file systems, or a longer name of one than there is"
    numbers = [spent.work_s, spent.read_s, spent.transform_s, *(each.count for each in spent.slow)]
    numbers += [number for each in named for number in (each.seconds, each.size_bytes, each.slow)]
    return "reported a sum below zero" if min(numbers) < 0 else ""
