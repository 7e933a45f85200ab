"""Finds the videos of a file as a schema declares them; what is missing or has another form is an error."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from loader_service.catalog.dtypes import is_vlen
from loader_service.catalog.inner_paths import parent_of
from loader_service.catalog.layouts import search as layouts
from loader_service.catalog.natural import natural_key
from loader_service.catalog.patterns import matches
from loader_service.catalog.sides import fits
from loader_service.catalog.videos.arrays.vlen_rows import find_vlen_rows
from loader_service.catalog.videos.arrays.without_frames import find_datasets
from loader_service.catalog.videos.beside.entries_by_name import declared_by_name
from loader_service.catalog.videos.beside.numbers_in_step import check_pairs, lines_of_other_numbers
from loader_service.catalog.videos.declared.declared_fields import dataset_part, declared_part, has_form, not_there
from loader_service.catalog.videos.declared.declared_lengths import (
    check_count,
    end_with_shortest,
    entries_of,
    lines_of_ends,
)
from loader_service.catalog.videos.declared.declared_padded import declared_padded
from loader_service.catalog.videos.declared.declared_places import (
    frames_at,
    has_number,
    lines_of_dropped,
    numbered_at,
    path_of,
    refuse_first_alone,
    root_of,
    videos_by_number,
)
from loader_service.catalog.videos.end_to_end import cut_at_ends
from loader_service.catalog.videos.episodes import Episode, Found, VideoField
from loader_service.catalog.videos.numbered import numbered_part, split_by_names, without_names
from loader_service.errors import CatalogError
from loader_service.schema import VIDEO, Schema, SchemaField
from loader_service.sizes import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from loader_service.catalog.hdf5.file import HDF5File
    from loader_service.catalog.hdf5.tree import DatasetInfo, Tree
    from loader_service.schema import VideoLayout


def declares_label(schema: Schema | None) -> bool:
    """Tell whether a schema says where labels are, so that they are not looked for."""
    return schema is not None and "label" in schema.names


def find_declared(hdf5: HDF5File, tree: Tree, schema: Schema) -> Found:
    """Return the videos of one file with the fields that a schema declares.

    Raises
    ------
    CatalogError
        When the first field with frames is not in the file, or a video lacks a field, or has it in another form.
    """
    main = next(field for field in schema.fields if field.kind != "value")
    for layout in schema.videos:
        if layout == "vlen":
            info = _only_dataset(tree, main)
            if info is not None and is_vlen(info.dtype):
                return _vlen_rows(hdf5, tree, schema, info)
            continue
        if layout == "spans":
            return _spans(hdf5, tree, schema)
        if layout == "padded":
            return declared_padded(tree, schema, hdf5.entries)
        episodes = _groups(hdf5, tree, main) if layout == "groups" else _whole_file(tree, main)
        if episodes:
            roots = [each.root for each in episodes]
            found = _filled(hdf5, tree, schema, layout, episodes)
            found.left_out.update(lines_of_dropped(tree, roots, [each.root for each in found.episodes]))
            found.left_out.update(lines_of_other_numbers(found))
            return found
    raise not_there(main, schema, tree)


def _spans(hdf5: HDF5File, tree: Tree, schema: Schema) -> Found:
    """Return the videos that lie end to end in the datasets that a schema names."""
    main = next(field for field in schema.fields if field.kind != "value")
    grouped = all(pattern.startswith(f"{VIDEO}/") for pattern in main.dataset)
    wholes = _groups(hdf5, tree, main) if grouped else [Episode("", "", 0, "")]
    if not wholes:
        raise not_there(main, schema, tree)
    each_video = {} if grouped else {field: _value_of_each(tree, field) for field in schema.fields}
    values = {field: info for field, info in each_video.items() if info is not None}
    by_name = [each for each in schema.fields if not grouped and each.kind == "value" and VIDEO in each.dataset[0]]
    rest = tuple(each for each in schema.fields if each not in values and each not in by_name)
    lines = _fill(hdf5, tree, replace(schema, fields=rest), wholes)
    wholes.sort(key=lambda episode: natural_key(episode.name))
    layout: VideoLayout = "groups" if grouped else "files"
    found = cut_at_ends(hdf5, tree, Found(layout, wholes, lines), declared=True)
    if found.layout != "spans":
        raise CatalogError(
            f"nothing says where videos end in the {wholes[0].frame_count} rows of {wholes[0].dataset_path!r}; add a "
            f"dataset of their ends, such as 'episode_ends', or say videos = \"{'groups' if grouped else 'table'}\" in "
            "the schema"
        )
    for field, info in values.items():
        if info.shape[0] != len(found.episodes):
            raise CatalogError(
                f"the field {field.name!r}: expected a value for each of "
                f"{counted(len(found.episodes), 'video')}, found "
                f"{info.describe()}; take the field out of the schema, or correct the file"
            )
        for number, episode in enumerate(found.episodes):
            part = VideoField("value", info.dtype, info.shape[1:], info.path, info=info, element=number)
            episode.parts[field.name] = replace(part, pattern=field.dataset[0])
    for field in by_name:
        for episode in found.episodes:
            episode.parts[field.name] = declared_by_name(tree, field, episode)
    return found


def _value_of_each(tree: Tree, field: SchemaField) -> DatasetInfo | None:
    """Return the dataset of a field that has an entry for each video, where these lie end to end."""
    info = _only_dataset(tree, field) if field.kind == "value" else None
    if info is None or not info.shape:
        return None
    one = info.shape == (1,) if field.shape is None else fits(field.shape, info.shape)
    return None if one else info


def _whole_file(tree: Tree, main: SchemaField) -> list[Episode]:
    return [Episode("", "", 0, "")] if path_of(tree, main, "") else []


def _groups(hdf5: HDF5File, tree: Tree, main: SchemaField) -> list[Episode]:
    for pattern in main.dataset:
        if pattern == VIDEO:
            found = layouts.find_frames(hdf5, tree, None, declared=True)
            if found:
                videos = split_by_names(found)
                return [Episode(video.name, root_of(video), 0, video.path) for video in videos]
            arrays = find_datasets(tree)
            if arrays:
                return [Episode(each.name, None, 0, each.dataset_path) for each in arrays]
        elif pattern.endswith(f"/{VIDEO}"):  # a group that is a field, or several, with a dataset for each video
            group = pattern[: -len(VIDEO) - 1]
            exact = [path for path in tree.datasets if parent_of(path) == group]
            paths = exact or [path for path in tree.datasets if matches(group, parent_of(path))]
            paths = paths or [path for path in tree.groups if matches(group, parent_of(path))]  # of encoded frames
            if paths:
                return [Episode(path, None if path in tree.datasets else path, 0, path) for path in paths]
        elif has_number(pattern):
            numbered = videos_by_number(tree, pattern)
            if numbered:
                return numbered
        elif pattern.startswith(f"{VIDEO}/"):
            suffix = pattern[len(VIDEO) + 1 :]
            depth = suffix.count("/") + 1
            parts = (path.split("/") for path in {*tree.datasets, *tree.groups} if path.count("/") >= depth)
            roots = {"/".join(each[:-depth]) for each in parts if matches(suffix, "/".join(each[-depth:]))}
            if roots:
                return [Episode(root, root, 0, "") for root in sorted(roots)]
    return []


def _filled(hdf5: HDF5File, tree: Tree, schema: Schema, layout: VideoLayout, episodes: list[Episode]) -> Found:
    """Return the videos with all fields of the schema, without the groups that are called alike and are no videos."""
    episodes = _without_rows(tree, schema.fields[0], episodes)
    try:
        lines = _fill(hdf5, tree, schema, episodes)
    except CatalogError:
        kept = _with_fields(tree, schema, [each.root for each in episodes if each.root is not None])
        if not 0 < len(kept) < len(episodes):
            raise
        episodes = [Episode(root, root, 0, "") for root in kept]
        lines = _fill(hdf5, tree, schema, episodes)
    episodes.sort(key=lambda episode: natural_key(episode.name))
    return Found(layout, episodes, lines)


def _without_rows(tree: Tree, first: SchemaField, episodes: list[Episode]) -> list[Episode]:
    """Return the videos without those that hold one row beside others that hold many, if its side may be any.

    A side of -1 fits any list of numbers: ``events (7,)`` is no frame beside those of ``trial_0 (100, 4)``.
    """
    if first.shape is None or -1 not in first.shape:
        return episodes
    axes = {each.root: _axes_of(tree, first, each.root) for each in episodes if each.root is not None}
    row = len(first.shape)
    return [each for each in episodes if axes.get(each.root or "") != row] if row + 1 in axes.values() else episodes


def _with_fields(tree: Tree, schema: Schema, roots: Sequence[str]) -> list[str]:
    """Return the groups with all fields, and those that lack some, unless they hold such groups, or no field fits.

    Those of which the first field has other axes than where all fields are hold something else: energies beside places.
    """
    found = {root: [_is_there(tree, field, root) for field in schema.fields] for root in roots}
    whole = {root for root in roots if all(found[root])}
    around = {"/".join(root.split("/")[:depth]) for root in whole for depth in range(root.count("/") + 1)}
    axes = {root: _axes_of(tree, schema.fields[0], root) for root in roots}
    others = {root for root in roots if whole and axes[root] not in {-1, *(axes[each] for each in whole)}}
    return [root for root in roots if root in whole or (any(found[root]) and root not in around | others)]


def _axes_of(tree: Tree, field: SchemaField, root: str) -> int:
    """Return how many axes the dataset has that is a field of a group; -1 if there is none."""
    try:
        place = path_of(tree, field, root)
    except CatalogError:
        return -1
    info = tree.datasets.get(place[0]) if place else None
    return -1 if info is None else len(info.shape)


def _is_there(tree: Tree, field: SchemaField, root: str) -> bool:
    """Tell whether a field is in a group, and has the form that the schema says, as far as its dataset tells it."""
    try:
        place = path_of(tree, field, root)
    except CatalogError:  # datasets that do not count are not the frames of one field
        return False
    info = tree.datasets.get(place[0]) if place else None
    if place is None or info is None or not info.dtype:
        return place is not None
    part = dataset_part(field, info)
    return field.shape is None or (part is not None and part.kind == field.kind and has_form(field, part))


#: Axes of a raw picture; an encoded one has fewer.
_RAW_AXES = 3


def _fill(hdf5: HDF5File, tree: Tree, schema: Schema, episodes: Sequence[Episode]) -> dict[str, str]:
    """Give each video all fields of the schema; return lines about what is beyond the end of their shortest field."""
    owners = [episode.dataset_path if episode.root is None else episode.root for episode in episodes]
    places = {
        (field.name, number): path_of(tree, field, owner)
        for field in schema.fields
        for number, owner in enumerate(owners)
    }
    images = {field.name for field in schema.fields if field.kind == "image"}
    paths = {place[0]: name in images for (name, _), place in places.items() if place}
    encoded = {video.dataset_path: without_names(video) for video in layouts.find_declared(hdf5, tree, paths)}
    images_at = [tree.datasets[path] for path, is_image in paths.items() if is_image and path in tree.datasets]
    if any(info.path not in encoded and len(info.shape) < _RAW_AXES for info in images_at):  # frames that are videos
        encoded |= {video.name: video for video in split_by_names(layouts.find_frames(hdf5, tree, None, declared=True))}
    ended = []
    for number, episode in enumerate(episodes):
        counts: dict[str, int] = {}
        for field in schema.fields:
            place = places[field.name, number]
            if place is None and not episode.name:
                raise not_there(field, schema, tree)
            if place is None:
                raise CatalogError(
                    f"video {episode.name!r} has no field {field.name!r}: expected "
                    f"{' or '.join(map(repr, field.dataset))}; add it, or take the field out of the schema"
                )
            path, pattern = place
            base = owners[number] if has_number(pattern) else episode.root or ""
            numbered = numbered_at(tree, field, path, pattern, base)
            if numbered is not None:
                part = numbered_part(numbered, pattern)
                count = len(numbered.members)
            else:
                frames = frames_at(tree, path, pattern, base, encoded.get(path))
                part = replace(declared_part(hdf5, tree, field, path, frames), pattern=pattern)
                if frames is None or frames is encoded.get(path):
                    refuse_first_alone(tree, field, place, base)
                if schema.videos == ("table",) and episode.frame_count == 1 and field.shape is None:
                    part = _as_one_entry(part)
                count = entries_of(part)
            episode.parts[field.name] = part
            if part.kind != "value":
                counts[field.name] = count
                if schema.lengths == "equal":
                    check_count(episode, field, count)
        if schema.lengths == "shortest":
            check_pairs(episode, counts)
            end_with_shortest(episode, counts)
            ended.append((episode, counts))
    return lines_of_ends(ended)


def _as_one_entry(part: VideoField) -> VideoField:
    """Return an array without a row for the only row of a table as one entry: latitudes beside a map."""
    info = part.info
    several = part.kind == "array" and part.frames is None and info is not None and info.shape[:1] > (1,)
    return replace(part, shape=info.shape) if several and info is not None and part.element < 0 else part


def _only_dataset(tree: Tree, field: SchemaField) -> DatasetInfo | None:
    place = path_of(tree, field, "")
    if place is not None:
        refuse_first_alone(tree, field, place, "")
    return None if place is None else tree.datasets.get(place[0])


def _vlen_rows(hdf5: HDF5File, tree: Tree, schema: Schema, main: DatasetInfo) -> Found:
    """Return the rows of a vlen dataset as videos, with the fields of the schema; ``@rate`` is an attribute of it."""
    found = find_vlen_rows(hdf5, tree, main)
    infos = {}
    shared = {}
    for field in schema.fields:
        owner, mark, name = field.dataset[0].rpartition("@")
        if mark and field.kind == "value":
            path = f"{owner or main.path}@{name}"
            shared[field.name] = replace(declared_part(hdf5, tree, field, path, None), pattern=field.dataset[0])
            continue
        info = _only_dataset(tree, field)
        keys = next(iter(found.episodes)).parts if found.episodes else {}
        key = next((key for key, part in keys.items() if info is not None and part.path == info.path), None)
        if info is None or key is None or keys[key].kind != field.kind or not has_form(field, keys[key]):
            raise CatalogError(
                f"the field {field.name!r}: expected {field.kind} {field.dtype} with an entry for each row of "
                f"{main.path!r}, found {info.describe() if info is not None else 'nothing'}; correct the schema"
            )
        infos[field.name] = (key, field.dataset[0])
    for episode in found.episodes:
        own = {name: replace(episode.parts[key], pattern=pattern) for name, (key, pattern) in infos.items()}
        episode.parts = own | shared
    return Found("vlen", found.episodes)
