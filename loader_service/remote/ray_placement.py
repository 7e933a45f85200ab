"""Places remote workers as actors of a Ray cluster, and starts them again; the one file that imports ray.

A process of its own beside the daemon: what Ray does to the process that speaks with it, it does to this one. Ray ends
the actors when this process ends, however that happens.
"""

from __future__ import annotations

import os
import socket
import sys
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import ray
from ray.exceptions import RayError

from loader_service.cluster_options import CLIENT_SCHEME
from loader_service.remote.placement_lines import PlacementLines
from loader_service.remote.remote_options import RemoteWorkerOptions

#: How long a cluster may take to take a connection, in seconds.
_ANSWERS_S = 5.0

#: How often it looks at its actors, in seconds.
_LOOK_S = 0.25

#: How long an actor may wait for its place before people are told, and a surplus one may take to leave, in seconds.
_WAITS_S, _LEAVES_S = 5.0, 15.0

#: The pause after an actor that failed, in seconds: at first, and at the most. Begins anew after one that lived long.
_FIRST_PAUSE_S, _LAST_PAUSE_S, _LONG_S = 0.5, 30.0, 30.0

#: How long the same line is not said again, in seconds.
_SAID_S = 60.0

#: Cores that an actor takes of its node.
_CORES = 1


class _RemoteWorkerActor:
    """A remote worker, wherever Ray has room for it."""

    def place(self) -> str:
        """Return the node, once the actor has its place."""
        return os.uname().nodename

    def serve(self, options: dict[str, Any], columns: dict[str, Any]) -> dict[str, str]:
        """Be a remote worker; see `serve_columns`."""
        try:
            from loader_service.remote.actor_body import serve_columns  # noqa: PLC0415 - a node may not have it

            return serve_columns(options, columns)
        except Exception as error:  # noqa: BLE001 - whatever what this node has raises; Ray would make a traceback of it
            return {"node": os.uname().nodename, "line": _why_failed(error)}


@dataclass
class _Placed:
    """One actor."""

    actor: Any
    place: Any  # reference of its node's name; ready when it has a place
    served: Any  # reference of why it ended
    since: float


@dataclass
class _Crew:
    """All actors of one service.

    Parameters
    ----------
    lines
        Say what people must know.
    options, columns
        What each actor is given; references of objects in Ray's store.
    """

    lines: PlacementLines
    options: dict[str, Any]
    columns: Any
    actors: list[_Placed] = field(default_factory=list)
    pause_s: float = _FIRST_PAUSE_S
    not_before: float = 0.0
    surplus_since: float | None = None
    said: dict[str, float] = field(default_factory=dict)

    def turn(self, workers: int, now: float) -> None:
        """Let go of who has ended, and of who is too many; start who is missing."""
        if self.actors:
            done, _ = ray.wait([each.served for each in self.actors], num_returns=len(self.actors), timeout=0)
            for placed in [each for each in self.actors if each.served in done]:
                self.actors.remove(placed)
                self._end(placed, now, is_missed=len(self.actors) < workers)
        self._thin_out(workers, now)
        while len(self.actors) < workers and now >= self.not_before:
            self._start(now)
        self._tell_of_waiting(now)

    def close(self) -> None:
        """End all actors."""
        for each in self.actors:
            ray.kill(each.actor)

    def _start(self, now: float) -> None:
        actor = ray.remote(_RemoteWorkerActor).options(num_cpus=_CORES, max_restarts=0).remote()
        self.actors.append(_Placed(actor, actor.place.remote(), actor.serve.remote(self.options, self.columns), now))

    def _end(self, placed: _Placed, now: float, *, is_missed: bool) -> None:
        why = _why_ended(placed)
        ray.kill(placed.actor)
        if now - placed.since > _LONG_S:
            self.pause_s = _FIRST_PAUSE_S
        self.not_before = now + self.pause_s
        if is_missed:
            self.pause_s = min(2 * self.pause_s, _LAST_PAUSE_S)
            self._say(f"a remote worker {why}; another is placed", now)

    def _thin_out(self, workers: int, now: float) -> None:
        """End actors that are too many: those without a place at once, others when they have not left by themselves."""
        surplus = len(self.actors) - workers
        if surplus <= 0:
            self.surplus_since = None
            return
        self.surplus_since = self.surplus_since or now
        is_late = now - self.surplus_since > _LEAVES_S
        for each in self.actors[workers:] if is_late else self._waiting()[:surplus]:
            ray.kill(each.actor)
            self.actors.remove(each)

    def _waiting(self) -> list[_Placed]:
        """Return the actors that have no place yet."""
        if not self.actors:
            return []
        _, waiting = ray.wait([each.place for each in self.actors], num_returns=len(self.actors), timeout=0)
        return [each for each in self.actors if each.place in waiting]

    def _tell_of_waiting(self, now: float) -> None:
        """Say what is missing when actors wait for their place for long."""
        waiting = [each for each in self._waiting() if now - each.since > _WAITS_S]
        free = ray.available_resources().get("CPU", 0) if waiting else 0
        if waiting and free < _CORES:  # else they are on their way
            cores = ray.cluster_resources().get("CPU", 0)
            have = len(self.actors) - len(waiting)
            self._say(
                f"{have} of {len(self.actors)} remote workers have a place, {len(waiting)} wait: the cluster has "
                f"{cores:g} cores, {free:g} of them free, and each takes {_CORES}; add nodes, or scale --ray {have}",
                now,
            )

    def _say(self, line: str, now: float) -> None:
        if now - self.said.get(line, -_SAID_S) >= _SAID_S:
            self.said = {each: when for each, when in self.said.items() if now - when < _SAID_S}
            self.said[line] = now
            self.lines.say("note", line=line)


def _why_ended(placed: _Placed) -> str:
    """Return why an actor ended, in words that follow its name."""
    try:
        ended = ray.get(placed.served)
    except RayError as error:
        words = " ".join(str(error).split())
        because = words.partition("The actor died because ")[2].partition(". ")[0]
        return f"is gone: {because or words.partition(' class_name: ')[0][:200]}"
    return f"on node {ended['node']} has ended: {ended['line']}"


def _why_failed(error: Exception) -> str:
    """Return why an actor cannot work where it is: in the same words each time, so that they are said once."""
    if isinstance(error, ModuleNotFoundError):
        return f"there is no {error.name!r} there; install loader-service on all nodes, the same version"
    return f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"


def _connect(cluster: str) -> str:
    """Connect to a cluster; return by which address it knows this host."""
    os.chdir("/")  # Ray has actors import from the folder where it is called, before all others
    host, colon, port = cluster.removeprefix(CLIENT_SCHEME).rpartition(":")
    if colon and port.isdecimal():  # Ray would try for a minute
        socket.create_connection((host.strip("[]"), int(port)), _ANSWERS_S).close()
    ray.init(address=cluster, namespace=f"loader-service-{os.getpid()}", log_to_driver=False, logging_level="ERROR")
    return str(ray.util.get_node_ip_address())


def _why_unreachable(why: str) -> str:
    """Return what to do where Ray's own words are these."""
    if "Version mismatch" in why:
        return f"the cluster has other versions ({why}); install the same Python and the same Ray here and on all nodes"
    return (
        f"no Ray cluster can be reached ({why}); start one with `ray start --head`, or join this host to it with "
        "`ray start --address=HEAD:6379 --num-cpus=0`, or give ray://HEAD:10001, for which it need be no node; where "
        "the cluster asks for a token, set RAY_AUTH_MODE=token here too; see `ray status`"
    )


def _columns(folder: str) -> Any:
    """Put a catalog into Ray's store, from where each node gets it once."""
    return ray.put({path.name: np.fromfile(path, np.uint8) for path in Path(folder).iterdir() if path.is_file()})


def _shared(options: RemoteWorkerOptions) -> dict[str, Any]:
    return {**asdict(options), "catalog_folder": ""}


def main() -> int:
    """Keep as many actors alive as the daemon says."""
    lines = PlacementLines()
    cluster = sys.argv[2]
    try:
        address = _connect(cluster)
    except (RayError, OSError, RuntimeError, ValueError, ImportError) as error:
        lines.say("failed", line=_why_unreachable(" ".join(str(error).split())[:300]))
        return 1
    lines.say("connected", address=address)
    crew: _Crew | None = None
    while not lines.is_over:
        lines.hear(_LOOK_S)
        if crew is None and lines.options is not None:
            crew = _Crew(lines, _shared(lines.options), _columns(lines.options.catalog_folder))
        if crew is not None:
            crew.turn(lines.workers, time.monotonic())
    if crew is not None:
        crew.close()
    ray.shutdown()
    return 0


if __name__ == "__main__":
    sys.exit(main())
