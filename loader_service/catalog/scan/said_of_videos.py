"""What is said of the videos of a file without a schema that may be read otherwise, as lines of what is no field."""

from __future__ import annotations

from typing import TYPE_CHECKING

from loader_service.catalog.scan.values_beside import lines_of_values_beside
from loader_service.catalog.videos.arrays.named_samples import lines_of_named_samples
from loader_service.catalog.videos.arrays.number_readings import lines_of_numbers
from loader_service.catalog.videos.aside.second_names import lines_of_second_names
from loader_service.catalog.videos.beside.numbers_in_step import lines_of_other_numbers
from loader_service.catalog.videos.beside.pictures_as_numbers import lines_of_flat_pixels
from loader_service.catalog.videos.bounds.first_and_last import lines_of_first_and_last
from loader_service.catalog.videos.encoded.few_pictures import lines_of_few
from loader_service.catalog.videos.lines.alike_groups import lines_of_alike_groups
from loader_service.catalog.videos.lines.camera_groups import lines_of_camera_groups
from loader_service.catalog.videos.lines.chance_notes import lines_of_chance
from loader_service.catalog.videos.lines.class_pictures import lines_of_class_pictures
from loader_service.catalog.videos.lines.few_channels import lines_of_few_channels
from loader_service.catalog.videos.lines.frames_as_fields import lines_of_frames_as_fields
from loader_service.catalog.videos.lines.kinds_apart import lines_of_kinds_apart
from loader_service.catalog.videos.lines.kinds_with_gaps import lines_of_kinds_with_gaps
from loader_service.catalog.videos.lines.names_of_frames import lines_of_times, lines_of_words
from loader_service.catalog.videos.lines.names_with_more import lines_of_names_with_more
from loader_service.catalog.videos.lines.numbered_beside import lines_of_numbered_beside
from loader_service.catalog.videos.lines.paired_rows import lines_of_pairs
from loader_service.catalog.videos.lines.row_notes import lines_of_rows
from loader_service.catalog.videos.lines.several_formats import lines_of_several_formats
from loader_service.catalog.videos.lines.unfilled import lines_of_chunks, lines_of_unfilled
from loader_service.scan_options import GROUP

if TYPE_CHECKING:
    from collections.abc import Callable

    from loader_service.catalog.scan.undeclared_file import UndeclaredFile
    from loader_service.catalog.videos.episodes import Found

#: What is said of videos that may be read otherwise, as lines of what is no field; of those that `pack` wrote, nothing.
#: None looks at the lines of others.
LINES: tuple[Callable[[UndeclaredFile], dict[str, str]], ...] = (
    lambda file: lines_of_rows(file.found, file.hdf5.entries, file.tree),
    lambda file: lines_of_chance(file.found, file.hdf5.entries),
    lambda file: lines_of_few_channels(file.tree, file.found),
    lambda file: lines_of_flat_pixels(file.found, file.hdf5.entries),
    lambda file: lines_of_pairs(file.found, file.tree),
    lambda file: lines_of_words(file.found),
    lambda file: lines_of_times(file.found),
    lambda file: {} if file.label == GROUP else lines_of_kinds_apart(file.found),
    lambda file: lines_of_numbered_beside(file.tree, file.found, file.aside, file.kind_of_picture),
    lambda file: lines_of_other_numbers(file.found),
    lambda file: lines_of_few(file.found),
    lambda file: lines_of_named_samples(file.tree, file.found, file.kind_of_picture),
    lambda file: lines_of_camera_groups(file.tree, file.found),
    lambda file: lines_of_numbers(file.found),
    lambda file: lines_of_first_and_last(file.tree, file.found, file.hdf5.entries),
    lambda file: lines_of_second_names(file.tree, file.found),
    lambda file: lines_of_unfilled(file.found, file.hdf5.entries, file.rows),
    lambda file: lines_of_chunks(file.found, file.chunk_counts),
    lines_of_values_beside,
)

#: The same, of files with several videos.
LINES_OF_SEVERAL: tuple[Callable[[UndeclaredFile], dict[str, str]], ...] = (
    lambda file: lines_of_names_with_more(file.found),
    lambda file: lines_of_frames_as_fields(file.found),
    lambda file: {} if file.label == GROUP or not file.frames else _lines_of_kinds(file.found),
    lambda file: lines_of_alike_groups(file.found),
    lambda file: lines_of_class_pictures(file.tree, file.found),
)


def _lines_of_kinds(found: Found) -> dict[str, str]:
    return lines_of_kinds_with_gaps(found) or lines_of_several_formats(found)


def said_of(file: UndeclaredFile) -> dict[str, str]:
    """Return all lines of a file by their keys; of what `pack` wrote, none."""
    said: dict[str, str] = {}
    if file.tree.is_packed:
        return said
    for lines in (*LINES, *LINES_OF_SEVERAL) if file.found.filled[1:] else LINES:
        said |= lines(file)
    return said
