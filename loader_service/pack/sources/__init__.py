"""What can be packed: one file for each kind of source."""

from __future__ import annotations

from typing import TYPE_CHECKING

from loader_service.pack.sources.hdf5_files import HDF5Files
from loader_service.pack.sources.image_folders import FrameFolders, ImageFolders
from loader_service.pack.sources.lerobot_sets import LeRobotSets
from loader_service.pack.sources.tar_files import TarFiles
from loader_service.pack.sources.tfrecord_files import TFRecordFiles
from loader_service.pack.sources.unpacked_places import UnpackedPlaces
from loader_service.pack.sources.video_files import VideoFiles

if TYPE_CHECKING:
    from loader_service.pack.sources.source_kind import SourceKind

#: All kinds; where several claim a source, the user is asked.
SOURCE_KINDS: tuple[SourceKind, ...] = (
    FrameFolders(),
    ImageFolders(),
    VideoFiles(),
    HDF5Files(),
    TFRecordFiles(),
    TarFiles(),
    LeRobotSets(),
    UnpackedPlaces(),
)

KIND_NAMED = {kind.name: kind for kind in SOURCE_KINDS}
