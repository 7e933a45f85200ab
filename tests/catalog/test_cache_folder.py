"""The cache keeps to a marked folder of its own, and removes nothing there that it could not have written."""

from __future__ import annotations

import logging
import os
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from loader_service.catalog.cache.cache_folder import cache_path
from loader_service.catalog.cache.pruning import CacheLimits, prune
from loader_service.catalog.columns import Catalog
from tests.support.catalogs import catalog_of
from tests.support.services import command_line
from tests.support.users import STRANGER, as_root, give
from tests.support.videos import make_videos, write_videos

NOTHING = CacheLimits(catalogs=0, catalog_bytes=0, scan_bytes=0)
SCAN, CATALOG, UNFINISHED = "0" * 30 + ".npz", "0" * 32, ".new-" + "0" * 16


@pytest.fixture
def data(tmp_path: Path) -> Path:
    for number in range(3):
        write_videos(tmp_path / f"f{number}.h5", "group_vlen", make_videos([2], seed=number))
    return tmp_path


@pytest.fixture
def cache(data: Path) -> Path:
    """The cache's own folder, with one catalog in it."""
    catalog_of(data, data / "f0.h5").close()
    return cache_path(data / "cache")


@pytest.fixture
def project(data: Path) -> Path:
    """A user's project, whose folders have the names that a cache could have."""
    for number in range(40):
        folder = data / "project" / "catalogs" / f"customer-{number}"
        folder.mkdir(parents=True)
        (folder / "catalog.json").write_text("years of work")
    for number in range(4):
        scan = data / "project" / "scans" / f"{number:02x}" / SCAN
        scan.parent.mkdir(parents=True)
        scan.touch()
        os.truncate(scan, 2 * 2**30)
    return data / "project"


def everything(folder: Path) -> dict[Path, tuple[int, int]]:
    """What lies in a folder, links not followed: inode and size by path."""
    found = {}
    for root, folders, files in os.walk(folder):
        for name in (*folders, *files):
            status = (Path(root) / name).lstat()
            found[Path(root) / name] = (status.st_ino, 0 if stat.S_ISDIR(status.st_mode) else status.st_size)
    return found


def outlives_pruning(cache: Path, *planted: Path) -> None:
    """Prune with room for nothing, as of things that were used long ago, and expect what was planted to be there."""
    for path in planted:
        os.utime(path, (0, 0), follow_symlinks=False)
    before = {path: inode for each in planted for path, inode in {each: 0, **everything(each)}.items()}
    prune(cache.parent, NOTHING)
    assert all(os.path.lexists(path) for path in before)


def test_a_project_given_as_the_cache_loses_nothing(project: Path, data: Path) -> None:
    before = everything(project)
    for file in sorted(data.glob("*.h5")):
        inspect = command_line("inspect", f"--cache-dir={project}", file)
        done = subprocess.run(inspect, capture_output=True, text=True, check=False, timeout=300)
        assert done.returncode == 0, done.stderr
    own = cache_path(project)
    assert {path: what for path, what in everything(project).items() if own not in (path, *path.parents)} == before
    assert len(list((own / "catalogs").iterdir())) == 3


def test_the_cache_is_private_and_marked_as_backup_programs_expect(cache: Path) -> None:
    assert stat.S_IMODE(cache.stat().st_mode) == 0o700
    assert (cache / "CACHEDIR.TAG").read_bytes().startswith(b"Signature: 8a477f597d28d172789f06886806bc55\n")
    assert sorted(os.listdir(cache)) == ["CACHEDIR.TAG", "catalogs", "scans"]


@pytest.mark.parametrize(
    "place",
    ["thesis", "scans/thesis", "scans/0f/thesis.npz", f"scans/zz/{SCAN}", f"scans/0f0/{SCAN}", "scans/0f/.new-thesis"],
)
def test_a_file_with_a_name_that_the_cache_does_not_give_stays(cache: Path, place: str) -> None:
    (cache / place).parent.mkdir(exist_ok=True, parents=True)
    (cache / place).write_text("years of work")
    outlives_pruning(cache, cache / place)


@pytest.mark.parametrize("name", ["thesis", "0" * 31, "A" * 32, ".new-thesis"])
def test_a_folder_with_a_name_that_the_cache_does_not_give_stays(cache: Path, name: str) -> None:
    (cache / "catalogs" / name).mkdir()
    (cache / "catalogs" / name / "catalog.json").write_text("years of work")
    outlives_pruning(cache, cache / "catalogs" / name)


@pytest.mark.parametrize("name", [CATALOG, UNFINISHED])
@pytest.mark.parametrize("entry", ["thesis", "thesis.npy", "names.npy.bak", "values.npy", "catalog.json~"])
def test_a_catalog_that_holds_anything_else_stays_whole(cache: Path, name: str, entry: str) -> None:
    folder = cache / "catalogs" / name
    folder.mkdir()
    for each in ("catalog.json", "names.npy", entry):
        (folder / each).write_text("years of work")
    outlives_pruning(cache, folder)


@pytest.mark.parametrize("kind", ["link", "folder", "pipe"])
def test_a_catalog_with_something_else_called_like_a_column_stays_whole(cache: Path, data: Path, kind: str) -> None:
    folder = cache / "catalogs" / CATALOG
    folder.mkdir()
    (folder / "catalog.json").write_text("{}")
    match kind:
        case "link":
            (folder / "names.npy").symlink_to(data / "f0.h5")
        case "folder":
            (folder / "names.npy").mkdir()
        case "pipe":
            os.mkfifo(folder / "names.npy")
    outlives_pruning(cache, folder)
    assert (data / "f0.h5").exists()


@pytest.mark.parametrize(
    "place", ["catalogs", "scans", f"catalogs/{CATALOG}", f"catalogs/{UNFINISHED}", "scans/0f", f"scans/00/{SCAN}"]
)
def test_links_in_the_cache_are_not_followed(cache: Path, project: Path, place: str) -> None:
    target = project / place.partition("/")[0] if "/" not in place else project / "catalogs" / "customer-0"
    path = cache / place
    path.parent.mkdir(exist_ok=True)
    if path.exists():
        path.rename(cache / "old")
    path.symlink_to(target)
    before = everything(project)
    outlives_pruning(cache, path)
    assert everything(project) == before


def test_a_link_as_the_cache_is_refused_and_that_is_said(
    data: Path, project: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (data / "cache").mkdir()
    cache_path(data / "cache").symlink_to(project)
    before = everything(project)
    opened(catalog_of(data, data / "f0.h5"))
    prune(data / "cache", NOTHING)
    assert everything(project) == before
    assert "is a link or no folder" in caplog.text


@as_root
def test_a_cache_of_another_user_is_neither_read_nor_written(
    cache: Path, data: Path, caplog: pytest.LogCaptureFixture
) -> None:
    give(cache, STRANGER)
    before = everything(cache)
    opened(catalog_of(data, data / "f0.h5"))
    assert everything(cache) == before
    assert f"belongs to user {STRANGER}, not to you" in caplog.text


@as_root
def test_entries_of_another_user_are_not_used(cache: Path, data: Path) -> None:
    (scan,) = (cache / "scans").rglob("*.npz")
    give(scan, STRANGER)
    (catalog,) = (cache / "catalogs").iterdir()
    give(catalog, STRANGER)
    opened(catalog_of(data, data / "f0.h5"))
    outlives_pruning(cache, scan, catalog)


def test_a_folder_without_the_marker_that_holds_anything_is_no_cache(
    data: Path, caplog: pytest.LogCaptureFixture
) -> None:
    own = cache_path(data / "cache")
    (own / "catalogs" / CATALOG).mkdir(parents=True)
    (own / "catalogs" / CATALOG / "catalog.json").write_text("years of work")
    before = everything(own)
    opened(catalog_of(data, data / "f0.h5"))
    prune(data / "cache", NOTHING)
    assert everything(own) == before
    assert "is not empty and has no CACHEDIR.TAG" in caplog.text


def test_a_pipe_in_the_place_of_a_scan_is_not_waited_for(cache: Path, data: Path) -> None:
    (scan,) = (cache / "scans").rglob("*.npz")
    scan.unlink()
    os.mkfifo(scan)
    opened(catalog_of(data, data / "f0.h5", data / "f1.h5"), cache)
    assert scan.is_file()  # a rename puts the new scan there


def test_a_cache_that_is_removed_while_it_is_used_is_done_without(
    cache: Path, data: Path, caplog: pytest.LogCaptureFixture
) -> None:
    catalog = catalog_of(data, data / "f0.h5")
    subprocess.run(["rm", "-rf", cache], check=True)
    assert catalog.frame_count == 2
    catalog.close()
    opened(catalog_of(data, data / "f1.h5"), cache)


def opened(catalog: Catalog, within: Path | None = None) -> None:
    """Expect a catalog that can be read, and lies where it should."""
    assert catalog.video_count
    assert within is None or within in catalog.directory.parents
    catalog.close()


# ---- temporary catalogs


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where temporary catalogs go, since there is no cache."""
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    (tmp_path / "cache").touch()
    return place


@pytest.mark.parametrize(
    ("name", "entry"),
    [
        ("loader-service-catalog-backup", "catalog.json"),
        (f"loader-service-catalog-{'0' * 16}", "thesis"),
        (f"loader-service-catalog-{'0' * 16}.bak", "catalog.json"),
    ],
)
def test_the_sweep_of_temporary_catalogs_leaves_what_is_none(
    data: Path, temporary: Path, name: str, entry: str, caplog: pytest.LogCaptureFixture
) -> None:
    (temporary / name).mkdir()
    (temporary / name / entry).write_text("years of work")
    catalog_of(data, data / "f0.h5").close()
    assert (temporary / name / entry).read_text() == "years of work"
    assert os.listdir(temporary) == [name]


def test_the_sweep_of_temporary_catalogs_removes_what_killed_services_left(
    data: Path, temporary: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    left = temporary / f"loader-service-catalog-{'0' * 16}"
    left.mkdir()
    (left / "names.npy").write_bytes(b"half")
    (temporary / f"loader-service-catalog-{'1' * 16}").symlink_to(data)
    catalog_of(data, data / "f0.h5").close()
    assert os.listdir(temporary) == [f"loader-service-catalog-{'1' * 16}"]
    assert f"removed the catalog {str(left)!r}" in caplog.text


def test_what_a_user_puts_into_a_temporary_catalog_stays(data: Path, temporary: Path) -> None:
    catalog = catalog_of(data, data / "f0.h5")
    (catalog.directory / "thesis").write_text("years of work")
    catalog.close()
    assert (catalog.directory / "thesis").read_text() == "years of work"
