"""A process that makes pictures; a damaged file may end it, and then who started it knows at which request.

Requests are lines of JSON and say what to `do`; each is answered by one line, with ``"error"`` when it cannot be done.
"""

from __future__ import annotations

import base64
import json
import math
import os
import sys
from collections import OrderedDict
from collections.abc import Callable
from functools import cached_property
from typing import Any, Generic, TypeVar

from loader_service.catalog.cache.column_files import open_catalog
from loader_service.catalog.columns import Catalog
from loader_service.contact_sheet import as_picture, evenly, fitted, jpeg, strip
from loader_service.errors import ConfigError, LoaderError
from loader_service.lifeline import answers, told
from loader_service.preview.preview_options import PreviewOptions
from loader_service.preview.sample_pictures import SamplePictures
from loader_service.preview.transform_outputs import TransformOutputs
from loader_service.preview.video_pictures import VideoPictures
from loader_service.protocol import wire
from loader_service.protocol.recent_steps import RecentStep, RecentSteps
from loader_service.worker.frame_fields import Origin
from loader_service.worker.reader import Reader
from loader_service.worker.retry_patience import RetryPatience
from loader_service.worker.transforms import TransformedStreams

_Made = TypeVar("_Made")

#: Steps of which the samples are kept.
_KEPT_STEPS = 4

#: Frames of a strip, and the longest side of one, in pixels: what a page may ask for.
_MOST_FRAMES, _MOST_SIDE = 64, 1024

#: Bytes of pixels of a strip at most.
_MOST_PIXELS = 64 * 2**20

#: How long a read that fails is tried again, in seconds: somebody waits at a page.
_PATIENCE_S = 2.0


class PreviewWorker:
    """Answers requests, one at a time.

    Parameters
    ----------
    catalog
        What the files hold.
    transform
        As `PreviewOptions` has it.
    """

    def __init__(self, catalog: Catalog, transform: str = "") -> None:
        self._catalog = catalog
        self._reader = Reader(catalog, max_open_files=8, patience=RetryPatience(_PATIENCE_S))
        self._videos = VideoPictures(catalog, self._reader)
        self._steps: _LatestMade[SamplePictures] = _LatestMade(_KEPT_STEPS)
        self._transform = transform
        self._outputs: _LatestMade[TransformOutputs] = _LatestMade(1)  # they are large
        self._answers: dict[str, Callable[..., dict[str, Any]]] = {
            "samples": self._samples,
            "outputs": self._tell_outputs,
            "output_strip": self._output_strip,
            "strip": self._strip,
            "numbers": self._numbers,
            "frames": self._frames,
            "plot": self._plot,
        }

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Return what a request asks for, or why it cannot be had."""
        asked = dict(request)
        try:
            return self._answers[asked.pop("do")](**asked)
        except (LoaderError, IndexError, ValueError, MemoryError) as error:
            return {"error": f"{error}" or type(error).__name__}

    def close(self) -> None:
        """Close all files."""
        self._reader.close()

    def _samples(self, step: str) -> dict[str, Any]:
        made = self._step(step)
        shown = [each._asdict() for each in made.samples()]
        return {"samples": shown, "images": made.images, "arrays": made.arrays}

    def _strip(self, *, step: str, field: str, row: int, frames: int, side: int) -> dict[str, Any]:
        made = self._step(step)
        if field not in (*made.images, *made.arrays):
            raise ConfigError(f"there is no field {field!r} in the batch")
        _check(frames, side)
        chosen = evenly(made.frames_of(row), frames)
        return _pictures([fitted(as_picture(made.frame(field, row, each)), side) for each in chosen], chosen)

    def _numbers(self, *, step: str, field: str, row: int, frames: int) -> dict[str, Any]:
        made = self._step(step)
        if field not in made.arrays:
            raise ConfigError(f"there is no field {field!r} of numbers in the batch")
        chosen = evenly(made.frames_of(row), min(frames, _MOST_FRAMES))
        numbers = [made.frame(field, row, each).reshape(-1)[:64].astype(float).tolist() for each in chosen]
        return {"at": chosen, "numbers": [[each if math.isfinite(each) else None for each in row] for row in numbers]}

    def _frames(self, *, video: int, field: str, numbers: list[int], side: int) -> dict[str, Any]:
        _check(len(numbers), side)
        return _pictures([self._videos.frame(video, field, each, side) for each in numbers], numbers)

    def _plot(self, *, video: int, field: str, points: int) -> dict[str, Any]:
        return self._videos.plot(video, field, min(points, 1000))._asdict()

    def _tell_outputs(self, step: str) -> dict[str, Any]:
        made = self._made(step)
        return {"made": len(made.rows), "fields": [each._asdict() for each in made.outputs()]}

    def _output_strip(self, *, step: str, field: str, row: int, frames: int, side: int) -> dict[str, Any]:
        _check(frames, side)
        return _pictures(*self._made(step).pictures(field, row, frames, side))

    def _step(self, text: str) -> SamplePictures:
        return self._steps.get(text, lambda: SamplePictures(self._catalog, self._reader, _read(text)))

    def _made(self, text: str) -> TransformOutputs:
        return self._outputs.get(text, lambda: TransformOutputs(self._transforms, _read(text)))

    @cached_property
    def _transforms(self) -> TransformedStreams:
        if not self._transform:
            raise ConfigError("this process runs no transform")
        return TransformedStreams(Origin(self._catalog, self._reader), self._transform)


class _LatestMade(Generic[_Made]):
    """What was made last, by the text of its step."""

    def __init__(self, most: int) -> None:
        self._most, self._found = most, OrderedDict[str, _Made]()

    def get(self, text: str, make: Callable[[], _Made]) -> _Made:
        """Return what is kept of a step, else make it."""
        if text in self._found:
            self._found.move_to_end(text)
        else:
            while len(self._found) >= self._most:
                self._found.popitem(last=False)
            self._found[text] = make()
        return self._found[text]


def _read(text: str) -> RecentStep:
    (recent,) = wire.decode(base64.b64decode(text), RecentSteps)
    return recent.steps[0]


def _check(frames: int, side: int) -> None:
    if not 1 <= frames <= _MOST_FRAMES or not 8 <= side <= _MOST_SIDE:
        raise ConfigError(f"{frames} frames of {side} pixels; ask for 1 to {_MOST_FRAMES}, of 8 to {_MOST_SIDE} pixels")


def _pictures(frames: list[Any], numbers: list[int]) -> dict[str, Any]:
    height, width = frames[0].shape[:2]
    if sum(each.size for each in frames) > _MOST_PIXELS:
        raise ConfigError(f"{len(frames)} frames of {height} x {width} pixels are too many at once")
    data = base64.b64encode(jpeg(strip([each for each in frames if each.shape[:2] == (height, width)])))
    return {"jpeg": data.decode("ascii"), "at": numbers, "height": height, "width": width}


def main() -> None:
    """Run the process."""
    options = told(PreviewOptions)
    os.nice(options.nice)
    worker = PreviewWorker(open_catalog(options.catalog), options.transform)
    replies = answers()
    for line in sys.stdin.buffer:
        replies.write(json.dumps(worker.answer(json.loads(line))).encode("ascii") + b"\n")
        replies.flush()


if __name__ == "__main__":
    main()
