"""What sequences of pictures beside each other may be, where that is asked: cameras of a video, or videos. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from loader_service.catalog.dtypes import is_text
from loader_service.catalog.inner_paths import basename_of, common_group, differing_parts, join, key_in, lies_in
from loader_service.catalog.layouts.datasets import DatasetsVideo
from loader_service.catalog.videos.frame_axis import are_parts
from loader_service.catalog.videos.numbers_of_frames import words_of_other_numbers
from loader_service.catalog.videos.readings import Reading, TwoReadingsError, each_by_itself, of_nearly_one_length
from loader_service.schema import SchemaField
from loader_service.sizes import counted

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from loader_service.catalog.hdf5.tree import Tree
    from loader_service.catalog.layouts.layout import FoundVideo
    from loader_service.catalog.sides import Shape
    from loader_service.schema import VideoLayout

#: The sequences of each video, by the group that is it, in their order.
Cameras = dict[str, list[str]]


@dataclass(frozen=True)
class Sequences:
    """Sequences of pictures of one file.

    Attributes
    ----------
    counts
        The frames of each, by the path of its dataset or group.
    own
        The datasets that are frames, or belong to them.
    maps
        Those sequences that are arrays, as depth is.
    numbered
        Of raw frames in datasets with a number each: what names these in the group, and the shape of one.
    found
        Of encoded frames: the sequences.
    """

    counts: Mapping[str, int]
    own: Collection[str]
    maps: Collection[str] = ()
    numbered: Mapping[str, tuple[str, Shape]] = field(default_factory=dict)
    found: Sequence[FoundVideo] = ()

    def field(self, path: str, key: str, *, in_group: bool, name: str = "") -> SchemaField:
        """Return a sequence as a field of a schema; `key`: its path in the group of its video, else in the file."""
        inside, shape = self.numbered.get(path, ("", None))
        make = SchemaField.in_group if in_group else SchemaField.at
        return make(join(key, inside), "array" if path in self.maps else "image", shape, name=name or key or "frames")

    def each_by_itself(self) -> Reading:
        """Return the reading by which each sequence is a video."""
        first = next(iter(self.counts))
        if first not in self.numbered:
            return each_by_itself(_OWN)
        return Reading.of_groups(_OWN, [self.field(first, "", in_group=True, name="frames")])


_OWN = "videos of their own"


def parts_of(paths: Sequence[str]) -> list[str]:
    """Return the groups of numbered parts, as ``robot_0``, that sequences lie in; none where these are no such."""
    root = common_group(paths)
    names = differing_parts(paths)
    return [join(root, name) for name in names] if are_parts(names) else []


def parts_or_videos(tree: Tree, sets: Cameras, seen: Sequences) -> TwoReadingsError:
    """Return the error for numbered parts of one recording that may be recordings of their own, with all they hold."""
    paths = next(iter(sets.values()))
    count, parts = seen.counts[paths[0]], parts_of(paths)
    inside = [info.path for info in tree.datasets.values() if info.path.startswith(tuple(f"{each}/" for each in parts))]
    others = [tree.datasets[path] for path in inside if path not in seen.own]
    numbers = [info.path for info in others if info.shape[:1] == (count,) and info.dtype and not is_text(info.dtype)]
    first = [path for path in (*paths, *numbers) if lies_in(path, parts[:1])]
    together = [seen.field(path, path, in_group=False) for path in paths]
    apart = [seen.field(path, key_in(parts[0], path), in_group=True) for path in first if path in paths]
    shown = " and ".join(f"{path!r} of {counted(count, 'frame')}" for path in paths[:2])
    return TwoReadingsError(
        f"found {shown} beside each other, parts of one recording or videos of their own",
        [
            Reading.of_file("one video with a field for each part", [*together, *map(SchemaField.at, numbers)]),
            Reading.of_groups(
                _OWN,
                [*apart, *(SchemaField.in_group(key_in(parts[0], path)) for path in first if path not in paths)],
            ),
        ],
    )


def cameras_or_videos(sets: Cameras, seen: Sequences, *, equal: bool) -> TwoReadingsError:
    """Return the error for sequences beside each other of which nothing says whether they are cameras or videos."""
    counts, lost = seen.counts, [root for root in sets if len({seen.counts[path] for path in sets[root]}) > 1]
    root, grouped = (lost or list(sets))[0], len(sets) > 1
    layout: VideoLayout = "groups" if grouped else "files"
    beside = sets[root]
    tail = f"/{basename_of(beside[0])}" if len({basename_of(path) for path in beside}) == 1 else ""
    fields = [
        seen.field(path, key if grouped else path, in_group=grouped, name=key.removesuffix(tail))
        for path in beside
        for key in [key_in(root, path)]
    ]
    cameras = [Reading.of(layout, f"one video with {len(beside)} cameras", fields)]
    if not equal:
        lengths = [counts[path] for path in beside]
        cameras = of_nearly_one_length(cameras[0].schema, lengths)
        cameras += [_of_one_length(layout, each) for each in _by_length(fields, lengths)]
        beside = [
            next(path for path in beside if counts[path] == count) for count in dict.fromkeys(map(counts.get, beside))
        ]
    shown = " and ".join(f"{path!r} of {counted(counts[path], 'frame')}" for path in beside[:2])
    members = {video.dataset_path: video.members for video in seen.found if isinstance(video, DatasetsVideo)}
    words = words_of_other_numbers({path: members.get(path, ()) for path in paths} for paths in sets.values())
    return TwoReadingsError(
        f"found {shown} beside each other, cameras of one video or videos of their own{words}",
        [*cameras, seen.each_by_itself()],
    )


#: Lengths of which a message shows the schemas, the longest first.
_MOST_LENGTHS = 2


def _by_length(fields: Sequence[SchemaField], counts: Sequence[int]) -> list[list[SchemaField]]:
    """Return the fields of each length, those of the longest sequences first; only of so many lengths."""
    longest = sorted(set(counts), reverse=True)[:_MOST_LENGTHS]
    return [[field for field, count in zip(fields, counts, strict=True) if count == each] for each in longest]


def _of_one_length(layout: VideoLayout, fields: Sequence[SchemaField]) -> Reading:
    names = " and ".join(repr(field.dataset[0]) for field in fields[:2])
    more = f" and {len(fields) - 2} more of their length" if len(fields) > 2 else ""
    words = "its camera" if len(fields) == 1 else "its cameras"
    return Reading.of(layout, f"one video by {words} {names}{more} alone", fields)
