"""How long to wait for a service and for its steps, and what to say meanwhile; knows no stream."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Protocol

from loader_service.errors import ServiceUnavailable

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class Patience:
    """How long to wait before giving up, in seconds."""

    reconnect_timeout_s: float = 60.0  # for a service that does not answer
    step_timeout_s: float = 600.0  # for a step of a service that does
    ask_again_s: float = 10.0  # for an answer, before the question is sent again: a reconnect may lose messages


class Keeper(Protocol):
    """Who keeps a private service running, and starts it again when it dies; asked by any thread."""

    @property
    def pid(self) -> int:
        """The service's pid."""

    @property
    def up_s(self) -> float:
        """Seconds since it was ready; 0 while it is being started again."""


@dataclass(frozen=True)
class Wait:
    """How a wait for one step stands.

    Parameters
    ----------
    what
        Epoch and step, for people.
    endpoint
        Of the service.
    waited_s
        Since the step was asked for.
    silent_s
        Since the service was last heard; 0 while it answers, or is being started again.
    keeper
        Of a private service; None of one that others have started.
    """

    what: str
    endpoint: str
    waited_s: float
    silent_s: float
    keeper: Keeper | None = None

    def left_s(self, patience: Patience) -> float:
        """Return how long to go on waiting before looking again.

        Raises
        ------
        ServiceUnavailable
            When the patience is at its end.
        """
        silence_left_s = patience.reconnect_timeout_s - self.silent_s
        step_left_s = patience.step_timeout_s - self.waited_s
        if silence_left_s < 0 and self.keeper is not None:
            raise ServiceUnavailable(
                f"{self.what}: the private service (pid {self.keeper.pid}) lives, but has not answered for "
                f"{self.silent_s:.0f} s; see whether it is halted or has no share of the processors, or raise "
                "reconnect_timeout_s"
            )
        if silence_left_s < 0:
            raise ServiceUnavailable(
                f"{self.what}: no service has answered at {self.endpoint} for {self.silent_s:.0f} s; start one there "
                "with `loader-service start FILES…` within reconnect_timeout_s, or raise that"
            )
        if step_left_s < 0 and self.keeper is not None:
            raise ServiceUnavailable(
                f"{self.what}: not ready after {self.waited_s:.0f} s, though the private service (pid "
                f"{self.keeper.pid}) answers; raise step_timeout_s, and see what its workers do with "
                f"`loader-service status {self.endpoint}` while that runs"
            )
        if step_left_s < 0:
            raise ServiceUnavailable(
                f"{self.what}: not ready after {self.waited_s:.0f} s, though {self.endpoint} answers; see what its "
                f"workers do with `loader-service status {self.endpoint}`, or raise step_timeout_s"
            )
        return min(silence_left_s, step_left_s)

    def say(self, patience: Patience, held: int) -> None:
        """Log what is waited for, while `held` batches are in the trainer's hands."""
        if self.silent_s:
            left_s = max(0.0, patience.reconnect_timeout_s - self.silent_s)
            _LOG.warning(
                "waiting for the service at %s, silent for %.0f s; giving up in %.0f s",
                self.endpoint,
                self.silent_s,
                left_s,
            )
        else:
            _LOG.warning("waiting for %s for %.0f s; %d batches are held here", self.what, self.waited_s, held)
