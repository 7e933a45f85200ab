"""The command `pack`: options to a run, what came of it to text; no logic of its own."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

import click

from loader_service.click_options import options_of
from loader_service.conversion.rate import RateBar
from loader_service.conversion.write_remedies import add_who_goes_on, interrupted
from loader_service.errors import LoaderError
from loader_service.pack.pack_options import PackOptions
from loader_service.sizes import counted, size_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from loader_service.pack.packing import Packed

#: Words of ``--from``, as the kinds name themselves; the kinds are only loaded when they are needed.
KIND_WORDS = ("frames", "images", "videos", "hdf5", "tfrecord", "tar", "lerobot", "unpacked")


@click.command("pack")
@click.argument("sources", nargs=-1, required=True)
@click.option("-o", "--output", required=True, metavar="OUT.h5", help="What to write; shards are OUT-00000.h5, ….")
@click.option(
    "--from", "kind", type=click.Choice(KIND_WORDS), help="What the sources are, where their bytes do not tell."
)
@options_of(PackOptions)
def pack_command(**given: Any) -> None:
    """Pack SOURCES (films, folders of pictures, HDF5, TFRecord, tars, LeRobot) into HDF5 that is read fastest.

    Sources are files, folders, or URLs of either, such as s3://bucket/frames/. Run again, it goes on where it was
    stopped, and adds what is new.
    """
    from loader_service.pack.find_items import found_items  # noqa: PLC0415 - with all kinds of sources

    options = PackOptions(**given)
    with found_items(options, _say) as items:
        if options.dry_run:
            _say_plan(items, options)
        else:
            _pack(items, options)


def _pack(items: list[Any], options: PackOptions) -> None:
    from loader_service.pack.pack_place import PackPlace  # noqa: PLC0415 - with HDF5
    from loader_service.pack.packing import pack  # noqa: PLC0415 - with HDF5

    began = time.monotonic()
    place = PackPlace(options.output, is_sharded=options.is_sharded)
    try:
        with RateBar("packing", _say) as bar:
            done = pack(items, options, bar.at)
    except LoaderError as error:
        add_who_goes_on(error, place.unfinished)
        raise
    except KeyboardInterrupt:
        _say(interrupted(place.unfinished))
        raise
    took = time.monotonic() - began
    for left in done.left_out:
        click.echo(str(left), err=True)
    for line in _notes(done):
        _say(line)
    size = sum(record.size_bytes for record in done.records)
    where = done.paths[0] if len(done.paths) == 1 else f"{done.paths[0]} to {done.paths[-1]}"
    click.echo(
        f"{where}: {counted(len(done.records), 'video')}, {sum(record.frames for record in done.records):,} frames, "
        f"{size_text(size)}; {done.added} added in {took:.1f} s"
    )
    if options.check:
        _check(options, done)
    if done.left_out:
        sys.exit(1)


def _notes(done: Packed) -> Iterator[str]:
    """Yield what is to be known of what was packed, a line each."""
    if done.changed:
        yield (
            f"{counted(len(done.changed), 'source')} changed since they were packed, and are not packed again, such as "
            f"{done.changed[0]!r}; --force packs all anew"
        )
    unlabelled = [record.name for record in done.records if "label" not in record.attributes]
    if 0 < len(unlabelled) < len(done.records):
        yield (
            f"{len(unlabelled)} of {counted(len(done.records), 'video')} have no label, such as {unlabelled[0]!r}, and "
            "a service wants one for all or none: give --labels FILE.csv when you serve them, or correct the sources"
        )
    if done.turned:
        yield (
            f"{counted(done.turned, 'picture')} are to be shown turned, as their EXIF data says, and lie there as they "
            "are: the service, like TensorFlow, does not turn them; --quality makes all pictures anew, upright"
        )


def _say(line: str) -> None:
    click.echo(line, err=True)


def _say_plan(items: Any, options: PackOptions) -> None:
    from loader_service.pack.dry_run import estimate  # noqa: PLC0415 - with all kinds of sources

    found = estimate(items, options)
    click.echo(str(found))
    for line in found.bad:
        click.echo(f"bad: {' '.join(line.split())}", err=True)


def _check(options: PackOptions, done: Any) -> None:
    from loader_service.pack.pack_check import check_packed, check_reading  # noqa: PLC0415 - with HDF5
    from loader_service.pack.pack_place import PackPlace  # noqa: PLC0415 - with HDF5

    with RateBar("checking", _say) as bar:
        bad = check_packed(PackPlace(options.output, is_sharded=options.is_sharded), done.records, bar.at)
    bad = [f"{line}; pack again with --force" for line in bad] or check_reading(done.paths, done.records)
    for line in bad:
        click.echo(f"bad: {line}", err=True)
    if bad:
        sys.exit(1)
    click.echo(f"checked: all {counted(len(done.records), 'video')} are as they were read")
