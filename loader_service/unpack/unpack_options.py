"""The options of `unpack`, declared once; the command line follows. Opens no file."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Literal, get_args

from loader_service.errors import ConfigError
from loader_service.option_fields import expand_paths, option
from loader_service.url_secrets import shown_url

#: ``images`` is another word for ``folders``.
TargetName = Literal["tfrecord", "webdataset", "folders", "images", "mp4"]

#: Of a shard, unless something else is asked for: large enough to be read in one go, and small enough to be shuffled.
_SHARD_BYTES = 2**28


@dataclass(frozen=True)
class UnpackOptions:
    """What is written, and where. Sizes in bytes.

    Raises
    ------
    ConfigError
        When a value is out of range, or two exclude each other.
    """

    output: str = option("", "Where to write: a folder, which is made when it is not there.", path=True, decides=False)
    to: TargetName = option("tfrecord", "What to write.")  # noqa: RUF009 - `option` makes a field
    sample: Literal["auto", "video", "frame"] = option(
        "auto", "What a sample is; default: a video, or a frame where no video has a second one; of tables a row."
    )
    shard_size: int = option(
        0, "Of tfrecord and webdataset: bytes of a file, such as 2G; default: 256M.", spelling="size"
    )
    shards: int = option(
        0, "Of tfrecord and webdataset: how many files, of about one size; default: as --shard-size says."
    )
    shuffle: int | None = option(None, "Of tfrecord and webdataset: a seed, by which the samples are shuffled once.")
    fps: float = option(
        0.0, "Of mp4: frames a second of videos that do not say it themselves; default: their field 'fps'."
    )
    quality: int = option(18, "Of mp4: x264's CRF, from 1, the best, to 51.")
    on_error: Literal["raise", "skip"] = option("raise", "Whether a video that cannot be read is left out, and listed.")
    force: bool = option(False, "Overwrite files that are there, and begin anew what is unfinished.", decides=False)

    def __post_init__(self) -> None:
        if "://" in self.output:
            raise ConfigError(
                f"-o {shown_url(self.output)!r}: unpack writes to local disks; give a folder, and copy it from there"
            )
        expand_paths(self)
        if not self.output:
            raise ConfigError("unpack needs a place to write to: give -o PLACE")
        for name in ("to", "sample", "on_error"):
            if getattr(self, name) not in _CHOICES[name]:
                choices = ", ".join(_CHOICES[name])
                raise ConfigError(f"{name}={getattr(self, name)!r} is unknown; choose one of {choices}")
        if self.to == "images":
            object.__setattr__(self, "to", "folders")
        is_sharded = self.to in {"tfrecord", "webdataset"}
        for name in ("shard_size", "shards", "shuffle"):
            if getattr(self, name) and not is_sharded:
                raise ConfigError(f"{name} is for tfrecord and webdataset; leave it out with --to {self.to}")
        if self.shards and self.shard_size:
            raise ConfigError("--shards and --shard-size both say how large files are; leave one out")
        if self.shards < 0 or self.shards > _MOST_SHARDS:
            raise ConfigError(f"shards={self.shards!r}; give 1 to {_MOST_SHARDS}")
        if self.shuffle is not None and self.shuffle < 0:
            raise ConfigError(f"shuffle={self.shuffle!r}; give a seed of 0 or more")
        if not 0 <= self.fps <= _MOST_FPS:
            raise ConfigError(f"fps={self.fps!r}; give frames a second, above 0 and up to {_MOST_FPS:g}")
        if not 1 <= self.quality <= 51:
            raise ConfigError(f"quality={self.quality!r}; give 1, the best, to 51")

    @property
    def shard_bytes(self) -> int:
        """Bytes of a shard."""
        return self.shard_size or _SHARD_BYTES

    def key(self) -> str:
        """Return what decides which bytes are written, as JSON."""
        said = {name: value for name, value in asdict(self).items() if name not in {"output", "force"}}
        return json.dumps({**said, "shard_size": 0 if self.shards else self.shard_bytes})

    def as_written(self, before: dict[str, Any]) -> UnpackOptions:
        """Return the options of an earlier run where this one does not say otherwise, so that its files are found.

        Parameters
        ----------
        before
            Those of the earlier run, as its manifest has them; empty where there was none.
        """
        if before.get("to") != self.to:
            return self
        said = {"shards", "shard_size"} if self.shards or self.shard_size else set()
        unsaid = {
            each.name: before[each.name]
            for each in fields(self)
            if each.name in before
            and each.name not in said
            and getattr(self, each.name) == each.default
            and isinstance(before[each.name], (type(each.default), int))
        }
        return replace(self, **unsaid)

    @staticmethod
    def of_json(said: dict[str, Any]) -> UnpackOptions:
        """Return the options that a worker was told."""
        return UnpackOptions(**said)


_MOST_SHARDS, _MOST_FPS = 99_999, 1000.0

_CHOICES = {
    "to": get_args(TargetName),
    "sample": ("auto", "video", "frame"),
    "on_error": ("raise", "skip"),
}
