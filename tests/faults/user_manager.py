"""Runs systemd's own user manager, apart from that of the host, if there is one; knows nothing of its units.

It has a mount namespace of its own, since it wants ``/run`` and the control groups to look as they do on a host that
systemd has booted, and a control group of its own, by which all that it has started can be ended.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.support.waiting import eventually

_SYSTEMD = Path("/lib/systemd/systemd")

#: Arguments: where the control groups are mounted, the name of a new one, the folder of the manager's directories, and
#: what to bind where. Then it is the manager, in a control-group namespace of its own.
_SCENERY = """
set -e
groups=$1 group=$2 folder=$3; shift 3
mount --make-rprivate /
mount -t tmpfs none /run
mkdir -p /run/systemd/system "$XDG_RUNTIME_DIR"
mount --bind "$folder/run" "$XDG_RUNTIME_DIR"
mount -t tmpfs none /mnt
while [ $# -gt 0 ]; do mkdir -p "$2"; mount --bind "$1" "$2"; shift 2; done
echo $$ > "$groups/$group/cgroup.procs"
exec unshare --cgroup sh -ec '
    mount -t tmpfs none /sys/fs/cgroup; mount -t cgroup2 none /sys/fs/cgroup
    exec /lib/systemd/systemd --user --log-target=console'
"""


class UserManager:
    """A running user manager.

    Parameters
    ----------
    process
        The manager.
    environment
        Its environment.
    """

    def __init__(self, process: subprocess.Popen[bytes], environment: Mapping[str, str]) -> None:
        self._process = process
        self._environment = environment

    def control(self, *arguments: str) -> str:
        """Return what ``systemctl --user`` answers; fail when it fails."""
        done = self._control(*arguments)
        assert done.returncode == 0, (arguments, done.stdout, done.stderr)
        return done.stdout.strip()

    def property(self, unit: str, name: str) -> str:
        """Return a property of a unit."""
        return self.control("show", unit, f"--property={name}", "--value")

    def is_up(self) -> bool:
        """Return whether it answers."""
        assert self._process.poll() is None, "the user manager has ended"
        return self._control("is-system-running").stdout.strip() in ("running", "degraded")

    def can(self, option: str) -> bool:
        """Return whether a unit with an option can run at all on this host."""
        return self._run("systemd-run", "--user", "--wait", "--quiet", "--property", option, "true").returncode == 0

    def _control(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return self._run("systemctl", "--user", *arguments)

    def _run(self, *command: str) -> subprocess.CompletedProcess[str]:
        inside = ["nsenter", f"--mount=/proc/{self._process.pid}/ns/mnt", *command]
        return subprocess.run(
            inside, env=dict(self._environment), capture_output=True, text=True, check=False, timeout=300
        )


def group_mount() -> Path | None:
    """Return where control groups of version 2 are mounted and can be made; None if that is nowhere."""
    for line in Path("/proc/mounts").read_text().splitlines():
        _, place, kind = line.split()[:3]
        if kind == "cgroup2" and os.access(place, os.W_OK) and (Path(place) / "cgroup.procs").exists():
            return Path(place)
    return None


def can_run() -> bool:
    """Return whether this host lets a user manager be started: it takes systemd, and root's rights to mount."""
    programs = all(map(shutil.which, ("unshare", "nsenter", "systemctl", "systemd-run")))
    if os.getuid() != 0 or not programs or not _SYSTEMD.exists() or group_mount() is None:
        return False
    return subprocess.run(["unshare", "--mount", "--cgroup", "true"], capture_output=True, check=False).returncode == 0


@contextmanager
def user_manager(folder: Path, bound: Mapping[Path, str], log: Path) -> Iterator[UserManager]:
    """Start a user manager whose directories are below `folder`; it and all that it started are gone at the end.

    Parameters
    ----------
    folder
        Its ``run`` is to be the runtime directory, its ``home`` the home; both exist.
    bound
        What it sees at places below ``/mnt``; its units see neither ``/tmp`` nor the home of whoever runs the tests.
    log
        Takes what it says.
    """
    groups = group_mount()
    assert groups is not None
    group = groups / folder.name
    group.mkdir()
    environment = {
        "PATH": "/usr/bin:/bin",
        "XDG_RUNTIME_DIR": "/run/user/0",
        "XDG_CONFIG_HOME": "/mnt/home/.config",
        "XDG_CACHE_HOME": "/mnt/home/.cache",
        "HOME": "/mnt/home",
    }
    bindings = [str(each) for pair in ((folder / "home", "/mnt/home"), *bound.items()) for each in pair]
    command = ["unshare", "--mount", "sh", "-c", _SCENERY, "sh", str(groups), group.name, str(folder), *bindings]
    with log.open("wb") as words:
        process = subprocess.Popen(
            command, env=environment, stdin=subprocess.DEVNULL, stdout=words, stderr=words, start_new_session=True
        )
    try:
        manager = UserManager(process, environment)
        eventually(manager.is_up, "the user manager is up")
        yield manager
    finally:
        process.terminate()
        (group / "cgroup.kill").write_text("1")
        process.wait()
        eventually(lambda: "populated 0" in (group / "cgroup.events").read_text(), "its processes are gone")
        for below, _, _ in os.walk(group, topdown=False):
            os.rmdir(below)
