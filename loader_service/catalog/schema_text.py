"""Writes what was found in files as a schema, the TOML that people edit and give back. Opens no file."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from loader_service.catalog.sides import of_siblings
from loader_service.schema import VIDEO

if TYPE_CHECKING:
    from loader_service.catalog.columns import Catalog, FieldFacts
    from loader_service.schema import Lengths, VideoLayout


#: What stands for more than itself in a pattern.
_ESCAPED = str.maketrans({letter: f"[{letter}]" for letter in "*?["})


def pattern_of(key: str, layout: VideoLayout) -> str:
    """Return the pattern of a schema that stands for a field, from its key and what a video is."""
    escaped = key.translate(_ESCAPED)
    if layout != "groups":
        return escaped or "/"  # the root group, whose datasets are frames
    return f"{VIDEO}/{escaped}" if key else VIDEO


def _for_siblings(catalog: Catalog) -> dict[str, tuple[str, ...]]:
    """Return the patterns of each field, with one more where a file's only numbered group has another number elsewhere.

    It comes last, so it counts only where the path that was found here is not there; and none is made that would stand
    for two fields, as of two numbered cameras.
    """
    sources = {facts.field.name: facts.sources for facts in catalog.facts}
    wider = [_widened(each) for patterns in sources.values() for each in patterns]
    return {
        name: tuple(
            dict.fromkeys([*patterns, *(each for each in map(_widened, patterns) if each and wider.count(each) == 1)])
        )
        for name, patterns in sources.items()
    }


def _widened(pattern: str) -> str:
    """Return a pattern for other numbers too; empty where there is none, or the video's group stands for it."""
    if pattern.startswith(VIDEO) or pattern.rpartition("/")[2].startswith("@"):
        return ""
    group, _, name = pattern.rpartition("/")
    return f"{_NUMBER.sub('[0-9]*', group)}/{name}" if _NUMBER.search(group) else ""


#: A number at the end of a part of a path, as `demo_0` has.
_NUMBER = re.compile(r"[0-9]+(?=/|$)")


def schema_toml(catalog: Catalog, lengths: Lengths = "equal") -> str:
    """Return what was found in a catalog's files as a schema that can be edited and given back.

    `lengths`: what the schema says by which it was found, if one did.
    """
    made_with = f"# It was made with --split {_toml(catalog.split)}, which a schema does not keep: give both."
    lines = [
        '# What a video is: a group of a file ("groups"), a file ("files"), a table whose rows are frames ("table"),',
        '# a row of a vlen dataset ("vlen"), rows between ends ("spans"), or a row of (videos, frames, …) ("padded").',
        "# In `dataset`, {video} is the group of a video, or its name.",
        "# In `shape`, -1 is any side, 0 one that differs, another number is checked; of lists, [0, 4] says that an",
        "# entry has four numbers.",
        *([made_with] if catalog.split else []),
        f"videos = {_toml(list(catalog.layouts))}",
        *([f"lengths = {_toml(lengths)}"] if lengths != "equal" else []),
    ]
    patterns = _for_siblings(catalog)
    for facts in catalog.facts:
        if not facts.sources:
            continue  # labels that no schema named: they are found again, or come from --label or --labels
        lines += ["", "[[field]]", f"name = {_toml(facts.field.name)}", f"kind = {_toml(facts.field.kind)}"]
        lines.append(f"dataset = {_toml(list(patterns[facts.field.name]))}")
        number_of_a_text = facts.field.name == "label" and facts.field.kind == "value"
        if facts.storage != "encoded" and not number_of_a_text:
            lines.append(f"dtype = {_toml(facts.field.dtype)}")
            if not _may_differ(catalog, facts):
                lines.append(_shape_line(facts))
    return "\n".join([*lines, ""])


def _shape_line(facts: FieldFacts) -> str:
    """Return the line of a field's shape, in which sides that may differ in other files are any, and what they are."""
    here = facts.field.shape
    shape = here if facts.storage == "lists" else of_siblings(here)
    return f"shape = {list(shape)}" + (f"  # {list(here)} here" if shape != here else "")


def _may_differ(catalog: Catalog, facts: FieldFacts) -> bool:
    """Tell whether nothing says that an array has the same sides elsewhere: only one sequence of them was seen."""
    one_sample = catalog.frame_count == 1 and catalog.layouts != ("table",)  # its shape says that it is one
    if catalog.video_count != 1 or one_sample or facts.storage != "raw" or not facts.field.shape:
        return False
    numbered = catalog.column("digits", facts.field.name)[0] >= 0  # each frame is a dataset, which its shape says
    return facts.field.kind == "array" and not numbered


def _toml(value: str | list[str]) -> str:
    if isinstance(value, list):
        return _toml(value[0]) if len(value) == 1 else f"[{', '.join(map(_toml, value))}]"
    letters = (
        f"\\u{ord(letter):04x}"
        if ord(letter) < 32 or ord(letter) == 127
        else f"\\{letter}"
        if letter in '"\\'
        else letter
        for letter in value
    )
    return f'"{"".join(letters)}"'
