"""What `inspect` advises: the option that gives labels, and the lines of Python to begin with. Opens no file."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

import numpy as np

from loader_service.catalog.inner_paths import basename_of, by_form, parent_of, unnumbered
from loader_service.catalog.scan.kinds_of_files import are_kinds
from loader_service.catalog.split_words import WORDS
from loader_service.catalog.videos.frame_axis import have_roles
from loader_service.catalog.videos.readings import in_one_line
from loader_service.protocol.spec import MAX_FIELDS
from loader_service.scan_options import FOLDER, GROUP
from loader_service.schema import VIDEO, Schema, SchemaField, VideoLayout
from loader_service.sizes import counted
from loader_service.url_secrets import shown_url

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from loader_service.catalog.columns import Catalog

#: A class of ImageNet.
_WORDNET = re.compile(r"n[0-9]{8}")

#: Videos whose names are looked at.
_LOOKED_AT = 4096

#: Bytes of a batch that fit three times into the 64 MB of shared memory that a container has.
_MOST_BATCH_BYTES = 16 * 2**20

#: Frames of a clip of pictures, and of numbers, at most.
_MOST_FRAMES, _MOST_ROWS = 16, 1024

#: Numbers that may be an entry of a list, such as a box, at most.
_MOST_IN_ENTRY = 16

#: Rows that may be channels, at most, and how many times as long they are at least.
_MOST_CHANNELS, _LONGER = 64, 8

#: So few rows in each file may be those of a matrix, channels, or the classes of one episode.
_FEW_ROWS = 4

#: Frames of more axes than a slice that may be channels, at most.
_FEW_VOLUMES = 4

#: Axes of a slice of a volume; and columns of one form, at least, that may be none: of entries, and of numbers.
_AXES_OF_SLICE, _MANY_COLUMNS, _MANY_LISTS = 2, 3, 8

#: The layout of raw pixels with a shape for each.
_RAW_ROWS = "raw_rows"

#: Longest side of pictures that are taken as they are, in pixels, and the size that others get.
_LARGE, _SIZE = 256, 224


def label_advice(catalog: Catalog) -> str | None:
    """Return which option makes labels: of folders or groups that look like classes, or of a CSV for mere images."""
    if catalog.kind != "videos" or any(field.name == "label" for field in catalog.fields):
        return None
    step = max(1, catalog.video_count // _LOOKED_AT)
    videos = range(0, catalog.video_count, step)
    places = [catalog.place(video) for video in videos]
    for what, option, holders in (
        ("group", GROUP, [basename_of(parent_of(name)) for _, name in places]),
        ("folder", FOLDER, [basename_of(parent_of(path)) for path, _ in places]),
    ):
        if _look_like_classes(holders):
            found = sorted(set(holders))
            shown = ", ".join(map(repr, found[:3])) + (" and others" if len(found) > 3 else "")
            return f"no labels; if the {what} of a video is its class, as {shown} may be, give --label '{option}'"
    if catalog.video_count > 1 and all(field.kind == "image" for field in catalog.fields):
        return (
            f"no labels; if a CSV file has them, with a row for each name such as {places[0][1]!r}, give "
            "--labels FILE.csv:video=COLUMN,label=COLUMN"
        )
    return None


def sides_advice(catalog: Catalog) -> str | None:
    """Return which arrays are filled up with zeros since their sides differ; None if none is, lists aside."""
    found = [field for field in catalog.fields if field.differs and field.kind == "array"]
    names = [field.name for field in found if not catalog.has_lists(field.name)]
    if not names:
        return None
    return (
        f"the sides of {', '.join(map(repr, names))} differ between videos, so batches have zeros behind them; "
        f"{', '.join(repr(catalog.field(name).sides_name) for name in names)} says what is real"
    )


def list_advice(catalog: Catalog) -> str | None:
    """Return how lists become entries of several numbers, where all lists have a multiple of a few; else None."""
    for field in catalog.fields:
        if not catalog.has_lists(field.name) or field.shape != (0,):
            continue
        entry = int(np.gcd.reduce(catalog.sides_of_all(field.name)[0]))
        if 1 < entry <= _MOST_IN_ENTRY:
            return (
                f"each list of {field.name!r} has a multiple of {entry} numbers; if {entry} are an entry, as of a box, "
                f"write shape = [0, {entry}] for it into what `inspect --toml` prints, and give that with --schema FILE"
            )
    return None


def volume_advice(catalog: Catalog) -> str | None:
    """Return how files are one sample each, where they may be: rows have other sides in each, or all arrays one shape.

    Lines of a matrix are rows of any table, unless files have as many, and of another length in each.
    """
    if catalog.kind != "rows":
        return None
    counts = set(catalog.frame_counts.tolist())
    alike = len(counts) == 1 and 1 < catalog.video_count == catalog.file_count  # not runs of rows, as of a split
    least_axes = 1 if alike else 2
    found = [
        SchemaField(facts.field.name, "array", facts.sources[:1], "", (0,) * (len(facts.field.shape) + 1))
        for facts in catalog.facts
        if facts.storage == "raw" and facts.field.kind == "array" and len(facts.field.shape) >= least_axes
    ]
    differ = any(catalog.field(each.name).differs for each in found)
    arrays = [facts for facts in catalog.facts if facts.field.kind != "value"]
    shapes = {catalog.field(each.name).shape for each in found}
    maps = len(arrays) == len(found) > 1 == len(shapes) and all(max(counts) <= _TALLER * each[0] for each in shapes)
    volumes = len(found) > 1 == len(shapes)
    alone = alike and bool(found) and (len(arrays) == len(found) == 1 or max(counts) <= _FEW_ROWS or maps)
    if not differ and not alone and not (volumes and len(catalog.field(found[0].name).shape) == _AXES_OF_SLICE):
        return None
    said = "a row of a file has other sides than one of another" if differ else "all arrays of a file have one shape"
    if alone and not differ:
        said = f"each of {catalog.video_count} files has {counted(min(counts), 'row')}"
    return (
        f"{said}; if a file is one sample, such as a volume, say so in a "
        f"--schema FILE: {in_one_line(Schema(('files',), tuple(found)))}"
    )


#: A map is seldom so many times as high as wide.
_TALLER = 4


def vectors_advice(catalog: Catalog) -> str | None:
    """Return how sequences become samples, where many have one length: of numbers, of few long rows, or few volumes."""
    arrays = [facts for facts in catalog.facts if facts.field.kind != "value"]
    counts = set(catalog.frame_counts.tolist())
    raw = all(facts.storage == "raw" for facts in arrays)
    grouped = all(facts.sources[0].startswith(VIDEO) for facts in arrays)
    layout: VideoLayout = "groups" if grouped else "files"
    told = grouped or (catalog.kind == "videos" and catalog.file_count == catalog.video_count)
    if not arrays or not raw or not told or len(counts) != 1 or catalog.video_count < 2:
        return None
    (count,), shape = counts, arrays[0].field.shape
    volumes = all(facts.field.kind == "array" and len(facts.field.shape) > _AXES_OF_SLICE for facts in arrays)
    if 1 < count <= _FEW_VOLUMES and volumes:
        entries, such = f"arrays of {' x '.join(map(str, shape))}", "a volume of channels"
    elif len(arrays) > 1 or catalog.video_count < _MANY_COLUMNS:
        return None
    elif not shape:
        entries, such = "numbers", "an embedding"
    elif len(shape) == 1 and count <= _MOST_CHANNELS and shape[0] >= _LONGER * count:
        entries, such = f"rows of {shape[0]}", "a signal of channels"
    else:
        return None
    whole = [SchemaField(each.field.name, "array", each.sources, "", (count, *each.field.shape)) for each in arrays]
    return (
        f"each of {catalog.video_count} videos is {count} {entries}, a frame each; if each is one sample, such as "
        f"{such}, say so in a --schema FILE: {in_one_line(Schema((layout,), tuple(whole)))}"
    )


def columns_advice(catalog: Catalog) -> str | None:
    """Return how the columns of a table become videos, where all are of one form and no name says a role; else None."""
    columns = [facts for facts in catalog.facts if facts.field.kind != "value"]
    forms = {(facts.field.kind, facts.field.dtype, facts.field.shape) for facts in columns}
    paths = [facts.sources[0] for facts in columns]
    most = _MANY_COLUMNS if all(facts.field.shape for facts in columns) else _MANY_LISTS
    one = catalog.kind == "rows" and catalog.file_count == 1
    if not one or len(columns) < most or len(forms) > 1 or have_roles(paths):
        return None
    each = Schema(("groups",), (SchemaField("frames", columns[0].field.kind, (VIDEO,)),))
    return (
        f"{', '.join(map(repr, paths[:3]))} are columns of one table; if each is a video, or a class, of its own, say "
        f"so in a --schema FILE: {in_one_line(each)}"
    )


def _look_like_classes(holders: Sequence[str]) -> bool:
    """Tell whether names that videos share, some of them at least, are more than numbers and parts of a data set."""
    found = set(holders)
    named = all(found) and found.isdisjoint(WORDS)
    told_apart = len({unnumbered(name) for name in found}) > 1 or all(map(_WORDNET.fullmatch, found))
    return named and 1 < len(found) < len(holders) and told_apart and not are_kinds(found)


def numbered_values(names: Sequence[str]) -> dict[str, list[str]]:
    """Return the names of values of which only numbers tell many apart, by each of them: those of each sensor, say."""
    return {name: each for each in by_form(names, str).values() if len(each) >= _MANY_VALUES for name in each}


#: So many are of one line, and not among the fields to begin with.
_MANY_VALUES = 8


def python_lines(catalog: Catalog, files: Sequence[str], options: Mapping[str, Any]) -> list[str]:
    """Return the lines of Python that make a dataset of files, with sizes that suit them.

    Parameters
    ----------
    catalog
        What the files hold.
    files, options
        What the user named, and the options that are not as by default.
    """
    clip, frames = _clip(catalog)
    image, side = _image(catalog)
    batch_size = _batch_size(catalog, frames, side)
    many = numbered_values([field.name for field in catalog.fields if field.kind == "value"])
    wanted = [field for field in catalog.fields if field.name not in many]
    named = [name for field in wanted for name in (field.name, field.sides_name) if name]
    if len(named) > MAX_FIELDS:  # what has an entry for each frame comes first
        values = {field.name for field in wanted if field.kind == "value" and field.name != "label"}
        named.sort(key=values.__contains__)
    fields = tuple(named[:MAX_FIELDS])
    imports = sorted({text.partition("(")[0] for text in (clip, image) if text})
    given = {name: list(value) if isinstance(value, tuple) else value for name, value in options.items()}
    arguments = [
        repr(shown_url(files[0]) if len(files) == 1 else [shown_url(each) for each in files]),
        f"batch_size={batch_size}",
        f"clip={clip}",
        *([f"image={image}"] if image else []),
        f"fields={fields!r}",
        *([f"service={given!r}"] if given else []),
    ]
    return [
        "import loader_client",
        f"from loader_client import {', '.join(imports)}",
        "",
        *([f"# a stream has at most {MAX_FIELDS} fields, of {len(named)} here"] if len(named) > MAX_FIELDS else []),
        "ds = loader_client.dataset(",
        *(f"    {argument}," for argument in arguments),
        ")",
    ]


def _clip(catalog: Catalog) -> tuple[str, int]:
    """Return a clip that half of the videos are long enough for, and its frames."""
    median = int(np.median(catalog.frame_counts)) if catalog.video_count else 1
    if catalog.kind != "videos" or median < 2 or _are_single_pictures(catalog):
        return "Frame()", 1
    most = _MOST_FRAMES if any(field.kind == "image" for field in catalog.fields) else _MOST_ROWS
    frames = min(most, 2 ** int(math.log2(median)))
    return f"Clip(frames={frames})", frames


def _are_single_pictures(catalog: Catalog) -> bool:
    """Tell whether what counts as one video of each file is pictures of sizes of their own, and no film."""
    pictures = [field for field in catalog.fields if field.kind == "image"]
    one_each = catalog.video_count == catalog.file_count
    mixed = catalog.video_count == 1 and any(catalog.is_encoded(each.name) and not each.shape[0] for each in pictures)
    return mixed or (one_each and any(catalog.ways(each.name).keys() == {_RAW_ROWS} for each in pictures))


def _image(catalog: Catalog) -> tuple[str, int]:
    """Return how pictures get one size, empty where they have one that is not large; and its longest side."""
    sides = [side for field in catalog.fields if field.kind == "image" for side in field.shape[:2]]
    if not sides or (all(sides) and max(sides) <= _LARGE):
        return "", max(sides, default=0)
    return f"Image(size=({_SIZE}, {_SIZE}))", _SIZE


def _batch_size(catalog: Catalog, frames: int, side: int) -> int:
    """Return a power of two, such that there is a batch, and a few of them fit into little shared memory."""
    samples = catalog.video_count if frames > 1 else catalog.frame_count
    in_frame = sum(
        side * side * 3
        if field.kind == "image"
        else math.prod(field.most or field.shape) * np.dtype(field.dtype).itemsize
        for field in catalog.fields
    )
    largest = max(1, min(16, samples, _MOST_BATCH_BYTES // max(1, in_frame * frames)))
    return int(2 ** int(math.log2(largest)))
