"""What `loader-service top` shows: a history of looks as something that Rich prints. Knows no socket and no key.

Names of clients and videos are others' words: they become `Text`, never markup, and codes for terminals are escaped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Literal

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

from loader_service.printable import one_line
from loader_service.protocol.messages import Status, StreamStatus, WorkerStatus
from loader_service.sizes import counted, size_text, time_text
from loader_service.watching.history import History, sparkline
from loader_service.watching.rates import HELD_UP, Rates, WorkerRates
from loader_service.watching.status_text import (
    counters_text,
    doing_text,
    fault_text,
    longest_at_task,
    rate_words,
    steps_text,
    work_words,
)
from loader_service.watching.verdict import StreamVerdict

#: Columns of a terminal from which on workers have all columns, and sparklines have room.
_WIDE, _NARROW = 100, 60

#: Lines of a terminal from which on there is room for all, and for anything but what trainers wait for.
_HIGH, _LOW = 16, 8

#: Faults that are shown at the most, and workers for which streams leave room.
_MOST_FAULTS, _LEAST_WORKERS = 3, 4

#: How much is shown of each stream, the most first.
_Detail = Literal["charts", "facts", "advice", "verdict", "line"]
_Lines = Callable[[Iterable[RenderableType]], int]
_DETAILS: tuple[_Detail, ...] = ("charts", "facts", "advice", "verdict", "line")

_COLOURS = {"trainer": "green", "idle": "dim", "unknown": "dim", "starting": "yellow"}


class TopView:
    """All that is shown at one moment.

    Parameters
    ----------
    history
        The looks.
    place
        What commands need to find the service.
    notice
        A line about what was done last, or what is wrong; "" without one.
    """

    def __init__(self, history: History, place: str, notice: str = "") -> None:
        self._history = history
        self._place = place
        self._notice = notice

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield what fits into the terminal as it is now."""
        look = self._history.latest
        if look is None:
            yield Text(self._notice or "asking the service …")
            return
        height = options.height or console.size.height
        found = self._history.rates(look)
        head = _head(look, height)
        below = [*([_text(self._notice, "yellow")] if self._notice else []), *([_keys()] if height >= _LOW else [])]
        if height >= _HIGH:
            below[:0] = _faults(look)
        work = _work_line(look, found, self._history, options.max_width)
        if height < _HIGH:
            for each in (work, *below):
                each.no_wrap, each.overflow = True, "ellipsis"

        def lines(shown: Iterable[RenderableType]) -> int:
            return sum(len(console.render_lines(each, options.update(height=None))) for each in shown)

        room = height - 1 - lines([*head, work, *below])
        least = min(len(look.workers), _LEAST_WORKERS) + 1 if height >= _HIGH else 0
        streams = self._streams(look, found, options.max_width, max(1, room - least), lines)
        left = room - lines(streams) - 1
        workers = [_workers(look, found, options.max_width, left)] if left > 0 else []
        yield Group(*head, *streams, work, *workers, *below)

    def _streams(self, look: Status, found: Rates, width: int, room: int, lines: _Lines) -> list[RenderableType]:
        """Return all streams with as much of each as fits; where even a line of each does not, those that wait most."""
        if not look.streams:
            return [Text("no stream is open: nobody asks for data", style="dim"), Text("")]
        said = {each.stream: each for each in self._history.verdicts(look, self._place)}
        if len(look.streams) <= room:
            for detail in _DETAILS if width >= _NARROW else _DETAILS[1:]:
                shown = self._as_detailed(look.streams, said, found, width, detail)
                if detail == "line" or lines(shown) <= room:
                    return shown
        ranked = sorted(look.streams, key=lambda each: -(said[each.stream].waiting or 0.0))[: max(1, room - 1)]
        few = sorted(ranked, key=lambda each: each.stream)
        rest = Text(f"and {counted(len(look.streams) - len(few), 'more stream')}", style="dim")
        return [*self._as_detailed(few, said, found, width, "line"), *([rest] if len(few) < len(look.streams) else [])]

    def _as_detailed(
        self,
        streams: Iterable[StreamStatus],
        said: Mapping[int, StreamVerdict],
        found: Rates,
        width: int,
        detail: _Detail,
    ) -> list[RenderableType]:
        shown: list[RenderableType] = []
        advised = ""
        for stream in streams:
            verdict = said[stream.stream]
            colour = _COLOURS.get(verdict.kind, "bold red" if (verdict.waiting or 0) >= HELD_UP else "green")
            who = f"{stream.client}, stream" if width >= _NARROW else "stream"
            line = _text(f"{who} {stream.stream}: {verdict.summary}", colour)
            line.no_wrap, line.overflow = detail == "line", "ellipsis"
            shown.append(line)
            if detail in ("verdict", "line"):
                continue
            if verdict.advice and verdict.advice != advised:
                advised = verdict.advice
                shown.append(_text(f"  → {verdict.advice}", "bold"))
            if detail == "advice":
                continue
            shown.append(Text(f"  {rate_words(found.streams[stream.stream])}; {steps_text(stream)}", style="dim"))
            if detail == "charts":
                shown += self._charts(stream, width)
            shown.append(Text(""))
        return shown

    def _charts(self, stream: StreamStatus, width: int) -> list[RenderableType]:
        moments, bars = self._history.moments, max(10, width - 20)
        waiting = [each.waiting.get(stream.stream, 0.0) for each in moments]
        steps = [each.steps_per_s.get(stream.stream, 0.0) for each in moments]
        return [
            Text.assemble("  waiting ", (sparkline(waiting, 1.0, bars), "red")),
            Text.assemble("  steps/s ", (sparkline(steps, 0.0, bars), "cyan")),
        ]


def _text(line: str, style: str = "") -> Text:
    """Return a line that may hold others' words."""
    return Text(one_line(line), style=style)


def _head(look: Status, height: int) -> list[RenderableType]:
    """Return whose figures these are: the less the lower the terminal is, for the verdict is what people look for."""
    first = Text.assemble(
        ("loader-service ", "bold"), f"{look.endpoint}, pid {look.pid}, up {time_text(look.uptime_s)}"
    )
    if height < _HIGH:
        first.no_wrap, first.overflow = True, "ellipsis"
        return [first] if height >= _LOW else []
    memory = f"{size_text(look.memory_bytes)} of {size_text(look.memory_budget_bytes)} in batches"
    return [first, _text(f"serves {look.serves}; {memory}", "dim"), Text("")]


def _work_line(look: Status, found: Rates, history: History, width: int) -> Text:
    all_ = found.all_workers
    parts = f" ({work_words(all_)})" if work_words(all_) else ""
    number = look.workers_wanted + look.remote_wanted
    wanted = f" of {number}" if number != len(look.workers) else ""
    line = Text(f"{counted(len(look.workers), 'worker')}{wanted}: working {all_.working:.0%}{parts} ", style="bold")
    if width >= _NARROW:
        line.append(sparkline([each.working for each in history.moments], 1.0, min(30, width - 50)), "green")
    return line


def _workers(look: Status, found: Rates, width: int, room: int) -> Table:
    """Return as many workers as there is room for: where not all fit, those that are longest at their task."""
    table = Table(box=None, pad_edge=False, header_style="dim", expand=False)
    wide = width >= _WIDE
    heads = ("worker", *(("pid", "files") if wide else ()), "state", "working", *(("rows/s",) if wide else ()), "for")
    rows = [_row(each, found.workers[each.worker], wide=wide) for each in longest_at_task(look.workers, room)]
    for place, head in enumerate(heads):  # of these nothing is cut off; what is left is for the last column
        least = max([len(head), *(len(row[place]) for row in rows)])
        table.add_column(head, justify="right", no_wrap=True, min_width=least)
    table.add_column("at", no_wrap=True, overflow="ellipsis", ratio=1)
    for row in rows:
        table.add_row(*row)
    return table


def _row(worker: WorkerStatus, found: WorkerRates, *, wide: bool) -> list[Text]:
    state = "slow" if worker.straggles else worker.state
    cells = [
        str(worker.worker),
        *((str(worker.pid), str(worker.files)) if wide else ()),
        state,
        f"{found.working:.0%}",
        *((f"{found.rows_per_s:,.0f}",) if wide else ()),
        f"{worker.busy_s:.1f} s" if worker.doing else "",
        doing_text(worker),
    ]
    return [_text(each, "" if state == "working" else "yellow") for each in cells]


def _faults(look: Status) -> list[Text]:
    counts = counters_text(look)
    shown = [Text("")]
    if counts:
        shown.append(Text(counts, style="dim"))
    for fault in look.faults[-_MOST_FAULTS:]:
        line = one_line(fault_text(fault, look.uptime_s))
        shown.append(Text(line, style="red", overflow="ellipsis", no_wrap=True))
    return shown


def _keys() -> Text:
    keys = (("+", "one worker more"), ("-", "one less"), ("q", "quit"))
    line = Text()
    for key, what in keys:
        line.append(f" {key} ", "reverse").append(f" {what}  ", "dim")
    return line
