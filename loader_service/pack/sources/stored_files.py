"""HDF5 files in a store, as a source that `pack` reads: they are read by ranges, and all other sources are local."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from loader_service.errors import PackError
from loader_service.pack.sources.source_kind import Look
from loader_service.stores.faults import StoreFault
from loader_service.stores.listing import expand_url
from loader_service.stores.open_stored import open_stored
from loader_service.url_secrets import shown_url


class StoredLook(Look):
    """The HDF5 files that a URL names, or a pattern of URLs.

    Parameters
    ----------
    given
        The URL, as users write it.
    schema, skips
        As of `Look`.

    Raises
    ------
    ConfigError
        When it names no objects, or they cannot be had; in words of its own.
    """

    only_kind = "hdf5"

    def __init__(self, given: str, schema: str | None = None, *, skips: bool = False) -> None:
        urls = sorted(expand_url(given))
        folders = [url.rpartition("/")[0] for url in urls]
        first, last = min(folders).split("/"), max(folders).split("/")
        alike = next((place for place, pair in enumerate(zip(first, last, strict=False)) if pair[0] != pair[1]), None)
        root = "/".join(first[: len(first) if alike is None else alike])
        is_folder = len(urls) > 1
        self._begin(shown_url(given), schema, skips=skips, root=root, is_folder=is_folder)
        self.files = tuple(url[len(root) + 1 :] for url in urls)

    def head(self, file: str, count: int = 512) -> bytes:
        """Return the first bytes of a file; raises PackError when they do not come."""
        try:
            return open_stored(self.path_of(file)).read_at(0, count)
        except StoreFault as fault:
            raise PackError(str(fault.strerror)) from fault

    def those(self, is_one: Callable[[str, bytes], bool]) -> Iterator[tuple[str, bytes, str]]:
        """Yield all files, of which the first is looked at: a look at each would be a request for each.

        Raises
        ------
        PackError
            When that is of another kind.
        """
        head = self.head(self.files[0], 1024)
        if not is_one(self.files[0], head):
            raise PackError(
                f"{self.path_of(self.files[0])!r} is no HDF5 file, and only those are read from stores; copy the "
                "files to a local disk, and name the folder there"
            )
        for file in self.files:
            yield file, head, self.path_of(file)
