"""Makes the samples of a step again, frame by frame, as workers make them; knows no slot, no process and no page."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from loader_service.catalog.columns import Catalog
from loader_service.errors import ConfigError
from loader_service.plan.image_shape import crop_box, crop_corner, scaled_shape
from loader_service.plan.samples import make_samples
from loader_service.protocol.fields import Field
from loader_service.protocol.recent_steps import RecentStep
from loader_service.protocol.rows import Rows
from loader_service.protocol.spec import Clip
from loader_service.worker.frame_fields import FieldWriter, Origin, make_parts
from loader_service.worker.picks import Pick, Picks, make_picks
from loader_service.worker.reader import Reader
from loader_service.worker.values import column

#: Numbers of a field that are told of each sample.
_MOST_NUMBERS = 32

#: Bytes of one frame that is made for people: larger ones are only told of.
_MOST_FRAME_BYTES = 256 * 2**20


class Shown(NamedTuple):
    """One sample as people see it: plain data, of what JSON can say."""

    row: int
    sample: int
    video: str
    file: str
    start: int
    length: int
    frames: int  # that it has in the batch, padding included
    values: dict[str, Any]
    flip: bool
    crop: str


def rows_of(step: RecentStep) -> Rows:
    """Return the rows of a step, as a worker is told of them, without a place in a slot."""
    count = len(step.samples)
    return Rows(
        tuple(range(count)),
        step.samples,
        step.positions,
        offsets=(0,) * count if step.lengths else (),
        lengths=step.lengths,
        room=max(step.lengths, default=0),
    )


class SamplePictures:
    """The samples of one step; used by one thread.

    Parameters
    ----------
    catalog, reader
        What the files hold, and what reads them.
    step
        What was announced.

    Raises
    ------
    ConfigError
        When its samples come from Python, which nobody can ask again.
    """

    def __init__(self, catalog: Catalog, reader: Reader, step: RecentStep) -> None:
        if catalog.kind in ("map", "generator"):
            raise ConfigError(
                "the samples come from a Python source, which this page does not run; no pictures of them"
            )
        self._catalog, self._reader, self._step, self._spec = catalog, reader, step, step.spec
        names = [field.name for field in step.fields]
        samples = make_samples(catalog.counts_with(names), step.spec.clip, step.spec.seed)
        self.picks: Picks = make_picks(samples, step.spec, step.epoch, rows_of(step))
        self._picks = self.picks.each()
        self._columns = {each.name: column(catalog, step.spec, each.name) for each in step.fields}
        self._parts: dict[str, FieldWriter] = {}

    @property
    def images(self) -> list[str]:
        """Names of the fields that are pictures, in the order of the batch."""
        return [each.name for each in self._step.fields if self._is_image(each)]

    @property
    def arrays(self) -> list[str]:
        """Names of the fields of numbers, one entry a frame."""
        return [
            each.name
            for each in self._step.fields
            if self._columns[each.name] is None and not self._is_image(each) and self._catalog.beside(each.name) is None
        ]

    def samples(self) -> list[Shown]:
        """Return what there is to say of each sample."""
        values = {name: get(self.picks) for name, get in self._columns.items() if get is not None}
        return [self._shown(row, pick, values) for row, pick in enumerate(self._picks)]

    def frame(self, field: str, row: int, frame: int) -> NDArray[Any]:
        """Return one frame of a sample, as it is in the batch.

        Parameters
        ----------
        field
            Of `images` or `arrays`.
        row, frame
            Of the step, and of the sample, from 0; a short clip repeats its last frame.

        Raises
        ------
        LoaderError
            When it cannot be read or decoded; names file, video and frame.
        IndexError
            When there is no such row or frame.
        """
        pick = self._picks[row]
        stride = self._spec.clip.stride if isinstance(self._spec.clip, Clip) else 1
        place = min(frame, pick.length - 1)
        if frame < 0 or place < 0:
            raise IndexError(f"frame {frame} of a sample of {pick.length} frames")
        known = next(each for each in self._step.fields if each.name == field)
        out = np.zeros((1, *self._frame_shape(known)), known.dtype)
        if out.nbytes > _MOST_FRAME_BYTES:
            raise ConfigError(f"a frame of {field!r} takes {out.nbytes:,} bytes, too many to show")
        part = self._parts.get(field)
        if part is None:
            part = self._parts[field] = make_parts(Origin(self._catalog, self._reader), self._spec, [known])[0]
        self._reader.begin()
        part.write([out], Pick(pick.video, pick.start + place * stride, 1, pick.draws))
        return out[0]  # type: ignore[no-any-return]

    def frames_of(self, row: int) -> int:
        """Return how many frames a sample has in the batch."""
        match self._spec.clip:
            case Clip(frames):
                return frames
            case None:
                return self._picks[row].length
        return 1

    def _shown(self, row: int, pick: Pick, values: dict[str, Any]) -> Shown:
        path, video = self._catalog.place(pick.video)
        return Shown(
            row,
            self._step.samples[row],
            video,
            path,
            pick.start,
            pick.length,
            self.frames_of(row),
            {name: self._value(name, each[row]) for name, each in values.items() if name not in _TOLD_ELSEWHERE},
            pick.draws.flip,
            self._crop(pick),
        )

    def _value(self, name: str, value: Any) -> Any:
        """Return a value as JSON can say it: a class by its name, bytes as text, many numbers cut off."""
        found = np.asarray(value)
        known = next((each for each in self._catalog.fields if each.name == name), None)
        if known is not None and known.classes and found.size == 1 and 0 <= int(found) < len(known.classes):
            return known.classes[int(found)]
        if found.dtype.kind == "S":
            return bytes(found.reshape(-1)[0]).decode("utf-8", "replace") if found.size else ""
        numbers = [_plain(each) for each in found.reshape(-1)[:_MOST_NUMBERS].tolist()]
        return numbers[0] if found.ndim == 0 else numbers

    def _crop(self, pick: Pick) -> str:
        """Return which part of a frame is seen, in words; "" for all of it."""
        image, names = self._spec.image, self.images
        if image.crop == "none" or not names:
            return ""
        catalog, name = self._catalog, names[0]
        if catalog.is_encoded(name):
            size = tuple(int(each[pick.video]) for each in catalog.sizes(name))
        else:
            size = catalog.shape_in(pick.video, name)[:2]
        if 0 in size:
            return ""
        if image.crop == "resized":
            box = crop_box(image, (size[0], size[1]), pick.draws)
            return f"{box.height} x {box.width} at {box.top}, {box.left} of {size[0]} x {size[1]}"
        field = next(each for each in self._step.fields if each.name == name)
        height, width = self._frame_shape(field)[:2]
        scaled = scaled_shape(image, (size[0], size[1]), pick.draws)
        top, left = crop_corner(image, scaled, (height, width), pick.draws.crop)
        return f"{height} x {width} at {top}, {left} of {scaled[0]} x {scaled[1]}"

    def _is_image(self, field: Field) -> bool:
        known = next((each for each in self._catalog.fields if each.name == field.name), None)
        return known is not None and known.kind == "image"

    def _frame_shape(self, field: Field) -> tuple[int, ...]:
        return field.shape[1:] if isinstance(self._spec.clip, Clip) else field.shape


#: Fields of a batch that `Shown` has by itself.
_TOLD_ELSEWHERE = frozenset({"index", "video", "start", "length"})


def _plain(number: Any) -> Any:
    """Return a number as JSON has it: what is not finite is a text."""
    return str(number) if isinstance(number, float) and not np.isfinite(number) else number
