"""What a file without a schema holds: its videos, found in one of several ways, and then tables of steps, in order."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from loader_service.catalog.codecs import LOOK_BYTES
from loader_service.catalog.hdf5.row_looks import read_row
from loader_service.catalog.layouts.datasets import SeveralNamesError
from loader_service.catalog.layouts.search import ForeignBytesError, are_no_images, find_frames
from loader_service.catalog.names import LABEL_NAMES
from loader_service.catalog.patterns import matches
from loader_service.catalog.scan.most_left_out import line_of_most
from loader_service.catalog.scan.rows_alone import lines_of_rows_alone
from loader_service.catalog.scan.said_of_videos import said_of
from loader_service.catalog.scan.stills import (
    as_still,
    decide_by_numbers,
    decide_by_pictures,
    lines_of_names,
    which_is_meant,
)
from loader_service.catalog.scan.undeclared_file import UndeclaredFile
from loader_service.catalog.scan.unknown_files import nothing_found, with_numbers_beside
from loader_service.catalog.scan.unnamed_pictures import without_unnamed
from loader_service.catalog.videos.arrays.across_groups import add_across, add_values_across
from loader_service.catalog.videos.arrays.class_groups import refuse_names_of_groups
from loader_service.catalog.videos.arrays.deeper_groups import add_deeper
from loader_service.catalog.videos.arrays.empty_arrays import add_empty
from loader_service.catalog.videos.arrays.left_over import refuse_bounds_alone, refuse_most_left_out, refuse_own_tables
from loader_service.catalog.videos.arrays.named_samples import refuse_named_samples
from loader_service.catalog.videos.arrays.named_sequences import (
    alike_groups,
    numbers_beside,
    readings_of,
    sequences_of,
)
from loader_service.catalog.videos.arrays.numbered_videos import add_beside_encoded
from loader_service.catalog.videos.arrays.rows_of_splits import refuse_rows_of_splits
from loader_service.catalog.videos.arrays.two_numbers import refuse_two_numbers_encoded
from loader_service.catalog.videos.arrays.without_frames import find_without_frames
from loader_service.catalog.videos.aside.second_names import without_second_names
from loader_service.catalog.videos.aside.set_aside import (
    refuse_sparse_rows,
    refuse_without_complex,
    refuse_without_links,
    set_aside,
)
from loader_service.catalog.videos.axes.matlab_axes import no_arrays
from loader_service.catalog.videos.axes.named_axes import refuse_named_axes
from loader_service.catalog.videos.axes.rows_or_one import refuse_growing_axis
from loader_service.catalog.videos.axes.time_axes import refuse_time_behind, refuse_time_by_its_stamps
from loader_service.catalog.videos.beside.fields_beside import add_members, check_labels
from loader_service.catalog.videos.beside.flat_lists import lists_of_rows
from loader_service.catalog.videos.beside.foreign_bytes import foreign_bytes, refuse_foreign_alone, with_folded
from loader_service.catalog.videos.beside.labels_apart import refuse_labels_apart
from loader_service.catalog.videos.beside.pictures_as_numbers import (
    refuse_inner_images,
    refuse_widened_rows,
)
from loader_service.catalog.videos.beside.single_entries import add_beside_pictures, add_constants
from loader_service.catalog.videos.bounds.rows_of_lists import with_rows_of_lists
from loader_service.catalog.videos.encoded.few_pictures import refuse_few_apart
from loader_service.catalog.videos.encoded.frame_groups import refuse_frame_groups
from loader_service.catalog.videos.encoded.kinds_by_name import main_frames, refuse_kinds_by_name
from loader_service.catalog.videos.encoded.nested_videos import are_nested, group_nested
from loader_service.catalog.videos.encoded.paired_groups import refuse_paired_groups
from loader_service.catalog.videos.encoded.same_names import refuse_same_names
from loader_service.catalog.videos.end_to_end import cut_at_ends
from loader_service.catalog.videos.episodes import Found, frames_part, group_frames
from loader_service.catalog.videos.lines.chance_notes import lines_of_zeros
from loader_service.catalog.videos.lines.class_names import lines_of_classes
from loader_service.catalog.videos.lines.unfilled import lines_of_rings
from loader_service.catalog.videos.lines.unused import unused, unused_attributes
from loader_service.catalog.videos.numbered import split_by_names
from loader_service.catalog.videos.numbers_of_frames import words_of_other_numbers
from loader_service.catalog.videos.padded_videos import cut_padded
from loader_service.catalog.videos.readings import TwoReadingsError
from loader_service.scan_options import GROUP, NONE, ScanOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from loader_service.catalog.hdf5.file import HDF5File
    from loader_service.catalog.hdf5.tree import Tree
    from loader_service.catalog.layouts.layout import FoundVideo


#: What is added to videos that were found, and asked of them, in this order. Fields come first, from what is surest to
#: what is least sure; a question comes when all fields that its schemas name are there; ends are looked for last, since
#: what they cut is complete by then. What is called `refuse` or `check` changes nothing; what returns videos puts them
#: in place of the ones before.
STEPS: tuple[Callable[[UndeclaredFile], Found | None], ...] = (
    # Fields: of datasets numbered as encoded frames are; of groups beside, by the videos' names; of the videos' own.
    lambda file: add_beside_encoded(file.tree, file.found),
    lambda file: add_across(file.tree, file.found, {video.name: frames_part(video) for video in file.frames}),
    # Asked where groups pair up, unless a user says that they are classes.
    lambda file: None if file.label == GROUP else refuse_paired_groups(file.found),
    lambda file: add_values_across(file.tree, file.found),
    lambda file: add_deeper(file.tree, file.found, file.aside),
    lambda file: add_members(file.hdf5, file.tree, file.found, file.aside),
    lambda file: add_constants(file.tree, file.found, file.aside),
    # Asked where most of the file is what is not served: sparse matrices, complex numbers, links to other files.
    lambda file: refuse_sparse_rows(file.tree, file.found),
    lambda file: refuse_without_complex(file.tree, file.found),
    lambda file: refuse_without_links(file.tree, file.found),
    # Fields of videos of one frame: boxes, masks.
    lambda file: add_beside_pictures(file.tree, file.found, file.aside),
    # Asked of encoded pictures whose names several groups have, or in which two numbers count; where videos of one
    # frame may be frames; of two or three pictures beside what is none; and where a file names its axes otherwise.
    lambda file: refuse_named_samples(file.tree, file.found, file.kind_of_picture),
    lambda file: refuse_two_numbers_encoded(file.tree, file.found),
    lambda file: None if file.label == GROUP else refuse_same_names(file.found, file.is_depth),
    lambda file: refuse_frame_groups(file.tree, file.found),
    lambda file: refuse_few_apart(file.tree, file.found),
    lambda file: refuse_named_axes(file.hdf5, file.tree, file.found),
    # Asked of columns that names tell apart as a split and all else; and of numbers alone: an encoded frame is a frame.
    lambda file: None if file.frames and not file.frames[1:] else _refuse_columns(file),
    # Videos that lie end to end, or a row each.
    lambda file: cut_at_ends(file.hdf5, file.tree, file.found),
    lambda file: cut_padded(file.found, file.hdf5.entries),
    # Asked of labels that fit no rows; refused: the bytes of images as numbers, also behind what comes before them.
    lambda file: check_labels(file.tree, file.found, file.hdf5.entries),
    lambda file: refuse_widened_rows(file.found, partial(read_row, file.hdf5, most=LOOK_BYTES)),
    lambda file: refuse_inner_images(file.hdf5, file.found),
    # Videos without rows: nothing is asked of them.
    lambda file: None if file.frames else add_empty(file.tree, file.found),
)


def find_undeclared(hdf5: HDF5File, tree: Tree, options: ScanOptions) -> Found:
    """Return the videos of a file that no schema describes, with their fields, and why all else is none.

    Parameters
    ----------
    hdf5, tree, options
        The file, what is in it, and how it is scanned.

    Raises
    ------
    CatalogError
        When there are none, or images of a format that is not served.
    TwoReadingsError
        When a file can be read in more than one way.
    """
    tree, again = (tree, {}) if options.frames is not None else without_second_names(tree)
    found = _decide(hdf5, tree, options)
    _say_attributes(tree, found, options)
    found.add_words(lines_of_classes(tree, found))
    most = {} if tree.is_packed else line_of_most(hdf5, tree, found)
    for key in most:
        if "`videos = " in most[key]:
            found.left_out.pop(key.replace("(bytes)", "(alone)"), None)  # its schema is the same, or serves more
    return Found(found.layout, found.episodes, most | found.left_out | again, found.words)  # `replace` takes 24 calls


def _decide(hdf5: HDF5File, tree: Tree, options: ScanOptions) -> Found:
    """Return what `find_undeclared` does, but for lines about attributes, classes, and what most of the file is."""
    aside = set_aside(tree) | no_arrays(tree)
    frames, stills = _encoded(hdf5, tree, aside, options.frames)
    aside |= stills
    unnamed: Mapping[str, str] = {}
    if options.frames is not None:
        tree, unnamed = without_unnamed(hdf5, tree, frames, options.frames)
    decide = partial(_decide, hdf5, options=options)
    may_be_stills = bool(frames) and options.frames is None
    other = decide_by_pictures(tree, aside, frames, decide) if may_be_stills else None
    if other is not None and (line := as_still(frames, other)):
        return replace(other, left_out=other.left_out | line)
    try:
        found = _read(hdf5, tree, aside, frames, options)
    except TwoReadingsError as error:
        raise (error if other is None else which_is_meant(frames, error, other)) from error.__cause__
    if other is None and may_be_stills:
        other = decide_by_numbers(hdf5, tree, found, frames, decide)
    if other is not None:
        raise which_is_meant(frames, found, other)
    found.left_out.update(unnamed)
    return found


def _read(
    hdf5: HDF5File, tree: Tree, aside: Mapping[str, str], frames: Sequence[FoundVideo], options: ScanOptions
) -> Found:
    """Return the videos of a file, given its encoded frames, with all that is added to them and said of them."""
    foreign = foreign_bytes(hdf5, tree, aside, frames)
    if foreign:
        aside = {**aside, **{path: f"{reason}, in a file" for path, reason in foreign.items()}}
    if not frames:
        _refuse_foreign(hdf5, tree, foreign)
        first = _without_frames(hdf5, tree, aside)
    elif are_nested(frames):
        first = group_nested(tree, frames)
    else:
        main = main_frames(frames)
        if main is frames and frames[1:] and options.label != GROUP and not tree.is_packed:
            refuse_kinds_by_name(frames)
        first = group_frames(tree, main, apart=main is not frames)
    if first is None:
        raise nothing_found(hdf5, tree, aside)
    file = UndeclaredFile(hdf5, tree, aside, frames, first, options.label)
    for step in STEPS:
        file.found = step(file) or file.found
    _say(file, options)
    return replace(file.found, left_out=with_folded(file.found.left_out, foreign.values())) if foreign else file.found


def _refuse_foreign(hdf5: HDF5File, tree: Tree, foreign: Mapping[str, str]) -> None:
    try:
        refuse_foreign_alone(tree, foreign)
    except ForeignBytesError as error:
        raise with_numbers_beside(hdf5, tree, error, foreign) from error


def _without_frames(hdf5: HDF5File, tree: Tree, aside: Mapping[str, str]) -> Found | None:
    try:
        return find_without_frames(hdf5, tree, aside)
    except TwoReadingsError as error:
        asked = with_rows_of_lists(error, tree, hdf5.entries)
        lists = lists_of_rows(tree, hdf5.entries)
        raise (TwoReadingsError(asked.found, [*lists, *asked.readings]) if lists else asked) from error.__cause__


def _encoded(
    hdf5: HDF5File, tree: Tree, aside: Mapping[str, str], pattern: str | None
) -> tuple[Sequence[FoundVideo], dict[str, str]]:
    """Return the sequences of encoded frames, and why pictures beside them are none.

    There are none where all are empty, and what lies beside them is more than that.
    """
    try:
        frames = find_frames(hdf5, tree, pattern)
    except ForeignBytesError as error:
        raise with_numbers_beside(hdf5, tree, error, foreign_bytes(hdf5, tree, aside, [])) from error
    except SeveralNamesError as error:
        sequences = sequences_of(error.members)
        if not sequences:  # no last number counts
            raise
        groups = alike_groups(sequences, tree.datasets.values())
        beside = numbers_beside(groups, tree.datasets.values())
        readings = readings_of(error.group, groups, encoded=True, maps=error.maps, beside=beside)
        raise TwoReadingsError(f"{error}{words_of_other_numbers(groups.values())}", readings) from error
    stills: dict[str, str] = {}
    if pattern is None:
        videos = split_by_names(frames)
        stills = lines_of_names(frames, videos) if videos != frames else {}
        frames = videos
    empty = bool(frames) and not any(video.frame_count for video in frames)
    return [] if empty and (aside or are_no_images(tree, frames)) else frames, stills


def _refuse_columns(file: UndeclaredFile) -> None:
    refuse_rows_of_splits(file.found)
    if not file.frames:
        _refuse_arrays(file)


def _refuse_arrays(file: UndeclaredFile) -> None:
    refuse_bounds_alone(file.tree, file.found)
    refuse_names_of_groups(file.found)
    refuse_own_tables(file.found)
    refuse_most_left_out(file.tree, file.found, file.aside)
    refuse_time_by_its_stamps(file.tree, file.found)
    refuse_time_behind(file.found)
    refuse_labels_apart(file.hdf5, file.tree, file.found)
    refuse_growing_axis(file.hdf5, file.tree, file.found)


def _say(file: UndeclaredFile, options: ScanOptions) -> None:
    """Add a line for each thing that may be read otherwise, and for all that is in no field."""
    found = file.found
    said = said_of(file)
    zeros = lines_of_zeros(found, file.rows, said)
    # What a step has said of a thing, as of axes that the file names, is surer than what is guessed here.
    found.left_out.update({key: line for key, line in (said | zeros).items() if key not in found.left_out})
    if found.layout == "table" and not zeros:
        found.left_out.update(lines_of_rings(found.episodes[0], file.hdf5.entries))
    named, attribute = _named_by(file.tree, options.label), _label_attribute(options)
    left = unused(file.tree, found, found.left_out, named, attribute)
    if left:
        found.left_out.update(left if file.tree.is_packed else left | lines_of_rows_alone(file, found.left_out))


def _say_attributes(tree: Tree, found: Found, options: ScanOptions) -> None:
    """Add a line for each attribute that is in no field, with its value."""
    lines = unused_attributes(tree, found, _label_attribute(options))
    found.add_words({key: line for key, line in lines.items() if key not in found.left_out})


def _label_attribute(options: ScanOptions) -> str:
    """Return the name of the attributes that are read as labels, or "", or `NONE` where nothing is read as one."""
    label = options.label
    if label is None:
        return LABEL_NAMES[0]
    return label if label == NONE else label[1:] if label[:1] == "@" else ""


def _named_by(tree: Tree, label: str | None) -> set[str]:
    """Return the paths of the datasets that a pattern of labels means."""
    return set() if label is None else {path for path in tree.datasets if matches(label, path)}
