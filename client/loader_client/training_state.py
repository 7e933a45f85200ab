"""Writes what the next batches of a training depend on into one file, in one piece, and reads it; loads no Keras."""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loader_service.errors import ConfigError

#: Of what is in the file; another one is not read.
_FORMAT = 1


@dataclass(frozen=True)
class TrainingProgress:
    """How far a training is: an epoch of `fit`, and the batches of it that are done."""

    epoch: int
    batches: int


class TrainingState:
    """The file with the state of one training.

    Weights, the state of the optimizer and of random layers, and, in the middle of an epoch, that of the metrics. With
    several workers each gathers the state, since that may take all of them, and the chief writes.

    Parameters
    ----------
    path
        Of the file; its folder is made when something is saved.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._metrics: list[NDArray[Any]] = []

    def save(self, model: Any, progress: TrainingProgress, fingerprint: dict[str, int | str | None]) -> None:
        """Write the state, instead of what was there: one killed meanwhile leaves the one or the other."""
        groups = {"state": _state_variables(model)}
        if progress.batches:
            groups["metrics"] = list(model.metrics_variables)
        values = {name: [_value(each) for each in variables] for name, variables in groups.items()}
        if not _is_chief(model):
            return
        header = {
            "format": _FORMAT,
            "progress": asdict(progress),
            "fingerprint": fingerprint,
            "variables": {name: [_described(each) for each in variables] for name, variables in groups.items()},
        }
        self._path.parent.mkdir(parents=True, exist_ok=True)
        beside = self._path.with_name(f".{self._path.name}.{os.getpid()}")
        try:
            with open(beside, "wb") as file:
                arrays = {f"{name}{n}": _bytes(each) for name, all_ in values.items() for n, each in enumerate(all_)}
                arrays["header"] = np.frombuffer(json.dumps(header).encode(), np.uint8)
                np.savez(file, **arrays)  # type: ignore[arg-type] # NumPy's own flag is none of the names
                file.flush()
                os.fsync(file.fileno())
            os.replace(beside, self._path)
        finally:
            beside.unlink(missing_ok=True)
        _sync_folder(self._path.parent)

    def restore(
        self, model: Any, fingerprint: dict[str, int | str | None], a_batch: Callable[[], Any]
    ) -> TrainingProgress | None:
        """Give a model the state that was saved, and return how far it was; None when nothing was.

        Parameters
        ----------
        model
            One that is built, of the same layers and optimizer.
        fingerprint
            What must be as it was.
        a_batch
            Returns a batch, from which metrics are made that Keras makes with the first one.

        Raises
        ------
        ConfigError
            When the model is not built, the folder is none, or the file does not suit the model or cannot be read.
        """
        if not model.built:
            raise ConfigError(
                "the model's variables are made with its first batch, so nothing can be restored before; "
                "begin it with keras.Input(shape), or call it on a batch before fit"
            )
        if not self._path.exists():
            if self._path.parent.exists() and not self._path.parent.is_dir():
                raise ConfigError(f"backup_dir={str(self._path.parent)!r} is a file; name a folder")
            return None
        header, arrays = self._read()
        if header["fingerprint"] != fingerprint:
            raise ConfigError(
                f"{self._path} was saved with {_words(header['fingerprint'])}, and this training has "
                f"{_words(fingerprint)}; give fit the same data and batch size, or delete the file to begin anew"
            )
        progress = TrainingProgress(**header["progress"])
        if model.optimizer is not None and not model.optimizer.built:
            model.optimizer.build(model.trainable_variables)
        if progress.batches and len(model.metrics_variables) != len(header["variables"]["metrics"]):
            batch = a_batch()
            model.test_on_batch(*(batch if isinstance(batch, tuple) else (batch,)))
        saved = header["variables"]
        self._give(_state_variables(model), saved["state"], [arrays[f"state{n}"] for n in range(len(saved["state"]))])
        if progress.batches:
            self._metrics = [arrays[f"metrics{n}"] for n in range(len(saved["metrics"]))]
            self._check(list(model.metrics_variables), saved["metrics"])
        return progress

    def restore_metrics(self, model: Any) -> None:
        """Give the metrics what they had; called after Keras has reset them."""
        for variable, value in zip(model.metrics_variables, self._metrics, strict=True):
            variable.assign(_like(variable, value))
        self._metrics = []

    def delete(self, model: Any) -> None:
        """Remove the file, and its folder if nothing else is in it."""
        if not _is_chief(model):
            return
        self._path.unlink(missing_ok=True)
        try:
            self._path.parent.rmdir()
        except OSError:
            return  # it was never made, or holds what is not ours

    def _read(self) -> tuple[Any, dict[str, NDArray[Any]]]:
        try:
            with open(self._path, "rb") as opened, np.load(opened, allow_pickle=False) as file:
                arrays = {name: file[name] for name in file.files}
            header = json.loads(arrays.pop("header").tobytes())
        except (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile) as error:
            raise ConfigError(f"the backup {self._path} cannot be read: {error}; delete it to begin anew") from error
        if header.get("format") != _FORMAT:
            raise ConfigError(f"the backup {self._path} is of another version; delete it to begin anew")
        return header, arrays

    def _check(self, variables: list[Any], saved: list[Any]) -> None:
        have = [_described(each) for each in variables]
        if have == saved:
            return
        place = next((n for n, pair in enumerate(zip(have, saved, strict=False)) if pair[0] != pair[1]), None)
        what = (
            f"{len(saved)} variables, and this model has {len(have)}"
            if place is None
            else f"variable {place} as {saved[place]!r}, and this model has {have[place]!r}"
        )
        raise ConfigError(
            f"the backup {self._path} holds {what}; give fit the same model, optimizer and metrics, "
            "or delete the file to begin anew"
        )

    def _give(self, variables: list[Any], saved: list[Any], values: list[NDArray[Any]]) -> None:
        self._check(variables, saved)
        for variable, value in zip(variables, values, strict=True):
            variable.assign(_like(variable, value))


def values_of(model: Any) -> list[NDArray[Any]]:
    """Return copies of the variables of a model and its optimizer."""
    return [np.array(_value(each)) for each in _state_variables(model)]


def assign_values(model: Any, values: list[NDArray[Any]]) -> None:
    """Give a model and its optimizer what `values_of` returned."""
    for variable, value in zip(_state_variables(model), values, strict=True):
        variable.assign(value)


def _state_variables(model: Any) -> list[Any]:
    optimizer = getattr(model, "optimizer", None)
    return [*model.variables, *([] if optimizer is None else optimizer.variables)]


def _value(variable: Any) -> NDArray[Any]:
    return np.asarray(variable.numpy() if hasattr(variable, "numpy") else variable)


def _described(variable: Any) -> list[Any]:
    """Return what must be equal in the model that is restored; names are numbered by Keras, and change."""
    return [list(variable.shape), str(variable.dtype)]


def _bytes(value: NDArray[Any]) -> NDArray[np.uint8]:
    """Return a value's bytes: NumPy's files know no bfloat16."""
    return np.frombuffer(value.tobytes(), np.uint8)


def _like(variable: Any, value: NDArray[Any]) -> NDArray[Any]:
    now = _value(variable)
    return np.frombuffer(value.tobytes(), now.dtype).reshape(now.shape)


def _is_chief(model: Any) -> bool:
    extended = getattr(getattr(model, "distribute_strategy", None), "extended", None)
    return bool(getattr(extended, "should_checkpoint", True))


def _words(fingerprint: dict[str, Any]) -> str:
    return ", ".join(f"{value!r} {name}" for name, value in fingerprint.items())


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
