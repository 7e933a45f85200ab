"""TFRecord files, both ways against TensorFlow, and every way to damage one."""

from __future__ import annotations

import gzip
import io
import os
import struct
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loader_service.formats import tfrecord
from loader_service.formats.checksums import crc32c
from loader_service.formats.damage import DamagedInput
from loader_service.formats.inflate import InflatedFile
from loader_service.formats.range_file import DiskFile
from loader_service.formats.tfrecord import (
    Compression,
    RecordPlace,
    RecordWriter,
    begins_records,
    compression_of,
    locate_records,
    read_record,
    read_records,
)
from tests.support.late_tensorflow import tf

RECORDS = [b"", b"a", b"x" * 300_000, bytes(range(256)) * 40, b"last"]
COMPRESSIONS: list[Compression] = ["", "GZIP", "ZLIB"]


def places_in(path: Path) -> list[RecordPlace]:
    with DiskFile(path) as file:
        return list(locate_records(file))


def written(records: list[bytes], compression: Compression = "") -> bytes:
    file = io.BytesIO()
    with RecordWriter(file, compression) as writer:
        for record in records:
            writer.write(record)
    return file.getvalue()


def read(data: bytes) -> list[bytes]:
    return [record.data for record in read_records(io.BytesIO(data))]


@pytest.mark.usefixtures("tf")
@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_tensorflow_reads_what_is_written_here(tmp_path: Path, compression: Compression) -> None:
    path = tmp_path / "a.tfrecord"
    path.write_bytes(written(RECORDS, compression))
    dataset = tf.data.TFRecordDataset(str(path), compression_type=compression)
    assert list(dataset.as_numpy_iterator()) == RECORDS


@pytest.mark.usefixtures("tf")
@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_what_tensorflow_writes_is_read_here(tmp_path: Path, compression: Compression) -> None:
    path = tmp_path / "a.tfrecord"
    with tf.io.TFRecordWriter(str(path), compression) as writer:
        for record in RECORDS:
            writer.write(record)
    assert [record.data for record in read_records(path)] == RECORDS
    if not compression:
        assert path.read_bytes() == written(RECORDS)


@settings(max_examples=50)
@given(st.lists(st.binary(max_size=600)), st.sampled_from(COMPRESSIONS), st.integers(1, 97))
def test_any_records_come_back_however_few_bytes_a_read_gives(
    records: list[bytes], compression: Compression, most: int
) -> None:
    data = written(records, compression)
    assert [record.data for record in read_records(_Dribble(data, most))] == records


@settings(max_examples=50)
@given(st.lists(st.binary(max_size=300), min_size=1), st.sampled_from([40, 100, 2**18]))
def test_the_fast_way_and_the_way_by_places_agree(
    tmp_path_factory: pytest.TempPathFactory, records: list[bytes], block_bytes: int
) -> None:
    path = tmp_path_factory.mktemp("places") / "a.tfrecord"
    path.write_bytes(written(records))
    with DiskFile(path) as file, pytest.MonkeyPatch.context() as patch:
        patch.setattr(tfrecord, "_BLOCK_BYTES", block_bytes)
        placed = [(place.offset, read_record(file, place)) for place in locate_records(file)]
    assert placed == [tuple(record) for record in read_records(path)]


def test_no_cut_and_no_changed_length_goes_unnoticed_by_those_who_look_for_places(tmp_path: Path) -> None:
    path = tmp_path / "a.tfrecord"
    whole = written([b"one", b"", b"three"])
    ends = {len(written([b"one", b"", b"three"][:count])) for count in range(3)}
    for cut in set(range(len(whole))) - ends:
        path.write_bytes(whole[:cut])
        with pytest.raises(DamagedInput, match="cut off"):
            places_in(path)
    for place in (3, len(written([b"one"])) + 9):
        path.write_bytes(whole[:place] + b"\xff" + whole[place + 1 :])
        with pytest.raises(DamagedInput, match="the length does not match its checksum"):
            places_in(path)


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_a_file_of_records_is_known_by_its_first_bytes(compression: Compression) -> None:
    assert begins_records(written([b"x" * 2000] * 3, compression)[:512])
    assert not begins_records(gzip.compress(b"no records, but a text of some length")[:512])
    assert not begins_records(b"\x1f\x8b\x08 and no more than that")
    assert not begins_records(b"x" * 512)


@settings(max_examples=60)
@given(st.data())
def test_no_cut_and_no_changed_byte_goes_unnoticed(data: st.DataObject) -> None:
    records = data.draw(st.lists(st.binary(max_size=40), min_size=1, max_size=4))
    whole = written(records)
    cut = data.draw(st.integers(0, len(whole) - 1))
    if cut in {len(written(records[:count])) for count in range(len(records))}:
        assert read(whole[:cut]) == records[: len(read(whole[:cut]))]
    else:
        with pytest.raises(DamagedInput, match="cut off"):
            read(whole[:cut])
    changed = bytearray(whole)
    changed[cut] ^= data.draw(st.integers(1, 255))
    with pytest.raises(DamagedInput):
        read(bytes(changed))


@pytest.mark.parametrize("compression", ["GZIP", "ZLIB"])
def test_a_compressed_file_that_is_cut_off_is_named(tmp_path: Path, compression: Compression) -> None:
    path = tmp_path / "cut.tfrecord"
    path.write_bytes(written([os.urandom(5000)] * 3, compression)[:-700])
    with pytest.raises(DamagedInput, match=r"cut\.tfrecord', record \d at byte \d+: the compressed stream is cut off"):
        list(read_records(path))


def test_an_error_names_file_record_byte_and_remedy(tmp_path: Path) -> None:
    path = tmp_path / "bad.tfrecord"
    data = bytearray(written([b"one", b"two", b"three"]))
    data[19 + 13] ^= 1
    path.write_bytes(data)
    with pytest.raises(DamagedInput) as caught:
        list(read_records(path))
    expected = f"reading {str(path)!r}, record 1 at byte 19: the data do not match their checksum (CRC32C); "
    assert str(caught.value).startswith(expected)
    assert (caught.value.part, caught.value.offset) == ("record 1", 19)


def test_a_bad_record_is_left_out_and_told_and_the_next_ones_are_read() -> None:
    data = bytearray(written([b"one", b"two", b"three"]))
    data[19 + 13] ^= 1
    told: list[DamagedInput] = []
    assert [each.data for each in read_records(io.BytesIO(bytes(data)), told.append)] == [b"one", b"three"]
    assert [(each.part, each.offset) for each in told] == [("record 1", 19)]


def test_after_a_bad_length_nothing_more_is_read_and_that_is_told() -> None:
    data = bytearray(written([b"one", b"two", b"three"]))
    data[19] ^= 1
    told: list[DamagedInput] = []
    assert [each.data for each in read_records(io.BytesIO(bytes(data)), told.append)] == [b"one"]
    assert "the length does not match" in told[0].reason


def test_what_is_no_tfrecord_file_is_said_to_be_none() -> None:
    with pytest.raises(DamagedInput, match="no TFRecord file"):
        read(b"\xff\xd8 this is a JPEG, and no file of records")


def test_a_length_that_nobody_would_write_reserves_no_memory() -> None:
    length = struct.pack("<Q", 2**60)
    whole = written([b""])
    masked = ((crc32c(length) >> 15 | crc32c(length) << 17) + 0xA282EAD8) & 0xFFFFFFFF
    with pytest.raises(DamagedInput, match="expected at most 2147483647"):
        read(length + struct.pack("<I", masked) + whole)


def test_places_of_a_compressed_file_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.tfrecord"
    path.write_bytes(written([b"one"], "GZIP"))
    with pytest.raises(DamagedInput, match="the file is compressed"):
        places_in(path)


def test_a_file_that_becomes_shorter_after_its_places_were_found_is_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "a.tfrecord"
    path.write_bytes(written([b"one" * 100]))
    places = places_in(path)
    os.truncate(path, 60)
    with DiskFile(path) as file, pytest.raises(DamagedInput, match="record 0 at byte 0: the file is cut off"):
        read_record(file, places[0])
    with pytest.raises(DamagedInput, match="cut off"):
        places_in(path)
    assert places == [RecordPlace(0, 300, 0)]


def test_a_plain_file_that_begins_as_a_compressed_one_is_plain() -> None:
    data = written([b"x" * 0x9C78])  # its length begins with 78 9C, as a ZLIB stream does
    assert data.startswith(b"\x78\x9c")
    assert compression_of(data) == ""
    assert read(data) == [b"x" * 0x9C78]


def test_members_of_a_gzip_file_are_one_stream() -> None:
    file = InflatedFile(io.BytesIO(gzip.compress(b"one ") + gzip.compress(b"two") + bytes(7)))
    assert file.read(100) + file.read(100) + file.read(100) == b"one two"
    assert file.read(100) == b""


class _Dribble(io.BytesIO):
    """A stream that gives few bytes at a time, as a pipe does."""

    def __init__(self, data: bytes, most: int) -> None:
        super().__init__(data)
        self._most = most

    def read(self, size: int | None = -1) -> bytes:
        return super().read(self._most if size is None or size < 0 else min(size, self._most))
