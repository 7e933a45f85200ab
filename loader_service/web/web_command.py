"""The command `web`: the page of a service that runs already; loads the server only when it is used."""

from __future__ import annotations

import contextlib
import secrets

import click

from loader_service.reaching import reach
from loader_service.web_options import DEFAULT_HOST, WebOptions, check_installed, given_token, link_of, listening_socket


@click.command("web")
@click.argument("endpoint", required=False)
@click.option("--listen", default=DEFAULT_HOST, metavar="HOST:PORT", help="Where; default: 127.0.0.1:8321 or free.")
@click.option("--control", is_flag=True, help="Let the page change the number of workers.")
def web_command(endpoint: str | None, listen: str, *, control: bool) -> None:
    """Serve a page for browsers about a running service, until Ctrl-C; `start --web` shows pictures and data too."""
    check_installed()
    from loader_service.web.web_process import serve  # noqa: PLC0415 - needs the extra [web]

    with reach(endpoint) as service:
        place = service.endpoint
    token = given_token() or secrets.token_urlsafe(24)
    with listening_socket(listen) as listening, contextlib.suppress(KeyboardInterrupt):
        host, port = listening.getsockname()[:2]
        click.echo(f"web page: {link_of(host, port, token)}")
        serve(WebOptions(place, host, port, listening.fileno(), control), token, listening)
