"""Writes JPEGs of given coefficients, which no encoder would make of a picture."""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

#: Sampling factors of the luma.
FACTORS = {"420": (2, 2), "422": (2, 1), "444": (1, 1), "Gray": (1, 1)}


@dataclass(frozen=True)
class Shape:
    """What a JPEG is like besides its coefficients; ``restart`` counts MCUs, and `longest` is the bits of a code."""

    height: int
    width: int
    subsampling: str = "420"
    restart: int = 0
    longest: int = 16
    steps: int = 1

    @property
    def components(self) -> list[int]:
        """Of which component each block of an MCU is."""
        across, down = FACTORS[self.subsampling]
        return [0] * (across * down) + ([] if self.subsampling == "Gray" else [1, 2])

    @property
    def mcus(self) -> int:
        """How many MCUs there are."""
        across, down = FACTORS[self.subsampling]
        return -(-self.height // (8 * down)) * -(-self.width // (8 * across))


def write_jpeg(shape: Shape, blocks: NDArray[np.int64]) -> bytes:
    """Return a JPEG of ``(MCUs x blocks of an MCU, 64)`` coefficients in the scan's order.

    A first coefficient may be of 16 bits, and differ from the one before by 15; others are of 15 bits.
    """
    symbols = _symbols(shape, blocks)
    tables = [
        _codes(Counter(symbol for kind, symbol, _, _ in symbols if kind == each), shape.longest) for each in (0, 1)
    ]
    scan = _scan(shape, symbols, tables)
    components = 1 if shape.subsampling == "Gray" else 3
    across, down = FACTORS[shape.subsampling]
    factors = [across << 4 | down, 0x11, 0x11]
    frame = b"".join(bytes((each + 1, factors[each], 0)) for each in range(components))
    order = b"".join(bytes((each + 1, 0)) for each in range(components))
    return b"".join(
        (
            b"\xff\xd8",
            _segment(0xDB, b"\0" + bytes([shape.steps] * 64)),
            _segment(0xC0, struct.pack(">BHHB", 8, shape.height, shape.width, components) + frame),
            *(_segment(0xC4, bytes((kind << 4,)) + written) for kind, (written, _) in enumerate(tables)),
            _segment(0xDD, struct.pack(">H", shape.restart)) if shape.restart else b"",
            _segment(0xDA, bytes((components,)) + order + b"\0\x3f\0"),
            scan,
            b"\xff\xd9",
        )
    )


def _segment(marker: int, content: bytes) -> bytes:
    return struct.pack(">BBH", 255, marker, len(content) + 2) + content


def _symbols(shape: Shape, blocks: NDArray[np.int64]) -> list[tuple[int, int, int, int]]:
    """Return (table, symbol, bits of a value, how many), and (-1, 0, 0, 0) where an interval ends."""
    found: list[tuple[int, int, int, int]] = []
    each = shape.components
    before = [0, 0, 0]
    for number, block in enumerate(blocks.tolist()):
        mcu, place = divmod(number, len(each))
        if shape.restart and place == 0 and mcu and mcu % shape.restart == 0:
            found.append((-1, 0, 0, 0))
            before = [0, 0, 0]
        component = each[place]
        found.append(_valued(0, 0, block[0] - before[component]))
        before[component] = block[0]
        run = 0
        for value in block[1:]:
            if not value:
                run += 1
                continue
            while run > 15:
                found.append((1, 0xF0, 0, 0))
                run -= 16
            found.append(_valued(1, run, value))
            run = 0
        if run:
            found.append((1, 0, 0, 0))
    return found


def _valued(table: int, run: int, value: int) -> tuple[int, int, int, int]:
    size = abs(value).bit_length()
    return table, run << 4 | size, value if value >= 0 else value + (1 << size) - 1, size


def _codes(counts: Counter[int], longest: int) -> tuple[bytes, dict[int, tuple[int, int]]]:
    """Return a table as it is written, and (code, bits) of each symbol: the rarest have codes of `longest` bits."""
    symbols = [symbol for symbol, _ in counts.most_common()]
    lengths: list[int] = []
    room = (1 << longest) - 1  # in codes of the longest kind, without that of ones
    for place in range(len(symbols)):
        left = len(symbols) - place - 1
        length = next(each for each in range(1, longest + 1) if room - (1 << longest - each) >= left)
        lengths.append(length)
        room -= 1 << longest - length
    lengths.sort()
    codes, code = {}, 0
    for place, (symbol, length) in enumerate(zip(symbols, lengths, strict=True)):
        codes[symbol] = (code, length)
        if place + 1 < len(lengths):
            code = (code + 1) << lengths[place + 1] - length
    return bytes(lengths.count(each) for each in range(1, 17)) + bytes(symbols), codes


def _scan(
    shape: Shape,
    symbols: Sequence[tuple[int, int, int, int]],
    tables: Sequence[tuple[bytes, dict[int, tuple[int, int]]]],
) -> bytes:
    parts: list[bytes] = []
    text: list[str] = []

    def end_part() -> None:
        bits = "".join(text)
        bits += "1" * (-len(bits) % 8)
        parts.append(int(bits or "0", 2).to_bytes(len(bits) // 8, "big").replace(b"\xff", b"\xff\0"))
        text.clear()

    for table, symbol, value, size in symbols:
        if table < 0:
            end_part()
            parts.append(bytes((0xFF, 0xD0 + len(parts) // 2 % 8)))
            continue
        code, length = tables[table][1][symbol]
        text.append(f"{code:0{length}b}" + (f"{value:0{size}b}" if size else ""))
    end_part()
    return b"".join(parts)
