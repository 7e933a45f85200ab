"""A connection to a service, for NumPy users and for whatever is built on it; loads no TensorFlow."""

from __future__ import annotations

import itertools
import logging
import os
import socket
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from loader_client.class_numbers import WATCH, difference
from loader_client.forks import FORKS
from loader_client.forms import Batch
from loader_client.line import Line, anew
from loader_client.link import Link
from loader_client.patience import Keeper, Patience
from loader_client.request import ClipChoice, Request, make_request
from loader_client.starts import FROM_THE_BEGINNING, check_start, start_within
from loader_client.stream import MAX_EPOCH, Stream
from loader_client.whereabouts import check_reachable, no_answer, seen_at
from loader_service import endpoint as endpoints
from loader_service.errors import (
    CatalogChanged,
    LoaderError,
    ProtocolError,
    ServiceUnavailable,
    from_name,
)
from loader_service.protocol.messages import (
    BadSample,
    CatalogSummary,
    CloseStream,
    Done,
    Failed,
    GetCatalog,
    GetStatus,
    Opened,
    OpenStream,
    Ready,
    Refused,
    Restart,
    Scale,
    Status,
    Stop,
    Stopping,
    Welcome,
)
from loader_service.protocol.numbers import as_int, whole_number
from loader_service.protocol.spec import Image, Spec

_LOG = logging.getLogger(__name__)

_Reply = TypeVar("_Reply", CatalogSummary, Status, Done)

#: How long an answer to a question may take, in seconds; the daemon answers within milliseconds.
_ANSWER_S = 30.0

#: After so long it is said what is waited for, in seconds; a service that runs answers within milliseconds.
_SAY_AFTER_S = 1.0


class Connection:
    """A connection to one service; a context manager. Any thread may use it, but not a forked child.

    One that is pickled, for a spawned process, connects anew there.

    Parameters
    ----------
    endpoint
        ``ipc:///path``; None for ``$LOADER_SERVICE_ENDPOINT``, else the user's default endpoint.
    timeout_s
        How long to wait for the service.
    patience
        How long to wait for it, and for single steps, later.
    at_end
        Called once when the connection has ended, be it closed or dropped.
    keeper
        Of a private service, which starts it again when it dies; None of one that others have started.

    Raises
    ------
    ConfigError
        When the endpoint is malformed.
    ServiceUnavailable
        When no service answers.
    """

    def __init__(
        self,
        endpoint: str | None,
        *,
        timeout_s: float = 10.0,
        patience: Patience | None = None,
        at_end: Callable[[], object] | None = None,
        keeper: Keeper | None = None,
    ) -> None:
        place = endpoints.parse(endpoint)
        self.endpoint = str(place)
        check_reachable(self.endpoint)
        endpoints.check_owner(place)
        self._patience = patience or Patience()
        self._keeper = keeper
        self._timeout_s = timeout_s
        self._is_private = at_end is not None
        self._pid = os.getpid()
        self._changed = threading.Condition()
        self._welcome: Welcome | None = None
        self._generation = 0
        self._failure: LoaderError | None = None
        self._requests = itertools.count(1)
        self._has_warned = False  # of too few slots
        self._replies: dict[int, Any] = {}  # by request; None until it comes
        # Weakly: a stream refers to its connection, and ends when nobody refers to it any more.
        self._streams: weakref.WeakSet[Stream] = weakref.WeakSet()
        self._opening: weakref.WeakValueDictionary[int, Stream] = weakref.WeakValueDictionary()
        self._link = Link(self.endpoint, _own_name(), self)
        self._finalizer = weakref.finalize(self, _end, self._link, at_end)
        FORKS.watch(self._changed, self)
        try:
            self._await_welcome(timeout_s)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        if self._is_private:
            raise LoaderError(
                f"a connection to the private service of process {self._pid} cannot be pickled, since the service ends "
                "with that; run `loader-service start FILES…`, and give the other process its endpoint"
            )
        return _connect_anew, (self.endpoint, self._timeout_s, self._patience)

    # ---- what users ask

    @property
    def instance(self) -> str:
        """Which run of the service answered last: 16 hexadecimal digits."""
        assert self._welcome is not None  # noqa: S101 - there since the connection is
        return self._welcome.instance

    @property
    def catalog(self) -> CatalogSummary:
        """What the service's files hold."""
        return self._ask(GetCatalog(next(self._requests)), CatalogSummary)

    def status(self) -> Status:
        """Return what the service is doing."""
        return self._ask(GetStatus(next(self._requests)), Status)

    def scale(self, workers: int) -> str:
        """Change the number of workers; streams go on, and their order does not change."""
        wanted = as_int("workers", workers, "1 or more")
        return self._ask(Scale(next(self._requests), wanted), Done).detail

    def stop(self) -> str:
        """Have the service finish what it is at, and exit."""
        return self._ask(Stop(next(self._requests)), Done).detail

    def restart(self) -> str:
        """Have the service finish what it is at, and begin anew as it was started; streams go on after that."""
        return self._ask(Restart(next(self._requests)), Done).detail

    def open(self, request: Spec | Request) -> Stream:
        """Open a stream.

        Parameters
        ----------
        request
            What it is to deliver; a spec alone is a request without an index.

        Raises
        ------
        ConfigError
            When the service cannot give what the spec asks for, or the index has an entry that is no sample.
        """
        if isinstance(request, Spec):
            request = Request(request)
        line = Line(self.endpoint, self._link, self._why_unusable, self._changed, self._ask_for_streams, self._keeper)
        line.check()
        stream = Stream(line, self._patience, request)
        with self._changed:
            self._streams.add(stream)
            self._request_stream(stream)
        try:
            stream.wait_open(_ANSWER_S)
        except BaseException:
            self.drop(stream)
            raise
        if self._welcome is not None:
            WATCH.opened(self.endpoint, self._welcome.classes, (field.name for field in stream.fields))
        if not self._has_warned and (words := stream.shortage()):
            self._has_warned = True
            _LOG.warning("%s", words)
        return stream

    def batches(
        self,
        batch_size: int | None,
        *,
        clip: ClipChoice = "auto",
        image: Image | None = None,
        epochs: int | None = 1,
        start: tuple[int, int] = FROM_THE_BEGINNING,
        **options: Any,
    ) -> Iterator[Batch]:
        """Yield batches as dicts of arrays, for training loops without tf.data.

        Parameters
        ----------
        batch_size
            Samples in a batch; None for single samples without a batch axis.
        clip, image
            As in `Spec`; ``"auto"``: 16 neighbouring frames of a video, or a row of a table or source.
        epochs
            How many; None for no end.
        start
            Epoch and step of the first batch: where a training that is resumed goes on. The step after the last one is
            the end of its epoch.
        **options
            More fields of `Spec`: fields, batching, shuffle, order, seed, shard, drop_remainder, prefetch, on_error,
            max_bad_samples; and, as in `loader_client.dataset`, index, index_keys, key_field.

        Returns
        -------
        iterator of dict of str to numpy.ndarray
            ``(batch, …)`` by field; with ``batching="ragged"``, whole videos as `Ragged`. Large arrays lie in shared
            memory for as long as they or views of them live, and are to be read only.

        Examples
        --------
        PyTorch, one shard per process; ``torch.from_numpy`` shares the memory too:

        >>> for batch in connection.batches(32, shard=(rank, world), epochs=90):  # doctest: +SKIP
        ...     frames = torch.from_numpy(batch["frames"]).to(device)

        JAX, with captions of images: `position` says which entry of the index a row is.

        >>> rows = caption_images.astype("int64")  # doctest: +SKIP
        >>> for batch in connection.batches(128, index=rows, epochs=None):  # doctest: +SKIP
        ...     state = update(state, jnp.asarray(batch["features"]), captions[batch["position"]])

        TensorFlow 1 with ``feed_dict``:

        >>> for batch in connection.batches(16, fields=("frames", "label")):  # doctest: +SKIP
        ...     session.run(train, {frames: batch["frames"], labels: batch["label"]})
        """
        check_start(start)  # at once, and not when the first batch is asked for
        count = MAX_EPOCH if epochs is None else whole_number("epochs", epochs, 0, MAX_EPOCH)
        return self._batches(lambda: make_request(self, batch_size, clip, image, **options), count, start)

    def _batches(self, make: Callable[[], Request], epochs: int, start: tuple[int, int]) -> Iterator[Batch]:
        stream = self.open(make())
        try:
            first_epoch, first_step = start_within(start, stream.steps_per_epoch)
            last = min(MAX_EPOCH, first_epoch + epochs)
            for epoch in range(first_epoch, last):
                for step in range(first_step, stream.steps_per_epoch):
                    yield stream.fetch(epoch, step)
                first_step = 0
        finally:
            self.drop(stream)

    def drop(self, stream: Stream) -> None:
        """Close a stream that `open` made; arrays that were fetched stay valid."""
        with self._changed:
            stream.close()
            self._streams.discard(stream)
            for number in [number for number, each in self._opening.items() if each is stream]:
                del self._opening[number]

    def close(self) -> None:
        """End the connection; arrays that were fetched stay valid."""
        if os.getpid() != self._pid:
            return  # it is the parent's, and so is its thread
        for stream in list(self._streams):
            self.drop(stream)
        self.fail(ServiceUnavailable("the connection was closed"))
        self._finalizer()

    # ---- what the link says, in its thread

    def welcomed(self, welcome: Welcome, generation: int) -> None:
        """Open the streams, again if this is not the first welcome."""
        with self._changed:
            before, self._welcome = self._welcome, welcome
            self._generation = generation
            if before is not None and before.fingerprint != welcome.fingerprint:
                self._failure = CatalogChanged(_difference(self.endpoint, before, welcome))
            elif before is not None:
                self._opening.clear()
                for stream in list(self._streams):
                    self._request_stream(stream)
            self._changed.notify_all()

    def heard(self, message: Any) -> None:
        """Pass on what came to whom it concerns."""
        with self._changed:
            match message:
                case Ready() | Failed():
                    for stream in list(self._streams):
                        stream.answer(message)
                    return  # the stream has woken who waits for it
                case BadSample():
                    for stream in self._streams:
                        stream.note_bad(message)
                    return
                case Opened():
                    self._opened(message)
                case Refused() if (refused := self._take_opening(message.request)) is not None:
                    refused.fail(from_name(message.error, message.message))
                case Refused(request=0):
                    _LOG.warning("the service at %s refused a message: %s", self.endpoint, message.message)
                    if self._welcome is None:  # the hello: of another version, or one client too many
                        self._failure = from_name(message.error, message.message)
                case Stopping():
                    _LOG.warning("the service at %s is stopping: %s", self.endpoint, message.reason)
                case _ if message.request in self._replies:  # else said twice, or too late
                    self._replies[message.request] = message
            self._changed.notify_all()

    def fail(self, error: LoaderError) -> None:
        """Have everyone who waits, or will ask, get an error; called from any thread."""
        with self._changed:
            self._failure = self._failure or error
            self._changed.notify_all()

    def broken(self, error: BaseException) -> None:
        """Tell everyone who waits, or will ask, why nothing will come."""
        words = f"the link to {self.endpoint} has broken: {type(error).__name__}: {error}; connect again"
        self.fail(from_name(type(error).__name__, words))

    def forked(self) -> None:
        """Have every call end, in a forked child, and nothing be done there to what is the parent's."""
        self._finalizer.detach()
        self._link.disown()
        self._failure = LoaderError(
            f"this connection belongs to process {self._pid}, and this is its forked child {os.getpid()}; "
            "connect again in the child"
        )
        self._changed.notify_all()  # a signal handler may have forked, in the middle of a wait

    # ---- inside

    def _opened(self, opened: Opened) -> None:
        stream = self._take_opening(opened.request)
        if stream is not None and self._welcome is not None:
            stream.opened(opened, self._welcome.instance, self._generation)
        elif not any(each.is_open_as(opened.stream, self._generation) for each in list(self._streams)):
            # Not said twice, but given up while it was being opened.
            self._link.send(CloseStream(opened.stream), self._generation)

    def _take_opening(self, request: int) -> Stream | None:
        """Return the stream that a request is for, if somebody still waits for it; it is no longer being opened."""
        stream = self._opening.get(request)
        if stream is not None:
            del self._opening[request]
        return stream

    def _request_stream(self, stream: Stream) -> None:
        request = next(self._requests)
        self._opening[request] = stream
        self._link.send(OpenStream(request, stream.spec), self._generation)

    def _ask_for_streams(self) -> None:
        """Ask again, by the same numbers, for the streams that were asked for and are not open yet."""
        for request, stream in list(self._opening.items()):
            self._link.send(OpenStream(request, stream.spec), self._generation)

    def _ask(self, question: Any, kind: type[_Reply]) -> _Reply:
        with self._changed:
            if self._failure is not None:
                raise anew(self._failure)
            self._replies[question.request] = None
            try:
                reply = self._await_reply(question)
            finally:
                del self._replies[question.request]
        if isinstance(reply, Refused):
            raise from_name(reply.error, reply.message)
        if not isinstance(reply, kind):
            raise ProtocolError(f"asked for {kind.__name__}, the service answered {type(reply).__name__}")
        return reply

    def _await_reply(self, question: Any) -> Any:
        """Ask, and ask again, until there is an answer; the condition is held."""
        deadline = time.monotonic() + _ANSWER_S
        while (left_s := deadline - time.monotonic()) > 0:
            self._link.send(question, self._generation)
            self._changed.wait_for(
                lambda: self._replies[question.request] or self._why_unusable(),
                min(left_s, self._patience.ask_again_s),
            )
            failure = self._why_unusable()
            if failure is not None:
                raise anew(failure)
            if self._replies[question.request] is not None:
                return self._replies[question.request]
        raise ServiceUnavailable(f"the service at {self.endpoint} did not answer within {_ANSWER_S:g} s")

    def _await_welcome(self, timeout_s: float) -> None:
        with self._changed:
            settled = self._changed.wait_for(lambda: self._welcome or self._failure, min(timeout_s, _SAY_AFTER_S))
            if not settled and timeout_s > _SAY_AFTER_S:
                seen = seen_at(self.endpoint)
                _LOG.warning("no service answers at %s yet: %s; waiting up to %g s", self.endpoint, seen, timeout_s)
                self._changed.wait_for(lambda: self._welcome or self._failure, timeout_s - _SAY_AFTER_S)
            if self._failure is not None:
                raise anew(self._failure)
            if self._welcome is None:
                raise no_answer(self.endpoint, timeout_s)

    def _why_unusable(self) -> LoaderError | None:
        return self._failure


def _connect_anew(endpoint: str, timeout_s: float, patience: Patience) -> Connection:
    """Return the connection of a process that a connection was pickled for."""
    return Connection(endpoint, timeout_s=timeout_s, patience=patience)


def _end(link: Link, at_end: Callable[[], object] | None) -> None:
    """End the link, and what ends with it."""
    try:
        link.close()
    finally:
        if at_end is not None:
            at_end()


def _own_name() -> str:
    return f"{os.path.basename(sys.argv[0]) or 'python'}@{socket.gethostname()}"[:200]


def _difference(endpoint: str, before: Welcome, after: Welcome) -> str:
    counts = ", ".join(
        f"{name} {getattr(before, name)} → {getattr(after, name)}"
        for name in ("files", "videos", "frames")
        if getattr(before, name) != getattr(after, name)
    )
    differences = [each for each in (counts, difference(before.classes, after.classes)) if each]
    said = "; ".join(differences or ["same counts, modified files or labels"])
    return (
        f"the service at {endpoint} came back with another catalog: {said}; "
        "training cannot go on in the same order; start it again, or restart the service on the old files"
    )
