"""Runs programs as the containers of a pod have them: a user, PID and mount namespaces of their own, shared folders.

What two of them share is what a pod gives them: a tmpfs at /dev/shm, and the folder of the socket. Needs root.
"""

from __future__ import annotations

import functools
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from loader_service.protocol.segment_files import DEFAULT_SHARED_MEMORY

#: The group that all of them are in, as `supplementalGroups` of a pod says.
GROUP = 2000

#: Where the socket's folder is in each of them.
SOCKETS = "/mnt/run"

_ENDPOINT = f"ipc://{SOCKETS}/service/loader.sock"

#: Arguments: shared memory, folder of the socket, user, groups, where Python is, what keeps others from it; a program.
#: A Python in a home that is closed to others is put into an open one in its place.
_ENTER = """
mount --make-rprivate / && mount -t tmpfs none /mnt && mkdir /mnt/run /mnt/cache /mnt/python && chmod 1777 /mnt/cache &&
mount --bind "$0" /dev/shm && mount --bind "$1" /mnt/run && user=$2 groups=$3 python=$4 closed=$5 && shift 5 &&
if [ "$closed" ]; then
    mount --bind "$python" /mnt/python && mount -t tmpfs -o mode=755 none "$closed" && mkdir -p "$python" &&
    mount --bind /mnt/python "$python"
fi &&
exec setpriv --reuid "$user" --regid "$user" --groups "$groups" --no-new-privs --bounding-set=-all "$@"
"""

_NAMESPACES = ("unshare", "--mount", "--pid", "--fork", "--mount-proc")


@dataclass(frozen=True)
class Pod:
    """What the containers share.

    Parameters
    ----------
    memory, sockets
        Folders outside, as the kubelet makes them: open to all, files in them belonging to the group.
    """

    memory: Path
    sockets: Path

    def run(
        self, user: int, *command: object, environment: Mapping[str, str] | None = None, groups: str = str(GROUP)
    ) -> subprocess.Popen[str]:
        """Start a program in a container of its own; its standard output and error are pipes."""
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "LOADER_"))}
        given = {
            "LOADER_SERVICE_ENDPOINT": _ENDPOINT,
            "LOADER_SERVICE_GROUP": str(GROUP),
            "XDG_CACHE_HOME": "/mnt/cache",
        }
        enter = _entering(self.memory, self.sockets, user, groups)
        return subprocess.Popen(
            [str(each) for each in (*enter, *command)],
            env={**inherited, **given, **(environment or {})},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )


@contextmanager
def pod(folder: Path) -> Iterator[Pod]:
    """Make what a pod's containers share; it is removed at the end."""
    memory = DEFAULT_SHARED_MEMORY / f"pod-{os.getpid()}"
    sockets = folder / "sockets"
    for each in (memory, sockets):
        each.mkdir()
        os.chown(each, 0, GROUP)
        each.chmod(0o2777)
    try:
        yield Pod(memory, sockets)
    finally:
        shutil.rmtree(memory)


def first_process(container: subprocess.Popen[str]) -> int | None:
    """Return the pid, here, of what is process 1 in a container; None when it has ended."""
    found = Path(f"/proc/{container.pid}/task/{container.pid}/children").read_text().split()
    return int(found[0]) if found else None


def end(container: subprocess.Popen[str]) -> None:
    """Kill all that runs in a container: the kernel does so when its process 1 ends."""
    if container.poll() is None:
        process = first_process(container)
        os.kill(container.pid if process is None else process, signal.SIGKILL)
    container.communicate()


def _entering(memory: Path, sockets: Path, user: int, groups: str) -> tuple[object, ...]:
    """Return the command that runs what follows it in a container."""
    python = Path(sys.base_prefix)
    closed = next((each for each in reversed(python.parents) if not each.stat().st_mode & 0o001), "")
    return (*_NAMESPACES, "sh", "-c", _ENTER, memory, sockets, user, groups, python, closed)


@functools.cache
def why_no_containers() -> str:
    """Return why there can be none here; "" when there can."""
    if os.geteuid() != 0:
        return "needs root, to make namespaces and become other users"
    missing = [each for each in ("unshare", "setpriv", "mount") if shutil.which(each) is None]
    if missing:
        return f"needs {', '.join(missing)}"
    with tempfile.TemporaryDirectory() as folder:
        tried = (
            *_entering(Path(folder), Path(folder), 2001, "2001"),
            sys.executable,
            "-c",
            "import loader_service.cli",
        )
        done = subprocess.run([str(each) for each in tried], capture_output=True, text=True, check=False)
    return f"may make no namespaces, or run no Python in them: {done.stderr.strip()[-200:]}" if done.returncode else ""
