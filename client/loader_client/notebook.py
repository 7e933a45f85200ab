"""What notebooks show of connections and datasets: HTML in which every text is escaped. Never raises."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from loader_client.showing import ContactSheet
from loader_service import html_text
from loader_service.errors import LoaderError
from loader_service.protocol.messages import CatalogSummary

#: Samples and frames that are shown without being asked for.
_SAMPLES, _FRAMES = 4, 8


class Sampled(Protocol):
    """What can be asked for its first samples."""

    def first_samples(self, rows: int) -> Any:
        """Return the first samples of the first epoch."""


class Browsable(Protocol):
    """What is asked of a connection."""

    endpoint: str

    @property
    def catalog(self) -> CatalogSummary:
        """What the service's files hold."""

    @property
    def batches(self) -> Callable[..., Any]:
        """Yields batches when it is called."""


def connection_html(connection: Browsable) -> str:
    """Return a connection as HTML: where, what there is, and some samples."""
    head = html_text.paragraph(f"loader-service at {connection.endpoint}", bold=True)
    catalog = _or_why(lambda: _catalog(connection))
    return head + catalog + _or_why(lambda: _sheet(_first(connection)))


def dataset_html(described: str, stream: Sampled) -> str:
    """Return a dataset as HTML: what it delivers, and some samples."""
    head = html_text.paragraph(described, bold=True)
    return head + _or_why(lambda: _sheet(stream.first_samples(_SAMPLES)))


def _catalog(connection: Browsable) -> str:
    return connection.catalog._repr_html_()


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
