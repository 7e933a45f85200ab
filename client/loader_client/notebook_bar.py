"""A progress bar of the scan for notebooks; elsewhere the service shows its own, and nothing is loaded."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable


def in_notebook() -> bool:
    """Return whether this process is the kernel of a notebook, which shows what is no terminal's."""
    shell = sys.modules.get("IPython")
    get = getattr(shell, "get_ipython", None)
    return get is not None and getattr(get(), "kernel", None) is not None


def scan_bar() -> Callable[[int, int], object] | None:
    """Return what moves a bar, to be called with the files done and all; None outside of notebooks."""
    return NotebookBar().scanned if in_notebook() else None


class NotebookBar:
    """A bar that is there from the first file to the last."""

    def __init__(self) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # without its widgets tqdm shows a bar of letters, and says so each time
            from tqdm.auto import tqdm  # noqa: PLC0415 - looks for widgets, which only notebooks have

            self._bar = tqdm(total=0, unit="file", desc="indexing", leave=False)

    def scanned(self, done: int, total: int) -> None:
        """Move the bar; the last file closes it."""
        self._bar.total = total
        self._bar.update(done - self._bar.n)
        if done >= total:
            self._bar.close()
