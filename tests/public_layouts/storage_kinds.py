"""The ways in which encoded and raw pictures lie in HDF5 files, one case each, as many loaders read them."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np

from tests.public_layouts.expectations import (
    Array,
    Encoded,
    Form,
    Ragged,
    RawPictures,
    Refused,
    Serves,
    Value,
    Video,
    case,
)
from tests.public_layouts.pictures import encoded, jpegs, padded, pixels, write_vlen
from tests.public_layouts.robots import numbers


@case("h5py documentation (opaque data), PIL bytes as np.void arrays")
def opaque_rows(folder: Path) -> Serves:
    """One dataset of opaque elements of one size, as wide as the longest: padded with NULs."""
    frames = jpegs(900, 4)
    with h5py.File(folder / "clip.h5", "w") as root:
        root["frames"] = np.array(frames, f"V{max(map(len, frames))}")
    return Serves([Video("clip", {"frames": Encoded(frames)})])


@case("Fixed strings S{n} as the only dataset of a file (RoboTwin's encoding without robot)")
def fixed_string_rows(folder: Path) -> Serves:
    """Fixed strings that are JPEGs are frames, and no table of texts."""
    videos = []
    for number in range(2):
        frames = jpegs(910 + number, 3)
        with h5py.File(folder / f"clip{number}.h5", "w") as root:
            root["images"] = np.array(frames, f"S{max(map(len, frames)) + 3}")
        videos.append(Video(f"clip{number}", {"frames|images": Encoded(frames)}))
    return Serves(videos)


@case("A dataset a frame of shape (bytes, 1) (cv2.imencode before OpenCV 4.5.4 gives columns)")
def column_frames(folder: Path) -> Serves:
    """``cv2.imencode`` gave ``(bytes, 1)``, and it was written so."""
    videos = []
    with h5py.File(folder / "clips.h5", "w") as root:
        for number in range(2):
            frames = jpegs(920 + number, 11)
            for frame, data in enumerate(frames):
                root[f"clip{number}/{frame}"] = np.frombuffer(data, np.uint8)[:, None]
            videos.append(Video(f"clip{number}", {"frames": Encoded(frames)}))
    return Serves(videos)


@case("A dataset a frame of shape (1, bytes) (buffers written with a batch axis)")
def row_frames(folder: Path) -> Serves:
    """Each frame has an axis of one before its bytes; a group of a single frame lies beside those of many."""
    videos = []
    with h5py.File(folder / "clips.h5", "w") as root:
        for number, count in enumerate((5, 1, 3)):
            frames = jpegs(925 + number, count)
            for frame, data in enumerate(frames):
                chunks = {"chunks": (1, len(data)), "compression": "gzip"} if number == 2 else {}
                root.create_dataset(f"clip{number}/{frame}", data=np.frombuffer(data, np.uint8)[None], **chunks)
            videos.append(Video(f"clip{number}", {"frames": Encoded(frames)}))
    return Serves(videos)


@case("A scalar vlen dataset a frame (h5py.vlen_dtype with an empty shape)")
def vlen_scalars(folder: Path) -> Serves:
    """Each frame is a dataset without axes, whose only element has a length of its own."""
    videos = []
    with h5py.File(folder / "clips.h5", "w") as root:
        for number, count in enumerate((4, 1)):
            frames = jpegs(927 + number, count)
            for frame, data in enumerate(frames):
                root.create_dataset(f"clip{number}/{frame}", (), h5py.vlen_dtype(np.uint8))[()] = np.frombuffer(
                    data, np.uint8
                )
            videos.append(Video(f"clip{number}", {"frames": Encoded(frames)}))
    return Serves(videos)


@case("Padded matrix with lengths as float32 (ALOHA-like recorders)")
def padded_with_float_lengths(folder: Path) -> Serves:
    """Lengths may be floats; each has the rows' number."""
    frames = jpegs(930, 4)
    with h5py.File(folder / "clip.h5", "w") as root:
        root["v/images"], root["v/images_lengths"] = (
            padded(frames),
            np.array([len(each) for each in frames], np.float32),
        )
    return Serves([Video("clip|v", {"frames": Encoded(frames)})])


@case("Flat bytes with starts and lengths (tensor stores and VQA loaders)")
def flat_with_starts_and_lengths(folder: Path) -> Serves:
    """JPEGs end to end, ``starts`` and ``lengths`` beside them, and gaps between."""
    frames = jpegs(940, 5)
    starts = np.cumsum([3, *(len(each) + 7 for each in frames)])[:-1]
    data = np.zeros(int(starts[-1]) + len(frames[-1]) + 9, np.uint8)
    for start, frame in zip(starts, frames, strict=True):
        data[start : start + len(frame)] = np.frombuffer(frame, np.uint8)
    with h5py.File(folder / "clip.h5", "w") as root:
        root["video/data"], root["video/starts"] = data, starts
        root["video/lengths"] = np.array([len(each) for each in frames])
    return Serves([Video("clip|video", {"frames": Encoded(frames)})])


@case("Raw pixels as vlen uint8 with their shapes beside them (IAM and scene-text packs)")
def raw_rows_with_shapes(folder: Path) -> Serves:
    """Pictures of any size, flattened, with ``(height, width, channels)`` of each: images, whose sides differ."""
    pictures = [pixels(950 + number, 1, 16 + number, 24)[0] for number in range(4)]
    with h5py.File(folder / "words.h5", "w") as root:
        rows = root.create_dataset("images", (4,), h5py.vlen_dtype(np.uint8))
        for number, picture in enumerate(pictures):
            rows[number] = picture.ravel()
        root["shapes"], root["text"] = np.array([each.shape for each in pictures]), ["a", "move", "to", "stop"]
    fields: dict[str, Form] = {
        "frames|images": RawPictures(pictures),
        "text": Array(np.array(["a", "move", "to", "stop"], "S")),
    }
    return Serves([Video("*words", fields)], kind="rows|videos")


@case("Raw pixels as vlen uint8 without shapes")
def raw_rows_without_shapes(folder: Path) -> Refused:
    """Nobody can know their sides: raw pixels, said so, with the line of schema that helps."""
    with h5py.File(folder / "images.h5", "w") as root:
        rows = root.create_dataset("images", (3,), h5py.vlen_dtype(np.uint8))
        for number in range(3):
            rows[number] = pixels(960 + number, 1, 16, 24).ravel()
    return Refused(["images", "raw|no JPEG", "shape", "--schema|--source"])


@case("A lone group with raw frames beside arrays")
def lone_group_raw(folder: Path) -> Serves:
    """A lone group of a file is the video, whatever its name, raw or encoded."""
    videos = []
    for number in range(2):
        rgb = pixels(970 + number, 5 + number, 16, 24)
        with h5py.File(folder / f"run{number}.h5", "w") as root:
            root[f"recording_{number}/rgb"], root[f"recording_{number}/pose"] = rgb, numbers(number, 5 + number, 7)
        fields: dict[str, Form] = {"rgb|frames": Array(rgb), "pose": Array(numbers(number, 5 + number, 7))}
        videos.append(Video(f"run{number}", fields))
    return Serves(videos)


@case("Cameras of one recording that lost frames (different lengths in one group)")
def cameras_of_different_length(folder: Path) -> Refused:
    """Two cameras with 5 and 4 frames, or two videos: both are said, and a line of schema is asked for."""
    with h5py.File(folder / "recording.h5", "w") as root:
        write_vlen(root.require_group("observations/images"), "left", jpegs(980, 5))
        write_vlen(root.require_group("observations/images"), "right", jpegs(981, 4))
        root["observations/qpos"] = numbers(1, 5, 7)
    return Refused(["left", "right", "camera", "video", "--schema|--frames"])


@case("Fewer labels than images (unlabelled rest, STL-10-like)")
def fewer_labels_than_images(folder: Path) -> Serves:
    """The first images have labels, the rest none: aligned with the first, and said."""
    images, labels = pixels(990, 6, 16, 16), np.arange(4)
    with h5py.File(folder / "stl10.h5", "w") as root:
        root["X"], root["y"] = images, labels
    fields: dict[str, Form] = {"X": Array(images), "y": Array(labels)}
    return Serves(
        [Video("stl10", fields)], kind="rows", otherwise=Serves([Video("stl10", {"X": Array(images)})], "rows", ["y"])
    )


@case("Attributes of the file (writers of HDF5 versions of video sets)")
def attributes_of_the_file(folder: Path) -> Serves:
    """Rate, size and a JSON text are attributes of a file that is one video."""
    videos = []
    for number in range(2):
        with h5py.File(folder / f"v{number}.h5", "w") as root:
            write_vlen(root, "video", jpegs(1000 + number, 3))
            root.attrs["fps"], root.attrs["size"], root.attrs["meta"] = 29.97 + number, [24, 32], '{"camera": "left"}'
        fields: dict[str, Form] = {"frames": Encoded(jpegs(1000 + number, 3)), "fps": Value(29.97 + number)}
        videos.append(Video(f"v{number}", {**fields, "size": Value([24, 32]), "meta": Value('{"camera": "left"}')}))
    return Serves(videos)


@case("PNG frames, a dataset each (game recorders)")
def png_frames(folder: Path) -> Serves:
    """A dataset a frame, PNG instead of JPEG."""
    frames = [encoded(1010 + number, "PNG") for number in range(11)]
    with h5py.File(folder / "game.h5", "w") as root:
        for number, frame in enumerate(frames):
            root[f"episode_0/{number:04d}"] = np.frombuffer(frame, np.uint8)
    return Serves([Video("episode_0|game", {"frames": Encoded(frames)})])


@case("Grouped vlen JPEGs whose frames have boxes of different count (MOT-like packs)")
def tracks_beside_frames(folder: Path) -> Serves:
    """Vlen numbers with an entry for each frame of a video are a ragged field of it."""
    videos = []
    with h5py.File(folder / "mot17.h5", "w") as root:
        for number in range(2):
            frames, counts = jpegs(1020 + number, 4), [3, 0, 1, 2]
            group = root.create_group(f"MOT17-0{number + 2}")
            write_vlen(group, "frames", frames)
            boxes = group.create_dataset("boxes", (4,), h5py.vlen_dtype(np.float32))
            for frame, count in enumerate(counts):
                boxes[frame] = numbers(frame, 4 * count)
            ragged = Ragged([numbers(frame, 4 * count) for frame, count in enumerate(counts)])
            videos.append(Video(f"MOT17-0{number + 2}", {"frames": Encoded(frames), "boxes": ragged}))
    return Serves(videos)
