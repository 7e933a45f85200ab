"""Names that mean something in a file or in a catalog; knows nothing of what bears them."""

from __future__ import annotations

from loader_service.protocol.fields import SERVICE_FIELDS

#: Names of datasets, or attributes, that hold labels; where both are there, the first counts.
LABEL_NAMES = ("label", "labels")

#: What may stand for a place of labels: the name of the folder, or group, that holds the video is its label.
FOLDER, GROUP = "{folder}", "{group}"

#: Names of fields that every stream has, or that mean something.
RESERVED = frozenset({"frames", "label", *SERVICE_FIELDS})
