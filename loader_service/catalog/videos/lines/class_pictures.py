"""Says where groups of numbered pictures are videos, and words name these: maybe classes, of a picture each. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from loader_service.catalog.inner_paths import basename_of, common_group, common_pattern, differing_parts, parent_of
from loader_service.catalog.layouts.datasets import DatasetsVideo
from loader_service.catalog.patterns import matches
from loader_service.catalog.sides import common_shape
from loader_service.catalog.videos.frame_axis import have_numbers_or_ids, have_roles
from loader_service.catalog.videos.numbered import are_called_frames
from loader_service.catalog.videos.readings import in_one_line
from loader_service.catalog.videos.sibling_groups import is_recording
from loader_service.schema import Schema, SchemaField
from loader_service.sizes import counted

if TYPE_CHECKING:
    from loader_service.catalog.hdf5.tree import Tree
    from loader_service.catalog.videos.episodes import Episode, Found, VideoField

#: A number alone, behind a word for a picture, or behind the name of the group; with the ending of a file, perhaps.
_NUMBERED = r"({}|image|img|picture|photo|sample)?[_.\- ]*[0-9]+([.][A-Za-z0-9]+)?"

_LINE = (
    "groups such as {} are {} of the pictures that are numbered in them; if each is a picture of its own, and the "
    "group its class, {} in a --schema makes it one, and --label '{{group}}' the class its label, in a file"
)


def lines_of_class_pictures(tree: Tree, found: Found) -> dict[str, str]:
    """Return a line for videos that are groups of numbered pictures, where words name the groups: ``cat/0``, ``dog/0``.

    Groups by number or id, and what is called a recording, or its frames, are none of classes.
    """
    pictures = [_pictures_of(episode) for episode in found.filled]
    groups = [group for group, _ in filter(None, pictures)]
    if found.layout != "groups" or len(set(groups)) < max(2, len(pictures)):
        return {}
    words = differing_parts(groups)
    parts = [part for _, part in filter(None, pictures)]
    if have_numbers_or_ids(words) or have_roles(words) or any(map(is_recording, words)):
        return {}
    if len({len(part.shape) for part in parts}) > 1:  # pictures beside masks are no classes
        return {}
    shape = None if parts[0].frames is not None else common_shape([part.shape for part in parts])
    pattern = common_pattern(groups)
    if any(matches(pattern, info.parent) and info.parent not in groups for info in tree.datasets.values()):
        return {}
    schema = Schema(("groups",), (SchemaField.across(pattern, parts[0].kind, shape, name="frames"),))
    shown = " and ".join(map(repr, groups[:2]))
    line = _LINE.format(shown, counted(len(groups), "video"), in_one_line(schema))
    return {f"{common_group(groups) or '/'} (samples)": line}


def _pictures_of(episode: Episode) -> tuple[str, VideoField] | None:
    """Return the group that holds a video's pictures, numbered datasets that are all that is in it, and their field."""
    timed = list(episode.timed.values())
    if episode.root is None or len(timed) != 1 or len(episode.parts) > 1:
        return None
    (part,) = timed
    video = part.frames
    if video is not None:
        names = [info.basename for info in video.members] if isinstance(video, DatasetsVideo) else []
        group = video.dataset_path
    else:
        group = parent_of(part.path)
        names = [basename_of(path) for path in episode.helpers] if part.digits >= 0 and len(part.shape) > 1 else []
    called = re.compile(_NUMBERED.format(re.escape(basename_of(group))), re.IGNORECASE)
    return (group, part) if names and all(map(called.fullmatch, names)) and not are_called_frames(names) else None
