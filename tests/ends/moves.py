"""What may happen next in a world, one function each; which one and to whom is the caller's to choose, by numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from loader_client.session.lookahead import Position
from loader_service.core import events as e
from loader_service.protocol import messages as m
from tests.ends.clients import Client, Cursor, OpenStream
from tests.ends.daemon import LIMITS
from tests.ends.rows import STEPS, spec_of
from tests.ends.weather import CALM, LOSSLESS, LOSSY, Pick
from tests.ends.workers import Worker
from tests.ends.world import World

MOST_CLIENTS, MOST_STREAMS, MOST_CURSORS, MOST_WORKERS = 3, 2, 3, 4

#: Makes one thing happen.
Move = Callable[[World, Pick], None]
_Thing = TypeVar("_Thing")

#: After so long in good weather nobody is halted any more, and no outage lasts, in seconds.
_OVER_S = 55.0

#: After so long everything has come that is asked for then, in seconds: twice as long as until it is asked for again.
_SETTLED_S = 5.0

#: A step takes no longer then, in seconds: less than until it is asked for again.
_PROMPT_S = 1.5


def _one_of(things: Sequence[_Thing], pick: Pick) -> _Thing | None:
    return things[pick(len(things))] if things else None


def _client(world: World, pick: Pick) -> Client | None:
    return _one_of([each for each in world.clients if not each.is_halted], pick)


def _stream(world: World, pick: Pick) -> tuple[Client, OpenStream] | None:
    client = _client(world, pick)
    stream = _one_of([each for each in client.streams if each.is_open], pick) if client else None
    return (client, stream) if client and stream else None


def _worker(world: World, pick: Pick) -> Worker | None:
    workers = list(world.daemon.workers.values()) if world.daemon else []
    return _one_of([each for each in workers if each.is_alive], pick)


# ---- trainers


def begin(world: World, pick: Pick) -> None:
    """A trainer starts."""
    if len(world.clients) < MOST_CLIENTS:
        open_stream(world, pick, world.begin_client())


def open_stream(world: World, pick: Pick, client: Client | None = None) -> None:
    """A trainer opens a stream."""
    client = client or _client(world, pick)
    if client and len(client.streams) < MOST_STREAMS:
        client.open(spec_of(pick(4), substitutes=pick(2) == 0, prefetch=1 + pick(4)))


def read(world: World, pick: Pick) -> None:
    """A trainer begins one more iterator."""
    found = _stream(world, pick)
    if found and len(found[1].cursors) < MOST_CURSORS:
        found[0].read(found[1], (pick(3), pick(STEPS)))


def give_up(world: World, pick: Pick) -> None:
    """A trainer drops an iterator, be it in the middle of a call."""
    found = _stream(world, pick)
    cursor = _one_of(found[1].cursors, pick) if found else None
    if found and cursor:
        found[0].give_up(cursor)


def drop(world: World, pick: Pick) -> None:
    """A trainer drops a batch that it held for long."""
    client = _client(world, pick)
    batch = _one_of(client.held, pick) if client else None
    if client and batch:
        client.drop(batch)


def close_stream(world: World, pick: Pick) -> None:
    """A trainer closes a stream, be it open or not."""
    client = _client(world, pick)
    stream = _one_of(client.streams, pick) if client else None
    if client and stream:
        client.close(stream)


def ask(world: World, pick: Pick) -> None:
    """A client asks for the status, or for the catalog."""
    client = _client(world, pick)
    if client:
        client.ask_service((m.GetStatus, m.GetCatalog)[pick(2)])


def scale(world: World, pick: Pick) -> None:
    """A client, or a signal, asks for another number of workers."""
    client, world.workers = _client(world, pick), 1 + pick(MOST_WORKERS)
    if client and pick(2):
        client.ask_service(lambda request: m.Scale(request, world.workers))
    elif world.daemon:
        world.daemon.happened(e.ScaleWanted(world.workers))


def leave(world: World, pick: Pick) -> None:
    """A trainer ends as it should."""
    client = _client(world, pick)
    if client:
        client.leave()
        world.timeline.after(0.1, lambda: None)
        world.end_client(client, is_noticed=pick(2) == 0)


def kill_client(world: World, pick: Pick) -> None:
    """A trainer dies; its daemon sees that, or misses it."""
    client = _one_of(world.clients, pick)
    if client:
        client.die()
        world.end_client(client, is_noticed=pick(3) > 0)


def halt_client(world: World, pick: Pick) -> None:
    """A trainer is stopped for a while, perhaps for longer than its service waits."""
    client = _client(world, pick)
    if client:
        client.is_halted = True
        world.excuses.add("a client was halted")
        world.timeline.after((0.3, 3.0, 25.0)[pick(3)], lambda: client.go_on() if client.is_alive else None)


# ---- the service


def kill_daemon(world: World, pick: Pick) -> None:
    """The daemon dies, and comes back, perhaps later than its clients wait."""
    world.excuses.add("the daemon died")
    world.kill_daemon()
    world.timeline.after((0.2, 1.0, 5.0, 50.0)[min(3, pick(12))], world.start_daemon)


def stop(world: World, pick: Pick) -> None:
    """Somebody stops the service or has it begin anew."""
    client = _client(world, pick)
    if client and pick(3):
        world.excuses.add("the service was stopped")
        client.ask_service((m.Stop, m.Restart)[pick(2)])
    elif world.daemon and pick(2):
        world.excuses.add("the service was stopped")
        world.daemon.happened(e.StopWanted("a test stops it"))


def kill_worker(world: World, pick: Pick) -> None:
    """A worker dies."""
    worker = _worker(world, pick)
    if worker and worker.is_started:
        world.excuses.add("a worker died")
        worker.die()


def halt_worker(world: World, pick: Pick) -> None:
    """A worker is stopped for a while, perhaps for longer than a task may take."""
    worker = _worker(world, pick)
    if worker and not worker.is_halted and worker.is_started:
        world.excuses.add("a worker was halted")
        worker.halt()
        world.timeline.after((0.2, 1.0, 4.0, 20.0)[pick(4)], worker.go_on)


def slow_worker(world: World, pick: Pick) -> None:
    """A worker is slower from now on."""
    worker = _worker(world, pick)
    if worker:
        worker.slowness = (1, 3, 20)[pick(3)]


def overweight_worker(world: World, pick: Pick) -> None:
    """A worker has too much memory."""
    worker = _worker(world, pick)
    if worker and world.daemon:
        world.daemon.happened(e.WorkerOverweight(worker.number))


# ---- the channel


def change_weather(world: World, pick: Pick) -> None:
    """Messages are lost, doubled and late from now on, or no more."""
    weathers = LOSSY if world.is_lossy else LOSSLESS
    world.weather = weathers[pick(len(weathers))]


def disconnect(world: World, pick: Pick) -> None:
    """A connection breaks, and another one is made."""
    client = _one_of(world.clients, pick)
    if client and world.is_lossy:
        world.disconnect(client)


def lose_clients(world: World, pick: Pick) -> None:
    """The daemon's socket is made anew."""
    if world.daemon and pick(3) == 0:
        for client in world.clients:
            world.disconnect(client)
        world.daemon.happened(e.ClientsDisconnected("the socket was made anew"))


def wait(world: World, pick: Pick) -> None:
    """Time passes."""
    world.timeline.run((0.01, 0.05, 0.2, 1.0)[pick(4)])


#: How often each of them happens.
WEIGHTS: dict[Move, int] = {
    begin: 6, open_stream: 4, read: 6, give_up: 4, drop: 6, close_stream: 2, ask: 3, scale: 2, leave: 1, kill_client: 1,
    halt_client: 1, kill_daemon: 1, stop: 1, kill_worker: 3, halt_worker: 3, slow_worker: 2, overweight_worker: 1,
    change_weather: 4, disconnect: 1, lose_clients: 1, wait: 60,
}  # fmt: skip


# ---- the end


def calm(world: World) -> None:
    """Good weather: all that waits must come in time, and more."""
    world.weather = CALM
    world.start_daemon()
    for client in world.clients:
        client.thinks_s = 1.0
    for worker in world.daemon.workers.values() if world.daemon else ():
        worker.slowness = 1
    world.timeline.run(_OVER_S)
    world.excuses.clear()
    for client in world.clients:
        for batch in list(client.held):
            client.drop(batch)
    waiting = [(each, each.position) for client in world.clients for s in client.streams for each in s.cursors]
    deadline = world.timeline.now + _SETTLED_S
    while not _is_settled(world, waiting):
        assert world.timeline.now < deadline, f"what was asked for never comes: {_unsettled(world, waiting)}"
        world.timeline.run(0.2)
    if not world.is_lossy:
        _check_promptness(world)


def _check_promptness(world: World) -> None:
    """Raise AssertionError when a step comes late though nothing was lost, as if it had to be asked for twice."""
    for _ in range(20):
        world.timeline.run(0.2)
        cursors = [each for client in world.clients for stream in client.streams for each in stream.cursors]
        waits = [world.timeline.now - each.asked_at for each in cursors if each.pending is not None]
        assert max(waits, default=0.0) < _PROMPT_S, f"a step comes late: {max(waits)} s"


_Waiting = list[tuple[Cursor, Position]]


def _is_settled(world: World, waiting: _Waiting) -> bool:
    return not _unsettled(world, waiting)


def _unsettled(world: World, waiting: _Waiting) -> list[object]:
    """Return requests, streams and cursors that wait for what they waited for."""
    left: list[object] = [each for client in world.clients for each in client.requests if not each.is_settled]
    left += [each for client in world.clients for each in client.streams if not each.is_open]
    return left + [each for each, position in waiting if each.position == position and not each.is_dropped]


def end(world: World) -> None:
    """Everyone leaves: nothing may stay."""
    calm(world)
    for client in list(world.clients):
        for stream in list(client.streams):
            client.close(stream)
    world.timeline.run(5.0)
    for client in list(world.clients):
        _check_session_is_empty(client)
    if not world.is_lossy:  # else a client that says that it closes a stream may not have been heard
        check_service_is_empty(world)
    for client in list(world.clients):
        client.leave()
        world.timeline.run(1.0)
        world.end_client(client, is_noticed=False)
    world.timeline.run(LIMITS.client_timeout_s + 1.0)
    check_service_is_empty(world)


def _check_session_is_empty(client: Client) -> None:
    session = client.session
    assert not client.mapped, f"slots stay mapped: {client.mapped}"
    left = (session._streams, session._numbers, session._opening, session._requests._open)
    assert not any(left), f"a session keeps {left}"


def check_service_is_empty(world: World) -> None:
    """Raise AssertionError when the service keeps something of clients that keep nothing."""
    assert world.daemon is not None
    streams = list(world.daemon.service.scheduler.streams)
    assert not streams, f"the service keeps streams that nobody has: {streams}"
    assert not world.memory.slots, f"slots stay: {list(world.memory.slots)}"
