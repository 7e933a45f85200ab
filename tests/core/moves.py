"""What may happen next in a world, one function each; which one and to whom is the caller's to choose, by numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from loader_service.core import events as e
from loader_service.core.planned import Lengths
from loader_service.protocol import messages as m
from tests.core.model import Channel, Process, Shape
from tests.core.sources import is_deadly
from tests.core.world import STEPS_PER_EPOCH, World

#: Returns a number from 0 to one less than its argument.
Pick = Callable[[int], int]
Thing = TypeVar("Thing")
#: Makes one thing happen.
Move = Callable[[World, Pick], None]

CLIENTS = (b"train-0", b"train-1", b"eval")
MOST_STREAMS, MOST_WORKERS = 4, 4
_ROW_BYTES = (100, 2**20, 3 * 2**20)  # steps that stay whole, are cut, and are cut into rows


def one_of(things: Sequence[Thing], pick: Pick) -> Thing | None:
    """Choose one, None when there is none."""
    return things[pick(len(things))] if things else None


def _channel(world: World, pick: Pick) -> Channel | None:
    return one_of(list(world.channels.values()), pick)


def _process(world: World, pick: Pick, fits: Callable[[Process], bool]) -> Process | None:
    return one_of([each for each in world.processes.values() if fits(each)], pick)


def open_stream(world: World, pick: Pick) -> None:
    """A client opens a stream."""
    if len(world.door.asked) < MOST_STREAMS:
        client = CLIENTS[pick(len(CLIENTS))]
        lengths = tuple(Lengths)[pick(3)]
        frame_bytes = 0 if lengths is Lengths.ALIKE else _ROW_BYTES[pick(3)] // 4
        shape = Shape(_ROW_BYTES[pick(3)], 2 * pick(2), frame_bytes, lengths, indexed=pick(3) == 0)
        world.ask(client, 2 + pick(3), 1 + pick(6), shape)


def ask_again(world: World, pick: Pick) -> None:
    """A client asks for a stream again, since the answer was lost."""
    asked = one_of(list(world.door.asked.values()), pick)
    if asked:
        world.ask_again(asked.client, asked.request)


def make_segments(world: World, pick: Pick) -> None:
    """The first segments of a stream are made, or cannot be."""
    if world.door.to_make:
        world.make_segments(pick(len(world.door.to_make)), fits=pick(4) > 0)


def hello(world: World, pick: Pick) -> None:
    """A client says hello, perhaps again."""
    world.hello(CLIENTS[pick(len(CLIENTS))])


def beat(world: World, pick: Pick) -> None:
    """A client says that it lives, perhaps one that the service has given up."""
    world.beat(CLIENTS[pick(len(CLIENTS))])


def miss(world: World, pick: Pick) -> None:
    """A message to a client cannot be sent."""
    world.miss(CLIENTS[pick(len(CLIENTS))])


def answer_probe(world: World, pick: Pick) -> None:
    """A worker has tried a transform, or could not read what it is for."""
    process = _process(world, pick, lambda each: each.answers and bool(each.probes))
    if process:
        outcome = pick(6)
        world.probed(process, error="SourceError" if outcome == 0 else "", file=0 if outcome == 1 else -1)


def want_next(world: World, pick: Pick) -> None:
    """A client wants a step."""
    channel = _channel(world, pick)
    if channel:
        world.want(channel.opened.client, channel.opened.stream, channel.last_want + 1, pick(STEPS_PER_EPOCH))


def want_again(world: World, pick: Pick) -> None:
    """A client repeats a want, perhaps one that it forgot."""
    channel = _channel(world, pick)
    want = one_of(list(channel.promises), pick) if channel else None
    if channel and want:
        world.want(channel.opened.client, channel.opened.stream, want, 0)


def want_nonsense(world: World, pick: Pick) -> None:
    """A client wants a step that is none, or of a stream that is not its own, or says what only others must say."""
    channel = _channel(world, pick)
    if channel:
        step, stream, confused = ((-1, 0, False), (STEPS_PER_EPOCH, 0, False), (0, 1, False), (0, 0, True))[pick(4)]
        number = channel.opened.stream + 10**6 * stream
        world.want(channel.opened.client, number, channel.last_want + 1, step, confused=confused)


def forget(world: World, pick: Pick) -> None:
    """A client takes a want back, perhaps one that is over."""
    channel = _channel(world, pick)
    if channel:
        want = one_of([*channel.promises, channel.last_want], pick)
        world.forget(channel.opened.client, channel.opened.stream, want or 0)


def release(world: World, pick: Pick) -> None:
    """A client returns a lease."""
    leased = [each for channel in world.channels.values() for each in channel.promises.values() if each.ready]
    promise = one_of(leased, pick)
    if promise:
        client = world.channels[promise.stream].opened.client
        world.release(client, promise.stream, promise.ready.lease if promise.ready else 0)


def release_nonsense(world: World, pick: Pick) -> None:
    """A client returns a lease that it does not have: returned before, never given, or another client's."""
    channel = _channel(world, pick)
    if channel:
        own = [each.ready.lease for each in channel.promises.values() if each.ready]
        stranger = next(each for each in CLIENTS if each != channel.opened.client)
        client, leases = ((channel.opened.client, [*channel.returned, 10**6]), (stranger, [*own, 1]))[pick(2)]
        world.release(client, channel.opened.stream, leases[pick(len(leases))])


def close(world: World, pick: Pick) -> None:
    """A client gives a stream up, or tries to close another's."""
    channel = _channel(world, pick)
    if channel:
        world.close(CLIENTS[pick(len(CLIENTS))], channel.opened.stream)


def lose_client(world: World, pick: Pick) -> None:
    """A client ends."""
    client = CLIENTS[pick(len(CLIENTS))]
    ways = (e.ClientEnded(client), m.Goodbye(), e.ClientsDisconnected("a flood"))
    way = ways[min(2, pick(8) // 3)]
    if isinstance(way, e.ClientsDisconnected):
        world.door.ending.update(CLIENTS)
    world.lose(client, way)


def start_worker(world: World, pick: Pick) -> None:
    """A worker is ready, perhaps too late."""
    process = _process(world, pick, lambda each: each.answers and not each.started)
    if process:
        world.start(process)


def end_task(world: World, pick: Pick) -> None:
    """A worker comes to the end of a task; its rows are mostly good, and a few kill it."""
    process = _process(world, pick, lambda each: each.answers and bool(each.tasks))
    if process:
        if _dies_at_its_task(process):
            return
        place = pick(len(process.tasks)) if pick(8) == 0 else 0
        rows = process.tasks[place].rows.numbers
        bad = [rows[pick(len(rows))]] if pick(6) == 0 else []
        touched = [row for row in rows if row not in bad][: pick(3)] if pick(12) == 0 else []
        world.end(process, place, [*bad, *bad, 63] if bad and pick(4) == 0 else bad, touched)  # 63: no row of any task


def _dies_at_its_task(process: Process) -> bool:
    process.alive = not any(map(is_deadly, process.tasks[0].rows.samples))
    return not process.alive


def report_again(world: World, pick: Pick) -> None:
    """A worker reports what it reported before, or what it was never given."""
    process = _process(world, pick, lambda each: each.answers)
    if process:
        world.repeat(process, one_of([*process.reported, 10**9], pick) or 0)


def die(world: World, pick: Pick) -> None:
    """A worker dies; nobody knows yet."""
    process = _process(world, pick, lambda each: each.alive and each.started)
    if process:
        process.alive = False


def fail_to_start(world: World, pick: Pick) -> None:
    """A worker dies before it is ready."""
    process = _process(world, pick, lambda each: each.alive and not each.started)
    if process:
        process.alive = False


def grow(world: World, pick: Pick) -> None:
    """A worker has taken too much memory."""
    process = _process(world, pick, lambda each: each.alive)
    if process:
        world.grow(process)


def hang(world: World, pick: Pick) -> None:
    """A worker hangs; it will not say anything any more."""
    process = _process(world, pick, lambda each: each.answers)
    if process:
        process.hung = True


def reap(world: World, pick: Pick) -> None:
    """The end of a worker becomes known."""
    process = _process(world, pick, lambda each: not each.alive or each.condemned or each.dismissed)
    if process:
        world.reap(process)


def scale(world: World, pick: Pick) -> None:
    """The number of workers is changed."""
    world.scale(pick(MOST_WORKERS + 1))


def make_slot(world: World, pick: Pick) -> None:
    """A slot that the scheduler asked for is made, or cannot be."""
    if world.slots_to_make:
        world.make_slot(fits=pick(4) > 0)


def check_file(world: World, pick: Pick) -> None:
    """A file that was touched is looked at again."""
    if world.files_to_check:
        world.check_file(same=pick(5) > 0)


def wait(world: World, pick: Pick) -> None:
    """Time passes: mostly little, sometimes more than any deadline."""
    world.tick((0.0, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0, 2.0, 5.0, 70.0)[pick(10)])


def settle(world: World) -> None:
    """Let everything come to its end without new faults; see that every want is answered and nothing is left."""
    world.scale(max(1, world.wanted_workers))
    for _ in range(100):
        for client in list(world.door.connected):
            world.beat(client)
        world.tick(world.limits.task_timeout_s if any(each.hung for each in world.processes.values()) else 5.0)
        for process in list(world.processes.values()):
            if not process.alive or process.condemned or process.dismissed:
                world.reap(process)
            elif process.answers and not process.started:
                world.start(process)
            while process.answers and process.tasks and not _dies_at_its_task(process):
                world.end(process, 0, ())
            while process.answers and process.probes:
                world.probed(process)
        while world.door.to_make:
            world.make_segments(0, fits=True)
        while world.slots_to_make:
            make_slot(world, lambda _: 0)
        while world.files_to_check:
            world.check_file(same=True)
        while any(each.ready for channel in world.channels.values() for each in channel.promises.values()):
            release(world, lambda _: 0)
        if world.gave_up:
            return  # too many had died while they were starting
    left = [each for channel in world.channels.values() for each in channel.promises.values()]
    assert not left, f"never answered: {left}"
    assert not world.door.pending(), f"never opened nor refused: {world.door.pending()}"
    assert world.scheduler.idle
    for stream in world.scheduler.streams:
        status = stream.status("", 0, 0.0)
        assert (status.slots_filling, status.slots_leased, status.wants_waiting) == (0, 0, 0)
    assert world.scheduler.staff.working == world.wanted_workers == len(world.processes)
