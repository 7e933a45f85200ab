"""Runs `pack` in this process, and looks at what it wrote as the service does."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from loader_service.pack.find_items import found_items
from loader_service.pack.pack_check import check_packed
from loader_service.pack.pack_options import PackOptions
from loader_service.pack.pack_place import PackPlace
from loader_service.pack.packing import Packed, pack
from tests.support.catalogs import catalog_of, frames_of, names_of

if TYPE_CHECKING:
    from loader_service.catalog.columns import Catalog


def run_pack(*sources: Path, output: Path, **given: Any) -> Packed:
    """Pack as the command does, and compare what was written with what was read."""
    options = PackOptions(tuple(map(str, sources)), str(output), **{"workers": 1, **given})
    told: list[tuple[int, int]] = []
    with found_items(options) as items:
        packed = pack(items, options, lambda done, total: told.append((done, total)))
    assert all(done <= total for done, total in told)
    place = PackPlace(str(output), is_sharded=options.is_sharded)
    assert check_packed(place, packed.records, lambda _done, _total: None) == []
    assert not place.unfinished.exists()
    return packed


def contents(directory: Path, *files: Path) -> dict[str, list[bytes]]:
    """Return the frames of all videos of some files, as a worker reads them."""
    catalog = catalog_of(directory, *files)
    try:
        return {name: frames_of(catalog, video) for video, name in enumerate(names_of(catalog))}
    finally:
        catalog.close()


def catalog_in(directory: Path, *files: Path) -> Catalog:
    """Return the catalog of some files; the caller closes it."""
    return catalog_of(directory, *files)
