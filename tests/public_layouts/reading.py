"""Compares a catalog, and what a worker reads by it, with an expectation; alone knows the tested code."""

from __future__ import annotations

import re
from contextlib import closing
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import cv2
import h5py
import numpy as np
import numpy.typing as npt

from loader_service.catalog.columns import Catalog
from loader_service.catalog.names import LABEL_NAMES
from loader_service.commands import reports
from loader_service.errors import CatalogError, ConfigError
from loader_service.worker.decode import DecodeLimits
from loader_service.worker.reader import Reader
from loader_service.worker.stored_pixels import stored_pixels
from tests.catalog.advice import schemas_in
from tests.public_layouts.expectations import (
    Array,
    Encoded,
    Form,
    Layout,
    Ragged,
    RawPictures,
    Refused,
    Serves,
    Value,
    missing,
)
from tests.support.catalogs import catalog_of, names_of

#: What no HDF5 file is named.
_OTHERS = {".csv", ".toml", ".txt", ".json"}


def files_of(folder: Path, layout: Layout) -> list[Path]:
    """Return the files that a user would name."""
    paths = [path for path in folder.glob(layout.pattern) if path.is_file() and path.suffix not in _OTHERS]
    return sorted(path for path in paths if folder / "cache" not in path.parents)


def options_of(folder: Path, layout: Layout) -> dict[str, Any]:
    """Return a layout's options, with paths in the folder."""
    return {
        name: f"{folder}/{value[2:]}" if isinstance(value, str) and value.startswith("./") else value
        for name, value in layout.options.items()
    }


def failure(folder: Path, layout: Layout, expected: Serves | Refused, options: dict[str, Any]) -> str:
    """Return what is not as expected of the files, in one text; empty if all is."""
    try:
        _check(folder, files_of(folder, layout), expected, options)
    except Exception as error:  # noqa: BLE001 - kept as text alone: its traceback would keep the catalog's files open
        wrong = f"{type(error).__name__}: {error}"
    else:
        return ""
    if expected.otherwise is None:
        return wrong
    also = failure(folder, layout, expected.otherwise, options)
    return f"{wrong}; nor the other way: {also}" if also else ""


def _check(folder: Path, files: list[Path], expected: Serves | Refused, options: dict[str, Any]) -> None:
    if isinstance(expected, Refused):
        _check_refusal(folder, files, expected, options)
        return
    catalog = catalog_of(folder, *files, **options)
    try:
        check_catalog(catalog, expected)
        if not options:
            _check_each_dataset(catalog, files[0])
            _check_schemas(folder, files[0], "; ".join(catalog.left_out))
    finally:
        catalog.close()


def _check_refusal(folder: Path, files: list[Path], expected: Refused, options: dict[str, Any]) -> None:
    try:
        catalog = catalog_of(folder, *files, **options)
    except (CatalogError, ConfigError) as error:
        line = str(error)
        assert "\n" not in line, line
        assert str(folder) in line, f"names no file: {line}"
        assert not missing(expected.says, line), f"does not say {missing(expected.says, line)}: {line}"
        if not options:
            _check_schemas(folder, files[0], line)
        return
    found = describe(catalog)
    catalog.close()
    raise AssertionError(f"accepted as {found}")


def _check_schemas(folder: Path, file: Path, line: str) -> None:
    """Fail unless with each schema that a refusal or a line shows the file is served."""
    for number, schema in enumerate(schemas_in(line) if "`field = [" in line else []):
        path = folder / f"shown{number}.toml"
        path.write_text(schema, encoding="utf-8")
        with closing(catalog_of(folder, file, schema=str(path))) as found:
            assert found.frame_count > 0, f"{schema}: {describe(found)}"


def _check_each_dataset(catalog: Catalog, file: Path) -> None:
    """Expect each dataset of a file in a field, a label, or a line."""
    sources = [source.replace("{video}", "*").strip("/") for facts in catalog.facts for source in facts.sources]
    keys = [match[1].partition(" (")[0] for line in catalog.left_out if (match := re.match(r"'(.*?)': ", line))]
    patterns = [*(f"{each}{end}" for each in (*sources, *keys) for end in ("", "/*")), *(f"*/{key}" for key in keys)]
    patterns += ["*"] * ("" in sources)  # datasets of the root group are its frames
    lines = "\n".join(catalog.left_out)
    paths: list[str] = []
    with h5py.File(file) as root:
        root.visititems(lambda path, node: paths.append(path) if isinstance(node, h5py.Dataset) else None)
    for path in paths:
        name = path.rpartition("/")[2]
        told = name in {*LABEL_NAMES, "type"} or f"{name}'" in lines  # `type` is a mark of Octave's
        if not told and not any(fnmatchcase(path, pattern) for pattern in patterns):
            raise AssertionError(f"{path!r} is no field, no label, and has no line; fields are of {sources}")


def check_catalog(catalog: Catalog, expected: Serves) -> None:
    """Fail unless videos, fields, labels and each byte are as expected, and what is left out is said."""
    assert catalog.kind in expected.kind.split("|"), describe(catalog)
    names = [video.name for video in expected.videos]
    assert len(names) == catalog.video_count, describe(catalog)
    assert all(map(_is_named, names_of(catalog), names)), f"expected {names[:4]}: {describe(catalog)}"
    assert catalog.frame_counts.tolist() == [video.frame_count for video in expected.videos], describe(catalog)
    _check_labels(catalog, expected)
    _check_sides(catalog, expected)
    found = {field.name for field in catalog.fields if field.kind != "value" and field.name != "label"}
    wanted = {
        name_in(catalog, name)
        for video in expected.videos
        for name, form in video.fields.items()
        if not isinstance(form, Value)
    }
    assert found == wanted - {"label"}, f"{describe(catalog)}; left out: {catalog.left_out}"
    reader = Reader(catalog)
    try:
        for number, video in enumerate(expected.videos):
            for name, form in video.fields.items():
                check_field(catalog, reader, number, name_in(catalog, name), form)
    finally:
        reader.close()
    assert not missing(expected.left_out, "\n".join(catalog.left_out)), f"left out: {catalog.left_out}"
    text = reports.catalog_text(reports.describe_catalog(catalog))
    assert not missing(expected.says, text), f"inspect does not say {missing(expected.says, text)}:\n{text}"


def describe(catalog: Catalog) -> str:
    """Return in short what a catalog has, for failures."""
    fields = ", ".join(f"{field.kind} {field.name} {field.dtype} {field.shape}" for field in catalog.fields)
    names, counts = names_of(catalog), catalog.frame_counts.tolist()
    return f"{catalog.kind} {names[:4]} ({len(names)}) of {counts[:4]} frames: {fields}"


def name_in(catalog: Catalog, names: str) -> str:
    """Return which of several names, ``a|b``, the catalog has; ``*`` is its only array or image; else the first."""
    there = {field.name for field in catalog.fields}
    timed = [field.name for field in catalog.fields if field.kind != "value"]
    choices = names.split("|")
    if "*" in choices and len(timed) == 1:
        return timed[0]
    return next((name for name in choices if name in there), choices[0])


def _is_named(name: str, expected: str) -> bool:
    """Tell whether a video has one of several names, ``a|b``; ``*`` and a number stand for any."""
    return expected.startswith("*") or name in expected.split("|")


def _check_labels(catalog: Catalog, expected: Serves) -> None:
    labels = [video.label for video in expected.videos]
    if all(label is None for label in labels):
        assert catalog.labels is None, f"labels out of nowhere: {catalog.labels}"
        return
    assert catalog.labels is not None, f"no labels; {describe(catalog)}"
    numbers = catalog.labels.tolist()
    assert [catalog.classes[number] if catalog.classes else number for number in numbers] == labels


def _check_sides(catalog: Catalog, expected: Serves) -> None:
    """Fail unless images that all have one size are known to have it: that is what opens a stream without a size."""
    sides: dict[str, set[tuple[int, ...]]] = {}
    for video in expected.videos:
        for name, form in video.fields.items():
            if isinstance(form, Encoded):
                sides.setdefault(name_in(catalog, name), set()).update(decoded(each).shape[:2] for each in form.frames)
    for name, found in sides.items():
        assert len(found) > 1 or catalog.field(name).shape[:2] in found, f"{catalog.field(name)}: pictures are {found}"


def check_field(catalog: Catalog, reader: Reader, video: int, name: str, form: Form) -> None:
    """Fail unless one field of one video has the expected form and bytes."""
    field = catalog.field(name)
    where = f"{name!r} of {catalog.describe(video)}"
    if isinstance(form, Encoded):
        _check_encoded(catalog, reader, (video, name), form)
    elif isinstance(form, Array):
        values = np.ascontiguousarray(form.values).astype(form.values.dtype.newbyteorder("="))
        out = np.zeros(values.shape, np.dtype(field.dtype))
        sides = [found or side for found, side in zip(field.shape, values.shape[1:], strict=True)]  # 0: they differ
        assert (tuple(sides), out.dtype.kind) == (values.shape[1:], values.dtype.kind), f"{where}: {field}"
        reader.read_array(video, name, 0, out)
        _assert_equal(out, values, where)
    elif isinstance(form, RawPictures):
        frames = reader.read(video, range(len(form.rows)), name)
        for number, (frame, row) in enumerate(zip(frames, form.rows, strict=True)):
            _assert_equal(stored_pixels(frame, DecodeLimits()), row, f"picture {number} of {where}")
    elif isinstance(form, Ragged):
        assert getattr(field, "ragged", False) or 0 in field.shape, f"{where} is not ragged: {field}"
        for number, row in enumerate(form.rows):
            _assert_equal(reader.read_lists(video, [number], name)[0], row, f"row {number} of {where}")
    else:
        value = form.value.encode() if isinstance(form.value, str) else form.value
        real: tuple[Any, ...] = (video, *map(slice, catalog.shape_in(video, name)))
        _assert_equal(np.ravel(catalog.values(name)[real]), np.ravel(value), where)


def _check_encoded(catalog: Catalog, reader: Reader, place: tuple[int, str], form: Encoded) -> None:
    video, name = place
    field = catalog.field(name)
    where = f"{name!r} of {catalog.describe(video)}"
    assert catalog.is_encoded(name), f"{where}: taken for {field}"
    assert (field.kind, field.dtype) == (("array", "uint16") if form.depth else ("image", "uint8")), where
    got = [frame.rstrip(b"\0") for frame in reader.read(video, range(len(form.frames)), name)]
    assert got == [frame.rstrip(b"\0") for frame in form.frames], f"{where}: other bytes"


def decoded(frame: bytes) -> npt.NDArray[Any]:
    """Return a picture's pixels, ``(height, width, 3) uint8`` in RGB; ``(height, width) uint16`` for depth."""
    picture = cv2.imdecode(np.frombuffer(frame, np.uint8), cv2.IMREAD_UNCHANGED)
    assert picture is not None, "the expected picture cannot be decoded"
    return cv2.cvtColor(picture, cv2.COLOR_BGR2RGB) if picture.ndim == 3 else np.asarray(picture)


def _assert_equal(got: npt.NDArray[Any], expected: npt.NDArray[Any], where: str) -> None:
    if expected.dtype.kind == "S":
        assert got.tolist() == expected.tolist(), where
    else:
        np.testing.assert_array_equal(got, expected, err_msg=where)
