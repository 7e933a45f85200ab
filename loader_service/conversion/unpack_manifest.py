"""What `unpack` says of a place that it has written, so that `pack` finds everything there again. Writes nothing."""

from __future__ import annotations

import json
from typing import Any

#: What lies in a place beside the samples: the manifest, and the table of all samples.
MANIFEST_NAME, TABLE_NAME = "manifest.json", "labels.csv"

#: What a manifest says of itself.
WRITTEN_BY = "loader-service unpack"


def unpack_manifest(content: bytes) -> dict[str, Any] | None:
    """Return what the manifest of a place says, by its bytes; None where it is of another program or an old one."""
    try:
        found = json.loads(content)
    except ValueError:
        return None
    is_ours = isinstance(found, dict) and found.get("written_by") == WRITTEN_BY and "keys" in found
    return found if is_ours else None
