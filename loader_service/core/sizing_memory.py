"""What earlier numbers of workers have shown: too few, enough, no use; for a while, and for one demand. Pure."""

from __future__ import annotations

from dataclasses import dataclass

#: What was learnt holds while the need stays within this share of what it was, for so many seconds at first, twice as
#: long each time when it is learnt again, and so many seconds at the most.
_SAME_NEED, _FIRST_TRUST_S, _LONGEST_TRUST_S = 0.15, 600.0, 4 * 3600.0

#: Another need is believed when so many windows in a row show it.
_STRIKES = 3


@dataclass
class Lesson:
    """One number of workers of which something was learnt.

    Attributes
    ----------
    number
        Of workers; None when nothing is known.
    need
        Of the trainers when it was learnt; None where the next review says it.
    turn
        What the number becomes when it is old: the next one below, or above, so that one worker at a time is tried. A
        trainer that works in bursts needs more than follows from its need, which is a mean.
    """

    number: int | None = None
    need: float | None = None
    turn: int = -1
    _until: float = 0.0
    _trust_s: float = _FIRST_TRUST_S
    _strikes: int = 0
    _latest: int | None = None  # number that was learnt last, forgotten since or not

    def learn(self, number: int, need: float | None, now: float) -> None:
        """Take note of a number; one that is learnt again is believed for longer."""
        if number != self.number:
            again = number == self._latest
            self._trust_s = min(2 * self._trust_s, _LONGEST_TRUST_S) if again else _FIRST_TRUST_S
        self.number = self._latest = number
        self.need = need
        self._strikes = 0
        self._until = now + self._trust_s

    def forget(self) -> None:
        """Know nothing, because something else is asked for now."""
        self.number = self._latest = None

    def review(self, need: float, now: float, *, rises: bool = True, falls: bool = True) -> None:
        """Doubt what was learnt for another need, or long ago.

        Parameters
        ----------
        need, now
            Of the trainers; in seconds.
        rises, falls
            Whether a need that is higher, or lower, makes it doubtful.
        """
        if self.number is None:
            return
        if self.need is None:
            self.need = need
        rose, fell = need > self.need * (1 + _SAME_NEED), need < self.need * (1 - _SAME_NEED)
        self._strikes = self._strikes + 1 if (rises and rose) or (falls and fell) else 0
        if self._strikes >= _STRIKES:
            self.forget()
        elif now >= self._until:
            self.number += self.turn
            self._until = now + self._trust_s
