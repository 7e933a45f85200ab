"""What a session has its owner do, and what its owner tells it beside messages; one frozen dataclass each. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from loader_client.patience import PrivateProcess
from loader_client.session.delivery import StreamAtService
from loader_client.session.pending import Pending
from loader_service.errors import LoaderError
from loader_service.protocol.messages import FromClient, Heartbeat, Hello

# ------------------------------------------------------------------------------------------------ session → owner


class Enqueue(NamedTuple):
    """Put a message behind those that are to be sent; they go with the next `Flush`, or beat, in this order.

    No dataclass, as `Settled` is none, since some are made for each step.
    """

    message: FromClient


@dataclass(frozen=True)
class Flush:
    """Send what is waiting now, or as soon as a connection stands."""


@dataclass(frozen=True)
class DropUnsent:
    """Forget what is waiting: the service that it was meant for does not know us any more."""


@dataclass(frozen=True)
class SendNow:
    """Send a message before those that wait, if a connection stands; else not at all, for it is said again soon."""

    message: Hello | Heartbeat


@dataclass(frozen=True)
class MapSlot:
    """Map a slot's memory, unless it is mapped, and say how that went: `SlotMapped` or `SlotMissing`."""

    at: StreamAtService
    slot: int
    want: int  # whose answer lies there


@dataclass(frozen=True)
class UnmapSlots:
    """Let go of the memory of slots of a stream, of all unless said otherwise; batches that are read keep theirs."""

    at: StreamAtService
    slots: tuple[int, ...] | None = None


class Settled(NamedTuple):
    """Wake who waits for this."""

    pending: Pending


@dataclass(frozen=True)
class Warn:
    """Tell people."""

    line: str


@dataclass(frozen=True)
class EndSession:
    """Have everyone who waits, or will ask, get an error: nothing will come of this session any more."""

    error: LoaderError


Effect = Enqueue | Flush | DropUnsent | SendNow | MapSlot | UnmapSlots | Settled | Warn | EndSession

# ------------------------------------------------------------------------------------------------ owner → session


@dataclass(frozen=True)
class Ticked:
    """Time has passed; tells of a private service, if it is one."""

    process: PrivateProcess | None = None


@dataclass(frozen=True)
class Connected:
    """A connection stands again, after a message found none."""


@dataclass(frozen=True)
class SlotMapped:
    """The slot of an answer is readable from now on, even when its service ends."""

    at: StreamAtService
    want: int


@dataclass(frozen=True)
class SlotMissing:
    """The slot of an answer cannot be mapped."""

    at: StreamAtService
    want: int
    error: LoaderError


Event = Ticked | Connected | SlotMapped | SlotMissing
