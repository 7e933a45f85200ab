"""What `top` shows fits into any terminal, with the verdict first; others' words are text and never markup."""

from __future__ import annotations

import dataclasses
import io
import re

import pytest
from rich.console import Console

from loader_service.protocol.messages import Fault, Status
from loader_service.watching.history import History, sparkline
from loader_service.watching.top_view import TopView
from tests.watching.looks import look, stream, worker


def test_a_sparkline_has_a_bar_for_each_of_the_latest_values() -> None:
    assert sparkline([0.0, 0.5, 1.0], 1.0, 10) == "▁▅█"
    assert sparkline([5.0, 0.0, 0.5, 1.0], 1.0, 3) == "▁▅█"
    assert sparkline([7.0, -1.0], 1.0, 5) == "█▁", "what is beyond the scale is its end"
    assert sparkline([1.0, 4.0], 0.0, 5) == "▃█", "the largest that is shown"
    assert sparkline([0.0, 0.0], 0.0, 5) == "▁▁"
    assert (sparkline([], 1.0, 5), sparkline([1.0], 1.0, 0)) == ("", "")


def looks(count: int = 8, workers: int = 4) -> list[Status]:
    def one(up_s: float) -> Status:
        at = {"doing": "task", "file": "/a.h5", "video": "v", "stream": 1, "working": 0.98}
        staff = [worker(n + 1, up_s, busy_s=0.1 * n, **at) for n in range(workers)]
        return look(up_s, staff, [stream(1, up_s, waiting=0.5)])

    return [one(100.0 + n) for n in range(count)]


def history_of(some: list[Status]) -> History:
    history = History()
    for each in some:
        history.add(each)
    return history


def shown(history: History, width: int = 120, height: int = 40, notice: str = "", **console: object) -> str:
    file = io.StringIO()
    options = {"force_terminal": True, "color_system": None, **console}
    terminal = Console(file=file, width=width, height=height, **options)  # type: ignore[arg-type]
    terminal.print(TopView(history, "", notice))
    return file.getvalue()


def test_the_verdict_and_its_remedy_are_seen_at_once() -> None:
    lines = shown(history_of(looks())).splitlines()
    text = "\n".join(lines[:6])
    assert "the trainer waits 50% of the time: decoding takes 95% of the workers' work" in text
    assert "→ 4 more workers would help: `loader-service scale 8`" in text
    assert any(re.match(r"  waiting ▅+$", line.rstrip()) for line in lines)
    assert any(line.startswith("  steps/s █") for line in lines)
    assert "4 workers: working 98% (decoding 95%, reading 5%)" in "\n".join(lines)
    assert "worker 9 was killed by SIGKILL" in "\n".join(lines)
    assert "q" in lines[-1]


@pytest.mark.parametrize("width", [20, 30, 59, 60, 99, 100, 300])
@pytest.mark.parametrize("height", [5, 12, 24, 60])
def test_it_fits_into_any_terminal(width: int, height: int) -> None:
    lines = shown(history_of(looks(workers=200)), width, height).splitlines()
    assert max(map(len, lines)) <= width
    if width >= 60 and height >= 24:
        assert len(lines) <= height
        assert "quit" in lines[-1]


@pytest.mark.parametrize(("width", "height"), [(80, 12), (40, 10), (30, 8), (24, 6), (80, 5)])
def test_what_the_trainer_waits_for_is_seen_in_the_smallest_terminal(width: int, height: int) -> None:
    lines = [line.strip() for line in shown(history_of(looks()), width, height).splitlines()]
    assert len(lines) <= height
    text = " ".join(lines)
    assert "the trainer waits 50% of the time: decoding takes 95% of the workers' work" in text
    assert height < 8 or "loader-service ipc:///here" in text
    assert height < 8 or "one worker more" in text


@pytest.mark.parametrize(("streams", "height"), [(3, 24), (6, 24), (40, 24), (3, 18)])
def test_keys_faults_and_workers_are_seen_however_many_streams_there_are(streams: int, height: int) -> None:
    at = {"doing": "task", "file": f"/data/{'long/' * 20}a.h5", "video": "v", "stream": 1}

    def one(up_s: float) -> Status:
        open_ = [stream(n, up_s, waiting=0.01 * n) for n in range(1, streams + 1)]
        return look(up_s, [worker(n, up_s, **at) for n in range(1, 17)], open_)

    lines = shown(history_of([one(100.0 + n) for n in range(8)]), 80, height).splitlines()
    assert len(lines) <= height
    assert "quit" in lines[-1]
    assert any("killed by SIGKILL" in line for line in lines)
    assert sum(bool(re.match(r" +\d+ +working ", line)) for line in lines) >= 3
    assert any(f"stream {streams}: the trainer waits" in line for line in lines), "the one that waits most"


def test_of_more_workers_than_lines_those_are_shown_that_are_longest_at_their_task() -> None:
    text = shown(history_of(looks(workers=200)), height=30)
    assert re.search(r"^ *200 .*19\.9 s", text, re.MULTILINE)
    assert not re.search(r"^ *1 +101 ", text, re.MULTILINE)


def test_without_colours_there_are_no_colour_codes() -> None:
    assert "\x1b[3" in shown(history_of(looks()), color_system="standard")
    assert "\x1b[3" not in shown(history_of(looks()), color_system="standard", no_color=True)


def test_remote_workers_are_among_those_that_there_should_be() -> None:
    far = [dataclasses.replace(each, workers_wanted=1, remote_wanted=3, remote_bounds="3") for each in looks()]
    assert "4 workers: working" in shown(history_of(far))
    fewer = [dataclasses.replace(each, remote_wanted=5) for each in far]
    assert "4 workers of 6: working" in shown(history_of(fewer))


def test_words_of_others_are_never_markup() -> None:
    some = looks()
    hostile = "[red]x[/red][link=http://evil]y[/link]\x1b[2J\x9b2J\nz"
    for n, each in enumerate(some):
        streams = (dataclasses.replace(each.streams[0], client=hostile),)
        workers = (dataclasses.replace(each.workers[0], video=hostile, doing="task", file=hostile),)
        some[n] = dataclasses.replace(each, streams=streams, workers=workers, faults=(Fault(1.0, 1, hostile),))
    text = shown(history_of(some), width=300, color_system="standard")
    assert text.count("[red]x[/red]") >= 4
    assert "]8;" not in text, "no link"
    assert "\x1b[2J" not in text
    assert "\x9b" not in text


def test_before_the_first_look_and_without_streams_that_is_said() -> None:
    assert "asking the service" in shown(History())
    assert "no stream is open" in shown(history_of([look(5.0, [], [])]))


def test_another_run_of_the_service_begins_anew() -> None:
    history = history_of([*looks(), dataclasses.replace(looks()[0], pid=77, uptime_s=1.0)])
    assert history.before is None
    assert len(history.moments) == 0


def test_verdicts_are_of_the_latest_seconds() -> None:
    first = looks()
    later = [
        look(
            108.0 + n,
            [worker(k + 1, 108.0 + n, working=0.9) for k in range(4)],
            [stream(1, 108.0 + n, waiting=50.0 / (108.0 + n))],
        )
        for n in range(8)
    ]
    history = history_of([*first, *later])
    assert history.verdicts(later[-1], "")[0].kind == "trainer", "it has not waited since"
