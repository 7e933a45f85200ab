"""What helps a trainer that waits, in words and as commands that work; each follows from what was measured. Pure."""

from __future__ import annotations

import math
from fractions import Fraction

from loader_service.errors import ConfigError
from loader_service.plan.prefetch import steps_ahead
from loader_service.protocol.messages import Status, StreamStatus, WorkerStatus
from loader_service.sizes import counted, size_text
from loader_service.watching.rates import HELD_UP, Rates
from loader_service.worker_bounds import WorkerBounds

#: Workers that wait, for reads or in a user's code, need no core: so many for each core may help.
_WAITING_PER_CORE = 4

#: A receiver that takes this share of a core is the limit itself; below that, the network is.
_RECEIVER_BUSY = 0.8

#: Workers that would do are said to do with this share of their time to spare.
_SPARE = 0.8

#: No more workers than these times as many are advised at a time, however long the trainer waits.
_MOST_TIMES = 4

#: The short side of smaller frames where it is not known what trainers get.
_EXAMPLE_SIDE = 128


class Remedy:
    """What helps one stream.

    Parameters
    ----------
    status, stream, rates
        How things stand.
    place
        What commands need to find the service; "" for the default one.
    """

    def __init__(self, status: Status, stream: StreamStatus, rates: Rates, place: str) -> None:
        self._status = status
        self._stream = stream
        self._rates = rates
        self._place = f" {place}" if place else ""

    def for_trainer(self) -> str:
        """Return how many workers would do; "" when all are needed, the service is sized, or another trainer waits."""
        if self._bounds or any((each.waiting or 0.0) >= HELD_UP for each in self._rates.streams.values()):
            return ""
        workers = self._workers
        enough = max(1, math.ceil(self._rates.all_workers.working * workers / _SPARE))
        if enough >= workers:
            return ""
        return f"{counted(enough, 'worker')} would do: {self._scale(enough)}"

    def decoding_words(self) -> str:
        """Return how much of the work it is."""
        return f"decoding takes {self._rates.all_workers.decoding:.0%} of the workers' work"

    def for_decoding(self) -> str:
        """Return what makes decoding faster."""
        more = self._more_workers(self._status.cores)
        if more and not self._bounds:
            return more
        at_work = "" if more else f"{self._busy_cores()}; "
        return at_work + "; or ".join(filter(None, (more, self._smaller_frames(), self._more_remote())))

    def reading_words(self) -> str:
        """Return what is read from where, and how fast."""
        share = f"reading takes {self._rates.all_workers.reading:.0%} of the workers' work"
        if not self._rates.file_systems:
            return share
        first = self._rates.file_systems[0]
        if first.file_system == "source":
            return f"{share}: your own source, {self._status.serves}"
        rate = size_text(int(first.read_bytes_total / max(self._rates.seconds, 1e-9)))
        slow = f", {counted(first.slow_reads_total, 'slow read')}" if first.slow_reads_total else ""
        return f"{share}: {first.file_system} gives {rate}/s{slow}"

    def for_reading(self) -> str:
        """Return what makes reading faster."""
        first = self._rates.file_systems[0].file_system if self._rates.file_systems else ""
        more = self._more_workers(_WAITING_PER_CORE * self._status.cores)
        if first == "source":
            return more or "make the source's own reading faster"
        if "://" in first:
            keep = "keep what is fetched on a local disk: start it with --local-copy 200G:/scratch"
            return f"{more}; {keep}" if more else keep
        return f"{more}; or copy the files to a faster disk" if more else "copy the files to a faster disk"

    def transform_words(self) -> str:
        """Return which transform takes how much."""
        share = self._rates.all_workers.transforming
        return f"your transform {self._status.transform!r} takes {share:.0%} of the workers' work"

    def for_transform(self) -> str:
        """Return what makes a transform faster."""
        if more := self._more_workers(self._status.cores):
            return more
        waits = self._more_workers(_WAITING_PER_CORE * self._status.cores)
        faster = "make the transform faster: there is a worker for each core"
        return f"{faster}; if it waits, for a network say, {waits}" if waits else faster

    def memory_words(self) -> str:
        """Return how many slots there are, and how many there should be."""
        stream = self._stream
        return f"it has {stream.slots} of {counted(stream.slots_wanted, 'slot')} of {size_text(stream.slot_bytes)}"

    def for_memory(self) -> str:
        """Return how much memory is needed."""
        need = sum(max(each.slots, each.slots_wanted) * each.slot_bytes for each in self._status.streams)
        size = f"{math.ceil(need / 2**20)}M"
        return (
            f"start it with --memory {size} (now {size_text(self._status.memory_budget_bytes)}), in a container also "
            f"with `docker run --shm-size {math.ceil(2 * need / 2**20)}m`; or make batches smaller"
        )

    def receiver_words(self) -> str:
        """Return for how long remote workers wait until their rows have arrived, and what receiving takes."""
        remote = self._rates.remote_workers
        share = remote.sending if remote else 0.0
        return (
            f"rows of remote workers arrive too slowly, for {share:.0%} of these workers' time; "
            f"the receiver takes {self._rates.receiver:.0%} of a core"
        )

    def for_receiver(self) -> str:
        """Return what takes load from receiver and network, or what each row costs there."""
        smaller = "ask for smaller frames: Image(size=…)"
        if self._rates.receiver >= _RECEIVER_BUSY:
            smaller += ", or on a closed network start it with --no-encrypt"
        more = self._more_workers(self._status.cores)
        return f"on this host, {more}; or {smaller}" if more else smaller

    def for_slow_worker(self, slow: tuple[WorkerStatus, float]) -> tuple[str, str]:
        """Return which worker holds the others up, and what helps."""
        worker, times = slow
        at = f", now {worker.video!r} of {worker.file!r}" if worker.file else ""
        there = f" on node {worker.node}" if worker.node else ""
        pace = (
            f"takes {times:.0f} times as long as the others" if times else f"is at one task for {worker.busy_s:.1f} s"
        )
        return (
            f"the workers have time but for worker {worker.worker} (pid {worker.pid}{there}), which {pace}{at}",
            f"have it replaced: `kill {worker.pid}`{there}; if the next one is slow too, look at what it reads",
        )

    def for_lookahead(self) -> str:
        """Return how steps are wanted earlier: twice as many at a time, and one for each worker at the least."""
        ahead = max(2 * steps_ahead(self._stream.slots_wanted), len(self._rates.workers))
        return f"look further ahead: prefetch={ahead} in loader_client.dataset(…)"

    # ---- inside

    @property
    def _bounds(self) -> WorkerBounds | None:
        """Within which the service sizes itself; None where its number is fixed, or its version says it otherwise."""
        try:
            bounds = WorkerBounds.of(self._status.workers_bounds or self._workers, least=0)
        except ConfigError:
            return None
        return None if bounds.is_fixed else bounds

    @property
    def _workers(self) -> int:
        return self._status.workers_wanted or len(self._status.workers)

    def _needed(self) -> int:
        """Return with how many workers of this host nobody would wait."""
        waiting = self._rates.streams[self._stream.stream].waiting or 0.0
        return math.ceil(self._workers * self._rates.all_workers.working / max(1 - waiting, 1 / _MOST_TIMES))

    def _more_workers(self, most: int) -> str:
        """Return how many workers more would help, up to so many in all; "" when none would.

        A service that sizes itself adds them, up to its bound; a number of another kind would end that.
        """
        workers = self._workers
        if self._bounds and workers < (high := self._bounds.high(self._status.cores)):
            return f"the service tries more workers itself, up to {high}"
        target = min(max(self._needed(), workers + 1), most)
        if target <= workers:
            return ""
        verb = "worker would help" if target == workers + 1 else "workers would help"
        return f"{target - workers} more {verb}: {self._scale(target)}"

    def _more_remote(self) -> str:
        """Return how many more remote workers may help; "" without a cluster, or where the service sizes them."""
        if not self._status.remote_bounds or ".." in self._status.remote_bounds:
            return ""
        target = self._status.remote_wanted + max(1, self._needed() - self._workers)
        number = counted(target - self._status.remote_wanted, "more remote worker")
        return f"{number}, if frames leave smaller than they are stored: {self._scale(target, '--ray ')}"

    def _scale(self, workers: int, flag: str = "") -> str:
        least = f"{self._bounds.least}.." if self._bounds and not flag else ""
        return f"`loader-service scale {flag}{least}{workers}{self._place}`"

    def _busy_cores(self) -> str:
        number = self._status.cores
        return f"all {number} cores are at work" if number > 1 else "the one core is at work"

    def _smaller_frames(self) -> str:
        """Return how frames become cheaper where no core is left for more workers."""
        stored, shape = self._status.stored_frame, self._stream.frame_shape
        if len(stored) == 2 and len(shape) == 3 and (shape[0] > stored[0] // 2 or shape[1] > stored[1] // 2):
            half = (max(1, stored[0] // 2), max(1, stored[1] // 2))
            return f"decode at half scale: Image(size={half}), instead of {shape[0]} x {shape[1]} pixels"
        return f"store smaller frames: `loader-service pack FILES -o OUT.h5 --short-side {self._short_side()}`"

    def _short_side(self) -> int:
        """Return how short a side stored frames may have that still cover the pixels that the trainer gets."""
        stored, shape = self._status.stored_frame, self._stream.frame_shape[:2]
        if not shape:
            return _EXAMPLE_SIDE
        if len(stored) != 2:
            return max(shape)
        return math.ceil(min(stored) * max(Fraction(side, of) for side, of in zip(shape, stored, strict=True)))
