"""The commands that show what services do, `status` and `ps`; they ask, and change nothing."""

from __future__ import annotations

import json
import logging
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import click

from loader_client.connection import Connection
from loader_client.two_looks import look_twice
from loader_service import endpoint as endpoints
from loader_service.daemon.absence import killed_services
from loader_service.daemon.memory import tree_bytes
from loader_service.daemon.own_services import own_services
from loader_service.errors import LoaderError
from loader_service.protocol.messages import Status
from loader_service.reaching import reach
from loader_service.sizes import size_text, time_text
from loader_service.watching.status_json import status_json
from loader_service.watching.status_text import status_text

#: How long `ps` waits for each service, in seconds.
_PS_S = 2.0

#: How many services `ps` asks at a time.
_MOST_ASKED = 16

#: Clears a terminal.
_CLEAR = "\033[H\033[2J\033[3J"


def place_of(endpoint: str) -> str:
    """Return what commands need to find a service, "" for the one that they find anyway."""
    return "" if endpoint == str(endpoints.parse(None)) else endpoint


def hush() -> None:
    """Have the client log errors only: the answer says it all."""
    logging.getLogger("loader_client").setLevel(logging.ERROR)


def _clock(status: Status) -> Callable[[float], str]:
    began = time.time() - status.uptime_s
    return lambda at_s: time.strftime("%H:%M:%S", time.localtime(began + at_s))


@click.command("status")
@click.argument("endpoint", required=False)
@click.option("--json", "as_json", is_flag=True, help="For programs: one JSON object; docs/metrics.md has its names.")
@click.option("--watch", is_flag=True, help="Show it again every second until Ctrl-C; with --json, an object a line.")
def status_command(endpoint: str | None, as_json: bool, watch: bool) -> None:
    """Show what trainers wait for, and the workers, streams and faults of a service."""
    hush()
    with reach(endpoint) as service:
        place = place_of(service.endpoint)
        if not watch:
            _show(*look_twice(service), place, as_json=as_json)
            return
        with suppress(KeyboardInterrupt):
            for before, after in _looks(service):
                _show(before, after, place, as_json=as_json, again=True)


def _looks(service: Connection) -> Iterator[tuple[Status | None, Status]]:
    """Yield the latest look every second, each with one of some seconds before."""
    before, latest = look_twice(service)
    looks = [before or latest, latest]
    while True:
        yield (None if looks[0] is looks[-1] else looks[0]), looks[-1]
        time.sleep(1.0)
        looks = [*looks[-3:], service.status()]


def _show(before: Status | None, after: Status, place: str, *, as_json: bool, again: bool = False) -> None:
    if as_json:
        click.echo(json.dumps(status_json(before, after, place), indent=None if again else 2))
        return
    clears = again and sys.stdout.isatty()
    click.echo((_CLEAR if clears else "") + status_text(before, after, place, _clock(after)))
    if again and not clears:
        click.echo("")


@click.command("ps")
@click.option("--json", "as_json", is_flag=True, help="For programs: one JSON array.")
def ps_command(as_json: bool) -> None:
    """List your services on this host: endpoint, files, workers, streams and memory."""
    hush()
    found = own_services()
    with ThreadPoolExecutor(_MOST_ASKED) as threads:  # one that does not answer holds up no other
        rows = list(threads.map(lambda each: _service(str(each[0]), each[1]), found))
    if as_json:
        click.echo(json.dumps(rows, indent=2))
    elif rows:
        click.echo("\n".join(ps_lines(rows)))
    else:
        click.echo("none of your services runs on this host; start one with `loader-service start FILES…`")
    for place in [] if as_json else killed_services():
        click.echo(f"a service at {place} was killed; `loader-service stop {place}` removes what it left")


def _service(endpoint: str, pid: int) -> dict[str, Any]:
    """Return what there is to say of one service, as plain data."""
    row: dict[str, Any] = {"endpoint": endpoint, "pid": pid, "answers": False, "own_memory_bytes": tree_bytes(pid)}
    try:
        with Connection(endpoint, timeout_s=_PS_S) as service:
            status = service.status()
    except LoaderError:
        return row
    return row | {
        "answers": True,
        "uptime_s": status.uptime_s,
        "serves": status.serves,
        "workers": len(status.workers),
        "streams": len(status.streams),
        "memory_bytes": status.memory_bytes,
        "memory_budget_bytes": status.memory_budget_bytes,
    }


def ps_lines(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Return services, as plain data, as a table."""
    table = [("pid", "up", "workers", "streams", "batches", "own memory", "endpoint", "serves")]
    for row in rows:
        own = size_text(row["own_memory_bytes"])
        if not row["answers"]:
            table.append((str(row["pid"]), "?", "?", "?", "?", own, row["endpoint"], "does not answer"))
            continue
        counts = (time_text(row["uptime_s"]), str(row["workers"]), str(row["streams"]), size_text(row["memory_bytes"]))
        table.append((str(row["pid"]), *counts, own, row["endpoint"], row["serves"]))
    widths = [max(len(each[column]) for each in table) for column in range(len(table[0]))]
    return [
        "  ".join(
            cell.ljust(width) if column >= 6 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(each, widths, strict=True))
        ).rstrip()
        for each in table
    ]
