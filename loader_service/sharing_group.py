"""The group that may use a service of another user: `$LOADER_SERVICE_GROUP`; opens and changes nothing but modes.

By default a service and its trainers are one user, and nobody else can reach socket or batches. Where they are users of
their own, as the containers of a pod often are, both name a group that they share. Who is in it can connect, and read
and write batches: the group is trusted as the user is.
"""

from __future__ import annotations

import grp
import os
import stat

from loader_service.errors import ConfigError

ENVIRONMENT_VARIABLE = "LOADER_SERVICE_GROUP"

#: What the group may do with a folder, a socket and a segment.
FOLDER_MODE, FILE_MODE = 0o710, 0o660


def sharing_group() -> int | None:
    """Return the number of the group that shares the service; None: nobody does.

    Raises
    ------
    ConfigError
        When the variable names no group, or one that this process is not in.
    """
    given = os.environ.get(ENVIRONMENT_VARIABLE, "").strip()
    if not given:
        return None
    try:
        number = int(given) if given.isascii() and given.isdigit() else grp.getgrnam(given).gr_gid
    except KeyError as error:
        raise ConfigError(
            f"{ENVIRONMENT_VARIABLE}={given!r} is no group here; give the number of one that both ends are in"
        ) from error
    if number not in (os.getegid(), *os.getgroups()):
        raise ConfigError(
            f"{ENVIRONMENT_VARIABLE}={given!r}, and this process (user {os.geteuid()}) is in the groups "
            f"{sorted({os.getegid(), *os.getgroups()})}; add it to the group, as `docker run --group-add` and "
            "supplementalGroups do, or name one that it is in"
        )
    return number


def share(descriptor: int, mode: int, group: int) -> None:
    """Give what was just made to a group, with a mode; raises OSError when that cannot be done."""
    os.fchown(descriptor, -1, group)
    os.fchmod(descriptor, mode)


def may_enter(status: os.stat_result, group: int) -> bool:
    """Return whether a group may enter a folder."""
    return bool(status.st_mode & stat.S_IXOTH or (status.st_gid == group and status.st_mode & stat.S_IXGRP))
