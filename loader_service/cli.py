"""The command line: arguments to configuration, answers to text; no logic of its own."""

from __future__ import annotations

from loader_service import boot

if __name__ != "__main__":  # else `boot` has run this file, and has done so
    boot.forget_empty_entries()  # before anything else is imported
    boot.add_package_folder()

import dataclasses
import json
import logging
import signal
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from loader_client.connection import Connection
from loader_client.demo.__main__ import main as run_demo
from loader_service import __version__, reports
from loader_service.advice import python_lines
from loader_service.catalog.labels.class_lists import write_class_lists
from loader_service.catalog.schema_text import schema_toml
from loader_service.click_options import SPELLINGS, LoneOptions, options_of
from loader_service.command_help import CommandGroup, completion_command
from loader_service.config import ServiceConfig
from loader_service.control import Times, begin_anew, restart_service, stop_service
from loader_service.daemon.service_process import FAILED, READY, SCANNED
from loader_service.daemon.serving import ServiceReady, run_service, scan_files
from loader_service.daemon.supervisor import Supervisor
from loader_service.errors import ConfigError, LoaderError
from loader_service.frame_check import FrameCheck
from loader_service.log_lines import set_up_log
from loader_service.option_fields import build, changed
from loader_service.pack.pack_command import pack_command
from loader_service.preview.files_sheet import check_target, write_files_sheet
from loader_service.reaching import reach
from loader_service.scan_options import ScanOptions
from loader_service.sizes import counted
from loader_service.start_command import read_option
from loader_service.top_command import top_command
from loader_service.unpack.unpack_command import unpack_command
from loader_service.watch_commands import CONNECT_S, hush, ps_command, status_command
from loader_service.web.web_command import web_command
from loader_service.web_options import DEFAULT_HOST, looks_like_address
from loader_service.worker_bounds import WorkerBounds
from loader_service.worker_limits import workers_for_all_cores

if TYPE_CHECKING:
    from tqdm import tqdm

_T = TypeVar("_T")

_LOG = logging.getLogger(__name__)

#: How often a log, and the program that started this one, is told how far a scan is, in seconds.
_SAY_EVERY_S, _TELL_EVERY_S = 10.0, 0.2

#: Raised by click 8.2 and later for a command line without a command; earlier versions print the help themselves.
_HELP_INSTEAD: Any = getattr(click.exceptions, "NoArgsIsHelpError", ())

#: Options of `inspect`: those of a scan, but `--classes`, which it writes.
_SCAN_OPTIONS = frozenset({each.name for each in dataclasses.fields(ScanOptions)} - {"classes"} | {"cache_dir"})


class _Bar:
    """The progress of a scan on standard error, and the line that says that the service is ready."""

    def __init__(
        self, *, terminal: bool = False, embedded: bool = False, doing: str = "indexing", unit: str = "file"
    ) -> None:
        self._doing, self._unit = doing, unit
        self._embedded = embedded
        self._hidden = False if terminal else None  # None: unless standard error is a terminal itself
        self._bar: tqdm[Any] | None = None
        self._began = self._said = time.monotonic()
        self._told = 0.0

    def scanned(self, done: int, total: int) -> None:
        """Move the bar; a pipe or a log file gets a line now and then instead."""
        if not sys.stderr.isatty():
            self._say(done, total)
            self._tell_program(done, total)
            return
        if self._bar is None:
            from tqdm import tqdm  # noqa: PLC0415 - 15 ms of CPU, for terminals only

            tqdm.monitor_interval = 0  # no thread of its own in a process that starts others
            self._bar = tqdm(total=total, unit=self._unit, desc=self._doing, leave=False, disable=self._hidden)
        self._bar.update(done - self._bar.n)
        if done >= total:
            self._bar.close()

    def _tell_program(self, done: int, total: int) -> None:
        """Tell the program that started this one, which may show it in a notebook."""
        if self._embedded and (done >= total or time.monotonic() - self._told > _TELL_EVERY_S):
            self._told = time.monotonic()
            click.echo(f"{SCANNED}{done} {total}")
            sys.stdout.flush()

    def _say(self, done: int, total: int) -> None:
        now = time.monotonic()
        if now - self._said < _SAY_EVERY_S or done >= total:
            return
        self._said = now
        line = f"{self._doing}: {done:,} of {total:,} {self._unit}s, {now - self._began:.0f} s so far"
        if _LOG.isEnabledFor(logging.INFO):
            _LOG.info("%s", line)
        else:  # `inspect`, or a private service, whose user waits too
            click.echo(line, err=True)

    def ready(self, ready: ServiceReady) -> None:
        """Say where the service is, what it has, and how to use it."""
        left_out = [
            f"{counted(count, what)} {how}"
            for count, what, how in (
                (ready.skipped_files, "file", "skipped"),
                (ready.empty_videos, "empty video", "left out"),
            )
            if count
        ]
        parts = [ready.serves, counted(ready.workers, "worker"), *left_out]
        click.echo(f"{READY}{ready.endpoint} ({', '.join(parts)})")
        click.echo(f'connect with: ds = loader_client.dataset("{ready.endpoint}", batch_size=16)')
        if ready.web:
            click.echo(f"web page: {ready.web}", err=self._embedded)  # of a private service, to its user's terminal
        sys.stdout.flush()


@click.group(cls=CommandGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, prog_name="loader-service")
def cli() -> None:
    """Feed tf.data with JPEG frames from HDF5 files, decoded by a pool of worker processes."""


@cli.command(cls=LoneOptions, lone={"--web": (DEFAULT_HOST, looks_like_address)})
@click.argument("files", nargs=-1)
@options_of(ServiceConfig)
def start(files: tuple[str, ...], **options: Any) -> None:
    """Serve the videos in FILES (names, URLs, patterns such as 'data/*.h5'), or a Python source, until stopped."""
    config = build(ServiceConfig, {"files": files, **options})
    set_up_log(config.log_format, config.log_file, config.log_level)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # until the loop takes over, stopping is an interrupt
    if config.supervise:
        sys.exit(Supervisor([each for each in sys.argv[2:] if each != "--supervise"]).run())
    try:
        if run_service(config, _Bar(terminal=config.terminal, embedded=config.embedded)):
            begin_anew()
    except KeyboardInterrupt:
        click.echo("stopped before it was ready", err=True)


@cli.command()
@click.argument("endpoint", required=False)
@click.option("--json", "as_json", is_flag=True, help="For programs: one JSON object.")
def catalog(endpoint: str | None, as_json: bool) -> None:
    """Show what a service serves: fields, and which number stands for which class."""
    summary = _with_service(endpoint, lambda service: service.catalog)
    click.echo(json.dumps(dataclasses.asdict(summary), indent=2) if as_json else reports.summary_text(summary))


@cli.command()
@click.argument("workers", required=False)
@click.argument("endpoint", required=False)
@click.option(
    "--ray",
    "remote",
    type=SPELLINGS["remote"],
    help="Remote workers, a number or bounds such as 0..64, on the cluster that the service was started with.",
)
def scale(workers: str | None, endpoint: str | None, remote: WorkerBounds | None) -> None:
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


@cli.command()
@click.argument("endpoint", required=False)
@click.option("--timeout", default=30.0, show_default=True, help="Seconds that its end may take.")
def stop(endpoint: str | None, timeout: float) -> None:
    """Have a service finish what it is at, and wait until it has ended and nothing of it is left."""
    hush()
    stop_service(endpoint, click.echo, Times(CONNECT_S, timeout))


@cli.command()
@click.argument("endpoint", required=False)
@click.option("--timeout", default=600.0, show_default=True, help="Seconds until it must be ready.")
def restart(endpoint: str | None, timeout: float) -> None:
    """Have a service end and begin anew as it was started, and wait until it is ready; trainings go on."""
    hush()
    restart_service(endpoint, click.echo, Times(CONNECT_S, timeout))


@cli.command(cls=LoneOptions, lone={"--check": ("sample", lambda _: False)})
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
def inspect(
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
    from loader_service.worker.turbo_library import decoder_text  # noqa: PLC0415 - no other command needs the codec

    config = build(ServiceConfig, {"files": files, **options})
    found = scan_files(config, _Bar().scanned)
    for line in write_class_lists(class_files, {each.name: each.classes for each in found.fields if each.classes}):
        click.echo(line, err=True)
    if contact_sheet is not None:
        for line in write_files_sheet(found, contact_sheet, force=force):
            click.echo(line, err=True)
    if as_toml:
        click.echo(schema_toml(found), nl=False)
        return
    report = {
        **reports.describe_catalog(found),
        "decoder": decoder_text(),
        "python": python_lines(found, files, changed(ScanOptions, options)),
    }
    if check is not None:
        bar = _Bar(doing="decoding", unit="video")
        checking = FrameCheck(found, every_frame=check == "all", timeout_s=config.scan.scan_timeout)
        bad = checking.run(workers_for_all_cores(), bar.scanned)
        report |= {"checked": check, "bad": [each._asdict() for each in bad]}
    click.echo(json.dumps(report, indent=2) if as_json else reports.catalog_text(report))
    if report.get("bad"):
        sys.exit(1)


@cli.command()
@click.option("--videos", type=int, help="Videos to train on; default: 400.")
@click.option("--epochs", type=int, help="Epochs of training; default: 6.")
@click.option("--workers", type=int, help="Worker processes that decode; default: 2.")
def demo(**given: int | None) -> None:
    """Write a small data set, serve it, and train a Keras model on it (needs the extra [tensorflow])."""
    sys.exit(run_demo([f"--{name}={value}" for name, value in given.items() if value is not None]))


cli.add_command(status_command)
cli.add_command(top_command)
cli.add_command(ps_command)
cli.add_command(completion_command)
cli.add_command(pack_command)
cli.add_command(unpack_command)
cli.add_command(web_command)


def _with_service(endpoint: str | None, use: Callable[[Connection], _T]) -> _T:
    hush()
    with reach(endpoint, CONNECT_S) as service:
        return use(service)


def main() -> None:
    """Run the command: exit code 0, 1 when it failed while running, 2 for a wrong usage or configuration."""
    try:
        cli.main(prog_name="loader-service", standalone_mode=False)
    except (click.exceptions.Abort, KeyboardInterrupt):
        sys.exit(130)
    except click.ClickException as error:
        if isinstance(error, _HELP_INSTEAD):
            error.show()
        else:
            _complain(ConfigError.__name__, error.format_message())
        sys.exit(error.exit_code)
    except LoaderError as error:
        _complain(type(error).__name__, str(error))
        sys.exit(2 if isinstance(error, ConfigError) else 1)


def _complain(kind: str, message: str) -> None:
    """Say what was wrong in one line: to people, or to the program that started this one."""
    line = " ".join(message.split())
    if read_option(sys.argv, "embedded"):
        click.echo(f"{FAILED}{kind}: {line}")
    else:
        click.echo(f"loader-service: {line}", err=True)


if __name__ == "__main__":
    main()
