"""TFRecord files and tars: pictures byte for byte, labels, names and numbers; damaged files are named."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
from contextlib import closing
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from loader_service.errors import ConfigError, LoaderError, PackError
from loader_service.formats.examples import encode_example, encode_sequence_example
from loader_service.formats.tars import SampleWriter
from loader_service.formats.tfrecord import Compression, RecordWriter, read_records
from loader_service.pack.find_items import found_items
from loader_service.pack.frame_blob import FrameSink
from loader_service.pack.pack_options import PackOptions
from loader_service.pack.records import Recoding
from loader_service.pack.sources.in_turn import InTurnReader
from loader_service.pack.sources.tar_files import features_of
from loader_service.pack.sources.tfrecord_files import pack_features
from loader_service.unpack.unpack_options import UnpackOptions
from loader_service.unpack.unpacking import Unpacking
from loader_service.worker.reader import Reader
from tests.pack.films import jpegs_of, write_film
from tests.pack.runs import catalog_in, contents, run_pack
from tests.support.videos import frame_jpeg


def write_records(path: Path, records: list[bytes], compression: Compression = "") -> Path:
    path.parent.mkdir(exist_ok=True)
    with path.open("wb") as file, RecordWriter(file, compression) as writer:
        for record in records:
            writer.write(record)
    return path


def write_tar(path: Path, samples: dict[str, dict[str, bytes]]) -> Path:
    with path.open("wb") as file, SampleWriter(file) as writer:
        for key, files in samples.items():
            writer.write(key, files)
    return path


def test_pictures_of_examples_keep_bytes_labels_and_numbers(tmp_path: Path) -> None:
    examples = [
        encode_example(
            {
                "image/encoded": frame_jpeg(number),
                "image/class/label": np.array([number + 3]),
                "image/class/text": b"cat" if number % 2 else b"dog",
                "image/object/bbox": np.array([0.1, 0.2, 0.3, 0.4], np.float32) * number,
            }
        )
        for number in range(3)
    ]
    write_records(tmp_path / "train.tfrecord", examples)
    run_pack(tmp_path / "train.tfrecord", output=tmp_path / "out.h5")
    found = contents(tmp_path, tmp_path / "out.h5")
    assert found == {f"train/{number:06}": [frame_jpeg(number)] for number in range(3)}
    catalog = catalog_in(tmp_path, tmp_path / "out.h5")
    assert catalog.labels is not None
    assert catalog.labels.tolist() == [3, 4, 5]
    assert catalog.values("image_class_text").tolist() == [b"dog", b"cat", b"dog"]
    assert np.allclose(catalog.values("image_object_bbox")[2], [0.2, 0.4, 0.6, 0.8])
    catalog.close()


def test_frames_of_examples_and_of_sequences_are_videos(tmp_path: Path) -> None:
    frames = [[frame_jpeg(video * 100 + number) for number in range(4 + video)] for video in range(2)]
    write_records(
        tmp_path / "a.tfrecord",
        [encode_example({"frames": each, "label": np.array([1]), "qpos": np.arange(len(each))}) for each in frames],
    )
    lists = [
        {"image/encoded": each, "state": np.arange(len(each) * 3, dtype=np.float32).reshape(-1, 3)} for each in frames
    ]
    write_records(
        tmp_path / "b.tfrecord",
        [encode_sequence_example({"clip/label/index": np.array([2])}, each) for each in lists],
    )
    run_pack(tmp_path / "a.tfrecord", tmp_path / "b.tfrecord", output=tmp_path / "out.h5")
    found = contents(tmp_path, tmp_path / "out.h5")
    assert found == {f"{name}/{number:06}": frames[number] for name in "ab" for number in range(2)}
    with h5py.File(tmp_path / "out.h5") as file:
        assert file["a/000001/qpos"][()].tolist() == [0, 1, 2, 3, 4]
        assert file["b/000001/state"][()].tolist() == lists[1]["state"].tolist()  # type: ignore[attr-defined]
        assert file["b/000000"].attrs["label"] == 2


def test_raw_pixels_of_examples_are_packed_with_their_shape(tmp_path: Path) -> None:
    pixels = np.arange(4 * 6 * 3, dtype=np.uint8).reshape(4, 6, 3)
    features = {
        "image_raw": [pixels.tobytes()],
        "height": np.array([4]),
        "width": np.array([6]),
        "label": np.array([7]),
    }
    with FrameSink(str(tmp_path)) as sink:
        beside = pack_features(features, Recoding(), sink, "here")
    assert beside.columns["frames"].tolist() == [pixels.tolist()]
    assert beside.label == 7


def test_a_record_without_pictures_says_what_it_holds(tmp_path: Path) -> None:
    with FrameSink(str(tmp_path)) as sink, pytest.raises(PackError, match=r"record 3.*found 'label', 'rgb'"):
        pack_features({"rgb": np.zeros(3), "label": np.array([1])}, Recoding(), sink, "'a', record 3")


def test_a_record_with_a_bad_checksum_is_left_out_or_stops_the_run(tmp_path: Path) -> None:
    path = write_records(
        tmp_path / "a.tfrecord", [encode_example({"image": frame_jpeg(n), "label": np.array([n])}) for n in range(3)]
    )
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    with pytest.raises(LoaderError, match=r"a.tfrecord.*record 1"):
        run_pack(path, output=tmp_path / "out.h5")
    packed = run_pack(path, output=tmp_path / "out.h5", on_error="skip")
    assert [each.name for each in packed.left_out] == ["a/000001"]
    assert list(contents(tmp_path, tmp_path / "out.h5")) == ["a/000000", "a/000002"]


@pytest.mark.parametrize("cut", [5, 40, 700])
def test_a_file_of_records_that_is_cut_off_is_named(tmp_path: Path, cut: int) -> None:
    path = write_records(tmp_path / "a.tfrecord", [encode_example({"image": frame_jpeg(n)}) for n in range(2)])
    path.write_bytes(path.read_bytes()[:-cut])
    with pytest.raises(LoaderError, match=r"a\.tfrecord"), found_items(PackOptions((str(path),), "out.h5")):
        pass


@pytest.mark.parametrize(
    ("name", "compression"), [("a.tfrecord.gz", "GZIP"), ("a.tfrecord", "ZLIB"), ("a-00000-of-00002", "GZIP")]
)
def test_compressed_records_are_read_as_plain_ones(tmp_path: Path, name: str, compression: Compression) -> None:
    examples = [encode_example({"image": frame_jpeg(n), "label": np.array([n])}) for n in range(3)]
    plain = write_records(tmp_path / "plain" / (name if "-of-" in name else "a.tfrecord"), examples)
    path = write_records(tmp_path / name, examples, compression)
    run_pack(plain, output=tmp_path / "plain.h5")
    run_pack(path, output=tmp_path / "out.h5")
    assert (tmp_path / "out.h5").read_bytes() == (tmp_path / "plain.h5").read_bytes()
    with pytest.raises(ConfigError, match=r"--shuffle: .* is compressed.*gunzip"):
        run_pack(path, output=tmp_path / "shuffled.h5", shuffle=1)


def test_a_compressed_file_of_records_that_is_cut_off_is_named(tmp_path: Path) -> None:
    path = write_records(tmp_path / "a.tfrecord.gz", [encode_example({"image": frame_jpeg(1)})], "GZIP")
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(LoaderError, match=r"a\.tfrecord\.gz"), found_items(PackOptions((str(path),), "out.h5")):
        pass


def test_compressed_records_are_found_in_any_order_and_after_a_change(tmp_path: Path) -> None:
    path = write_records(tmp_path / "a.tfrecord.gz", [b"0", b"1", b"2"], "GZIP")
    records = InTurnReader(read_records)
    assert [records.read(str(path), number).data for number in (0, 2, 1, 2)] == [b"0", b"2", b"1", b"2"]
    write_records(path, [b"other"], "GZIP")
    with pytest.raises(PackError, match=r"has no entry 2 any more"):
        records.read(str(path), 2)
    assert records.read(str(path), 0).data == b"other"


def test_samples_of_tars_are_videos_with_all_that_lies_beside(tmp_path: Path) -> None:
    array = io.BytesIO()
    np.save(array, np.arange(3))
    samples = {
        "walk/a": {
            "000.jpg": frame_jpeg(0),
            "001.jpg": frame_jpeg(1),
            "002.jpg": frame_jpeg(2),
            "cls": b"4",
            "json": json.dumps({"fps": 12.5, "who": "ann"}).encode(),
            "qpos.npy": array.getvalue(),
        },
        "walk/b": {"jpg": frame_jpeg(7), "cls": b"5", "json": b'{"fps": 3.0, "who": "bob", "frames": 1}'},
    }
    write_tar(tmp_path / "a.tar", samples)
    run_pack(tmp_path / "a.tar", output=tmp_path / "out.h5")
    assert contents(tmp_path, tmp_path / "out.h5") == {
        "walk/a": [frame_jpeg(0), frame_jpeg(1), frame_jpeg(2)],
        "walk/b": [frame_jpeg(7)],
    }
    with h5py.File(tmp_path / "out.h5") as file:
        assert dict(file["walk/a"].attrs) == {"fps": 12.5, "label": 4, "who": b"ann"}
        assert file["walk/a/qpos"][()].tolist() == [0, 1, 2]


@pytest.mark.parametrize(("ending", "pack"), [("gz", gzip.compress), ("bz2", bz2.compress), ("xz", lzma.compress)])
def test_compressed_tars_are_read_as_plain_ones(tmp_path: Path, ending: str, pack: Any) -> None:
    (tmp_path / "plain").mkdir()
    samples = {f"s{number}": {"jpg": frame_jpeg(number), "cls": b"%d" % number} for number in range(4)}
    plain = write_tar(tmp_path / "plain" / "a.tar", samples)
    path = tmp_path / f"a.tar.{ending}"
    path.write_bytes(pack(plain.read_bytes()))
    run_pack(plain, output=tmp_path / "plain.h5")
    run_pack(path, output=tmp_path / "out.h5", workers=2)
    assert (tmp_path / "out.h5").read_bytes() == (tmp_path / "plain.h5").read_bytes()
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with (
        pytest.raises(LoaderError, match=rf"a\.tar\.{ending}.*cut off"),
        found_items(PackOptions((str(path),), "out.h5")),
    ):
        pass


def test_a_tar_in_a_compression_that_is_not_read_names_what_unpacks_it(tmp_path: Path) -> None:
    (tmp_path / "a.tar.zst").write_bytes(b"\x28\xb5\x2f\xfd" + bytes(100))
    with pytest.raises(PackError, match="unpack it with `zstd -d` first"):
        run_pack(tmp_path / "a.tar.zst", output=tmp_path / "out.h5")


def test_a_tar_whose_samples_are_not_together_says_how_to_write_it(tmp_path: Path) -> None:
    with (tmp_path / "a.tar").open("wb") as file, SampleWriter(file) as writer:
        for kind, data in (("cls", b"1"), ("jpg", frame_jpeg(1))):
            for key in ("000", "001"):
                writer.write(key, {kind: data})
    with pytest.raises(PackError, match=r"two videos of one name, '000': .*one after the other \(tar --sort=name\)"):
        run_pack(tmp_path / "a.tar", output=tmp_path / "out.h5")


def test_a_film_in_a_sample_is_decoded(tmp_path: Path) -> None:
    film = write_film(tmp_path / "f.mp4", 4)
    write_tar(tmp_path / "a.tar", {name: {"mp4": film.read_bytes(), "cls": b"1"} for name in ("x", "y")})
    run_pack(tmp_path / "a.tar", output=tmp_path / "out.h5")
    assert contents(tmp_path, tmp_path / "out.h5") == {"x": jpegs_of(film), "y": jpegs_of(film)}


def test_a_tar_that_is_cut_off_is_named(tmp_path: Path) -> None:
    path = write_tar(tmp_path / "a.tar", {str(n): {"jpg": frame_jpeg(n)} for n in range(3)})
    path.write_bytes(path.read_bytes()[:3000])
    with pytest.raises(LoaderError, match=r"a\.tar"), found_items(PackOptions((str(path),), "out.h5")):
        pass


def test_arrays_of_objects_in_tars_are_refused_and_never_run() -> None:
    array = io.BytesIO()
    np.save(array, np.array([{"a": 1}], object), allow_pickle=True)
    with pytest.raises(PackError, match=r"a\.tar, sample 'x': 'qpos\.npy' is not what it is called"):
        features_of({"qpos.npy": array.getvalue()}, "a.tar, sample 'x'")


def test_a_folder_of_two_kinds_is_asked_about(tmp_path: Path) -> None:
    write_tar(tmp_path / "a.tar", {"1": {"jpg": frame_jpeg(1)}})
    write_records(tmp_path / "a.tfrecord", [encode_example({"image": frame_jpeg(2)})])
    with pytest.raises(ConfigError, match=r"--from tfrecord .* or --from tar"):
        run_pack(tmp_path, output=tmp_path / "out.h5")


def test_objects_of_any_number_are_lists_of_each_picture(tmp_path: Path) -> None:
    counts = (3, 0, 1, 2)
    examples = [
        encode_example(
            {
                "image": frame_jpeg(number),
                "xmin": np.arange(count, dtype=np.float32),
                "text": [b"cat"] * count,
                "height": np.array([48]),
            }
        )
        for number, count in enumerate(counts)
    ]
    run_pack(write_records(tmp_path / "a.tfrecord", examples), output=tmp_path / "out.h5")
    catalog = catalog_in(tmp_path, tmp_path / "out.h5")
    assert [catalog.shape_in(video, "xmin") for video in range(4)] == [(count,) for count in counts]
    assert catalog.field("xmin").dtype == "float32"
    assert catalog.values("height").tolist() == [48] * 4
    catalog.close()


def test_lists_that_are_too_long_for_a_value_in_one_sample_are_lists_in_all(tmp_path: Path) -> None:
    counts, again = [0, 1, 3, 40, 300], [1, 5]
    texts = {count: json.dumps([{"at": place} for place in range(8 * count)]) for count in (*counts, *again)}

    def write(name: str, each: list[int]) -> Path:
        said = {count: {"boxes": [[1, 2, 3, count]] * count, "text": texts[count]} for count in each}
        samples = {
            f"{name}{place}": {"jpg": frame_jpeg(1), "json": json.dumps(said[count]).encode()}
            for place, count in enumerate(each)
        }
        return write_tar(tmp_path / f"{name}.tar", samples)

    run_pack(write("a", counts), output=tmp_path / "out.h5")
    run_pack(write("b", again), output=tmp_path / "out.h5")
    with closing(catalog_in(tmp_path, tmp_path / "out.h5")) as catalog, closing(Reader(catalog)) as reader:
        for video, count in enumerate((*counts, *again)):
            (boxes,) = reader.read_lists(video, [0], "boxes")
            assert boxes.tolist() == [[1, 2, 3, count]] * count
            text = np.empty((1, *catalog.shape_in(video, "text")), np.uint8)
            reader.read_array(video, "text", 0, text)
            assert text.tobytes().decode() == texts[count]


def test_steps_with_lists_of_different_lengths_keep_their_frames(tmp_path: Path) -> None:
    lists = {"image": [frame_jpeg(n) for n in range(3)], "box": [np.arange(n, dtype=np.float32) for n in (2, 0, 1)]}
    path = write_records(tmp_path / "a.tfrecord", [encode_sequence_example({}, lists)])
    run_pack(path, output=tmp_path / "out.h5")
    with h5py.File(tmp_path / "out.h5") as file:
        assert file["a/000000/box"][()].tolist() == [0.0, 1.0, 0.0]
        assert file["a/000000/box_offsets"][()].tolist() == [0, 2, 2, 3]


def test_what_comes_before_damage_is_packed_and_the_rest_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    for name in ("a", "b"):
        write_records(folder / f"{name}.tfrecord", [encode_example({"image": frame_jpeg(n)}) for n in range(3)])
    cut = folder / "a.tfrecord"
    cut.write_bytes(cut.read_bytes()[:-20])
    packed = run_pack(folder, output=tmp_path / "out.h5", on_error="skip")
    assert [record.name for record in packed.records] == [
        "a/000000", "a/000001", "b/000000", "b/000001", "b/000002",
    ]  # fmt: skip
    assert [each.name for each in packed.left_out] == ["a.tfrecord, all after 2"]
    assert "cut off" in packed.left_out[0].reason


def test_keys_that_two_tars_share_are_called_by_their_tars_too(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for number, name in enumerate(("a", "b")):
        write_tar(
            tmp_path / "in" / f"{name}.tar", {"000": {"jpg": frame_jpeg(number)}, f"x{name}": {"jpg": b"\xff\xd8"}}
        )
    packed = run_pack(tmp_path / "in", output=tmp_path / "out.h5")
    assert [record.name for record in packed.records] == ["a/000", "a/xa", "b/000", "b/xb"]


def test_the_rest_is_packed_where_one_of_several_sources_is_bad(tmp_path: Path) -> None:
    good = write_tar(tmp_path / "good.tar", {"000": {"jpg": frame_jpeg(1)}})
    (tmp_path / "bad.tar").write_bytes(good.read_bytes()[:300])
    packed = run_pack(tmp_path / "bad.tar", good, output=tmp_path / "out.h5", on_error="skip")
    assert [record.name for record in packed.records] == ["000"]
    assert [Path(each.source).name for each in packed.left_out] == ["bad.tar"]


def test_what_lies_beside_pictures_in_a_tar_keeps_its_form(tmp_path: Path) -> None:
    emb = io.BytesIO()
    np.save(emb, np.arange(2000, dtype=np.float32))
    told = {"captions": ["a", "b"], "height": 48, "boxes": [[1, 2], [3]], "none": None, "deep": {"x": 1}}
    sample = {"jpg": frame_jpeg(1), "json": json.dumps(told).encode(), "emb.npy": emb.getvalue(), "emb.txt": b"of it"}
    run_pack(write_tar(tmp_path / "a.tar", {"k": sample}), output=tmp_path / "out.h5")
    with h5py.File(tmp_path / "out.h5") as file:
        values = dict(file["k"].attrs)
        assert json.loads(values["captions"]) == ["a", "b"]
        assert values["height"] == 48
        assert json.loads(values["boxes"]) == told["boxes"]
        assert json.loads(values["deep"]) == told["deep"]
        assert values["emb.txt"] == b"of it"
        assert "none" not in values
        assert file["k/emb"][()].tolist() == [list(range(2000))]


def test_lists_of_texts_are_served_and_come_back_from_what_is_unpacked(tmp_path: Path) -> None:
    texts = [[b"wet", "é".encode()], [b"dark"], []]
    examples = [encode_example({"image": frame_jpeg(n), "tags": each}) for n, each in enumerate(texts)]
    write_records(tmp_path / "a.tfrecord", examples)
    run_pack(tmp_path / "a.tfrecord", output=tmp_path / "out.h5")
    catalog = catalog_in(tmp_path, tmp_path / "out.h5")
    assert [json.loads(each) for each in catalog.values("tags")] == [[each.decode() for each in some] for some in texts]
    Unpacking(catalog, UnpackOptions(output=str(tmp_path / "unpacked"), to="tfrecord"), 1).run(lambda *_: None)
    catalog.close()
    run_pack(tmp_path / "unpacked", output=tmp_path / "again.h5")
    assert (tmp_path / "again.h5").read_bytes() == (tmp_path / "out.h5").read_bytes()


def test_each_camera_of_a_sample_keeps_its_picture_and_its_numbers(tmp_path: Path) -> None:
    sample = {f"{camera}.{kind}": data for camera, seed in (("left", 1), ("right", 2))
              for kind, data in (("jpg", frame_jpeg(seed)), ("json", b'{"x": 1}'))}  # fmt: skip
    run_pack(write_tar(tmp_path / "a.tar", {"k": sample}), output=tmp_path / "out.h5")
    with h5py.File(tmp_path / "out.h5") as file:
        assert file["k/left"][()].tobytes() == frame_jpeg(1)
        assert file["k/right"][()].tobytes() == frame_jpeg(2)
        assert dict(file["k"].attrs) == {"left_packed": b'{"x": 1}', "right_packed": b'{"x": 1}'}


@pytest.mark.parametrize("frames", [1, 3])
def test_large_bytes_beside_pictures_are_a_dataset_and_no_part_of_the_manifest(tmp_path: Path, frames: int) -> None:
    sounds = [np.random.default_rng(number).bytes(100_000 * number) for number in (1, 2)]
    pictures = [frame_jpeg(number) for number in range(frames)]
    write_records(
        tmp_path / "a.tfrecord",
        [encode_example({"image": pictures, "sound": [each], "label": np.array([1])}) for each in sounds],
    )
    out = tmp_path / "out.h5"
    run_pack(tmp_path / "a.tfrecord", output=out)
    with h5py.File(out) as file:
        assert [file[f"a/00000{number}/sound"][()].tobytes() for number in (0, 1)] == sounds
    assert (tmp_path / "out.manifest.jsonl").stat().st_size < 5000
    assert contents(tmp_path, out) == {f"a/00000{number}": pictures for number in (0, 1)}
