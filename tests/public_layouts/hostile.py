"""Files that look like a known layout and are not: each is refused in one line with place, found and remedy."""

from __future__ import annotations

import zlib
from pathlib import Path

import cv2
import h5py
import numpy as np

from loader_service.schema import Schema, SchemaField
from tests.public_layouts.expectations import Array, Encoded, Layout, Refused, Serves, Video, Writer, case
from tests.public_layouts.pictures import encoded, jpegs, padded, pixels, write_vlen
from tests.public_layouts.robots import numbers

_REMEDY = r"pack|--source|--schema|--frames|write .* again|correct|leave"


def _of_format(name: str, kind: str, frames: list[bytes]) -> Writer:
    def write(folder: Path) -> Refused:
        with h5py.File(folder / "clips.h5", "w") as root:
            for number in range(2):
                write_vlen(root.create_group(f"v{number}"), "frames", frames)
        return Refused(["v0/frames", kind, r"pack|--source"])

    write.__name__ = f"frames_that_are_{name}"
    return case(f"vlen uint8 that holds {kind}")(write)


_RIFF = b"RIFF\0\x10\0\0AVI LIST" + bytes(range(200))
_FILM = b"\0\0\0\x20ftypisom\0\0\2\0isomiso2avc1mp41" + bytes(range(200))
frames_that_are_mp4 = _of_format("mp4", "MP4", [_FILM] * 3)
frames_that_are_avi = _of_format("avi", "AVI", [_RIFF] * 3)
frames_that_are_webm = _of_format("webm", "WebM", [b"\x1aE\xdf\xa3\x9fB\x86\x81\1B\xf7\x81\1webm" + bytes(200)] * 3)
frames_that_are_webp = _of_format("webp", "WebP", [encoded(number, "WEBP") for number in range(3)])
frames_that_are_gif = _of_format("gif", "GIF", [encoded(number, "GIF") for number in range(3)])
frames_that_are_zeros = _of_format("zeros", "zero|empty|no JPEG", [bytes(900)] * 3)


@case("a video whose middle frame has another format")
def mixed_formats_in_one_video(folder: Path) -> Refused:
    with h5py.File(folder / "clips.h5", "w") as root:
        frames = jpegs(1100, 5)
        write_vlen(root.create_group("v0"), "frames", frames)
        write_vlen(root.create_group("v1"), "frames", [*frames[:2], encoded(1, "PNG"), *frames[3:]])
    return Refused(["v1/frames", "frame 2", "PNG", "JPEG", _REMEDY])


@case("JPEG first, and another format for the rest, as a dataset a frame")
def mixed_formats_as_datasets(folder: Path) -> Refused:
    with h5py.File(folder / "clips.h5", "w") as root:
        for number, frame in enumerate([*jpegs(1101, 5), *[encoded(number, "WEBP") for number in range(6)]]):
            root[f"v0/frame{number}"] = np.frombuffer(frame, np.uint8)
    return Refused(["v0", "WebP", _REMEDY])


@case("padded JPEGs with a length beyond the row")
def lengths_beyond_the_data(folder: Path) -> Refused:
    frames = jpegs(1102, 4)
    with h5py.File(folder / "clips.h5", "w") as root:
        root["v0/images"], root["v0/lengths"] = padded(frames), np.array([len(each) for each in frames[:3]] + [10**6])
    return Refused(["v0/lengths", "1000000", _REMEDY])


@case("padded JPEGs with a float length that is no whole number")
def lengths_that_are_no_whole_numbers(folder: Path) -> Refused:
    frames = jpegs(1103, 3)
    with h5py.File(folder / "clips.h5", "w") as root:
        root["v0/images"], root["v0/lengths"] = padded(frames), np.array([800.5, np.nan, 900])
    return Refused(["v0/lengths", "nan|800.5|whole", _REMEDY])


@case("episode ends that fall")
def ends_that_decrease(folder: Path) -> Refused:
    return _replay(folder, np.array([5, 3, 13]))


@case("episode ends beyond the frames")
def ends_beyond_the_frames(folder: Path) -> Refused:
    return _replay(folder, np.array([5, 9, 40]))


def _replay(folder: Path, ends: np.ndarray) -> Refused:
    with h5py.File(folder / "pusht.h5", "w") as root:
        root["data/img"], root["data/action"], root["meta/episode_ends"] = (
            pixels(1104, 13, 16, 16),
            numbers(1, 13, 2),
            ends,
        )
    return Refused(["meta/episode_ends", "13", _REMEDY])


@case("starts that overlap")
def starts_that_overlap(folder: Path) -> Refused:
    with h5py.File(folder / "two_room.h5", "w") as root:
        root["pixels"], root["action"] = pixels(1105, 12, 16, 16), numbers(1, 12, 2)
        root["ep_len"], root["ep_offset"] = np.array([6, 3, 5]), np.array([0, 4, 7])
    return Refused(["ep_offset|ep_len", "overlap", _REMEDY])


@case("a mask that names no video", option=True)
def mask_that_names_no_video(folder: Path) -> Layout:
    videos = []
    with h5py.File(folder / "image.hdf5", "w") as root:
        for number in range(2):
            write_vlen(root.require_group(f"data/demo_{number}/obs"), "image", jpegs(1106 + number, 3))
            root[f"data/demo_{number}/actions"] = numbers(number, 3, 7)
            videos.append(f"demo_{number}")
        root["mask/train"] = np.array([b"demo_0", b"demo_77"])
    refused = Refused(["mask/train", "demo_77", "demo_0|2 videos", _REMEDY])
    return Layout(Refused(["mask/train", "demo_77"], otherwise=_demos()), {"split": "train"}, refused)


def _demos() -> Serves:
    return Serves(
        [
            Video(f"data/demo_{n}", {"frames": Encoded(jpegs(1106 + n, 3)), "actions": Array(numbers(n, 3, 7))})
            for n in range(2)
        ]
    )


@case("a split that leaves nothing", option=True)
def split_that_leaves_nothing(folder: Path) -> Layout:
    with h5py.File(folder / "task.h5", "w") as root:
        for split in ("train", "val"):
            write_vlen(root.create_group(f"{split}/ep0"), "rgb", jpegs(1108, 3))
            write_vlen(root.create_group(f"{split}/ep1"), "rgb", jpegs(1109, 3))
    refused = Refused(["--split", "test", "train", "val"])
    return Layout(Refused(["--split", "train", "val"]), {"split": "test"}, refused)


@case("16-bit colour PNGs")
def colour_of_16_bits(folder: Path) -> Refused:
    """Neither an 8-bit image nor a depth map: cutting them to 8 bits would be a guess."""
    colour = np.arange(24 * 32 * 3, dtype=np.uint16).reshape(24, 32, 3)
    frames = [bytes(cv2.imencode(".png", colour + number)[1].tobytes()) for number in range(3)]
    with h5py.File(folder / "clips.h5", "w") as root:
        for number in range(2):
            write_vlen(root.create_group(f"v{number}"), "frames", frames)
    return Refused(["v0/frames", "16", "PNG", r"pack|--source"])


@case("a PNG that declares 30,000 x 30,000 pixels in 200 bytes")
def png_bomb(folder: Path) -> Refused:
    size = (30_000).to_bytes(4, "big")
    head = b"IHDR" + size + size + b"\x08\2\0\0\0"
    body = b"IDAT" + zlib.compress(bytes(90_001))
    chunks = (len(each[4:]).to_bytes(4, "big") + each + zlib.crc32(each).to_bytes(4, "big") for each in (head, body))
    bomb = b"\x89PNG\r\n\x1a\n" + b"".join(chunks) + b"\0\0\0\0IEND\xaeB`\x82"
    with h5py.File(folder / "clips.h5", "w") as root:
        for number in range(2):
            write_vlen(root.create_group(f"v{number}"), "frames", [bomb] * 2)
    return Refused(["v0/frames", "30,?000", _REMEDY])


@case("a schema of another layout", option=True)
def schema_of_another_layout(folder: Path) -> Layout:
    frames = jpegs(1110, 3)
    with h5py.File(folder / "clip.h5", "w") as root:
        write_vlen(root, "video", frames)
    schema = Schema(("groups",), (SchemaField("top", "image", ("*/images/top",), "", None),))
    served = Serves([Video("clip", {"frames": Encoded(frames)})])
    return Layout(served, {"schema": schema}, Refused([r"\*/images/top", "video", _REMEDY]))


@case("an MP4 a video as np.void (captioning and sign-language packs)")
def films_as_void(folder: Path) -> Refused:
    """A scalar a video, named by its id, is a film, and no frame of one."""
    with h5py.File(folder / "clips.h5", "w") as root:
        for number in range(3):
            root[f"clip_{number}"] = np.void(_FILM + bytes([number]))
    return Refused(["clip_0", "MP4", "pack"])


@case("flat bytes whose last frame ends beyond them")
def flat_beyond_the_data(folder: Path) -> Refused:
    frames = jpegs(1111, 3)
    starts = np.cumsum([0, *map(len, frames)])[:-1]
    with h5py.File(folder / "clip.h5", "w") as root:
        root["v0/data"], root["v0/starts"] = np.frombuffer(b"".join(frames), np.uint8), starts
        root["v0/lengths"] = np.array([*map(len, frames[:2]), len(frames[2]) + 999])
    return Refused(["v0/lengths|v0/starts", _REMEDY])
