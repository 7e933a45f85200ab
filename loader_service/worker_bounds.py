"""How many workers there may be: a number, bounds, or as many as are needed on this machine's cores. Pure."""

from __future__ import annotations

import operator
import re
from typing import SupportsIndex

from loader_service.errors import ConfigError
from loader_service.record_class import record

#: What people may give in Python: a number, (low, high), or what the command line has: "8", "2..16", "auto".
WorkersGiven = int | str | tuple[int, int]

#: How the command line writes it.
SPELLING = "N|LOW..HIGH|auto"

_BOUNDS = re.compile(r"([0-9]{1,9})\.\.([0-9]{1,9})")
_REMEDY = "bounds such as 2..16, within which the service finds the number, or 'auto'"

#: The same of remote workers: how many a cluster has room for is not known, so there is no 'auto'.
REMOTE_SPELLING = "N|LOW..HIGH"


@record(frozen=True)
class WorkerBounds:
    """The least and the most workers; the service sizes itself between them, unless they are equal.

    Parameters
    ----------
    least
        Workers that there always are.
    most
        Workers that there are never more of; None for one per core that the service may use.

    Raises
    ------
    ConfigError
        When the bounds are no bounds.
    """

    least: int = 1
    most: int | None = None

    def __post_init__(self) -> None:
        if self.least < 0 or (self.most is not None and self.most < self.least):
            raise ConfigError(f"workers='{self}'; the low bound must be 0 or more, and the high one at least as high")

    @classmethod
    def of(cls, given: object, *, least: int = 1) -> WorkerBounds:
        """Return the bounds that somebody gave in Python or on the command line.

        Parameters
        ----------
        given
            A number, ``(low, high)``, a text as the command line has it, or None for the default.
        least
            The smallest number that makes sense.

        Raises
        ------
        ConfigError
            When it is none of these, or below `least`.
        """
        found = cls._read(given)
        if found is None or found.least < least:
            raise ConfigError(f"workers={given!r:.80}; give {least} or more, {_REMEDY}")
        return found

    @classmethod
    def of_remote(cls, given: object) -> WorkerBounds:
        """Return the bounds of remote workers that somebody gave: as `of`, but from 0 on, and with an upper one.

        Raises
        ------
        ConfigError
            When it is neither a number nor bounds.
        """
        found = None if given is None else cls._read(given)
        if found is None or found.most is None:
            raise ConfigError(
                f"ray_workers={given!r:.80}; give a number, 0 or more, or bounds such as 0..64, within which the "
                "service finds the number"
            )
        return found

    @classmethod
    def _read(cls, given: object) -> WorkerBounds | None:
        if given is None or given == "auto":
            return cls()
        if isinstance(given, WorkerBounds):
            return given
        if isinstance(given, SupportsIndex) and not isinstance(given, bool):  # NumPy's too; True is 1 to no user
            number = operator.index(given)
            return cls(number, number) if number >= 0 else None
        if isinstance(given, (tuple, list)):
            given = f"{given[0]}..{given[1]}" if len(given) == 2 else ""
        if not isinstance(given, str) or not given.isascii():
            return None
        if given.isdecimal() and len(given) < 10:
            return cls(int(given), int(given))
        match = _BOUNDS.fullmatch(given)
        return cls(int(match[1]), int(match[2])) if match and int(match[1]) <= int(match[2]) else None

    @property
    def is_fixed(self) -> bool:
        """Whether it is one number, which only people change."""
        return self.least == self.most

    def high(self, cores: int) -> int:
        """Return the upper bound on a machine with so many cores for the service."""
        return max(self.least, cores if self.most is None else self.most)

    def first(self, cores: int) -> int:
        """Return with how many a service begins: one per core, within the bounds."""
        return min(max(cores, self.least), self.high(cores))

    def __str__(self) -> str:
        if self.most is None:
            return "auto" if self.least == 1 else f"{self.least}.."
        return str(self.least) if self.is_fixed else f"{self.least}..{self.most}"
