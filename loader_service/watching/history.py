"""The latest looks at a service, and what they show over time; knows no terminal. Pure."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from loader_service.protocol.messages import Status
from loader_service.watching.rates import Rates, is_earlier, rates
from loader_service.watching.verdict import StreamVerdict, verdicts

#: Looks that are kept: what a sparkline of the widest terminal shows, at one a second.
_MOST = 240

#: A verdict is over so many looks: trainers tell once a second, so over one look it would jump.
_OVER = 4

_BARS = "▁▂▃▄▅▆▇█"


def sparkline(values: Sequence[float], most: float, width: int) -> str:
    """Return the latest values as bars, one letter each.

    Parameters
    ----------
    values
        The latest last.
    most
        What the highest bar stands for; 0: the largest of those that are shown.
    width
        Letters at the most.
    """
    shown = list(values)[-width:] if width > 0 else []
    top = most or max(shown, default=0.0)
    if top <= 0:
        return _BARS[0] * len(shown)
    return "".join(_BARS[min(len(_BARS) - 1, max(0, int(each / top * len(_BARS))))] for each in shown)


@dataclass(frozen=True)
class Moment:
    """What happened between two looks that follow each other.

    Parameters
    ----------
    waiting, steps_per_s
        Of each stream, by number.
    working
        Share of the time in which workers worked.
    """

    waiting: dict[int, float]
    steps_per_s: dict[int, float]
    working: float


class History:
    """The latest looks; used by one thread."""

    def __init__(self) -> None:
        self._looks: deque[Status] = deque(maxlen=_OVER + 1)
        self.moments: deque[Moment] = deque(maxlen=_MOST)

    @property
    def latest(self) -> Status | None:
        """The latest look; None before the first."""
        return self._looks[-1] if self._looks else None

    @property
    def before(self) -> Status | None:
        """The look that verdicts and rates count from; None before there are two."""
        return self._looks[0] if len(self._looks) > 1 else None

    def add(self, look: Status) -> None:
        """Take in the latest look; one at another run of the service begins anew."""
        last = self.latest
        if last is not None and not is_earlier(last, look):
            self._looks.clear()
            self.moments.clear()
            last = None
        self._looks.append(look)
        if last is not None:
            found = rates(last, look)
            self.moments.append(
                Moment(
                    {number: each.waiting for number, each in found.streams.items() if each.waiting is not None},
                    {number: each.steps_per_s for number, each in found.streams.items()},
                    found.all_workers.working,
                )
            )

    def rates(self, look: Status) -> Rates:
        """Return the rates of late."""
        return rates(self.before, look)

    def verdicts(self, look: Status, place: str) -> tuple[StreamVerdict, ...]:
        """Return the verdicts of late."""
        return verdicts(self.before, look, place)
