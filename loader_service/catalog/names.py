"""Names that mean something in a file or in a catalog; knows nothing of what bears them."""

from __future__ import annotations

from loader_service.protocol.fields import SERVICE_FIELDS

#: Names of datasets, or attributes, that hold labels; where both are there, the first counts.
LABEL_NAMES = ("label", "labels")

#: Names of fields that every stream has, or that mean something.
RESERVED = frozenset({"frames", "label", *SERVICE_FIELDS})

#: An attribute of the root of files that `pack` wrote: each group that holds datasets is a video, whatever its name.
PACKED = "loader_service_pack"
