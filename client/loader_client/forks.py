"""Lets a forked child find every lock free, and tells in it what was its parent's; knows not what the locks guard.

A child has one thread: that which forked. A lock that another thread of the parent held is locked in the child for
ever, and what it guards may be half changed. So who forks takes the locks first, which waits for the others to leave
them, microseconds as a rule, and both processes give them back.

The thread that forks may itself be in the middle of a wait: signal handlers run there, and may fork. In the child that
wait goes on, for what no thread will ever bring. So who owns a lock is told, and ends its waits.
"""

from __future__ import annotations

import os
import threading
import time
import weakref
from typing import Any, NamedTuple, Protocol

#: How long a fork may be put off until other threads have left all locks, in seconds.
_PATIENCE_S = 1.0


class Owner(Protocol):
    """Who is told of a fork."""

    def forked(self) -> None:
        """Leave everything to the parent; called in a child by its only thread, which holds the lock."""


class _Taken(NamedTuple):
    lock: Any
    owner: Owner | None
    in_time: bool


class Forks:
    """The locks that forks of this process go around. Any thread may use it."""

    def __init__(self) -> None:
        self._watched: dict[int, tuple[weakref.ref[Any], weakref.ref[Owner] | None]] = {}
        self._here = threading.local()  # what a thread took for its forks: a signal handler may fork amid another one

    def watch(self, lock: Any, owner: Owner | None = None) -> None:
        """Have children find a lock free, and its owner told; kept for as long as there is the lock.

        Parameters
        ----------
        lock
            A `threading.Condition` or `threading.RLock`, which its owner may take again. Never held for long.
        owner
            Whose it is; not kept alive.
        """
        key, watched = id(lock), self._watched
        told = None if owner is None else weakref.ref(owner)
        watched[key] = (weakref.ref(lock, lambda _: watched.pop(key, None)), told)

    def before(self) -> None:
        """Take all locks; one that is not to be had in time is left to who holds it."""
        deadline = time.monotonic() + _PATIENCE_S
        taken: list[_Taken] = []
        self._here.forks = [*getattr(self._here, "forks", ()), taken]
        for lock_of, owner_of in list(self._watched.values()):
            lock = lock_of()
            owner = None if owner_of is None else owner_of()
            if lock is not None:
                in_time = lock.acquire(timeout=max(0.0, deadline - time.monotonic()))
                taken.append(_Taken(lock, owner, in_time))

    def in_parent(self) -> None:
        """Give all locks back."""
        for taken in self._end():
            if taken.in_time:
                taken.lock.release()

    def in_child(self) -> None:
        """Tell the owners, and give all locks back, those of threads that are not here too."""
        for lock, owner, in_time in self._end():
            if not in_time:  # another thread has it. The name is not public, and there is no public one.
                getattr(lock, "_lock", lock)._at_fork_reinit()  # noqa: SLF001
                lock.acquire()
            if owner is not None:
                owner.forked()
            lock.release()

    def _end(self) -> list[_Taken]:
        taken: list[_Taken] = self._here.forks.pop()
        return taken


#: One process, one registry.
FORKS = Forks()
os.register_at_fork(before=FORKS.before, after_in_parent=FORKS.in_parent, after_in_child=FORKS.in_child)
