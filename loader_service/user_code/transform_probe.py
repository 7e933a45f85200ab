"""Learns which fields a user's transform returns, by running it on a sample or two; writes no slot."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from loader_service.errors import LoaderError, ProtocolError, SourceError
from loader_service.plan.numbering import Samples
from loader_service.protocol.fields import SERVICE_FIELDS, Field
from loader_service.protocol.rows import Rows
from loader_service.protocol.spec import Spec
from loader_service.user_code.transformed_rows import TransformedSamples

#: Samples among which one of another length than the first is looked for.
_SAMPLES_LOOKED_AT = 65_536

#: Samples that are tried before the transform is called broken, where bad samples are replaced by others.
_SAMPLES_TRIED = 8


@dataclass(frozen=True)
class _ProbedSample:
    """What the transform made of one sample."""

    length: int  # of the sample, in frames
    outputs: dict[str, tuple[np.dtype[np.generic], tuple[int, ...]]]  # dtype and shape


def probe_transform(
    made: TransformedSamples, samples: Samples, spec: Spec, inputs: tuple[Field, ...]
) -> tuple[Field, ...]:
    """Return the fields that a transform makes of a stream's samples.

    Of whole videos, an output whose first axis is as long as the video varies with it. To tell such an axis from one
    that is as long by chance, the transform is also run on a video of another length, if there is one.

    Parameters
    ----------
    made
        What the transform makes of samples.
    samples, spec
        Of the stream.
    inputs
        The fields that the transform is given.

    Raises
    ------
    LoaderError
        When the sample cannot be had, or the transform raises or returns what cannot be a sample.
    """
    first = _try_one(made, samples, spec, range(samples.sample_count))
    others = [first]
    if spec.varies:
        lengths = samples.lengths(np.arange(min(samples.sample_count, _SAMPLES_LOOKED_AT)))
        different = np.flatnonzero(lengths != first.length)
        if different.size:
            others.append(_try_one(made, samples, spec, different.tolist()))
    widths = {field.name: np.dtype(field.dtype) for field in inputs if field.dtype.startswith("S")}
    return tuple(_field(name, others, spec, widths) for name in first.outputs if name not in SERVICE_FIELDS)


def _try_one(made: TransformedSamples, samples: Samples, spec: Spec, candidates: Iterable[int]) -> _ProbedSample:
    """Return what comes of the first candidate; with ``on_error="substitute"``, of the first that is good."""
    first_error: LoaderError | None = None
    tries = _SAMPLES_TRIED if spec.on_error == "substitute" else 1
    for sample, _ in zip(candidates, range(tries), strict=False):
        length = int(samples.lengths([sample])[0])
        row = Rows((0,), (sample,), lengths=(length,) if spec.varies else ()).alone(0)
        try:
            outputs = made.make(0, row)
        except LoaderError as error:
            first_error = first_error or error
        else:
            return _ProbedSample(length, {name: (value.dtype, value.shape) for name, value in outputs.items()})
    raise first_error or SourceError("there is no sample to try the transform on; give files that hold some")


def _field(name: str, trials: list[_ProbedSample], spec: Spec, widths: dict[str, np.dtype[np.generic]]) -> Field:
    for trial in trials:
        if name not in trial.outputs:
            raise SourceError(f"the transform returns {name!r} for some samples only; return it for all")
    found = [(trial.length, *trial.outputs[name]) for trial in trials]
    varies = spec.varies and all(shape[:1] == (length,) for length, _, shape in found)
    shapes = {shape[1:] if varies else shape for _, _, shape in found}
    dtypes = {dtype.kind if dtype.kind == "S" else dtype.name: dtype for _, dtype, _ in found}
    if len(shapes) > 1 or len(dtypes) > 1:
        raise SourceError(
            f"the transform returns {name!r} as {' and as '.join(f'{d.name} of shape {s!r}' for _, d, s in found)}; "
            "return the same shape and dtype for every sample, or the sample's length as its first axis"
        )
    dtype = found[0][1]
    if dtype.kind == "S":  # texts are as long as the longest; one that is handed on, as it may become
        width = max(1, *(each.itemsize for _, each, _ in found))
        text = f"S{max(width, widths[name].itemsize if name in widths else 0)}"
    try:
        return Field(name, text if dtype.kind == "S" else dtype.name, shapes.pop(), varies)
    except ProtocolError as error:
        raise SourceError(f"the transform's output cannot travel: {error}") from error
