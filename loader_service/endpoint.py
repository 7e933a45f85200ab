"""Where a service listens: the default endpoint, its checks, the files beside its socket; opens none of them."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from loader_service.errors import ConfigError

ENVIRONMENT_VARIABLE = "LOADER_SERVICE_ENDPOINT"

_SCHEME = "ipc://"
#: `sun_path` of a Unix socket holds 108 bytes with the final NUL; the workers' socket has the longest name of ours.
_MAX_PATH_BYTES = 107 - len(".workers")


@dataclass(frozen=True)
class Endpoint:
    """An ``ipc://`` address and the files that belong to it."""

    path: Path

    def __str__(self) -> str:
        return f"{_SCHEME}{self.path}"

    @property
    def workers(self) -> str:
        """Address on which the daemon talks to its workers."""
        return f"{_SCHEME}{self.path}.workers"

    @property
    def lock(self) -> Path:
        """File whose lock a living service holds, and which tells its pid."""
        return self.path.with_name(self.path.name + ".lock")


def parse(text: str | None = None) -> Endpoint:
    """Return the endpoint that `text` names, else the one of ``$LOADER_SERVICE_ENDPOINT``, else the default.

    Raises
    ------
    ConfigError
        When it is not an ``ipc://`` address of an absolute path that fits into a Unix socket's address.
    """
    text = text or os.environ.get(ENVIRONMENT_VARIABLE) or f"{_SCHEME}{runtime_directory() / 'default.sock'}"
    if not text.startswith(_SCHEME):
        raise ConfigError(
            f"endpoint {text!r} is not of the form ipc:///path/to/socket; the service serves its own host only"
        )
    path = Path(text.removeprefix(_SCHEME))
    if not path.is_absolute():
        raise ConfigError(f"endpoint {text!r} needs an absolute path, as in ipc://{Path.cwd() / path}")
    if not path.name:
        raise ConfigError(f"endpoint {text!r} names no file; give ipc:///path/to/socket")
    size = len(os.fsencode(path))
    if size > _MAX_PATH_BYTES:
        raise ConfigError(f"endpoint {text!r} is {size} bytes long; a Unix socket's path may have {_MAX_PATH_BYTES}")
    return Endpoint(path)


def runtime_directory() -> Path:
    """Return the user's folder for sockets: below ``$XDG_RUNTIME_DIR`` when that is the user's, else below ``/tmp``."""
    base = os.environ.get("XDG_RUNTIME_DIR")
    if base and _is_own(base):
        return Path(base) / "loader-service"
    return _below_tmp()


def private_directories() -> tuple[Path, Path]:
    """Return the folders for sockets whose names are this package's own, and which are the user's alone."""
    return runtime_directory(), _below_tmp()


def _below_tmp() -> Path:
    return Path("/tmp") / f"loader-service-{os.getuid()}"  # noqa: S108 - opened by `private_folders` only


def _is_own(directory: str) -> bool:
    """Return whether a folder is this user's; after ``sudo`` the variable may name another one's."""
    try:
        return os.stat(directory).st_uid == os.geteuid() and os.access(directory, os.W_OK)
    except OSError:
        return False
