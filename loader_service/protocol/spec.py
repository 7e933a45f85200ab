"""What a client asks for, as frozen data: clips, images, order, batches. Knows no file and no process."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from numbers import Integral
from typing import Any, Literal, get_args, get_origin, get_type_hints

from loader_service.errors import ConfigError
from loader_service.protocol.chosen_videos import read_names, read_split
from loader_service.protocol.consumed import MAX_BATCH_SIZE, MAX_WORLD, ResumedEpoch
from loader_service.protocol.later_fields import later
from loader_service.protocol.numbers import whole_number
from loader_service.protocol.windows import Window

Sampling = Literal["random", "center", "start", "every"]
Crop = Literal["none", "center", "random"]
Colors = Literal["rgb", "bgr"]
Chroma = Literal["fast", "exact"]
Batching = Literal["pad", "ragged", "bucket"]
Order = Literal["global", "interleave"]
OnError = Literal["raise", "substitute"]

#: Largest values a spec may hold. A spec comes from a socket, so each number has a bound before it sizes anything.
MAX_CLIP_FRAMES = 65_536
MAX_IMAGE_SIDE = 16_384
MAX_PREFETCH = 1_024
MAX_SEED = 2**63 - 1
MAX_FIELDS = 64
MAX_CYCLE_LENGTH = 65_536
MAX_BLOCK_LENGTH = 2**31
MAX_BAD_SAMPLES = 2**62


def _whole(lowest: int, highest: int) -> dict[str, Any]:
    """Return what declares a field a whole number with bounds; None is left alone where it may be given."""
    return {"bounds": (lowest, highest)}


def _check_each(instance: Any, prefix: str = "") -> None:
    """Check each number, truth value and choice of an instance that is being made, as its fields declare them.

    Whole numbers become Python's own, since NumPy's cannot travel, and lists that people write for tuples become those.
    """
    hints = get_type_hints(type(instance))
    for each in fields(instance):
        value, hint, name = getattr(instance, each.name), hints[each.name], f"{prefix}{each.name}"
        if isinstance(value, list):
            object.__setattr__(instance, each.name, tuple(value))
        if "bounds" in each.metadata:
            if value is not None or type(None) not in get_args(hint):
                object.__setattr__(instance, each.name, whole_number(name, value, *each.metadata["bounds"]))
        elif hint is bool and not isinstance(value, bool):
            raise ConfigError(f"{name}={value!r} is no truth value; give True or False")
        elif get_origin(hint) is Literal and value not in get_args(hint):
            raise ConfigError(f"{name}={value!r} is unknown; choose one of {', '.join(map(repr, get_args(hint)))}")


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

    frames: int = field(metadata=_whole(1, MAX_CLIP_FRAMES))
    stride: int = field(default=1, metadata=_whole(1, MAX_CLIP_FRAMES))
    sampling: Sampling = "random"
    hop: int = field(default=1, metadata=_whole(1, MAX_CLIP_FRAMES))

    def __post_init__(self) -> None:
        _check_each(self, "Clip.")

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
    colors
        How the files hold colours: ``"rgb"``, or ``"bgr"`` where red and blue are swapped, as when a writer gave RGB to
        `cv2.imencode`. They are swapped back, in JPEGs and in stored pixels; samples are RGB either way.
    chroma
        How a JPEG's subsampled colours are decoded. ``"fast"``: each is repeated for its neighbours. ``"exact"``: they
        are interpolated, and the DCT is the accurate one: the pixels that Pillow and OpenCV give, unless the frame is
        also scaled down. `docs/design.md` has what the fast way leaves out; at the edges of strong colours it shows.

    Raises
    ------
    ConfigError
        When a value is out of range, or the values contradict each other.
    """

    size: int | tuple[int, int] | None = None
    crop: Crop = "none"
    flip: bool = False
    channels: Literal[1, 3] = 3
    short_side: int | None = field(default=None, metadata=_whole(1, MAX_IMAGE_SIDE))
    colors: Colors = "rgb"
    chroma: Chroma = "fast"

    def __post_init__(self) -> None:
        if isinstance(self.size, (tuple, list)):
            if len(self.size) != 2:
                raise ConfigError(f"Image.size={self.size!r} has {len(self.size)} numbers; give (height, width)")
            sides = tuple(whole_number("Image.size", side, 1, MAX_IMAGE_SIDE) for side in self.size)
            object.__setattr__(self, "size", sides)
        elif self.size is not None:
            object.__setattr__(self, "size", whole_number("Image.size", self.size, 1, MAX_IMAGE_SIDE))
        if isinstance(self.channels, bool) or not isinstance(self.channels, Integral) or self.channels not in (1, 3):
            raise ConfigError(f"Image.channels={self.channels!r}; give 3 for RGB or 1 for grey")
        object.__setattr__(self, "channels", int(self.channels))
        _check_each(self, "Image.")
        if self.channels == 1 and self.colors != "rgb":
            raise ConfigError(
                f"Image.colors={self.colors!r} swaps channels, and channels=1 has one: a JPEG's luma, which is another "
                "when red and blue are swapped; give channels=3, and make it grey with tf.image.rgb_to_grayscale"
            )
        if self.crop != "none" and self.size is None:
            raise ConfigError(f"Image.crop={self.crop!r} needs a size to cut out; give Image(size=(height, width))")
        if self.short_side is not None:
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
        How whole videos, and lists of numbers, of different length become a batch. ``"pad"``: zeros behind them, up to
        the longest video of the batch, or the longest list of all; ``"ragged"``: one after the other, without padding;
        ``"bucket"``: padded, in steps of videos of similar lengths.
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
    split
        Part of the videos, or of the rows of tables, by a hash of their names: ``"train[:90%]"``, ``"train[90%:]"``.
        Numbers of samples stay those of all.
    videos
        Names of the videos, or tables, that an epoch goes through; None for all.
    windows
        How much of each array a batch has room for, where that is not all; see `Window`.
    resumed
        The epoch that ranks of another world had begun, and how far they were: this stream shares the rest of it.

    Raises
    ------
    ConfigError
        When a value is out of range, or the values contradict each other.
    """

    batch_size: int = field(metadata=_whole(1, MAX_BATCH_SIZE))
    clip: Clip | Frame | None
    image: Image = field(default_factory=Image)
    fields: tuple[str, ...] | None = None
    shuffle: bool = True
    seed: int = field(default=0, metadata=_whole(0, MAX_SEED))
    shard: tuple[int, int] = (0, 1)
    drop_remainder: bool = True
    prefetch: int = field(default=0, metadata=_whole(0, MAX_PREFETCH))
    on_error: OnError = "raise"
    batching: Batching = "pad"
    order: Order = "global"
    cycle_length: int = field(default=16, metadata=_whole(1, MAX_CYCLE_LENGTH))
    block_length: int = field(default=1, metadata=_whole(1, MAX_BLOCK_LENGTH))
    max_bad_samples: int | None = field(default=None, metadata=_whole(0, MAX_BAD_SAMPLES))
    indexed: bool = False
    split: str | None = None
    videos: tuple[str, ...] | None = field(default=None, repr=False)  # there may be 100,000
    windows: tuple[Window, ...] = ()
    resumed: ResumedEpoch | None = later(None)

    def __post_init__(self) -> None:
        _check_each(self)
        if self.clip is not None and not isinstance(self.clip, (Clip, Frame)):
            raise ConfigError(f"clip={self.clip!r}; give Clip(frames=…), Frame(), or None for whole videos")
        if not isinstance(self.image, Image):
            raise ConfigError(f"image={self.image!r} is no Image; give Image(…)")
        self._check_combinations()
        self._check_shard()
        if self.fields is not None:
            self._check_fields(self.fields)
        if self.split is not None:
            read_split(self.split)
        if self.videos is not None:
            object.__setattr__(self, "videos", read_names(self.videos))
        if self.resumed is not None and not isinstance(self.resumed, ResumedEpoch):
            raise ConfigError(f"resumed={self.resumed!r:.200} is no ResumedEpoch; give start=, which makes one")
        self._check_windows()

    def _check_windows(self) -> None:
        if isinstance(self.windows, Window):
            object.__setattr__(self, "windows", (self.windows,))
        elif isinstance(self.windows, Iterable):
            object.__setattr__(self, "windows", tuple(self.windows))
        if not isinstance(self.windows, tuple) or not all(isinstance(each, Window) for each in self.windows):
            raise ConfigError(f"windows={self.windows!r:.200}; give a list of Window(field, size), one for each field")
        if len(self.windows) > MAX_FIELDS:
            raise ConfigError(
                f"{len(self.windows)} windows are more than a stream has fields; give at most {MAX_FIELDS}"
            )
        if len({each.field for each in self.windows}) < len(self.windows):
            raise ConfigError(f"windows={self.windows!r:.200} name a field twice; give each field one Window")

    def _check_combinations(self) -> None:
        if self.batching == "bucket" and self.clip is not None:
            raise ConfigError(
                f"batching={self.batching!r} is for whole videos, and clips all have one length; give clip=None"
            )
        if self.max_bad_samples is not None and self.on_error != "substitute":
            raise ConfigError(
                f"max_bad_samples={self.max_bad_samples!r} with on_error='raise', where the first bad sample is an "
                "error; give on_error='substitute'"
            )
        if self.order == "interleave" and (self.indexed or self.batching == "bucket"):
            other = "an index" if self.indexed else "batching='bucket'"
            raise ConfigError(f"order='interleave' and {other} both say which samples make a step; leave one out")
        if self.indexed and self.batching == "bucket":
            raise ConfigError("batching='bucket' and an index both say which samples make a step; leave one out")
        if self.indexed and (self.split is not None or self.videos is not None):
            other = "split" if self.videos is None else "videos"
            raise ConfigError(f"{other}= and an index both say which samples an epoch holds; leave one out")

    def _check_shard(self) -> None:
        if not isinstance(self.shard, (tuple, list)) or len(self.shard) != 2:
            raise ConfigError(f"shard={self.shard!r} is not a pair; give (rank, world)")
        world = whole_number("shard world", self.shard[1], 1, MAX_WORLD)
        object.__setattr__(self, "shard", (whole_number("shard rank", self.shard[0], 0, world - 1), world))

    @property
    def varies(self) -> bool:
        """Whether samples have a time axis of different length."""
        return self.clip is None

    @property
    def part(self) -> str:
        """Which of the samples an epoch has, in short: the same for the same part, whatever else differs."""
        said = "all" if self.split is None else self.split
        if self.videos is None:
            return said
        digest = hashlib.blake2b("\0".join(sorted(self.videos)).encode(), digest_size=8).hexdigest()
        return f"{said} of {len(self.videos)} videos ({digest})"

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
