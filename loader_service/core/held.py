"""Tasks that wait until somebody has looked at a file again, since its time or inode has changed. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from loader_service.core.tasks import PendingTask


class HeldTasks:
    """Tasks by the file that they wait for; each has rows of that file only, and is in no queue."""

    def __init__(self) -> None:
        self._by_file: dict[int, list[PendingTask]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._by_file.values()))

    def __iter__(self) -> Iterator[PendingTask]:
        return (task for tasks in self._by_file.values() for task in tasks)

    def put(self, task: PendingTask) -> None:
        """Hold a task."""
        self._by_file.setdefault(task.file, []).append(task)

    def take(self, file: int) -> list[PendingTask]:
        """Let the tasks go that wait for a file."""
        return self._by_file.pop(file, [])

    def drop(self, tasks: Iterable[int]) -> list[PendingTask]:
        """Remove and return those of these tasks that are held; what was asked of their files stays asked."""
        if not self._by_file:
            return []
        numbers = set(tasks)
        dropped = [task for task in self if task.task in numbers]
        for file in {task.file for task in dropped}:
            self._by_file[file] = [task for task in self._by_file[file] if task.task not in numbers]
        return dropped
