"""Files in a store as a source: what a URL names, listed, and the first bytes of some, fetched many at a time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor

from loader_service.errors import PackError
from loader_service.pack.source_files import know, let_go
from loader_service.pack.sources.source_kind import Look
from loader_service.stores.asking_again import until_it_comes
from loader_service.stores.faults import StoreFault
from loader_service.stores.listing import objects_at
from loader_service.stores.open_stored import open_stored
from loader_service.stores.urls import parse_url
from loader_service.url_secrets import shown_url

#: First bytes that are fetched of a file, and of how many at a time.
_HEAD_BYTES, _AT_A_TIME = 1024, 32


class StoredLook(Look):
    """The files that a URL names: one, those that match a pattern, or all below a folder.

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

    is_stored = True

    def __init__(self, given: str, schema: str | None = None, *, skips: bool = False) -> None:
        self._versions = objects_at(given)
        know(self._versions)
        urls, shown = list(self._versions), shown_url(given)
        root = str(parse_url(shown)).rstrip("/")
        is_folder = all(url.startswith(f"{root}/") for url in urls)
        self._begin(shown, schema, skips=skips, root=root if is_folder else _folder_of_all(urls), is_folder=is_folder)
        self.at_end(let_go)
        self.files = tuple(url[len(self.root) + 1 :] for url in urls)
        self._heads: dict[str, bytes] = {}

    def head(self, file: str, count: int = 512) -> bytes:
        """Return the first bytes of a file; raises PackError when they do not come, unless that is skipped."""
        if file not in self._heads:
            self._heads[file] = self._fetched(file)
        return self._heads[file][:count]

    def looked_at(self, files: Iterable[str]) -> None:
        """Fetch the first bytes of files."""
        unknown = [file for file in files if file not in self._heads]
        with ThreadPoolExecutor(_AT_A_TIME) as threads:
            self._heads.update(zip(unknown, threads.map(self._fetched, unknown), strict=True))

    def _fetched(self, file: str) -> bytes:
        url = self.path_of(file)
        try:
            stored = open_stored(url, self._versions[url])
            return until_it_comes(lambda: stored.read_at(0, _HEAD_BYTES))
        except StoreFault as fault:
            if self.skips and len(self.files) > 1:  # reading all of it says so
                return b""
            raise PackError(str(fault.strerror)) from fault


def _folder_of_all(urls: Sequence[str]) -> str:
    """Return the longest folder that all objects lie in."""
    folders = [url.rpartition("/")[0] for url in urls]
    first, last = min(folders).split("/"), max(folders).split("/")
    alike = next((place for place, pair in enumerate(zip(first, last, strict=False)) if pair[0] != pair[1]), None)
    return "/".join(first[: len(first) if alike is None else alike])
