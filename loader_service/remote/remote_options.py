"""What receiver, placement and remote workers are told at their start; all of it travels through pipes, or by Ray."""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from loader_service import __version__
from loader_service.errors import ConfigError
from loader_service.remote.run_keys import RunKeys

if TYPE_CHECKING:
    from typing_extensions import Self


#: Arrivals of one receiver; those of the next one begin after them.
ARRIVALS = 2**32


class _FromLine:
    """Options that came as a line, or by Ray."""

    @classmethod
    def of(cls, plain: Mapping[str, Any]) -> Self:
        """Return what `asdict` took apart."""
        return cls(**{**plain, "keys": RunKeys(**plain["keys"])})

    @classmethod
    def told(cls) -> Self:
        """Return what this process, which the service has started, was told through its standard input."""
        line = sys.stdin.buffer.readline()
        if not line:
            sys.exit("this program is started by the service; it is not for people")
        return cls.of(json.loads(line))


@dataclass(frozen=True)
class RemoteWorkerOptions(_FromLine):
    """What a remote worker is told.

    Parameters
    ----------
    address
        Of the receiver, as ``tcp://HOST:PORT``.
    keys
        Of this run, without the receiver's secret.
    version, decoder, catalog
        What must be equal at both ends: of this package, of the libraries that make pixels, of what the files hold.
    task_timeout
        Seconds that a task may take.
    catalog_folder
        Where the columns lie, for who shares this host; else they come through Ray.
    url_secrets
        Queries and passwords of the URLs of files, as `kept_secrets` has them.
    """

    address: str
    keys: RunKeys
    version: str
    decoder: str
    catalog: str
    task_timeout: float = 60.0
    catalog_folder: str = ""
    url_secrets: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class ReceiverOptions(_FromLine):
    """What the receiver is told.

    Parameters
    ----------
    receiver
        Its number: one that is started again has the next one.
    workers_address
        Of the daemon's socket for workers.
    instance
        Names the folder of the segments.
    address, descriptor
        Where it listens, and the socket that does, which it inherits.
    keys
        Of this run.
    catalog
        Fingerprint of what the files hold.
    files
        How many these are.
    """

    receiver: int
    workers_address: str
    instance: str
    address: str
    descriptor: int
    keys: RunKeys
    catalog: str
    files: int


def line_of(options: object) -> bytes:
    """Return a dataclass as a line for a child's standard input."""
    return json.dumps(asdict(options)).encode("ascii") + b"\n"  # type: ignore[call-overload]


@functools.cache
def decoder_words() -> str:
    """Return the libraries that make pixels, and their versions: other ones may make others of the same file."""
    return ", ".join(f"{name} {_version(distributions)}" for name, distributions in _DECODERS)


_DECODERS = (
    ("simplejpeg", ("simplejpeg",)),
    (
        "OpenCV",
        ("opencv-python-headless", "opencv-python", "opencv-contrib-python-headless", "opencv-contrib-python"),
    ),
)


def _version(distributions: tuple[str, ...]) -> str:
    from importlib import metadata  # noqa: PLC0415 - 20 ms, which a service without remote workers saves

    for name in distributions:
        try:
            return metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return "unknown"


def differences(ours: Mapping[str, str], theirs: Mapping[str, str]) -> list[str]:
    """Return what differs between two ends, each by name, with what is expected and found."""
    return [f"{name} {theirs[name]!r} instead of {ours[name]!r}" for name in ours if ours[name] != theirs[name]]


def own_versions() -> dict[str, str]:
    """Return what must be equal wherever rows of one training are made."""
    return {"version": __version__, "decoder": decoder_words()}


def check_versions(told: Mapping[str, Any], node: str) -> None:
    """Make sure that this node has what it is told to have; asked before anything else that it is told is looked at.

    Raises
    ------
    ConfigError
        When it has other versions: names the node, and what is expected and found.
    """
    ours = own_versions()
    wrong = differences({name: str(told.get(name)) for name in ours}, ours)
    if wrong:
        raise ConfigError(f"node {node} has {'; '.join(wrong)}: install the same versions there")
