"""Samples and records as other programs may write them: names that clash, pictures of two kinds, odd arrays."""

from __future__ import annotations

import gzip
import io
from contextlib import closing
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from loader_service.catalog.scan.catalog_scan import scan
from loader_service.errors import PackError
from loader_service.pack.frame_blob import FrameSink
from loader_service.pack.pack_command import _notes
from loader_service.pack.records import Recoding
from loader_service.pack.sources.source_kind import Look
from loader_service.pack.sources.tar_files import TarFiles, features_of
from loader_service.pack.sources.tfrecord_files import pack_features
from loader_service.scan_options import ScanOptions
from tests.pack.runs import run_pack
from tests.pack.test_records import write_tar
from tests.support.videos import frame_jpeg

if TYPE_CHECKING:
    from pathlib import Path


def array_file(array: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def test_a_picture_and_its_mask_are_no_video_of_two_frames() -> None:
    mask = b"\x89PNG"
    assert features_of({"jpg": b"1", "png": mask, "cls": b"3"}, "") == {"frames": [b"1"], "png": [mask], "cls": 3}
    assert features_of({"png": mask}, "") == {"frames": [mask]}
    assert features_of({"0.jpg": b"1", "1.jpg": b"2", "jpg": b"3"}, "") == {"frames": [b"1", b"2"], "jpg": [b"3"]}


def test_arrays_of_texts_are_texts_and_those_without_a_type_here_stay_files() -> None:
    assert features_of({"names.npy": array_file(np.array(["é", "b"]))}, "")["names"].tolist() == ["é".encode(), b"b"]
    for array in (np.array([1j]), np.array(["2020-01-01"], "M8[D]"), np.zeros(1, "i4,f4"), np.longdouble([0.1])):
        file = array_file(array)
        assert features_of({"odd.npy": file}, "") == {"odd": [file]}


def test_numbers_and_compressed_files_of_webdataset_are_read_as_it_does() -> None:
    files = {
        "cls2": b"3",
        "count": b" 4\n",
        "class": b"cat",
        "meta.json.gz": gzip.compress(b'{"a": 1}'),
        "0.jpg.gz": b"",
    }
    files["0.jpg.gz"] = gzip.compress(b"picture")
    found = features_of(files, "")
    assert found == {"frames": [b"picture"], "cls2": 3, "count": 4, "class": [b"cat"], "meta": [b'{"a": 1}']}
    with pytest.raises(PackError, match=r"a\.tar, sample 'x': 'txt\.gz' is not what it is called"):
        features_of({"txt.gz": b"plain"}, "a.tar, sample 'x'")


def test_pictures_of_another_format_are_named_with_what_to_do(tmp_path: Path) -> None:
    webp = b"RIFF\x00\x01\x00\x00WEBPVP8 " + bytes(64)
    with FrameSink(str(tmp_path)) as sink, pytest.raises(PackError, match="'webp' is WebP: write it as JPEG"):
        pack_features({"label": np.array([1]), "webp": [webp]}, Recoding(), sink, "here")


def test_features_of_the_steps_of_an_episode_have_an_entry_for_each(tmp_path: Path) -> None:
    features = {
        "steps/observation/image": [frame_jpeg(number) for number in range(4)],
        "steps/action": np.arange(28.0),
        "steps/reward": np.arange(4.0),
        "steps/odd": np.arange(6),
        "boxes": np.arange(8),
    }
    with FrameSink(str(tmp_path)) as sink:
        beside = pack_features(features, Recoding(), sink, "here")
    assert {name: column.shape for name, column in beside.columns.items()} == {
        "steps_action": (4, 7),
        "steps_reward": (4,),
    }
    assert beside.columns["steps_action"].ravel().tolist() == list(range(28))
    assert {name: value.tolist() for name, value in beside.values.items()} == {
        "steps_odd": list(range(6)),
        "boxes": list(range(8)),
    }


@pytest.mark.parametrize("features", [{"a/b": [b"1"], "a_b": [b"2"]}, {"": [b"1"], ".": [b"2"]}], ids=str)
def test_two_features_of_one_field_are_refused(tmp_path: Path, features: dict[str, Any]) -> None:
    with FrameSink(str(tmp_path)) as sink, pytest.raises(PackError, match="would both be the field"):
        pack_features({"frames": [frame_jpeg(1)], **features}, Recoding(), sink, "here")
    pictures = {"a/b": [frame_jpeg(1)], "a_b": [frame_jpeg(2)]}
    with FrameSink(str(tmp_path)) as sink, pytest.raises(PackError, match="would both be the field 'a_b'"):
        pack_features(pictures, Recoding(), sink, "here")


def test_a_key_that_leads_elsewhere_leaves_the_other_samples_where_that_is_asked(tmp_path: Path) -> None:
    tar = write_tar(tmp_path / "a.tar", {key: {"jpg": frame_jpeg(1)} for key in ("a", "../b", "c")})
    with pytest.raises(PackError, match=r"'\.\./b' is no name"):
        list(TarFiles().items(Look(str(tar)), labelled=True))
    found = list(TarFiles().items(Look(str(tar), skips=True), labelled=True))
    assert [(item.name, bool(item.fault)) for item in found] == [("a", False), ("../b", True), ("c", False)]


def test_labels_that_only_some_samples_have_are_told(tmp_path: Path) -> None:
    tar = write_tar(tmp_path / "a.tar", {"a": {"jpg": frame_jpeg(1)}, "b": {"jpg": frame_jpeg(1), "cls": b"1"}})
    (line,) = _notes(run_pack(tar, output=tmp_path / "out.h5"))
    assert line.startswith("1 of 2 videos have no label, such as 'a'")
    (tmp_path / "labels.csv").write_text("video,label\na,2\nb,1\n")
    labelled = ScanOptions(labels=str(tmp_path / "labels.csv"))
    with closing(scan([str(tmp_path / "out.h5")], labelled, cache_dir=tmp_path)) as catalog:
        assert list(catalog.values("label")) == [2, 1]
