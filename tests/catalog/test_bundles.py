"""Many small scans lie in one file of the cache, are found there again, and are made anew where it is damaged."""

from __future__ import annotations

import logging
import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from loader_service.catalog.cache.cache_folder import cache_path
from loader_service.catalog.cache.pruning import CacheLimits, prune
from loader_service.catalog.scan import catalog_scan
from loader_service.scan_options import ScanOptions
from tests.support.catalogs import catalog_of, frames_of
from tests.support.videos import make_videos, write_videos

_FILES = 70


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """More small files than have a file of their own in the cache."""
    write_videos(tmp_path / "f00.h5", "group_vlen", make_videos([2]))
    for number in range(1, _FILES):
        shutil.copy(tmp_path / "f00.h5", tmp_path / f"f{number:02}.h5")
    return tmp_path


@pytest.fixture
def scanned(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the files that are scanned, and not found in the cache."""
    names: list[str] = []
    plain = catalog_scan._scan_here

    def counted(paths: Sequence[str], options: ScanOptions) -> Iterator[object]:
        names.extend(map(os.path.basename, paths))
        return plain(paths, options)

    monkeypatch.setattr(catalog_scan, "_scan_here", counted)
    return names


def scan(data: Path, *, but_first: int = 0) -> list[bytes]:
    """Scan all files, or all but a few, which makes a catalog of its own; return the frames of the last one."""
    catalog = catalog_of(data, *sorted(data.glob("*.h5"))[but_first:])
    frames = frames_of(catalog, catalog.video_count - 1)
    catalog.close()
    return frames


def bundles_of(data: Path) -> list[Path]:
    return sorted((cache_path(data / "cache") / "scans" / "bundles").iterdir())


def test_small_scans_lie_together_and_only_what_changed_is_scanned_again(data: Path, scanned: list[str]) -> None:
    frames = scan(data)
    assert len(scanned) == _FILES
    assert len(list((cache_path(data / "cache") / "scans").rglob("*.npz"))) == 64
    assert len(bundles_of(data)) == 1
    scanned.clear()
    os.utime(data / "f69.h5", (1, 1))
    assert scan(data) == frames
    assert scanned == ["f69.h5"]


@pytest.mark.parametrize(("cut", "lost"), [(0, range(64, _FILES)), (40, range(64, _FILES)), (-9, [69])])
def test_of_a_damaged_bundle_what_is_lost_is_scanned_again(
    data: Path, scanned: list[str], caplog: pytest.LogCaptureFixture, cut: int, lost: Sequence[int]
) -> None:
    frames = scan(data)
    (bundle,) = bundles_of(data)
    bundle.write_bytes(bundle.read_bytes()[:cut])
    scanned.clear()
    caplog.set_level(logging.WARNING)
    assert scan(data, but_first=1) == frames
    assert scanned == [f"f{number}.h5" for number in lost]
    assert "cannot be read" in caplog.text


def test_bundles_used_longest_ago_go_beyond_their_number(data: Path) -> None:
    scan(data)
    (first,) = bundles_of(data)
    os.utime(first, (1, 1))
    for number in range(_FILES):
        os.utime(data / f"f{number:02}.h5", (2, 2))
    scan(data)
    assert len(bundles_of(data)) == 2
    os.utime(first, (1, 1))
    prune(data / "cache", CacheLimits(bundles=1))
    assert first not in bundles_of(data)
    assert len(bundles_of(data)) == 1
