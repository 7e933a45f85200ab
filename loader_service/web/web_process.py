"""The program that serves the page: started by the daemon with a socket that listens already, and ended with it."""

from __future__ import annotations

import logging
import os
import socket
import sys
from contextlib import ExitStack

import uvicorn

from loader_service.lifeline import told
from loader_service.preview.previewer import PREVIEW_BYTES, Previewer
from loader_service.web.application import make_application
from loader_service.web.connections import PromptConnection
from loader_service.web.gate import Gate
from loader_service.web.service_watch import ServiceWatch
from loader_service.web_options import WebOptions

#: By how much others go first: the page must not slow a training down.
_NICE = 10

#: Connections at most, kept open or not; more are told to come later.
_MOST_CONNECTIONS = 256

#: How long a connection is kept open for another request, in seconds.
_KEEP_S = 15

#: Bytes of the head of a request at most.
_MOST_HEAD_BYTES = 16_384


def serve(options: WebOptions, token: str, listening: socket.socket) -> None:
    """Serve the page until the process is ended."""
    with ExitStack() as stack:
        watch = stack.enter_context(ServiceWatch(options.endpoint, control=options.control))
        previewer = stack.enter_context(Previewer(options.catalog)) if options.catalog else None
        outputs = None
        if options.catalog and options.transform:  # one that hangs holds up no pictures of files
            limit = PREVIEW_BYTES + options.worker_memory if options.worker_memory else 0
            outputs = stack.enter_context(Previewer(options.catalog, transform=options.transform, memory_bytes=limit))
        application = make_application(options, watch, previewer, outputs)
        gate = Gate(application, token, (options.host, options.port))
        server(gate).run(sockets=[listening])


def server(application: Gate) -> uvicorn.Server:
    """Return the server: HTTP/1.1 alone, which believes no proxy, and says little of itself."""
    config = uvicorn.Config(
        application,
        loop="asyncio",
        http=PromptConnection,
        ws="none",
        lifespan="off",
        log_level="warning",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        limit_concurrency=_MOST_CONNECTIONS,
        timeout_keep_alive=_KEEP_S,
        h11_max_incomplete_event_size=_MOST_HEAD_BYTES,
    )
    return uvicorn.Server(config)


def main() -> None:
    """Run the process."""
    options = told(WebOptions)
    token = sys.stdin.readline().strip()
    if not token:
        sys.exit("the service gave no token")
    os.nice(_NICE)
    logging.getLogger("loader_client").setLevel(logging.ERROR)  # what it waits for, the page says itself
    serve(options, token, socket.socket(fileno=options.descriptor))


if __name__ == "__main__":
    main()
