"""What a step costs each part of a service, and which part is full first, for any number of workers and trainers.

Arithmetic alone: constants in, rates out. The constants are those of `docs/benchmarks.md` and `docs/scale.md`;
`python -m benchmarks.scale_check` measures those that depend on the machine, and compares what is predicted with runs.

`python -m benchmarks.scale_model` prints the tables of `docs/scale.md`.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import inf

#: Workers, and trainers, that the tables are for.
SIZES = (1, 16, 128, 1000)

#: Shares of remote workers that are tried.
_SHARES = 200


@dataclass(frozen=True)
class Work:
    """What a trainer asks for: a step of clips.

    Parameters
    ----------
    rows, frames
        Clips in a step, and frames in a clip.
    decode_s
        CPU of a worker for a frame: read, decode, resize, write.
    jpeg_bytes, pixel_bytes
        Of a frame, as it is read, and as it leaves.
    """

    rows: int = 16
    frames: int = 16
    decode_s: float = 222e-6
    jpeg_bytes: int = 22_000
    pixel_bytes: int = 256 * 342 * 3

    @property
    def worker_s(self) -> float:
        """CPU of workers for a step."""
        return self.rows * self.frames * self.decode_s

    @property
    def step_bytes(self) -> int:
        """Bytes of a batch."""
        return self.rows * self.frames * self.pixel_bytes


@dataclass(frozen=True)
class Constants:
    """What the parts cost, in seconds of one core.

    Parameters
    ----------
    core_step_s, core_task_s
        The scheduler: of a step, and of each of its tasks.
    loop_step_s, loop_task_s
        The daemon's loop around it: sockets, encoding, the system's calls.
    client_step_s
        The trainer's side: a `py_function`, a lease, DLPack.
    receive_s_per_byte
        The receiver beside the daemon, of rows of remote workers.
    network_bytes_per_s
        Of the host's link.
    read_calls_per_s
        Reads that the file system serves, of all hosts together; each clip is one.
    """

    core_step_s: float = 32e-6
    core_task_s: float = 15.5e-6
    loop_step_s: float = 150e-6
    loop_task_s: float = 60e-6
    client_step_s: float = 0.7e-3
    receive_s_per_byte: float = 0.3e-9
    network_bytes_per_s: float = 1.25e9
    read_calls_per_s: float = inf


@dataclass(frozen=True)
class Host:
    """A training host.

    Parameters
    ----------
    cores
        That the service may use, receiver and daemon among them.
    local, remote
        Workers here and elsewhere.
    trainers
        That share the service.
    """

    cores: float = 16
    local: int = 16
    remote: int = 0
    trainers: int = 1


@dataclass(frozen=True)
class Prediction:
    """How many steps a second each part can do, and so all of them together.

    Parameters
    ----------
    limits
        Steps a second by part.
    remote_share
        Of the rows, that remote workers deliver.
    """

    limits: dict[str, float]
    remote_share: float = 0.0

    @property
    def rate(self) -> float:
        """Steps a second."""
        return min(self.limits.values())

    @property
    def full(self) -> str:
        """The part that is full first."""
        return min(self.limits, key=lambda name: self.limits[name])


def owners_of(rows: int, workers: int) -> float:
    """Return among how many workers the rows of a step are expected to lie: as many tasks has a step.

    Each row lies in a file drawn evenly, so a worker has none of them with probability ``(1 - 1/workers) ** rows``.
    """
    return workers * (1 - (1 - 1 / workers) ** rows) if workers else 0.0


def core_s(work: Work, workers: int, constants: Constants) -> float:
    """Return the CPU of the scheduler for a step."""
    return constants.core_step_s + constants.core_task_s * owners_of(work.rows, workers)


def daemon_s(work: Work, workers: int, constants: Constants) -> float:
    """Return the CPU of the daemon for a step; it is one thread."""
    tasks = owners_of(work.rows, workers)
    return core_s(work, workers, constants) + constants.loop_step_s + constants.loop_task_s * tasks


def predict(work: Work, host: Host, constants: Constants) -> Prediction:
    """Return how many steps a second a host gets, with the share of remote workers at which that is most.

    Ownership follows what workers deliver, so that is the share that they end up with. Local workers share their cores
    with the daemon and the receiver; what trainers take of the cores is theirs, and not counted here.
    """
    shares = [0.0] if not host.remote else [number / _SHARES for number in range(_SHARES + 1)]
    return max((_with_share(work, host, constants, share) for share in shares), key=lambda found: found.rate)


def _with_share(work: Work, host: Host, constants: Constants, share: float) -> Prediction:
    remote_bytes = share * work.step_bytes
    workers = (host.local if share < 1 else 0) + (host.remote if share else 0)
    daemon = daemon_s(work, workers, constants)
    receive = remote_bytes * constants.receive_s_per_byte
    local_s, remote_s = (1 - share) * work.worker_s, share * work.worker_s
    limits = {
        "local workers": _rate(host.local, local_s),
        "remote workers": _rate(host.remote, remote_s),
        "cores": _rate(host.cores, local_s + daemon + receive),
        "daemon": _rate(1, daemon),
        "client": _rate(host.trainers, constants.client_step_s),
        "receiver": _rate(1, receive),
        "network": _rate(constants.network_bytes_per_s, remote_bytes),
        "file system": _rate(constants.read_calls_per_s, work.rows),
    }
    return Prediction(limits, share)


def _rate(there_is: float, a_step_takes: float) -> float:
    return there_is / a_step_takes if a_step_takes else inf


def remote_pays(work: Work, constants: Constants) -> float:
    """Return what decoding a frame costs here, by what its arrival from elsewhere costs here: above 1, remote pays."""
    return work.decode_s / (work.pixel_bytes * constants.receive_s_per_byte)


#: What the tables are for.
WORKS = {
    "256 x 342, as they are": Work(),
    "1080p to 224²": Work(decode_s=7.8e-3, jpeg_bytes=870_000, pixel_bytes=224 * 224 * 3),
    "1080p packed to short side 256": Work(decode_s=1.0e-3, jpeg_bytes=77_000, pixel_bytes=224 * 224 * 3),
}


def lines(constants: Constants) -> Iterator[str]:
    """Yield the lines of the two tables of `docs/scale.md`."""
    yield "| a step of 16 clips of 16 frames | workers | tasks | scheduler | daemon | all local: steps/s | full first |"
    yield "|---|---|---|---|---|---|---|"
    for name, work in WORKS.items():
        for workers in SIZES:
            found = predict(work, Host(cores=workers, local=workers), constants)
            core, loop = (1e6 * cost(work, workers, constants) for cost in (core_s, daemon_s))
            yield (
                f"| {name} | {workers:,} | {owners_of(work.rows, workers):.1f} | {core:.0f} µs | {loop:.0f} µs | "
                f"{found.rate:.1f} | {found.full} |"
            )
    yield ""
    yield "| 16 local workers, and | remote ones | steps/s | their share | full first | arrival : decoding |"
    yield "|---|---|---|---|---|---|"
    for name, work in WORKS.items():
        for remote in (0, 16, 112, 984):
            found = predict(work, Host(cores=16, local=16, remote=remote), constants)
            yield (
                f"| {name} | {remote} | {found.rate:.1f} | {found.remote_share:.0%} | {found.full} | "
                f"1 : {remote_pays(work, constants):.1f} |"
            )


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale_model", description=__doc__)
    parser.add_argument("--encrypt", action="store_true", help="rows of remote workers come by CURVE")
    parser.add_argument("--gbit", type=float, default=10.0, help="of the host's link")
    args = parser.parse_args()
    receive = 0.7e-9 if args.encrypt else Constants().receive_s_per_byte
    print("\n".join(lines(replace(Constants(), receive_s_per_byte=receive, network_bytes_per_s=args.gbit / 8 * 1e9))))


if __name__ == "__main__":
    main()
