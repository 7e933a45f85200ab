"""All targets, by the names that the command line gives them."""

from __future__ import annotations

from typing import Any

from loader_service.catalog.columns import Catalog
from loader_service.unpack.target import FileTarget, ShardTarget
from loader_service.unpack.to_folders import FolderTarget
from loader_service.unpack.to_mp4 import Mp4Target
from loader_service.unpack.to_tfrecord import TFRecordTarget
from loader_service.unpack.to_webdataset import WebDatasetTarget
from loader_service.unpack.unpack_options import UnpackOptions

#: By the value of ``--to``.
TARGETS: dict[str, type[ShardTarget[Any] | FileTarget]] = {
    "tfrecord": TFRecordTarget,
    "webdataset": WebDatasetTarget,
    "folders": FolderTarget,
    "mp4": Mp4Target,
}


def make_target(catalog: Catalog, options: UnpackOptions, *, by_frame: bool) -> ShardTarget[Any] | FileTarget:
    """Return the target that the options name; raises ConfigError when the catalog cannot be written so."""
    return TARGETS[options.to](catalog, options, by_frame=by_frame)
