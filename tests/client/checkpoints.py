"""Saves an iterator after each element, and restores iterators from what was saved; for tests of checkpoints."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import loader_client
from loader_client import Clip, Connection

END = "end"
STEPS = 4

#: Iterators that are restored in one dataset before another one is made, which takes longer than all that they read.
RESTORED_IN_ONE = 7

Make = Callable[[], Any]


def numbered_dataset(connection: Connection, **options: Any) -> Any:
    """Return a dataset of one number for each step, that tells sample and start."""
    dataset = loader_client.dataset(
        connection, **{"batch_size": 1, "clip": Clip(frames=1), "fields": ("index", "start"), "prefetch": 2, **options}
    )
    return dataset.map(lambda index, start: 4 * start[0] + index[0])


def plain_value(tf: Any, element: Any) -> Any:
    def plain(tensor: Any) -> Any:
        return tensor.to_list() if isinstance(tensor, tf.RaggedTensor) else tensor.numpy().tolist()

    return tf.nest.map_structure(plain, element)


def following(tf: Any, iterator: Any, most: int) -> list[Any]:
    """Return an iterator's next elements, and that it ended if it did."""
    found: list[Any] = []
    while len(found) < most and (not found or found[-1] != END):
        element = next(iterator, None)
        found.append(END if element is None else plain_value(tf, element))
    return found


def first_life(tf: Any, dataset: Any, folder: Path) -> list[Any]:
    """Return all elements, and a checkpoint for each number of elements read, the last one when the end was seen."""
    iterator = iter(dataset)
    checkpoint = tf.train.Checkpoint(iterator=iterator)
    seen: list[Any] = []
    while not seen or seen[-1] != END:
        checkpoint.write(str(folder / str(len(seen))))
        seen += following(tf, iterator, 1)
    checkpoint.write(str(folder / str(len(seen))))
    return seen


def unlike(tf: Any, make: Callable[[], Any], folder: Path, *, restored_in_one: int = RESTORED_IN_ONE) -> list[int]:
    """Return the steps after which a restored iterator goes on otherwise than the one that was saved."""
    folder.mkdir()
    return unlike_those_seen(tf, make, folder, first_life(tf, make(), folder), restored_in_one)


def unlike_those_seen(
    tf: Any, make: Callable[[], Any], folder: Path, seen: list[Any], restored_in_one: int = RESTORED_IN_ONE
) -> list[int]:
    """Return the steps after which an iterator of other datasets does not go on with what was seen in a first life."""
    wrong = []
    for step in range(len(seen) + 1):
        if step % restored_in_one == 0:
            dataset = make()
        iterator = iter(dataset)
        tf.train.Checkpoint(iterator=iterator).read(str(folder / str(step))).assert_consumed()
        if following(tf, iterator, len(seen)) != (seen[step:] or [END]):
            wrong.append(step)
    return wrong


def symbolic_options(tf: Any) -> Any:
    options = tf.data.Options()
    options.experimental_symbolic_checkpoint = True
    return options


def index_of(tf: Any, kind: str) -> Any:
    """Return ten numbers of samples, in another order each epoch."""
    numbers = tf.data.Dataset.from_tensor_slices(tf.constant([3, 3, 1, 0, 2, 3, 1, 0, 0, 2], tf.int64))
    shuffled = numbers.shuffle(10, seed=5)
    return {"numbers": shuffled, "vectors": numbers.batch(2).shuffle(5, seed=5)}.get(kind, [3, 3, 1, 0, 2, 3, 1, 0])
