"""A service that a group shares: who is in it, what it can enter, and that nobody else's modes are touched."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from loader_service import endpoint as endpoints
from loader_service.daemon.segments import SegmentStore
from loader_service.daemon.socket_files import Listener, open_socket_folder
from loader_service.errors import ConfigError
from loader_service.protocol.segment_files import map_segment, segment_path, user_directory
from loader_service.sharing_group import ENVIRONMENT_VARIABLE, sharing_group


@pytest.fixture
def group(monkeypatch: pytest.MonkeyPatch) -> int:
    """Name this process's own group."""
    monkeypatch.setenv(ENVIRONMENT_VARIABLE, str(os.getegid()))
    return os.getegid()


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_without_the_variable_nobody_shares(monkeypatch: pytest.MonkeyPatch) -> None:
    for said in (None, "", " "):
        if said is None:
            monkeypatch.delenv(ENVIRONMENT_VARIABLE, raising=False)
        else:
            monkeypatch.setenv(ENVIRONMENT_VARIABLE, said)
        assert sharing_group() is None
    assert user_directory().name == f"loader-service-{os.getuid()}"


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("no-such-group", "is no group here"),
        ("4242424", "is in the groups"),
        ("-1", "is no group here"),
        ("²", "no group"),
    ],
)
def test_a_group_that_this_process_is_not_in_is_refused(monkeypatch: pytest.MonkeyPatch, said: str, why: str) -> None:
    monkeypatch.setenv(ENVIRONMENT_VARIABLE, said)
    with pytest.raises(ConfigError, match=why):
        sharing_group()


def test_segments_of_a_group_lie_apart_and_the_group_can_enter(group: int) -> None:
    with SegmentStore() as store:
        (slot,) = store.create(1, 4096)
        path = segment_path(store.instance, slot)
        assert path.parent.parent.name == f"loader-service-{os.getuid()}-group-{group}"
        assert [_mode(each) for each in (path, path.parent, path.parent.parent)] == [0o660, 0o710, 0o710]
        assert {each.stat().st_gid for each in (path, path.parent, path.parent.parent)} == {group}
        with map_segment(store.instance, slot, 4096, owner=os.getuid()) as memory:
            assert len(memory) == 4096
        with pytest.raises(Exception, match=r"cannot map slot 1"):
            map_segment(store.instance, slot, 4096, owner=12_345)


def test_a_socket_of_a_group_is_open_to_it_and_its_folder_too(group: int, private_directories: Path) -> None:
    folder = private_directories / "shared"
    listener = Listener(f"ipc://{folder / 'loader.sock'}", group)
    try:
        assert (_mode(folder), _mode(folder / "loader.sock")) == (0o710, 0o660)
    finally:
        listener.close()
    assert list(folder.iterdir()) == []
    folder.rmdir()


def test_a_folder_that_was_there_keeps_its_mode_and_is_refused_where_the_group_cannot_enter(
    group: int, tmp_path: Path
) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    with pytest.raises(ConfigError, match=rf"group {group} .* may not enter .*chmod g\+x"):
        open_socket_folder(closed)
    assert _mode(closed) == 0o700
    closed.chmod(0o750)
    open_socket_folder(closed).close()


def test_the_default_endpoint_is_for_one_user_alone(group: int) -> None:
    with pytest.raises(ConfigError, match="is for one user alone; name an --endpoint"):
        open_socket_folder(endpoints.parse(None).path.parent)
    assert group == os.getegid()
