"""Kills parts of a service with remote workers at random, compares each batch: `python -m tests.remote.kills SECONDS`.

The parts are actors, raylets, the receiver, the placement and the daemon. The service is supervised, the cluster has a
node without cores, which is this host, and one that is killed and joins again. Prints one line of JSON, and exits with
code 1 where a batch was lost, doubled or wrong, or a process or actor is left.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import loader_client
from tests.remote.scene import SPEC, digest, steps
from tests.support import processes
from tests.support.services import running_service
from tests.support.videos import make_videos, write_videos
from tests.support.waiting import eventually

_NODE = {"num_cpus": 2, "object_store_memory": 80_000_000}
_EVERY_S = (2.0, 8.0)


def actors() -> list[int]:
    """Return the pids of all living actors of this project on this host."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it has ended meanwhile
            if b"_RemoteWorkerActor" in (place / "cmdline").read_bytes() and processes.is_alive(int(place.name)):
                found.append(int(place.name))
    return found


class Kills:
    """What is killed, and how often it was."""

    def __init__(self, cluster: object, seed: int) -> None:
        self.count: Counter[str] = Counter()
        self._cluster = cluster
        self._node = cluster.add_node(**_NODE)  # type: ignore[attr-defined]
        self._random = random.Random(seed)
        self._next = time.monotonic() + _EVERY_S[1]

    def turn(self, daemon: int) -> None:
        """Kill something when it is time."""
        if time.monotonic() < self._next:
            return
        self._next = time.monotonic() + self._random.uniform(*_EVERY_S)
        kind = self._random.choice(["actor", "actor", "raylet", "receiver", "ray_placement", "daemon"])
        if kind == "raylet":
            self._swap_node()
            return
        found: dict[str, Callable[[], list[int]]] = {"actor": actors, "daemon": lambda: [daemon]}
        victims = found[kind]() if kind in found else of_daemon(daemon, kind)
        if victims:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._random.choice(victims), signal.SIGKILL)
                self.count[kind] += 1

    def _swap_node(self) -> None:
        """Kill the node, and let another one join; one that did not come the last time is tried again."""
        if self._node is not None:
            self._cluster.remove_node(self._node, allow_graceful=False)  # type: ignore[attr-defined]
            self.count["raylet"] += 1
        self._node = None
        try:
            self._node = self._cluster.add_node(**_NODE)  # type: ignore[attr-defined]
        except Exception as error:  # noqa: BLE001 - Ray raises no other, where its node does not start in time
            print(f"no node has joined: {error}", file=sys.stderr)


def of_daemon(daemon: int, module: str) -> list[int]:
    return [pid for pid, words in processes.children(daemon).items() if f"loader_service.remote.{module}" in words]


def main() -> int:
    """Run for so many seconds."""
    from ray.cluster_utils import Cluster  # noqa: PLC0415 - only here

    os.environ["RAY_raylet_start_wait_time_s"] = "120"  # noqa: SIM112 - Ray's name; the machine may be busy
    seconds, seed = float(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
    processes.adopt_orphans()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_RUNTIME_DIR"] = os.environ["XDG_CACHE_HOME"] = folder
        for file in range(4):
            videos = make_videos([12, 9, 20, 30], height=240, width=320, seed=file, prefix=f"f{file}v")
            write_videos(Path(folder) / f"{file}.h5", "group_vlen", videos)
        files = Path(folder) / "*.h5"
        with running_service(files, workers=1) as service, loader_client.connect(service.endpoint) as it:
            expected = list(steps(it, epochs=20))
        cluster = Cluster(initialize_head=True, head_node_args={**_NODE, "num_cpus": 0, "include_dashboard": False})
        try:
            found = _train(cluster, files, expected, seconds, seed)
        finally:
            cluster.shutdown()
        left = eventually(lambda: not actors(), "all actors to end")
    print(json.dumps({**found, "actors_left": not left}))
    return int(bool(found["wrong"]))


def _train(cluster: object, files: Path, expected: list[str], seconds: float, seed: int) -> dict[str, object]:
    kills = Kills(cluster, seed)
    options = {"workers": 1, "ray": cluster.address, "ray_workers": 2, "supervise": True}  # type: ignore[attr-defined]
    batches = wrong = 0
    longest, pauses = 0.0, []
    with running_service(files, **options) as service, loader_client.connect(service.endpoint) as connection:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            last = time.monotonic()
            for number, batch in enumerate(connection.batches(**{**SPEC, "epochs": 20})):
                wrong += digest(batch) != expected[number]
                batches += 1
                pause, last = time.monotonic() - last, time.monotonic()
                longest = max(longest, pause)
                pauses += [round(pause, 1)] if pause > 1 else []
                kills.turn(connection.status().pid)
                last = time.monotonic()
                time.sleep(0.02)  # a trainer's step
            wrong += number + 1 != len(expected)
    return {"batches": batches, "wrong": wrong, "longest_pause_s": round(longest, 1), "pauses": pauses, **kills.count}


if __name__ == "__main__":
    sys.exit(main())
