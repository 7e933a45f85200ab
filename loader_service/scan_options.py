"""What decides how files become a catalog, declared once; the command line and the keys of the cache follow."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, fields
from typing import Any, Literal

from loader_service.errors import ConfigError
from loader_service.given_paths import split_labels
from loader_service.option_fields import expand_paths, option
from loader_service.record_class import record
from loader_service.schema import Schema, read_schema, schema_from_json

#: What may stand for a place of labels: the name of the folder, or group, that holds the video is its label.
FOLDER, GROUP = "{folder}", "{group}"

#: What may stand there to serve videos without the labels of their files.
NONE = "{none}"


@record(frozen=True)
class ScanOptions:
    """Options of a scan; each that `decides` is part of the keys under which scans and catalogs are kept.

    `schema` is given as the path of a file, or as what JSON made of another's; it holds what the file says.

    Raises
    ------
    ConfigError
        When a value is out of range, or two say the same.
    """

    frames: str | None = option(None, "Which datasets are videos, as a pattern of their paths, such as '*/rgb'.")
    label: str | None = option(
        None,
        "Where labels are, as a pattern of paths, or '@name' for an attribute; '{folder}' or '{group}': the label is "
        "the name of the folder, or group, that holds the video; '{none}': videos are served without labels.",
    )
    labels: str | None = option(
        None,
        "A CSV file of video,label,…, or FILE:video=COLUMN,label=COLUMN where it has other names. Numbers keep their "
        "values, texts are classes; more columns are more fields.",
        path=True,
    )
    classes: tuple[str, ...] = option(
        (),
        "A file with one class a line, which numbers them from 0; FIELD=FILE for another field than label. "
        "`inspect --classes` writes one.",
        path=True,
    )
    schema: str | Schema | None = option(
        None, "A TOML file that says what the fields are; `inspect --toml` writes one.", path=True
    )
    split: str | None = option(
        None,
        "Which split, where there are several: by names of files, folders or groups such as train and test, by a "
        "'split' of each video or row, or by lists such as mask/train or train_idx; 'all' mixes them.",
    )
    on_bad_file: Literal["raise", "skip"] = option(
        "raise", "What to do with a file that cannot be used.", decides=False
    )
    allow_external: bool = option(
        False,
        "Let FILES read other files, by external storage or virtual datasets: only for files that you trust, as they "
        "can name any file that you may read; what changes there is not noticed. External links are left out.",
    )
    scan_timeout: float = option(
        600.0,
        "Seconds after which a file that is still being scanned is given up, or a source that gave no item.",
        decides=False,
    )

    def __post_init__(self) -> None:
        for name in ("frames", "label", "labels", "split"):
            if getattr(self, name) == "":
                raise ConfigError(f"{name}='' names nothing; leave it out to let the scan find out")
        expand_paths(self)
        if isinstance(self.schema, str):
            object.__setattr__(self, "schema", read_schema(self.schema))
        elif isinstance(self.schema, dict):
            object.__setattr__(self, "schema", schema_from_json(self.schema))
        if self.declared is not None and self.frames is not None:
            raise ConfigError(f"frames={self.frames!r} and a schema both say where frames are; leave one out")
        if self.labels is not None and split_labels(self.labels)[1].keys() <= {"video", "label"}:
            self.check_label_free()
        if self.label is not None and "label" in self.named:
            raise ConfigError(f"label={self.label!r} and a schema both say where labels are; leave one out")
        if self.label is not None and "{" in self.label and self.label not in {FOLDER, GROUP, NONE}:
            raise ConfigError(
                f"label={self.label!r} is unknown; give '{{folder}}', '{{group}}', '{{none}}', a pattern or '@name'"
            )
        if self.on_bad_file not in {"raise", "skip"}:
            raise ConfigError(f"on_bad_file={self.on_bad_file!r} is unknown; choose 'raise' or 'skip'")
        if not 0 < self.scan_timeout < math.inf:
            raise ConfigError(f"scan_timeout={self.scan_timeout!r}; give a number of seconds above 0")

    @property
    def declared(self) -> Schema | None:
        """What the schema says; None without one."""
        return self.schema if isinstance(self.schema, Schema) else None

    @property
    def named(self) -> frozenset[str]:
        """Names of the fields that a schema gives."""
        return frozenset() if self.declared is None else self.declared.names

    def check_label_free(self) -> None:
        """Refuse a second place of labels beside a CSV file that has some; ConfigError."""
        if self.label is not None:
            raise ConfigError(
                f"label={self.label!r} and labels={self.labels!r} both say where labels are; leave one out"
            )

    def deciding(self) -> dict[str, Any]:
        """Return the options that decide what is found, by name."""
        return {each.name: getattr(self, each.name) for each in fields(self) if each.metadata.get("decides", True)}

    def key(self, **instead: Any) -> str:
        """Return what tells apart scans by other options, as JSON.

        Parameters
        ----------
        **instead
            What counts in place of an option's value, such as the content of the file that it names.
        """
        return json.dumps({**self.deciding(), **instead}, default=asdict)
