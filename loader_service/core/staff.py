"""The workers as the scheduler sees them: who is there, who is late, who must be started or let go. Pure.

    STARTING ──started──▶ WORKING ──scaled down──▶ DRAINING ──owes nothing──▶ STOPPING
        │                    │                        │                          │
        └─────────────late───┴────────────▶ KILLED ◀──┴─────────late─────────────┤
                                               └────────────▶ (exited) ◀─────────┘

Only its exit ends a worker: until it is reaped it may still write, so its tasks stay its own.
"""

from __future__ import annotations

from collections.abc import Iterator

from loader_service.core.clocks import Clocks
from loader_service.core.effects import GiveUp, KillWorker, Note, Send, StartWorker
from loader_service.core.ledger import Ledger, Limits, require
from loader_service.core.ownership import Ownership
from loader_service.core.pace import Paces
from loader_service.core.tasks import PendingTask
from loader_service.core.vacancies import Vacancies
from loader_service.core.worker import Worker, WorkerState
from loader_service.core.worker_starts import WorkerStarts
from loader_service.protocol.messages import Drain

#: A worker has this long to end a late task from the moment on when there is no memory to do it again, in seconds.
_GIVEN_UP_AFTER_S = 0.4

#: To look a member of an enumeration up takes a fifth of a microsecond.
_WORKING, _DRAINING, _KILLED = WorkerState.WORKING, WorkerState.DRAINING, WorkerState.KILLED


class Staff:
    """All workers, and how many there shall be.

    Parameters
    ----------
    ownership
        Told who comes and goes.
    limits
        Deadlines.
    ledger
        Gets the actions.

    Attributes
    ----------
    vacancies
        Who can be given a task.
    working
        Workers that take tasks.
    missing
        Workers that shall be there and are neither working nor starting; negative when there are too many.
    """

    def __init__(self, ownership: Ownership, limits: Limits, ledger: Ledger) -> None:
        self._ownership = ownership
        self._limits = limits
        self._ledger = ledger
        self.vacancies = Vacancies()
        self._workers: dict[int, Worker] = {}
        self._starting = 0
        self.working = self.missing = 0
        self._leaving: set[int] = set()  # work until another one has taken their place
        self._clocks = Clocks()
        self._paces = Paces()
        self._wanted = 0
        self._remote_working = 0
        self._last_number = 0
        self._starts = WorkerStarts()
        self._gave_up = False

    def __iter__(self) -> Iterator[Worker]:
        return iter(list(self._workers.values()))

    def __len__(self) -> int:
        return len(self._workers)

    def get(self, number: int) -> Worker | None:
        """Return a worker that has not exited."""
        return self._workers.get(number)

    @property
    def working_here(self) -> int:
        """Workers that take tasks and are processes of this host."""
        return self.working - self._remote_working

    def next_deadline(self) -> float | None:
        """Return when `kill_late` or `hire` has something to do, None when neither has."""
        deadline = self._clocks.next()
        if self.missing > 0 and not self._hopeless:
            return self._starts.not_before if deadline is None else min(deadline, self._starts.not_before)
        return deadline

    def scale(self, count: int, now: float) -> None:
        """Set how many workers there shall be; the surplus leaves when it has done what it holds.

        Those that still start go first, then those that are late, the one that is longest at its task first, then
        stragglers, and then those that came last.
        """
        self._wanted = count
        self._count()
        self._starts.forgive()
        self.keep([each for each in self if each.is_counted and not (each.leaves or each.node)], count, now)
        self._relieve(now)

    def admit(self, node: str, now: float) -> int:
        """Take in a worker that starts, a remote one by the name of its node; return its number."""
        self._last_number += 1
        worker = self._workers[self._last_number] = Worker(self._last_number, WorkerState.STARTING, None, node=node)
        self._clocks.owe(worker, now + self._limits.start_timeout_s)
        return worker.worker

    def keep(self, staying: list[Worker], count: int, now: float) -> None:
        """Let all but so many of some workers leave when they have done what they hold, as `scale` says."""
        for worker in reversed(sorted(staying, key=lambda each: each.worth(now))[count:]):
            (self._stop if worker.state is WorkerState.STARTING else self._drain)(worker, now)

    def replace(self, number: int) -> bool:
        """Have a worker leave as soon as another one has started in its place; return whether that is news."""
        worker = self._workers.get(number)
        if worker is None or worker.state is not WorkerState.WORKING or worker.leaves or worker.node:
            return False
        worker.leaves = True
        self._leaving.add(number)
        self._count()
        return True

    def hire(self, now: float) -> None:
        """Start the workers that are missing, as soon as the last failures allow."""
        if self.missing <= 0:
            return
        if self._hopeless:
            self._give_up_unless_some_still_start()
            return
        if now < self._starts.not_before:
            return
        for _ in range(self.missing):
            self._starting += 1
            self._ledger.add(StartWorker(self.admit("", now)))
        self._count()

    def started(self, number: int, now: float) -> None:
        """Note that a worker waits for tasks: it gets its files."""
        worker = self._workers.get(number)
        if worker is None or worker.state is not WorkerState.STARTING:
            return
        self._move(worker, WorkerState.WORKING)
        self._clocks.owe(worker, None)
        self._starts.forgive()
        self._ownership.join(number, worker.cost)
        self._relieve(now)

    def give(self, worker: Worker, task: PendingTask, now: float) -> None:
        """Note that a worker was given a task; the clock runs for the one that it is at."""
        worker.tasks.append(task)
        worker.bytes_given += task.work_bytes
        if len(worker.tasks) == 1:
            worker.begin(now, self._ledger.sums)
            self._clocks.begun(worker, worker.task_ends_by(now, self._limits))
        self.vacancies.filled(worker)

    def take_back(self, number: int, task_number: int, now: float, waited_s: float = 0.0) -> PendingTask | None:
        """Return the task that a worker reports as ended, None when it does not hold it (a report said twice)."""
        worker = self._workers.get(number)
        task = worker.drop(task_number, now, self._ledger.sums) if worker else None
        if worker is None or task is None:
            return None
        if task.probe is None:
            worker.pace.ended(task.size_bytes, now, waited_s)
        else:
            worker.pace.begun(now)
        worker.late = False
        if worker.tasks and worker.state is not _KILLED:
            self._clocks.begun(worker, worker.task_ends_by(now, self._limits))
        else:
            self._clocks.clear(worker)
        if worker.state is _WORKING:
            self._judge(worker)
        elif worker.state is _DRAINING and not worker.tasks:
            self._stop(worker, now)
        self.vacancies.update(worker)
        return task

    def overdue(self, now: float) -> list[Worker]:
        """Return the workers that take far longer for a task than they should need; each until it ends one."""
        overdue = self._clocks.overdue(now)
        return [self._workers[number] for number in overdue] if overdue else []

    def distrust(self, worker: Worker) -> None:
        """Give a worker that is late nothing more to do, and its files to the others."""
        if worker.late or worker.state is not WorkerState.WORKING:
            return
        worker.late = True
        self._disown(worker)
        worker.straggles = True
        self.vacancies.update(worker)

    def time_late(self, worker: Worker, now: float, *, nobody_can_help: bool) -> None:
        """Have a worker that is late killed before its deadline when nobody can help; else give it its full time.

        What a worker has died of already has its full time, so what is slow is never given up for want of memory; so
        has a probe, which may load libraries first.
        """
        begun_at, task = worker.pace.begun_at, worker.tasks[0]
        if begun_at is None or worker.deadline is None:
            return
        deadline = worker.task_ends_by(begun_at, self._limits)
        given_up_at = worker.pace.given_up_at(task.size_bytes)
        if nobody_can_help and given_up_at and not (task.strikes or task.probe):
            deadline = min(deadline, worker.deadline, max(given_up_at, now + _GIVEN_UP_AFTER_S))
        if deadline != worker.deadline:
            self._clocks.owe(worker, deadline)

    def kill_late(self, now: float) -> None:
        """Kill the workers whose deadline has passed."""
        while (number := self._clocks.expired(now)) is not None:
            worker = self._workers[number]
            self.kill(number, worker.overdue_words(self._limits.start_timeout_s), now)

    def kill(self, number: int, reason: str, now: float) -> None:
        """Kill a worker, unless that was done; what it holds stays its own until it is reaped."""
        worker = self._workers.get(number)
        if worker is None or worker.state is _KILLED:
            return
        self._leave(worker, reason, now)
        self._move(worker, _KILLED)
        self._clocks.owe(worker, None)
        self._ledger.add(Note(f"worker {number} {reason}; it is killed, and another takes its tasks"))
        self._ledger.add(KillWorker(number))

    def exited(self, number: int, cause: str, now: float) -> Worker | None:
        """Take a reaped worker off the list and return it, with the tasks that it leaves behind."""
        worker = self._workers.pop(number, None)
        if worker is None:
            return None
        self._leave(worker, cause, now)
        if worker.state is not WorkerState.STOPPING:
            self._ledger.counters.workers_lost += 1
        self._clocks.clear(worker)
        self._move(worker, None)
        return worker

    def validate(self) -> None:
        """Raise AssertionError where a worker has what it must not have, or lacks what it must have."""
        owners = [each.worker for each in self if each.state is WorkerState.WORKING and not each.straggles]
        require(sorted(self._ownership.workers) == sorted(owners), "owners are not those that should be", owners)
        for worker in self:
            worker.validate()

    @property
    def _hopeless(self) -> bool:
        """Whether starting yet another worker would be a crash loop."""
        return self._starts.failures >= self._limits.failed_starts and not self.working

    def _leave(self, worker: Worker, cause: str, now: float) -> None:
        """Draw the conclusions from the end of a worker that was counted on."""
        if worker.state is WorkerState.STARTING and not worker.node:
            self._starts.failed(cause, now)
        elif worker.state is WorkerState.WORKING:
            self._disown(worker)
            self._starts.forgive()
        self._stay(worker)

    def _give_up_unless_some_still_start(self) -> None:
        if not (self._gave_up or self._starting):
            self._gave_up = True
            self._ledger.add(GiveUp(self._starts.words))

    def _stop(self, worker: Worker, now: float) -> None:
        cannot_hear = worker.state is WorkerState.STARTING
        self._move(worker, WorkerState.STOPPING)
        self._clocks.owe(worker, now + self._limits.start_timeout_s)
        self._ledger.add(KillWorker(worker.worker) if cannot_hear else Send(worker.worker, Drain()))

    def _drain(self, worker: Worker, now: float) -> None:
        """Let a worker finish what it holds, and go."""
        self._disown(worker)
        self._move(worker, WorkerState.DRAINING)
        self._stay(worker)
        if not worker.tasks:
            self._stop(worker, now)

    def _relieve(self, now: float) -> None:
        """Let those go whose place has been taken."""
        if self._leaving and self.working_here - len(self._leaving) >= self._wanted:
            for number in sorted(self._leaving):
                self._drain(self._workers[number], now)

    def _judge(self, reporter: Worker) -> None:
        """Take the files from a worker that has become far slower than the usual one; give some to one that recovered.

        A worker that reports is judged, and so are those with the usual pace: never are all workers stragglers.
        """
        pace = reporter.pace.s_per_byte
        if pace is None:
            if reporter.straggles:  # it was late, and nothing else is known
                self._trust(reporter)
            return
        self._paces.put(reporter.worker, pace)
        straggles = self._paces.is_straggler(reporter.worker, before=reporter.straggles)
        if straggles and not reporter.straggles:
            self._ownership.leave(reporter.worker)
            reporter.straggles = True
        elif reporter.straggles and not straggles:
            self._trust(reporter)
        elif reporter.node and not straggles:
            cost = self._paces.cost(reporter.worker, before=reporter.cost)
            if cost != reporter.cost:
                reporter.cost = cost
                self._ownership.weigh(reporter.worker, cost)
        usual = self._workers[self._paces.usual]
        if usual.straggles and not usual.late:
            self._trust(usual)

    def _trust(self, worker: Worker) -> None:
        """Give files to a worker that is as fast as the others again."""
        worker.straggles = False
        self._ownership.join(worker.worker, worker.cost)
        self.vacancies.update(worker)

    def _disown(self, worker: Worker) -> None:
        self._paces.forget(worker.worker)
        if not worker.straggles:
            self._ownership.leave(worker.worker)
        worker.straggles = False

    def _stay(self, worker: Worker) -> None:
        """Do not wait any longer for another one to take a worker's place."""
        worker.leaves = False
        self._leaving.discard(worker.worker)
        self._count()

    def _move(self, worker: Worker, state: WorkerState | None) -> None:
        """Change a worker's state; None when it is gone."""
        change = (state is WorkerState.WORKING) - (worker.state is WorkerState.WORKING)
        self.working += change
        self._remote_working += change if worker.node else 0
        self._starting -= worker.state is WorkerState.STARTING and not worker.node
        self._count()
        if state is None:
            self.vacancies.forget(worker)
        else:
            worker.state = state
            self.vacancies.update(worker)

    def _count(self) -> None:
        """Count who is missing, after any change: it is asked for each event."""
        self.missing = self._wanted - self.working_here - self._starting + len(self._leaving)
