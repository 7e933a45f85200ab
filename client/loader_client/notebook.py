"""What notebooks show of connections and datasets: HTML in which every text is escaped. Never raises."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from loader_client.showing import ContactSheet
from loader_client.two_looks import look_twice
from loader_service import html_text
from loader_service.errors import LoaderError
from loader_service.protocol.messages import CatalogSummary, Status
from loader_service.watching.verdict import verdicts

#: Samples and frames that are shown without being asked for.
_SAMPLES, _FRAMES = 4, 8

#: Streams whose verdicts are shown.
_STREAMS = 8


class Sampled(Protocol):
    """What says what it delivers, and can be asked for its first samples."""

    @property
    def described(self) -> str:
        """What it delivers, in a line."""

    def first_samples(self, rows: int) -> Any:
        """Return the first samples of the first epoch."""


class Browsable(Protocol):
    """What is asked of a connection."""

    endpoint: str

    @property
    def catalog(self) -> CatalogSummary:
        """What the service's files hold."""

    def status(self) -> Status:
        """Return what the service is doing."""

    @property
    def batches(self) -> Callable[..., Any]:
        """Yields batches when it is called."""


def connection_html(connection: Browsable) -> str:
    """Return a connection as HTML: where, what there is, what trainers wait for, and some samples."""
    parts = (
        lambda: html_text.paragraph(f"loader-service at {connection.endpoint}", bold=True),
        lambda: connection.catalog._repr_html_(),  # noqa: PLW0108 - `catalog` asks the service, and may fail
        lambda: _verdicts(connection),  # before a stream of its own is among them
        lambda: _sheet(_first(connection)),
    )
    return "".join(dict.fromkeys(_or_why(make) for make in parts))  # why it cannot be shown is said once


def dataset_html(stream: Sampled) -> str:
    """Return a dataset as HTML: what it delivers, and some samples."""
    parts = (
        lambda: html_text.paragraph(stream.described, bold=True),
        lambda: _sheet(stream.first_samples(_SAMPLES)),
    )
    return "".join(dict.fromkeys(_or_why(make) for make in parts))


def _verdicts(connection: Browsable) -> str:
    """Return what the trainer of each open stream waits for, and what to do about it; "" without one."""
    before, after = look_twice(connection)
    clients = {each.stream: each.client for each in after.streams}
    return "".join(
        html_text.paragraph(f"stream {each.stream}, {clients[each.stream]}: {each.summary}", bold=True)
        + (html_text.paragraph(each.advice) if each.advice else "")
        for each in verdicts(before, after, connection.endpoint)[:_STREAMS]
    )


def _first(connection: Browsable) -> Any:
    batches = connection.batches(_SAMPLES, drop_remainder=False, prefetch=1)
    try:
        return next(batches)
    finally:
        batches.close()


def _sheet(batch: Any) -> str:
    return ContactSheet(batch, _SAMPLES, _FRAMES)._repr_html_()


def _or_why(make: Callable[[], str]) -> str:
    """Return what is made, or why that cannot be: who only looks at an object wants no error of it."""
    try:
        return make()
    except (LoaderError, ValueError) as error:
        return html_text.paragraph(str(error))
