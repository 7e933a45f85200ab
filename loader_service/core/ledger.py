"""What the parts of the scheduler write to in common: actions to carry out, counts of what happened. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field

from loader_service.core.actions import Action, Refuse


@dataclass(frozen=True)
class Limits:
    """Deadlines and bounds, in seconds and counts."""

    task_timeout_s: float = 60.0  # a worker that takes longer for one task is hung
    start_timeout_s: float = 60.0  # a worker that takes longer to start, or to stop when asked to, is hung
    strikes: int = 3  # workers that one row may kill before it is a bad sample
    failed_starts: int = 3  # workers in a row that may fail to start, while none works, before the service gives up
    wants_per_slot: int = 4  # wants a stream may have open; a client has one per slot, and one for each thread of its
    least_wants: int = 64  # … or so many, where slots are few: each thread of a client waits for one


@dataclass
class Counters:
    """How often each thing happened since the start."""

    workers_lost: int = 0
    workers_recycled: int = 0
    rows_reassigned: int = 0
    tasks_stolen: int = 0
    steps_redone: int = 0  # in another slot, since a worker was late with rows of them
    samples_bad: int = 0
    samples_substituted: int = 0
    messages_refused: int = 0


@dataclass
class Ledger:
    """The actions of the event in hand, and the counters."""

    actions: list[Action] = field(default_factory=list)
    counters: Counters = field(default_factory=Counters)

    def add(self, action: Action) -> None:
        """Ask the shell for something."""
        self.actions.append(action)

    def refuse(self, client: str, message: str) -> None:
        """Tell a client that its message makes no sense now."""
        self.counters.messages_refused += 1
        self.actions.append(Refuse(client, message))

    def take(self) -> list[Action]:
        """Return the actions and begin anew."""
        taken, self.actions = self.actions, []
        return taken


def require(condition: bool, story: str, *about: object) -> None:
    """Raise AssertionError with `story` and `about` unless `condition` holds; also under ``python -O``."""
    if not condition:
        raise AssertionError(f"{story}: {about}" if about else story)
