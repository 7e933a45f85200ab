"""Finds the videos in the sources that a user named, and what reads them; asks the user where that is not clear."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

from loader_service.errors import ConfigError, PackError
from loader_service.pack.records import Item
from loader_service.pack.sources import KIND_NAMED, SOURCE_KINDS
from loader_service.pack.sources.source_kind import Look, SourceKind

#: Kinds whose frames have no times, so that none can be left out by ``--fps``.
_TIMELESS = frozenset({"frames", "images", "hdf5"})


@contextmanager
def found_items(
    sources: Sequence[str], kind: str | None, *, labelled: bool, fps: float | None = None, shuffled: bool = False
) -> Iterator[list[Item]]:
    """Give the videos in some files and folders, which can be read until the end of the context.

    Parameters
    ----------
    sources
        As the user wrote them.
    kind
        What ``--from`` says; None: the bytes decide.
    labelled
        Whether the folders of videos are their labels.
    fps
        What ``--fps`` says; None: nothing.
    shuffled
        Whether they are to be read in another order than that of their names.

    Raises
    ------
    ConfigError
        When it is not clear, some videos have a label and others none, ``--fps`` is given for what has no times, or
        compressed records are to be shuffled.
    PackError
        When there is nothing, or it is damaged as a whole.
    """
    with ExitStack() as stack:
        items = []
        for source in sources:
            look = Look(source)
            stack.callback(look.close)
            items += _items_in(look, kind, labelled=labelled)
        _check_labels(items, labelled=labelled)
        _check_rate(items, fps)
        _check_order(items, shuffled=shuffled)
        yield items


def _check_labels(items: Sequence[Item], *, labelled: bool) -> None:
    if labelled and len({item.label is None for item in items if _by_folder(item)}) > 1:
        without = next(item for item in items if _by_folder(item) and item.label is None)
        raise ConfigError(
            f"{without.path!r} lies in no folder that could be its label, and others do; move it into one, or give "
            "--labels none"
        )


def _check_rate(items: Sequence[Item], fps: float | None) -> None:
    timeless = next((item for item in items if item.kind in _TIMELESS), None)
    if fps is not None and timeless is not None:
        raise ConfigError(
            f"--fps {fps:g}: the frames of {timeless.path!r} have no times; leave --fps out, or pack films alone"
        )


def _check_order(items: Sequence[Item], *, shuffled: bool) -> None:
    in_turn = next((item for item in items if item.in_turn), None)
    if shuffled and in_turn is not None:
        raise ConfigError(
            f"--shuffle: {in_turn.path!r} is compressed, and is read in order; leave --shuffle out, or unpack it with "
            "`gunzip` first"
        )


def _by_folder(item: Item) -> bool:
    return item.kind in {"frames", "images", "videos"}


def _items_in(look: Look, kind: str | None, *, labelled: bool) -> list[Item]:
    if not look.files:
        raise PackError(f"{look.given!r} holds no files; name another folder")
    chosen = KIND_NAMED[kind] if kind else _kind_of(look)
    found = list(chosen.items(look, labelled=labelled))
    if not found:
        raise PackError(
            f"{look.given!r}: no {chosen.takes} there; correct the path, or say what it is with --from KIND"
        )
    return found


def _kind_of(look: Look) -> SourceKind:
    claiming = [kind for kind in SOURCE_KINDS if kind.claims(look)]
    claiming = [kind for kind in claiming if kind.name == "lerobot"] or claiming  # its films are not for themselves
    if len(claiming) == 1:
        return claiming[0]
    if claiming:
        readings = " or ".join(f"--from {kind.name} ({kind.takes})" for kind in claiming)
        raise ConfigError(f"{look.given!r} can be read in {len(claiming)} ways: give {readings}")
    known = "; ".join(f"{kind.name}: {kind.takes}" for kind in SOURCE_KINDS)
    raise PackError(f"{look.given!r}: nothing that can be packed was found; there is {known}; see docs/packing.md")
