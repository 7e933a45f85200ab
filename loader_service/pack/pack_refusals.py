"""Refuses what does not go with what is there already; reads no source."""

from __future__ import annotations

from collections.abc import Sequence

from loader_service.errors import ConfigError
from loader_service.pack.find_items import LABELLED_BY_FOLDERS
from loader_service.pack.pack_place import PackPlace
from loader_service.pack.records import Item, PackedVideo
from loader_service.sizes import counted


def check_labels(items: Sequence[Item], before: Sequence[PackedVideo], place: PackPlace) -> None:
    """Refuse what would give a file in which only some videos have a label: no service serves that."""
    names = {each.name for each in before}
    labelled = {"label" in each.attributes for each in before}
    new = (each for each in items if each.name not in names and each.kind in LABELLED_BY_FOLDERS)
    other = next((each for each in new if {each.label is not None} != labelled), None)
    if len(labelled) == 1 and other is not None:
        has, have = ("no label", "have one") if True in labelled else (f"the label {other.label!r}", "have none")
        raise ConfigError(
            f"{other.path!r} has {has}, and the {counted(len(before), 'video')} that {str(place.output)!r} "
            f"holds already {have}; "
            "give another -o, or move it: the name of its folder is its label"
        )


def check_free(place: PackPlace, before: Sequence[PackedVideo], sealed: set[int]) -> None:
    """Refuse to write where something lies that pack did not make, and to add to what is gone."""
    known = {place.shard(record.shard) for record in before}
    gone = next((path for path in sorted(known) if not path.exists()), None)
    if gone is not None:
        raise ConfigError(f"{str(gone)!r} is gone, and {str(place.manifest)!r} has its videos; --force packs all anew")
    known |= {place.shard(number) for number in sealed}
    found = next((path for path in place.finished() if path not in known), None)
    if found is not None:
        raise ConfigError(f"{str(found)!r} is there already, and not of pack; name another output, or give --force")
