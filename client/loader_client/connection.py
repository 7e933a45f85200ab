"""A connection to a service, for NumPy users and for whatever is built on it; loads no TensorFlow."""

from __future__ import annotations

import logging
import os
import socket
import sys
import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from loader_client.batches import Batches
from loader_client.class_numbers import WATCH
from loader_client.notebook import connection_html
from loader_client.patience import Keeper, Patience, patience_given
from loader_client.request import Request
from loader_client.resumption import StartChoice, check_choice
from loader_client.session_thread import SessionThread
from loader_client.starts import FROM_THE_BEGINNING, MAX_EPOCH
from loader_client.stream import Stream
from loader_client.stream_options import ClipChoice, StreamChoice, tells_unknown_options
from loader_client.typed_options import StreamOptions
from loader_client.whereabouts import blocked_at, check_reachable, no_answer, seen_at
from loader_service import endpoint as endpoints
from loader_service.errors import LoaderError, ProtocolError, ServiceUnavailable, from_name
from loader_service.protocol import messages as m
from loader_service.protocol.numbers import whole_number
from loader_service.protocol.spec import Image, Spec
from loader_service.worker_bounds import WorkerBounds, WorkersGiven

if TYPE_CHECKING:
    from typing_extensions import Unpack

_LOG = logging.getLogger(__name__)

_Reply = TypeVar("_Reply", m.CatalogSummary, m.Status, m.RecentSteps, m.Done)

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
        self._patience = patience_given(patience)
        self._timeout_s = timeout_s
        self._pid = os.getpid()
        self._is_private = at_end is not None
        self._has_warned = False  # of too few slots
        self._thread = SessionThread(self.endpoint, _own_name(), self._patience, keeper)
        self._finalizer = weakref.finalize(self, _end, self._thread, at_end)
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

    def _repr_html_(self) -> str:
        return connection_html(self)

    # ---- what users ask

    @property
    def instance(self) -> str:
        """Which run of the service answered last: 16 hexadecimal digits."""
        return self._welcome.instance

    @property
    def catalog(self) -> m.CatalogSummary:
        """What the service's files hold."""
        return self._ask(m.GetCatalog, m.CatalogSummary)

    def status(self) -> m.Status:
        """Return what the service is doing."""
        return self._ask(m.GetStatus, m.Status)

    def recent_steps(self) -> m.RecentSteps:
        """Return, of each stream of the service, the step that was announced last: what its pixels are made of."""
        return self._ask(m.GetRecentSteps, m.RecentSteps)

    def scale(self, workers: WorkersGiven) -> str:
        """Change the number of workers; streams go on, and their order does not change.

        Parameters
        ----------
        workers
            A number; or ``(2, 16)``, ``"2..16"`` or ``"auto"``: bounds within which the service finds the number.

        Raises
        ------
        ConfigError
            When it is none of these, or more than the service's host bears.
        """
        bounds = WorkerBounds.of("" if workers is None else workers)  # None is no number here, and no default
        most = None if bounds.is_fixed else bounds.most or 0
        return self._ask(lambda request: m.Scale(request, bounds.least, most), m.Done).detail

    def scale_remote(self, workers: WorkersGiven) -> str:
        """Change the number of workers on the cluster of a service with ``--ray``; as `scale`, but for ``"auto"``."""
        bounds = WorkerBounds.of_remote(workers)
        most = None if bounds.is_fixed else bounds.most
        return self._ask(lambda request: m.ScaleRemote(request, bounds.least, most), m.Done).detail

    def stop(self) -> str:
        """Have the service finish what it is at, and exit."""
        return self._ask(m.Stop, m.Done).detail

    def restart(self) -> str:
        """Have the service finish what it is at, and begin anew as it was started; streams go on after that."""
        return self._ask(m.Restart, m.Done).detail

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
        asked = request
        wants = self._thread.ask(lambda session, pending, now: session.open(pending, asked, now))
        stream = Stream(self._thread, wants, asked, self)
        WATCH.opened(self.endpoint, self._welcome.classes, (field.name for field in stream.fields))
        if not self._has_warned and (words := stream.shortage()):
            self._has_warned = True
            _LOG.warning("%s", words)
        return stream

    @tells_unknown_options
    def batches(  # noqa: PLR0913 - as in `dataset`
        self,
        batch_size: int | None,
        *,
        clip: ClipChoice = "auto",
        image: Image | None = None,
        epochs: int | None = 1,
        start: StartChoice = FROM_THE_BEGINNING,
        fields: Sequence[str] | None = None,
        index: Any = None,
        **options: Unpack[StreamOptions],
    ) -> Batches:
        """Return batches as dicts of arrays, for training loops without tf.data.

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
            the end of its epoch. Or what `Batches.state` returned: that of this rank, or a list of those of all ranks,
            which need not be as many as now.
        fields
            Names of the fields of a batch; None for all.
        index
            Sample numbers, as in `loader_client.dataset`.
        **options
            More fields of `Spec`: split, videos, windows, batching, shuffle, order, seed, shard, drop_remainder,
            prefetch, on_error, max_bad_samples; and, as in `loader_client.dataset`, index_keys, key_field.

        Returns
        -------
        Batches
            An iterator of dict of str to numpy.ndarray: ``(batch, …)`` by field; with ``batching="ragged"``, whole
            videos and lists as `Ragged`. Large arrays lie in shared memory for as long as they or views of them live,
            and are to be read only.

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
        count = MAX_EPOCH if epochs is None else whole_number("epochs", epochs, 0, MAX_EPOCH)
        # At once, and not when the first batch is asked for.
        check_choice(start)
        choice = StreamChoice(batch_size, clip, image, index=index, fields=fields, start=start, **options)

        def open_stream() -> tuple[Stream, tuple[int, int]]:
            stream = self.open(choice.request(self))
            return stream, choice.place(stream)

        return Batches(open_stream, count)

    def epoch(self, request: Request) -> Batches:
        """Return the batches of a request's first epoch."""
        return Batches(lambda: (self.open(request), FROM_THE_BEGINNING), 1)

    def drop(self, stream: Stream) -> None:
        """Close a stream that `open` made; arrays that were fetched stay valid."""
        stream.close()

    def fail(self, error: LoaderError) -> None:
        """Have everyone who waits, or will ask, get an error; called from any thread."""
        self._thread.fail(error)

    def close(self) -> None:
        """End the connection; arrays that were fetched stay valid."""
        if os.getpid() == self._pid:  # else it is the parent's, and so is its thread
            self.fail(ServiceUnavailable("the connection was closed; make another one with loader_client.connect"))
            self._finalizer()

    # ---- inside

    @property
    def _welcome(self) -> m.Welcome:
        welcome = self._thread.welcome
        assert welcome is not None  # noqa: S101 - there since the connection is
        return welcome

    def _ask(self, message: Callable[[int], m.FromClient], kind: type[_Reply]) -> _Reply:
        reply = self._thread.ask(lambda session, pending, now: session.request(pending, message, now))
        if isinstance(reply, m.Refused):
            raise from_name(reply.error, reply.message)
        if not isinstance(reply, kind):
            raise ProtocolError(f"asked for {kind.__name__}, the service answered {type(reply).__name__}")
        return reply

    def _await_welcome(self, timeout_s: float) -> None:
        if self._thread.await_welcome(min(timeout_s, _SAY_AFTER_S)):
            return
        if timeout_s > _SAY_AFTER_S:
            seen = seen_at(self.endpoint)
            if blocked_at(self.endpoint):  # no service can begin there
                raise no_answer(self.endpoint, _SAY_AFTER_S)
            _LOG.warning("no service answers at %s yet: %s; waiting up to %g s", self.endpoint, seen, timeout_s)
        if not self._thread.await_welcome(max(0.0, timeout_s - _SAY_AFTER_S)):
            raise no_answer(self.endpoint, timeout_s)


def _connect_anew(endpoint: str, timeout_s: float, patience: Patience) -> Connection:
    """Return the connection of a process that a connection was pickled for."""
    return Connection(endpoint, timeout_s=timeout_s, patience=patience)


def _end(thread: SessionThread, at_end: Callable[[], object] | None) -> None:
    """End the session, and what ends with it."""
    try:
        thread.close()
    finally:
        if at_end is not None:
            at_end()


def _own_name() -> str:
    return f"{os.path.basename(sys.argv[0]) or 'python'}@{socket.gethostname()}"[:200]
