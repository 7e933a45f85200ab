"""How far the ranks of a training were in an epoch whose rest is shared anew; frozen data, which travels in a spec."""

from __future__ import annotations

from dataclasses import dataclass

from loader_service.errors import ConfigError
from loader_service.protocol.numbers import whole_number

#: Bounds of what comes from a socket or a file.
MAX_WORLD = 1_000_000
MAX_BATCH_SIZE = 65_536
_MAX_EPOCH = 2**63 - 1
_MAX_STEPS = 2**62

#: Ranks that may have taken different numbers of steps: each has a number of its own.
MAX_UNEQUAL_RANKS = 65_536

#: How often the rest of one epoch may be shared anew.
MAX_SHARINGS = 64


@dataclass(frozen=True)
class Consumed:
    """What the ranks of one world had consumed of an epoch, or of the rest of it that they had.

    Parameters
    ----------
    world
        How many ranks there were.
    batch_size
        Of each of them.
    steps
        ``(world,)`` steps that each had taken, by rank; one number alone when all had taken as many.

    Raises
    ------
    ConfigError
        When a number is out of range, or there are more or fewer numbers than ranks.
    """

    world: int
    batch_size: int
    steps: tuple[int, ...]

    def __post_init__(self) -> None:
        whole_number("Consumed.world", self.world, 1, MAX_WORLD)
        whole_number("Consumed.batch_size", self.batch_size, 1, MAX_BATCH_SIZE)
        if len(self.steps) not in (1, self.world):
            raise ConfigError(
                f"Consumed.steps has {len(self.steps)} numbers for {self.world} ranks; give one for each, or one alone"
            )
        if len(self.steps) > MAX_UNEQUAL_RANKS:
            raise ConfigError(
                f"{self.world} ranks that had taken different numbers of steps are more than the "
                f"{MAX_UNEQUAL_RANKS} that can be told apart; resume from a place where all had taken as many"
            )
        for each in self.steps:
            whole_number("Consumed.steps", each, 0, _MAX_STEPS)

    def of_rank(self, rank: int) -> int:
        """Return the steps that a rank had taken."""
        return self.steps[rank] if len(self.steps) > 1 else self.steps[0]


@dataclass(frozen=True)
class ResumedEpoch:
    """An epoch of which some was consumed by other ranks than go on with it.

    Parameters
    ----------
    epoch
        Which one.
    consumed
        What had been consumed of it, by each world that had it, the first one first.

    Raises
    ------
    ConfigError
        When a number is out of range.
    """

    epoch: int
    consumed: tuple[Consumed, ...]

    def __post_init__(self) -> None:
        whole_number("ResumedEpoch.epoch", self.epoch, 0, _MAX_EPOCH)
        if not 1 <= len(self.consumed) <= MAX_SHARINGS:
            raise ConfigError(
                f"the rest of epoch {self.epoch} was shared anew {len(self.consumed)} times; 1 to {MAX_SHARINGS} times "
                "are possible: begin the next epoch"
            )
