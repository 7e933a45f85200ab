"""The command `start`: options to a configuration, which is served until it is told to stop."""

from __future__ import annotations

import signal
import sys
from typing import Any

import click

from loader_service.click_options import LoneOptions, options_of
from loader_service.commands.begin_anew import begin_anew
from loader_service.commands.log_lines import set_up_log
from loader_service.commands.scan_bar import ScanBar
from loader_service.config import ServiceConfig
from loader_service.daemon.serving import run_service
from loader_service.option_fields import build
from loader_service.web_options import DEFAULT_HOST, looks_like_address


@click.command("start", cls=LoneOptions, lone={"--web": (DEFAULT_HOST, looks_like_address)})
@click.argument("files", nargs=-1)
@options_of(ServiceConfig)
def start_command(files: tuple[str, ...], **options: Any) -> None:
    """Serve the videos in FILES (names, URLs, patterns such as 'data/*.h5'), or a Python source, until stopped."""
    config = build(ServiceConfig, {"files": files, **options})
    set_up_log(config.log_format, config.log_file, config.log_level)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # until the loop takes over, stopping is an interrupt
    if config.supervise:
        from loader_service.daemon.supervisor import Supervisor  # noqa: PLC0415 - systemd does this for most

        sys.exit(Supervisor([each for each in sys.argv[2:] if each != "--supervise"]).run())
    try:
        if run_service(config, ScanBar(terminal=config.terminal, embedded=config.embedded)):
            begin_anew()
    except KeyboardInterrupt:
        click.echo("stopped before it was ready", err=True)
