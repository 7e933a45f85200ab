"""Splits that words, or a few numbers, say: which of them each is. Reads nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from loader_service.catalog.inner_paths import as_text, basename_of
from loader_service.catalog.split_words import WORDS, is_part, is_short_word, meaning_of, says_split, training_first
from loader_service.catalog.splits.found_splits import Division
from loader_service.catalog.splits.parts_by_name import is_part_name

if TYPE_CHECKING:
    from collections.abc import Iterable

#: Names of what says the split of each row or video.
COLUMNS = frozenset({"split", "splits", "subset", "partition", "set", "phase", "data_split", "split_name", "fold_name"})

#: Of those, names that mean nothing else; so numbers in such a column are splits, which `--split` calls by number.
_NUMBERED = frozenset({"split", "splits", "data_split", "partition", "subset"})
_MOST_NUMBERED = 4


def is_word(value: Any) -> bool:
    """Tell whether a value has the word of a split, as a part of its own, and is no sentence."""
    return _is_named(text_of(value))


def _is_named(text: str) -> bool:
    return text.lower() in WORDS or (says_split(text) and is_part(text))


def is_told(said: Division) -> bool:
    """Tell whether texts that are called by no split's name are splits: those of training, and of another one."""
    return "train" in said.kept and len({meaning_of(meaning) for meaning in said.kept}) > 1


def of_whole_numbers(values: npt.NDArray[Any], path: str, *, by_rows: bool) -> Division | None:
    """Return the splits that few whole numbers are, each called by itself."""
    numbers = np.unique(values).tolist() if values.dtype.kind in "biu" else []
    if not 1 < len(numbers) <= _MOST_NUMBERED:
        return None
    kept = {str(int(number)): values == number for number in numbers}
    return Division(kept, {word: word for word in kept}, (path,), by_rows, is_of_splits(path))


def is_of_splits(path: str) -> bool:
    """Tell whether what says a split of each is called so, and means nothing else."""
    return basename_of(path).removeprefix("@").lower() in _NUMBERED


def of_words(values: Iterable[Any], path: str, *, by_rows: bool, called: bool = False) -> Division | None:
    """Return the splits that texts are; of what is `called` as splits are, words beside known ones are some, too.

    So are ``tr`` and ``te``; names that say more, such as ``test_seen``, or opposites, or initials, or parts, such as
    ``fold_1``, in what can be nothing else; and few such names as ``PublicTest`` beside words alone in what is called
    otherwise. An empty text is in none.
    """
    texts = [text_of(value) for value in values]
    meanings = [WORDS.get(text.lower()) for text in texts]
    if None in meanings:
        strange = {text for text, meaning in zip(texts, meanings, strict=True) if meaning is None}
        known = {meaning for meaning in meanings if meaning is not None}
        if len(strange) > _MOST_NUMBERED or not _are_splits(strange, known, path, called=called):
            return None
        meanings = [meaning or text for meaning, text in zip(meanings, texts, strict=True)]
    spelled = {meaning: text for meaning, text in zip(meanings, texts, strict=True) if meaning}
    column = np.array(meanings)
    words = training_first(spelled)
    return Division({meaning: column == meaning for meaning in words}, words, (path,), by_rows)


def _are_splits(strange: set[str], known: set[str], path: str, *, called: bool) -> bool:
    """Tell whether texts that are no words of splits are some, beside the words that are `known`."""
    if not called:
        return bool(known) and all(map(_is_named, strange))
    short = {text for text in strange if is_short_word(text)}
    if not is_of_splits(path):
        return "train" in known or len(known) + len(short) > 1
    named = {text for text in strange if says_split(text)}
    if "train" in known or len(known) + len(named) > 1 or named == strange:
        return True
    return _are_initials(strange) or (len(known) + len(strange) > 1 and all(map(is_part_name, strange)))


def _are_initials(texts: set[str]) -> bool:
    """Tell whether texts are letters that splits begin with, that of training among them: ``T`` and ``V``."""
    letters = {text.lower() for text in texts}
    return len(letters) > 1 and "t" in letters <= _INITIALS


#: Of words for splits.
_INITIALS = frozenset({"t", "v", "d", "e", "h"})


def text_of(value: Any) -> str:
    """Return what a value is as a text, without blanks around it."""
    if isinstance(value, np.ndarray) and value.size == 1:
        value = value.reshape(-1)[0]
    return as_text(value).strip()
