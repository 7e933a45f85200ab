"""Probes with real workers in the core's eyes, at literal times: what they are told, and what comes of it."""

from __future__ import annotations

from loader_service.core.effects import Effect, Send
from loader_service.core.ledger import Ledger, Limits
from loader_service.core.ownership import Ownership
from loader_service.core.probes import Answer, Probes
from loader_service.core.staff import Staff
from loader_service.core.tasks import SMALL_TASK_BYTES, PendingTask
from loader_service.protocol.fields import Field
from loader_service.protocol.messages import OpenStream, Probed, ProbeStream
from loader_service.protocol.spec import Frame, Spec

SPEC = Spec(4, Frame())
INPUTS = (Field("x", "float32", (3,)),)
OUTPUTS = (Field("y", "uint8", (2, 2)),)
TRAINER = b"trainer"


class Probing:
    """Some workers that wait for tasks, and the probes that they are given.

    Parameters
    ----------
    workers
        How many there are, numbered from 1.
    """

    def __init__(self, workers: int = 1) -> None:
        self.ledger = Ledger()
        self.staff = Staff(Ownership([100]), Limits(probe_timeout_s=25.0, task_timeout_s=60.0), self.ledger)
        self.probes = Probes(self.staff, self.ledger, timeout_s=25.0)
        self.scale(workers)

    def scale(self, workers: int) -> None:
        """Have so many workers, all of them started."""
        before = len(self.staff)
        self.staff.scale(workers, 0.0)
        self.staff.hire(0.0)
        for worker in range(before + 1, workers + 1):
            self.staff.started(worker, 0.0)
        self.ledger.take()

    def begin(self, client: bytes = TRAINER, request: int = 1, now: float = 100.0) -> OpenStream:
        """Have a client ask for a stream."""
        asked = OpenStream(request, SPEC)
        self.probes.begin(client, asked, INPUTS, now)
        return asked

    def dispatch(self, now: float = 100.0) -> list[tuple[object, int]]:
        """Give out what no worker has; return workers and numbers of probes."""
        self.probes.dispatch(now)
        sent = [each for each in self.ledger.take() if isinstance(each, Send)]
        return [(each.peer, each.message.probe) for each in sent if isinstance(each.message, ProbeStream)]

    def work(self, worker: int, task: int, now: float) -> None:
        """Give a worker a task."""
        given = PendingTask(task=task, stream=1, slot=1, rows=(0,), size_bytes=SMALL_TASK_BYTES, file=0)
        known = self.staff.get(worker)
        assert known is not None
        self.staff.give(known, given, now)

    def answer(self, worker: int, probe: int, now: float = 101.0) -> Answer | None:
        """Let a worker say what a transform returns; return what comes of it."""
        return self.probes.answered(Probed(worker, probe, OUTPUTS, "", ""), now)[1]

    def exit(self, worker: int, cause: str, now: float = 101.0) -> list[Answer]:
        """Reap a worker; return what comes of its probes."""
        gone = self.staff.exited(worker, cause, now)
        assert gone is not None
        answers = [
            self.probes.orphaned(task, cause, guilty=place == 0)
            for place, task in enumerate(gone.tasks)
            if task.probe is not None
        ]
        return [each for each in answers if each is not None]

    def tick(self, now: float) -> tuple[list[Effect], list[Answer]]:
        """Let the clock strike: return what is done about workers, and what clients are told."""
        self.ledger.take()
        self.staff.kill_late(now)
        return self.ledger.take(), self.probes.late(now)
