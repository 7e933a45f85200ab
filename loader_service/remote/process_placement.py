"""Places remote workers as processes of this host: a service's own ends without a cluster, for tests and benchmarks."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import replace

from loader_service.children import ONE_THREAD, Child, command, environment
from loader_service.remote.placement_lines import PlacementLines
from loader_service.remote.remote_options import RemoteWorkerOptions, line_of
from loader_service.url_secrets import kept_secrets

#: How often it looks whether a process has ended, and how long it waits before it starts another, in seconds.
_LOOK_S, _PAUSE_S = 0.1, 0.5


def start_worker(options: RemoteWorkerOptions) -> Child:
    """Start a remote worker as a process, with the entry that an actor uses too, and no more than another host has."""
    words = command("loader_service.remote.remote_worker", str(os.getpid()))
    kept = kept_secrets()
    variables = {name: value for name, value in environment(**ONE_THREAD).items() if name not in kept}
    child = Child(words, variables, stdin=subprocess.PIPE, output=None)
    os.write(child.stdin, line_of(options))
    return child


def main() -> None:
    """Keep as many processes alive as the daemon says."""
    lines = PlacementLines()
    lines.say("connected", address="127.0.0.1")
    proxy = sys.argv[2].partition("@")[2]
    workers: list[Child] = []
    not_before = 0.0
    while not lines.is_over:
        lines.hear(_LOOK_S)
        for ended in [each for each in workers if each.code is not None]:
            workers.remove(ended)
            not_before = time.monotonic() + _PAUSE_S
            if len(workers) < lines.workers:
                lines.say("note", line=f"the remote worker with pid {ended.pid} {ended.cause()}")
            ended.close()
        while lines.options is not None and len(workers) < lines.workers and time.monotonic() >= not_before:
            options = replace(lines.options, address=f"tcp://{proxy}") if proxy else lines.options
            workers.append(start_worker(options))
    for each in workers:
        each.close()


if __name__ == "__main__":
    main()
