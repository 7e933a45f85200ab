"""Which shard a video goes to, and what an output of several files holds after runs that were killed, or came again."""

from __future__ import annotations

import io
import json
from contextlib import closing
from dataclasses import asdict
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loader_service.conversion.write_remedies import OutputError
from loader_service.errors import ConfigError, PackError
from loader_service.failpoints import ENVIRONMENT_VARIABLE
from loader_service.pack import frame_blob, packing
from loader_service.pack.find_items import found_items
from loader_service.pack.pack_journal import write_manifest
from loader_service.pack.pack_options import PackOptions
from loader_service.pack.pack_place import PackPlace
from loader_service.pack.pack_worker import PackWorkerOptions, serve
from loader_service.pack.records import Item, Recoding
from loader_service.pack.shard_plan import Leftover, ShardPlan, in_order, into_units, without_clashes
from tests.pack.runs import catalog_in, contents, run_pack
from tests.pack.test_pictures import write_frames
from tests.pack.test_records import write_tar
from tests.pack.test_resume import run_command
from tests.support.videos import frame_jpeg


def items_of(sizes: list[int]) -> list[Item]:
    return [Item("images", f"v{number}", f"/in/v{number}", (), size) for number, size in enumerate(sizes)]


@given(st.lists(st.integers(0, 1000), min_size=1, max_size=60), st.integers(1, 70))
def test_a_number_of_shards_is_made_and_none_is_empty(sizes: list[int], shards: int) -> None:
    plan = ShardPlan(items_of(sizes), shards, 0)
    placed = [plan.place(f"v{number}", size) for number, size in enumerate(sizes)]
    assert placed == sorted(placed)
    assert set(placed) == set(range(min(shards, len(sizes))))


@given(st.lists(st.integers(1, 1000), min_size=1, max_size=60), st.integers(1, 2000))
def test_no_shard_of_several_videos_is_larger_than_its_size(sizes: list[int], limit: int) -> None:
    plan = ShardPlan(items_of(sizes), 0, limit)
    filled: dict[int, list[int]] = {}
    for number, size in enumerate(sizes):
        filled.setdefault(plan.place(f"v{number}", size), []).append(size)
    assert all(sum(inside) <= limit or len(inside) == 1 for inside in filled.values())
    assert list(filled) == list(range(len(filled)))


@given(st.lists(st.integers(0, 2**23), max_size=200), st.integers(1, 9))
def test_units_hold_all_videos_once_and_in_order(sizes: list[int], processes: int) -> None:
    items = items_of(sizes)
    units = list(into_units(items, processes))
    assert [item for unit in units for item in unit] == items
    assert all(len(unit) <= 64 for unit in units)
    assert len(units) >= min(len(items), processes * 8)


def test_a_film_is_a_unit_of_its_own_however_small() -> None:
    films = [Item("videos", f"v{number}", f"/in/v{number}", (), 10) for number in range(100)]
    assert [len(unit) for unit in into_units(films, 1)] == [1] * 100


def test_a_seed_gives_one_order_and_names_are_counted_as_people_count() -> None:
    items = items_of([1] * 12)
    assert [item.name for item in in_order(items[::-1], None)] == [f"v{number}" for number in range(12)]
    assert in_order(items, 3) == in_order(items[::-1], 3) != in_order(items, 4)


@pytest.mark.parametrize(("first", "second"), [("a", "a"), ("a", "a/b"), ("a/b/c", "a/b")])
def test_a_name_cannot_be_that_of_another_video_or_of_its_folder(first: str, second: str) -> None:
    items = [Item("images", first, "/in/1.jpg"), Item("images", second, "/in/2.jpg"), Item("images", "z", "/in/3.jpg")]
    with pytest.raises(PackError, match=r"/in/2\.jpg.*'/in/1\.jpg'"):
        without_clashes(items, {}, None)
    left: list[Leftover] = []
    assert [item.name for item in without_clashes(items, {}, left.append)] == [first, "z"]
    assert [each.name for each in left] == [second]
    assert without_clashes(items[2:], {first: "/old"}, None) == items[2:]


def test_shards_of_a_size_are_gone_on_with_after_a_kill(tmp_path: Path) -> None:
    written = write_frames(tmp_path / "in", lengths=(3, 4, 5, 6))
    words = (tmp_path / "in", "-o", tmp_path / "out.h5", "--shard-size", "30K")
    died = run_command(*words, **{ENVIRONMENT_VARIABLE: "renamed=kill"})
    assert died.returncode < 0
    assert (tmp_path / "out-00000.h5").exists()
    packed = run_pack(tmp_path / "in", output=tmp_path / "out.h5", shard_size=30 * 1024)
    assert len(packed.paths) == len({record.shard for record in packed.records}) > 2
    assert contents(tmp_path, tmp_path / "out-*.h5") == written
    unbroken = run_pack(tmp_path / "in", output=tmp_path / "whole.h5", shard_size=30 * 1024)
    assert [Path(path).read_bytes() for path in packed.paths] == [Path(path).read_bytes() for path in unbroken.paths]


def test_after_a_kill_a_shard_that_a_faster_process_wrote_leaves_none_before_it_out(
    tmp_path: Path,
) -> None:
    write_frames(tmp_path / "in", lengths=(3, 4, 5, 6))
    words = (tmp_path / "in", "-o", tmp_path / "out.h5", "--shard-size", "30K", "--workers", "1")
    assert run_command(*words, **{ENVIRONMENT_VARIABLE: "renamed[1]=kill"}).returncode < 0
    journal = tmp_path / "out.packing" / "journal.jsonl"
    lines = journal.read_text().splitlines(keepends=True)
    left = [line for line in lines if (said := json.loads(line)).get("shard", said.get("sealed")) != 0]
    assert 0 < len(left) < len(lines)
    journal.write_text("".join(left))
    (tmp_path / "out-00000.h5").unlink()
    packed = run_pack(tmp_path / "in", output=tmp_path / "out.h5", shard_size=30 * 1024)
    unbroken = run_pack(tmp_path / "in", output=tmp_path / "whole.h5", shard_size=30 * 1024)
    assert [Path(path).name for path in packed.paths] == [f"out-0000{number}.h5" for number in range(len(packed.paths))]
    assert [Path(path).read_bytes() for path in packed.paths] == [Path(path).read_bytes() for path in unbroken.paths]


def test_a_full_disk_that_hdf5_meets_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_frames(tmp_path / "in", lengths=(3,))

    def fail(*_: object) -> None:
        raise OSError(
            "Unable to create group (file write failed: time = Mon\n, errno = 28, error message = 'No space')"
        )

    monkeypatch.setattr(packing, "write_index", fail)
    with pytest.raises(
        OutputError, match=r"^writing '.*/out\.h5': No space left on device; free some space, and"
    ) as caught:
        run_pack(tmp_path / "in", output=tmp_path / "out.h5")
    assert "\n" not in str(caught.value)
    monkeypatch.undo()
    run_pack(tmp_path / "in", output=tmp_path / "out.h5")


def test_a_full_disk_is_no_fault_of_the_video_that_was_to_be_kept_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_frames(tmp_path / "in", lengths=(3,))
    monkeypatch.setattr(frame_blob, "_IN_MEMORY", 10)
    with found_items(PackOptions((str(tmp_path / "in"),), str(tmp_path / "out.h5"))) as items:
        request = {"unit": 7, "read": [asdict(items[0])], "bad": {}, "versions": {}}
    replies = io.BytesIO()
    serve([json.dumps(request).encode()], replies, PackWorkerOptions(asdict(Recoding()), str(tmp_path / "full")))
    *_, last = map(json.loads, replies.getvalue().splitlines())
    assert last.keys() == {"unit", "failed"}
    assert last["failed"].startswith(f"writing '{tmp_path / 'full'}")


def test_what_is_new_goes_into_new_shards_and_the_old_ones_stay(tmp_path: Path) -> None:
    written = write_frames(tmp_path / "in", classes=("cat",), lengths=(3, 4, 5))
    first = run_pack(tmp_path / "in", output=tmp_path / "out.h5", shards=2, shuffle=5)
    before = [Path(path).stat() for path in first.paths]
    written |= write_frames(tmp_path / "in", classes=("dog",), lengths=(3, 4, 5))
    second = run_pack(tmp_path / "in", output=tmp_path / "out.h5", shards=2, shuffle=5)
    assert [Path(path).stat() for path in first.paths] == before
    assert [Path(path).name for path in second.paths] == [f"out-0000{number}.h5" for number in range(4)]
    assert contents(tmp_path, tmp_path / "out-*.h5") == written


def test_a_manifest_has_the_order_of_the_bytes_whoever_wrote_them_first(tmp_path: Path) -> None:
    write_frames(tmp_path / "in", lengths=(3, 4, 5))
    done = run_pack(tmp_path / "in", output=tmp_path / "out.h5", shards=2)
    place = PackPlace(str(tmp_path / "out.h5"), is_sharded=True)
    written = place.manifest.read_bytes()
    options = json.loads(written.splitlines()[0])["options"]
    with place.claimed(options, anew=False):
        write_manifest(place, options, done.records[::-1])
    assert place.manifest.read_bytes() == written


@pytest.mark.parametrize("shards", [0, 3])
def test_a_manifest_is_the_same_after_a_kill_where_values_were_made_alike(tmp_path: Path, shards: int) -> None:
    said = [{"tags": [1], "share": 1}, {"tags": [1, 2], "share": 0.5}, {"tags": [], "share": 2}] * 2
    tar = write_tar(
        tmp_path / "a.tar",
        {str(key): {"jpg": frame_jpeg(key), "json": json.dumps(each).encode()} for key, each in enumerate(said)},
    )
    for name, failpoints in (("whole", {}), ("out", {ENVIRONMENT_VARIABLE: "renamed=kill"})):
        number = ("--shards", shards) if shards else ()
        run_command(tar, "-o", tmp_path / f"{name}.h5", *number, "--workers", 1, **failpoints)
    run_pack(tar, output=tmp_path / "out.h5", shards=shards)
    written = sorted(path.name.removeprefix("whole") for path in tmp_path.glob("whole*"))
    assert len(written) == max(1, shards) + 1
    for name in written:
        assert (tmp_path / f"out{name}").read_bytes() == (tmp_path / f"whole{name}").read_bytes()


@pytest.mark.parametrize("kill", ["", "sealed=kill@4", "renamed=kill@4"])
def test_values_are_alike_in_all_shards_whatever_a_later_one_says(tmp_path: Path, kill: str) -> None:
    said = [{"tags": [1], "share": 1}, {"tags": [1], "share": 2}, {"tags": [1, 2], "share": 0.5}]
    samples = {str(key): {"jpg": frame_jpeg(key), "json": json.dumps(each).encode()} for key, each in enumerate(said)}
    tar = write_tar(tmp_path / "a.tar", samples)
    if kill:
        run_command(tar, "-o", tmp_path / "out.h5", "--shards", 3, "--workers", 1, **{ENVIRONMENT_VARIABLE: kill})
    run_pack(tar, output=tmp_path / "out.h5", shards=3)
    with closing(catalog_in(tmp_path, *sorted(tmp_path.glob("out-*.h5")))) as catalog:
        assert catalog.values("share").tolist() == [1.0, 2.0, 0.5]
        assert {field.name for field in catalog.fields} == {"frames", "share", "tags"}
    lines = (tmp_path / "out.manifest.jsonl").read_text().splitlines()[1:]
    assert [json.loads(line)["attributes"]["share"] for line in lines] == [1.0, 2.0, 0.5]


def test_packed_anew_into_fewer_shards_the_others_go_unless_somebody_has_changed_them(tmp_path: Path) -> None:
    written = write_frames(tmp_path / "in", lengths=(3, 4, 5))
    first = run_pack(tmp_path / "in", output=tmp_path / "out.h5", shards=5)
    changed = Path(first.paths[3])
    changed.write_bytes(b"mine")
    packed = run_pack(tmp_path / "in", output=tmp_path / "out.h5", shards=2, force=True)
    assert sorted(tmp_path.glob("out-*.h5")) == [*map(Path, packed.paths), changed]
    changed.unlink()
    assert contents(tmp_path, tmp_path / "out-*.h5") == written


def test_a_shard_that_pack_did_not_write_is_never_written_over(tmp_path: Path) -> None:
    write_frames(tmp_path / "in")
    (tmp_path / "out-00003.h5").write_bytes(b"mine")
    with pytest.raises(ConfigError, match=r"out-00003\.h5' is there already"):
        run_pack(tmp_path / "in", output=tmp_path / "out.h5", shards=4)
    assert (tmp_path / "out-00003.h5").read_bytes() == b"mine"


def test_options_that_cannot_be_met_are_refused() -> None:
    for given_options, said in (
        ({"output": "out.hdf"}, "ends in .h5"),
        ({"shards": 2, "shard_size": 5}, "leave one out"),
        ({"quality": 101}, "--quality 101: expected 1 to 100"),
        ({"fps": 0.0}, "--fps 0"),
        ({"sources": ()}, "nothing to pack"),
    ):
        with pytest.raises(ConfigError, match=said):
            PackOptions(**{"sources": ("in",), "output": "out.h5", **given_options})  # type: ignore[arg-type]
