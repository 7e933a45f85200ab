"""Specs: what they take, and the errors of a person who mistypes one."""

from __future__ import annotations

import numpy as np
import pytest

from loader_service.errors import ConfigError
from loader_service.protocol import wire
from loader_service.protocol.messages import OpenStream
from loader_service.protocol.spec import Clip, Image, Spec
from loader_service.protocol.windows import Window

CLIP = Clip(frames=4)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"batch_size": 0}, "batch_size=0 is out of range; give 1 to 65536"),
        ({"batch_size": 65_537}, "batch_size=65537 is out of range"),
        ({"batch_size": 16.0}, "batch_size=16.0 is not a whole number"),
        ({"batch_size": True}, "batch_size=True is not a whole number"),
        ({"batch_size": "16"}, "batch_size='16' is not a whole number"),
        ({"seed": -1}, "seed=-1 is out of range"),
        ({"seed": 2**63}, "seed=9223372036854775808 is out of range"),
        ({"prefetch": -1}, "prefetch=-1 is out of range"),
        ({"shard": (2, 2)}, "shard rank=2 is out of range; give 0 to 1"),
        ({"shard": (0, 0)}, "shard world=0 is out of range"),
        ({"shard": (0,)}, "shard=(0,) is not a pair"),
        ({"shard": 3}, "shard=3 is not a pair"),
        ({"shuffle": 1}, "shuffle=1 is no truth value"),
        ({"drop_remainder": None}, "drop_remainder=None is no truth value"),
        ({"on_error": "skip"}, "on_error='skip' is unknown; choose one of 'raise', 'substitute'"),
        ({"fields": ()}, "fields=() asks for nothing"),
        ({"fields": ("label", "label")}, "names a field twice"),
        ({"fields": "frames"}, "fields='frames' is not a tuple of names; give ('frames',)"),
        ({"fields": ("frames", 3)}, "fields=('frames', 3) is not a tuple of names"),
        ({"fields": 3}, "fields=3 is not a tuple of names"),
        ({"fields": tuple(map(str, range(65)))}, "65 fields are more than a stream can have"),
        ({"clip": 4}, "clip=4; give Clip(frames=…), Frame(), or None for whole videos"),
        ({"batching": "bucket"}, "batching='bucket' is for whole videos"),
        ({"windows": ("boxes",)}, "give a list of Window"),
        ({"windows": [Window("boxes", (5,)), Window("boxes", (6,))]}, "name a field twice"),
        ({"windows": [Window(str(number), (1,)) for number in range(65)]}, "65 windows"),
        ({"batching": "bag", "clip": None}, "batching='bag' is unknown"),
        ({"order": "files"}, "order='files' is unknown"),
        ({"cycle_length": 0}, "cycle_length=0 is out of range"),
        ({"block_length": 0}, "block_length=0 is out of range"),
        ({"order": "interleave", "indexed": True}, "order='interleave' and an index both say"),
        ({"order": "interleave", "batching": "bucket", "clip": None}, "order='interleave' and batching='bucket'"),
        ({"batching": "bucket", "clip": None, "indexed": True}, "batching='bucket' and an index"),
        ({"indexed": 1}, "indexed=1 is no truth value"),
        ({"max_bad_samples": 3}, "max_bad_samples=3 with on_error='raise'"),
        ({"max_bad_samples": -1, "on_error": "substitute"}, "max_bad_samples=-1 is out of range"),
        ({"image": (224, 224)}, "image=(224, 224) is no Image; give Image(size=…)"),
    ],
)
def test_a_spec_says_what_is_wrong_with_it(values, said):
    with pytest.raises(ConfigError) as caught:
        Spec(**{"batch_size": 16, "clip": CLIP, **values})
    assert said in str(caught.value)


def test_numbers_of_numpy_are_taken_as_pythons_own():
    eight = np.int64(8)
    spec = Spec(
        batch_size=np.uint8(16),
        clip=Clip(frames=eight, stride=np.int32(2), hop=eight),
        image=Image(size=(eight, np.uint16(9)), crop="random", channels=np.int64(3), short_side=np.int64(9)),
        seed=np.uint64(2**63 - 1),
        shard=[np.int64(1), eight],
        prefetch=eight,
        on_error="substitute",
        max_bad_samples=eight,
        cycle_length=eight,
        block_length=np.array(8),
    )
    image = Image(size=(8, 9), crop="random", short_side=9)
    plain = Spec(16, Clip(8, 2, hop=8), image, seed=2**63 - 1, shard=(1, 8), prefetch=8, on_error="substitute",
                 max_bad_samples=8, cycle_length=8, block_length=8)  # fmt: skip
    assert repr(spec) == repr(plain)  # which tells an np.int64 from an int
    assert wire.decode(wire.encode(OpenStream(1, spec)), OpenStream) == [OpenStream(1, plain)]


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"frames": 0}, "Clip.frames=0 is out of range"),
        ({"frames": -3}, "Clip.frames=-3 is out of range"),
        ({"frames": 4, "stride": 0}, "Clip.stride=0 is out of range"),
        ({"frames": 4, "hop": 0}, "Clip.hop=0 is out of range"),
        ({"frames": 4, "sampling": "all"}, "Clip.sampling='all' is unknown"),
        ({"frames": np.float32(4)}, "is not a whole number"),
    ],
)
def test_a_clip_says_what_is_wrong_with_it(values, said):
    with pytest.raises(ConfigError, match="Clip") as caught:
        Clip(**values)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"size": 0}, "Image.size=0 is out of range"),
        ({"size": (224, 0)}, "Image.size=0 is out of range"),
        ({"size": (1, 2, 3)}, "has 3 numbers"),
        ({"size": 16_385}, "is out of range; give 1 to 16384"),
        ({"size": "224"}, "is not a whole number"),
        ({"crop": "middle", "size": 8}, "Image.crop='middle' is unknown"),
        ({"crop": "center"}, "needs a size to cut out"),
        ({"flip": 1}, "Image.flip=1 is no truth value"),
        ({"channels": 4}, "Image.channels=4; give 3"),
        ({"chroma": "best"}, "Image.chroma='best' is unknown; choose one of 'fast', 'exact'"),
        ({"colors": "BGR"}, "Image.colors='BGR' is unknown; choose one of 'rgb', 'bgr'"),
        ({"colors": "bgr", "channels": 1}, "Image.colors='bgr' swaps channels, and channels=1 has one"),
        ({"channels": True}, "Image.channels=True; give 3"),
        ({"channels": 3.0}, "Image.channels=3.0; give 3"),
        ({"short_side": 8}, "scales before an exact crop"),
        ({"short_side": 7, "size": (8, 9), "crop": "center"}, "is smaller than the window (8, 9); give at least 8"),
        ({"short_side": (7, 9), "size": (8, 9), "crop": "center"}, "(7, 9) is smaller than the window (8, 9)"),
        ({"short_side": (9, 8), "size": (8, 9), "crop": "center"}, "the larger number first; give (least, largest)"),
        ({"short_side": (9,), "size": (8, 9), "crop": "center"}, "has 1 number; give one, or (least, largest)"),
        ({"short_side": (), "size": (8, 9), "crop": "center"}, "has 0 numbers"),
        ({"short_side": "9", "size": (8, 9), "crop": "center"}, "Image.short_side='9' is not a whole number"),
        ({"short_side": (0, 8), "size": (8, 9), "crop": "center"}, "Image.short_side=0 is out of range"),
        ({"short_side": 9, "size": (8, 9), "crop": "resized"}, "scales before an exact crop"),
        ({"crop": "resized"}, "Image.crop='resized' needs a size"),
        ({"crop": "resized", "size": 8, "scale": (0.0, 1.0)}, "Image.scale=(0.0, 1.0) is out of range"),
        ({"crop": "resized", "size": 8, "scale": (0.5, 1.5)}, "Image.scale=(0.5, 1.5) is out of range"),
        ({"crop": "resized", "size": 8, "scale": (0.5, 0.4)}, "Image.scale=(0.5, 0.4) is out of range"),
        ({"crop": "resized", "size": 8, "scale": 0.5}, "Image.scale=0.5 is no pair of numbers"),
        ({"crop": "resized", "size": 8, "scale": (0.5, float("nan"))}, "holds nan, which is no number"),
        ({"crop": "resized", "size": 8, "ratio": (0, 1)}, "Image.ratio=(0, 1) is out of range"),
        ({"crop": "resized", "size": 8, "ratio": (1, 2000)}, "Image.ratio=(1, 2000) is out of range"),
        ({"crop": "resized", "size": 8, "ratio": ("3/4", 1)}, "holds '3/4', which is no number"),
        ({"crop": "random", "size": 8, "scale": (0.2, 1.0)}, "only crop='resized' draws, and crop is 'random'"),
        ({"ratio": (1, 1)}, "Image.ratio=(1.0, 1.0) is of a box that only crop='resized' draws"),
        ({"decode": "half"}, "Image.decode='half' is unknown; choose one of 'reduced', 'full'"),
        ({"strict": 1}, "Image.strict=1 is no truth value"),
    ],
)
def test_an_image_says_what_is_wrong_with_it(values, said):
    with pytest.raises(ConfigError) as caught:
        Image(**values)
    assert said in str(caught.value)


def test_boxes_and_drawn_sides_travel_as_pythons_own_numbers():
    image = Image(size=8, crop="resized", scale=[np.float32(0.5), 1], ratio=(np.float64(0.75), np.int64(2)))
    drawn = Image(size=(8, 8), crop="random", short_side=[np.int64(9), 12])
    assert repr(image) == repr(Image(size=8, crop="resized", scale=(0.5, 1.0), ratio=(0.75, 2.0)))
    assert repr(drawn) == repr(Image(size=(8, 8), crop="random", short_side=(9, 12)))
    for each in (image, drawn):
        spec = Spec(16, CLIP, each)
        assert hash(spec) == hash(Spec(16, CLIP, each))
        assert wire.decode(wire.encode(OpenStream(1, spec)), OpenStream) == [OpenStream(1, spec)]


def test_lists_are_taken_for_tuples():
    spec = Spec(16, CLIP, Image(size=[8, 9]), fields=["frames", "label"], shard=[0, 2])  # type: ignore[arg-type]
    assert spec == Spec(16, CLIP, Image(size=(8, 9)), fields=("frames", "label"), shard=(0, 2))
    assert hash(spec) == hash(spec)


@pytest.mark.parametrize(("frames", "stride", "span"), [(1, 1, 1), (1, 9, 1), (16, 1, 16), (16, 2, 31)])
def test_span_of_a_clip_counts_both_ends(frames, stride, span):
    assert Clip(frames, stride).span == span
