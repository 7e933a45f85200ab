"""What each row holds: a pure function of epoch, step and row, which workers write and clients look for."""

from __future__ import annotations

from dataclasses import dataclass

from loader_service.core.planned import PlannedStream
from loader_service.protocol.fields import Field, SlotLayout
from loader_service.protocol.messages import BadRow
from loader_service.protocol.rows import Row
from loader_service.protocol.spec import Frame, Spec
from tests.core.sources import SpreadSource, meaning

#: Rows of a step, steps of an epoch, files.
ROWS, STEPS, FILES = 4, 7, 5

FIELDS = (Field("frames", "uint8", (20_000,)), Field("index", "int64", ()))

_LAYOUT = SlotLayout(FIELDS, ROWS)


class Rows(SpreadSource):
    """Rows over all files; each may be replaced."""

    def substitute(self, epoch: int, bad: Row, attempt: int) -> Row | None:
        """Return the row that is tried after `attempt` failures."""
        return bad._replace(sample=bad.sample + attempt)

    def place(self, sample: int) -> tuple[str, str]:
        """Return a sample's file and video."""
        return f"file {sample % FILES}", f"video {sample}"


def spec_of(seed: int, *, substitutes: bool, prefetch: int) -> Spec:
    """Return what a client asks for."""
    return Spec(ROWS, Frame(), seed=seed, prefetch=prefetch, on_error="substitute" if substitutes else "raise")


@dataclass
class Planner:
    """Makes every spec the same stream."""

    tries_transforms: bool = False

    def inputs(self, _spec: Spec) -> tuple[Field, ...]:
        """Return what a transform is given."""
        return FIELDS

    def plan(self, spec: Spec, _outputs: tuple[Field, ...] | None) -> PlannedStream:
        """Return the stream."""
        return PlannedStream(
            source=Rows(ROWS, FILES),
            fields=FIELDS,
            inputs=FIELDS if self.tries_transforms else (),
            steps_per_epoch=STEPS,
            batch_size=ROWS,
            samples=STEPS * ROWS,
            slot_bytes=_LAYOUT.size_bytes,
            wanted_slots=2 * spec.prefetch,
            most_slots=6 * spec.prefetch if spec.seed % 2 else 0,
            row_bytes=2**20 if spec.seed % 2 else 100,
            substitutes=3 if spec.on_error == "substitute" else 0,
        )


def content(epoch: int, sample: int) -> object:
    """Return what a row holds."""
    return epoch, sample


def bad_row(row: int, sample: int) -> BadRow | None:
    """Return what is wrong with a sample, None when nothing is."""
    told = meaning(sample)
    return BadRow(row, "DecodeError", "damaged") if told.step % 3 == 1 and told.row == 2 and told.attempt < 1 else None


def check_rows(rows: dict[int, object], epoch: int, step: int, *, substitutes: bool) -> None:
    """Raise AssertionError unless rows hold what they should."""
    for row in range(ROWS):
        found = rows.get(row)
        assert isinstance(found, tuple), f"epoch {epoch}, step {step}, row {row} holds {found!r}"
        found_epoch, sample = found
        told = meaning(sample)
        assert (found_epoch, told.step, told.row) == (epoch, step, row), (
            f"epoch {epoch}, step {step}, row {row} holds epoch {found_epoch}, {told}"
        )
        assert told.attempt == 0 or substitutes, f"epoch {epoch}, step {step}, row {row} holds a substitute: {told}"


def fails(step: int, *, substitutes: bool) -> bool:
    """Return whether a step cannot be delivered."""
    return step % 3 == 1 and not substitutes
