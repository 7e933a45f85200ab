"""A user's own Python source of samples: items by number, or one after the other; knows no slot and no stream.

A *map source* has ``__len__`` and ``__getitem__``. Its items can be asked for in any order and as often as needed, so
what comes of it keeps every promise of the service. A *generator source* can only be asked for the next item: each
worker runs a copy of its own, so which item lands in which row differs from run to run.
"""

from __future__ import annotations

import inspect
import random
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from loader_service.errors import SourceError
from loader_service.source_facts import SourceOptions
from loader_service.user_code.loading import attribute, blamed, load_first
from loader_service.user_code.user_samples import Sample, flatten


class MapSource:
    """Items by number.

    Parameters
    ----------
    reference
        How the user names it, for errors.
    items
        Has ``__len__`` and ``__getitem__``; or, as a Keras `PyDataset` may, ``num_batches`` instead of a length.
    """

    def __init__(self, reference: str, items: Any) -> None:
        self._reference = reference
        self._items = items

    def __len__(self) -> int:
        with blamed(f"len() of source {self._reference!r}"):
            return int(self._items.num_batches) if not hasattr(self._items, "__len__") else len(self._items)

    def read(self, number: int) -> Sample:
        """Return an item, flattened.

        Raises
        ------
        SourceError
            When the user's code raises, or returns what has no tensor form.
        """
        with blamed(f"item {number} of source {self._reference!r}"):
            item = self._items[number]
        return flatten(item, f"item {number} of source {self._reference!r}")


#: What `next` returns at the end; no item of a user's is this.
_END = object()


class GeneratorSource:
    """Items one after the other, from a generator that is begun anew when it ends.

    Parameters
    ----------
    reference
        How the user names it, for errors.
    begin
        Returns a new iterator of items.
    """

    def __init__(self, reference: str, begin: Callable[[], Iterator[Any]]) -> None:
        self._reference = reference
        self._begin = begin
        self._items: Iterator[Any] = iter(())

    def read(self, number: int = 0) -> Sample:
        """Return the next item, flattened; `number` is for errors only.

        Raises
        ------
        SourceError
            When the user's code raises, has no item at all, or yields what has no tensor form.
        """
        what = f"source {self._reference!r}"
        with blamed(what):
            item = next(self._items, _END)
            if item is _END:
                self._items = iter(self._begin())
                item = next(self._items, _END)
        if item is _END:
            raise SourceError(f"{what} ended without an item; let it yield at least one")
        return flatten(item, f"an item of {what} (row {number})")


def open_source(options: SourceOptions, worker: int) -> MapSource | GeneratorSource:
    """Return a worker's copy of a source.

    Parameters
    ----------
    options
        Which source.
    worker
        The worker's number. Where a generator's class, function or method takes an argument ``worker``, it gets this,
        and where it takes ``seed``, a number that no other worker gets; Python's and NumPy's global generators are
        seeded with that. For a map source they are seeded alike in all workers, so that what it draws while it is made
        is the same in each.

    Raises
    ------
    SourceError
        When it cannot be found or made, or is neither kind of source.
    """
    reference, given = options.reference, options.values
    found, path = load_first(reference)
    own = _own_randomness(options, worker) if path or _makes_a_generator(found) else _shared_randomness(options)
    if not callable(found):
        if given:
            raise SourceError(f"source {reference!r} is an object, which takes no arguments; leave --source-arg out")
        return _as_source(reference, found, path, own)

    def make() -> Any:
        with blamed(f"making source {reference!r}"):
            return found(**arguments)

    arguments = _taken(found, own) | given
    _check_arguments(reference, found, arguments)
    made = make()
    if isinstance(made, Iterator) and not path:  # it goes through its items once, so it is made anew for each pass
        return GeneratorSource(reference, make)
    return _as_source(reference, made, path, own)


def _makes_a_generator(found: Any) -> bool:
    """Return whether what calling this gives is no map source; of other functions that is not known before."""
    return inspect.isgeneratorfunction(found) or (inspect.isclass(found) and not hasattr(found, "__getitem__"))


def _as_source(reference: str, made: Any, path: list[str], own: Mapping[str, int]) -> MapSource | GeneratorSource:
    for name in path:
        made = attribute(made, name, reference)
    if path:
        if not callable(made):
            raise SourceError(f"source {reference!r} is no method; name one that yields items")
        return GeneratorSource(reference, lambda: iter(made(**_taken(made, own))))
    if hasattr(made, "__getitem__") and _has_length(reference, made):
        return MapSource(reference, made)
    if hasattr(made, "__iter__"):
        return GeneratorSource(reference, lambda: iter(made))
    methods = [name for name, each in inspect.getmembers(type(made)) if inspect.isgeneratorfunction(each)]
    hint = (
        f"name its generator, {reference}.{methods[0]}" if methods else "give it those, or a method that yields items"
    )
    raise SourceError(f"source {reference!r} is a {type(made).__name__} without __len__ and __getitem__; {hint}")


def _has_length(reference: str, made: Any) -> bool:
    with blamed(f"source {reference!r}"):
        return hasattr(made, "__len__") or isinstance(getattr(made, "num_batches", None), int)


def _check_arguments(reference: str, found: Callable[..., Any], arguments: Mapping[str, Any]) -> None:
    try:
        inspect.signature(found).bind(**arguments)
    except TypeError as error:
        given = ", ".join(f"{name}={value!r}" for name, value in arguments.items()) or "none"
        raise SourceError(f"source {reference!r}: {error}; the arguments are {given}; see --source-arg") from error
    except ValueError:
        return  # some classes written in C tell nothing of what they take


def _own_randomness(options: SourceOptions, worker: int) -> dict[str, int]:
    """Seed the global generators for this worker; return the arguments that tell the source of it, where it asks."""
    seed = int(np.random.SeedSequence([options.seed, worker]).generate_state(1)[0])
    _seed_all(seed)
    return {"seed": seed, "worker": worker}


def _shared_randomness(options: SourceOptions) -> dict[str, int]:
    """Seed the global generators alike for all workers; a map source's own arguments are the user's alone."""
    _seed_all(int(np.random.SeedSequence([options.seed]).generate_state(1)[0]))
    return {}


def _seed_all(seed: int) -> None:
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002 - what users' own code draws from


def _taken(found: Callable[..., Any], offered: Mapping[str, int]) -> dict[str, Any]:
    """Return those arguments that a class or function takes by name."""
    try:
        names = inspect.signature(found).parameters
    except ValueError:  # some classes written in C tell nothing of what they take
        return {}
    return {name: value for name, value in offered.items() if name in names}
