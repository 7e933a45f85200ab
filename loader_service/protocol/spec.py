"""What a client asks for, as frozen data: clips, order, batches. Knows no file and no process."""

from __future__ import annotations

# ruff: noqa: PLC0414 - this form says that a name is to be known here too
import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from loader_service.errors import ConfigError
from loader_service.protocol.chosen_videos import read_names, read_split
from loader_service.protocol.consumed import MAX_BATCH_SIZE, MAX_WORLD, ResumedEpoch
from loader_service.protocol.image_options import MAX_IMAGE_SIDE as MAX_IMAGE_SIDE
from loader_service.protocol.image_options import Image as Image
from loader_service.protocol.later_fields import later
from loader_service.protocol.near_names import tells_near_names
from loader_service.protocol.numbers import whole_number
from loader_service.protocol.option_checks import check_each, whole
from loader_service.protocol.windows import Window

Sampling = Literal["random", "center", "start", "every"]
Batching = Literal["pad", "ragged", "bucket"]
Order = Literal["global", "interleave"]
OnError = Literal["raise", "substitute"]

#: Largest values a spec may hold. A spec comes from a socket, so each number has a bound before it sizes anything.
MAX_CLIP_FRAMES = 65_536
MAX_PREFETCH = 1_024
MAX_SEED = 2**63 - 1
MAX_FIELDS = 64
MAX_CYCLE_LENGTH = 65_536
MAX_BLOCK_LENGTH = 2**31
MAX_BAD_SAMPLES = 2**62


@tells_near_names
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
    TypeError
        When there is no such option; names the nearest.
    """

    frames: int = field(metadata=whole(1, MAX_CLIP_FRAMES))
    stride: int = field(default=1, metadata=whole(1, MAX_CLIP_FRAMES))
    sampling: Sampling = "random"
    hop: int = field(default=1, metadata=whole(1, MAX_CLIP_FRAMES))

    def __post_init__(self) -> None:
        check_each(self, "Clip.")

    @property
    def span(self) -> int:
        """Frames of the video from the clip's first to its last, both counted."""
        return (self.frames - 1) * self.stride + 1


@tells_near_names
@dataclass(frozen=True)
class Frame:
    """Each frame of each video is a sample of its own, and its fields have no time axis.

    A row of a table, such as a matrix of features, is a frame in this sense too.
    """


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

    batch_size: int = field(metadata=whole(1, MAX_BATCH_SIZE))
    clip: Clip | Frame | None
    image: Image = field(default_factory=Image)
    fields: tuple[str, ...] | None = None
    shuffle: bool = True
    seed: int = field(default=0, metadata=whole(0, MAX_SEED))
    shard: tuple[int, int] = (0, 1)
    drop_remainder: bool = True
    prefetch: int = field(default=0, metadata=whole(0, MAX_PREFETCH))
    on_error: OnError = "raise"
    batching: Batching = "pad"
    order: Order = "global"
    cycle_length: int = field(default=16, metadata=whole(1, MAX_CYCLE_LENGTH))
    block_length: int = field(default=1, metadata=whole(1, MAX_BLOCK_LENGTH))
    max_bad_samples: int | None = field(default=None, metadata=whole(0, MAX_BAD_SAMPLES))
    indexed: bool = False
    split: str | None = None
    videos: tuple[str, ...] | None = field(default=None, repr=False)  # there may be 100,000
    windows: tuple[Window, ...] = ()
    resumed: ResumedEpoch | None = later(None)

    def __post_init__(self) -> None:
        check_each(self)
        if self.clip is not None and not isinstance(self.clip, (Clip, Frame)):
            raise ConfigError(f"clip={self.clip!r}; give Clip(frames=…), Frame(), or None for whole videos")
        if not isinstance(self.image, Image):
            meant = "size=…" if isinstance(self.image, (int, tuple, list)) else "…"
            raise ConfigError(f"image={self.image!r} is no Image; give Image({meant})")
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
        elif isinstance(self.windows, Iterable) and getattr(self.windows, "shape", None) != ():
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
