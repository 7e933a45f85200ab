"""The leases of one stream at one service, by number: which are out, and which came back; knows no memory.

The protocol of a lease: the service fills a slot and names it in `Ready`. From then on the slot is this client's to
read, until it sends `Release`. An answer may come twice, so returned leases are remembered for a while. A `Release` may
be lost, so the want whose lease was returned last is remembered by slot. The service heard of all earlier ones, since
it has used the slot again; of that one it need not have heard.
"""

from __future__ import annotations

from collections.abc import Iterable

from loader_client.session.delivery import StreamAtService
from loader_service.protocol.messages import Ready, Resized

#: Returned leases that are remembered: more than there are answers on their way.
_REMEMBERED = 1024


class LeaseBook:
    """Leases by number.

    Parameters
    ----------
    at
        The stream at its service. When all slots are lent but those of the steps that are wanted ahead, batches are
        copied and their slots returned at once, so a client that hoards batches can never leave the service without
        a slot to fill.
    """

    def __init__(self, at: StreamAtService) -> None:
        self._slots = at.opened.slots
        self._resizes = at.opened.resizes
        self._most_lent = max(1, at.opened.slots - at.opened.prefetch) if at.large else 0
        self._held: dict[int, Ready] = {}  # by lease: answers that came, until they are returned
        self._lent: set[int] = set()
        self._returned: dict[int, None] = {}
        self._last: dict[int, Ready] = {}  # by slot: of the leases that were returned, the one given last

    def resize(self, resized: Resized) -> bool:
        """Take note that the stream has another number of slots; return whether that is news."""
        if resized.resizes <= self._resizes:
            return False
        self._resizes, self._slots = resized.resizes, resized.slots
        self._most_lent = max(1, resized.slots - resized.prefetch) if self._most_lent else 0
        return True

    @property
    def lent(self) -> int:
        """Leases of batches whose memory the trainer holds."""
        return len(self._lent)

    @property
    def free(self) -> int:
        """Slots that the trainer does not hold."""
        return self._slots - len(self._lent)

    @property
    def is_full(self) -> bool:
        """Whether all slots are ours, so the service has none left to fill."""
        return len(self._held) >= self._slots

    @property
    def unsure(self) -> Iterable[int]:
        """Wants of whose end the service need not have heard."""
        return [ready.want for ready in self._last.values()]

    def knows(self, lease: int) -> bool:
        """Return whether a lease was said before."""
        return lease in self._held or lease in self._returned

    def take(self, ready: Ready) -> None:
        """Take note of a lease that is ours from now on."""
        self._held[ready.lease] = ready

    def drop(self, lease: int) -> None:
        """Take a lease for one that was never said: the service will say it again."""
        del self._held[lease]

    def lend(self, lease: int) -> bool:
        """Return whether a batch may stay in its slot; if so it is lent from now on."""
        if len(self._lent) >= self._most_lent:
            return False
        self._lent.add(lease)
        return True

    def end(self, lease: int) -> bool:
        """Take note that nobody reads a slot any more; return whether that is news."""
        ready = self._held.pop(lease, None)
        if ready is None:
            return False
        self._lent.discard(lease)
        before = self._last.get(ready.slot)
        if before is None or ready.lease > before.lease:  # an answer that came late is returned after later ones
            self._last[ready.slot] = ready
        self._returned[lease] = None
        if len(self._returned) > _REMEMBERED:
            del self._returned[next(iter(self._returned))]
        return True
