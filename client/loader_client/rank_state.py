"""How far a stream is, as a value that a training keeps with its checkpoint. Pure: knows no service and no file.

With it a training goes on with as many ranks as before, or with others.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from dataclasses import dataclass
from typing import Any

from loader_service.errors import ConfigError
from loader_service.protocol.consumed import Consumed, ResumedEpoch
from loader_service.protocol.numbers import whole_number
from loader_service.protocol.spec import Spec

#: Of what `to_json` writes; another one is not read.
_FORMAT = 1

#: Fields of a spec that decide which sample comes when; they are the same in all states of a training.
_ORDER = ("seed", "shuffle", "drop_remainder", "order", "cycle_length", "block_length", "batching", "indexed", "part")


@dataclass(frozen=True)
class RankState:
    """How far one rank is.

    Give ``start=`` of `dataset`, `batches` or `LoaderSequence` the state of this rank, and the stream goes on with the
    next step. Give it the states of all ranks, and a world of any size goes on with what they have not consumed.

    Parameters
    ----------
    epoch, step
        The epoch, and the next step in it, as ``start=(epoch, step)`` has them.
    shard
        Rank and world.
    batch_size
        Of this rank.
    steps_per_epoch
        Steps that this rank has in an epoch.
    order
        What decides which sample comes when, as pairs of name and value.
    resumed, first_step
        The epoch of which this rank had only the rest, and the first step of that.

    Raises
    ------
    ConfigError
        When a number is out of range.
    """

    epoch: int
    step: int
    shard: tuple[int, int]
    batch_size: int
    steps_per_epoch: int
    order: tuple[tuple[str, Any], ...]
    resumed: ResumedEpoch | None = None
    first_step: int = 0

    def __post_init__(self) -> None:
        whole_number("epoch of a state", self.epoch, 0, 2**62)
        whole_number("steps of a state", self.steps_per_epoch, 1, 2**62)
        whole_number("step of a state", self.step, 0, self.steps_per_epoch)
        whole_number("first step of a state", self.first_step, 0, self.steps_per_epoch)

    def to_json(self) -> str:
        """Return the state as a text, which `from_json` reads; some hundred bytes."""
        return json.dumps({"format": _FORMAT, **dataclasses.asdict(self), "order": dict(self.order)})

    @classmethod
    def from_json(cls, text: str | bytes) -> RankState:
        """Return the state that `to_json` wrote.

        Raises
        ------
        ConfigError
            When it is none.
        """
        try:
            given = json.loads(text)
            _check_format(given.pop("format", None))
            resumed = given["resumed"]
            if resumed is not None:
                parts = tuple(Consumed(**{**each, "steps": tuple(each["steps"])}) for each in resumed["consumed"])
                given["resumed"] = ResumedEpoch(resumed["epoch"], parts)
            rank, world = given["shard"]
            return cls(**{**given, "shard": (rank, world), "order": tuple(given["order"].items())})
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise ConfigError(
                f"{text[:80]!r} is no state of a stream: {type(error).__name__}: {error}; give what to_json returned"
            ) from error

    def of_all_ranks(self) -> list[RankState]:
        """Return the states of all ranks, of which each had taken as many steps as this one.

        That is so where the ranks train together, step by step. Where their numbers of steps may differ, save the state
        of each rank instead, and give them all.
        """
        return [dataclasses.replace(self, shard=(rank, self.shard[1])) for rank in range(self.shard[1])]


def _check_format(found: Any) -> None:
    if found != _FORMAT:
        raise ValueError(f"it is of version {found!r:.20}, and this program reads version {_FORMAT}")


def order_of(spec: Spec, samples: int, entries: bytes = b"") -> tuple[tuple[str, Any], ...]:
    """Return what decides which sample comes when.

    Parameters
    ----------
    spec
        Of the stream.
    samples
        That the service has.
    entries
        Of the index, if there is one.
    """
    said = tuple((name, getattr(spec, name)) for name in _ORDER)
    index = hashlib.blake2b(entries, digest_size=8).hexdigest() if entries else ""
    return (*said, ("samples", samples), ("index", index))
