"""Makes requests of the options that users give: a clip that suits the catalog, an index of rows or keys."""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable
from contextlib import closing
from typing import Any, Literal, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from loader_client import shares
from loader_client.batches import Batches
from loader_client.given_options import check_all_do_something, keys_given, names_given
from loader_client.indexes import AnnouncedIndex, RowIndex, rows_of_keys
from loader_client.request import Request
from loader_client.resumption import resumption
from loader_client.starts import FROM_THE_BEGINNING, start_within
from loader_client.stream import Stream
from loader_service.config import ServiceConfig
from loader_service.errors import ConfigError
from loader_service.protocol.messages import CatalogSummary
from loader_service.protocol.near_names import nearest
from loader_service.protocol.spec import Clip, Frame, Image, Spec
from loader_service.scan_options import ScanOptions

_Call = TypeVar("_Call", bound=Callable[..., Any])

#: What `clip=` may be: None for whole videos, ``"auto"`` for what suits the catalog.
ClipChoice = Clip | Frame | Literal["auto"] | None

#: Keys that are read at a time.
_KEYS_TOGETHER = 1024

#: What users call the first argument.
_NAMES_OF_PLACES = ("endpoint", "address", "socket", "files", "path", "paths")

#: What a spec has, and no user gives.
_SET_BY_OTHERS = ("indexed", "resumed")

#: What users may say beside what has a parameter of its own.
_OPTIONS = (
    *(
        each.name
        for each in dataclasses.fields(Spec)
        if each.name not in ("batch_size", "clip", "image", *_SET_BY_OTHERS)
    ),
    *("index", "index_keys", "key_field"),
)

#: The field of keys, where the catalog has one of that name.
_KEY = "key"


class Catalogued(Protocol):
    """What is asked of a connection: what there is, and the keys of it."""

    @property
    def catalog(self) -> CatalogSummary:
        """What the service's files hold."""

    def epoch(self, request: Request) -> Batches:
        """Return the batches of the first epoch."""


class StreamChoice:
    """What a user asks of a stream, in the words of `dataset` and `batches`; checked before there is a service.

    Parameters
    ----------
    batch_size, clip, image
        As in `loader_client.dataset`.
    index, index_keys, key_field
        What an epoch holds; None: all samples.
    start
        Where the stream begins: a place, or what `RankState` says.
    **options
        More fields of `Spec`.

    Attributes
    ----------
    spec : Spec
        What they make; with ``clip="auto"`` it is good for nothing but to have been checked.

    Raises
    ------
    ConfigError
        When they contradict each other.
    TypeError
        When there is no such option.
    """

    def __init__(  # noqa: PLR0913 - as in `dataset`
        self,
        batch_size: int | None,
        clip: ClipChoice,
        image: Image | None,
        *,
        index: Any = None,
        index_keys: Any = None,
        key_field: str | None = None,
        start: Any = FROM_THE_BEGINNING,
        **options: Any,
    ) -> None:
        if index is not None and index_keys is not None:
            raise ConfigError("index and index_keys both say what an epoch holds; leave one out")
        index_keys = keys_given(index_keys, key_field)
        options["fields"] = names_given(options.get("fields"))
        self._batched = batch_size is not None
        self._clip = clip
        self._index, self._index_keys, self._key_field = index, index_keys, key_field
        spec = Spec(
            1 if batch_size is None else batch_size,
            Frame() if isinstance(clip, str) and clip == "auto" else clip,
            Image() if image is None else image,
            indexed=index is not None or index_keys is not None,
            **_known(options),
        )
        check_all_do_something(clip, options)
        self._resumption = resumption(start, spec.shard, spec.batch_size)
        self.spec = dataclasses.replace(spec, resumed=self._resumption.resumed)

    def request(self, connection: Catalogued) -> Request:
        """Return what is asked of a service: the clip suits its catalog, keys are samples of it.

        Raises
        ------
        ConfigError
            When the catalog does not fit, or keys name no sample.
        """
        clip = self._clip
        if isinstance(clip, str):  # "auto": nothing else passes for a clip
            clip = _suitable_clip(connection.catalog)
        spec, index = dataclasses.replace(self.spec, clip=clip), self._index
        if self._index_keys is not None:
            index = _rows_of_keys(connection, self._index_keys, self._key_field, clip)
        if index is not None and not isinstance(index, AnnouncedIndex):
            index = RowIndex(index, spec)
        return Request(spec, index, batched=self._batched)

    def place(self, stream: Stream) -> tuple[int, int]:
        """Return epoch and step that an open stream of the request begins with.

        Raises
        ------
        ConfigError
            When it has no such step, or its order is not that of the states it goes on from.
        """
        epoch, step = self._resumption.place
        if self._resumption.order is not None:
            self._resumption.check_order(stream.order)
        return start_within((epoch, stream.first_step if step is None else step), stream.steps_per_epoch)


def tells_unknown_options(call: _Call) -> _Call:
    """Have a call refuse an option that no stream has, or one without a name, before it asks for those it needs."""
    parameters = inspect.signature(call).parameters
    taken = {*parameters, *_OPTIONS, *_SET_BY_OTHERS}
    unnamed = [name for name, each in parameters.items() if each.kind is each.POSITIONAL_OR_KEYWORD]

    @functools.wraps(call)
    def checked(*given: Any, **options: Any) -> Any:
        for name in options:
            if name not in taken:
                raise TypeError(_unknown(name))
        if len(given) > len(unnamed):
            raise TypeError(
                f"{call.__name__} takes {unnamed[-1]} alone without a name; give what follows by name, as "
                f"batch_size=16, clip=Clip(frames=16): got {given[len(unnamed)]!r:.80}"
            )
        return call(*given, **options)

    return checked  # type: ignore[return-value] # it takes the same


def _known(options: dict[str, Any]) -> dict[str, Any]:
    """Return options as `Spec` takes them; `shard` may be None, or words."""
    if options.get("shard", ()) is None:
        del options["shard"]
    elif isinstance(options.get("shard"), str):
        options["shard"] = shares.share(options["shard"])
    if "resumed" in options:
        raise ConfigError("resumed= is set by start=; give that the states of all ranks")
    if "indexed" in options:
        raise ConfigError("indexed= is set by an index; give index= or index_keys=")
    for name in options:
        if name not in _OPTIONS:
            raise TypeError(_unknown(name))
    return options


def _unknown(name: str) -> str:
    if name == "epochs":  # `batches` takes it
        return "unexpected keyword argument 'epochs' of dataset; each iterator of it is an epoch: give fit epochs=…"
    if name in _NAMES_OF_PLACES:
        return (
            f"unexpected keyword argument {name!r} of dataset and batches; where a service listens, or which files are "
            "to be served, is their first argument: give it without a name"
        )
    for part, kind in (("clip", Clip), ("image", Image)):
        if name in {each.name for each in dataclasses.fields(kind)}:
            return f"unexpected keyword argument {name!r} of dataset and batches; give {part}={kind.__name__}({name}=…)"
    of_service = {each.name for each in (*dataclasses.fields(ServiceConfig), *dataclasses.fields(ScanOptions))}
    if name in of_service - {"files"}:
        return (
            f"unexpected keyword argument {name!r} of dataset and batches; it is the service's: where files are named, "
            f"give {_where(name)}; of one that runs, `loader-service start --{name.replace('_', '-')}` sets it"
        )
    names = ("batch_size", "clip", "image", "start", *_OPTIONS)
    close = nearest(name, (*names, "workers", "service", "patience"))
    for part, kind in (("clip", Clip), ("image", Image)):
        meant = nearest(name, (each.name for each in dataclasses.fields(kind)))
        if close is None and meant is not None:
            close = f"{part}={kind.__name__}({meant}=…)"
    hint = f"did you mean {close!r}? They take" if close else "they take"
    return f"unexpected keyword argument {name!r} of dataset and batches; {hint} {', '.join(names)}"


def _where(name: str) -> str:
    """Return how an option of a private service is given."""
    return "workers=… to connect or dataset" if name == "workers" else f"service={{{name!r}: …}} to connect or dataset"


def _suitable_clip(catalog: CatalogSummary) -> Clip | Frame:
    """Return 16 neighbouring frames of videos; of tables and sources, a row."""
    return Clip(frames=16) if catalog.kind == "videos" else Frame()


def _rows_of_keys(
    connection: Catalogued, wanted: Any, key_field: str | None, clip: Clip | Frame | None
) -> NDArray[np.int64]:
    """Return the samples that keys name, after reading the keys of all samples once through the service."""
    catalog = connection.catalog
    if catalog.kind == "generator":
        raise ConfigError(
            "index_keys= of a generator, whose items can be neither numbered nor looked up; leave it out, or serve a "
            "class with __len__ and __getitem__"
        )
    field = key_field or _suitable_key_field(catalog)
    # The clip is that of the request, since it decides what the samples are.
    spec = Spec(_KEYS_TOGETHER, clip, fields=(field, "index"), shuffle=False, drop_remainder=False)
    batches = []
    with closing(connection.epoch(Request(spec))) as epoch:
        for batch in epoch:
            found = batch[field]
            if found.ndim > 1 or found.dtype.kind != "S":
                dtype = found.dtype.str[1:] if found.dtype.kind == "S" else found.dtype.name
                raise ConfigError(
                    f"key_field={field!r} holds {dtype} of shape {found.shape[1:]!r} for each sample, "
                    "and a key is one string; name a field of strings, or give sample numbers as index"
                )
            batches.append(batch)
    keys, samples = (np.concatenate([batch[name] for batch in batches]) for name in (field, "index"))
    return rows_of_keys(wanted, keys, samples, field)


def _suitable_key_field(catalog: CatalogSummary) -> str:
    strings = [field.name for field in catalog.fields if field.dtype.startswith("S") and not field.shape]
    if _KEY in strings:
        return _KEY
    if len(strings) == 1:
        return strings[0]
    if catalog.kind == "videos":
        return "video"
    raise ConfigError(
        f"index_keys need a field to be looked up in, and the service has {len(strings)} fields of strings"
        f"{''.join(f' {name!r}' for name in strings)}; name one with key_field="
    )
