"""Tells whether a child that was killed was killed for want of memory, and names the limit; ends nothing itself."""

from __future__ import annotations

import re
import signal
from pathlib import Path

from loader_service.control_groups import ROOT, memory_limits, oom_kills
from loader_service.remedies import higher_limit
from loader_service.sizes import size_text


class OomWatch:
    """Compares how often the kernel has killed for want of memory, in this process's control group, with before.

    A child is in the group of its parent, unless somebody has moved it. Made before the child is started.
    """

    def __init__(self, root: Path = ROOT) -> None:
        self._root = root
        self._explained = _kills(root)

    def explain(self, code: int) -> str:
        """Return words that follow the name of its end, "" when that was not for want of memory.

        Parameters
        ----------
        code
            As `subprocess.Popen.returncode`: negative for a signal.
        """
        if code != -signal.SIGKILL or self._explained >= _kills(self._root):
            return ""
        self._explained += 1  # and no more: several children may have been killed at once
        limits = memory_limits(self._root)
        if not limits:
            return ", by the kernel, since the host was out of memory; use less --memory or fewer --workers"
        limit = min(limits, key=lambda each: each.limit_bytes)
        return (
            f", by the kernel, since its control group was out of memory: the limit is {size_text(limit.limit_bytes)} "
            f"({limit.name}); use less --memory or fewer --workers, or {higher_limit(self._root)}"
        )


def _kills(root: Path) -> int:
    """Return how many processes of this group were killed so; without groups of memory, of the host."""
    own = oom_kills(root)
    if own is not None:
        return own
    try:
        found = re.search(r"^oom_kill (\d+)$", (root / "proc/vmstat").read_text(), re.MULTILINE)
    except OSError:
        return 0
    return int(found[1]) if found else 0
