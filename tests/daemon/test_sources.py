"""Users' own sources and transforms in real services: what they promise, what is told of them, and how they fail."""

from __future__ import annotations

import importlib.util
import os
import re
import signal
import subprocess
from contextlib import ExitStack

import numpy as np
import pytest

from loader_client import Clip, ConfigError, Frame, LoaderError, Spec, connect
from loader_client.connecting import connection_to
from loader_service.daemon.launcher import PrivateService
from loader_service.daemon.words import MOST_LINES
from loader_service.errors import SourceError
from tests.support.services import command_line, new_endpoint, running_service, started_service
from tests.support.waiting import eventually

OWN = "tests.daemon.own_sources"

#: The number of the video of `small_videos` whose label is 21, and its file.
CURSED, ITS_FILE = 8, "part2.h5"


def log_of(endpoint, batch_size=7, **options):
    """Return every byte of a stream's batches, in order."""
    with connect(endpoint) as connection:
        batches = connection.batches(batch_size, **options)
        return [{name: (str(value.dtype), value.tobytes()) for name, value in batch.items()} for batch in batches]


def source(name, workers=1, **options):
    return running_service(source=f"{OWN}:{name}", workers=workers, **options)


@pytest.fixture(scope="module")
def items():
    """A service of a map source, by one worker."""
    with source("Items") as service:
        yield service


@pytest.fixture(scope="module")
def two_epochs(items):
    return log_of(items.endpoint, epochs=2)


def the_error(endpoint, batch_size=4, **options):
    with connect(endpoint) as connection, pytest.raises(LoaderError) as caught:
        list(connection.batches(batch_size, **options))
    return caught.value


# ---- map sources


def test_a_map_source_delivers_each_item_once_as_it_returns_it(items):
    with connect(items.endpoint) as connection:
        catalog = connection.catalog
        batches = list(connection.batches(7, drop_remainder=False, seed=2))
    assert (catalog.kind, catalog.videos, catalog.frames) == ("map", 1, 60)
    assert [(each.name, each.dtype, each.shape) for each in catalog.fields] == [
        ("grid", "float32", (4, 3)),
        ("robot/joints", "float32", (3,)),
        ("robot/on", "bool", ()),
        ("name", "S64", ()),
    ]
    index = np.concatenate([batch["index"] for batch in batches])
    assert sorted(index) == list(range(60))
    assert index.tolist() != list(range(60))
    for batch in batches:
        numbers = batch["index"]
        np.testing.assert_array_equal(batch["grid"], np.broadcast_to(numbers[:, None, None], (len(numbers), 4, 3)))
        np.testing.assert_array_equal(batch["robot/joints"][:, 0], numbers / 2)
        np.testing.assert_array_equal(batch["robot/on"], numbers % 2 == 0)
        assert batch["name"].tolist() == [f"item {number}".encode() for number in numbers]


@pytest.mark.parametrize("workers", [1, 3])
def test_a_map_source_delivers_the_same_bytes_in_the_same_order_for_any_number_of_workers(two_epochs, workers):
    with source("Items", workers) as service:
        assert log_of(service.endpoint, epochs=2) == two_epochs


def test_a_map_source_delivers_the_same_when_workers_are_killed(two_epochs):
    with source("SlowItems", workers=2) as service, connect(service.endpoint) as connection:
        seen = []
        for number, batch in enumerate(connection.batches(7, epochs=2, prefetch=2)):
            seen.append({name: (str(value.dtype), value.tobytes()) for name, value in batch.items()})
            if number in (2, 6, 10):
                os.kill(service.worker_pids[0], signal.SIGKILL)  # the oldest, which is at work
        names = {name for name in seen[0] if name != "video"}  # the source's own name is there
        assert [{n: each[n] for n in names} for each in seen] == [{n: each[n] for n in names} for each in two_epochs]
        assert sum(c.count for c in connection.status().counters if c.name == "workers_lost") == 3


def test_a_map_source_is_resumed_at_any_step(items, two_epochs):
    assert log_of(items.endpoint, start=(1, 3)) == two_epochs[8 + 3 :]


def test_shards_of_a_map_source_are_disjoint_and_complete(items):
    with connect(items.endpoint) as connection:
        shards = [
            {int(number) for batch in connection.batches(5, shard=(rank, 3)) for number in batch["index"]}
            for rank in range(3)
        ]
    assert [len(each) for each in shards] == [20, 20, 20]
    assert set.union(*shards) == set(range(60))


def test_an_index_looks_items_up_in_any_multiplicity(items):
    rows = np.array([3, 3, 59, 0, 3, 17], np.int64)
    with connect(items.endpoint) as connection:
        batches = list(connection.batches(2, index=rows, fields=("grid", "position")))
    positions = np.concatenate([batch["position"] for batch in batches])
    assert sorted(positions) == list(range(6))
    np.testing.assert_array_equal(np.concatenate([batch["grid"][:, 0, 0] for batch in batches]), rows[positions])


def test_items_are_samples_already_and_no_windows_are_cut_of_them(items):
    for clip in (Clip(5), None):
        error = the_error(items.endpoint, clip=clip)
        assert isinstance(error, ConfigError)
        assert "of a source of your own, whose items are samples already; give clip=Frame()" in str(error)


def test_items_that_are_batches_come_without_another_axis_and_without_the_shorter_last_one():
    with source("Batches") as service, connect(service.endpoint) as connection:
        batches = list(connection.batches(None, fields=("0", "1"), shuffle=False))
        assert "the last item of 'tests.daemon.own_sources:Batches' has fewer rows" in service.log
    assert [batch["0"].shape for batch in batches] == [(8, 2)] * 4
    assert [batch["1"].tolist() for batch in batches] == [[number] * 8 for number in range(4)]


@pytest.mark.tensorflow
@pytest.mark.skipif(importlib.util.find_spec("keras") is None, reason="needs Keras, in processes of their own")
def test_a_keras_pydataset_is_served_as_it_is(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sequences.py").write_text(
        "import keras, math, numpy as np\n"
        "class Rows(keras.utils.PyDataset):\n"
        "    def __init__(self, rows, batch, **more):\n"
        "        super().__init__(**more)\n"
        "        self.x, self.batch = np.arange(rows, dtype='float32'), batch\n"
        "    def __len__(self): return math.ceil(len(self.x) / self.batch)\n"
        "    def __getitem__(self, n):\n"
        "        x = self.x[n * self.batch:(n + 1) * self.batch]\n"
        "        return {'x': x[:, None]}, 2 * x\n"
    )
    arguments = {"source": "sequences:Rows", "source_arg": ["rows=10", "batch=4"], "workers": "1"}
    service = PrivateService([], arguments, 120.0)
    try:
        with connect(service.endpoint) as connection:
            batches = list(connection.batches(None, shuffle=False, fields=("0/x", "1")))
    finally:
        service.stop()
    assert [batch["0/x"].tolist() for batch in batches] == [[[0], [1], [2], [3]], [[4], [5], [6], [7]]]
    assert [batch["1"].tolist() for batch in batches] == [[0, 2, 4, 6], [8, 10, 12, 14]]


def test_a_private_service_of_a_source_needs_no_files():
    with ExitStack() as opened:
        service = {"source": f"{OWN}:Items", "source_arg": ["count=6", "bad=5"], "start_timeout_s": 60}
        connection = connection_to(opened, None, 1, service, None)
        assert connection.status().serves == f"source '{OWN}:Items', 6 items"
        assert "item 5 of" in str(the_error(connection.endpoint, batch_size=6))


def test_a_bad_item_is_named_or_replaced_by_the_same_other_one():
    with source("Items", workers=2, source_arg="bad=7") as service:
        error = the_error(service.endpoint)
        assert isinstance(error, SourceError)
        assert "item 7 of source 'tests.daemon.own_sources:Items' raised ValueError: this one is bad (" in str(error)
        logs = [log_of(service.endpoint, on_error="substitute", drop_remainder=False) for _ in range(2)]
        assert logs[0] == logs[1]
        numbers = np.concatenate([np.frombuffer(batch["index"][1], np.int64) for batch in logs[0]])
        assert len(numbers) == 60
        assert 7 not in numbers
        with connect(service.endpoint) as connection:
            assert any("this one is bad" in line for line in connection.status().events)


def test_what_a_source_prints_goes_to_the_log_and_not_to_the_output(items):
    assert any(re.search(r" INFO worker \d+ says: made a copy of Items", line) for line in items.log.splitlines())
    assert "WARNING worker" not in items.log
    assert "made a copy" not in items.said


def test_a_transform_that_prints_for_each_sample_is_counted_and_stops_nothing():
    with source("Items", transform=f"{OWN}:talking", workers=1) as service, connect(service.endpoint) as connection:
        assert len(list(connection.batches(4, epochs=4))) == 60
        status = connection.status()
        assert service.stop() == 0
        lines = [line.split(" ", 2)[2] for line in service.log.splitlines() if " worker " in line]
    assert status.events == ()
    assert all(line.startswith("INFO ") for line in lines)
    said = [line for line in lines if "says: at sample" in line]
    assert 1 <= len(said) <= MOST_LINES * 3  # on a busy machine the four epochs take longer than a while
    left_out = [re.search(r"worker \d+ has said (\d+) more lines, which are left out", line) for line in lines]
    assert len(said) + sum(int(each[1]) for each in left_out if each) >= 240


def test_a_worker_is_not_replaced_for_the_memory_that_its_source_begins_with():
    with source("Hungry", worker_memory="200M") as service, connect(service.endpoint) as connection:
        worker = service.worker_pids
        assert len(list(connection.batches(4, epochs=3))) == 45
        assert service.worker_pids == worker
        assert connection.status().events == ()


def test_a_source_with_a_transform_delivers_what_the_transform_makes_of_it():
    with source("Items", transform=f"{OWN}:doubled") as service, connect(service.endpoint) as connection:
        batch = next(connection.batches(4))
        assert list(batch) == ["grid", "joints", "name", "index", "video", "start", "length"]
        np.testing.assert_array_equal(batch["grid"][:, 0, 0], 2 * batch["index"])
        status = connection.status()
    assert status.serves == "source 'tests.daemon.own_sources:Items', 60 items"
    assert status.transform == f"{OWN}:doubled"


# ---- generators


def test_each_worker_runs_a_copy_of_a_generator_with_draws_of_its_own():
    with source("Scenes.generate_data", workers=2) as service, connect(service.endpoint) as connection:
        batches = connection.batches(8, prefetch=4)
        seen: dict[int, list[tuple[int, int]]] = {}
        for _, batch in zip(range(400), batches, strict=False):
            for pid, number, drawn in zip(batch["pid"], batch["number"], batch["drawn"], strict=True):
                seen.setdefault(int(pid), []).append((int(number), int(drawn)))
            if len(seen) == 2:
                break
        batches.close()
        assert set(seen) == set(service.worker_pids)
        drawn = [{draw for _, draw in each} for each in seen.values()]
        assert all(len(each) == len(set(each)) for each in seen.values())  # no item comes twice
        assert not drawn[0] & drawn[1]
        assert connection.catalog.kind == "generator"
        assert connection.status().serves.endswith("a copy per worker: order and resume are not reproducible")


def test_a_generator_has_no_end_unless_an_epoch_is_given_a_length():
    with source("Scenes.generate_data") as service, connect(service.endpoint) as connection:
        stream = connection.open(Spec(8, Frame()))
        assert stream.steps_per_epoch == 2**48 // 8
    with source("Scenes.generate_data", source_length=30) as service, connect(service.endpoint) as connection:
        batches = list(connection.batches(8, epochs=2))
        assert len(batches) == 6
        numbers = sorted(int(number) for batch in batches for number in batch["number"])
        assert numbers == list(range(48))  # the second epoch goes on where the first one ended


@pytest.mark.parametrize("named", [{"index": [5, 5]}, {"index_keys": ["5"], "key_field": "drawn"}])
@pytest.mark.parametrize("options", [{}, {"source_length": 30}])
def test_items_of_a_generator_can_be_neither_numbered_nor_looked_up(named, options):
    with source("Scenes.generate_data", **options) as service, connect(service.endpoint) as connection:
        with pytest.raises(ConfigError, match=r"of a generator, .* with __len__ and __getitem__"):
            next(connection.batches(2, **named))
        assert connection.status().streams == ()


# ---- transforms


def test_a_transform_repeats_exactly_over_runs_and_numbers_of_workers(small_videos):
    logs = []
    for workers in (1, 3):
        with running_service(small_videos / "*.h5", workers=workers, transform=f"{OWN}:noisy") as service:
            logs.append(log_of(service.endpoint, batch_size=4, clip=Clip(4), epochs=2, seed=3))
    assert logs[0] == logs[1]
    drawn = [np.frombuffer(batch["drawn"][1], np.int64).tolist() for batch in logs[0]]
    assert len({each for batch in drawn for each in batch}) == 24  # twelve samples, twice, and no number twice


def test_a_transform_that_raises_is_a_bad_sample(small_videos):
    with running_service(small_videos / "*.h5", workers=2, transform=f"{OWN}:no_label_21") as service:
        error = the_error(service.endpoint, clip=Clip(4))
        assert isinstance(error, SourceError)
        for words in (ITS_FILE, "video 'f2v1'", "no_label_21' raised RuntimeError: label 21 is cursed (", "sources.py"):
            assert words in str(error)
        with connect(service.endpoint) as connection:
            batches = list(connection.batches(4, clip=Clip(4), on_error="substitute"))
        labels = [int(label) for batch in batches for label in batch["label"]]
        assert len(labels) == 12
        assert 21 not in labels


@pytest.mark.parametrize(
    ("name", "got"), [("cut_label_21", r"uint8 of shape (4, 46, 64, 3)"), ("cast_label_21", "float64 of shape (4, 48")]
)
def test_a_change_of_shape_or_dtype_is_named_with_file_video_expected_and_got(small_videos, name, got):
    with running_service(small_videos / "*.h5", workers=1, transform=f"{OWN}:{name}") as service:
        error = str(the_error(service.endpoint, clip=Clip(4)))
    for words in (ITS_FILE, "video 'f2v1'", "field 'frames': expected uint8 of shape (4, 48, 64, 3), got ", got):
        assert words in error


def test_an_endless_loop_when_a_transform_is_tried_ends_in_an_error_and_the_service_lives_on(small_videos):
    with running_service(small_videos / "*.h5", workers=1, task_timeout=1, transform=f"{OWN}:endless") as service:
        for _ in range(2):
            error = the_error(service.endpoint, clip=Clip(4))
            assert isinstance(error, ConfigError)
            assert str(error) == "the transform did not return within 1 s when it was tried; make it faster"
            with connect(service.endpoint) as connection:
                events = connection.status().events
                assert any("took too long to try the transform; it is killed" in each for each in events)
                eventually(
                    lambda asked=connection: [each.state for each in asked.status().workers] == ["working"],
                    "a new worker works",
                )


def test_an_endless_loop_for_one_sample_ends_in_an_error_that_names_it(small_videos):
    with running_service(
        small_videos / "*.h5", workers=2, task_timeout=1, transform=f"{OWN}:endless_for_label_21"
    ) as service:
        error = str(the_error(service.endpoint, clip=Clip(4), shuffle=False))
        assert ITS_FILE in error
        assert "video 'f2v1'" in error


def test_a_transform_that_ends_its_process_is_refused_after_three(small_videos):
    with running_service(small_videos / "*.h5", workers=1, transform=f"{OWN}:deadly") as service:
        error = the_error(service.endpoint, clip=Clip(4))
        assert str(error).startswith("3 workers died while they tried the transform; the last one exited with code 7")


def test_a_worker_that_dies_while_it_tries_a_transform_is_only_a_pause(small_videos, tmp_path):
    marker = tmp_path / "marker"
    marker.touch()
    environment = {"OWN_SOURCES_MARKER": str(marker)}
    with running_service(
        small_videos / "*.h5", workers=1, transform=f"{OWN}:once_deadly", environment=environment
    ) as service:
        assert len(log_of(service.endpoint, batch_size=4, clip=Clip(4))) == 3
        assert not marker.exists()


# ---- what is refused at the start


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--source", "e2_nowhere:X"], "there is no module 'e2_nowhere', looked for in '{here}'"),
        (["--source", f"{OWN}:Itmes"], "has no 'Itmes'; it has Batches, "),
        (["--source", OWN], "names nothing; give package.module:Name"),
        (["--source", f"{OWN}:Items", "--source-arg", "cuont=3"], "got an unexpected keyword argument 'cuont'"),
        (
            ["--source", f"{OWN}:Items", "--source-arg", "3"],
            "source_arg='3'; give name=value, such as 'count=100', each name once",
        ),
        (["--source", f"{OWN}:Items", "--source-arg", "count=0"], "has 0 items; give it 1 to"),
        (["--source", f"{OWN}:Items", "--source-length", "9"], "is for generators, and '{own}:Items' has 60 items"),
        (
            ["--source", f"{OWN}:Scenes"],
            "without __len__ and __getitem__; name its generator, {own}:Scenes.gene",
        ),
        (["--source", f"{OWN}:Items", "--transform", f"{OWN}:nothing"], "has no 'nothing'"),
        (["--transform", f"{OWN}:nothing", "{videos}/part0.h5"], "has no 'nothing'"),
        (["--source", f"{OWN}:Items", "x.h5"], "files 'x.h5', … and source='{own}:Items' exclude each other"),
        (
            ["--source", f"{OWN}:Items", "--label", "@x"],
            "label='@x' is for files, and source='{own}:Items' has its own",
        ),
        (["--source-arg", "count=3", "x.h5"], "without a source; give --source package.module:Name"),
        ([], "no files given; name HDF5 files or a pattern, such as 'data/*.h5', or a Python source with --source"),
    ],
)
def test_a_wrong_reference_is_one_line_that_names_the_fix(small_videos, arguments, said):
    filled = [each.format(videos=small_videos) for each in arguments]
    ended = subprocess.run(
        command_line("start", f"--endpoint={new_endpoint()}", "--workers=1", *filled),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ended.returncode == 2, ended.stderr
    assert ended.stdout == ""
    (line,) = (line for line in ended.stderr.splitlines() if " INFO " not in line)  # what services before it left
    assert line.startswith("loader-service: ")
    assert said.format(own=OWN, here=os.getcwd()) in line


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("slow_to_make", "gave nothing within 1 s; make it faster, or raise --scan-timeout"),
        ("gone_when_made", "exited with code 0; its code must not end the process"),
    ],
)
def test_a_source_that_hangs_or_ends_its_process_is_refused(name, said):
    with started_service(source=f"{OWN}:{name}", scan_timeout=1 if "slow" in name else 30) as service:
        assert service.wait() == 2
        assert said in service.log.splitlines()[-1]
