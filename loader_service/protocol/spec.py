"""What a client asks for, as frozen data: clips, images, order, batches. Knows no file and no process."""

from __future__ import annotations

from dataclasses import dataclass, field
from numbers import Integral
from typing import Literal

from loader_service.errors import ConfigError
from loader_service.protocol.numbers import whole_number

Sampling = Literal["random", "center", "start", "every"]
Crop = Literal["none", "center", "random"]
Batching = Literal["pad", "ragged", "bucket"]
Order = Literal["global", "interleave"]
OnError = Literal["raise", "substitute"]

#: Largest values a spec may hold. A spec comes from a socket, so each number has a bound before it sizes anything.
MAX_BATCH_SIZE = 65_536
MAX_CLIP_FRAMES = 65_536
MAX_IMAGE_SIDE = 16_384
MAX_PREFETCH = 1_024
MAX_SEED = 2**63 - 1
MAX_WORLD = 1_000_000
MAX_FIELDS = 64
MAX_CYCLE_LENGTH = 65_536
MAX_BLOCK_LENGTH = 2**31
MAX_BAD_SAMPLES = 2**62


def _take_whole(instance: object, name: str, lowest: int, highest: int, prefix: str = "") -> None:
    """Check a whole number of an instance that is being made, and make it Python's own: NumPy's cannot travel."""
    number = whole_number(f"{prefix}{name}", getattr(instance, name), lowest, highest)
    object.__setattr__(instance, name, number)


def _take_list_for_tuple(instance: object, *names: str) -> None:
    """Turn the lists that people write where a tuple is meant into tuples, in an instance that is being made."""
    for name in names:
        if isinstance(getattr(instance, name), list):
            object.__setattr__(instance, name, tuple(getattr(instance, name)))


def _check_choice(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ConfigError(f"{name}={value!r} is unknown; choose one of {', '.join(map(repr, choices))}")


@dataclass(frozen=True)
class Clip:
    """Which frames of a video make a sample.

    Parameters
    ----------
    frames
        Frames in a clip. A video too short for it repeats its last frame; the field `length` counts the real ones.
    stride
        Distance, in frames of the video, between neighbouring frames of the clip.
    sampling
        ``"random"``: one clip a video and epoch, its start drawn anew each epoch; ``"center"`` and ``"start"``: one
        clip a video, always the same; ``"every"``: each window is a sample of its own.
    hop
        For ``"every"``: distance, in frames, between the starts of neighbouring windows; 1 gives all windows.

    Raises
    ------
    ConfigError
        When a value is out of range.
    """

    frames: int
    stride: int = 1
    sampling: Sampling = "random"
    hop: int = 1

    def __post_init__(self) -> None:
        for name in ("frames", "stride", "hop"):
            _take_whole(self, name, 1, MAX_CLIP_FRAMES, "Clip.")
        _check_choice("Clip.sampling", self.sampling, ("random", "center", "start", "every"))

    @property
    def span(self) -> int:
        """Frames of the video from the clip's first to its last, both counted."""
        return (self.frames - 1) * self.stride + 1


@dataclass(frozen=True)
class Frame:
    """Each frame of each video is a sample of its own, and its fields have no time axis.

    A row of a table, such as a matrix of features, is a frame in this sense too.
    """


@dataclass(frozen=True)
class Image:
    """How a decoded frame becomes the pixels of a sample; the same cut and mirroring for all frames of a clip.

    Parameters
    ----------
    size
        ``(height, width)`` in pixels: exactly this. One number: the short side is scaled to it and the other follows;
        with a crop, a square of that side is cut out. None: the frame's own size, which all videos must share.
    crop
        ``"none"``: the whole frame is scaled to `size`, aspect not kept when `size` is exact. ``"center"``,
        ``"random"``: a window of `size` is cut out of the frame; a frame too small for it is enlarged first.
    flip
        Mirror left to right with probability one half, drawn per sample.
    channels
        3 for RGB, 1 for grey (the JPEG's luma).
    short_side
        Scale the short side to this many pixels before cropping; None keeps the frame's own scale.

    Raises
    ------
    ConfigError
        When a value is out of range, or the values contradict each other.
    """

    size: int | tuple[int, int] | None = None
    crop: Crop = "none"
    flip: bool = False
    channels: Literal[1, 3] = 3
    short_side: int | None = None

    def __post_init__(self) -> None:
        if isinstance(self.size, (tuple, list)):
            if len(self.size) != 2:
                raise ConfigError(f"Image.size={self.size!r} has {len(self.size)} numbers; give (height, width)")
            sides = tuple(whole_number("Image.size", side, 1, MAX_IMAGE_SIDE) for side in self.size)
            object.__setattr__(self, "size", sides)
        elif self.size is not None:
            _take_whole(self, "size", 1, MAX_IMAGE_SIDE, "Image.")
        _check_choice("Image.crop", self.crop, ("none", "center", "random"))
        if not isinstance(self.flip, bool):
            raise ConfigError(f"Image.flip={self.flip!r} is no truth value; give True or False")
        if isinstance(self.channels, bool) or not isinstance(self.channels, Integral) or self.channels not in (1, 3):
            raise ConfigError(f"Image.channels={self.channels!r}; give 3 for RGB or 1 for grey")
        object.__setattr__(self, "channels", int(self.channels))
        if self.crop != "none" and self.size is None:
            raise ConfigError(f"Image.crop={self.crop!r} needs a size to cut out; give Image(size=(height, width))")
        if self.short_side is not None:
            _take_whole(self, "short_side", 1, MAX_IMAGE_SIDE, "Image.")
            self._check_short_side(self.short_side)

    def _check_short_side(self, short_side: int) -> None:
        if self.crop == "none" or not isinstance(self.size, tuple):
            raise ConfigError(
                f"Image.short_side={short_side!r} scales before an exact crop; "
                "give it with size=(height, width) and crop='center' or 'random'"
            )
        if short_side < min(self.size):
            raise ConfigError(
                f"Image.short_side={short_side!r} is smaller than the window {self.size!r}; "
                f"give at least {min(self.size)}"
            )


@dataclass(frozen=True)
class Spec:
    """All that decides which samples a stream delivers, in which order and form.

    Together with the catalog and an epoch and step number it determines every byte of a batch.

    Parameters
    ----------
    batch_size
        Samples in a batch.
    clip
        Which frames make a sample: those of a `Clip`, a single `Frame`, or, with None, all of the video.
    image
        How frames become pixels.
    fields
        Names of the fields of an element, in order; None for all that the catalog offers.
    batching
        How whole videos of different length become a batch. ``"pad"``: zeros up to the longest of the batch;
        ``"ragged"``: one after the other, without padding; ``"bucket"``: padded, in steps of similar lengths.
    shuffle
        Whether an epoch is a permutation of all samples, or goes through them in catalog order. With
        ``order="interleave"``: whether the files come in another order in each epoch.
    order
        ``"global"``: over all files. ``"interleave"``: `block_length` samples of each of `cycle_length` files in turn,
        as `tf.data.Dataset.interleave` has them.
    cycle_length, block_length
        For ``"interleave"``.
    seed
        Chooses the permutations and the draws of clip, crop and mirroring.
    shard
        ``(rank, world)``: this stream takes every world-th sample of the epoch, beginning with the rank-th.
    drop_remainder
        Whether an incomplete last batch is left out.
    prefetch
        Steps that are filled ahead of the one in use; 0 lets the service choose.
    on_error
        ``"raise"``: a bad sample is an error that names it. ``"substitute"``: another sample takes its place.
    max_bad_samples
        For ``"substitute"``: more of them in one epoch are an error. None: any number.
    indexed
        Whether each want names its samples itself, rather than leaving them to the plan; adds the field `position`.

    Raises
    ------
    ConfigError
        When a value is out of range, or the values contradict each other.
    """

    batch_size: int
    clip: Clip | Frame | None
    image: Image = field(default_factory=Image)
    fields: tuple[str, ...] | None = None
    shuffle: bool = True
    seed: int = 0
    shard: tuple[int, int] = (0, 1)
    drop_remainder: bool = True
    prefetch: int = 0
    on_error: OnError = "raise"
    batching: Batching = "pad"
    order: Order = "global"
    cycle_length: int = 16
    block_length: int = 1
    max_bad_samples: int | None = None
    indexed: bool = False

    def __post_init__(self) -> None:
        _take_whole(self, "batch_size", 1, MAX_BATCH_SIZE)
        _take_whole(self, "seed", 0, MAX_SEED)
        _take_whole(self, "prefetch", 0, MAX_PREFETCH)
        _take_whole(self, "cycle_length", 1, MAX_CYCLE_LENGTH)
        _take_whole(self, "block_length", 1, MAX_BLOCK_LENGTH)
        _check_choice("on_error", self.on_error, ("raise", "substitute"))
        _check_choice("batching", self.batching, ("pad", "ragged", "bucket"))
        _check_choice("order", self.order, ("global", "interleave"))
        for name in ("shuffle", "drop_remainder", "indexed"):
            if not isinstance(getattr(self, name), bool):
                raise ConfigError(f"{name}={getattr(self, name)!r} is no truth value; give True or False")
        if self.clip is not None and not isinstance(self.clip, (Clip, Frame)):
            raise ConfigError(f"clip={self.clip!r}; give Clip(frames=…), Frame(), or None for whole videos")
        if not isinstance(self.image, Image):
            raise ConfigError(f"image={self.image!r} is no Image; give Image(…)")
        self._check_combinations()
        self._check_shard()
        _take_list_for_tuple(self, "fields")
        if self.fields is not None:
            self._check_fields(self.fields)

    def _check_combinations(self) -> None:
        if self.batching != "pad" and self.clip is not None:
            raise ConfigError(
                f"batching={self.batching!r} is for whole videos, and clips all have one length; give clip=None"
            )
        if self.max_bad_samples is not None:
            _take_whole(self, "max_bad_samples", 0, MAX_BAD_SAMPLES)
            if self.on_error != "substitute":
                raise ConfigError(
                    f"max_bad_samples={self.max_bad_samples!r} with on_error='raise', where the first bad sample is an "
                    "error; give on_error='substitute'"
                )
        if self.order == "interleave" and (self.indexed or self.batching == "bucket"):
            other = "an index" if self.indexed else "batching='bucket'"
            raise ConfigError(f"order='interleave' and {other} both say which samples make a step; leave one out")
        if self.indexed and self.batching == "bucket":
            raise ConfigError("batching='bucket' and an index both say which samples make a step; leave one out")

    def _check_shard(self) -> None:
        if not isinstance(self.shard, (tuple, list)) or len(self.shard) != 2:
            raise ConfigError(f"shard={self.shard!r} is not a pair; give (rank, world)")
        world = whole_number("shard world", self.shard[1], 1, MAX_WORLD)
        object.__setattr__(self, "shard", (whole_number("shard rank", self.shard[0], 0, world - 1), world))

    @property
    def varies(self) -> bool:
        """Whether samples have a time axis of different length."""
        return self.clip is None

    def _check_fields(self, fields: tuple[str, ...]) -> None:
        if not isinstance(fields, tuple) or not all(isinstance(name, str) for name in fields):
            hint = f"({fields!r},)" if isinstance(fields, str) else "names, such as ('frames', 'label')"
            raise ConfigError(f"fields={fields!r} is not a tuple of names; give {hint}")
        if not fields:
            raise ConfigError("fields=() asks for nothing; name at least one field, or give None for all")
        if len(fields) > MAX_FIELDS:
            raise ConfigError(f"{len(fields)} fields are more than a stream can have; give at most {MAX_FIELDS}")
        if len(set(fields)) != len(fields):
            raise ConfigError(f"fields={fields!r} names a field twice")
