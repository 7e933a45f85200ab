"""Where a service listens: the default endpoint, its checks, the files beside its socket; opens none of them."""

from __future__ import annotations

import os
from pathlib import Path

from loader_service.errors import ConfigError, ServiceUnavailable
from loader_service.given_paths import local_path
from loader_service.record_class import record
from loader_service.sharing_group import ENVIRONMENT_VARIABLE as GROUP_VARIABLE
from loader_service.sharing_group import sharing_group

ENVIRONMENT_VARIABLE = "LOADER_SERVICE_ENDPOINT"

#: The name of a socket in the default folder, of a service that was given none.
DEFAULT_NAME = "default.sock"

_SCHEME = "ipc://"
_SAME_USER = (
    "a trainer and its service run as the same user, since they share memory, or name a group of both in "
    f"{GROUP_VARIABLE}"
)
#: `sun_path` of a Unix socket holds 108 bytes with the final NUL; the workers' socket has the longest name of ours.
_MAX_PATH_BYTES = 107 - len(".workers")


@record(frozen=True)
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
    text = text or os.environ.get(ENVIRONMENT_VARIABLE) or f"{_SCHEME}{runtime_directory() / DEFAULT_NAME}"
    if not text.startswith(_SCHEME):
        raise ConfigError(
            f"endpoint {text!r} is not of the form ipc:///path/to/socket; the service serves its own host only"
            + (f"; give ipc://{os.path.abspath(text)}" if os.path.isabs(text) or os.path.exists(text) else "")
        )
    path = Path(local_path(text.removeprefix(_SCHEME)))
    if not path.is_absolute():
        raise ConfigError(f"endpoint {text!r} needs an absolute path, as in ipc://{Path.cwd() / path}")
    if not path.name:
        raise ConfigError(f"endpoint {text!r} names no file; give ipc:///path/to/socket")
    size = len(os.fsencode(path))
    if size > _MAX_PATH_BYTES:
        raise ConfigError(
            f"endpoint {text!r} is {size} bytes long; a Unix socket's path may have {_MAX_PATH_BYTES}: give a shorter "
            "one, such as ipc:///tmp/NAME.sock"
        )
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


def check_owner(endpoint: Endpoint) -> None:
    """Make sure that what answers at an endpoint is of the same user; harmless when there is nobody yet.

    A folder in ``/tmp`` can be made by anybody first, and a service that is somebody else's has its batches where this
    user cannot read them. Root may ask other users' services for their status.

    Raises
    ------
    ServiceUnavailable
        When it is another user's, or out of reach; says whose.
    """
    folder, user = endpoint.path.parent, os.geteuid()
    try:
        owner = folder.lstat().st_uid
        if folder in private_directories() and (owner != user or folder.is_symlink()):
            raise ServiceUnavailable(f"{str(folder)!r} {_not_yours(owner, user)}; remove it, or name another endpoint")
        socket = endpoint.path.lstat()
    except PermissionError as error:
        raise ServiceUnavailable(
            f"may not reach {endpoint}: permission denied in a folder of user {_owner_of(folder)}; {_SAME_USER}"
        ) from error
    except (FileNotFoundError, NotADirectoryError):
        return
    if user not in (socket.st_uid, 0) and socket.st_gid != sharing_group():
        raise ServiceUnavailable(f"the service at {endpoint} {_not_yours(socket.st_uid, user)}; {_SAME_USER}")


def owner_of(endpoint: Endpoint) -> int | None:
    """Return the user whose service listens at an endpoint, if that is another one who shares a group with this one.

    Raises
    ------
    ConfigError
        When ``$LOADER_SERVICE_GROUP`` names no group of this process.
    """
    if sharing_group() is None:
        return None
    try:
        owner = endpoint.path.lstat().st_uid
    except OSError:  # it is being started again; its batches are found when it is back
        return None
    return None if owner == os.geteuid() else owner


def _not_yours(owner: int, user: int) -> str:
    return "is a link" if owner == user else f"belongs to user {owner}, not to you (user {user})"


def _owner_of(folder: Path) -> int | str:
    """Return who owns the first folder on the way up of which that can be known."""
    for each in (folder, *folder.parents):
        try:
            return each.stat().st_uid
        except OSError:
            continue
    return "unknown"


def _below_tmp() -> Path:
    return Path("/tmp") / f"loader-service-{os.getuid()}"  # noqa: S108 - opened by `private_folders` only


def _is_own(directory: str) -> bool:
    """Return whether this is a folder of this user's; after ``sudo`` the variable may name another one's."""
    if not os.path.isabs(directory) or not os.path.isdir(directory):
        return False
    try:
        return os.stat(directory).st_uid == os.geteuid() and os.access(directory, os.W_OK)
    except OSError:
        return False
