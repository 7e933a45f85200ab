"""What the figures must reach, each computed from one round and then taken over all rounds. Pure; measures nothing."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

#: What was measured in one round: by name of side or cost, then by name of figure.
Round = Mapping[str, Mapping[str, float]]


@dataclass(frozen=True)
class Spread:
    """A figure over the rounds."""

    median: float
    least: float
    most: float


@dataclass(frozen=True)
class Bar:
    """One promise about speed or cost.

    Attributes
    ----------
    title
        What is promised.
    limit
        The value to reach; None for a figure that is only shown.
    is_least
        Whether more is better.
    needs
        Sides and costs that must have been measured.
    figure
        Computes the value from one round, so that sides are compared under the same conditions.
    unit
        Unit of value and limit.
    """

    title: str
    limit: float | None
    is_least: bool
    needs: tuple[str, ...]
    figure: Callable[[Round], float]
    unit: str = ""

    def measured(self, rounds: Sequence[Round]) -> Spread | None:
        """Return the spread of the figure, None when a side that it needs was left out."""
        if any(need not in each for each in rounds for need in self.needs):
            return None
        return spread([self.figure(each) for each in rounds])

    def holds(self, value: float) -> bool:
        """Return whether a value reaches the limit."""
        if self.limit is None:
            return True
        return value >= self.limit if self.is_least else value <= self.limit


def spread(values: Sequence[float]) -> Spread:
    """Return median, least and most."""
    return Spread(statistics.median(values), min(values), max(values))


def limit_frames_per_s(each: Round) -> float:
    """Return what two cores can decode at most: twice the bare loop on one."""
    return 2 * each["bare"]["frames_per_s"]


def _against(peer: str) -> Callable[[Round], float]:
    return lambda each: each["service"]["frames_per_s"] / each[peer]["frames_per_s"]


def _whole(batching: str) -> Callable[[Round], float]:
    return lambda each: each["whole-videos"][f"{batching}_frames_per_s"] / limit_frames_per_s(each)


def _looked_up(side: str, peer: str) -> Callable[[Round], float]:
    return lambda each: each["look-up"][f"{side}_batches_per_s"] / each["look-up"][f"{peer}_batches_per_s"]


def _packed(what: str, side: str, peer: str, unit: str = "frames_per_s") -> Callable[[Round], float]:
    return lambda each: each["pack"][f"{what}_{side}_{unit}"] / each["pack"][f"{what}_{peer}_{unit}"]


def _of(name: str, figure: str, factor: float = 1.0) -> Callable[[Round], float]:
    return lambda each: each[name][figure] * factor


BARS = (
    Bar(
        "frames/s, tf.data with 2 workers ÷ (2 x bare loop on one core)",
        0.90,
        True,
        ("service", "bare"),
        lambda each: each["service"]["frames_per_s"] / limit_frames_per_s(each),
    ),
    Bar("… ÷ two bare loops at once", 0.93, True, ("service", "bare-pair"), _against("bare-pair")),
    Bar("… ÷ TFRecord + `tf.io.decode_jpeg`", 1.35, True, ("service", "tfrecord"), _against("tfrecord")),
    Bar("… ÷ h5py generator of bytes", None, True, ("service", "bytes"), _against("bytes")),
    Bar("… ÷ `from_generator` + interleave", 2.4, True, ("service", "generators"), _against("generators")),
    Bar("… ÷ `map(py_function)`", None, True, ("service", "py-function"), _against("py-function")),
    Bar("trainer's CPU per 67 MB batch", 1.0, False, ("service",), _of("service", "trainer_cpu_ms_per_batch"), "ms"),
    Bar("… NumPy client", None, False, ("service-numpy",), _of("service-numpy", "trainer_cpu_ms_per_batch"), "ms"),
    Bar("all CPU per batch of one 8 x 8 frame", 600, False, ("tiny",), _of("tiny", "cpu_ms_per_batch", 1e3), "µs"),
    Bar("worker's own memory", 60, False, ("memory",), _of("memory", "worker_uss_mb"), "MB"),
    Bar("daemon's own memory", None, False, ("memory",), _of("memory", "daemon_uss_mb"), "MB"),
    Bar("service processes with TensorFlow", 0, False, ("memory",), _of("memory", "processes_with_tensorflow")),
    Bar("`start` on 8 files to `ready`, no index cache", 2.0, False, ("start-up",), _of("start-up", "cold_s"), "s"),
    Bar("… with index cache", 2.0, False, ("start-up",), _of("start-up", "warm_s"), "s"),
    Bar("first batch after `iter(ds)`", 0.5, False, ("epochs",), _of("epochs", "first_batch_s"), "s"),
    Bar("last batch of an epoch to first of the next", None, False, ("epochs",), _of("epochs", "gap_steps"), "steps"),
    Bar(
        "… beyond the one step between any two batches",
        1.0,
        False,
        ("epochs",),
        lambda each: each["epochs"]["gap_steps"] - 1,
        "steps",
    ),
    Bar("… the longest of a round", None, False, ("epochs",), _of("epochs", "longest_gap_steps"), "steps"),
    Bar("whole videos, padded: real frames/s ÷ (2 x bare loop)", 0.85, True, ("whole-videos", "bare"), _whole("pad")),
    Bar("… ragged", 0.85, True, ("whole-videos", "bare"), _whole("ragged")),
    Bar("… in buckets", 0.85, True, ("whole-videos", "bare"), _whole("bucket")),
    Bar("… share of padding", None, False, ("whole-videos",), _of("whole-videos", "padding_unsorted")),
    Bar("… share of padding in buckets", None, False, ("whole-videos",), _of("whole-videos", "padding")),
    Bar(
        "look-up of 128 x 4096 float32, NumPy client ÷ h5py alone", 0.8, True, ("look-up",), _looked_up("numpy", "h5py")
    ),
    Bar("… tf.data ÷ h5py alone", 0.8, True, ("look-up",), _looked_up("tf", "h5py")),
    Bar("… NumPy client ÷ gather from a memory map", 0.7, True, ("look-up",), _looked_up("numpy", "memmap")),
    Bar("… trainer's CPU per batch, NumPy client", 0.5, False, ("look-up",), _of("look-up", "numpy_cpu_ms"), "ms"),
    Bar("… trainer's CPU per batch, tf.data", 0.5, False, ("look-up",), _of("look-up", "tf_cpu_ms"), "ms"),
    Bar(
        "Python source of 10 ms a sample: 2 workers ÷ 1",
        1.8,
        True,
        ("python-source",),
        lambda each: each["python-source"]["samples_per_s_2"] / each["python-source"]["samples_per_s_1"],
    ),
    Bar(
        "`pack` of folders of JPEGs, bytes/s ÷ `cp -r`",
        0.8,
        True,
        ("pack",),
        _packed("folders", "pack", "cp", "mb_per_s"),
    ),
    Bar("`pack` of mp4, frames/s ÷ bare loops on all cores", 0.85, True, ("pack",), _packed("films", "pack", "loops")),
    Bar("… frames per second of CPU", None, True, ("pack",), _packed("films", "pack", "loops", "frames_per_cpu_s")),
    Bar("packed files served, frames/s ÷ fastest layout", 0.98, True, ("pack",), _packed("served", "packed", "flat")),
)
