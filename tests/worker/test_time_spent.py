"""What a worker's time goes into: by file system, with the slow reads of each file, in sums that only grow."""

from __future__ import annotations

import os
import time
from pathlib import Path

import numpy as np
import pytest

from loader_service.protocol.totals import FileSystemReads, SlowReads
from loader_service.worker import file_systems, task_reads
from loader_service.worker.file_systems import file_system_of
from loader_service.worker.read_pace import SLOW_S
from loader_service.worker.reader import Reader
from loader_service.worker.task_reads import TaskReads
from loader_service.worker.time_spent import OTHERS, TimeSpentSums
from tests.support.catalogs import catalog_of
from tests.support.episodes import write_table


def test_reads_count_for_the_file_that_they_are_of() -> None:
    sums = TimeSpentSums(lambda file: "nfs at /data" if file < 2 else "ext4 at /")
    for file, seconds, size, slow in ((0, 1.0, 10, 0), (1, 2.0, 20, 1), (2, 4.0, 40, 2), (0, 8.0, 80, 1)):
        sums.turn_to(file)
        sums.read_s += seconds
        sums.read_bytes += size
        sums.slow_reads += slow
    told = sums.message(3, transform_s=0.5)
    assert (told.worker, told.read_s, told.transform_s) == (3, 15.0, 0.5)
    assert told.file_systems == (
        FileSystemReads("nfs at /data", 11.0, 110, 2),
        FileSystemReads("ext4 at /", 4.0, 40, 2),
    )
    assert told.slow == (SlowReads(1, 1), SlowReads(2, 2), SlowReads(0, 1))
    again = sums.message(3, transform_s=0.5)
    assert again.slow == (), "told once"
    assert again.file_systems == told.file_systems, "sums"


def test_a_report_is_bounded_whatever_there_is_to_say() -> None:
    sums = TimeSpentSums(lambda file: f"nfs at /{file}")
    for file in range(1000):
        sums.turn_to(file)
        sums.read_s += 1.0
        sums.slow_reads += 1
    first = sums.message(1, 0.0)
    assert len(first.file_systems) == 17
    assert {each.file_system: each.seconds for each in first.file_systems}[OTHERS] == 984.0
    told = [len(first.slow), *(len(sums.message(1, 0.0).slow) for _ in range(4))]
    assert told == [256, 256, 256, 232, 0], "the others come in later reports"


def test_a_plain_read_counts_with_its_bytes_and_a_slow_one_as_such(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(task_reads, "SLOW_S", 0.05)  # longer than another program has this one's core
    reads = TaskReads(lambda _: None)
    reads.read(4, 0, 100, lambda _, length: bytes(length))
    assert (reads.spent.read_bytes, reads.spent.slow_reads) == (100, 0)
    reads.fill(4, 0, np.zeros(50, np.uint8), lambda *_: time.sleep(0.1))
    assert (reads.spent.read_bytes, reads.spent.slow_reads) == (150, 1)
    assert reads.spent.read_s >= 0.1
    assert reads.spent.message(1, 0.0).slow == (SlowReads(4, 1),)


def test_many_bytes_take_their_time_and_are_no_slow_read() -> None:
    reads = TaskReads(lambda _: None)
    reads.read(0, 0, 10**9, lambda *_: time.sleep(2 * SLOW_S) or b"")  # type: ignore[func-returns-value]
    assert reads.spent.slow_reads == 0


def test_the_time_in_a_task_is_work() -> None:
    reads = TaskReads(lambda _: None)
    reads.begin(1, tuple)
    time.sleep(0.01)
    reads.end()
    assert reads.spent.work_s >= 0.01
    before = reads.spent.work_s
    time.sleep(0.01)
    assert reads.spent.work_s == before, "between tasks is no work"
    assert reads.spent.read_s == 0.0


def test_reads_through_hdf5_count_too(tmp_path: Path) -> None:
    path = tmp_path / "t.h5"
    write_table(path, {"features": np.zeros((100, 64), np.float32)}, chunks=(10, 64), compression="gzip")
    catalog = catalog_of(tmp_path / "catalog", path)
    reader = Reader(catalog)
    reader.begin()
    reader.read_array(0, "features", 0, np.zeros((100, 64), np.float32))
    reader.end()
    told = reader.spent.message(1, 0.0)
    assert 0 < told.read_s <= told.work_s
    (found,) = told.file_systems
    assert (found.file_system, found.size_bytes, found.slow) == (file_system_of(str(path)), 25_600, 0)
    reader.close()
    catalog.close()


# ---- names of file systems


def test_a_file_system_is_named_by_its_kind_and_where_it_is_mounted(tmp_path: Path) -> None:
    kind, _, point = file_system_of(str(tmp_path)).partition(" at ")
    assert kind.isidentifier()
    assert os.path.ismount(point)
    assert file_system_of("/proc/self/status") == "proc at /proc"


@pytest.mark.parametrize(
    ("path", "expected"),
    [("s3://bucket/train/a.h5", "s3://bucket"), ("https://host:8000/a/b.h5?x=1", "https://host:8000")],
)
def test_a_store_is_named_by_its_host(path: str, expected: str) -> None:
    assert file_system_of(path) == expected


def test_a_file_that_is_gone_is_on_no_known_file_system(tmp_path: Path) -> None:
    assert file_system_of(str(tmp_path / "none")) == "unknown"


def test_mount_points_with_spaces_and_those_that_hide_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    device = os.stat(tmp_path).st_dev
    number = f"{os.major(device)}:{os.minor(device)}"
    escaped = str(tmp_path).replace("/", "/", 1) + r"\040x"
    (tmp_path.parent / f"{tmp_path.name} x").mkdir()
    lines = [
        f"1 0 {number} / / rw - overlay overlay rw",
        f"2 1 {number} / {escaped} rw,shared:1 - nfs4 host:/x rw",
        f"3 1 9:99 / {tmp_path} rw - other x rw",
        "broken line",
    ]
    mounts = tmp_path / "mountinfo"
    mounts.write_text("\n".join(lines))
    monkeypatch.setattr(file_systems, "_MOUNTS", mounts)
    file_systems._mounts.cache_clear()
    try:
        assert file_system_of(f"{tmp_path} x") == f"nfs4 at {tmp_path} x"[:120]
        assert file_system_of(str(tmp_path)) == "overlay at /"
    finally:
        file_systems._mounts.cache_clear()
