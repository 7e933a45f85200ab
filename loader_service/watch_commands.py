"""The commands that show what services do: `status`, `ps`, `top`; they ask, and change nothing but what keys say."""

from __future__ import annotations

import json
import logging
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress

import click

from loader_client.connection import Connection
from loader_service import endpoint as endpoints
from loader_service.protocol.messages import Status
from loader_service.watching.status_json import status_json
from loader_service.watching.status_text import status_text

#: How long a command waits for the service, in seconds.
CONNECT_S = 5.0

#: A verdict is over so many seconds at the least, and over no more when a trainer tells nothing meanwhile.
_LEAST_S, _MOST_S = 1.0, 2.5

#: Pause between two looks while a trainer is waited for, in seconds: it tells once a second.
_LOOK_EVERY_S = 0.1

#: Clears a terminal.
_CLEAR = "\033[H\033[2J\033[3J"


def place_of(endpoint: str) -> str:
    """Return what commands need to find a service, "" for the one that they find anyway."""
    return "" if endpoint == str(endpoints.parse(None)) else endpoint


def hush() -> None:
    """Have the client log errors only: the answer says it all."""
    logging.getLogger("loader_client").setLevel(logging.ERROR)


def look_twice(service: Connection) -> tuple[Status | None, Status]:
    """Return two looks that are far enough apart for a verdict; None for the first where no stream is open."""
    first = latest = service.status()
    if not first.streams:
        return None, first
    begun = time.monotonic()
    while (passed := time.monotonic() - begun) < _MOST_S:
        if passed >= _LEAST_S and _have_told(first, latest):
            break
        time.sleep(_LOOK_EVERY_S)
        latest = service.status()
    return first, latest


def _have_told(first: Status, latest: Status) -> bool:
    """Return whether the trainers of all streams have told something between two looks."""
    before = {each.stream: each.totals.trainer_observed_seconds_total for each in first.streams}
    return all(each.totals.trainer_observed_seconds_total > before.get(each.stream, 0.0) for each in latest.streams)


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
    with Connection(endpoint, timeout_s=CONNECT_S) as service:
        place = place_of(service.endpoint)
        if not watch:
            _show(*look_twice(service), place, as_json=as_json)
            return
        with suppress(KeyboardInterrupt):
            for before, after in _looks(service):
                _show(before, after, place, as_json=as_json, again=True)


def _looks(service: Connection) -> Iterator[tuple[Status | None, Status]]:
    """Yield the latest look every second, each with one of some seconds before."""
    looks = [service.status()]
    while True:
        yield (looks[0] if len(looks) > 1 else None), looks[-1]
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
