"""What a stream is to deliver, and who says what its steps hold. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from loader_client.indexes import Index
from loader_service.protocol.spec import Spec


@dataclass(frozen=True)
class Request:
    """What a stream is to deliver.

    Parameters
    ----------
    spec
        What the service is told.
    index
        Says what the steps hold when the spec is `indexed`.
    batched
        Whether a step is a batch; else it is the only sample of one, without the batch axis.
    """

    spec: Spec
    index: Index | None = None
    batched: bool = True
