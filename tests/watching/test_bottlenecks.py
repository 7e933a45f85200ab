"""Real services in which one thing at a time is made the bottleneck: the verdict names it, and its remedy works."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

import loader_client
from loader_client import Clip, Frame
from loader_client.two_looks import look_twice
from loader_service.control_groups import usable_cores
from loader_service.watching.rates import rates
from loader_service.watching.verdict import StreamVerdict, verdicts
from tests.support.machine import at_most
from tests.support.services import Service, command_line, running_service
from tests.support.waiting import eventually

#: Within so many seconds people know what a trainer waits for, on a machine with nothing else to do; 1 or 2 is usual.
_KNOWN_S = 10.0

#: How long a thread may take to end, in seconds.
_PATIENCE_S = 100.0


@dataclass(frozen=True)
class Scene:
    """A service, and a trainer that takes so many seconds for a step."""

    kind: str
    said: str
    step_s: float = 0.0
    options: Mapping[str, Any] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    stream: Mapping[str, Any] = field(default_factory=lambda: {"clip": Clip(1)})
    disturb: Callable[[int, threading.Event], object] = lambda _, __: None


def brake(worker: int, over: threading.Event) -> None:
    """Let a worker run for a sixteenth of the time: not so slowly that the service does its tasks again."""
    with suppress(ProcessLookupError):  # it is replaced meanwhile
        while not over.is_set():
            os.kill(worker, signal.SIGSTOP)
            over.wait(0.45)
            os.kill(worker, signal.SIGCONT)
            over.wait(0.03)


SLOW_FRAMES = {"LOADER_SERVICE_FAILPOINTS": "worker.frame_written=delay"}

SCENES: dict[str, Scene] = {
    "trainer": Scene("trainer", "the data waits for the trainer", step_s=0.05, options={"workers": 3}),
    "decoding": Scene("decoding", r"decoding takes \d+% of the workers' work", environment=SLOW_FRAMES),
    "cores": Scene(
        "decoding",
        r"decoding takes \d+% of the workers' work",
        options={"workers": usable_cores(), "ray": "processes"},
        environment=SLOW_FRAMES,
    ),
    "transform": Scene(
        "transform",
        r"your transform 'tests.watching.slow_code:slow' takes \d+% of the workers' work",
        options={"transform": "tests.watching.slow_code:slow"},
    ),
    "reading": Scene(
        "reading",
        r"reading takes \d+% of the workers' work: your own source, source 'tests.daemon.own_sources:SlowItems'",
        options={"source": "tests.daemon.own_sources:SlowItems"},
        stream={"clip": Frame()},
    ),
    "memory": Scene(
        "memory",
        r"it has 2 of \d+ slots of",
        options={"memory": 100_000, "workers": 4},
        environment=SLOW_FRAMES,
    ),
    "lookahead": Scene(
        "lookahead",
        "steps come late though the workers have time: they are wanted too late",
        options={"workers": 4},
        environment=SLOW_FRAMES,
        stream={"batch_size": 1, "clip": Clip(1), "prefetch": 1},
    ),
    "receiver": Scene(
        "receiver",
        r"rows of remote workers arrive too slowly, for \d+% of these workers' time; the receiver takes \d+% of a core",
        options={"ray": "processes", "ray_workers": 1},
        environment={"LOADER_SERVICE_FAILPOINTS": "receiver.rows=delay;worker.task_received[1]=delay"},
    ),
    "slow_worker": Scene(
        "slow_worker",
        r"the workers have time but for worker \d \(pid \d+\), which "
        r"(is at one task for [\d.]+ s|takes \d+ times as long as the others), now 'f\dv\d' of",
        options={"memory": 100_000, "workers": 3},
        disturb=brake,
    ),
}  # fmt: skip


@contextmanager
def training(service: Service, scene: Scene) -> Iterator[loader_client.Connection]:
    """Train in a thread until the end, and yield a connection."""
    over = threading.Event()
    trainers: list[loader_client.Connection] = []

    def train() -> None:
        with loader_client.connect(service.endpoint) as connection:
            trainers.append(connection)
            try:
                for _ in connection.batches(**{"batch_size": 4, "epochs": None, **scene.stream}):
                    if over.wait(scene.step_s) if scene.step_s else over.is_set():
                        return
            except loader_client.LoaderError:
                if not over.is_set():
                    raise

    threads = [threading.Thread(target=train)]
    threads[0].start()
    try:
        with loader_client.connect(service.endpoint) as connection:
            eventually(lambda: sum(each.steps_done for each in connection.status().streams) > 1, "it trains")
            threads.append(threading.Thread(target=scene.disturb, args=(service.worker_pids[0], over)))
            threads[1].start()
            yield connection
    finally:
        over.set()
        threads[0].join(1.0)
        for each in trainers:  # it may wait for a step that takes long
            each.fail(loader_client.LoaderError("the test is over"))
        for thread in threads:
            thread.join(_PATIENCE_S)


def verdict_of(connection: loader_client.Connection, kind: str) -> tuple[StreamVerdict, float]:
    """Return the verdict once it is of a kind, with steps a second; the last one when it never is."""
    deadline = time.monotonic() + at_most(_KNOWN_S)
    while True:
        looks = look_twice(connection)
        (verdict,) = verdicts(*looks, connection.endpoint)
        if verdict.kind == kind or time.monotonic() > deadline:
            return verdict, rates(*looks).streams[verdict.stream].steps_per_s


def steps_per_s(connection: loader_client.Connection) -> float:
    """Return how fast the one stream is, over a short time."""
    before = connection.status()
    time.sleep(0.5)
    return next(iter(rates(before, connection.status()).streams.values())).steps_per_s


def advised(verdict: StreamVerdict, scene: Scene) -> Scene:
    """Return a scene with what is advised for the next start, or for the stream; the same where nothing of it is."""
    memory = re.search(r"start it with --memory (\S+) \(now ", verdict.advice)
    prefetch = re.search(r"look further ahead: prefetch=(\d+) in loader_client\.dataset\(…\)", verdict.advice)
    options = {**scene.options, **({"memory": memory[1]} if memory else {})}
    return replace(
        scene, options=options, stream={**scene.stream, **({"prefetch": int(prefetch[1])} if prefetch else {})}
    )


@pytest.mark.parametrize(
    "name", [pytest.param(each, marks=pytest.mark.ray) if "ray" in SCENES[each].options else each for each in SCENES]
)
def test_each_bottleneck_that_is_made_on_purpose_is_found(name: str, small_videos: Path) -> None:
    scene = SCENES[name]
    files = [] if "source" in scene.options else [small_videos / "*.h5"]
    options = {"workers": 1, **scene.options}
    with (
        running_service(*files, environment=scene.environment, **options) as service,
        training(service, scene) as connection,
    ):
        verdict, before = verdict_of(connection, scene.kind)
        assert verdict.kind == scene.kind, verdict
        assert re.search(scene.said, verdict.summary), verdict
        assert verdict.waiting is not None
        assert (verdict.waiting < 0.05) is (scene.kind == "trainer")
        assert scene.kind == "slow_worker" or not connection.status().faults
        assert scene.kind != "trainer" or "would do: `loader-service scale" in verdict.advice
        for command in re.findall(r"`loader-service (scale .*?)`", verdict.advice):
            done = subprocess.run(command_line(*command.split()), capture_output=True, text=True, check=True)
            assert re.fullmatch(r"\d+ → \d+ (remote )?workers?\n", done.stdout)
            if verdict.kind == "trainer":
                left = int(command.split()[1])
                eventually(lambda left=left: len(connection.status().workers) == left, "the others are gone")
                assert verdict_of(connection, "trainer")[0].kind == "trainer", "fewer do"
            else:
                eventually(lambda: steps_per_s(connection) > 1.3 * before, "more steps with more workers")
        for worker in re.findall(r"`kill (\d+)`", verdict.advice):
            os.kill(int(worker), signal.SIGTERM)
            eventually(lambda: steps_per_s(connection) > 1.3 * before, "more steps without the slow worker")
        if "ray" in scene.options and scene.kind == "decoding":
            assert "remote worker" in verdict.advice
        elif scene.kind == "decoding":
            more = "1 more worker would help" if usable_cores() == 2 else "more workers would help"
            assert more in verdict.advice or usable_cores() == 1
    followed = advised(verdict, scene)
    assert (followed == scene) is (scene.kind not in ("memory", "lookahead")), verdict
    if followed != scene:
        with (
            running_service(*files, environment=scene.environment, **{"workers": 1, **followed.options}) as service,
            training(service, followed) as connection,
        ):
            after, _ = verdict_of(connection, "decoding")
            assert after.kind == "decoding", f"{after} after {verdict}"
            if scene.kind == "lookahead":  # the first look has the stream's beginning in it
                eventually(lambda: steps_per_s(connection) > 1.3 * before, "more steps that are wanted sooner")
