"""How many frames the videos of a schema have, from the entries of their fields. Reads nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from loader_service.catalog.videos.beside.flat_lists import count_of_lists
from loader_service.errors import CatalogError
from loader_service.sizes import counted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from loader_service.catalog.videos.episodes import Episode, VideoField
    from loader_service.schema import SchemaField


def entries_of(part: VideoField) -> int:
    """Return how many entries a field has in its video."""
    if part.frames is not None:
        return part.frames.frame_count
    if part.bounds is not None:
        return count_of_lists(part.bounds)
    if part.info is None or not part.info.shape:
        return 0
    if part.element >= 0:
        return part.info.shape[min(1, len(part.info.shape) - 1)]
    return 1 if part.shape == part.info.shape else part.info.shape[0]


def check_count(episode: Episode, field: SchemaField, count: int) -> None:
    """Make sure that all fields of a video have as many frames, or, if they lie between them, one less.

    Raises
    ------
    CatalogError
        When the field has another number of entries than those before it.
    """
    part = episode.parts[field.name]
    if not any(other.kind != "value" for name, other in episode.parts.items() if name != field.name):
        episode.frame_count = count
        episode.dataset_path = part.path
    elif part.frames is None and count == episode.frame_count - 1 > 0:
        episode.parts[field.name] = replace(part, missing=1)
    elif count == episode.frame_count + 1 > 2 and _can_lie_between(episode, field.name):
        others = {name: each for name, each in episode.parts.items() if each.kind != "value" and name != field.name}
        episode.parts |= {name: replace(each, missing=1) for name, each in others.items()}
        episode.frame_count = count
    elif count != episode.frame_count:
        raise CatalogError(
            f"video {episode.name!r}, field {field.name!r}: expected {counted(episode.frame_count, 'frame')}, "
            f"like its other fields, found {count} in {part.path!r}; leave the field out of the schema, correct the "
            'file, or say lengths = "shortest" in the schema, which ends each video with its shortest field'
        )


def _can_lie_between(episode: Episode, name: str) -> bool:
    """Tell whether all other fields are arrays that can have an entry between each two frames."""
    others = [part for other, part in episode.parts.items() if part.kind != "value" and other != name]
    return all(part.frames is None and part.kind == "array" and not part.missing for part in others)


def end_with_shortest(episode: Episode, counts: Mapping[str, int]) -> None:
    """End a video with the shortest of its fields; `counts`: the entries of each that has one for each frame."""
    episode.frame_count = min(counts.values())
    episode.dataset_path = episode.parts[next(iter(counts))].path


def lines_of_ends(ended: Sequence[tuple[Episode, Mapping[str, int]]]) -> dict[str, str]:
    """Return what `end_with_shortest` left of videos, as lines of what is no field, by field."""
    lines: dict[str, str] = {}
    for name in dict.fromkeys(name for _, counts in ended for name in counts):
        longer = [(episode, counts[name] - episode.frame_count) for episode, counts in ended]
        longer = [(episode, rest) for episode, rest in longer if rest]
        if longer:
            most = counted(max(rest for _, rest in longer), "frame")
            first = longer[0][0].name  # empty where the file is the video
            whose = f"{counted(len(longer), 'video')} such as {first!r}" if first else "the only video"
            lines[f"{name} (end)"] = (
                f"not served are the last frames, {most} at most, of {whose}, since "
                'lengths = "shortest" ends each video with its shortest field, in a file'
            )
    return lines
