"""The service, its clients, and all that is between them; knows no chance but what it is given."""

from __future__ import annotations

import functools
from collections.abc import Callable

from loader_service.core.events import ClientEnded
from loader_service.protocol import messages as m
from tests.ends.clients import Client
from tests.ends.daemon import Daemon
from tests.ends.memory import Memory
from tests.ends.rows import Planner
from tests.ends.surroundings import Surroundings
from tests.ends.timeline import Timeline
from tests.ends.weather import CALM, Pick, Weather

#: Slots that fit into the memory: so few that streams are short of them, and as many as all could want.
BUDGETS = (9, 16, 64)


class World:
    """All of it.

    Parameters
    ----------
    pick
        Chance.
    """

    def __init__(self, pick: Pick) -> None:
        self.timeline = Timeline()
        self.pick = pick
        self.weather: Weather = CALM
        self.is_lossy = pick(2) == 0  # whether messages of clients may be lost within a connection
        self.memory = Memory(BUDGETS[pick(len(BUDGETS))])
        self._around = Surroundings(self.timeline, pick, self.memory)
        self.planner = Planner(tries_transforms=pick(4) == 0)
        self.workers = 1 + pick(3)
        self.daemon: Daemon | None = None
        self.clients: list[Client] = []
        self.excuses: set[str] = set()
        self._past_events = self._past_delivered = 0
        self._runs = self._addresses = 0
        self._connections: dict[bytes, int] = {}  # the number of each that stands
        self._latest: dict[int, float] = {}  # when the latest message to the service arrives, by connection
        self._last_connection = 0
        self.start_daemon()

    # ---- figures

    @property
    def events(self) -> int:
        """Messages and events so far, of both ends."""
        living = sum(each.events for each in self.clients) + (self.daemon.events if self.daemon else 0)
        return self._past_events + living

    @property
    def delivered(self) -> int:
        """Steps that trainers got."""
        return self._past_delivered + sum(each.delivered for each in self.clients)

    # ---- beginnings and ends

    def start_daemon(self) -> None:
        """Start the service, if there is none."""
        if self.daemon is not None:
            return
        for instance in {owner for owner, _ in self.memory.slots}:
            self.memory.unlink_all(instance)
        self._runs += 1
        self.daemon = Daemon(self._runs, self._around, self.planner, self.workers, self._to_client, self._over)
        for client in self.clients:
            self._connect_later(client)

    def kill_daemon(self) -> None:
        """End the service at once; what was on its way is lost."""
        if self.daemon is not None:
            self._past_events += self.daemon.events
            self.daemon.die()
            self.daemon = None
            self._connections.clear()

    def _over(self, _again: bool) -> None:
        self.kill_daemon()
        self.timeline.after(0.3, self.start_daemon)  # by itself, or because people want to go on

    def begin_client(self) -> Client:
        """Start a trainer."""
        self._addresses += 1
        client = Client(b"client-%d" % self._addresses, self._around, self._to_service, self.excuses)
        self.clients.append(client)
        self._connect_later(client)
        return client

    def end_client(self, client: Client, *, is_noticed: bool) -> None:
        """Take a client that has died or left out of the world; the daemon hears of its end, sooner or later."""
        self.clients.remove(client)
        self._past_events += client.events
        self._past_delivered += client.delivered
        self._connections.pop(client.address, None)
        if is_noticed and self.daemon is not None:
            self.timeline.after(0.01, functools.partial(self._notice, self.daemon, client.address))

    def _notice(self, daemon: Daemon, address: bytes) -> None:
        daemon.happened(ClientEnded(address))

    # ---- connections

    def disconnect(self, client: Client) -> None:
        """Cut a client's connection; what was on its way is lost, and a new one is made."""
        self._connections.pop(client.address, None)
        self._connect_later(client)

    def _connect_later(self, client: Client) -> None:
        self.timeline.after(0.05 + 0.01 * self.pick(30), functools.partial(self._connect, client))

    def _connect(self, client: Client) -> None:
        if self.daemon is not None and client.is_alive and client.address not in self._connections:
            self._last_connection += 1
            self._connections[client.address] = self._last_connection
            client.connected()

    def _to_service(self, address: bytes, message: m.FromClient) -> bool:
        connection = self._connections.get(address)
        if connection is None:
            return False

        def arrive() -> None:
            if self._connections.get(address) == connection and self.daemon is not None:
                self.daemon.receive(address, message)

        # A hello overtakes nothing: what was meant for an earlier run of the service never comes after it, since
        # ZeroMQ keeps the order within a connection.
        earliest = self._latest.get(connection, 0.0) if isinstance(message, m.Hello) else 0.0
        self._latest[connection] = max(self._latest.get(connection, 0.0), *self._carry(arrive, earliest), 0.0)
        return True

    def _to_client(self, address: bytes, message: m.ToClient) -> bool:
        connection = self._connections.get(address)
        client = next((each for each in self.clients if each.address == address), None)
        if connection is None or client is None:
            return False

        def arrive() -> None:
            if self._connections.get(address) == connection:
                client.hear(message)

        self._carry(arrive)
        return True

    def _carry(self, arrive: Callable[[], None], earliest: float = 0.0) -> list[float]:
        """Have a message arrive as the weather is; return when."""
        fates = self.weather.fates(self.pick)
        return [self.timeline.at(max(earliest, self.timeline.now + delay_s), arrive) for delay_s in fates]
