"""Splits that each video says itself: by an attribute of its group, or by a value. Knows no rows and no lists."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from loader_service.catalog.dtypes import is_text
from loader_service.catalog.hdf5.attributes import read_attribute
from loader_service.catalog.inner_paths import basename_of
from loader_service.catalog.split_words import EITHER, WORDS, said_by, training_first
from loader_service.catalog.splits.found_splits import Division, Kept
from loader_service.catalog.splits.split_masks import MASKS
from loader_service.catalog.splits.words_as_splits import COLUMNS, is_told, is_word, of_whole_numbers, of_words, text_of
from loader_service.catalog.videos.part_columns import NoFieldError, read_values
from loader_service.errors import CatalogError

#: Types of flags.
_FLAGS = frozenset({"bool", "uint8", "int8", "int32", "int64"})

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from loader_service.catalog.hdf5.file import HDF5File
    from loader_service.catalog.hdf5.tree import Tree
    from loader_service.catalog.videos.episodes import Episode, Found, VideoField


def by_attributes(hdf5: HDF5File, tree: Tree, found: Found) -> Division | None:
    """Return the splits that an attribute of each video says, also where a schema names other fields alone."""
    filled = found.filled
    ends = [_attributes_of(hdf5, tree, episode) for episode in (filled[:1] + filled[-1:])]
    name = next((each for names in ends for each in names if each.lower() in COLUMNS), None)
    if name is None:
        return None
    texts = [_attributes_of(hdf5, tree, episode).get(name) for episode in filled]
    if None in texts:
        _refuse_without(f"@{name}", filled[texts.index(None)], [text for text in texts if text is not None])
        return None
    return of_words(_for_all(found, texts), f"@{name}", by_rows=False, called=True)


def _refuse_without(key: str, episode: Episode, said: Sequence[Any]) -> None:
    """Refuse a video that says no split beside others that say several; CatalogError."""
    words = sorted({text_of(each) for each in said})
    if len({WORDS.get(word.lower()) for word in words} - {None}) > 1:
        raise CatalogError(
            f"video {episode.name!r} has no {key!r}, by which others say their split: {', '.join(map(repr, words))}; "
            "write one for it, or serve all videos by --split all"
        )


def _for_all(found: Found, values: Sequence[Any]) -> list[Any]:
    """Return a value for each video, given those of videos with frames; one without, which is left out, has any."""
    rest = iter(values)
    return [next(rest) if episode.frame_count else values[0] for episode in found.episodes]


def _attributes_of(hdf5: HDF5File, tree: Tree, episode: Episode) -> dict[str, str | bytes]:
    """Return the texts among the attributes of a video's group, or dataset, by name."""
    path = episode.dataset_path if episode.root is None else episode.root
    names = [name for name in tree.attributed.get(path, ()) if name.lower() in COLUMNS]
    values = {name: read_attribute(hdf5, path, name) for name in names}
    return {name: value for name, value in values.items() if isinstance(value, (str, bytes))}


def by_values(hdf5: HDF5File, found: Found) -> Division | None:
    """Return the splits that a value of each video says: one that is called so, else one that has their words alone."""
    filled = found.filled
    ends = filled[:1] + filled[-1:]
    keys = list(dict.fromkeys([key for each in ends for key, part in each.parts.items() if part.kind == "value"]))
    called = [key for key in keys if basename_of(key).removeprefix("@").lower() in COLUMNS]
    for key in [*called, *(key for key in keys if key not in called and len(filled) > 1)]:
        parts = [episode.parts.get(key) for episode in filled]
        values_of = [part for part in parts if part is not None and part.kind == "value"]
        texts = [part for part in values_of if is_text(part.dtype)]
        if key in called and 0 < len(texts) < len(parts) and None in parts:
            _refuse_without(key, filled[parts.index(None)], _values(hdf5, texts))
        if key in called and len(values_of) == len(parts) and not texts:
            numbers = np.asarray(_for_all(found, list(read_values(hdf5, values_of))))
            said = of_whole_numbers(numbers, key, by_rows=False) if numbers.ndim == 1 else None
            if said is not None and said.is_certain:
                return said
        if len(texts) < len(parts) or (key not in called and not hdf5.ask(_are_words, texts[0])):
            continue
        values = _values(hdf5, texts)
        fits = len(values) == len(texts)
        said = of_words(_for_all(found, values), key, by_rows=False, called=key in called) if fits else None
        if said is not None and (key in called or is_told(said)):
            return said
    return _by_flags(hdf5, found, keys)


def _by_flags(hdf5: HDF5File, found: Found, keys: Sequence[str]) -> Division | None:
    """Return the splits that a flag of each video says, as ``is_test`` or ``test``; what is not set in one is none."""
    kept: dict[str, Kept] = {}
    words, paths = {}, []
    filled = found.filled
    for key in keys:
        said = said_by(basename_of(key))
        if said is None or said.word.lower() == EITHER or not (MASKS.search(said.rest) or not said.rest):
            continue
        parts = [episode.parts.get(key) for episode in filled]
        flags = [part for part in parts if part is not None and part.kind == "value" and part.dtype in _FLAGS]
        values = np.asarray(list(read_values(hdf5, flags))) if len(flags) == len(parts) else np.zeros(0)
        if values.ndim == 1 and len(values) and _are_flags(values, is_named=bool(said.rest)):
            kept[said.meaning] = np.array(_for_all(found, values.astype(bool).tolist()))
            words[said.meaning] = said.word
            paths.append(key)
    return Division(training_first(kept), words, tuple(paths), by_rows=False) if kept else None


def _are_flags(values: NDArray[Any], *, is_named: bool) -> bool:
    """Tell whether values are flags; numbers that no name says are some, as of ``train``, are 0 and 1, and both."""
    found = set(values.tolist())
    return found <= {0, 1} and (is_named or values.dtype.kind == "b" or len(found) > 1)


def _values(hdf5: HDF5File, parts: Sequence[VideoField]) -> list[Any]:
    """Return the texts of videos, or an empty one, which is no word, where some are too long for a field."""
    try:
        return list(read_values(hdf5, parts).tolist())
    except NoFieldError:
        return [""]


def _are_words(hdf5: HDF5File, part: VideoField) -> bool:
    return all(map(is_word, _values(hdf5, [part])))
