"""Finds the videos in the sources that a user named, and what reads them; asks the user where that is not clear."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace

from loader_service.catalog.codecs import codec_of
from loader_service.catalog.split_words import WORDS
from loader_service.errors import CatalogError, ConfigError, PackError
from loader_service.formats.damage import DamagedInput
from loader_service.given_paths import local_path
from loader_service.pack.pack_options import PackOptions
from loader_service.pack.records import Item
from loader_service.pack.sources import KIND_NAMED, SOURCE_KINDS
from loader_service.pack.sources.image_folders import FrameFolders, gap_in
from loader_service.pack.sources.source_kind import Look, SourceKind
from loader_service.sizes import counted
from loader_service.stores.urls import is_url

#: Kinds whose frames have no times, so that none can be left out by ``--fps``.
_TIMELESS = frozenset({"frames", "images", "hdf5", "unpacked"})

#: Kinds whose labels are the names of folders.
LABELLED_BY_FOLDERS = frozenset({"frames", "images", "videos"})

#: Kinds of sets that a description tells: their films and tables are not for themselves.
_WHOLE_SETS = frozenset({"lerobot", "unpacked"})


@contextmanager
def found_items(options: PackOptions, say: Callable[[str], object] = lambda _: None) -> Iterator[list[Item]]:
    """Give the videos in some files and folders, which can be read until the end of the context.

    Parameters
    ----------
    options
        What is to be packed, and how.
    say
        Called with a line about each source in which there are files that are not taken.

    Raises
    ------
    ConfigError
        When it is not clear, some videos have a label and others none, ``--fps`` is given for what has no times, or
        compressed records are to be shuffled.
    PackError
        When there is nothing, or it is damaged as a whole.
    """
    labelled = options.labels == "folder"
    with ExitStack() as stack:
        items = []
        for source in options.sources:
            look = _look_at(source, options)
            stack.callback(look.close)
            try:
                found = _items_in(look, options.kind, labelled=labelled)
            except (PackError, CatalogError, DamagedInput) as error:
                if len(options.sources) == 1 or options.on_error == "raise":
                    raise
                items.append(Item(options.kind or "", source, source, fault=str(error)))
                continue
            items += _without_splits(found)
            _say_what_is_left(look, found, say)
            _say_what_is_odd(look, found, say)
        _check_labels(items, labelled=labelled)
        _check_rate(items, options.fps)
        _check_order(items, shuffled=options.shuffle is not None)
        yield items


def _look_at(source: str, options: PackOptions) -> Look:
    if not is_url(source):
        return Look(local_path(source), options.schema, skips=options.on_error == "skip")
    # Here, not above: most sources are on local disks.
    from loader_service.pack.sources.stored_files import StoredLook  # noqa: PLC0415

    return StoredLook(source, options.schema, skips=options.on_error == "skip")


def _say_what_is_left(look: Look, items: Sequence[Item], say: Callable[[str], object]) -> None:
    """Say which files are no part of a video, but for those of a set with a description."""
    kind = KIND_NAMED[items[0].kind]
    if kind.name in _WHOLE_SETS:
        return
    taken = {file for item in items for file in kind.files(item)}
    left = [file for file in look.files if look.path_of(file) not in taken]
    if left:
        say(f"{counted(len(left), 'file')} in {look.given!r} cannot be packed with the others, such as {left[0]!r}")


def _say_what_is_odd(look: Look, items: Sequence[Item], say: Callable[[str], object]) -> None:
    """Say where frames are missing in folders of them, and where all videos of a folder have one label."""
    if items[0].kind == FrameFolders.name:
        gaps = [(item.name, gap) for item in items if (gap := gap_in(item)) is not None]
        if gaps:
            (name, gap), found = gaps[0], counted(len(gaps), "folder")
            such = f"such as {gap} in {name!r}: those behind take their place"
            say(f"frames are missing in {found} of {look.given!r}, {such}")
    labels = {item.label for item in items if _by_folder(item)} - {None}
    if len(items) > 1 and len(labels) == 1 and str(*labels).lower() not in WORDS:
        found = counted(len(items), "video")
        say(f"all {found} in {look.given!r} have the label {str(*labels)!r}, as their folder; --labels none has none")


def _without_splits(items: list[Item]) -> list[Item]:
    """Return videos without labels where all lie in folders such as ``train`` and ``val``: splits, and no classes."""
    labels = {item.label for item in items if _by_folder(item)} - {None}
    if not labels or not all(str(label).lower() in WORDS for label in labels):
        return items
    return [replace(item, label=None) for item in items]


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
    return item.kind in LABELLED_BY_FOLDERS


def _items_in(look: Look, kind: str | None, *, labelled: bool) -> list[Item]:
    if not look.files:
        raise PackError(f"{look.given!r} holds no files; name another folder")
    chosen = KIND_NAMED[kind] if kind else _kind_of(look)
    found = list(chosen.items(look, labelled=labelled))
    if not found:
        remedy = _found_instead(look) or "correct the path, or say what it is with --from KIND"
        raise PackError(f"{look.given!r}: no {chosen.takes} there; {remedy}")
    return found


def _kind_of(look: Look) -> SourceKind:
    claiming = [kind for kind in SOURCE_KINDS if kind.claims(look)]
    claiming = [kind for kind in claiming if kind.name in _WHOLE_SETS] or claiming
    if len(claiming) == 1:
        return claiming[0]
    if claiming:
        readings = " or ".join(f"--from {kind.name} ({kind.takes})" for kind in claiming)
        raise ConfigError(f"{look.given!r} can be read in {len(claiming)} ways: give {readings}")
    instead = _found_instead(look)
    if instead:
        raise PackError(f"{look.given!r}: nothing that can be packed was found; {instead}; see docs/packing.md")
    known = "; ".join(f"{kind.name}: {kind.takes}" for kind in SOURCE_KINDS)
    raise PackError(f"{look.given!r}: nothing that can be packed was found; there is {known}; see docs/packing.md")


def _found_instead(look: Look) -> str:
    """Return what pictures of other formats are, and what to do about them; empty where there are none."""
    for file, head in look.sample():
        codec = codec_of(head)
        if codec.kind == "image":
            return f"{file!r} is {codec.name}: {codec.remedy}"
    return ""
