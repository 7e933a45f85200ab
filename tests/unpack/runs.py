"""Unpacks in this process: what worker processes would do, without their start."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from loader_service.catalog.columns import Catalog
from loader_service.conversion.piece_server import PieceProgress
from loader_service.conversion.pieces import LeftOut, Piece
from loader_service.conversion.workforce import FolderOf, OnBytes, OnDone
from loader_service.unpack.unpack_options import UnpackOptions
from loader_service.unpack.unpack_worker import UnpackTold, UnpackWorker
from loader_service.unpack.unpacking import Unpacking, UnpackReport
from tests.support.catalogs import catalog_of


#: Given by those who do not want to know how far it is.
def unheard(*_: object) -> None:
    """Do nothing."""


class _HereForce:
    """Takes the place of the worker processes."""

    def __init__(self, catalog: Catalog, given: UnpackTold) -> None:
        self._catalog, self._given = catalog, given

    def run(self, pieces: Sequence[Piece], folder_of: FolderOf, on_done: OnDone, on_bytes: OnBytes) -> None:
        worker = UnpackWorker(self._catalog, self._given)
        try:
            for piece in pieces:
                on_done(piece, worker.do(piece.task, folder_of(piece.number) or Path("/dev/null"), PieceProgress()))
                on_bytes(piece.size_bytes)
        finally:
            worker.close()


class UnpackingHere(Unpacking):
    """An `unpack` in this process."""

    def _force(self, *, checks: bool) -> Any:
        return _HereForce(self._catalog, self._told(checks=checks))


def unpacked(directory: Path, place: Path, *patterns: object, **options: Any) -> UnpackReport:
    """Unpack the files of a directory into a place, and return what was done."""
    catalog = catalog_of(directory, *patterns)
    try:
        return UnpackingHere(catalog, UnpackOptions(output=str(place), **options), 1).run(unheard)
    finally:
        catalog.close()


def compared(directory: Path, place: Path, *patterns: object, **options: Any) -> list[LeftOut]:
    """Compare a place with the files of a directory, and return what differs."""
    catalog = catalog_of(directory, *patterns)
    try:
        return UnpackingHere(catalog, UnpackOptions(output=str(place), **options), 1).check(unheard)
    finally:
        catalog.close()


def files_in(place: Path, read: Callable[[Path], Any] = Path.read_bytes) -> dict[str, Any]:
    """Return what each file in a place holds, by its path there."""
    return {str(each.relative_to(place)): read(each) for each in sorted(place.rglob("*")) if each.is_file()}
