"""The commands `join` and `flatten`: arguments to files; no logic of their own."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import click

from loader_service.catalog.closed_folders import line_of_closed
from loader_service.catalog.joining import Joined
from loader_service.catalog.paths import expand_patterns
from loader_service.errors import ConfigError
from loader_service.sizes import counted
from loader_service.stores.urls import is_url

if TYPE_CHECKING:
    from collections.abc import Sequence

_OUTPUT = click.option("-o", "--output", required=True, metavar="OUT.h5", help="What to write; must not be there yet.")


@click.command("join")
@click.argument("files", nargs=-1, required=True)
@click.option(
    "--by",
    type=click.Choice([each.value for each in Joined]),
    default=Joined.ROWS.value,
    show_default=True,
    help="What belongs together: row n of each file; groups of one name; datasets of one name, each file as a group; "
    "files under their names; or files of one number, or name, each argument a pattern of one kind, into a folder.",
)
@_OUTPUT
def join_command(files: tuple[str, ...], by: str, output: str) -> None:
    """Make one HDF5 file of FILES that hold a part of each sample, as images here and labels there."""
    from loader_service.rewriting.join import join, join_numbered  # noqa: PLC0415 - with HDF5

    if by == Joined.NUMBERS.value:
        written = join_numbered([_paths([pattern]) for pattern in files], output)
        click.echo(f"{output}: {counted(len(written), 'file')}, {written[0]!r} first")
        return
    paths = _paths(files)
    join(Joined(by), paths, output)
    click.echo(f"{output}: made of {counted(len(paths), 'file')}")


@click.command("flatten")
@click.argument("file")
@_OUTPUT
def flatten_command(file: str, output: str) -> None:
    """Write FILE anew without structs, complex numbers and cells of MATLAB: as datasets of numbers and texts."""
    from loader_service.rewriting.flatten import flatten  # noqa: PLC0415 - with HDF5

    paths = _paths([file])
    if len(paths) > 1:
        raise ConfigError(f"{file!r} names {len(paths)} files; give one at a time")
    flatten(paths[0], output)
    click.echo(f"{output}: written")


def _paths(patterns: Sequence[str]) -> list[str]:
    """Return the files that patterns name, on this machine; from here on, who stops the command interrupts it."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # what is half written is to be removed
    for pattern in filter(is_url, patterns):
        raise ConfigError(f"{pattern!r} is an address; expected files of this machine: copy it to one, and give that")
    paths = expand_patterns(patterns)
    if closed := line_of_closed(patterns):
        click.echo(closed, err=True)
    return paths
