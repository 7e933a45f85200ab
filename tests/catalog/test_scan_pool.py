"""Files are scanned in other processes: with the same result, and without harm when one of them crashes or hangs."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import numpy as np
import pytest

from loader_service.catalog.scan import scan_pool
from loader_service.catalog.scan.internal_faults import internal_fault
from loader_service.catalog.scan.scan_pool import ScanPool
from loader_service.catalog.sides import common_shape
from loader_service.catalog.videos.numbered import NumberedFrames
from loader_service.children import readable
from loader_service.errors import CatalogError
from loader_service.scan_options import ScanOptions
from tests.support import processes
from tests.support.catalogs import catalog_of, frames_of
from tests.support.videos import make_videos, write_videos
from tests.support.waiting import eventually


@pytest.fixture
def data(tmp_path):
    for number in range(4):
        write_videos(tmp_path / f"f{number}.h5", "group_vlen", make_videos([2, 3], seed=number))
    return tmp_path


@pytest.fixture
def sabotage(monkeypatch, tmp_path):
    """Have scanning processes run some code when they come to a file named `bad.h5`."""

    def place(code: str) -> str:
        directory = tmp_path / "sabotage"
        directory.mkdir()
        (directory / "sitecustomize.py").write_text(
            "import builtins, os, signal, sys, time\n"
            "if any('scan_process' in word for word in sys.orig_argv):\n"
            "    real = os.open\n"
            "    def opened(path, *flags, **more):\n"
            "        if str(path).endswith('bad.h5'):\n"
            f"            {code}\n"
            "        return real(path, *flags, **more)\n"
            "    os.open = opened\n"
        )
        monkeypatch.setenv("PYTHONPATH", str(directory))
        write_videos(tmp_path / "bad.h5", "group_vlen", make_videos([2, 3], seed=9))
        return str(tmp_path / "bad.h5")

    return place


def test_processes_find_what_this_one_finds(data):
    here, there = ({name: np.load(place) for name, place in columns(data, count)} for count in (0, 1))
    assert here.keys() == there.keys()
    for name, column in here.items():
        np.testing.assert_array_equal(there[name], column)


def columns(data, count):
    shutil.rmtree(data / "cache", ignore_errors=True)
    catalog = catalog_of(data, processes=count)
    return [(place.name, place) for place in catalog.directory.glob("*.npy")]


def copies(data, count):
    """Return the paths of four files and of copies of them, in turns."""
    paths = [data / f"copy{number}.h5" for number in range(count)]
    for number, path in enumerate(paths):
        shutil.copy(data / f"f{number % 4}.h5", path)
    return list(map(str, paths))


def test_several_processes_take_part_when_scanning_takes_long(data, monkeypatch):
    monkeypatch.setattr(scan_pool, "_ALONE_S", 0.0)
    paths = copies(data, 20)
    with ScanPool(ScanOptions(), 2) as pool:
        found = [outcome.scan.fields[0].columns["extent_offsets"].tolist() for outcome in pool.scan(paths)]
        assert len(pool._processes) == 2
    assert found == found[:4] * 5


@pytest.mark.parametrize(
    ("fault", "remedy"),
    [("SIGSEGV", "h5dump"), ("SIGBUS", "h5dump"), ("SIGKILL", "scan once more"), ("SIGTERM", "scan once more")],
)
def test_a_file_that_crashes_its_scan_is_refused_by_name_or_skipped(data, sabotage, fault, remedy):
    bad = sabotage(f"os.kill(os.getpid(), signal.{fault})")
    with pytest.raises(CatalogError, match=rf"bad\.h5': the process that scanned it was killed by {fault}; .*{remedy}"):
        catalog_of(data, processes=1)
    catalog = catalog_of(data, processes=1, on_bad_file="skip")
    assert [path for path, _ in catalog.skipped] == [bad]
    assert fault in catalog.skipped[0][1]
    assert catalog.file_count == 4
    assert frames_of(catalog, 7) == make_videos([2, 3], seed=3)["video1"]


def test_of_small_files_given_ahead_the_one_that_crashes_is_named(data, sabotage):
    bad = sabotage("os.kill(os.getpid(), signal.SIGSEGV)")
    for number in range(24):
        shutil.copy(data / "f0.h5", data / f"{'ac'[number % 2]}{number}.h5")
    catalog = catalog_of(data, processes=1, on_bad_file="skip")
    assert [path for path, _ in catalog.skipped] == [bad]
    assert catalog.file_count == 28


def test_answers_of_small_files_are_taken_together(data, monkeypatch):
    waits = []
    monkeypatch.setattr(scan_pool, "_QUICK_S", 10.0)  # whatever else this machine does
    monkeypatch.setattr(scan_pool, "_AHEAD_S", 10.0)
    monkeypatch.setattr(scan_pool, "readable", lambda *given: waits.append(given) or readable(*given))
    with ScanPool(ScanOptions(), 1) as pool:
        assert len(list(pool.scan(copies(data, 64)))) == 64
    assert len(waits) < 48


def test_a_scan_that_hangs_is_given_up(data, sabotage):
    bad = sabotage("time.sleep(600)")  # alone: a busy machine may take longer for any other
    with pytest.raises(
        CatalogError, match=r"bad\.h5': the process that scanned it was not done within 0\.5 s.*-timeout"
    ):
        catalog_of(data, bad, processes=1, scan_timeout=0.5)


def test_an_error_that_nobody_thought_of_is_the_files(data, sabotage):
    sabotage("raise AssertionError('never seen')")
    with pytest.raises(CatalogError, match=r"bad\.h5': .* exited with code 1: AssertionError: never seen"):
        catalog_of(data, processes=1)


def test_a_process_that_cannot_start_is_no_files_fault(data, monkeypatch):
    (data / "numpy.py").write_text("raise ImportError('no numpy here')")
    monkeypatch.setenv("PYTHONPATH", str(data))
    with pytest.raises(CatalogError, match=r"a process that scans files exited with code 1: .*no numpy here; check"):
        catalog_of(data, processes=1, on_bad_file="skip")


def test_memory_without_bound_is_an_error_of_the_file(data, sabotage):
    sabotage("raise OSError(12, 'no') if not bytearray(2**40) else 0")
    with pytest.raises(CatalogError, match=r"bad\.h5'.*MemoryError"):
        catalog_of(data, processes=1)


def test_errors_come_back_in_the_order_of_the_files(data, monkeypatch):
    monkeypatch.setattr(scan_pool, "_ALONE_S", 0.0)
    for name in ("f2.h5", "f3.h5"):
        (data / name).write_bytes(b"")
    with pytest.raises(CatalogError, match=r"f2\.h5.*got an empty one"):
        catalog_of(data, processes=2)
    assert catalog_of(data, processes=2, on_bad_file="skip").file_count == 2


@pytest.mark.parametrize("name", ["日本 ☃.h5", "new\nline.h5", b"latin-\xe9.h5"])
def test_odd_file_names_travel(tmp_path, name):
    write_videos(tmp_path / "x", "vlen", make_videos([2]))
    path = os.path.join(str(tmp_path), os.fsdecode(name))
    os.rename(tmp_path / "x", path)
    assert catalog_of(tmp_path, path, processes=1).file_path(0) == path


def test_a_scan_ends_with_whoever_asked_for_it(data, sabotage):
    sabotage("time.sleep(600)")
    program = (
        "import sys; from pathlib import Path; from tests.support.catalogs import catalog_of\n"
        "catalog_of(Path(sys.argv[1]), processes=1)\n"
    )
    with subprocess.Popen([sys.executable, "-c", program, str(data)]) as owner:
        (scanner,) = eventually(lambda: processes.children(owner.pid), "a scanning process")
        owner.kill()
    eventually(lambda: not processes.is_alive(scanner), "the scanning process has ended")


def test_this_process_never_loads_hdf5():
    program = (
        "import sys\nfrom pathlib import Path\n"
        "from loader_service.catalog.scan.catalog_scan import scan\nimport loader_service.cli\n"
        "assert 'h5py' not in sys.modules, sorted(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_an_error_of_our_own_code_amid_a_scan_names_itself_and_its_traceback_is_logged(data, sabotage, caplog):
    path = sabotage("import loader_service.catalog.scan.file_scan as ours; ours.read_tree = lambda: None")
    with ScanPool(ScanOptions(), 1) as pool:
        before, error = pool.scan([str(data / "f0.h5"), path])
    assert len(before.scan.names) == 2
    assert type(error) is CatalogError
    assert f"'{path}': an internal error of loader-service, TypeError in " in str(error)
    assert "file_scan.py" in str(error)
    assert "give the authors this line" in str(error)
    assert "damaged" not in str(error)
    assert "Traceback (most recent call last)" in caplog.text


def test_an_error_that_a_library_raises_for_a_file_is_none_of_our_own(data, sabotage):
    path = sabotage("raise TypeError('no such type in memory')")
    with ScanPool(ScanOptions(), 1) as pool:
        (error,) = pool.scan([path])
    assert "internal error" not in str(error)


def test_a_look_up_of_our_own_code_that_fails_is_no_damage():
    with pytest.raises(IndexError) as raised:
        _ = NumberedFrames((), 0).key
    assert "internal error of loader-service, IndexError in " in str(internal_fault("a.h5", raised.value))


def test_lists_of_our_own_code_that_differ_in_length_are_no_damage():
    with pytest.raises(ValueError, match="zip") as raised:
        common_shape([(2, 3), (2,)])
    assert "internal error of loader-service, ValueError in " in str(internal_fault("a.h5", raised.value))


def test_a_path_that_is_given_twice_is_refused_by_name():
    with ScanPool(ScanOptions(), 1) as pool, pytest.raises(ValueError, match=r"expected each once, got 'b.h5' again"):
        next(pool.scan(["a.h5", "b.h5", "b.h5"]))
