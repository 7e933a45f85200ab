"""What `pack` is told, declared once: the command line derives from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from loader_service.control_groups import usable_cores
from loader_service.errors import ConfigError
from loader_service.option_fields import expand_paths, option
from loader_service.url_secrets import shown_url
from loader_service.worker_limits import check_workers, most_workers


@dataclass(frozen=True)
class PackOptions:
    """Options of ``loader-service pack``. Sizes in bytes.

    Raises
    ------
    ConfigError
        When a value is out of range, or two exclude each other.
    """

    sources: tuple[str, ...]
    output: str = ""
    kind: str | None = None
    workers: int = option(0, "Processes that read and encode; default: 'auto', one per core.", spelling="workers")
    shard_size: int = option(
        0, "Begin another file when one has so many bytes, such as 2G; default: one file.", spelling="size"
    )
    shards: int = option(0, "Write so many files of about one size; default: one file.")
    shuffle: int | None = option(None, "Put the videos into an order drawn from this seed; default: by name.")
    labels: Literal["folder", "none"] = option("folder", "Label a video with the folder that it lies in, or not.")
    schema: str | None = option(
        None, "Of HDF5: a TOML file that says what the fields are; `inspect --toml` writes one.", path=True
    )
    quality: int | None = option(None, "Encode all frames as JPEG of this quality, 1 to 100.")
    short_side: int | None = option(None, "Scale larger frames down until the short side has so many pixels.")
    fps: float | None = option(None, "Keep so many frames a second of films.")
    on_error: Literal["raise", "skip"] = option(
        "raise", "Whether what cannot be read ends the run, or is left out, and listed."
    )
    check: bool = option(False, "Read what was written, and compare it with what was read.")
    dry_run: bool = option(False, "Only say what would be written, how large it would be, and how long it would take.")
    force: bool = option(False, "Write over what is there, instead of adding what is new.")

    def __post_init__(self) -> None:
        expand_paths(self)
        if not self.sources:
            raise ConfigError("nothing to pack; name folders or files, such as 'videos/'")
        if "://" in self.output:
            raise ConfigError(
                f"-o {shown_url(self.output)!r}: pack writes to local disks; give a path, and copy the files from there"
            )
        if not self.output.endswith((".h5", ".hdf5")):
            raise ConfigError(
                f"-o {self.output!r}: expected a name that ends in .h5; write -o {self.output or 'OUT'}.h5"
            )
        if self.workers:
            check_workers(self.workers, most_workers())
        if self.shard_size and self.shards:
            raise ConfigError("--shard-size and --shards both say where files end; leave one out")
        _within("--shards", self.shards or None, 1, 100_000)
        _within("--quality", self.quality, 1, 100)
        _within("--short-side", self.short_side, 16, 65_535)
        _within("--fps", self.fps, 0.001, 10_000)

    @property
    def worker_count(self) -> int:
        """How many processes read and encode."""
        return self.workers or usable_cores()

    @property
    def is_sharded(self) -> bool:
        """Whether the output may be several files."""
        return bool(self.shards or self.shard_size)

    def deciding(self) -> dict[str, Any]:
        """Return the options that decide what is written: all parts of an output have the same."""
        names = ("schema", "shard_size", "shards", "shuffle", "labels", "quality", "short_side", "fps")
        return {name: getattr(self, name) for name in names}


def _within(flag: str, value: float | None, least: float, most: float) -> None:
    if value is not None and not least <= value <= most:
        raise ConfigError(f"{flag} {value:g}: expected {least:g} to {most:g}")
