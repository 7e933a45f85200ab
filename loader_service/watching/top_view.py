"""What `loader-service top` shows: a history of looks as something that Rich prints. Knows no socket and no key.

Names of clients and videos are others' words: they become `Text`, never markup, and codes for terminals are escaped.
"""

from __future__ import annotations

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

from loader_service.printable import one_line
from loader_service.protocol.messages import Status, StreamStatus, WorkerStatus
from loader_service.sizes import counted, size_text
from loader_service.watching.history import History, sparkline
from loader_service.watching.rates import Rates, WorkerRates
from loader_service.watching.status_text import doing_text, epoch_text, rate_words, work_words
from loader_service.watching.verdict import HELD_UP, StreamVerdict

#: Columns of a terminal from which on workers have all columns, and sparklines have room.
_WIDE, _NARROW = 100, 60

#: Faults that are shown at the most, and the lines that all but the workers take.
_MOST_FAULTS, _MOST_STREAMS = 3, 6

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
        above = [*_head(look), *self._streams(look, found, options.max_width)]
        below = [*_faults(look), _text(self._notice, "yellow"), _keys()]
        work = _work_line(look, found, self._history, options.max_width)
        lines = sum(_lines(console, options, each) for each in [*above, work, *below])
        room = max(0, height - lines - 3)
        yield Group(*above, work, _workers(look, found, options.max_width, room), *below)

    def _streams(self, look: Status, found: Rates, width: int) -> list[RenderableType]:
        if not look.streams:
            return [Text("no stream is open: nobody asks for data", style="dim"), Text("")]
        said = {each.stream: each for each in self._history.verdicts(look, self._place)}
        shown: list[RenderableType] = []
        for stream in look.streams[:_MOST_STREAMS]:
            shown += self._stream(stream, said[stream.stream], found, width)
        rest = len(look.streams) - _MOST_STREAMS
        return [*shown, *([Text(f"and {counted(rest, 'more stream')}", style="dim")] if rest > 0 else [])]

    def _stream(self, stream: StreamStatus, verdict: StreamVerdict, found: Rates, width: int) -> list[RenderableType]:
        colour = _COLOURS.get(verdict.kind, "bold red" if (verdict.waiting or 0) >= HELD_UP else "green")
        lines = [_text(f"{stream.client}, stream {stream.stream}: {verdict.summary}", colour)]
        if verdict.advice:
            lines.append(_text(f"  → {verdict.advice}", "bold"))
        facts = f"  {rate_words(found.streams[stream.stream])}; {stream.steps_done} of {epoch_text(stream)}"
        lines.append(Text(facts, style="dim"))
        if width >= _NARROW:
            bars = max(10, width - 20)
            moments = self._history.moments
            waiting = [each.waiting.get(stream.stream, 0.0) for each in moments]
            steps = [each.steps_per_s.get(stream.stream, 0.0) for each in moments]
            lines.append(Text.assemble("  waiting ", (sparkline(waiting, 1.0, bars), "red")))
            lines.append(Text.assemble("  steps/s ", (sparkline(steps, 0.0, bars), "cyan")))
        return [*(each for each in lines), Text("")]


def _text(line: str, style: str = "") -> Text:
    """Return a line that may hold others' words."""
    return Text(one_line(line), style=style)


def _lines(console: Console, options: ConsoleOptions, shown: RenderableType) -> int:
    return len(console.render_lines(shown, options.update(height=None)))


def _head(look: Status) -> list[RenderableType]:
    memory = f"{size_text(look.memory_bytes)} of {size_text(look.memory_budget_bytes)} in batches"
    return [
        Text.assemble(("loader-service ", "bold"), f"{look.endpoint}, pid {look.pid}, up {look.uptime_s:.0f} s"),
        _text(f"serves {look.serves}; {memory}", "dim"),
        Text(""),
    ]  # fmt: skip


def _work_line(look: Status, found: Rates, history: History, width: int) -> Text:
    all_ = found.all_workers
    parts = f" ({work_words(all_)})" if work_words(all_) else ""
    wanted = f" of {look.workers_wanted}" if look.workers_wanted != len(look.workers) else ""
    line = Text(f"{counted(len(look.workers), 'worker')}{wanted}: working {all_.working:.0%}{parts} ", style="bold")
    if width >= _NARROW:
        line.append(sparkline([each.working for each in history.moments], 1.0, min(30, width - 50)), "green")
    return line


def _workers(look: Status, found: Rates, width: int, room: int) -> Table:
    """Return as many workers as there is room for: where not all fit, those that are longest at their task."""
    shown = sorted(look.workers, key=lambda each: (each.state == "working" and not each.straggles, -each.busy_s))
    few = sorted(shown[:room], key=lambda each: each.worker)
    table = Table(box=None, pad_edge=False, header_style="dim", expand=False)
    wide = width >= _WIDE
    for name in (
        "worker",
        *(("pid", "files") if wide else ()),
        "state",
        "working",
        *(("rows/s",) if wide else ()),
        "for",
    ):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("at", no_wrap=True, overflow="ellipsis", ratio=1)
    for each in few:
        table.add_row(*_row(each, found.workers[each.worker], wide=wide))
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


def _faults(look: Status) -> list[RenderableType]:
    counts = [f"{each.name.replace('_', ' ')}: {each.count}" for each in look.counters if each.count]
    shown: list[RenderableType] = [Text("")]
    if counts:
        shown.append(Text(", ".join(counts), style="dim"))
    for fault in look.faults[-_MOST_FAULTS:]:
        times = f" ({fault.count} times)" if fault.count > 1 else ""
        ago = max(0.0, look.uptime_s - fault.at_s)
        line = one_line(f"{ago:.0f} s ago: {fault.line}{times}")
        shown.append(Text(line, style="red", overflow="ellipsis", no_wrap=True))
    return shown


def _keys() -> Text:
    keys = (("+", "one worker more"), ("-", "one less"), ("q", "quit"))
    line = Text()
    for key, what in keys:
        line.append(f" {key} ", "reverse").append(f" {what}  ", "dim")
    return line
