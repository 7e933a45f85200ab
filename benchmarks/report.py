"""Turns the rounds into one Markdown table, a JSON file and a plot. Measures nothing."""

from __future__ import annotations

import importlib.metadata
import os
import platform
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from datetime import datetime, timezone
from pathlib import Path

from matplotlib.figure import Figure

from benchmarks.bars import BARS, Bar, Round, Spread, limit_frames_per_s, spread
from benchmarks.side import SIDES
from benchmarks.summary import RESULTS_DIRECTORY, write_summary

_LIBRARIES = ("loader-service", "tensorflow", "h5py", "numpy", "simplejpeg", "pyzmq")


@dataclass(frozen=True)
class Report:
    """All that one run of the benchmarks found.

    Attributes
    ----------
    rounds
        What was measured, round by round.
    data
        What the data set holds.
    command
        What reproduces the run.
    """

    rounds: Sequence[Round]
    data: dict[str, object]
    command: str

    def write(self, directory: Path = RESULTS_DIRECTORY) -> None:
        """Write `latest.json`, `latest.md` and `latest.png`."""
        write_summary(directory / "latest.json", self.as_data())
        (directory / "latest.md").write_text(self.markdown())
        self.plot(directory / "latest.png")

    def markdown(self) -> str:
        """Return the tables, with the machine and the command that made them."""
        machine, facts = _machine(), self.data
        head = (
            f"{len(self.rounds)} rounds, sides alternating; median (least to most). "
            f"{facts['frames']} frames of {_thousands(facts['frame_bytes_mean'])} bytes, 256 x 342, "
            f"in {facts['videos']} videos in {facts['files']} files; batches of 16 clips of 16 frames (67 MB). "
            f"{machine['processor']}, {machine['cores']} cores, {_libraries()}. Reproduce: `{self.command}`."
        )
        tables = [_table(rows) for rows in (self._side_rows(), self._bar_rows()) if len(rows) > 1]
        return "\n\n".join([head, *tables]) + "\n"

    def as_data(self) -> dict[str, object]:
        """Return median, least and most of all figures, for the JSON file."""
        bars = [(bar.title, bar.measured(self.rounds)) for bar in BARS]
        return {
            "at": datetime.now(timezone.utc).isoformat(timespec="seconds"),
            "command": self.command,
            "machine": _machine(),
            "versions": _versions(),
            "data": self.data,
            "rounds": len(self.rounds),
            **{f"{name}, frames/s": astuple(self._frames_per_s(name)) for name in self._sides()},
            **{title: astuple(got) for title, got in bars if got is not None},
        }

    def plot(self, path: Path) -> None:
        """Draw frames/s of all sides, with their spread and the limit of the cores."""
        names = [name for name in self._sides() if name != "tiny"]
        if not names:
            return
        figure = Figure(figsize=(9, 0.5 * len(names) + 1.2), layout="constrained")
        axes = figure.subplots()
        for place, name in enumerate(reversed(names)):
            speed = self._frames_per_s(name)
            colour = "#2a6f97" if name.startswith("service") else "#b8c4ce"
            whisker = [[speed.median - speed.least], [speed.most - speed.median]]
            axes.barh(place, speed.median, color=colour, xerr=whisker, ecolor="#555555", capsize=3)
            axes.text(speed.median * 0.02, place, f"{speed.median:,.0f}", va="center")
        if "bare" in names:
            limit = spread([limit_frames_per_s(each) for each in self.rounds]).median
            axes.axvline(limit, color="#c1121f", linestyle="--", label="2 x bare loop on one core")
            axes.legend(loc="lower right")
        titles = [SIDES[name].title.replace("*", "").replace("`", "") for name in reversed(names)]
        axes.set_yticks(range(len(names)), titles)
        axes.set_xlabel(f"frames/s, 256 x 342 JPEG, {_machine()['cores']} cores")
        axes.spines[["top", "right"]].set_visible(False)
        figure.savefig(path, dpi=130)

    def _sides(self) -> list[str]:
        return [name for name in SIDES if all(name in each for each in self.rounds)]

    def _frames_per_s(self, name: str) -> Spread:
        return spread([each[name]["frames_per_s"] for each in self.rounds])

    def _side_rows(self) -> list[list[str]]:
        rows = [["side", "frames/s", "of 2 x bare", "CPU per batch", "… in the trainer"]]
        for name in self._sides():
            shares = [each[name]["frames_per_s"] / limit_frames_per_s(each) for each in self.rounds if "bare" in each]
            rows.append(
                [
                    SIDES[name].title,
                    _figure(self._frames_per_s(name), 0),
                    f"{spread(shares).median:.2f}" if shares and name != "tiny" else "",
                    f"{spread([each[name]['cpu_ms_per_batch'] for each in self.rounds]).median:.2f} ms",
                    f"{spread([each[name]['trainer_cpu_ms_per_batch'] for each in self.rounds]).median:.2f} ms",
                ]
            )
        return rows

    def _bar_rows(self) -> list[list[str]]:
        rows = [["figure", "bar", "measured", "holds"]]
        for bar in BARS:
            got = bar.measured(self.rounds)
            if got is not None:
                rows.append([bar.title, _limit(bar), _figure(got, 2, bar.unit), _verdict(bar, got)])
        return rows


def _limit(bar: Bar) -> str:
    if bar.limit is None:
        return ""
    return f"{'≥' if bar.is_least else '≤'} {bar.limit:g} {bar.unit}".rstrip()


def _verdict(bar: Bar, got: Spread) -> str:
    if bar.limit is None:
        return ""
    return "yes" if bar.holds(got.median) else "**no**"


def _figure(got: Spread, digits: int, unit: str = "") -> str:
    digits = 0 if got.median >= 100 else digits
    return f"{got.median:,.{digits}f} ({got.least:,.{digits}f} to {got.most:,.{digits}f}) {unit}".rstrip()


def _table(rows: list[list[str]]) -> str:
    """Return a Markdown table whose columns are aligned, to be read in a terminal too."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |" for row in rows
    ]
    rule = "|" + "|".join("-" * (width + 2) for width in widths) + "|"
    return "\n".join([lines[0], rule, *lines[1:]])


def _thousands(number: object) -> str:
    return f"{number:,}"


def _versions() -> dict[str, str]:
    return {name: importlib.metadata.version(name) for name in _LIBRARIES} | {"python": platform.python_version()}


def _libraries() -> str:
    versions = _versions()
    return f"Python {versions['python']}, TensorFlow {versions['tensorflow']}, simplejpeg {versions['simplejpeg']}"


def _machine() -> dict[str, object]:
    info = Path("/proc/cpuinfo").read_text().splitlines()
    processor = next((line.partition(":")[2].strip() for line in info if line.startswith("model name")), "unknown")
    return {"processor": processor, "cores": len(os.sched_getaffinity(0)), "kernel": platform.release()}
