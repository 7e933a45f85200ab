"""A callback with which an interrupted `fit` ends as an uninterrupted one would: the place in the data, and the state.

Keras counts the epochs of a `fit`; a dataset counts its iterators. After a restart the two differ: `fit` goes on with
epoch 3, and the dataset begins with its first order. So at the beginning of each epoch this callback tells the data
which epoch it is. In the middle of an epoch Keras keeps no place at all; with a folder, this callback keeps one, and
with it whatever the numbers to come depend on (`training_state`).
"""

from __future__ import annotations

import warnings
from os import PathLike
from pathlib import Path
from typing import Any

import keras

from loader_client import places
from loader_client.training_state import TrainingProgress, TrainingState, assign_values, values_of
from loader_service.errors import ConfigError
from loader_service.protocol.numbers import whole_number

#: What stops the loop over an epoch's batches, and tells this callback that nobody else wanted `fit` to end.
_EPOCH_IS_OVER = object()

_FILE_NAME = "resume.npz"


class Resume(keras.callbacks.Callback):  # type: ignore[misc] # Keras has no types
    """Each epoch of `fit` trains on the data's epoch of the same number, wherever `fit` begins.

    With `keras.callbacks.BackupAndRestore`, or with ``fit(initial_epoch=…)`` and weights of your own, leave the folder
    out. With a folder, this callback takes the place of `BackupAndRestore`: it keeps weights, optimizer, random seeds
    and metrics, writes them in one piece, and goes on in the middle of an epoch too. It stands last in the list of
    callbacks.

    Parameters
    ----------
    data
        What `fit` gets: a dataset that is made of that of `loader_client.dataset`, or a `LoaderSequence`.
    validation_data
        What `fit` gets as such, if that is shuffled or draws clips at random.
    backup_dir
        Folder of the backup, for this training alone; with several workers, one that all of them see.
    save_freq
        ``"epoch"``: write at the end of each epoch; a number: also after that many batches of an epoch.
    delete_checkpoint
        Whether the backup is deleted when `fit` has ended, as `BackupAndRestore` does; else the next `fit` goes on
        after the last epoch.

    Raises
    ------
    ConfigError
        When the data is not of this package, or the place in it cannot be told from the number of a batch.

    Examples
    --------
    >>> model.fit(train, epochs=10, callbacks=[Resume(train, backup_dir="backup", save_freq=500)])  # doctest: +SKIP
    >>> model.fit(train, epochs=10, callbacks=[BackupAndRestore("backup"), Resume(train)])  # doctest: +SKIP
    """

    def __init__(
        self,
        data: Any,
        validation_data: Any = None,
        *,
        backup_dir: str | PathLike[str] | None = None,
        save_freq: str | int = "epoch",
        delete_checkpoint: bool = True,
    ) -> None:
        super().__init__()
        self._data = places.place_of(data)
        self._validation = None if validation_data is None else places.place_of(validation_data)
        self._state = None if backup_dir is None else TrainingState(Path(backup_dir).expanduser() / _FILE_NAME)
        self._batches_between = None if save_freq == "epoch" else whole_number("save_freq", save_freq, 1, 2**62)
        if self._batches_between and self._state is None:
            raise ConfigError(
                f"save_freq={save_freq!r} needs a folder; give backup_dir=, or leave it to the callback "
                "that writes the backup"
            )
        self._delete = delete_checkpoint
        self._resumed: TrainingProgress | None = None
        self._epoch: int | None = None  # of the fit that runs
        self._is_begun = False  # the first batch of this fit has come
        self._before = 0  # batches of this epoch that an earlier process has trained on
        self._saved = 0  # batches of this epoch after which the state was saved last
        self._filter: Any = None
        self._after_last_batch: list[Any] | None = None  # of a short epoch: the model's variables

    # ---- what Keras calls

    def on_train_begin(self, logs: Any = None) -> None:  # noqa: ARG002 - Keras's signature
        """Restore what was saved, and have `fit` go on with its epoch."""
        self._epoch, self._is_begun = None, False
        steps = self.params.get("steps")
        if self._batches_between:
            self._check_batches_are_steps(steps)
        self._resumed = None
        if self._state is not None:
            self._resumed = self._state.restore(self.model, self._fingerprint(steps), self._data.a_batch)
        if self._resumed is not None:
            self.model._initial_epoch = self._resumed.epoch  # noqa: SLF001 - the way of Keras's own callback

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:  # noqa: ARG002 - Keras's signature
        """Tell the data where this epoch begins."""
        is_first, self._epoch = self._epoch is None, epoch
        resumed, self._resumed = self._resumed, None
        self._before = self._saved = 0
        if resumed is not None and resumed.epoch == epoch and resumed.batches and self._state is not None:
            self._before = self._saved = resumed.batches
            self._state.restore_metrics(self.model)
            self._ignore_short_epoch()
        self._data.begin(epoch, self._before, self.params.get("steps"), is_first=is_first)

    def on_test_begin(self, logs: Any = None) -> None:  # noqa: ARG002 - Keras's signature
        """Tell the validation data which epoch it is."""
        self._undo_step_without_batch()
        if self._validation is not None and self._epoch is not None:
            self._validation.begin(self._epoch, 0, None, is_first=True)

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:  # noqa: ARG002 - Keras's signature
        """Save when it is time, and end an epoch that began in its middle when its batches are over."""
        if not self._is_begun and not self._data.is_read():
            warnings.warn("Resume was given other data than fit reads; give it what fit gets", stacklevel=2)
        self._is_begun = True
        done, steps = self._before + batch + 1, self.params.get("steps")
        if self._before and steps and done >= steps:
            self._end_short_epoch()
        if self._batches_between and done - self._saved >= self._batches_between and not (steps and done >= steps):
            self._save(TrainingProgress(self._epoch or 0, done))
            self._saved = done

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:  # noqa: ARG002 - Keras's signature
        """Save, and let `fit` go on if only the epoch was to end."""
        if self.model.stop_training is _EPOCH_IS_OVER:
            self.model.stop_training = False
        self._undo_step_without_batch()
        self._restore_warnings()
        self._save(TrainingProgress(epoch + 1, 0))

    def on_train_end(self, logs: Any = None) -> None:  # noqa: ARG002 - Keras's signature
        """Delete the backup, as it was asked for."""
        self._epoch = None
        self._restore_warnings()
        if self._state is not None:
            self.model._initial_epoch = None  # noqa: SLF001 - as above; another fit begins where it is told to
            if self._delete:
                self._state.delete(self.model)

    # ---- inside

    def _save(self, progress: TrainingProgress) -> None:
        if self._state is not None:
            self._state.save(self.model, progress, self._fingerprint(self.params.get("steps")))

    def _fingerprint(self, steps: int | None) -> dict[str, int | str | None]:
        return {
            "steps of fit in an epoch": steps,
            "steps of the data in an epoch": self._data.steps_per_epoch,
            "as the part of the data": self._data.part,
        }

    def _check_batches_are_steps(self, steps: int | None) -> None:
        self._data.check_batches_are_steps(f"save_freq={self._batches_between}")
        together = getattr(self.model, "steps_per_execution", 1) or 1
        if steps is None or steps % together:
            raise ConfigError(
                f"save_freq={self._batches_between} with {steps!r} batches in an epoch and {together} steps an "
                "execution: a place in the middle of an epoch needs a number that these divide; give save_freq='epoch'"
            )

    def _end_short_epoch(self) -> None:
        """Have Keras go on as after any epoch, though it expects as many batches as in the others."""
        if not self._data.ends_with_error:  # then it sees by itself that there are no more
            self._after_last_batch = values_of(self.model)
        elif not self.model.stop_training:
            self.model.stop_training = _EPOCH_IS_OVER

    def _undo_step_without_batch(self) -> None:
        """Put back what Keras's step without a batch may have drawn from random seeds, before it failed."""
        if self._after_last_batch is not None:
            assign_values(self.model, self._after_last_batch)
            self._after_last_batch = None

    def _ignore_short_epoch(self) -> None:
        """Have Keras not warn that an epoch which began in its middle has fewer batches than the others."""
        warnings.filterwarnings("ignore", message=".*input ran out of data")
        self._filter = warnings.filters[0]

    def _restore_warnings(self) -> None:
        if self._filter is not None and self._filter in warnings.filters:
            warnings.filters.remove(self._filter)  # type: ignore[attr-defined] # a list, whatever its type says
        self._filter = None
