"""Writes what a benchmark found as a few lines of JSON, small enough to be kept with the code. Measures nothing."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

RESULTS_DIRECTORY = Path(__file__).parent / "results"

#: Of a figure; more would only be noise.
_DIGITS = 4

#: Times of a long run at which its samples are kept.
_TIMES = 7


def write_summary(path: Path, found: Mapping[str, Any]) -> None:
    """Write one line for each entry, with rounded figures."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = (
        f" {json.dumps(name, ensure_ascii=False)}: {json.dumps(_rounded(value), ensure_ascii=False)}"
        for name, value in found.items()
    )
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def at_some_times(samples: Sequence[Mapping[str, float]]) -> dict[str, list[float]]:
    """Return samples of a long run, by name: the first, the last, and some between at equal distances."""
    places = [round(turn * (len(samples) - 1) / (_TIMES - 1)) for turn in range(_TIMES)] if samples else []
    return {name: [samples[place][name] for place in places] for name in (samples[0] if samples else ())}


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.{_DIGITS}g}")
    if isinstance(value, Mapping):
        return {name: _rounded(each) for name, each in value.items()}
    return [_rounded(each) for each in value] if isinstance(value, (list, tuple)) else value
