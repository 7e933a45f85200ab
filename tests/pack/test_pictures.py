"""Folders of pictures: what is a video, what is a picture, and that their bytes stay as they are."""

from __future__ import annotations

import os
import struct
from itertools import product
from pathlib import Path

import cv2
import h5py
import numpy as np
import pytest
import simplejpeg
from PIL import Image

from loader_service.catalog.columns import RAW
from loader_service.errors import ConfigError, PackError
from loader_service.pack.find_items import found_items
from loader_service.pack.frame_blob import FrameSink
from loader_service.pack.pack_options import PackOptions
from loader_service.pack.recode import add_picture
from loader_service.pack.records import Recoding
from loader_service.pack.sources.image_folders import reading_of
from loader_service.pack.sources.source_kind import Unchanged
from tests.pack.runs import catalog_in, contents, run_pack
from tests.support.catalogs import frames_of
from tests.support.videos import frame_jpeg, make_videos
from tests.worker import jpegs


def write_frames(
    root: Path, *, classes: tuple[str, ...] = ("cat", "dog"), lengths: tuple[int, ...] = (3, 11)
) -> dict[str, list[bytes]]:
    """Write ``class/video/000001.jpg`` and so on; return the frames by video."""
    written = {}
    for seed, name in enumerate(classes):
        for video, frames in make_videos(lengths, seed=seed, prefix="v").items():
            folder = root / name / video
            folder.mkdir(parents=True)
            for number, frame in enumerate(frames, 1):
                (folder / f"{number}.jpg").write_bytes(frame)
            written[f"{name}/{video}"] = frames
    return written


def test_frames_of_videos_are_packed_byte_for_byte_with_their_classes(tmp_path: Path) -> None:
    written = write_frames(tmp_path / "in")
    packed = run_pack(tmp_path / "in", output=tmp_path / "out.h5")
    assert contents(tmp_path, tmp_path / "out.h5") == written
    catalog = catalog_in(tmp_path, tmp_path / "out.h5")
    assert catalog.classes == ("cat", "dog")
    assert catalog.labels is not None
    assert catalog.labels.tolist() == [0, 0, 1, 1]
    assert all(catalog.way(video, "frames") == RAW for video in range(catalog.video_count))
    catalog.close()
    assert packed.added == 4
    assert packed.paths == [str(tmp_path / "out.h5")]


def test_single_pictures_are_videos_of_one_frame(tmp_path: Path) -> None:
    for place, name in enumerate(("cat/tom", "cat/felix", "dog/rex")):
        path = tmp_path / "in" / f"{name}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(frame_jpeg(place))
    run_pack(tmp_path / "in", output=tmp_path / "out.h5")
    assert contents(tmp_path, tmp_path / "out.h5") == {
        "cat/felix": [frame_jpeg(1)],
        "cat/tom": [frame_jpeg(0)],
        "dog/rex": [frame_jpeg(2)],
    }


@pytest.mark.parametrize(
    ("files", "reading"),
    [
        (["a/v/000001.jpg", "a/v/000002.jpg", "b/w/000001.jpg"], "frames"),
        (["a/rex.jpg", "b/tom.png"], "images"),
        (["a/000001.jpg", "a/000002.jpg"], "either"),
        (["train/a/1.jpg", "train/a/2.jpg", "val/a/1.jpg"], "either"),
        (["train/a/v/1.jpg", "train/a/v/2.jpg"], "frames"),
        (["a/b/img_7731.jpg", "a/b/img_9.jpg", "a/b/img_99123.jpg"], "images"),
        ([f"a/b/img_{number:05}.jpg" for number in range(0, 40, 10)], "frames"),
        ([f"a/b/{kind}_{number}.jpg" for kind in ("flow_x", "img") for number in (1, 2, 3)], "frames"),
        ([f"a/{kind}_{number}.jpg" for kind in ("flow_x", "img") for number in (1, 2, 3)], "images"),
        ([f"a/img_{number:05}.jpg" for number in range(0, 40, 10)], "images"),
        (["a/b/tom_1.jpg", "a/b/tom_2.jpg", "a/b/rex_7.jpg", "a/b/rex_8.jpg"], "images"),
        ([], ""),
    ],
)
def test_numbers_and_depth_say_what_pictures_are(files: list[str], reading: str) -> None:
    assert reading_of(files) == reading


def test_where_pictures_can_be_two_things_the_user_is_asked(tmp_path: Path) -> None:
    for folder in ("cat", "dog"):
        (tmp_path / "in" / folder).mkdir(parents=True)
        for number in (1, 2):
            (tmp_path / "in" / folder / f"{number}.jpg").write_bytes(frame_jpeg(number))
    with pytest.raises(ConfigError, match=r"--from frames .* or --from images"):
        run_pack(tmp_path / "in", output=tmp_path / "out.h5")
    run_pack(tmp_path / "in", output=tmp_path / "frames.h5", kind="frames", labels="none")
    assert list(contents(tmp_path, tmp_path / "frames.h5")) == ["cat", "dog"]
    run_pack(tmp_path / "in", output=tmp_path / "images.h5", kind="images")
    assert list(contents(tmp_path, tmp_path / "images.h5")) == ["cat/1", "cat/2", "dog/1", "dog/2"]


def test_series_of_pictures_in_the_folder_of_a_video_are_its_fields(tmp_path: Path) -> None:
    for video in ("v", "w"):
        folder = tmp_path / "in" / "cat" / video
        folder.mkdir(parents=True)
        for number in range(1, 12):
            (folder / f"img_{number}.jpg").write_bytes(frame_jpeg(number))
            (folder / f"flow-{number}.x.jpg").write_bytes(frame_jpeg(100 + number))
    run_pack(tmp_path / "in", output=tmp_path / "out.h5")
    catalog = catalog_in(tmp_path, tmp_path / "out.h5")
    for name, first in (("img", 1), ("flow_x", 101)):
        assert frames_of(catalog, 1, name) == [frame_jpeg(first + number) for number in range(11)]
    catalog.close()
    (folder / "flow-5.x.jpg").unlink()
    with pytest.raises(PackError, match=r"in/cat/w': 'img' has a picture of number 5, and 'flow_x' has none; remove"):
        run_pack(tmp_path / "in", output=tmp_path / "out.h5", force=True)


def test_frames_that_are_missing_and_a_label_that_tells_nothing_are_said(tmp_path: Path) -> None:
    said: list[str] = []
    for video, numbers in (("v", (0, 5, 10, 20, 25, 30)), ("w", (7, 8, 9))):
        folder = tmp_path / "in" / "frames" / video
        folder.mkdir(parents=True)
        for number in numbers:
            (folder / f"{number}.jpg").write_bytes(frame_jpeg(number))
    with found_items(PackOptions((str(tmp_path / "in"),), "out.h5"), said.append) as items:
        assert [len(item.place) for item in items] == [6, 3]
    assert [line.replace(str(tmp_path), "") for line in said] == [
        "frames are missing in 1 folder of '/in', such as 15 in 'frames/v': those behind take their place",
        "all 2 videos in '/in' have the label 'frames', as their folder; --labels none has none",
    ]


def test_a_quality_and_a_short_side_make_the_frames_anew(tmp_path: Path) -> None:
    write_frames(tmp_path / "in", lengths=(3,))
    run_pack(tmp_path / "in", output=tmp_path / "out.h5", short_side=24, quality=50)
    for frames in contents(tmp_path, tmp_path / "out.h5").values():
        assert [simplejpeg.decode_jpeg_header(frame)[:2] for frame in frames] == [(24, 32)] * 3


def test_a_picture_that_is_none_stops_the_run_or_is_left_out(tmp_path: Path) -> None:
    write_frames(tmp_path / "in")
    (tmp_path / "in" / "dog" / "v1" / "4.jpg").write_bytes(b"no picture")
    with pytest.raises(PackError, match=r"dog/v1/4.jpg'.*expected a JPEG.*--on-error skip"):
        run_pack(tmp_path / "in", output=tmp_path / "out.h5")
    packed = run_pack(tmp_path / "in", output=tmp_path / "out.h5", on_error="skip")
    assert [each.name for each in packed.left_out] == ["dog/v1"]
    assert list(contents(tmp_path, tmp_path / "out.h5")) == ["cat/v0", "cat/v1", "dog/v0"]


def test_labels_that_only_some_videos_have_are_refused(tmp_path: Path) -> None:
    for name in ("cat/tom", "rex"):
        path = tmp_path / "in" / f"{name}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(frame_jpeg(1))
    with pytest.raises(ConfigError, match=r"rex\.jpg' lies in no folder that could be its label"):
        run_pack(tmp_path / "in", output=tmp_path / "out.h5")
    run_pack(tmp_path / "in", output=tmp_path / "out.h5", labels="none")
    assert len(contents(tmp_path, tmp_path / "out.h5")) == 2


def test_a_video_without_a_label_is_not_added_to_others_that_have_one(tmp_path: Path) -> None:
    for name in ("in/cat/tom", "more/rex"):
        path = tmp_path / f"{name}.jpg"
        path.parent.mkdir(parents=True)
        path.write_bytes(frame_jpeg(1))
    for first, second, said in (
        ("in", "more", r"rex\.jpg' has no label, and the 1 video that '.*' holds already have one; give another -o"),
        ("more", "in", r"tom\.jpg' has the label 'cat', and the 1 video .* already have none; give another -o"),
    ):
        output = tmp_path / f"{first}.h5"
        run_pack(tmp_path / first, output=output)
        with pytest.raises(ConfigError, match=said):
            run_pack(tmp_path / second, output=output)
        assert len(contents(tmp_path, output)) == 1


def test_a_rate_is_refused_for_pictures_as_they_have_no_times(tmp_path: Path) -> None:
    write_frames(tmp_path / "in", classes=("cat",))
    with pytest.raises(ConfigError, match=r"--fps 5: the frames of .*in/cat/v0' have no times"):
        run_pack(tmp_path / "in", output=tmp_path / "out.h5", fps=5.0)
    assert not (tmp_path / "out.packing").exists()


def test_two_videos_of_one_name_are_an_error_or_the_second_is_left_out(tmp_path: Path) -> None:
    for ending in ("jpg", "png"):
        (tmp_path / f"rex.{ending}").write_bytes(frame_jpeg(1))
    with pytest.raises(PackError, match=r"two videos of one name, 'rex': .*rex\.png.*rex\.jpg"):
        run_pack(tmp_path, output=tmp_path / "out.h5")
    packed = run_pack(tmp_path, output=tmp_path / "out.h5", on_error="skip", kind="images")
    assert [each.source for each in packed.left_out] == [str(tmp_path / "rex.png")]


def test_a_source_that_changes_while_it_is_read_is_a_bad_one(tmp_path: Path) -> None:
    path = tmp_path / "1.jpg"
    path.write_bytes(frame_jpeg(1))
    unchanged = Unchanged([str(path)])
    unchanged.check()
    path.write_bytes(frame_jpeg(1) + b"\0")
    with pytest.raises(PackError, match=r"1\.jpg' has changed while it was read"):
        unchanged.check()


def test_links_to_folders_are_followed_once_and_hidden_files_are_not_there(tmp_path: Path) -> None:
    write_frames(tmp_path / "in" / "real", classes=("cat",), lengths=(3,))
    (tmp_path / "in" / "real" / "loop").symlink_to(tmp_path / "in")
    (tmp_path / "in" / ".hidden.jpg").write_bytes(b"no")
    with found_items(PackOptions((str(tmp_path / "in"),), "out.h5")) as items:
        assert [item.name for item in items] == ["real/cat/v0"]


def test_sixteen_bit_pictures_stay_depth_maps_whatever_is_asked(tmp_path: Path) -> None:
    depth = np.arange(48 * 64, dtype=np.uint16).reshape(48, 64)
    data = cv2.imencode(".png", depth)[1].tobytes()
    for video in ("v", "w"):
        (tmp_path / "in" / "a" / video).mkdir(parents=True)
        for number in (1, 2):
            (tmp_path / "in" / "a" / video / f"{number}.png").write_bytes(data)
    run_pack(tmp_path / "in", output=tmp_path / "out.h5", quality=30)
    with h5py.File(tmp_path / "out.h5") as file:
        assert all(file[f"a/{video}/frames"][()].tobytes() == data + data for video in ("v", "w"))


def test_files_that_are_no_pictures_are_said_and_links_without_a_file_are_bad_ones(tmp_path: Path) -> None:
    folder = tmp_path / "in" / "cat"
    folder.mkdir(parents=True)
    (folder / "tom.jpg").write_bytes(frame_jpeg(1))
    (folder / "notes.gif").write_bytes(b"GIF89a")
    (folder / "gone.jpg").symlink_to("nowhere.jpg")
    (folder / "round.jpg").symlink_to("round.jpg")
    os.mkfifo(folder / "pipe.jpg")
    said: list[str] = []
    with found_items(PackOptions((str(tmp_path / "in"),), "out.h5"), said.append) as items:
        assert [item.name for item in items] == ["cat/gone", "cat/round", "cat/tom"]
    assert len(said) == 2
    assert "1 file in" in said[0]
    assert "'cat/notes.gif'" in said[0]
    packed = run_pack(tmp_path / "in", output=tmp_path / "out.h5", on_error="skip")
    assert [each.name for each in packed.left_out] == ["cat/gone", "cat/round"]


def test_depth_maps_and_pictures_are_not_mixed_as_no_field_could_hold_both(tmp_path: Path) -> None:
    depth = cv2.imencode(".png", np.zeros((8, 8), np.uint16))[1].tobytes()
    folder = tmp_path / "in" / "cat"
    folder.mkdir(parents=True)
    for name, data in (("tom.jpg", frame_jpeg(1)), ("zoe.png", depth)):
        (folder / name).write_bytes(data)
    packed = run_pack(tmp_path / "in", output=tmp_path / "out.h5", on_error="skip")
    assert [each.reason for each in packed.left_out] == [
        "its 'frames' is 16-bit grey PNG, and that of 'cat/tom' JPEG or PNG; pack them apart"
    ]
    with FrameSink(str(tmp_path)) as sink:
        add_picture(sink, frame_jpeg(1), Recoding(), "it")
        with pytest.raises(PackError, match="frame 1 of 'frames' is 16-bit grey PNG"):
            add_picture(sink, depth, Recoding(), "it")


def test_frames_of_a_video_have_one_format_unless_they_are_made_anew(tmp_path: Path) -> None:
    folder = tmp_path / "in/cat/v"
    folder.mkdir(parents=True)
    for name, suffix in (("1", "jpg"), ("2", "png")):
        Image.fromarray(np.zeros((8, 8), np.uint8)).save(folder / f"{name}.{suffix}")
    with pytest.raises(
        PackError,
        match=r"in/cat/v', video 'cat/v': frame 1 of 'frames' is PNG, and those before it JPEG; .* by --quality",
    ):
        run_pack(tmp_path / "in", output=tmp_path / "out.h5", kind="frames")
    run_pack(tmp_path / "in", output=tmp_path / "out.h5", kind="frames", quality=90)
    assert [len(frames) for frames in contents(tmp_path, tmp_path / "out.h5").values()] == [2]


def test_pictures_that_are_to_be_turned_are_counted_or_made_upright(tmp_path: Path) -> None:
    pixels = np.zeros((16, 32, 3), np.uint8)
    pixels[:, :16] = 255
    exif, folder = Image.Exif(), tmp_path / "in" / "cat"
    exif[0x0112] = 6
    folder.mkdir(parents=True)
    Image.fromarray(pixels).save(folder / "tom.jpg", exif=exif, quality=95)
    packed = run_pack(tmp_path / "in", output=tmp_path / "out.h5")
    assert packed.turned == 1
    assert list(contents(tmp_path, tmp_path / "out.h5").values()) == [[(folder / "tom.jpg").read_bytes()]]
    packed = run_pack(tmp_path / "in", output=tmp_path / "new.h5", quality=95)
    assert packed.turned == 0
    ((frame,),) = contents(tmp_path, tmp_path / "new.h5").values()
    found = simplejpeg.decode_jpeg(frame, "RGB")
    assert found.shape == (32, 16, 3)
    assert found[:14].min() > 200
    assert found[18:].max() < 50


@pytest.mark.parametrize("kind", [None, "images"])
def test_pictures_of_other_formats_are_named_with_what_to_do(tmp_path: Path, kind: str | None) -> None:
    (tmp_path / "in" / "cat").mkdir(parents=True)
    for number in range(2):
        (tmp_path / "in" / "cat" / f"{number}.gif").write_bytes(b"GIF89a" + bytes(60))
    with (
        pytest.raises(PackError, match=r"'cat/0.gif' is GIF: write it as JPEG or 8-bit PNG"),
        found_items(PackOptions((str(tmp_path / "in"),), "out.h5", kind=kind)),
    ):
        pass


def test_names_that_are_no_text_are_packed_and_checked(tmp_path: Path) -> None:
    folder = os.fsencode(tmp_path / "in" / "cat")
    os.makedirs(folder)
    names = [b"new\nline.jpg", b"\xff\xfe.jpg", b" a .jpg", b"%41.jpg"]
    for number, name in enumerate(names):
        with open(os.path.join(folder, name), "wb") as file:
            file.write(frame_jpeg(number))
    packed = run_pack(tmp_path / "in", output=tmp_path / "out.h5", kind="images")
    assert {os.fsencode(record.name) for record in packed.records} == {b"cat/" + name[:-4] for name in names}
    found = contents(tmp_path, tmp_path / "out.h5")
    assert {tuple(each) for each in found.values()} == {(frame_jpeg(number),) for number in range(4)}


def test_folders_of_splits_are_no_labels(tmp_path: Path) -> None:
    for name in ("train/a1", "train/b7", "Val/c3"):
        (tmp_path / "in" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "in" / f"{name}.jpg").write_bytes(frame_jpeg(1))
    options = PackOptions((str(tmp_path / "in"),), "out.h5", kind="images")
    with found_items(options) as items:
        assert {item.label for item in items} == {None}
    (tmp_path / "in" / "bus").mkdir()  # so the others are vehicles
    (tmp_path / "in" / "bus" / "d2.jpg").write_bytes(frame_jpeg(1))
    with found_items(options) as items:
        assert [item.label for item in items] == ["Val", "bus", "train", "train"]


def test_a_jpeg_that_no_worker_decodes_is_left_out_and_the_others_are_served(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in/a.jpg").write_bytes(jpegs.lossless_jpeg(32, 48))
    for name in "bc":
        (tmp_path / f"in/{name}.jpg").write_bytes(frame_jpeg(0, 32, 48))
    with pytest.raises(PackError, match="expected a JPEG of 8 bits, baseline or progressive, found one lossless"):
        run_pack(tmp_path / "in", output=tmp_path / "out.h5")
    packed = run_pack(tmp_path / "in", output=tmp_path / "out.h5", on_error="skip")
    assert [each.name for each in packed.left_out] == ["a"]
    assert list(contents(tmp_path, tmp_path / "out.h5")) == ["b", "c"]


def test_pictures_with_a_damaged_profile_or_an_animation_are_made_anew_and_bombs_are_refused(tmp_path: Path) -> None:
    plain = frame_jpeg(0, 32, 48)
    profiled = jpegs.with_segment(plain, 0xE2, b"ICC_PROFILE\0" + bytes((1, 2)) + bytes(40))
    (tmp_path / "in").mkdir()
    still, film = (Image.fromarray(np.full((8, 8, 3), level, np.uint8)) for level in (50, 200))
    still.save(tmp_path / "in/c.png")
    still.save(tmp_path / "in/d.png", save_all=True, append_images=[film, still], default_image=True)
    for name, data in (("a", plain), ("b", profiled)):
        (tmp_path / "in" / f"{name}.jpg").write_bytes(data)
    run_pack(tmp_path / "in", output=tmp_path / "out.h5", quality=80)
    first, second, third, fourth = contents(tmp_path, tmp_path / "out.h5").values()
    assert (first, third) == (second, fourth)
    png = cv2.imencode(".png", np.zeros((8, 8), np.uint8))[1].tobytes()
    bombs = (jpegs.with_size(plain, 60_000, 60_000), png[:16] + struct.pack(">II", 60_000, 60_000) + png[24:])
    for bomb, quality in product(bombs, (90, None)):
        with (
            FrameSink(str(tmp_path)) as sink,
            pytest.raises(PackError, match=r"a (JPEG|PNG) that declares 60000 x 60000"),
        ):
            add_picture(sink, bomb, Recoding(quality=quality), "c")
