"""LeRobot data sets of versions 2.1 and 3.0: episodes with cameras, numbers and tasks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from loader_service.errors import ConfigError, PackError
from loader_service.pack.find_items import found_items
from loader_service.pack.pack_options import PackOptions
from loader_service.pack.sources.lerobot_sets import _inside
from loader_service.worker.reader import Reader
from tests.pack.films import jpegs_of, write_film
from tests.pack.runs import catalog_in, run_pack

LENGTHS = (4, 6)
CAMERA = "observation.images.top"


def write_info(root: Path, version: str, data: str, video: str) -> None:
    features = {
        CAMERA: {"dtype": "video", "shape": [48, 64, 3]},
        "observation.state": {"dtype": "float32", "shape": [3]},
        "action": {"dtype": "float32", "shape": [2]},
    }
    told = {"codebase_version": version, "fps": 10, "chunks_size": 1000, "features": features}
    (root / "meta").mkdir(parents=True)
    (root / "meta" / "info.json").write_text(json.dumps({**told, "data_path": data, "video_path": video}))


def rows(episode: int, first: int) -> dict[str, Any]:
    count = LENGTHS[episode]
    return {
        "observation.state": pa.array([[float(n), episode, 0.5] for n in range(count)], pa.list_(pa.float32(), 3)),
        "action": pa.array([[float(n), -1.0] for n in range(count)], pa.list_(pa.float32())),
        "timestamp": pa.array([n / 10 for n in range(count)], pa.float32()),
        "frame_index": pa.array(range(count), pa.int64()),
        "episode_index": pa.array([episode] * count, pa.int64()),
        "index": pa.array(range(first, first + count), pa.int64()),
        "task_index": pa.array([0] * count, pa.int64()),
    }


def write_v2(root: Path) -> dict[str, list[bytes]]:
    """Write a set of version 2.1; return the frames of its episodes."""
    data = "data/chunk-{episode_chunk:03d}/episode_{episode_index:06d}.parquet"
    write_info(root, "v2.1", data, "videos/chunk-{episode_chunk:03d}/{video_key}/episode_{episode_index:06d}.mp4")
    frames, lines = {}, []
    (root / "data" / "chunk-000").mkdir(parents=True)
    for episode, length in enumerate(LENGTHS):
        pq.write_table(pa.table(rows(episode, 4 * episode)), root / f"data/chunk-000/episode_{episode:06d}.parquet")
        film = root / "videos" / "chunk-000" / CAMERA / f"episode_{episode:06d}.mp4"
        frames[f"episode_{episode:06}"] = jpegs_of(write_film(film, length, seed=episode))
        lines.append(json.dumps({"episode_index": episode, "tasks": ["fold the cloth"], "length": length}))
    (root / "meta" / "episodes.jsonl").write_text("\n".join(lines))
    return frames


def write_v3(root: Path) -> dict[str, list[bytes]]:
    """Write the same as version 3.0: one file of both episodes."""
    data = "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet"
    write_info(root, "v3.0", data, "videos/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4")
    for folder in ("data/chunk-000", "meta/episodes/chunk-000"):
        (root / folder).mkdir(parents=True)
    tables = [pa.table(rows(episode, 4 * episode)) for episode in range(2)]
    pq.write_table(pa.concat_tables(tables), root / "data/chunk-000/file-000.parquet")
    frames = jpegs_of(write_film(root / "videos" / CAMERA / "chunk-000" / "file-000.mp4", sum(LENGTHS)))
    entries = [
        {
            "episode_index": episode,
            "tasks": ["fold the cloth"],
            "length": length,
            "data/chunk_index": 0,
            "data/file_index": 0,
            f"videos/{CAMERA}/chunk_index": 0,
            f"videos/{CAMERA}/file_index": 0,
            f"videos/{CAMERA}/from_timestamp": first / 10,
            f"videos/{CAMERA}/to_timestamp": (first + length) / 10,
            "stats/action/max": [1.0],
        }
        for episode, (first, length) in enumerate(((0, 4), (4, 6)))
    ]
    pq.write_table(pa.Table.from_pylist(entries), root / "meta/episodes/chunk-000/file-000.parquet")
    return {"episode_000000": frames[:4], "episode_000001": frames[4:]}


@pytest.mark.parametrize("write", [write_v2, write_v3])
def test_episodes_have_their_frames_numbers_and_tasks(tmp_path: Path, write: Any) -> None:
    frames = write(tmp_path / "set")
    run_pack(tmp_path / "set", output=tmp_path / "out.h5")
    catalog = catalog_in(tmp_path, tmp_path / "out.h5")
    fields = {each.name: each for each in catalog.fields}
    reader = Reader(catalog)
    for video, length in enumerate(LENGTHS):
        name = catalog.name(video).decode()
        assert reader.read(video, range(length), "frames") == frames[name]
        state = np.empty((length, 3), np.float32)
        reader.read_array(video, "observation.state", 0, state)
        assert state.tolist() == [[n, video, 0.5] for n in range(length)]
    assert fields["action"].shape == (2,)
    assert catalog.values("task").tolist() == [b"fold the cloth"] * 2
    assert catalog.values("frame_rate").tolist() == [10.0, 10.0]
    reader.close()
    catalog.close()


def test_texts_and_structures_of_frames_are_texts_and_json_and_none_is_an_empty_one(tmp_path: Path) -> None:
    write_v2(tmp_path / "set")
    table = tmp_path / "set" / "data/chunk-000/episode_000000.parquet"
    said = [{"role": "user", "content": 'the "red" one', "tool_calls": None}]
    columns = {**rows(0, 0), "note": ["a", None, "", "d"], "language_events": [said, [], None, []]}
    pq.write_table(pa.table(columns), table)
    items_of_both = {**rows(1, 4), "note": ["b"] * 6, "language_events": [[]] * 5 + [said]}
    pq.write_table(pa.table(items_of_both), table.with_name("episode_000001.parquet"))
    run_pack(tmp_path / "set", output=tmp_path / "out.h5")
    with h5py.File(tmp_path / "out.h5") as file:
        episode = file["episode_000000"]
        assert episode["note"][()].tolist() == [b"a", b"", b"", b"d"]
        events = episode["language_events"][()].tolist()
    assert [json.loads(each) if each else None for each in events] == [said, [], None, []]
    pq.write_table(pa.table({**columns, "count": pa.array([1, None, 2, 3], pa.int64())}), table)
    with pytest.raises(PackError, match="frame 1: 'count' has no number; leave the episode out"):
        run_pack(tmp_path / "set", output=tmp_path / "other.h5")


def test_a_film_that_is_not_there_is_named(tmp_path: Path) -> None:
    write_v2(tmp_path / "set")
    (tmp_path / "set" / "videos" / "chunk-000" / CAMERA / "episode_000001.mp4").unlink()
    with (
        pytest.raises(PackError, match=r"episode_000001\.mp4', of episode 1, is not there"),
        found_items(PackOptions((str(tmp_path / "set"),), "out.h5")),
    ):
        pass


@pytest.mark.parametrize("pattern", ["../../etc/passwd", "/etc/passwd", "data/{nothing}", "{0.__class__}"])
def test_a_set_cannot_name_files_outside_of_itself(pattern: str) -> None:
    with pytest.raises(PackError, match=r"outside of the set|no path of LeRobot"):
        _inside("/data/set", pattern, {"episode_index": 1})


def test_a_version_that_is_not_known_and_a_frame_rate_are_refused(tmp_path: Path) -> None:
    write_info(tmp_path / "old", "v1.6", "data", "videos")
    with pytest.raises(PackError, match=r"LeRobot v1\.6"), found_items(PackOptions((str(tmp_path / "old"),), "out.h5")):
        pass
    write_v2(tmp_path / "set")
    with pytest.raises((ConfigError, PackError), match=r"--fps"):
        run_pack(tmp_path / "set", output=tmp_path / "out.h5", fps=5.0)
