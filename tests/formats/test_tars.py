"""WebDataset tars, both ways against tarfile, and every way to damage one."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loader_service.formats.damage import DamagedInput
from loader_service.formats.range_file import DiskFile
from loader_service.formats.tars import (
    SampleWriter,
    TarContent,
    TarSample,
    locate_samples,
    read_member,
    read_samples,
    split_name,
)

SAMPLES = [
    TarContent("cats/001", {"jpg": b"\xff\xd8 one", "cls": b"3"}),
    TarContent("cats/002", {"jpg": b"\xff\xd8" + bytes(5000), "frames.0001.npy": b"", "json": b"{}"}),
    TarContent("dögs/" + "long" * 40, {"txt": "é".encode()}),
]


def samples_in(path: Path) -> list[TarSample]:
    with DiskFile(path) as file:
        return list(locate_samples(file))


def written(samples: list[TarContent]) -> bytes:
    file = io.BytesIO()
    with SampleWriter(file) as writer:
        for sample in samples:
            writer.write(sample.key, sample.files)
    return file.getvalue()


def archive(*members: tuple[tarfile.TarInfo, bytes], mode: str = "w") -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode=mode) as tar:  # type: ignore[call-overload]
        for info, data in members:
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return file.getvalue()


def member(name: str, kind: bytes = tarfile.REGTYPE, target: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


def test_tarfile_reads_what_is_written_here() -> None:
    with tarfile.open(fileobj=io.BytesIO(written(SAMPLES)), mode="r:") as tar:
        found = {info.name: tar.extractfile(info).read() for info in tar}  # type: ignore[union-attr]
    assert found == {f"{key}.{extension}": data for key, files in SAMPLES for extension, data in files.items()}


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:bz2", "w:xz"])
def test_what_tarfile_writes_is_read_here(mode: str) -> None:
    members = [(member(f"{key}.{extension}"), data) for key, files in SAMPLES for extension, data in files.items()]
    assert list(read_samples(io.BytesIO(archive(*members, mode=mode)))) == SAMPLES


@settings(max_examples=50)
@given(
    st.dictionaries(
        st.from_regex(r"([a-z]{1,5}/){0,2}[a-z0-9_ é-]{1,60}", fullmatch=True),
        st.dictionaries(
            st.from_regex(r"[a-z]{1,4}(\.[a-z0-9]{1,5})?", fullmatch=True), st.binary(max_size=1100), min_size=1
        ),
        min_size=1,
        max_size=4,
    )
)
def test_places_and_contents_agree_and_come_back(
    tmp_path_factory: pytest.TempPathFactory, samples: dict[str, dict[str, bytes]]
) -> None:
    expected = [TarContent(key, files) for key, files in samples.items()]
    path = tmp_path_factory.mktemp("tar") / "a.tar"
    path.write_bytes(written(expected))
    assert list(read_samples(path)) == expected
    with DiskFile(path) as file:
        placed = [
            TarContent(key, {name: read_member(file, each) for name, each in members.items()})
            for key, members in list(locate_samples(file))
        ]
    assert placed == expected


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("a/b.jpg", ("a/b", "jpg")),
        ("a.b/c.SEG.PNG", ("a.b/c", "seg.png")),
        ("./a.jpg", ("a", "jpg")),
        ("README", None),
        ("a/.hidden", None),
        ("a/b.", None),
    ],
)
def test_key_and_extension_of_a_name(name: str, parts: tuple[str, str] | None) -> None:
    assert split_name(name) == parts


@pytest.mark.parametrize("cut", [100, 512, 700, 1024, 1500, 5000])
def test_an_archive_that_is_cut_off_is_named_wherever_that_is(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "cut.tar"
    path.write_bytes(written(SAMPLES)[:cut])
    with pytest.raises(DamagedInput, match=r"cut\.tar', member \d at byte \d+: .*cut off"):
        list(read_samples(path))
    with pytest.raises(DamagedInput, match=r"cut\.tar', member \d at byte \d+: .*cut off"):
        samples_in(path)


def test_an_archive_without_its_end_is_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "cut.tar"
    path.write_bytes(written(SAMPLES)[:-1024])
    with pytest.raises(DamagedInput, match="cut off"):
        samples_in(path)


def test_an_archive_behind_the_end_of_another_is_not_left_out_in_silence() -> None:
    both = written(SAMPLES) + bytes(8192) + written(SAMPLES)
    with pytest.raises(DamagedInput, match="another archive follows the end of this one"):
        list(read_samples(io.BytesIO(both)))
    assert len(list(read_samples(io.BytesIO(written(SAMPLES) + bytes(8192))))) == len(SAMPLES)


@pytest.mark.parametrize("mode", ["w:gz", "w:bz2", "w:xz"])
def test_a_compressed_archive_that_is_cut_off_is_named(mode: str) -> None:
    data = archive((member("a.bin"), bytes(range(256)) * 4000), mode=mode)
    with pytest.raises(DamagedInput, match="cut off"):
        list(read_samples(io.BytesIO(data[: len(data) // 2])))


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE])
def test_links_are_refused_and_never_followed(kind: bytes) -> None:
    data = archive((member("a.jpg", kind, "/etc/passwd"), b""))
    with pytest.raises(DamagedInput, match=r"file 'a\.jpg' at byte 0: it is a link to '/etc/passwd'"):
        list(read_samples(io.BytesIO(data)))


def test_a_device_is_refused() -> None:
    with pytest.raises(DamagedInput, match="it is no file"):
        list(read_samples(io.BytesIO(archive((member("a.jpg", tarfile.CHRTYPE), b"")))))


def test_two_files_of_one_extension_in_a_sample_are_refused() -> None:
    with pytest.raises(DamagedInput, match="sample 'a' has a second file 'jpg'"):
        list(read_samples(io.BytesIO(archive((member("a.jpg"), b"1"), (member("a.JPG"), b"2")))))


def test_folders_and_files_without_a_key_belong_to_no_sample() -> None:
    data = archive((member("cats", tarfile.DIRTYPE), b""), (member("README"), b"x"), (member("cats/a.jpg"), b"y"))
    assert list(read_samples(io.BytesIO(data))) == [TarContent("cats/a", {"jpg": b"y"})]


def header(name: str, kind: bytes, size: int, pax: dict[str, str] | None = None) -> bytes:
    info = tarfile.TarInfo(name)
    info.type, info.size, info.pax_headers = kind, size, pax or {}
    return info.tobuf(tarfile.PAX_FORMAT if pax else tarfile.GNU_FORMAT)


@pytest.mark.parametrize(
    "data",
    [
        header("a.jpg", tarfile.REGTYPE, 512, {"GNU.sparse.major": "1", "GNU.sparse.minor": "0"}) + b"#!sparse\n" * 60,
        header("a", tarfile.REGTYPE, 0) + header("b", tarfile.REGTYPE, -512) + bytes(2048),
        (header("a.jpg", tarfile.GNUTYPE_LONGNAME, 512) + bytes(512)) * 1500,
    ],
)
@pytest.mark.parametrize("read", [read_samples, locate_samples])
def test_headers_that_tarfile_does_not_understand_are_damage(tmp_path: Path, data: bytes, read: Any) -> None:
    (tmp_path / "a.tar").write_bytes(data)
    with (
        DiskFile(tmp_path / "a.tar") as file,
        pytest.raises(DamagedInput, match=r"write the tar again|without --sparse"),
    ):
        list(read(file))


def test_what_is_no_tar_is_said_to_be_none() -> None:
    with pytest.raises(DamagedInput, match="it is no tar"):
        list(read_samples(io.BytesIO(b"\xff\xd8" * 2000)))


@pytest.mark.parametrize("key", ["a.b", "/etc/a", ""])
def test_a_key_that_nobody_would_find_again_is_not_written(key: str) -> None:
    with SampleWriter(io.BytesIO()) as writer, pytest.raises(ValueError, match="is no name of a file of sample"):
        writer.write(key, {"jpg": b""})
