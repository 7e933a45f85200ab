"""A planner that is told beforehand what to say, and what a service with it says of itself."""

from __future__ import annotations

from loader_service.core.planned import PlannedStream
from loader_service.core.status import About
from loader_service.errors import ConfigError
from loader_service.protocol import messages as m
from loader_service.protocol.fields import Field
from loader_service.protocol.spec import Frame, Spec

#: What a transform is given, and what it returns.
INPUTS, OUTPUTS = (Field("x", "float32", (3,)),), (Field("y", "uint8", (2, 2)),)

ABOUT = About(
    m.Welcome("0" * 16, 4711, "fingerprint", 2, 20, 200, 1.0),
    m.CatalogSummary(0, "fingerprint", 2, 20, 200, 64, 64, "", (), 0, 0),
    m.Status(0, "ipc:///x.sock", 4711, "1", 0.0, (), (), (), 0, 10**9, ()),
)


class ScriptedPlanner:
    """Knows streams by the seed of their specs; one that it does not know cannot be given."""

    def __init__(self, *, tries_transforms: bool = False) -> None:
        self.tries_transforms = tries_transforms
        self.streams: dict[int, PlannedStream] = {}

    def inputs(self, spec: Spec) -> tuple[Field, ...]:
        """Return what a transform is given."""
        self._known(spec)
        return INPUTS

    def plan(self, spec: Spec, outputs: tuple[Field, ...] | None) -> PlannedStream:
        """Return a stream."""
        assert (outputs is not None) == self.tries_transforms
        return self._known(spec)

    def _known(self, spec: Spec) -> PlannedStream:
        if spec.seed not in self.streams:
            raise ConfigError(f"no stream has seed {spec.seed}")
        return self.streams[spec.seed]


def spec_of(seed: int) -> Spec:
    """Return the spec of the stream that a planner knows by a number."""
    return Spec(64, Frame(), seed=seed)
