"""Words that mean the same wherever a name is looked at, as parts of patterns, in the singular; and names of sides.

What a single rule looks for is its own, beside it; what several look for is here, so that all know the same words.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


#: A run of a robot, a game or a simulation.
EPISODES = "episode|ep|demo|traj|trajectory|trajectorie|rollout"

#: Any other recording that is a video here.
CLIPS = "video|vid|clip|seq|sequence|recording|film"

#: What lies end to end in datasets, or has a row of its own.
RECORDINGS = f"{EPISODES}|{CLIPS}"

#: What a recording has one after the other.
FRAMES = "frame|step|time_?step"

#: Who acts, or is seen, beside others that are recorded at one time.
ACTORS = "env|environment|agent|actor|worker|player|process|proc|thread|lane|slot|robot|stream|rank"

#: The whole name of what times or counts the frames of a recording.
TIMES_OF_FRAMES = re.compile(
    rf"^(t|({FRAMES}|sample)s?_?(no|number|index|idx|id)s?|(time|date)(_?stamp)?s?)$", re.IGNORECASE
)


_SIDES = tuple(
    re.compile(rf"(^|[_@/])({names})$", re.IGNORECASE) for names in ("heights?|h", "widths?|w", "channels?|c")
)

#: What labels of rows are called.
LABELS = re.compile(r"y|lbls?|labels?|targets?|class(es)?|categor(y|ies)", re.IGNORECASE)


def named_as_sides(names: Sequence[str]) -> list[str | None]:
    """Return the first of some names that says a height, a width, and channels; None for each that none says."""
    return [next((name for name in names if side.search(name)), None) for side in _SIDES]
