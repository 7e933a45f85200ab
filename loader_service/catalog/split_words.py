"""Which words in the name of a group or dataset say a split: ``train`` in ``train_data``, and what is left. Pure."""

from __future__ import annotations

import functools
import re
import shlex
from typing import TYPE_CHECKING, TypeVar

from loader_service.catalog.inner_paths import unnumbered
from loader_service.record_class import record

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

#: Words that say a split, and the one that each stands for.
WORDS = {
    "train": "train", "training": "train", "trn": "train",
    "val": "val", "valid": "val", "validation": "val",
    "dev": "dev", "development": "dev", "eval": "eval", "evaluation": "eval",
    "holdout": "holdout", "hold_out": "holdout", "heldout": "holdout", "held_out": "holdout",
    "test": "test", "testing": "test", "tst": "test",
    "query": "query", "gallery": "gallery",
}  # fmt: skip

#: A word of a split that says as well whether a row is of use.
EITHER = "valid"

#: Words of which two say splits beside each other.
_OPPOSITES = [
    {"tr", "va", "te"},
    {"seen", "unseen"},
    {"labeled", "unlabeled"},
    {"labelled", "unlabelled"},
    {"iid", "ood"},
    {"in_domain", "out_of_domain"},
]

#: Words of which two, or one and nothing, tell subsets of one split apart: ``test_easy`` and ``test_hard``.
_SUBSETS = [
    *_OPPOSITES[1:],
    {"easy", "medium", "hard"},
    {"clean", "other"},
    {"id", "ood"},
    {"public", "private"},
    {"matched", "mismatched"},
    {"known", "unknown"},
]

#: Words that tell subsets apart where both are there; one alone is what rows have.
_BOTH = ({"label", "unlabel"},)

#: Words that say one beside a name that does, and is alike in all else.
WORDS_BESIDE = ("calibration", "calib", "ood", "public", "private", *sorted(set[str]().union(*_OPPOSITES)))

_Of = TypeVar("_Of")

_WORD = "|".join(sorted(WORDS, key=len, reverse=True))
_JOINED = rf"(?:(?:mini|micro|tiny|sub|minus|plus|and)*(?:{_WORD}))+"  # a split of its own: ``trainval``, ``minival``

#: Where a word begins, and ends, in ``train_data``; and in names that capitals part, as ``PublicTest``.
_BEGIN, _END = r"(?:^|(?<=[\W_]))", r"(?=$|[\W_\d])"
_BEGIN_CAPITAL = rf"(?:{_BEGIN}|(?-i:(?<=[a-z\d])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])))"
_END_CAPITAL = rf"(?:{_END}|(?-i:(?<=[a-z])(?=[A-Z])))"

_PART = re.compile(rf"{_BEGIN}(?:{_JOINED}){_END}", re.ASCII | re.IGNORECASE)
_PART_CAPITAL = re.compile(rf"{_BEGIN_CAPITAL}(?:{_JOINED}){_END_CAPITAL}", re.ASCII | re.IGNORECASE)
_PART_BESIDE = re.compile(
    rf"{_BEGIN_CAPITAL}(?:{'|'.join(WORDS_BESIDE)}){_END_CAPITAL}|(?<=^[xy])(?:tr|va|te)$", re.ASCII | re.IGNORECASE
)

#: What can be the word of a split in a path.
SPLIT_WORDS = re.compile(rf"{_WORD}|{_PART_BESIDE.pattern}|[xy](?:tr|va|te)(?:$|\W)", re.ASCII | re.IGNORECASE)

_END_NUMBER = re.compile(r"[\W_]*[0-9]+$")
_EDGE = re.compile(rf"^(?:{_WORD})|(?:{_WORD})$", re.IGNORECASE)


@record(frozen=True)
class Said:
    """What a name says: the word in it, and all else."""

    word: str
    rest: str

    @property
    def meaning(self) -> str:
        """What the word stands for; one of several, as ``trainval`` is, for itself."""
        return WORDS.get(self.word.lower(), self.word.lower())


@functools.lru_cache(4096)
def said_by(name: str) -> Said | None:
    """Return what the name of a group or dataset says of a split; None if nothing."""
    found = _PART.search(name) or _PART_CAPITAL.search(name) or _EDGE.search(name)
    return None if found is None else _said(name, found)


@functools.lru_cache(4096)
def said_beside(name: str) -> Said | None:
    """Return what a name says of a split that says none alone, and may beside others: ``unseen``; None if nothing."""
    found = None if said_by(name) else _PART_BESIDE.search(name)
    return None if found is None else _said(name, found)


def _said(name: str, found: re.Match[str]) -> Said:
    rest = re.sub(r"[\W_]+", "_", name[: found.start()] + "_" + name[found.end() :]).strip("_")
    return Said(found[0], unnumbered(rest.lower()))


def stands_apart(name: str) -> bool:
    """Tell whether a name has the word of a split as a part of its own: ``train_id``, and not ``trainId``."""
    return bool(_PART.search(name))


def is_part(name: str) -> bool:
    """Tell whether a name has the word of a split as a part, by capitals too: ``PublicTest``, not ``latest``."""
    return bool(_PART_CAPITAL.search(name))


def meaning_of(name: str) -> str | None:
    """Return what the split stands for that a name says; None where it says none."""
    said = said_by(name)
    return None if said is None else said.meaning


def are_opposites(one: str, other: str) -> bool:
    """Tell whether two words that say nothing alone are opposites, as ``seen`` and ``unseen`` are."""
    return one != other and any({one, other} <= words for words in _OPPOSITES)


def is_short_word(text: str) -> bool:
    """Tell whether a text is the short form of a split's word, which says one beside another: ``tr``, ``te``."""
    return text.lower() in _OPPOSITES[0]


def subsets_among(rests: Iterable[str]) -> set[str]:
    """Return what tells subsets of one split apart, of what is left of their names: ``seen`` beside ``unseen``."""
    bare = {rest.strip("_#") for rest in rests}
    beside = [bare & {*words, ""} for words in _SUBSETS] + [words for words in _BOTH if words <= bare]
    return {word for words in beside if len(words) > 1 for word in words if word}


def says_split(text: str) -> bool:
    """Tell whether a text that a file has as a split is the name of one: ``test_seen``, or ``te``, and no sentence."""
    return " " not in text and (said_by(text) is not None or text.lower() in WORDS_BESIDE)


def training_first(by_meaning: Mapping[str, _Of]) -> dict[str, _Of]:
    """Return what is said of splits, training first and tests last; what no single word says comes behind."""
    order = (*WORDS.values(), "tr", "va", "te", *by_meaning)
    return {meaning: by_meaning[meaning] for meaning in order if meaning in by_meaning}


def meaning_among(words: Mapping[str, str], name: str) -> str | None:
    """Return which split a name means of those that a file has words for: as it spells these, or by any word of it."""
    spelled = {word.lower(): meaning for meaning, word in words.items()}
    return spelled.get(name.lower(), single_meaning(name))


def single_meaning(name: str) -> str | None:
    """Return what a name stands for that is the word of a split and nothing else; None for another one."""
    said = said_by(name)
    return said.meaning if said is not None and said.word == name else None


def listed(counted: Mapping[str, str]) -> str:
    """Return splits and what each of them has, for people."""
    return ", ".join(f"{word!r} ({content})" for word, content in counted.items())


def split_flags(words: Iterable[str]) -> str:
    """Return the options that choose one of some splits."""
    return " or ".join(f"--split {shlex.quote(word)}" for word in words)


def without_end_number(name: str) -> str:
    """Return a name without a number at its end, and what parts that from it."""
    return _END_NUMBER.sub("", name)


def lone_word(name: str) -> str:
    """Return the word of a split that a name is, but for a number at its end; empty where it says more, or none."""
    word = without_end_number(name)
    return word if single_meaning(word) else ""
