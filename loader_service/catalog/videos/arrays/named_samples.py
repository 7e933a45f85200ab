"""Pictures of one group, with maps of each, that a word before what is seen tells apart. Pure: sees names and shapes.

``cat_image`` beside ``cat_mask``, and ``dog_image`` beside ``dog_mask``, are samples, or fields of one.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from loader_service.catalog.hdf5.tree import in_groups
from loader_service.catalog.inner_paths import join, unnumbered
from loader_service.catalog.sides import common_shape
from loader_service.catalog.videos.frame_axis import DEVICE, mention_what_is_seen, say_what_is_seen
from loader_service.catalog.videos.numbered import kind_of_frames
from loader_service.catalog.videos.readings import Reading, TwoReadingsError, each_by_itself, in_one_line
from loader_service.schema import VIDEO, SchemaField
from loader_service.sizes import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from loader_service.catalog.hdf5.tree import DatasetInfo, Tree
    from loader_service.catalog.videos.episodes import Found
    from loader_service.schema import FieldKind

    #: The datasets of each word, by what is seen in them: ``{"cat": {"_image": …, "_mask": …}}``.
    Samples = dict[str, dict[str, DatasetInfo]]

    #: Tells what a dataset is that is one encoded picture; None if it is none.
    KindOf = Callable[[DatasetInfo], FieldKind | None]

_NAME = re.compile(r"(?P<word>.*[^_.\- ])(?P<seen>[_.\- ][A-Za-z]+)")

#: Axes of a grey picture, which a map of one is too.
_GREY_AXES = 2


def refuse_named_samples(tree: Tree, found: Found, kind_of: KindOf) -> None:
    """Refuse pictures and maps of one group that are a video each, or of which the maps are no field.

    Raises
    ------
    TwoReadingsError
        With the schemas for a sample of each word, and for a picture each.
    """
    if not found.episodes or found.episodes[0].root is not None:
        return
    filled = found.filled
    if len(filled) < 2 or any(each.root is not None or each.frame_count > 1 for each in filled):
        return
    for group, samples in _by_group(tree, {each.dataset_path for each in filled}):
        reading = _reading(group, samples, kind_of)
        first = next(iter(samples.values()))
        shown = " and ".join(repr(info.path) for info in first.values())
        raise TwoReadingsError(
            f"found {shown}, and such of {counted(len(samples) - 1, 'other name')}",
            [reading, each_by_itself("a video of one frame each")],
        )


def lines_of_named_samples(tree: Tree, found: Found, kind_of: KindOf) -> dict[str, str]:
    """Return a line for pictures and maps of several names with the same endings, with a schema for samples.

    They are fields of one frame, or a video of one frame each; the endings may be any words.
    """
    filled = found.filled
    if not filled or filled[0].frame_count != 1 or found.layout not in {"groups", "files"}:
        return {}
    single = not found.episodes[1:]
    if not single and any(each.root is not None or each.frame_count > 1 for each in filled):
        return {}
    served = {part.path for each in filled for part in each.parts.values()}
    as_what = "fields of one frame" if single else "videos of one frame each"
    lines = {}
    for group, samples in _by_group(tree, served, any_words=True):
        schema = in_one_line(_reading(group, samples, kind_of).schema)
        lines[f"{group or '/'} (names)"] = (
            f"all of {counted(len(samples), 'name')} such as {next(iter(samples))!r} are {as_what}; if each is a "
            f"sample, {schema} in a --schema makes it one, in a file"
        )
    return lines


def _by_group(tree: Tree, served: set[str], *, any_words: bool = False) -> list[tuple[str, Samples]]:
    """Return, by group, datasets of words that each have the same few things to see, of which some are served.

    `any_words`: whether any words may say what is seen, and numbers whose it is.
    """
    found = []
    for group, members in in_groups(tree.datasets.values()).items():
        samples = _samples_of(members, any_words=any_words) if len(members) > _LEAST else {}
        if samples and all(_are_shown(each, served) for each in samples.values()):
            found.append((group, samples))
    return found


def _are_shown(sample: dict[str, DatasetInfo], served: set[str]) -> bool:
    """Tell whether some datasets of a sample are served, and all others are raw maps."""
    left = [info for info in sample.values() if info.path not in served]
    return len(left) < len(sample) and all(len(info.shape) >= _GREY_AXES for info in left)


#: Datasets of two words, with two things to see each, are one more.
_LEAST = 3


#: Things to see of one sample, where any words say them.
_MOST_KINDS = 4


def _samples_of(members: Sequence[DatasetInfo], *, any_words: bool) -> Samples:
    """Return datasets by word and by what is seen, if all are so named, and words are no cameras, nor numbers."""
    samples: Samples = {}
    for info in members:
        name = _NAME.fullmatch(info.basename)
        if name is None or not (any_words or say_what_is_seen([name["seen"]])):
            return {}
        samples.setdefault(name["word"], {})[name["seen"]] = info
    seen = {frozenset(each) for each in samples.values()}
    words = len(samples) > 1 if any_words else len({unnumbered(word) for word in samples}) > 1
    kinds = len(next(iter(seen)))
    if not words or len(seen) > 1 or kinds < 2 or (any_words and kinds > _MOST_KINDS) or _are_seen(samples):
        return {}
    return samples if all(map(_are_maps, samples.values())) else {}


def _are_seen(samples: Samples) -> bool:
    return any(DEVICE.search(word) or mention_what_is_seen([word]) for word in samples)


def _are_maps(sample: dict[str, DatasetInfo]) -> bool:
    """Tell whether raw datasets are pictures, or maps, of the same two sides."""
    sides = {info.shape[:2] for info in sample.values() if len(info.shape) >= _GREY_AXES}
    return len(sides) < 2


def _reading(group: str, samples: Samples, kind_of: KindOf) -> Reading:
    fields = []
    for seen, info in next(iter(samples.values())).items():
        raw = len(info.shape) >= _GREY_AXES
        kind = kind_of_frames(info) if raw else kind_of(info) or "array"
        shape = common_shape([each[seen].shape for each in samples.values()]) if raw else None
        fields.append(SchemaField.at(join(group, VIDEO + seen), kind, shape, name=seen[1:]))
    fields.sort(key=lambda field: field.kind != "image")
    return Reading.of_groups("a sample for each name", fields)
