"""How long to wait for a service and for its steps, and what to say meanwhile. Pure."""

from __future__ import annotations

from dataclasses import dataclass, fields
from numbers import Real
from typing import Any, Protocol

from loader_service.errors import ConfigError, ServiceUnavailable
from loader_service.protocol.near_names import tells_near_names

#: More than sums of times are off by; a deadline that is due must be so however it is computed.
_ROUNDING_S = 1e-6


@tells_near_names
@dataclass(frozen=True)
class Patience:
    """How long to wait before giving up, in seconds.

    Raises
    ------
    ConfigError
        When one is no number above 0.
    """

    reconnect_timeout_s: float = 60.0  # for a service that does not answer
    step_timeout_s: float = 600.0  # for a step of a service that does
    ask_again_s: float = 10.0  # for an answer, before the question is sent again: a reconnect may lose messages

    def __post_init__(self) -> None:
        for each in fields(self):
            check_seconds(f"Patience.{each.name}", getattr(self, each.name))


def check_seconds(name: str, value: Any) -> None:
    """Make sure that a time is a number above 0; raises ConfigError."""
    number: Any = value
    if isinstance(value, bool) or not isinstance(value, Real) or not number > 0:  # NaN is not above 0
        raise ConfigError(f"{name}={value!r}; give a number of seconds above 0")


def patience_given(patience: Any) -> Patience:
    """Return how long to wait, by default as long as `Patience` says; raises ConfigError when it is none."""
    if patience is not None and not isinstance(patience, Patience):
        raise ConfigError(f"patience={patience!r} is no Patience; give Patience(reconnect_timeout_s=…)")
    return Patience() if patience is None else patience


class Keeper(Protocol):
    """Who keeps a private service running, and starts it again when it dies; asked by any thread."""

    @property
    def pid(self) -> int:
        """The service's pid."""

    @property
    def up_s(self) -> float:
        """Seconds since it was ready; 0 while it is being started again."""


@dataclass(frozen=True)
class PrivateProcess:
    """A private service, as who keeps it running sees it."""

    pid: int
    up_s: float  # since it was ready; 0 while it is being started again


@dataclass(frozen=True)
class Wait:
    """How a wait for one step stands.

    Parameters
    ----------
    endpoint
        Of the service.
    silent_s
        Since the service was last heard; 0 while it answers, or is being started again.
    process
        Of a private service; None of one that others have started.
    what
        Epoch and step, for people.
    waited_s
        Since the step was asked for.
    """

    endpoint: str
    silent_s: float
    process: PrivateProcess | None = None
    what: str = ""
    waited_s: float = 0.0

    def objection(self, patience: Patience) -> ServiceUnavailable | None:
        """Return why the wait is over, None while there is patience left."""
        silent = self.silent_s + _ROUNDING_S >= patience.reconnect_timeout_s
        private = self.process is not None
        if not silent and self.waited_s + _ROUNDING_S < patience.step_timeout_s:
            return None
        answers = f"the private service (pid {self.process.pid})" if self.process else self.endpoint
        if silent and private:
            words = (
                f"{answers} lives, but has not answered for {self.silent_s:.0f} s; see whether it is busy, halted or "
                "has no share of the processors, or raise reconnect_timeout_s"
            )
        elif silent:
            words = (
                f"no service has answered at {self.endpoint} for {self.silent_s:.0f} s; if `loader-service ps` shows "
                "it, it is busy or halted: see the load of its host, and raise reconnect_timeout_s: "
                "patience=Patience(reconnect_timeout_s=…); else start one there with `loader-service start FILES…`"
            )
        elif private:
            words = (
                f"not ready after {self.waited_s:.0f} s, though {answers} answers; raise step_timeout_s, and see what "
                f"its workers do with `loader-service status {self.endpoint}` while that runs"
            )
        else:
            words = (
                f"not ready after {self.waited_s:.0f} s, though {answers} answers; see what its workers do with "
                f"`loader-service status {self.endpoint}`, or raise step_timeout_s"
            )
        return ServiceUnavailable(f"{self.what}: {words}")

    def words(self, patience: Patience, lent: int) -> str:
        """Return what is waited for, for people, while `lent` batches are in the trainer's hands."""
        if self.silent_s:
            left_s = max(0.0, patience.reconnect_timeout_s - self.silent_s)
            return (
                f"waiting for the service at {self.endpoint}, silent for {self.silent_s:.0f} s; giving up in "
                f"{left_s:.0f} s"
            )
        return f"waiting for {self.what} for {self.waited_s:.0f} s; {lent} batches are held here"
