"""Where each frame of a form lies, by arithmetic alone: no table, the same for any number of workers. Pure.

Frames are numbered through all videos and cut into blocks of neighbours. Block b of n has the place ``b * m mod n``,
where m and n have no divisor in common, so no two blocks have one place. The first places are kept, as many as there is
room for; m is nearest to n divided by the golden ratio, so of each long run of blocks the same part is kept.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

#: Frames of a block: as many as a clip often has. They are read and written together where they are neighbours.
BLOCK_FRAMES = 16

#: Of the two words that tell whether a frame is there, and whole.
STAMP_BYTES = 16

#: Of a file of frames, before its first block.
HEADER_BYTES = 4096

_GOLDEN = (math.sqrt(5) - 1) / 2


class FrameRun(NamedTuple):
    """Frames that follow each other where they are kept, and among those that were asked for."""

    first: int  # number among those that were asked for
    length: int
    place: int  # of their block
    begin: int  # of the first one in the block


@dataclass(frozen=True)
class Cells:
    """The cells of one form, one for each frame, all of one size.

    Parameters
    ----------
    frames
        How many there are, at least 1.
    frame_bytes
        Of the largest.
    """

    frames: int
    frame_bytes: int
    blocks: int = field(init=False)
    step: int = field(init=False)

    def __post_init__(self) -> None:
        blocks = -(-self.frames // BLOCK_FRAMES)
        step = max(1, round(blocks * _GOLDEN))
        while math.gcd(step, blocks) != 1:
            step -= 1
        object.__setattr__(self, "blocks", blocks)
        object.__setattr__(self, "step", step)

    @property
    def block_bytes(self) -> int:
        """Bytes of a block: its stamps, and its frames behind them."""
        return BLOCK_FRAMES * (STAMP_BYTES + self.frame_bytes)

    def file_bytes(self, blocks: int) -> int:
        """Return the length of a file that keeps so many blocks."""
        return HEADER_BYTES + blocks * self.block_bytes

    def place_of(self, block: int) -> int:
        """Return the place of a block: below the number of those that are kept, it is kept."""
        return block * self.step % self.blocks

    def stamp_at(self, place: int, index: int) -> int:
        """Return where in the file the stamp of a frame lies."""
        return HEADER_BYTES + place * self.block_bytes + index * STAMP_BYTES

    def frame_at(self, place: int, index: int) -> int:
        """Return where in the file the pixels of a frame lie."""
        return HEADER_BYTES + place * self.block_bytes + BLOCK_FRAMES * STAMP_BYTES + index * self.frame_bytes

    def runs(self, frames: Sequence[int]) -> Iterator[FrameRun]:
        """Yield the runs of some frames of the form, in the order in which they are asked for."""
        first = 0
        while first < len(frames):
            block, index = divmod(frames[first], BLOCK_FRAMES)
            most = min(len(frames) - first, BLOCK_FRAMES - index)
            count = 1
            while count < most and frames[first + count] == frames[first] + count:
                count += 1
            yield FrameRun(first, count, self.place_of(block), index)
            first += count
