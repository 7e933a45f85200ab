"""The command `inspect`: what files hold, as text, JSON, a schema or a picture; starts no service."""

from __future__ import annotations

import dataclasses
import json
import sys
from typing import Any

import click

from loader_service.advice import python_lines
from loader_service.catalog.labels.class_lists import write_class_lists
from loader_service.catalog.paths import in_one_pattern
from loader_service.catalog.scan.catalog_scan import scan
from loader_service.catalog.schema_text import schema_toml
from loader_service.click_options import LoneOptions, options_of
from loader_service.commands import reports
from loader_service.commands.scan_bar import ScanBar
from loader_service.config import ServiceConfig
from loader_service.frame_check import FrameCheck
from loader_service.option_fields import build, changed
from loader_service.preview.files_sheet import check_target, write_files_sheet
from loader_service.scan_options import ScanOptions
from loader_service.worker.turbo_library import decoder_text
from loader_service.worker_limits import workers_for_all_cores

#: Options of `inspect`: those of a scan, but `--classes`, which it writes.
_SCAN_OPTIONS = frozenset({each.name for each in dataclasses.fields(ScanOptions)} - {"classes"} | {"cache_dir"})


@click.command("inspect", cls=LoneOptions, lone={"--check": ("sample", lambda _: False)})
@click.argument("files", nargs=-1, required=True)
@click.option("--json", "as_json", is_flag=True, help="For programs: one JSON object.")
@click.option("--toml", "as_toml", is_flag=True, help="For --schema: the fields, as TOML that can be edited.")
@click.option(
    "--classes",
    "class_files",
    multiple=True,
    metavar="FILE",
    help="Write the classes to FILE, one a line, for `start --classes FILE`; FIELD=FILE for another field than label.",
)
@click.option(
    "--check",
    type=click.Choice(["sample", "all"]),
    metavar="[=all]",
    help="Decode the first, middle and last frame of each video, or all, and list what is bad; exit code 1 then.",
)
@click.option("--contact-sheet", metavar="OUT.png", help="Write frames of up to 16 videos as one picture.")
@click.option("--force", is_flag=True, help="Let the contact sheet take the place of a file that is there.")
@options_of(ServiceConfig, only=_SCAN_OPTIONS)
def inspect_command(
    files: tuple[str, ...],
    as_json: bool,
    as_toml: bool,
    class_files: tuple[str, ...],
    check: str | None,
    **options: Any,
) -> None:
    """Show what FILES hold: videos, frames, fields, and how they are stored. Starts nothing."""
    if as_json and as_toml:
        raise click.UsageError("--json and --toml are two ways to print the same; leave one out")
    contact_sheet, force = options.pop("contact_sheet"), options.pop("force")
    if contact_sheet is not None:
        check_target(contact_sheet, force=force)
    config = build(ServiceConfig, {"files": files, **options})
    found = scan(config.files, config.scan, cache_dir=config.cache_path, progress=ScanBar().scanned)
    for line in write_class_lists(class_files, {each.name: each.classes for each in found.fields if each.classes}):
        click.echo(line, err=True)
    if contact_sheet is not None:
        for line in write_files_sheet(found, contact_sheet, force=force):
            click.echo(line, err=True)
    if as_toml:
        declared = config.scan.declared
        click.echo(schema_toml(found, "equal" if declared is None else declared.lengths), nl=False)
        return
    report = {
        **reports.describe_catalog(found),
        "decoder": decoder_text(),
        "python": python_lines(found, in_one_pattern(files), changed(ScanOptions, options)),
    }
    if check is not None:
        bar = ScanBar(doing="decoding", unit="video")
        checking = FrameCheck(found, every_frame=check == "all", timeout_s=config.scan.scan_timeout)
        bad = checking.run(workers_for_all_cores(), bar.scanned)
        report |= {"checked": check, "bad": [each._asdict() for each in bad]}
    click.echo(json.dumps(report, indent=2) if as_json else reports.catalog_text(report))
    if report.get("bad"):
        sys.exit(1)
