"""Where a service listens: the default endpoint, its checks, the files beside its socket; opens none of them."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from loader_service.errors import ConfigError
from loader_service.given_paths import is_remote, local_path

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
    if is_remote(text):
        local_path(text)  # says how its files become local ones
    if not text.startswith(_SCHEME):
        raise ConfigError(
            f"endpoint {text!r} is not of the form ipc:///path/to/socket; the service serves its own host only"
        )
    path = Path(local_path(text.removeprefix(_SCHEME)))
    if not path.is_absolute():
        raise ConfigError(f"endpoint {text!r} needs an absolute path, as in ipc://{Path.cwd() / path}")
    if not path.name:
        raise ConfigError(f"endpoint {text!r} names no file; give ipc:///path/to/socket")
    size = len(os.fsencode(path))
    if size > _MAX_PATH_BYTES:
        raise ConfigError(f"endpoint {text!r} is {size} bytes long; a Unix socket's path may have {_MAX_PATH_BYTES}")
    return Endpoint(path)


def runtime_directory() -> Path:
    """Return the user's folder for sockets: below ``$XDG_RUNTIME_DIR``, else below ``/tmp``."""
    base = os.environ.get("XDG_RUNTIME_DIR")
    if base and os.access(base, os.W_OK):
        return Path(base) / "loader-service"
    return Path("/tmp") / f"loader-service-{os.getuid()}"  # noqa: S108 - created with mode 0700, its owner checked


def make_private(directory: Path) -> None:
    """Make sure that a folder exists, is the user's, and nobody else can enter it.

    A folder that exists already is left as it is when it belongs to the user or to root, like a home or ``/tmp``; the
    socket in it then gets its protection from its own mode. Anyone else could put another socket in its place.

    Raises
    ------
    ConfigError
        When it cannot be made or is someone else's.
    """
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = directory.stat()
    except OSError as error:
        raise ConfigError(f"cannot make the folder {directory}: {error.strerror}; choose another --endpoint") from error
    if found.st_uid not in (os.getuid(), 0):
        raise ConfigError(
            f"the folder {directory} belongs to user {found.st_uid}, not to you; choose another --endpoint"
        )
