"""The command `unpack`: arguments to options, what was done to lines; no logic of its own."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from loader_service.catalog.scan.catalog_scan import scan
from loader_service.click_options import SPELLINGS, options_of
from loader_service.config import ServiceConfig
from loader_service.conversion.rate import RateBar, duration_text
from loader_service.conversion.work_folder import WORK_NAME
from loader_service.conversion.write_remedies import add_who_goes_on, interrupted
from loader_service.errors import LoaderError
from loader_service.option_fields import build
from loader_service.scan_options import ScanOptions
from loader_service.sizes import counted, size_text
from loader_service.unpack.unpack_options import UnpackOptions
from loader_service.worker_limits import check_workers, most_workers, workers_for_all_cores

if TYPE_CHECKING:
    from loader_service.unpack.unpacking import UnpackEstimate, Unpacking, UnpackReport

_SCAN_OPTIONS = frozenset({each.name for each in dataclasses.fields(ScanOptions)} | {"cache_dir"})
_OWN_OPTIONS = frozenset({each.name for each in dataclasses.fields(UnpackOptions)} - {"output"})

_EXAMPLES = """\b
Examples:
  loader-service unpack 'data/*.h5' -o records --to tfrecord --shard-size 256M
  loader-service unpack 'data/*.h5' -o pictures --to folders
  loader-service unpack 'data/*.h5' -o films --to mp4 --fps 25
  loader-service unpack 'data/*.h5' -o shards --to webdataset --shards 64
"""


@click.command("unpack", epilog=_EXAMPLES)
@click.argument("files", nargs=-1, required=True)
@click.option("-o", "--output", required=True, metavar="PLACE", help="Where to write: a folder.")
@options_of(UnpackOptions, only=_OWN_OPTIONS)
@click.option("--dry-run", is_flag=True, help="Say what would be written, how large, and how long; write nothing.")
@click.option("--check", is_flag=True, help="Compare what was written with what was read; exit code 1 if it differs.")
@click.option(
    "--workers",
    type=SPELLINGS["workers"],
    default=0,
    help="Processes that read and write; default: 'auto', one per core.",
)
@options_of(ServiceConfig, only=_SCAN_OPTIONS)
def unpack_command(files: tuple[str, ...], dry_run: bool, check: bool, **given: Any) -> None:
    """Write what FILES hold as TFRecord, folders of pictures, mp4 or WebDataset tars.

    JPEG and PNG pass through unchanged, but for mp4. A run that was killed goes on where it was, by the same command.
    """
    # Here, not above: it needs an extra, and no other command does.
    from loader_service.unpack.unpacking import Unpacking, written_options  # noqa: PLC0415

    own = {name: given.pop(name) for name in (*_OWN_OPTIONS, "output")}
    options = UnpackOptions(**own)
    workers = given.pop("workers")
    if workers:
        check_workers(workers, most_workers())
    if check:
        options = options.as_written(written_options(options.output))
    config = build(ServiceConfig, {"files": files, **given})
    with RateBar("indexing", _say) as bar:
        catalog = scan(config.files, config.scan, cache_dir=config.cache_path, progress=bar.counted)
    unpacking = Unpacking(catalog, options, workers or workers_for_all_cores())
    if dry_run:
        click.echo(_estimate_text(unpacking.estimate(), options))
        return
    try:
        with RateBar("unpacking", _say) as bar:
            report = unpacking.run(bar.at)
    except LoaderError as error:
        add_who_goes_on(error, Path(options.output) / WORK_NAME)
        raise
    except KeyboardInterrupt:
        _say(interrupted(Path(options.output) / WORK_NAME))
        raise
    for left in report.left_out:
        _say(str(left))
    click.echo(_report_text(report, options))
    is_alike = not check or _is_alike(unpacking)
    if report.left_out or not is_alike:
        sys.exit(1)


def _is_alike(unpacking: Unpacking) -> bool:
    """Compare what was written with the files, and say what differs."""
    with RateBar("comparing", _say) as bar:
        different = unpacking.check(bar.at)
    for each in different:
        _say(f"different: {each.name}: {each.reason}")
    click.echo(f"compared with the files: {counted(len(different), 'difference')}")
    return not different


def _say(line: str) -> None:
    click.echo(line, err=True)


def _estimate_text(estimate: UnpackEstimate, options: UnpackOptions) -> str:
    names = ", ".join(estimate.first_names) + (", …" if estimate.files > len(estimate.first_names) else "")
    return (
        f"would write {counted(estimate.samples, 'sample')} into {options.output!r}, as {names} "
        f"({estimate.files:,} in all)\n"
        f"about {size_text(estimate.written_bytes)}, from {size_text(estimate.read_bytes)}, in about "
        f"{duration_text(estimate.seconds)}"
    )


def _report_text(report: UnpackReport, options: UnpackOptions) -> str:
    left_out = f"; {counted(len(report.left_out), 'sample')} left out" if report.left_out else ""
    done = "nothing to do: has" if report.was_complete else "wrote"
    return f"{options.output!r}: {done} {counted(report.samples, 'sample')}, {size_text(report.size_bytes)}{left_out}"
