"""Films in files: the same pictures as a bare loop makes, their times and rates, and damaged ones."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import cv2
import h5py
import numpy as np
import pytest
import simplejpeg

from loader_service.catalog.codecs import JPEG, Codec
from loader_service.errors import PackError
from loader_service.pack.frame_blob import FrameSink
from loader_service.pack.orientation import of_picture
from loader_service.pack.recode import FramePicker
from loader_service.pack.records import Beside, Item, Recoding
from loader_service.pack.sources.film_size import stated_bytes
from loader_service.pack.sources.hidden_pictures import is_hidden
from loader_service.pack.sources.video_files import FilmPart, VideoFiles, read_film
from tests.pack.films import CODECS, jpegs_of, write_depth_film, write_film
from tests.pack.runs import catalog_in, contents, run_pack
from tests.support.videos import frame_image, frame_jpeg
from tests.worker import jpegs


def read(path: Path, recoding: Recoding | None = None) -> int:
    """Read a film as a process that packs does; return the number of frames."""
    with FrameSink(str(path.parent)) as sink:
        VideoFiles().read(Item("videos", "film", str(path)), recoding or Recoding(), sink)
        return sink.frame_counts()["frames"]


def test_films_of_all_containers_become_the_frames_of_a_bare_loop(tmp_path: Path) -> None:
    folder = tmp_path / "in" / "walk"
    films = {f"walk/{ending[1:]}": write_film(folder / f"{ending[1:]}{ending}", 7) for ending in CODECS}
    run_pack(tmp_path / "in", output=tmp_path / "out.h5")
    assert contents(tmp_path, tmp_path / "out.h5") == {name: jpegs_of(films[name]) for name in sorted(films)}
    catalog = catalog_in(tmp_path, tmp_path / "out.h5")
    assert catalog.classes == ("walk",)
    assert catalog.values("frame_rate").tolist() == [10.0] * 4
    assert [field.name for field in catalog.fields] == ["frames", "time_s", "frame_rate", "label"]
    catalog.close()


def test_grey_films_of_more_than_eight_bits_stay_the_numbers_that_they_are(tmp_path: Path) -> None:
    frames = [np.arange(48 * 70, dtype=np.uint16).reshape(48, 70) % 4096 + number for number in range(4)]
    write_depth_film(tmp_path / "depth.mkv", frames)
    run_pack(tmp_path / "depth.mkv", output=tmp_path / "out.h5", short_side=24)
    with h5py.File(tmp_path / "out.h5") as file:
        data, offsets = file["depth/frames"][()], file["depth/offsets"][()]
    for begin, end, expected in zip(offsets, offsets[1:], frames, strict=False):
        assert np.array_equal(cv2.imdecode(data[begin:end], cv2.IMREAD_UNCHANGED), expected)
    catalog = catalog_in(tmp_path, tmp_path / "out.h5")
    assert [(field.name, field.kind, field.shape) for field in catalog.fields][:1] == [("./frames", "array", (48, 70))]
    catalog.close()


def test_only_some_frames_a_second_are_kept_when_that_is_asked(tmp_path: Path) -> None:
    write_film(tmp_path / "in" / "a.mp4", 20, fps=10)
    write_film(tmp_path / "in" / "b.mp4", 20, fps=4)
    packed = run_pack(tmp_path / "in", output=tmp_path / "out.h5", fps=5.0)
    assert {record.name: record.frames for record in packed.records} == {"a": 10, "b": 20}
    assert [record.attributes["frame_rate"] for record in packed.records] == [5.0, 4.0]
    assert [record.times_s for record in packed.records] == [(0.0, 1.8), (0.0, 4.75)]


def test_a_short_side_makes_smaller_frames_of_films(tmp_path: Path) -> None:
    write_film(tmp_path / "in" / "a.mp4", 3)
    write_film(tmp_path / "in" / "b.mp4", 3)
    run_pack(tmp_path / "in", output=tmp_path / "out.h5", short_side=24)
    frames = contents(tmp_path, tmp_path / "out.h5")["a"]
    assert [simplejpeg.decode_jpeg_header(frame)[:2] for frame in frames] == [(24, 32)] * 3


@pytest.mark.parametrize("ending", CODECS)
def test_a_film_that_is_cut_off_is_an_error_that_names_it(tmp_path: Path, ending: str) -> None:
    film = write_film(tmp_path / f"cut{ending}", 40)
    film.write_bytes(film.read_bytes()[: film.stat().st_size // 2])
    with pytest.raises(PackError, match=rf"cut{ending}'.*(write it again|on-error)"):
        read(film)


def test_a_film_with_a_broken_middle_is_an_error_and_not_fewer_frames(tmp_path: Path) -> None:
    film = write_film(tmp_path / "broken.mp4", 40)
    data = bytearray(film.read_bytes())
    middle = len(data) // 3
    data[middle : middle + len(data) // 3] = bytes(len(data) // 3)
    film.write_bytes(data)
    with pytest.raises(PackError, match=r"broken.mp4'.*leave it out|broken.mp4', frame"):
        read(film)


def test_what_is_no_film_is_an_error_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "no.mp4").write_bytes(b"\0\0\0\x18ftypmp42" + bytes(100))
    with pytest.raises(PackError, match=r"no.mp4'.*leave it out"):
        read(tmp_path / "no.mp4")


def test_a_bad_film_is_left_out_and_the_rest_is_packed(tmp_path: Path) -> None:
    write_film(tmp_path / "in" / "a.mp4", 5)
    write_film(tmp_path / "in" / "c.mp4", 5)
    (tmp_path / "in" / "b.mp4").write_bytes(b"\0\0\0\x18ftypmp42" + bytes(100))
    packed = run_pack(tmp_path / "in", output=tmp_path / "out.h5", on_error="skip", workers=2)
    assert [record.name for record in packed.records] == ["a", "c"]
    assert [str(each).split(":")[0] for each in packed.left_out] == ["left out"]


def test_frames_are_picked_by_their_times() -> None:
    for rate, fps, kept in ((30.0, 10.0, 10), (30.0, 12.0, 12), (25.0, 30.0, 25), (30.0, 7.0, 7)):
        picker = FramePicker(fps)
        assert sum(picker.keeps(number / rate) for number in range(int(rate))) == kept
    picker = FramePicker(None)
    assert all(picker.keeps(time_s) for time_s in np.arange(5.0))


class _Keeping(FrameSink):
    """Keeps the frames that it takes."""

    def __init__(self, folder: str) -> None:
        super().__init__(folder)
        self.kept: list[bytes] = []

    def add(self, encoded: bytes, stream: str = "frames", codec: Codec = JPEG) -> None:
        super().add(encoded, stream, codec)
        self.kept.append(encoded)


def read_all(film: Path, fps: float | None = None) -> tuple[list[bytes], Beside]:
    """Read a film as a process that packs does; return its frames and what lies beside them."""
    with _Keeping(str(film.parent)) as sink:
        beside = VideoFiles().read(Item("videos", "film", str(film)), Recoding(fps=fps), sink)
        return sink.kept, beside


def patched(film: Path, box: bytes, offset: int, content: bytes) -> Path:
    """Write over bytes of a box of an MP4 file."""
    data = bytearray(film.read_bytes())
    place = data.index(box) + offset
    data[place : place + len(content)] = content
    film.write_bytes(data)
    return film


def test_a_mirrored_film_is_mirrored(tmp_path: Path) -> None:
    film = write_film(tmp_path / "a.mp4", 3)
    plain, _ = read_all(film)
    matrix = np.array([-(2**16), 0, 0, 0, 2**16, 0, 0, 0, 2**30], ">i4")
    mirrored, _ = read_all(patched(film, b"tkhd", 44, matrix.tobytes()))
    for one, other in zip(plain, mirrored, strict=True):
        found = simplejpeg.decode_jpeg(other, "RGB").astype(int)
        assert np.abs(found - simplejpeg.decode_jpeg(one, "RGB")[:, ::-1]).mean() < 5


@pytest.mark.parametrize("orientation", [1, 5, 6])
def test_films_of_jpegs_with_exif_data_and_a_title_of_old_programs_are_read(tmp_path: Path, orientation: int) -> None:
    shown = simplejpeg.decode_jpeg(frame_jpeg(0, 48, 64))
    turned = jpegs.with_segment(frame_jpeg(0, 48, 64), 0xE1, jpegs.exif(orientation))
    film = tmp_path / "a.avi"
    with av.open(str(film), "w") as container:
        container.metadata["title"] = "Cafe XX"
        stream: Any = container.add_stream("mjpeg", rate=Fraction(10))
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuvj420p"
        for number in range(3):
            packet = av.Packet(turned)
            packet.stream, packet.time_base = stream, Fraction(1, 10)
            packet.pts = packet.dts = number
            container.mux(packet)
    film.write_bytes(film.read_bytes().replace(b"Cafe XX", "Café XX".encode("latin-1")))
    frames, _ = read_all(film)
    expected = of_picture(turned).turned(shown).astype(int)
    assert len(frames) == 3
    assert all(np.abs(simplejpeg.decode_jpeg(each) - expected).mean() < 5 for each in frames)


def test_frames_that_an_edit_list_leaves_out_are_no_damage(tmp_path: Path) -> None:
    film = write_film(tmp_path / "a.mp4", 20)
    assert len(read_all(film)[0]) == 20
    half_ms = (1000).to_bytes(4, "big")  # of the whole film, in thousandths of a second
    frames, beside = read_all(patched(film, b"elst", 12, half_ms))
    assert len(frames) == 10
    assert beside.columns["time_s"].tolist() == pytest.approx([number / 10 for number in range(10)])


def test_frames_of_avi_that_come_in_another_order_have_the_times_of_their_ticks(tmp_path: Path) -> None:
    film = tmp_path / "b.avi"
    with av.open(str(film), "w") as container:
        stream: Any = container.add_stream("mpeg4", rate=10, options={"bf": "2"})
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        for number in range(12):
            picture = av.VideoFrame.from_ndarray(frame_image(number, 48, 64), format="rgb24")
            container.mux(stream.encode(picture))
        container.mux(stream.encode(None))
    frames, beside = read_all(film)
    assert frames == jpegs_of(film)
    assert beside.columns["time_s"].tolist() == pytest.approx([number / 10 for number in range(12)])


def test_a_film_of_which_few_frames_are_kept_is_not_taken_for_cut_off(tmp_path: Path) -> None:
    frames, beside = read_all(write_film(tmp_path / "a.webm", 60), fps=0.25)
    assert beside.columns["time_s"].tolist() == pytest.approx([0.0, 4.0])
    assert len(frames) == 2


def test_an_empty_file_called_as_a_film_is_named(tmp_path: Path) -> None:
    write_film(tmp_path / "in" / "a.mp4", 2)
    (tmp_path / "in" / "b.mp4").touch()
    with pytest.raises(PackError, match=r"b\.mp4"):
        run_pack(tmp_path / "in", output=tmp_path / "out.h5")


def test_a_part_of_a_film_is_the_frames_nearest_to_its_ends(tmp_path: Path) -> None:
    film = write_film(tmp_path / "a.mp4", 10)
    whole = jpegs_of(film)
    for shift in (-0.04, -0.0004, 0.0, 0.0004, 0.04):  # such times are sums of rounded ones
        with _Keeping(str(tmp_path)) as sink:
            read_film(str(film), Recoding(), sink, FilmPart(span=(0.3 + shift, 0.7 + shift)))
            assert sink.kept == whole[3:7]


def write_film_at(path: Path, times_ms: list[int], lasting_ms: int = 0) -> Path:
    """Write a film whose frames are shown at some times, the last one for so long."""
    with av.open(str(path), "w") as container:
        stream: Any = container.add_stream("mpeg4", rate=1000)
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        packets = []
        for number, time_ms in enumerate(times_ms):
            picture = av.VideoFrame.from_ndarray(frame_image(number, 48, 64), format="rgb24")
            picture.pts, picture.time_base = time_ms, Fraction(1, 1000)
            packets += stream.encode(picture)
        packets += stream.encode(None)
        packets[-1].duration = int(lasting_ms / 1000 / packets[-1].time_base) or packets[-1].duration
        container.mux(packets)
    return path


@pytest.mark.parametrize(
    ("codec", "packet", "hidden"),
    [
        ("vp8", b"\x00", True),
        ("vp8", b"\x10", False),
        ("vp9", b"\x94\x00", True),  # of profile 2, as an encoder writes it that packs no superframes
        ("vp9", b"\x96\x00", False),
        ("vp9", b"\x88\x00", False),
        ("vp9", b"\x84\x00\xc1", False),
        ("vp9", b"\xb2\x00", True),
        ("vp9", b"\xb1\x00", False),
        ("h264", b"\x00", False),
    ],
)
def test_pictures_that_only_predict_others_are_known(codec: str, packet: bytes, hidden: bool) -> None:
    assert is_hidden(codec, memoryview(packet)) == hidden


def doubled(film: Path, other: Callable[[bytes], bytes]) -> Path:
    """Write a film with another packet before each of a film."""
    with av.open(str(film)) as whole, av.open(str(film.with_stem("doubled")), "w") as container:
        stream = container.add_stream_from_template(whole.streams.video[0])
        for packet in whole.demux(video=0):
            for data in (other(bytes(packet)), bytes(packet)) if packet.size else ():
                copy = av.Packet(data)
                copy.stream, copy.pts, copy.dts, copy.time_base = stream, packet.pts, packet.dts, packet.time_base
                container.mux(copy)
    return film.with_stem("doubled")


def test_pictures_that_are_not_shown_are_not_taken_for_lost_ones(tmp_path: Path) -> None:
    film = write_film(tmp_path / "a.webm", 30)
    frames, beside = read_all(doubled(film, lambda shown: bytes([shown[0] & ~0x10]) + shown[1:]))
    assert (len(frames), beside.frame_rate) == (30, 10.0)


@pytest.mark.parametrize("flags", ["+ildct+ilme", ""])
def test_a_frame_of_two_fields_may_take_two_packets(tmp_path: Path, flags: str) -> None:
    film = write_film(tmp_path / "a.mkv", 20, flags=flags)
    twice = doubled(film, lambda _: b"\0\0\1\xb6\x50\x9f")  # a picture that is not coded
    if flags:
        assert len(read_all(twice)[0]) == 20
        return
    with pytest.raises(PackError, match="of 40 encoded frames, 20 could be decoded"):
        read_all(twice)


@pytest.mark.parametrize(("begin_ms", "lasting_ms"), [(7000, 400), (0, 5000), (7000, 5000)])
def test_a_film_that_begins_late_or_rests_on_its_last_picture_is_not_cut_off(
    tmp_path: Path, begin_ms: int, lasting_ms: int
) -> None:
    film = write_film_at(tmp_path / "a.mkv", [begin_ms + 400 * number for number in range(10)], lasting_ms)
    frames, beside = read_all(film)
    assert len(frames) == 10
    assert beside.columns["time_s"][[0, -1]].tolist() == pytest.approx([begin_ms / 1000, begin_ms / 1000 + 3.6])
    assert beside.frame_rate == pytest.approx(2.5)  # 1000 is the tick of its clock
    cut = tmp_path / "cut.mkv"
    cut.write_bytes(film.read_bytes()[: film.stat().st_size * 6 // 10])
    with pytest.raises(PackError, match="cut off or damaged"):
        read_all(cut)


@pytest.mark.parametrize("ending", [".mkv", ".webm", ".avi"])
@pytest.mark.parametrize("left", [0.5, 0.99])
def test_a_short_film_that_is_cut_off_is_known_by_its_size(tmp_path: Path, ending: str, left: float) -> None:
    film = write_film(tmp_path / f"a{ending}", 10, fps=25)
    data = film.read_bytes()
    whole = read_all(film)[0]
    assert len(whole) == 10
    assert read_all(film.rename(tmp_path / "whole.film"))[0] == whole
    film.write_bytes(data[: int(left * len(data))])
    with pytest.raises(PackError, match=r"expected at least [\d,]+ bytes, as it says itself, found"):
        read_all(film)


@pytest.mark.parametrize(("size", "stated"), [(b"\xff", 0), (b"\x01" + b"\xff" * 7, 0), (b"\x82", 16), (b"", 0)])
def test_a_film_that_was_written_to_a_pipe_says_no_size(size: bytes, stated: int) -> None:
    assert stated_bytes(b"\x1a\x45\xdf\xa3\x84abcd" + b"\x18\x53\x80\x67" + size) == stated
    assert stated_bytes(b"RIFF\xff\xff\xff\xffAVI LIST") == stated_bytes(b"RIFF\0\0\0\0AVI LIST") == 0


def test_a_short_film_whose_second_half_cannot_be_read_is_damaged(tmp_path: Path) -> None:
    film = write_film(tmp_path / "a.webm", 20, fps=25)
    data = bytearray(film.read_bytes())
    data[len(data) // 2 : len(data) * 9 // 10] = bytes(len(data) * 9 // 10 - len(data) // 2)
    film.write_bytes(data)
    with pytest.raises(PackError, match=r"cut off or damaged|damaged; write it again"):
        read_all(film)
