"""A status as text for people: the verdict first, what is zero left out. Knows messages, no socket and no terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from loader_service.printable import one_line
from loader_service.protocol.messages import Fault, FrameCacheStatus, Status, StreamStatus, WorkerStatus
from loader_service.sizes import counted, size_text, time_text
from loader_service.watching.rates import Rates, StreamRates, WorkerRates, count_of, rates
from loader_service.watching.verdict import StreamVerdict, verdicts

#: Workers and files that are shown; `--json` has all workers.
_MOST_WORKERS, _MOST_FILES = 16, 5

#: Steps of an epoch that no training comes to the end of: that of a generator that was given no length.
_ENDLESS_STEPS = 2**30


def status_text(
    before: Status | None, after: Status, place: str = "", clock: Callable[[float], str] | None = None
) -> str:
    """Return a status as lines.

    Parameters
    ----------
    before, after, place
        As `verdicts` takes them.
    clock
        Returns the time of day at so many seconds since the start of the service; None to leave it out.
    """
    found = rates(before, after)
    said = {each.stream: each for each in verdicts(before, after, place)}
    lines = [line for each in after.streams for line in _stream(each, said[each.stream], found.streams[each.stream])]
    lines += [] if after.streams else ["no stream is open: nobody asks for data"]
    lines += [
        "",
        f"{after.endpoint}: pid {after.pid}, version {after.version}, up {time_text(after.uptime_s)}, "
        f"{size_text(after.memory_bytes)} of {size_text(after.memory_budget_bytes)} shared memory in batches",
        f"serves {after.serves}" + (f"; transform {after.transform!r}" if after.transform else ""),
        *(f"JPEGs: {each}" for each in sorted({worker.decoder for worker in after.workers if worker.decoder})),
        "",
        *_workers(after, found),
        *_counts(after, found),
        *(_frame_cache(after.frame_cache) if after.frame_cache else ()),
        *(fault_text(each, after.uptime_s, clock) for each in after.faults),
    ]
    return "\n".join(map(one_line, lines))


def rate_words(found: StreamRates) -> str:
    """Return what a stream delivers, such as ``12.3 steps/s, 3,150 frames/s, 55.2 MiB/s``."""
    frames = f"{found.frames_per_s:,.0f} frames/s, " if found.frames_per_s else ""
    return f"{found.steps_per_s:,.1f} steps/s, {frames}{size_text(int(found.bytes_per_s))}/s"


def work_words(found: WorkerRates) -> str:
    """Return what work consists of, the largest part first, such as ``decoding 92%, reading 8%``."""
    parts = (
        ("decoding", found.decoding),
        ("reading", found.reading),
        ("transform", found.transforming),
        ("sending", found.sending),
    )
    return ", ".join(
        f"{name} {share:.0%}" for name, share in sorted(parts, key=lambda each: -each[1]) if share >= 0.005
    )


def steps_text(stream: StreamStatus) -> str:
    """Return how many steps are done, and how many an epoch has; with an index of its own, only the client knows."""
    an_epoch = f"{stream.steps_per_epoch} an epoch" if stream.steps_per_epoch else "epochs by index"
    if stream.steps_per_epoch >= _ENDLESS_STEPS:
        an_epoch = "an endless epoch"
    return f"{counted(stream.steps_done, 'step')} done, {an_epoch}"


def wanted_words(status: Status) -> str:
    """Return how many workers there should be, and within what: ``3 within auto, 8 remote within 0..64``."""
    fixed = status.workers_bounds == str(status.workers_wanted)
    here = status.workers_bounds if fixed else f"{status.workers_wanted} within {status.workers_bounds}"
    is_sized = ".." in status.remote_bounds
    return f"{here}, {status.remote_wanted} remote within {status.remote_bounds}" if is_sized else here


def doing_text(worker: WorkerStatus) -> str:
    """Return what a worker is at, and of a remote one where that is."""
    return f"on node {worker.node}: {_doing(worker)}" if worker.node else _doing(worker)


def _doing(worker: WorkerStatus) -> str:
    match worker.doing:
        case "":
            return "nothing"
        case "probe":
            return "trying the transform for a stream that opens"
        case "task" if not worker.file:
            return f"a step of stream {worker.stream} that nobody wants any more"
    return (
        f"stream {worker.stream}, epoch {worker.epoch}, step {worker.step}: video {worker.video!r} of {worker.file!r}"
    )


def _stream(stream: StreamStatus, verdict: StreamVerdict, found: StreamRates) -> list[str]:
    slots = [
        f"{count} {what}"
        for count, what in ((stream.slots_filling, "filling"), (stream.slots_leased, "with the client"))
        if count
    ]
    waiting = [f"{counted(stream.wants_waiting, 'want')} without a slot"] if stream.wants_waiting else []
    first = [f"first batch after {stream.first_batch_s:.1f} s"] if stream.first_batch_s else []
    late = [f"the oldest want is {stream.oldest_want_s:.1f} s old"] if stream.oldest_want_s >= 1.0 else []
    client = f"{stream.client} (pid {stream.client_pid})"
    facts = [
        "; ".join([steps_text(stream), rate_words(found), *first, *late]),
        ", ".join([counted(stream.slots, "slot"), *slots, *waiting]),
    ]
    if stream.padded_videos:
        facts.append(f"padded videos: {stream.padded_videos}")
    if stream.samples_substituted:
        facts.append(f"bad samples that were replaced: {stream.samples_substituted}")
    if stream.padding_unsorted:
        facts.append(f"padding: {stream.padding:.1%} of its frames ({stream.padding_unsorted:.1%} without buckets)")
    advice = [verdict.advice] if verdict.advice else []
    return [f"stream {stream.stream}, {client}: {verdict.summary}", *(f"  {each}" for each in (*advice, *facts))]


def _workers(status: Status, found: Rates) -> list[str]:
    """Return a table of the workers; where there are many, of those that are longest at their task."""
    shown = longest_at_task(status.workers, _MOST_WORKERS)
    rest = len(status.workers) - len(shown)
    all_ = found.all_workers
    parts = f" ({work_words(all_)})" if work_words(all_) else ""
    head = f"{counted(len(status.workers), 'worker')}: working {all_.working:.0%} of the time{parts}"
    short = f", without a slot {all_.waiting_slot:.0%}" if all_.waiting_slot >= 0.005 else ""
    table = _table(
        ("worker", "pid", "state", "files", "tasks queued", "tasks done", "working", "for", "at"),
        [
            (w.worker, w.pid, "slow" if w.straggles else w.state, w.files, w.tasks_queued, w.tasks_done,
             f"{found.workers[w.worker].working:.0%}", _busy_text(w), doing_text(w))
            for w in shown
        ],
    )  # fmt: skip
    sized = [f"{wanted_words(status)}: {status.workers_why}"] if status.workers_why else []
    return [head + short, *sized, *table, *([f"and {counted(rest, 'more worker')}"] if rest else []), ""]


def _local_copy(status: Status) -> list[str]:
    """Return what the local copy of objects was good for; nothing where nothing was read by way of it."""
    hits, misses = count_of(status, "copy_hits"), count_of(status, "copy_misses")
    if not hits + misses:
        return []
    return [
        f"local copy: {hits:,} of {hits + misses:,} blocks came from it ({hits / (hits + misses):.1%}), "
        f"{size_text(count_of(status, 'copy_hit_bytes'))}"
    ]


def _frame_cache(cache: FrameCacheStatus) -> list[str]:
    """Return what the cache of decoded frames holds, and how often frames were found there since the start."""
    asked = cache.frames_found + cache.frames_decoded
    share = f"{cache.frames_found / asked:.1%}" if asked else "none yet"
    taken = sum(form.taken_bytes for form in cache.forms)
    return [
        f"decoded frames in {cache.folder!r}: {size_text(taken)} of {size_text(cache.budget_bytes)}; found there: "
        f"{share} ({cache.frames_found} of {asked}), added: {cache.frames_added}",
        *(
            f"  {form.title}: room for {form.kept_frames / max(1, form.frames):.0%} of {form.frames} frames, "
            f"{size_text(form.taken_bytes)}"
            for form in cache.forms
        ),
    ]


def _receiving(status: Status, found: Rates) -> list[str]:
    """Return what taking in the rows of remote workers takes; nothing where none came."""
    size_bytes = count_of(status, "received_bytes")
    if not size_bytes:
        return []
    return [f"receiver of remote rows: {found.receiver:.0%} of a core, {size_text(size_bytes)} so far"]


def counters_text(status: Status) -> str:
    """Return what happened since the start, but for what never did, and what has lines of its own."""
    return ", ".join(
        f"{each.name.replace('_', ' ')}: {each.count:,}"
        for each in status.counters
        if each.count and not each.name.startswith(("copy_", "receive"))
    )


def _counts(status: Status, found: Rates) -> list[str]:
    """Return what happened since the start, in lines of its kinds."""
    files = [each for each in status.files if each.bad_samples_total][:_MOST_FILES]
    return [
        *filter(None, [counters_text(status)]),
        *_receiving(status, found),
        *_local_copy(status),
        *_slow_reads(status, found),
        *(f"{each.path!r}: {counted(each.bad_samples_total, 'bad sample')}" for each in files),
    ]


def _slow_reads(status: Status, found: Rates) -> list[str]:
    """Return one line of all slow reads, since a busy machine has them in every file; none where there were none."""
    late = {each.file_system: each.slow_reads_total for each in found.file_systems}
    told = [
        f"{each.slow_reads_total:,} from {each.file_system} ({late.get(each.file_system, 0):,} of late)"
        for each in status.file_systems
        if each.slow_reads_total
    ]
    worst = max(status.files, key=lambda each: each.slow_reads_total, default=None)
    most = [f"most in {worst.path!r} ({worst.slow_reads_total:,})"] if worst and worst.slow_reads_total else []
    return (
        [f"slow reads since the start: {'; '.join([*filter(None, [', '.join(told)]), *most])}"] if told or most else []
    )


def fault_text(fault: Fault, uptime_s: float, clock: Callable[[float], str] | None = None) -> str:
    """Return a fault, how long ago it was, and how often it came; `clock` as in `status_text`."""
    at = f" ({clock(fault.at_s)})" if clock is not None else ""
    times = f" ({fault.count} times)" if fault.count > 1 else ""
    return f"{time_text(max(0.0, uptime_s - fault.at_s))} ago{at}: {fault.line}{times}"


def longest_at_task(workers: Sequence[WorkerStatus], most: int) -> list[WorkerStatus]:
    """Return so many workers at the most, by number: where there are more, those that are longest at their task."""
    unusual = sorted(workers, key=lambda each: (each.state == "working" and not each.straggles, -each.busy_s))
    return sorted(unusual[:most], key=lambda each: each.worker)


def _busy_text(worker: WorkerStatus) -> str:
    return f"{worker.busy_s:.1f} s" if worker.doing else ""


def _table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> list[str]:
    """Return a table as lines, all columns to the right but the last one."""
    cells = [[str(cell) for cell in row] for row in (head, *rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(head))]
    widths[-1] = 0  # to the left
    return ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in cells]
