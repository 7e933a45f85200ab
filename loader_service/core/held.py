"""Tasks that wait until somebody has looked at a file again, since its time or inode has changed. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from loader_service.core.tasks import PendingTask


class HeldTasks:
    """Tasks by the file that they wait for; each has rows of that file only, and is in no queue."""

    def __init__(self) -> None:
        self._by_file: dict[int, list[PendingTask]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._by_file.values()))

    def __iter__(self) -> Iterator[PendingTask]:
        return (task for tasks in self._by_file.values() for task in tasks)

    def put(self, task: PendingTask) -> bool:
        """Hold a task; return whether it is the first that waits for its file."""
        tasks = self._by_file.setdefault(task.file, [])
        tasks.append(task)
        return len(tasks) == 1

    def take(self, file: int) -> list[PendingTask]:
        """Let the tasks go that wait for a file."""
        return self._by_file.pop(file, [])

    def drop(self, stream: int, want: int | None = None) -> list[PendingTask]:
        """Remove and return the tasks of a stream, or of one want of it; what was asked of their files stays asked."""
        dropped = [task for task in self if task.stream == stream and want in (None, task.want)]
        self._by_file = {file: [t for t in tasks if t not in dropped] for file, tasks in self._by_file.items()}
        return dropped
