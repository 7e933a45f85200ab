"""The commands `catalog`, `scale`, `stop` and `restart`: they ask a service that runs, and say what it answers."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from typing import TypeVar

import click

from loader_client.connection import Connection
from loader_service.click_options import SPELLINGS
from loader_service.commands import reports
from loader_service.commands.control import restart_service, stop_service
from loader_service.commands.watch_commands import hush
from loader_service.reaching import reach
from loader_service.worker_bounds import WorkerBounds

_T = TypeVar("_T")


@click.command("catalog")
@click.argument("endpoint", required=False)
@click.option("--json", "as_json", is_flag=True, help="For programs: one JSON object.")
def catalog_command(endpoint: str | None, as_json: bool) -> None:
    """Show what a service serves: fields, and which number stands for which class."""
    summary = _with_service(endpoint, lambda service: service.catalog)
    click.echo(json.dumps(dataclasses.asdict(summary), indent=2) if as_json else reports.summary_text(summary))


@click.command("scale")
@click.argument("workers", required=False)
@click.argument("endpoint", required=False)
@click.option(
    "--ray",
    "remote",
    type=SPELLINGS["remote"],
    help="Remote workers, a number or bounds such as 0..64, on the cluster that the service was started with.",
)
def scale_command(workers: str | None, endpoint: str | None, remote: WorkerBounds | None) -> None:
    """Change the number of workers of a service, under running trainings too; their order does not change.

    WORKERS is a number, bounds such as 2..16 within which the service finds the least number that keeps its trainers
    busy, or 'auto': the same from 1 to one per core.
    """
    if workers is not None and remote is not None and endpoint is None and "/" in workers:
        workers, endpoint = None, workers  # `scale --ray 64 ENDPOINT`
    if workers is None and remote is None:
        raise click.UsageError("how many? give WORKERS, or --ray N")
    bounds = None if workers is None else WorkerBounds.of(workers)
    if remote is not None:  # first, since most services have none, and then nothing is done
        click.echo(_with_service(endpoint, lambda service: service.scale_remote(str(remote))))
    if bounds is not None:
        click.echo(_with_service(endpoint, lambda service: service.scale(str(bounds))))


@click.command("stop")
@click.argument("endpoint", required=False)
@click.option("--timeout", default=30.0, show_default=True, help="Seconds that its end may take.")
def stop_command(endpoint: str | None, timeout: float) -> None:
    """Have a service finish what it is at, and wait until it has ended and nothing of it is left."""
    hush()
    stop_service(endpoint, click.echo, timeout)


@click.command("restart")
@click.argument("endpoint", required=False)
@click.option("--timeout", default=600.0, show_default=True, help="Seconds until it must be ready.")
def restart_command(endpoint: str | None, timeout: float) -> None:
    """Have a service end and begin anew as it was started, and wait until it is ready; trainings go on."""
    hush()
    restart_service(endpoint, click.echo, timeout)


def _with_service(endpoint: str | None, use: Callable[[Connection], _T]) -> _T:
    hush()
    with reach(endpoint) as service:
        return use(service)
