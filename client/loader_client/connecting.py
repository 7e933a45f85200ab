"""Makes connections: to a running service, or to a private one that it starts; knows no TensorFlow."""

from __future__ import annotations

import difflib
import os
import re
import weakref
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any

from loader_client.code_references import place_advice, reference_of
from loader_client.connection import Connection
from loader_client.forks import FORKS
from loader_client.notebook_bar import scan_bar
from loader_client.patience import Patience, check_seconds, patience_given
from loader_client.typed_options import ServiceOptions, StreamOptions
from loader_service.children import STARTING
from loader_service.daemon.launcher import PrivateService
from loader_service.errors import ConfigError, LoaderError
from loader_service.given_paths import is_remote, local_path
from loader_service.protocol.near_names import tells_near_options
from loader_service.stores.urls import is_url
from loader_service.worker_bounds import WorkerBounds, WorkersGiven

#: An endpoint, None for the default one, or files.
EndpointOrFiles = str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | None

#: The same, or a connection that there is already.
ServiceOrFiles = EndpointOrFiles | Connection

#: What tells an endpoint from the name of a file.
_SCHEME = "://"

#: Options that name a user's code, which may be given itself.
_CODE = ("source", "transform")

FORKS.watch(STARTING)


def _elsewhere(name: str) -> str | None:
    """Return how an option is given that `connect` does not take by its own name, and another call does."""
    if name in ServiceOptions.__annotations__:
        return f"it is the service's: where files are named, give service={{{name!r}: …}}"
    if name in {"batch_size", "clip", "image", "fields", "index", *StreamOptions.__annotations__}:
        return f"it is of batches: give connect(…).batches({name}=…), or loader_client.dataset({name}=…)"
    return None


@tells_near_options(_elsewhere)
def connect(
    source: EndpointOrFiles = None,
    *,
    workers: WorkersGiven | None = None,
    ray_workers: WorkersGiven | None = None,
    service: ServiceOptions | None = None,
    timeout_s: float = 10.0,
    patience: Patience | None = None,
) -> Connection:
    """Connect to a running service, or start a private one that ends with the connection, and with this process.

    Parameters
    ----------
    source
        ``ipc:///path`` of a running service; None for ``$LOADER_SERVICE_ENDPOINT``, else the user's default endpoint. A
        pattern or list of HDF5 files instead starts a private service. None too where `service` names a Python source,
        which is served instead of files.
    workers
        Worker processes of a private service: a number; ``(2, 16)`` or ``"2..16"``: within these bounds, as many as the
        trainers need; ``"auto"``, the default: the same from 1 to one per core.
    ray_workers
        Remote workers of a private service, a number or bounds, on the Ray cluster that this host belongs to, or that
        `service` names as ``{"ray": "10.0.0.5:6379"}``; by default none.
    service
        More options of a private service, as ``loader-service start --help`` lists them: ``{"labels": "labels.csv"}``;
        and ``start_timeout_s``, how long it may take to be ready, by default 600. `source` and `transform` may be a
        class or function that a module defines.
    timeout_s
        How long to wait for an answer of the service.
    patience
        How long to wait for it, and for single steps, later.

    Raises
    ------
    ConfigError
        When the endpoint is malformed, options of a private service are given for a running one, or one of them is
        wrong.
    CatalogError
        When the files hold nothing to serve.
    ServiceUnavailable
        When no service answers.

    Examples
    --------
    >>> with loader_client.connect("data/*.h5", workers=2) as connection:  # doctest: +SKIP
    ...     for batch in connection.batches(16):
    ...         ...
    """
    check_seconds("timeout_s", timeout_s)
    patience = patience_given(patience)
    service = with_ray(service, ray_workers)
    if source is None and service is not None and "source" in service:
        source = ()
    in_store = isinstance(source, str) and is_url(source)
    if isinstance(source, str) and is_remote(source) and not in_store:
        local_path(source)  # says how its files become local ones
    if source is None or (isinstance(source, str) and _SCHEME in source and not in_store):
        _check_nothing_private(workers, service)
        return Connection(source, timeout_s=timeout_s, patience=patience)
    private = _start(_files(source), workers, service)
    try:
        connection = Connection(
            private.endpoint, timeout_s=timeout_s, patience=patience, at_end=private.stop, keeper=private
        )
        private.check_owner()  # a signal handler may have forked
    except BaseException:
        private.stop()
        raise
    private.on_failure(_weakly(connection))
    return connection


def connection_to(
    opened: ExitStack,
    source: ServiceOrFiles,
    workers: WorkersGiven | None,
    service: ServiceOptions | None,
    patience: Patience | None,
) -> Connection:
    """Return a connection that was given, or one that is made as `connect` does; `opened` gets what ends it then.

    Parameters
    ----------
    opened
        Ends the connection, and a private service with it, when it is closed; not a connection that was given.
    source, workers, service, patience
        See `connect`.

    Raises
    ------
    ConfigError, CatalogError, ServiceUnavailable
        See `connect`.
    """
    if isinstance(source, Connection):
        _check_nothing_private(workers, service)
        if patience is not None:
            raise ConfigError(
                f"patience={patience!r} with a connection, which has its own; give it to `connect`, which made that"
            )
        return source
    return opened.enter_context(connect(source, workers=workers, service=service, patience=patience))


def with_ray(service: ServiceOptions | None, ray_workers: WorkersGiven | None) -> ServiceOptions | None:
    """Return the options of a private service, with remote workers if there shall be some; raises ConfigError."""
    if service is not None and not isinstance(service, Mapping):
        raise ConfigError(f"service={service!r} is no dict of options; give service={{'labels': 'labels.csv'}}")
    return service if ray_workers is None else {"ray": "auto", **(service or {}), "ray_workers": ray_workers}


def _weakly(connection: Connection) -> Callable[[LoaderError], None]:
    """Return what fails a connection for as long as somebody has it: the service must not keep it."""
    reference = weakref.ref(connection)

    def fail(error: LoaderError) -> None:
        found = reference()
        if found is not None:
            found.fail(error)

    return fail


def _check_nothing_private(workers: WorkersGiven | None, service: ServiceOptions | None) -> None:
    if workers is not None or service is not None:
        raise ConfigError(
            "workers, ray_workers and service configure a private service, but an endpoint was given; "
            "give files instead, or scale the running service with `loader-service scale`"
        )


def _start(files: Sequence[str], workers: WorkersGiven | None, service: ServiceOptions | None) -> PrivateService:
    given: dict[str, Any] = dict(service or {})
    timeout_s = given.pop("start_timeout_s", None)
    timeout_s = 600.0 if timeout_s is None else timeout_s
    check_seconds("service start_timeout_s", timeout_s)
    own = [value for value in map(given.get, _CODE) if callable(value)]
    options = {key: _text(key, value) for key, value in given.items() if value is not None}
    if workers is not None:
        options["workers"] = str(WorkerBounds.of(workers))
    try:
        return PrivateService(files, options, float(timeout_s), scan_bar())
    except LoaderError as error:
        modules = [value.__module__ for value in own]
        module = next((each for each in modules if f"no module '{each.partition('.')[0]}" in str(error)), None)
        if module is not None and isinstance(error, ConfigError):
            raise ConfigError(f"{error}{place_advice(module)}") from error
        error.args = (f"{error}{_in_python(str(error))}",)
        raise


def _in_python(message: str) -> str:
    """Return how options of a command line that a message names are given to `connect`, as its end."""
    names = dict.fromkeys(each.replace("-", "_") for each in _FLAG.findall(message))
    known = [name for name in names if name in ServiceOptions.__annotations__]
    said = ", ".join(f"--{name.replace('_', '-')} is service={{{name!r}: …}}" for name in known)
    return f"; in Python, {said}" if said else ""


#: An option of a command line, within a text.
_FLAG = re.compile(r"(?<![\w-])--([a-z][a-z-]*[a-z])")


def _files(source: Any) -> list[str]:
    if callable(source):
        name = reference_of("source", source).partition(":")[2]
        raise ConfigError(
            f"source={name} is Python of your own, and no place of files; give service={{'source': {name}}} without it"
        )
    names = [source] if isinstance(source, (str, os.PathLike)) else source
    try:
        return [os.fspath(each) for each in names]
    except TypeError as error:
        raise ConfigError(
            f"source={source!r}; give ipc:///path of a running service, a pattern or list of files, or None; samples "
            "of your own Python are service={'source': …}, with a class, or the 'package.module:Name' of one"
        ) from error


def _text(name: str, value: Any) -> str | list[str]:
    """Return an option's value as the command line has it; a list or tuple gives the option several times."""
    if name in ("workers", "ray_workers"):
        return str(WorkerBounds.of(value) if name == "workers" else WorkerBounds.of_remote(value))
    known = ServiceOptions.__annotations__
    if name not in known:
        close = difflib.get_close_matches(str(name), known, n=1)
        hint = f"did you mean {close[0]!r}? There are" if close else "there are"
        raise ConfigError(f"service={{{name!r}: …}} is no option of a private service; {hint} {', '.join(known)}")
    if name in _CODE and not isinstance(value, str):
        return reference_of(name, value)
    return [str(each) for each in value] if isinstance(value, (list, tuple)) else str(value)
