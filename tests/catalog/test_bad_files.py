"""Files and patterns that cannot be used are refused by name, with what to do; or skipped and counted."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from contextlib import closing

import h5py
import numpy as np
import pytest

from loader_service.catalog.paths import expand_patterns
from loader_service.errors import CatalogError, ConfigError
from tests.catalog.advice import schemas_in
from tests.support.catalogs import catalog_of, declared_catalog, frames_of, names_of
from tests.support.videos import frame_jpeg, make_videos, write_videos


def write_good(path):
    write_videos(path, "vlen", make_videos([2, 3]))
    return path


def write_empty(path):
    path.write_bytes(b"")


def write_text(path):
    path.write_bytes(b"no HDF5 at all" * 100)


def write_truncated(path):
    write_good(path)
    os.truncate(path, path.stat().st_size // 2)


def write_unclosed(path):
    """Leave a file as a writer that was killed leaves it."""
    program = (
        "import h5py, os, signal, sys\n"
        "file = h5py.File(sys.argv[1], 'w', libver='latest')\n"
        "file.create_dataset('x', data=[1]); file.flush(); os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run([sys.executable, "-c", program, str(path)], check=False)
    assert done.returncode == -signal.SIGKILL


def write_external_link(path):
    write_good(path)
    with h5py.File(path, "a") as file:
        file["group/other"] = h5py.ExternalLink("/etc/passwd", "/")


def write_virtual(path):
    write_good(path)
    layout = h5py.VirtualLayout((4,), np.uint8)
    layout[:] = h5py.VirtualSource("other.h5", "x", (4,))
    with h5py.File(path, "a") as file:
        file.create_virtual_dataset("group/other", layout)


def write_external_storage(path):
    write_good(path)
    with h5py.File(path, "a") as file:
        file.create_dataset("group/other", (4,), np.uint8, external=[("/etc/passwd", 0, 4)])


def write_bad_checksum(path):
    write_videos(path, "vlen", make_videos([2]))
    frame = frame_jpeg(0)
    with h5py.File(path, "w") as file:
        rows = np.zeros((4, len(frame)), np.uint8) + np.frombuffer(frame, np.uint8)
        dataset = file.create_dataset("v/images", data=rows, chunks=(1, len(frame)), fletcher32=True)
        offset = dataset.id.get_chunk_info(0).byte_offset
    with open(path, "r+b") as stream:
        stream.seek(offset + 100)
        stream.write(b"\0\1\2\3")


def write_unknown_filter(path):
    """Write a chunk through a filter that nobody has."""
    with h5py.File(path, "w") as file:
        properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        properties.set_chunk((1, 8))
        properties.set_filter(32_015, h5py.h5z.FLAG_OPTIONAL)
        space = h5py.h5s.create_simple((2, 8))
        dataset = h5py.h5d.create(file.id, b"features", h5py.h5t.NATIVE_UINT8, space, properties)
        dataset.write_direct_chunk((0, 0), bytes(8))


BAD = {
    write_unknown_filter: "'features': compressed by filter 32015",
    write_empty: "expected an HDF5 file, got an empty one",
    write_text: "expected an HDF5 file, got a text; leave it out; `loader-service pack` cannot",
    write_truncated: "the file is truncated",
    write_unclosed: "h5clear",
    write_external_link: "'group/other' is an external link",
    write_virtual: "'group/other' is a virtual dataset",
    write_external_storage: "'group/other' is stored outside of its file",
    write_bad_checksum: "HDF5 cannot read it",
}


@pytest.mark.parametrize(("write", "message"), BAD.items(), ids=[write.__name__ for write in BAD])
def test_bad_files_are_refused_by_name_or_skipped_and_listed(tmp_path, write, message):
    write_good(tmp_path / "good.h5")
    write(tmp_path / "bad.h5")
    with pytest.raises(CatalogError, match=message) as caught:
        catalog_of(tmp_path)
    assert str(tmp_path / "bad.h5") in str(caught.value)
    catalog = catalog_of(tmp_path, on_bad_file="skip")
    assert [path for path, _ in catalog.skipped] == [str(tmp_path / "bad.h5")]
    assert message in catalog.skipped[0][1]
    assert names_of(catalog) == ["video0", "video1"]


def test_a_repaired_file_is_no_longer_skipped(tmp_path):
    write_good(tmp_path / "good.h5")
    write_empty(tmp_path / "bad.h5")
    assert catalog_of(tmp_path, on_bad_file="skip").file_count == 1
    write_good(tmp_path / "bad.h5")
    assert catalog_of(tmp_path, on_bad_file="skip").file_count == 2


def test_a_file_held_open_by_a_writer_is_refused(tmp_path):
    path = write_good(tmp_path / "a.h5")
    program = "import h5py, sys\nfile = h5py.File(sys.argv[1], 'a')\nprint('open', flush=True)\nsys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", program, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as writer:
        assert writer.stdout.readline() == b"open\n"
        with pytest.raises(CatalogError, match=r"a\.h5.*another program has it open for writing"):
            catalog_of(tmp_path)
        writer.stdin.close()


def test_a_heap_that_is_not_where_it_should_be_is_an_error_and_never_zeros(tmp_path):
    path = write_good(tmp_path / "a.h5")
    data = path.read_bytes()
    path.write_bytes(data.replace(b"GCOL", b"GONE"))
    with pytest.raises(CatalogError, match=r"a\.h5.*HDF5 cannot read it"):
        catalog_of(tmp_path)


def test_nothing_but_empty_videos_is_refused(tmp_path):
    write_videos(tmp_path / "a.h5", "vlen", {"v1": [], "v2": []})
    with pytest.raises(CatalogError, match=r"no video with frames in 1 file such as '.*a\.h5' "):
        catalog_of(tmp_path)


@pytest.mark.parametrize("name", ["plain.h5", "日本 ☃.h5", "new\nline.h5", "glob[1]*.h5", b"latin-\xe9.h5"])
def test_odd_file_names_work(tmp_path, name):
    path = os.path.join(str(tmp_path), os.fsdecode(name))
    write_good(os.path.join(str(tmp_path), "x.h5"))
    os.rename(os.path.join(str(tmp_path), "x.h5"), path)
    for pattern in (path, str(tmp_path / "*.h5")):
        catalog = catalog_of(tmp_path, pattern)
        assert catalog.file_path(0) == path
        assert frames_of(catalog, 0) == list(make_videos([2])["video0"])


def test_patterns_expand_in_natural_order_each_file_once(tmp_path):
    for name in ("f10.h5", "f9.h5", "sub/f1.h5"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    names = expand_patterns([f"{tmp_path}/*.h5", f"{tmp_path}/f9.h5", f"{tmp_path}/**/*.h5"])
    assert [os.path.relpath(name, tmp_path) for name in names] == ["f9.h5", "f10.h5", "sub/f1.h5"]


def test_relative_patterns_give_absolute_paths(tmp_path, monkeypatch):
    (tmp_path / "a.h5").touch()
    monkeypatch.chdir(tmp_path)
    assert expand_patterns(["*.h5"]) == [str(tmp_path / "a.h5")]


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("{}/nothing*.h5", "matches no file; check the path, and quote the pattern in the shell$"),
        ("{}/no/nothing*.h5", "matches no file; check the path, .*; there is no folder '.*/no'$"),
        ("{}/deep*", r"matches no file; .* one folder deeper there are some: give '.*/\*/deep\*'$"),
        ("{}/nothing.h5", "'.*/nothing.h5' does not exist; check the path: looked in '/"),
        ("{}/no/nothing.h5", "does not exist; check the path; there is no folder '.*/no'$"),
        ("{}/folder", r"is a directory; give '.*/folder/\*\.h5'"),
        ("{}/fold*", "matches only directories"),
        ("{}/socket", "; where a service listens there, its endpoint is ipc:///.*/socket"),
        ("{}/fifo", "is a device, pipe or socket"),
        ("/dev/null", "is a device, pipe or socket"),
        ("{}/loop", "Too many levels of symbolic links; it is a link to 'loop': mend it, or leave it out"),
        ("{}/lo*", "cannot be reached: Too many levels of symbolic links"),
        ("{}/dangling", "cannot be reached: No such file or directory; it is a link to 'nowhere': mend it"),
        ("zero\0byte", "zero byte"),
    ],
)
def test_patterns_that_name_no_file_are_refused(tmp_path, pattern, message):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "deep.x").touch()
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "dangling").symlink_to("nowhere")
    os.mkfifo(tmp_path / "fifo")
    os.mknod(tmp_path / "socket", stat.S_IFSOCK | 0o600)
    pattern = pattern.format(tmp_path)
    with pytest.raises(ConfigError, match=message) as caught:
        expand_patterns([pattern])
    assert repr(pattern)[1:-3] in str(caught.value) or "lo" in pattern


def test_no_patterns_are_refused():
    with pytest.raises(ConfigError, match="no files given"):
        expand_patterns([])


def test_files_without_permission_are_refused(tmp_path, monkeypatch):
    write_good(tmp_path / "a.h5")
    # The tests may run as root, who may read everything.
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(ConfigError, match=r"a\.h5' cannot be read: permission denied"):
        expand_patterns([str(tmp_path / "a.h5")])


@pytest.mark.parametrize("options", [{"frames": ""}, {"on_bad_file": "ignore"}])
def test_options_are_checked(tmp_path, options):
    with pytest.raises(ConfigError, match="|".join(options)):
        catalog_of(tmp_path, **options)


def test_a_file_that_asks_beside_others_may_be_left_out(tmp_path):
    """A schema that is shown for one file, as of means and deviations, would not fit the episodes beside it."""
    with h5py.File(tmp_path / "a_stats.h5", "w") as root:
        for name in ("action/mean", "action/std", "qpos/mean"):
            root[name] = np.arange(7.0)
    with pytest.raises(CatalogError, match="say which in a --schema FILE") as alone:
        catalog_of(tmp_path)
    assert "--on-bad-file" not in str(alone.value)
    with h5py.File(tmp_path / "episode_0.h5", "w") as root:
        root["rgb"], root["action"] = np.ones((5, 24, 32, 3), np.uint8), np.zeros((5, 7))
    with pytest.raises(CatalogError, match=r"was tried on this file alone, .*; or, .*, as --on-bad-file skip does"):
        catalog_of(tmp_path)
    assert catalog_of(tmp_path, on_bad_file="skip").file_count == 1


def test_frames_that_share_bytes_are_refused_but_not_one_that_is_kept_once(tmp_path):
    frames = [frame_jpeg(number) for number in range(3)]
    begins = np.cumsum([0, *map(len, frames[:-1])])
    for name, shift in (("good", 0), ("bad", 5)):
        with h5py.File(tmp_path / f"{name}.h5", "w") as file:
            file["v/data"] = np.frombuffer(b"".join(frames), np.uint8)
            file["v/starts"] = np.array([*begins, begins[1]]) - np.array([0, 0, shift, 0])
            file["v/lengths"] = [*map(len, frames), len(frames[1])]
    with closing(catalog_of(tmp_path, tmp_path / "good.h5")) as found:
        assert frames_of(found, 0) == [*frames, frames[1]]
    with pytest.raises(CatalogError, match=r"'v/starts', entries \d and 2: expected frames that share no bytes of"):
        catalog_of(tmp_path, tmp_path / "bad.h5")


def test_jpegs_of_which_no_header_says_a_size_are_refused(tmp_path):
    write_videos(tmp_path / "a.h5", "vlen", {"v": [frame_jpeg(number)[:20] for number in range(3)]})
    with pytest.raises(CatalogError, match=r"a\.h5': 'v': expected pictures whose headers say how large they are"):
        catalog_of(tmp_path)


@pytest.mark.parametrize(
    ("links", "said"),
    [
        ({"link": "/nothing/there"}, ["link"]),
        ({"link": "/other", "other": "/link"}, ["link", "other"]),
        ({"link": "/other", "other": "video0", "frames": "other/frames"}, []),
        ({"video0/beside": "./frames"}, []),
    ],
)
def test_a_soft_link_that_leads_nowhere_has_a_line(tmp_path, links, said):
    write_videos(tmp_path / "a.h5", "group_vlen", make_videos([2, 3]))
    with h5py.File(tmp_path / "a.h5", "a") as file:
        for name, target in links.items():
            file[name] = h5py.SoftLink(target)
    lines = [line for line in catalog_of(tmp_path).left_out if "found a soft link to" in line]
    assert [line.split("'")[1] for line in lines] == said


def test_a_type_that_nothing_serves_is_not_said_to_be_served_by_a_schema(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["x"] = np.array([b"\1\2\3\4"] * 9, "V4")
    with pytest.raises(CatalogError, match=r"found 'x' opaque \(9,\); leave the file out, or serve it by --source"):
        catalog_of(tmp_path)


def test_the_schema_beside_films_in_numbered_groups_serves_the_numbers_of_all(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        for number in range(3):
            file[f"data/demo_{number}/video"] = np.frombuffer(b"\0\0\0\x18ftypmp42" + bytes(500), np.uint8)
            file[f"data/demo_{number}/actions"] = np.full((5 + number, 7), number, np.float32)
    with pytest.raises(CatalogError, match="found MP4") as refused:
        catalog_of(tmp_path)
    (schema,) = schemas_in(str(refused.value))
    with closing(declared_catalog(tmp_path, schema)) as found:
        assert names_of(found) == [f"data/demo_{number}" for number in range(3)]
        assert found.frame_counts.tolist() == [5, 6, 7]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("version https://git-lfs.github.com/spec/v1\noid sha256:ab\nsize 5\n", r"a pointer of Git LFS to it; run"),
        ("<!DOCTYPE html><html><body>404</body></html>", r"a web page; download the file again"),
    ],
)
def test_what_stands_in_place_of_a_file_is_named_with_its_remedy(tmp_path, content, words):
    (tmp_path / "a.h5").write_text(content)
    with pytest.raises(CatalogError, match=rf"a\.h5': expected an HDF5 file, got {words}"):
        catalog_of(tmp_path)


def test_a_format_that_is_newer_than_hdf5_here_is_said_to_be_that(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w", libver="latest") as file:
        file["x"] = np.zeros((5, 4))
    data = bytearray((tmp_path / "a.h5").read_bytes())
    data[8] = 9  # the version of the superblock
    (tmp_path / "a.h5").write_bytes(data)
    with pytest.raises(CatalogError, match=r"a newer HDF5 than \d.*may have written it: `pip install --upgrade h5py`"):
        catalog_of(tmp_path)
