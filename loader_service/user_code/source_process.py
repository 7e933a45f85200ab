"""A process that looks at a user's own source and transform once, and tells what it found; knows no service.

A service's daemon never runs code of the user's, so what it has to know of it, it learns from here: one line of JSON on
the standard output, either the fields of `SourceFacts` (nothing where only a transform was looked at), or
``{"error": …}``.
"""

from __future__ import annotations

import inspect
import json
import os
import sys
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import Any

from numpy.typing import NDArray

from loader_service.config import MAX_SOURCE_LENGTH
from loader_service.errors import LoaderError, ProtocolError, SourceError
from loader_service.lifeline import answers, told
from loader_service.protocol.fields import SERVICE_FIELDS, Field
from loader_service.source_facts import Examined, SourceFacts, SourceOptions
from loader_service.user_code.loading import load_first
from loader_service.user_code.python_source import GeneratorSource, MapSource, open_source
from loader_service.user_code.transform import Transform
from loader_service.user_code.user_samples import Sample

#: Items that are looked at to learn how long texts get; a field of texts has room for twice the longest of them.
_ITEMS_FOR_TEXTS = 64
_LEAST_TEXT_BYTES = 64

#: Items that are tried before a source is called broken.
_ITEMS_TRIED = 8


def examine(options: SourceOptions) -> SourceFacts:
    """Return what the samples of a source are.

    Raises
    ------
    SourceError
        When it cannot be used.
    """
    source = open_source(options, worker=0)
    version = _version(options.reference)
    if isinstance(source, GeneratorSource):
        fields = _fields(options.reference, [source.read()])
        return SourceFacts("generator", 0, fields, 0, version)
    length = len(source)
    if not 1 <= length <= MAX_SOURCE_LENGTH:
        raise SourceError(f"source {options.reference!r} has {length} items; give it 1 to {MAX_SOURCE_LENGTH}")
    first = _first_item(source, length)
    last = next(_readable(source, [length - 1]), first)
    left_out = int(_is_shorter_batch(last, first))
    if not left_out:
        _check_alike(options.reference, first, last, length - 1)
    items = [first, *_some_items(source, length - left_out, first)]
    return SourceFacts("map", length - left_out, _fields(options.reference, items), left_out, version)


def _first_item(source: MapSource, length: int) -> Sample:
    """Return an item from the beginning; one that raises is a bad sample, and whether that matters a stream decides."""
    found = next(_readable(source, range(min(length, _ITEMS_TRIED))), None)
    return source.read(0) if found is None else found


def _readable(source: MapSource, numbers: Iterable[int]) -> Iterator[Sample]:
    for number in numbers:
        try:
            yield source.read(number)
        except SourceError as error:
            sys.stderr.write(f"{error}\n")


def _some_items(source: MapSource, length: int, first: Sample) -> Iterator[Sample]:
    """Yield items from everywhere where there are texts, whose longest is to be found."""
    if any(array.dtype.kind == "S" for array in first.values()):
        yield from _readable(source, range(0, length, max(1, length // _ITEMS_FOR_TEXTS)))


def _is_shorter_batch(item: Sample, first: Sample) -> bool:
    """Return whether items are batches, and this one has fewer rows: all fields alike but for one same first axis."""
    if item.keys() != first.keys() or any(not array.ndim for array in (*item.values(), *first.values())):
        return False
    rows, rows_of_first = ({len(array) for array in each.values()} for each in (item, first))
    rest_alike = all(item[name].shape[1:] == first[name].shape[1:] for name in first)
    return rest_alike and len(rows) == len(rows_of_first) == 1 and max(rows) < max(rows_of_first)


def _check_alike(reference: str, first: Sample, last: Sample, number: int) -> None:
    for name in (*first, *last):
        here, there = (_form(item[name]) if name in item else "missing" for item in (first, last))
        if here != there:
            raise SourceError(
                f"source {reference!r}: field {name!r} is {here} in the first item and {there} in item {number}; "
                "return the same fields, shapes and dtypes for every item, padded where lengths differ"
            )


def _form(array: NDArray[Any]) -> str:
    return f"{'text' if array.dtype.kind == 'S' else array.dtype.name} of shape {array.shape}"


def _fields(reference: str, items: list[Sample]) -> tuple[tuple[str, str, tuple[int, ...]], ...]:
    fields = tuple((name, _dtype(name, items), array.shape) for name, array in items[0].items())
    for name, dtype, shape in fields:
        if name in SERVICE_FIELDS:
            raise SourceError(
                f"source {reference!r} has a field {name!r}, and that is what the service itself says of each sample; "
                "give it another name"
            )
        try:
            Field(name, dtype, shape)
        except ProtocolError as error:
            raise SourceError(f"source {reference!r}: {error}") from error
    return fields


def _dtype(name: str, items: list[Sample]) -> str:
    first = items[0][name].dtype
    if first.kind != "S":
        return str(first)
    longest = max(item[name].dtype.itemsize for item in items if name in item)
    return f"S{max(_LEAST_TEXT_BYTES, 2 * longest)}"


def _version(reference: str) -> str:
    found, _ = load_first(reference)
    try:  # of an object that is none of these there is no file to know
        path: str = inspect.getfile(found)
        status = os.stat(path)
    except (TypeError, OSError):  # built in, or made where there is no file
        return ""
    return f"{path} {status.st_size} {status.st_mtime_ns}"


def answer_to(options: Examined) -> dict[str, Any]:
    """Return what there is to say of a source and of a transform.

    Raises
    ------
    SourceError
        When one of them cannot be used.
    """
    facts = {} if options.source is None else asdict(examine(SourceOptions(**options.source)))
    if options.transform is not None:
        Transform(options.transform)
    return facts


def main() -> None:
    """Run the process; started by the service only."""
    options = told(Examined)
    output = answers()
    try:
        answer = answer_to(options)
    except LoaderError as error:
        answer = {"error": str(error)}
    output.write(json.dumps(answer).encode("ascii") + b"\n")
    output.flush()
    os._exit(0)  # threads of the user's own shall not keep this process


if __name__ == "__main__":
    main()
