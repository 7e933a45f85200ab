"""One step that is wanted, from the first message about it to its delivery. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from loader_client.indexes import StepContents
from loader_client.session.lookahead import Position
from loader_client.session.pending import Pending
from loader_service.protocol.messages import Failed, Ready, Want


@dataclass(slots=True)
class Wanted:
    """A step that is wanted, and what it is to hold if that is ours to say: a new service is told again."""

    position: Position
    contents: StepContents
    answer: Ready | Failed | None = None
    is_mapped: bool = False  # whether the slot of the answer is
    was_missing: bool = False  # the slot of an earlier answer could not be mapped
    pending: Pending | None = None  # who waits for it

    @property
    def is_deliverable(self) -> bool:
        """Whether it is there, or never will be."""
        return self.is_mapped or isinstance(self.answer, Failed)

    def message(self, stream: int, want: int) -> Want:
        """Return what asks for it, under a number, in a stream as the service knows it."""
        return Want(stream, want, *self.position, self.contents.samples, self.contents.positions)

    def begin_anew(self) -> None:
        """Forget the answer: it was another service's."""
        self.answer, self.is_mapped, self.was_missing = None, False, False
