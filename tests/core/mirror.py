"""What the model of the core's tests knows: clients, workers, memory and time as they must be, and no decision."""

from __future__ import annotations

from collections.abc import Sequence

from loader_service.core import effects as a
from loader_service.core.effects import Effect, Send
from loader_service.core.ledger import Limits
from loader_service.core.pace import LATE_S
from loader_service.core.service import Service
from loader_service.core.tasks import PendingTask
from loader_service.protocol import messages as m
from tests.core.door import Asked, Door
from tests.core.model import Channel, Made, OpenStream, Process, Promise
from tests.core.passing import Passing
from tests.core.places import frames_of
from tests.core.planner import ABOUT, ScriptedPlanner
from tests.core.sources import is_irreplaceable


class Mirror:
    """The service, and what is known of all that it talks to.

    Parameters
    ----------
    file_bytes
        Payload of each file.
    limits
        Of the service.
    tries_transforms
        Whether it has a transform.
    """

    def __init__(self, file_bytes: Sequence[int], limits: Limits, *, tries_transforms: bool = False) -> None:
        self.now = 100.0
        self.planner = ScriptedPlanner(tries_transforms=tries_transforms)
        self.service = Service(ABOUT, self.planner, file_bytes, limits, 0, self.now)
        self.scheduler = self.service.scheduler
        self.limits = limits
        self.file_count = len(file_bytes)
        self.events = 0
        self.wanted_workers = 0
        self.failed_starts = 0  # in a row
        self.gave_up = False
        self.answered = 0
        self.processes: dict[int, Process] = {}
        self.channels: dict[int, Channel] = {}
        self.door = Door(limits)
        self.slots_to_make: list[a.MakeSegments] = []  # of streams that are open
        self.files_to_check: list[int] = []
        self.passing = Passing(self.scheduler)
        self._last_plan = self._last_slot = self._last_epoch = 0
        self._unstarted_surplus: set[int] = set()  # workers that the event in hand makes superfluous
        self._made: tuple[int, ...] = ()  # slots that are being reported
        self._gone: list[tuple[int, ...]] = []  # slots that must be removed by the event in hand
        self._dropped: list[int] = []  # streams that end with it
        self._seen: set[tuple[str, int]] = set()  # numbers that must not come twice

    def _relieve(self) -> None:
        """Let the workers go that are too heavy, once enough others have started."""
        working = [each for each in self._standing() if each.started]
        leaving = [each for each in working if each.leaving]
        if len(working) - len(leaving) >= self.wanted_workers:
            for process in leaving:
                process.draining = True

    def _is_late(self, process: Process) -> bool:
        limit = self.limits.start_timeout_s
        if process.in_hand:
            limit = self.limits.probe_timeout_s if process.in_hand[0] < 0 else self.limits.task_timeout_s
        return process.owed_since is not None and process.owed_since + limit <= self.now

    def _standing(self) -> list[Process]:
        """Return the workers that are counted on, the oldest first."""
        away = {each.number for each in self.processes.values() if each.condemned or each.dismissed or each.draining}
        return [each for each in self.processes.values() if each.number not in away]

    def _readiness(self, promise: Promise, made: Made, lease: int) -> m.Ready:
        channel = self.channels[promise.stream]
        return m.Ready(
            stream=promise.stream,
            want=promise.want,
            slot=made.slot,
            lease=lease,
            rows=len(promise.rows),
            frames=frames_of(promise.rows, channel.opened.lengths),
            substituted=len(made.attempts),
        )

    def _channel_of(self, client: bytes, stream: int) -> Channel | None:
        channel = self.channels.get(stream)
        return channel if channel and channel.opened.client == client else None

    def _promise_of(self, task: m.Task) -> tuple[Channel | None, Promise | None]:
        channel = self.channels.get(task.stream)
        promises = channel.promises.values() if channel else ()
        return channel, next((each for each in promises if each.epoch == task.epoch), None)

    def _writing_to(self, slot: int | None) -> list[m.Task]:
        return [task for process in self.processes.values() for task in process.tasks if task.slot == slot]

    def _no_one_has_slot(self, slot: int) -> None:
        assert not self._writing_to(slot), f"slot {slot} can still be written by a process that was not reaped"
        promises = [each for channel in self.channels.values() for each in channel.promises.values()]
        alive = [each for each in promises if not each.forgotten]
        holders = [each for each in alive if (each.ready.slot == slot if each.ready else slot in each.made)]
        assert not holders, f"slot {slot} belongs to {holders}"

    def _someone_is_late(self) -> bool:
        """Return whether a worker has been at a task for so long that it may be done again elsewhere."""
        since = [each.owed_since for each in self.processes.values() if each.in_hand and each.owed_since is not None]
        return any(each + LATE_S <= self.now for each in since)

    def _file_of(self, channel: Channel, promise: Promise, made: Made, row: int) -> int:
        """Return the file of what is in a row by now."""
        sample = promise.rows[row].sample + made.attempts.get(row, 0)
        return channel.opened.source.rows_of((sample,), (0,))[0].file

    def _strike(self, channel: Channel, promise: Promise, made: Made, row: int) -> None:
        made.strikes[row] = made.strikes.get(row, 0) + 1
        if made.strikes[row] >= self.limits.strikes:
            self._fail_row(channel, promise, made, row)

    def _fail_row(self, channel: Channel, promise: Promise, made: Made, row: int) -> None:
        made.strikes[row] = 0
        made.attempts[row] = made.attempts.get(row, 0) + 1
        if made.attempts[row] > channel.opened.substitutes or is_irreplaceable(promise.rows[row].sample):
            made.beyond_help.add(row)

    def _let_go_if_over(self, channel: Channel, promise: Promise) -> None:
        tasks = [task for process in self.processes.values() for task in process.tasks]
        if promise.forgotten and not any(
            (each.stream, each.epoch) == (promise.stream, promise.epoch) for each in tasks
        ):
            channel.promises.pop(promise.want, None)

    def _expect_retired(self, answers: list[Effect]) -> None:
        """Hold against the model which slots are removed, and what workers are told of streams that have ended."""
        gone, self._gone = self._gone, []
        dropped, self._dropped = self._dropped, []
        removed = [each.slots for each in answers if isinstance(each, a.RemoveSegments)]
        removed = [each for each in removed if not self._is_given_up(each, answers)]
        assert sorted(map(sorted, removed)) == sorted(map(sorted, gone))
        told = [
            (each.peer, each.message.stream)
            for each in answers
            if isinstance(each, Send) and isinstance(each.message, m.DropStream)
        ]
        there = [each.number for each in self.processes.values() if each.connected]
        assert sorted(told) == sorted((number, stream) for stream in dropped for number in there)

    def _is_given_up(self, slots: tuple[int, ...], answers: list[Effect]) -> bool:
        """Return whether slots are taken from a stream that lives: then they are nobody's, and all are told."""
        channel = next((each for each in self.channels.values() if set(slots) <= set(each.slots)), None)
        if channel is None:
            return False
        number = channel.opened.stream
        for slot in slots:
            self._no_one_has_slot(slot)
            channel.removed.append(slot)
        told = [each.message for each in answers if isinstance(each, Send) and each.peer == channel.opened.client]
        assert any(isinstance(each, m.Resized) and each.removed[-len(slots) :] == slots for each in told)
        dropped = [
            each.peer for each in answers if isinstance(each, Send) and each.message == m.DropSlots(number, slots)
        ]
        assert dropped == [each.number for each in self.processes.values() if each.connected]
        lent = sum(each.ready is not None for each in channel.promises.values())
        assert len(channel.slots) >= max(2, lent + 1), "a slot must be left to fill"
        return True

    def _fresh(self, kind: str, number: int) -> None:
        assert (kind, number) not in self._seen, f"{kind} {number} was there before"
        self._seen.add((kind, number))

    def _no_one_idles_while_tasks_wait(self) -> None:
        waiting: list[PendingTask] = list(self.scheduler._queues)
        free = [each for each in self.scheduler.staff if each.has_room and not (each.tasks or each.straggles)]
        assert not waiting or not free, f"{free} do nothing while {waiting} wait"

    def _open(self, asked: Asked, opened: m.Opened) -> None:
        assert opened.slots == len(self._made)
        source = self.planner.streams[asked.request].source
        shape = asked.shape
        made = OpenStream(
            asked.client, opened.stream, self._made, source, shape.substitutes, shape.lengths, shape.indexed
        )
        self.channels[opened.stream] = Channel(made, asked.row_count)

    def _retire(self, channel: Channel) -> None:
        """Let a stream be gone, whose slots must go with the event in hand."""
        del self.channels[channel.opened.stream]
        self._gone.append(channel.slots)
        self._dropped.append(channel.opened.stream)
