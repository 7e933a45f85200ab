"""Sources in stores are packed as their local copies are; what changes or does not come is one line with a remedy."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from loader_service.errors import ConfigError, LoaderError, PackError
from loader_service.failpoints import ENVIRONMENT_VARIABLE
from loader_service.formats.examples import encode_example
from loader_service.pack.dry_run import estimate
from loader_service.pack.find_items import found_items
from loader_service.pack.pack_options import PackOptions
from loader_service.pack.packing import Packed, pack
from loader_service.stores import asking_again
from loader_service.unpack.unpack_options import UnpackOptions
from loader_service.unpack.unpacking import Unpacking
from tests.pack.films import write_film
from tests.pack.runs import catalog_in, contents, run_pack
from tests.pack.test_lerobot import write_v2, write_v3
from tests.pack.test_pictures import write_frames
from tests.pack.test_records import write_records, write_tar
from tests.support.services import command_line
from tests.support.videos import frame_jpeg, make_videos, write_videos

pytestmark = pytest.mark.usefixtures("warm_children")


def examples(count: int, first: int = 0) -> list[bytes]:
    return [
        encode_example({"image": frame_jpeg(number), "label": np.array([number])})
        for number in range(first, first + count)
    ]


def tar_samples(count: int, first: int = 0) -> dict[str, dict[str, bytes]]:
    numbers = range(first, first + count)
    return {f"s{number}": {"jpg": frame_jpeg(number), "cls": b"%d" % number} for number in numbers}


def write_tars(root: Path) -> None:
    root.mkdir()
    write_tar(root / "train-000.tar", tar_samples(40))
    write_tar(root / "train-001.tar", tar_samples(5, 40))


def write_compressed_tars(root: Path) -> None:
    write_tars(root)
    for path in list(root.iterdir()):
        subprocess.run(["gzip", path], check=True)


def write_tfrecords(root: Path) -> None:
    write_records(root / "records-00000-of-00002", examples(30))
    write_records(root / "records-00001-of-00002", examples(3, 30))


def write_compressed_records(root: Path) -> None:
    write_records(root / "a.tfrecord.gz", examples(20), "GZIP")


def write_films(root: Path) -> None:
    for seed, name in enumerate(("walk/a.mp4", "walk/b c.mkv", "run/d.avi", "run/é#1.webm")):
        write_film(root / name, 6 + seed, seed=seed)


def write_photos(root: Path) -> None:
    for number, name in enumerate(("cat/tom", "cat/felix", "dog/rex", "dog/.hidden")):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / f"{name}.jpg").write_bytes(frame_jpeg(number))


KINDS = {
    "tar": write_tars,
    "tar.gz": write_compressed_tars,
    "tfrecord": write_tfrecords,
    "tfrecord.gz": write_compressed_records,
    "films": write_films,
    "frames": write_frames,
    "photos": write_photos,
    "lerobot v2": write_v2,
    "lerobot v3": write_v3,
}


def put_all(s3, folder: Path, prefix: str) -> None:
    """Put the files of a folder into the bucket."""
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            s3(f"{prefix}/{path.relative_to(folder)}", path.read_bytes())


def facts(packed: Packed, root: str) -> list[object]:
    """Return all that a manifest says, but for times of change, with sources below a root."""
    return [replace(each, modified_ns=0, source=each.source.removeprefix(root)) for each in packed.records]


@pytest.mark.parametrize("kind", KINDS)
def test_a_folder_of_a_bucket_is_packed_as_its_local_copy(s3, tmp_path, kind):
    KINDS[kind](tmp_path / "in")
    put_all(s3, tmp_path / "in", "sets/in")
    local = run_pack(tmp_path / "in", output=tmp_path / "local.h5", workers=2)
    stored = run_pack("s3://data/sets/in/", output=tmp_path / "out.h5", workers=2)
    assert (tmp_path / "out.h5").read_bytes() == (tmp_path / "local.h5").read_bytes()
    assert facts(stored, "s3://data/sets/in") == facts(local, str(tmp_path / "in"))
    assert {record.source.partition("/in")[0] for record in stored.records} == {"s3://data/sets"}
    again = run_pack("s3://data/sets/in", output=tmp_path / "out.h5")
    assert (again.added, again.changed) == (0, [])


@pytest.mark.parametrize(
    ("given", "names"),
    [
        ("s3://data", ["in/cat/v0", "in/dog/v0"]),
        ("s3a://data/in", ["cat/v0", "dog/v0"]),
        ("s3://data/in/*/*/*.jpg", ["cat/v0", "dog/v0"]),
        ("s3://data/in/cat/v0/1.jpg", ["1"]),
    ],
)
def test_videos_are_called_by_what_lies_below_the_place_that_was_named(s3, tmp_path, given, names):
    write_frames(tmp_path / "in", lengths=(3,))
    put_all(s3, tmp_path / "in", "in")
    s3("in/.hidden/x/1.jpg", frame_jpeg(1))
    kind = "images" if given.endswith("1.jpg") else None
    with found_items(PackOptions((given,), "out.h5", kind=kind)) as items:
        assert [item.name for item in items] == names


def test_what_only_fsspec_reaches_is_packed_too(ftp, tmp_path):
    write_frames(tmp_path / "ftp" / "set", lengths=(3,))
    run_pack(tmp_path / "ftp" / "set", output=tmp_path / "local.h5")
    run_pack(f"{ftp}set/", output=tmp_path / "out.h5")
    assert (tmp_path / "out.h5").read_bytes() == (tmp_path / "local.h5").read_bytes()
    assert "pass-word" not in (tmp_path / "out.manifest.jsonl").read_text()
    again = run_pack(f"{ftp}set", output=tmp_path / "out.h5")
    assert (again.added, again.changed) == (0, [])


def test_hdf5_files_that_match_a_pattern_are_packed_as_local_ones(s3, tmp_path):
    (tmp_path / "in").mkdir()
    for name, layout in (("a.h5", "vlen"), ("deep b.h5", "padded")):
        write_videos(tmp_path / "in" / name, layout, make_videos([3, 4], seed=len(name)))
        s3(f"sets/{name}", (tmp_path / "in" / name).read_bytes())
    run_pack(tmp_path / "in", output=tmp_path / "local.h5", workers=2)
    stored = run_pack("s3://data/sets/*.h5", output=tmp_path / "out.h5", workers=2)
    assert contents(tmp_path, tmp_path / "out.h5") == contents(tmp_path, tmp_path / "local.h5")
    assert {record.source for record in stored.records} == {"s3://data/sets/a.h5", "s3://data/sets/deep b.h5"}


@pytest.mark.parametrize("target", ["webdataset", "folders"])
def test_shards_that_unpack_wrote_are_read_and_single_files_refused(s3, tmp_path, target):
    write_videos(tmp_path / "a.h5", "vlen", make_videos([3, 4]))
    catalog = catalog_in(tmp_path, tmp_path / "a.h5")
    Unpacking(catalog, UnpackOptions(output=str(tmp_path / "in"), to=target), 1).run(lambda *_: None)
    catalog.close()
    put_all(s3, tmp_path / "in", "in")
    if target == "folders":
        with pytest.raises(PackError, match="--to folders is read from local disks alone; copy the folder here"):
            run_pack("s3://data/in/", output=tmp_path / "out.h5")
        return
    run_pack(tmp_path / "in", output=tmp_path / "local.h5")
    run_pack("s3://data/in/", output=tmp_path / "out.h5")
    assert (tmp_path / "out.h5").read_bytes() == (tmp_path / "local.h5").read_bytes()


def test_shards_order_and_what_is_added_later_are_those_of_a_local_copy(s3, tmp_path):
    write_tars(tmp_path / "in")
    put_all(s3, tmp_path / "in", "in")
    sources = {"local": f"{tmp_path / 'in'}/", "stored": "s3://data/in/"}
    given = {"shards": 3, "shuffle": 7}
    for name, source in sources.items():
        run_pack(f"{source}train-000.tar", output=tmp_path / f"{name}.h5", **given)
        added = run_pack(*(f"{source}train-00{n}.tar" for n in range(2)), output=tmp_path / f"{name}.h5", **given)
        assert added.added == 5
    written = [sorted(tmp_path.glob(f"{name}-*.h5")) for name in sources]
    assert len(written[0]) > 3
    assert [path.read_bytes() for path in written[1]] == [path.read_bytes() for path in written[0]]


@pytest.mark.parametrize("name", ["film.mp4", "a.tar", "a-00000-of-00001", "cat.jpg"])
def test_a_file_of_a_web_server_is_packed_whatever_its_requests_meet(server, tmp_path, monkeypatch, name):
    monkeypatch.setattr(asking_again, "_FIRST_PAUSE_S", 0.001)
    path = server.folder / name
    if name == "film.mp4":
        write_film(path, 8)
    elif name == "a.tar":
        write_tar(path, tar_samples(20))
    elif name == "cat.jpg":
        path.write_bytes(frame_jpeg(1))
    else:
        write_records(path, examples(20))
    run_pack(path, output=tmp_path / "local.h5", labels="none")
    server.faults += [503, 0.05, "cut", 503, 503, 503, 503, "cut"]
    given = PackOptions((server.url(name),), str(tmp_path / "none.h5"), labels="none")
    with found_items(given) as items:
        assert estimate(items, given).read > 0
    server.faults += [503, "cut"]
    packed = run_pack(server.url(name), output=tmp_path / "out.h5", labels="none")
    assert (tmp_path / "out.h5").read_bytes() == (tmp_path / "local.h5").read_bytes()
    assert packed.records[0].source == server.url(name)


def test_a_query_that_signs_a_url_is_written_nowhere(server, tmp_path):
    write_film(server.folder / "film.mp4", 4)
    server.signature = "X-Amz-Signature=very-secret"
    command = command_line(
        "pack", f"{server.url('film.mp4')}?{server.signature}", "-o", tmp_path / "out.h5", "--workers", "1", "--check"
    )
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("checked: all 1 video are as they were read\n")
    manifest = (tmp_path / "out.manifest.jsonl").read_text()
    assert json.loads(manifest.splitlines()[1])["source"] == server.url("film.mp4")
    assert "very-secret" not in manifest + done.stdout + done.stderr


def test_a_run_that_was_killed_goes_on_into_the_same_bytes(s3, tmp_path):
    write_tars(tmp_path / "in")
    put_all(s3, tmp_path / "in", "in")
    run_pack(tmp_path / "in", output=tmp_path / "local.h5")
    command = command_line("pack", "s3://data/in/", "-o", tmp_path / "out.h5", "--workers", "2", "--check")
    died = subprocess.run(command, env={**os.environ, ENVIRONMENT_VARIABLE: "packed=kill"}, check=False)
    assert died.returncode < 0
    assert not (tmp_path / "out.h5").exists()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out.h5").read_bytes() == (tmp_path / "local.h5").read_bytes()


@pytest.mark.parametrize(("kind", "changed"), [("tar", 40), ("frames", 1), ("films", 1)])
def test_what_has_changed_since_it_was_packed_is_told(s3, tmp_path, kind, changed):
    KINDS[kind](tmp_path / "in")
    put_all(s3, tmp_path / "in", "in")
    run_pack("s3://data/in/", output=tmp_path / "out.h5")
    first = min(path for path in (tmp_path / "in").rglob("*") if path.is_file())
    data = bytearray(first.read_bytes())
    data[-1] ^= 1
    s3(f"in/{first.relative_to(tmp_path / 'in')}", bytes(data))
    again = run_pack("s3://data/in/", output=tmp_path / "out.h5")
    assert (again.added, len(again.changed)) == (0, changed)


@pytest.mark.parametrize("kind", ["tar", "frames", "films", "lerobot v2"])
def test_what_changes_after_it_was_found_is_a_bad_source(s3, tmp_path, kind):
    KINDS[kind](tmp_path / "in")
    put_all(s3, tmp_path / "in", "in")
    options = PackOptions(("s3://data/in/",), str(tmp_path / "out.h5"), workers=1)
    with found_items(options) as items:
        for path in sorted((tmp_path / "in").rglob("*.*")):
            if path.is_file():
                s3(f"in/{path.relative_to(tmp_path / 'in')}", path.read_bytes() + b"\0" * 10240)
        with pytest.raises(PackError, match=r"'s3://data/in/[^']+' has changed while it was read; pack again when"):
            pack(items, options, lambda _done, _total: None)


def test_a_tar_that_is_cut_off_and_one_that_nobody_may_read_are_left_out_where_that_is_asked_for(server, s3, tmp_path):
    write_tars(tmp_path / "in")
    put_all(s3, tmp_path / "in", "in")
    s3("in/train-002.tar", (tmp_path / "in" / "train-001.tar").read_bytes()[:-2000])
    with pytest.raises(LoaderError, match=r"'s3://data/in/train-002\.tar', member \d+ at byte \d+: .*cut off"):
        run_pack("s3://data/in/", output=tmp_path / "out.h5")
    write_tar(server.folder / "refused.tar", tar_samples(2))
    server.faults.append(403)
    packed = run_pack(
        "s3://data/in/", server.url("refused.tar"), output=tmp_path / "out.h5", on_error="skip", labels="none"
    )
    assert len(packed.records) == 49
    cut, refused = sorted(packed.left_out, key=lambda each: each.name, reverse=True)
    assert cut.name == "train-002.tar, all after 4"
    assert refused.reason.startswith(f"{server.url('refused.tar')!r}: access was refused: the credentials")


@pytest.mark.parametrize(
    ("environment", "words"),
    [
        ({"AWS_ACCESS_KEY_ID": None, "AWS_SECRET_ACCESS_KEY": None}, "no credentials; set AWS_ACCESS_KEY_ID"),
        ({"AWS_ENDPOINT_URL": "http://127.0.0.1:9"}, "does not answer; check the URL, AWS_ENDPOINT_URL"),
    ],
)
def test_what_keeps_a_bucket_from_being_listed_is_one_line(s3, tmp_path, monkeypatch, environment, words):
    s3("in/a.tar", b"")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    for name, value in environment.items():
        if value is None:
            monkeypatch.delenv(name)
        else:
            monkeypatch.setenv(name, value)
    with (
        pytest.raises(ConfigError, match=words) as caught,
        found_items(PackOptions(("s3://data/in/",), "out.h5")),
    ):
        pass
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("status", [403, 404, 500])
def test_bytes_that_do_not_come_are_one_line_with_a_remedy(server, tmp_path, monkeypatch, status):
    monkeypatch.setattr(asking_again, "_PATIENCE_S", 0.0)
    write_film(server.folder / "a.mp4", 3)
    given = PackOptions((server.url("a.mp4"),), str(tmp_path / "out.h5"))
    with found_items(given) as items:
        server.faults += [status] * 100
        words = {403: "access was refused", 404: "there is no such file", 500: "the server answers 500"}[status]
        (bad, *_) = estimate(items, given).bad
        assert words in bad
        assert "\n" not in bad
        server.faults.clear()


@pytest.mark.parametrize(
    ("source", "output", "words"),
    [
        ("memory://a.h5", "out.h5", "'memory://a.h5' is a URL, .*only the process that wrote it has it"),
        ("a.h5", "s3://data/out.h5", "-o 's3://data/out.h5': pack writes to local disks; give a path"),
        ("http://127.0.0.1:9/films/", "out.h5", "is a folder; give the file"),
    ],
)
def test_other_urls_are_refused_with_what_to_do(source, output, words):
    with pytest.raises(ConfigError, match=words), found_items(PackOptions((source,), output)):
        pass
