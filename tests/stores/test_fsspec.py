"""What only fsspec reaches is read by ranges, from an FTP server; a change is an error, and no password is shown."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from loader_client import Clip
from loader_service.errors import ConfigError
from loader_service.stores import fsspec_objects
from loader_service.stores.faults import ObjectChanged, StoreFault
from loader_service.stores.listing import expand_url, versions_of
from loader_service.stores.open_stored import open_stored
from tests.stores.conftest import CONTENT
from tests.stores.test_serving import JPEGS, from_disk, take
from tests.support.services import running_service
from tests.support.videos import make_videos, write_videos


def test_ranges_are_the_bytes(ftp: str) -> None:
    (name,) = expand_url(f"{ftp}a.h5")
    assert "pass-word" not in name
    stored = open_stored(name)
    assert stored.version.size_bytes == len(CONTENT)
    assert stored.read_at(1000, 500) == CONTENT[1000:1500]
    assert stored.read_at(len(CONTENT) - 3, 100) == CONTENT[-3:]


def test_many_threads_read_one_file(ftp: str) -> None:
    stored = open_stored(*expand_url(f"{ftp}a.h5"))
    found: dict[int, bytes] = {}

    def read(number: int) -> None:
        found[number] = stored.read_at(number * 997, 300)

    threads = [threading.Thread(target=read, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert found == {number: CONTENT[number * 997 :][:300] for number in range(8)}


def test_a_file_that_was_replaced_is_noticed(ftp: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fsspec_objects, "_LOOK_AGAIN_S", -1.0)
    stored = open_stored(*expand_url(f"{ftp}a.h5"))
    (tmp_path / "ftp" / "a.h5").write_bytes(CONTENT[::-1])
    os.utime(tmp_path / "ftp" / "a.h5", (1, 2_000_000))
    with pytest.raises(ObjectChanged):
        stored.read_at(0, 10)


def test_patterns_are_listed(ftp: str, tmp_path: Path) -> None:
    (tmp_path / "ftp" / "b.h5").write_bytes(b"1234")
    found = expand_url(f"{ftp}*.h5")
    assert [each.rpartition("/")[2] for each in found] == ["a.h5", "b.h5"]
    assert [each.size_bytes for each in versions_of(found)] == [len(CONTENT), 4]


def test_what_cannot_be_had_is_one_line_without_the_password(ftp: str) -> None:
    for url, words in (
        (f"{ftp}none.h5", "there is no such file"),
        (ftp.replace("pass-word", "wrong-word") + "a.h5", "none.h5|530|failed|no such file"),
        ("sftp://me:pass-word@host/a.h5", "needs a library that is not installed"),
    ):
        with pytest.raises(ConfigError, match=words) as caught:
            expand_url(url)
        assert "word" not in str(caught.value)
        assert "\n" not in str(caught.value)


def test_a_service_reads_videos_by_ftp(ftp: str, tmp_path: Path) -> None:
    write_videos(tmp_path / "ftp" / "a.h5", "padded", make_videos([12] * 6))
    whole = {**JPEGS, "clip": Clip(12)}
    expected = from_disk(tmp_path / "ftp" / "a.h5", whole, tmp_path / "cache")
    with running_service(f"{ftp}a.h5", workers=2, cache_dir=tmp_path / "cache") as service:
        assert take(service.endpoint, whole) == expected
        service.stop()
        assert "pass-word" not in service.log


def test_a_file_without_any_version_is_refused(monkeypatch: pytest.MonkeyPatch, ftp: str) -> None:
    monkeypatch.setattr(fsspec_objects, "_TAGS", ())
    with pytest.raises((ConfigError, StoreFault), match="a change would go unseen"):
        expand_url(f"{ftp}a.h5")
