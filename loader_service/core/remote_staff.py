"""Remote workers as far as they differ from those of this host: they come by themselves, and are asked for. Pure.

Once one has its number it is a worker as any other, and `Staff` has it.
"""

from __future__ import annotations

from loader_service.core.effects import AdmitRemote, DismissRemote, PlaceRemote
from loader_service.core.events import ReceiverSeen, RemoteCame
from loader_service.core.ledger import Ledger
from loader_service.core.staff import Staff
from loader_service.core.worker import Worker


class RemoteStaff:
    """How many remote workers there shall be, and who is let in.

    Parameters
    ----------
    staff
        Has all workers.
    most
        How many there may be; 0 for a service without a cluster.
    ledger
        Gets the deeds.
    """

    def __init__(self, staff: Staff, most: int, ledger: Ledger) -> None:
        self._staff = staff
        self._most = most
        self._ledger = ledger
        self._wanted = 0

    def scale(self, count: int, now: float) -> None:
        """Set how many there shall be; the surplus leaves when it has done what it holds."""
        if self._most and count != self._wanted:
            self._wanted = count
            self._staff.keep(self._counted(), count, now)
            self._ledger.add(PlaceRemote(count))

    def close(self, now: float) -> None:
        """Let all leave, and none come, since the service ends."""
        self.scale(0, now)

    def came(self, event: RemoteCame, now: float) -> None:
        """Give a remote worker that came a number, if it is wanted."""
        if len(self._counted()) < self._wanted:
            self._ledger.add(AdmitRemote(event.arrival, self._staff.admit(event.node, now)))
        else:
            self._ledger.add(DismissRemote(event.arrival))

    def receiver_seen(self, event: ReceiverSeen, _now: float) -> None:
        """Take note of what receiving their rows has taken."""
        counters = self._ledger.counters
        counters.receiver_cpu_ms, counters.received_bytes = event.cpu_ms, event.received_bytes

    def _counted(self) -> list[Worker]:
        """Return those that start or work."""
        return [each for each in self._staff if each.node and each.is_counted]
