"""Trainings with little shared memory, played in a process with a shared memory of its own; asserts nothing.

python -m tests.faults.scene_of_small_memory SCENE FILES REPORT
"""

from __future__ import annotations

import gc
import hashlib
import itertools
import logging
import os
import pickle
import signal
import sys
import time
from collections.abc import Iterator
from typing import Any

import loader_client
from loader_client import Clip, Image, LoaderError
from loader_client.forms import Batch
from loader_service.protocol.segment_files import shared_memory

#: 8 clips of 16 frames of 224 x 224 pixels: 19 MB.
BATCH: dict[str, Any] = {
    "batch_size": 8,
    "clip": Clip(frames=16, sampling="every", hop=2),
    "image": Image(size=(224, 224)),
}

#: What the README shows: 39 MB.
README: dict[str, Any] = {**BATCH, "batch_size": 16}


class _Warnings(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.said.append(record.getMessage())


def digest(batch: Batch) -> str:
    """Return what tells a batch from all others."""
    return hashlib.sha256(b"".join(batch[name].tobytes() for name in ("frames", "index", "start"))).hexdigest()


def plain_epochs(files: str) -> dict[str, Any]:
    """Read epochs as most trainings do."""
    with loader_client.connect(files, workers=2) as connection:
        batches = connection.batches(**BATCH, epochs=2)
        plain = [digest(next(batches))]
        slots = connection.status().streams[-1].slots
        plain += [digest(batch) for batch in batches]
    return {"plain": plain, "slots": slots}


def epochs(files: str) -> dict[str, Any]:
    """Read epochs in every way that holds slots: one reader, one that keeps all, and readers that take turns."""
    with loader_client.connect(files, workers=2) as connection:
        plain = [digest(batch) for batch in connection.batches(**BATCH, epochs=2)]
        kept = [digest(batch) for batch in list(connection.batches(**BATCH, epochs=2))]
        stream = connection.open(_spec())
        slots = connection.status().streams[-1].slots
        places = [divmod(step, stream.steps_per_epoch) for step in range(2 * stream.steps_per_epoch)]
        turns = {place: digest(stream.fetch(*place)) for place in _in_turns(places)}
        held = [stream.fetch(*place) for place in reversed(places)]
    return {
        "plain": plain,
        "kept": kept,
        "turns": [turns[place] for place in places],
        "reversed": [digest(batch) for batch in reversed(held)],
        "slots": slots,
    }


def two_streams(files: str) -> dict[str, Any]:
    """Open the README's batch for training and for validation, of one service and of two."""
    with loader_client.connect(files, workers=1) as connection:
        streams = [connection.batches(**README, seed=seed, drop_remainder=False) for seed in range(3)]
        one = [digest(next(stream)) for stream in streams]
        slots = [each.slots for each in connection.status().streams]
        refusal = _refusal(connection)
        del streams
    with loader_client.connect(files, workers=1) as first, loader_client.connect(files, workers=1) as second:
        pair = [first.batches(**README, seed=0), second.batches(**README, seed=1)]
        two = [digest(next(batches)) for batches in pair]
    return {"one": one, "two": two, "slots": slots, "refusal": refusal}


def refusals(files: str) -> dict[str, Any]:
    """Ask for more than there is, in a container and not, beside other services and files."""
    said = {}
    with loader_client.connect(files, workers=1, service={"memory": "70M"}) as connection:
        said["budget"] = _refusal(connection)
    with loader_client.connect(files, workers=1) as connection:
        said["alone"] = _refusal(connection)
        (shared_memory() / "of-somebody-else").write_bytes(bytes(5 * 2**20))
        with loader_client.connect(files, workers=1) as other:
            small: dict[str, Any] = {"batch_size": 1, "clip": Clip(frames=1), "image": Image(size=224)}
            theirs, ours = other.batches(**small), connection.batches(**small)
            next(theirs), next(ours)
            said["beside others"] = _refusal(connection)
    (shared_memory() / "of-somebody-else").unlink()
    return said


def stopped(files: str) -> dict[str, Any]:
    """Stop one worker of two, and see how long the longest pause is, and whether the batches are the same."""
    with loader_client.connect(files, workers=2) as connection:
        expected = [digest(batch) for batch in connection.batches(**BATCH, epochs=4)]
        seen, longest_s, begun = [], 0.0, time.monotonic()
        for number, batch in enumerate(connection.batches(**BATCH, epochs=4)):
            if number == 8:
                os.kill(connection.status().workers[0].pid, signal.SIGSTOP)
            elif number > 8:
                longest_s = max(longest_s, time.monotonic() - begun)
            seen.append(digest(batch))
            begun = time.monotonic()
        slots = [each.slots for each in connection.status().streams]
    return {"expected": expected, "seen": seen, "longest_s": longest_s, "slots": slots}


def notebook(files: str) -> dict[str, Any]:
    """Run a cell again and again, with datasets for training and validation; no cycle collector helps."""
    gc.disable()
    seen = []
    for _ in range(4):
        train = loader_client.dataset(files, workers=1, **README, seed=1)
        validation = loader_client.dataset(files, workers=1, **README, seed=2)
        seen.append([int(batch["index"][0]) for ds in (train, validation) for batch in ds.take(2)])
    return {"seen": seen}


def _spec() -> loader_client.Spec:
    return loader_client.Spec(BATCH["batch_size"], BATCH["clip"], BATCH["image"])


def _in_turns(places: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield the steps as three readers get them that begin at different places and take turns."""
    third = -(-len(places) // 3)
    readers = [places[begin : begin + third] for begin in range(0, len(places), third)]
    for turn in itertools.zip_longest(*readers):
        yield from filter(None, turn)


def _refusal(connection: loader_client.Connection) -> str:
    try:
        next(connection.batches(**README, prefetch=1))
    except LoaderError as error:
        return f"{type(error).__name__}: {error}"
    return ""


def main() -> None:
    scene, files, report = sys.argv[1:]
    heard = _Warnings()
    logging.getLogger().addHandler(heard)
    scenes = {each.__name__: each for each in (plain_epochs, epochs, two_streams, refusals, stopped, notebook)}
    saw = scenes[scene](files)
    with open(report, "wb") as file:
        pickle.dump({**saw, "warnings": heard.said}, file)


if __name__ == "__main__":
    os.environ.setdefault("XDG_RUNTIME_DIR", "/tmp")
    main()
