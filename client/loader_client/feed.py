"""What a dataset's graph calls: which epoch begins, and the tensors of a step, made of its arrays without a copy."""

from __future__ import annotations

import secrets
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loader_client.calls import CALLS
from loader_client.epochs import EpochNumbers
from loader_client.forms import Batch
from loader_client.index_generator import NO_PLACES, NO_STEP, all_marks, epoch_and_step
from loader_client.interrupts import INTERRUPTS
from loader_client.notebook import dataset_html
from loader_client.rank_state import RankState
from loader_client.request import Request
from loader_client.share_number import check_saved, share_number
from loader_client.starts import Starts
from loader_client.stream import Stream
from loader_client.stream_figures import StreamFigures
from loader_client.tensor_columns import columns_of
from loader_client.tensorflow_module import tf
from loader_service.errors import LoaderError


class Feed:
    """What the dataset's graph calls: which epoch begins, and a step's tensors. Closes the stream with the graph."""

    def __init__(self, stream: Stream, request: Request, close: Callable[[], None], start: tuple[int, int]) -> None:
        is_whole = start[1] in (0, stream.steps_per_epoch)  # the first epoch is
        self.cardinality = stream.steps_per_epoch if is_whole else int(tf.data.UNKNOWN_CARDINALITY)
        self.starts = Starts(stream.steps_per_epoch, start, request.spec.part)
        self._stream = stream
        self.request = request
        self.origin = secrets.randbits(63)
        self.share = share_number(request.spec.shard, stream.order, request.spec.batch_size, request.spec.resumed)
        self._epochs = EpochNumbers(all_marks())
        self.prefetch = stream.prefetch
        self.columns = columns_of(stream.fields, stream.slot_fields, request)
        self._finalizer = weakref.finalize(self, close)
        CALLS.close_at_end(self)

    def __reduce__(self) -> tuple[Any, ...]:
        raise LoaderError(
            "a dataset cannot be pickled, since its connection is this process's own; "
            "call `loader_client.dataset` in the process that uses it"
        )

    def close(self) -> None:
        """Close the stream: every call ends with an error."""
        self._finalizer()

    def state_after(self, batches: int) -> RankState:
        """Return the state after so many batches of the iterators that follow one another from the dataset's start."""
        return self._stream.state_at(*divmod(self.starts.position + batches, self._stream.steps_per_epoch))

    @property
    def described(self) -> str:
        """What it delivers, in a line."""
        spec, steps = self.request.spec, self._stream.steps_per_epoch
        fields = ", ".join(f"{each.name} {each.dtype} {each.shape}" for each in self._stream.fields)
        return f"batches of {spec.batch_size}, {steps:,} steps an epoch, {spec.clip}, {spec.image}: {fields}"

    def first_samples(self, rows: int) -> Batch:
        """Return the first samples of the first epoch, as `Stream.first_samples` does."""
        return self._stream.first_samples(rows)

    @property
    def figures(self) -> StreamFigures:
        """What was fetched, and how long that was waited for."""
        return self._stream.figures

    def html(self) -> str:
        """Return what a notebook shows of the dataset."""
        return dataset_html(self)

    def begin(self, made_by: Any, made_as: Any) -> NDArray[np.int64]:
        """Return what an iterator that begins keeps of its epoch: ``() int64``. See `index_generator.places`."""
        INTERRUPTS.forgive()  # it begins after whatever came before it
        kept = self._epochs.begin(made_as.numpy(), made_here=int(made_by) == self.origin)
        # No Python number: TensorFlow keeps a tensor of each of those that it has ever met, 650 bytes for good.
        return np.asarray(kept, np.int64)

    def epoch_of(self, number: Any, kept: Any, mark: Any, *made: Any) -> NDArray[np.int64]:
        """Return the number of the epoch of a mark: ``() int64``. See `index_generator.places`."""
        if not int(number):
            return np.asarray(NO_PLACES, np.int64)
        made_by, started, saved, made_as = made
        made_here = int(made_by) == self.origin
        if not made_here:
            check_saved(int(saved), self.share)
        epoch = self._epochs.number(int(kept) - int(number), mark.numpy(), made_as.numpy() if made_here else None)
        if not made_here:
            self.starts.restore(epoch, int(started))
        return np.asarray(epoch, np.int64)

    def announce(self, place: Any, step: Any, first: Any, samples: Any) -> Any:
        """Have a step made that will be fetched soon; return its number."""
        epoch, _ = epoch_and_step(int(place))
        if int(step) == NO_STEP:
            self._stream.announce_end(epoch)
        else:
            self._stream.announce(epoch, int(step), samples.numpy(), int(first))
        return step

    def fetch_announced(self, place: Any, step: Any, first: Any, samples: Any) -> list[Any]:
        """Return the tensors of a step that holds these samples; after the last one of an epoch, end it."""
        self.announce(place, step, first, samples)  # again if it was restored, or announced too long ago
        if int(step) == NO_STEP:
            raise StopIteration
        return self._tensors(self._stream.fetch(epoch_and_step(int(place))[0], int(step)))

    def fetch(self, place: Any) -> list[Any]:
        """Return the tensors of the step at a place; after the last one of an epoch, end it."""
        iterator, step = epoch_and_step(int(place))
        first, end = self.starts.steps_of(iterator)
        if first + step >= end:
            raise StopIteration
        return self._tensors(self._stream.fetch(*divmod(first + step, self.starts.steps_per_epoch)))

    def _tensors(self, batch: Batch) -> list[Any]:
        """Return the tensors of all columns: of each its values, and the row splits of each ragged axis."""
        tensors: list[Any] = []
        for column in self.columns:
            value = batch[column.name]
            values, *splits = column.tensors(value) if column.axes else (value,)
            tensors += (values if column.is_copied else _tensor(values), *splits)
        return tensors


def _tensor(array: Any) -> Any:
    # It begins at a multiple of `ALIGNMENT_BYTES`, in the slot and as a copy: TensorFlow would abort the process else.
    return tf.experimental.dlpack.from_dlpack(array.__dlpack__())
