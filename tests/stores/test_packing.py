"""HDF5 files in stores are packed and unpacked as local ones are; what else lies there is refused by name."""

from __future__ import annotations

import subprocess

import pytest

from loader_service.errors import ConfigError, PackError
from loader_service.pack.find_items import found_items
from loader_service.pack.pack_options import PackOptions
from tests.pack.runs import contents, run_pack
from tests.support.services import command_line
from tests.support.videos import make_videos, write_videos


def test_files_of_a_bucket_are_packed_as_local_ones(s3, tmp_path):
    (tmp_path / "in").mkdir()
    for name, layout in (("a.h5", "vlen"), ("deep b.h5", "padded")):
        write_videos(tmp_path / "in" / name, layout, make_videos([3, 4], seed=len(name)))
        s3(f"sets/{name}", (tmp_path / "in" / name).read_bytes())
    run_pack(tmp_path / "in", output=tmp_path / "local.h5", workers=2)
    run_pack("s3://data/sets/*.h5", output=tmp_path / "out.h5", workers=2)
    assert contents(tmp_path, tmp_path / "out.h5") == contents(tmp_path, tmp_path / "local.h5")
    again = run_pack("s3://data/sets/*.h5", output=tmp_path / "out.h5")
    assert (again.added, again.changed) == (0, [])
    assert {record.source for record in again.records} == {"s3://data/sets/a.h5", "s3://data/sets/deep b.h5"}


def test_one_file_of_a_web_server_is_packed_and_told_when_it_has_changed(server, tmp_path):
    write_videos(server.folder / "a.h5", "vlen", make_videos([3, 4]))
    url = server.url("a.h5")
    command = command_line("pack", url, "-o", tmp_path / "out.h5", "--workers", "1", "--check")
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("checked: all 2 videos are as they were read\n")
    write_videos(server.folder / "a.h5", "vlen", make_videos([3, 4], seed=5))
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "2 sources changed since they were packed" in done.stderr


def test_what_is_no_hdf5_in_a_store_is_refused_by_name(server, tmp_path):
    (server.folder / "film.mp4").write_bytes(bytes(2000))
    with (
        pytest.raises(PackError, match=r"film\.mp4' is no HDF5 file, .*copy the files to a local disk"),
        found_items(PackOptions((server.url("film.mp4"),), "out.h5")),
    ):
        pass
    with (
        pytest.raises(ConfigError, match=r"--from videos: .*film\.mp4' lies in a store, where HDF5 files alone"),
        found_items(PackOptions((server.url("film.mp4"),), "out.h5", kind="videos")),
    ):
        pass


@pytest.mark.parametrize(
    ("source", "output", "words"),
    [
        ("memory://a.h5", "out.h5", "'memory://a.h5' is a URL, .*only the process that wrote it has it"),
        ("a.h5", "s3://data/out.h5", "-o 's3://data/out.h5': pack writes to local disks; give a path"),
    ],
)
def test_other_urls_are_refused_with_what_to_do(source, output, words):
    with pytest.raises(ConfigError, match=words), found_items(PackOptions((source,), output)):
        pass
