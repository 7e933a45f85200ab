"""What people write without a loader service, each as its expert would write it. Knows nothing of the service.

Every function returns an endless `tf.data.Dataset` of ((16, 16, 256, 342, 3) uint8, (16,) int64): random clips of 16
frames, in random order. All decode with the fastest DCT and plain upsampling, as the service does. The variants that
were tried and lost are named where one stands that won.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import h5py
import numpy as np
import simplejpeg
import tensorflow as tf

from benchmarks.data import BATCH_SIZE, CLIP_FRAMES, HEIGHT, WIDTH, Data, Pixels

AUTOTUNE = tf.data.AUTOTUNE
_CORES = len(os.sched_getaffinity(0))
_CLIP_SHAPE = (CLIP_FRAMES, HEIGHT, WIDTH, 3)
_LABEL = tf.TensorSpec((), tf.int64)


def map_py_function(data: Data) -> Any:
    """Open the file of each sample in a `py_function`: where most people start.

    The body holds the GIL only around its calls of h5py and simplejpeg, which let it go while they decode.
    """
    random = np.random.default_rng()

    def load(path: Any, name: Any) -> tuple[Pixels, int]:
        with h5py.File(path.numpy().decode()) as file:
            video = file[name.numpy().decode()]
            return _decode(_random_clip(video["frames"], random)), int(video.attrs["label"])

    def load_op(path: Any, name: Any) -> tuple[Any, Any]:
        clip, label = tf.py_function(load, (path, name), (tf.uint8, tf.int64))
        return tf.ensure_shape(clip, _CLIP_SHAPE), tf.ensure_shape(label, ())

    paths, names = zip(*_videos(data), strict=True)
    samples = tf.data.Dataset.from_tensor_slices((list(paths), list(names))).shuffle(len(paths)).repeat()
    return _batched(samples.map(load_op, AUTOTUNE))


def generators_interleaved(data: Data) -> Any:
    """Interleave one `from_generator` a file, each with its file open and decoding its own clips."""

    def clips(path: bytes) -> Iterator[tuple[Pixels, int]]:
        for frames, label in _clips_of(path.decode()):
            yield _decode(frames), label

    clip = tf.TensorSpec(_CLIP_SHAPE, tf.uint8)
    return _batched(_interleaved(data, clips, clip), threads=2 * _CORES)


def generators_of_bytes(data: Data) -> Any:
    """Read encoded frames with h5py in one generator a file; TensorFlow's own threads decode them."""

    def clips(path: bytes) -> Iterator[tuple[list[bytes], int]]:
        for frames, label in _clips_of(path.decode()):
            yield [frame.tobytes() for frame in frames], label

    encoded = _interleaved(data, clips, tf.TensorSpec((CLIP_FRAMES,), tf.string))
    decoded = encoded.map(lambda frames, label: (_decode_op(frames), label), AUTOTUNE)
    return _batched(decoded, threads=2 * _CORES)


def tfrecord(data: Data) -> Any:
    """Read ready-made clips from TFRecord: TensorFlow's best, for which the data is written a second time.

    Clips lie in the records as they will be used, so nothing is read in vain; the price is that they are the same in
    each epoch. Also tried: a parallel map over frames, `map_fn`, whole batches in one map, fused map and batch, and
    thread pools of other sizes: all of them as fast as this or slower.
    """
    features = {
        "frames": tf.io.FixedLenFeature((CLIP_FRAMES,), tf.string),
        "label": tf.io.FixedLenFeature((), tf.int64),
    }

    def decode(record: Any) -> tuple[Any, Any]:
        clip = tf.io.parse_single_example(record, features)
        return _decode_op(clip["frames"]), clip["label"]

    files = tf.data.Dataset.from_tensor_slices(data.clips).shuffle(len(data.clips)).repeat()
    records = files.interleave(
        tf.data.TFRecordDataset, cycle_length=4, num_parallel_calls=AUTOTUNE, deterministic=False
    )
    return _batched(records.shuffle(64).map(decode, AUTOTUNE))


def _decode_op(frames: Any) -> Any:
    """Return the decoded clip of 16 encoded frames, in as many nodes of the graph: cheaper than a loop in it."""
    pixels = [
        tf.io.decode_jpeg(frame, channels=3, dct_method="INTEGER_FAST", fancy_upscaling=False)
        for frame in tf.unstack(frames, CLIP_FRAMES)
    ]
    return tf.ensure_shape(tf.stack(pixels), _CLIP_SHAPE)


def _batched(clips: Any, threads: int = _CORES) -> Any:
    """Return batches of `clips`, prefetched, in any order, made by a thread pool of this size."""
    options = tf.data.Options()
    options.deterministic = False
    options.threading.private_threadpool_size = threads
    options.threading.max_intra_op_parallelism = 1
    return clips.batch(BATCH_SIZE, drop_remainder=True).prefetch(AUTOTUNE).with_options(options)


def _interleaved(data: Data, generate: Any, clip: Any) -> Any:
    """Return the clips of one generator a file, taken in turns; more at once only fight for the GIL."""
    return tf.data.Dataset.from_tensor_slices(data.videos).interleave(
        lambda path: tf.data.Dataset.from_generator(generate, args=(path,), output_signature=(clip, _LABEL)),
        cycle_length=len(data.videos),
        num_parallel_calls=2 * _CORES,
        deterministic=False,
    )


def _clips_of(path: str) -> Iterator[tuple[Any, int]]:
    """Yield random clips of a file, still encoded, without end; its datasets are opened and labels read only once."""
    random = np.random.default_rng()
    with h5py.File(path) as file:
        videos = [(video["frames"], int(video.attrs["label"])) for video in file.values()]
        while True:
            for position in random.permutation(len(videos)):
                frames, label = videos[position]
                yield _random_clip(frames, random), label


def _random_clip(frames: h5py.Dataset, random: np.random.Generator) -> Any:
    start = int(random.integers(frames.shape[0] - CLIP_FRAMES + 1))
    return frames[start : start + CLIP_FRAMES]


def _decode(frames: Any) -> Pixels:
    clip = np.empty(_CLIP_SHAPE, np.uint8)
    for frame, place in zip(frames, clip, strict=True):
        simplejpeg.decode_jpeg(frame, "RGB", fastdct=True, fastupsample=True, buffer=place)
    return clip


def _videos(data: Data) -> list[tuple[str, str]]:
    """Return (path, name) of each video."""
    found = []
    for path in data.videos:
        with h5py.File(path) as file:
            found += [(path, name) for name in file]
    return found
