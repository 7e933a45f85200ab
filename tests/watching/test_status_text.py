"""What `loader-service status` says of a service, as text."""

from __future__ import annotations

import dataclasses

import pytest

from loader_service.protocol.messages import Counter, Fault, Status, StreamStatus, WorkerStatus
from loader_service.protocol.totals import FileSystemTotals, FileTotals
from loader_service.watching.status_text import status_text
from tests.watching.test_verdict import busy

STREAM = StreamStatus(
    stream=3,
    client="train-0",
    client_pid=42,
    steps_per_epoch=128,
    steps_done=7,
    slots=8,
    slots_filling=2,
    slots_leased=1,
    wants_waiting=0,
    slot_bytes=4096,
    padded_videos=0,
)
STATUS = Status(
    request=1,
    endpoint="ipc:///here.sock",
    pid=41,
    version="1.0",
    uptime_s=5.0,
    workers=(WorkerStatus(1, 43, "working", 2, 0, 9),),
    streams=(STREAM,),
    counters=(Counter("workers_lost", 0), Counter("samples_bad", 3)),
    memory_bytes=2**20,
    memory_budget_bytes=2**30,
    faults=(Fault(1.0, 1, "worker 1 was killed by SIGKILL"),),
    serves="generator 'scenes:Scenes.make', a copy per worker: order and resume are not reproducible",
)


def text_of(status=STATUS, **of_stream):
    return status_text(None, dataclasses.replace(status, streams=(dataclasses.replace(STREAM, **of_stream),)))


def test_the_verdict_stands_first_and_what_to_do_about_it_next():
    first, second, *_ = status_text(busy(10.0), busy(20.0)).splitlines()
    assert first == (
        "stream 1, train.py@host (pid 4711): the trainer waits 50% of the time: decoding takes 95% of the workers' work"
    )
    assert second == "  4 more workers would help: `loader-service scale 8`"


def test_without_a_stream_that_is_said_first():
    assert status_text(None, dataclasses.replace(STATUS, streams=())).startswith(
        "no stream is open: nobody asks for data\n"
    )


def test_what_is_served_and_the_transform_are_named():
    lines = text_of(dataclasses.replace(STATUS, transform="scenes:brighten")).splitlines()
    at = lines.index(f"serves {STATUS.serves}; transform 'scenes:brighten'")
    assert lines[at - 1] == (
        "ipc:///here.sock: pid 41, version 1.0, up 5.0 s, 1.0 MiB of 1.0 GiB shared memory in batches"
    )
    assert "transform" not in text_of()


def test_faults_stand_at_the_end_with_their_time_and_cause():
    assert text_of().endswith("\n4.0 s ago: worker 1 was killed by SIGKILL")
    said = status_text(None, STATUS, clock=lambda at_s: f"12:00:{at_s:02.0f}")
    assert said.endswith("\n4.0 s ago (12:00:01): worker 1 was killed by SIGKILL")
    again = dataclasses.replace(STATUS, faults=(Fault(1.0, 3, "worker 1 was killed by SIGKILL"),))
    assert text_of(again).endswith("\n4.0 s ago: worker 1 was killed by SIGKILL (3 times)")


def test_a_remote_worker_is_shown_with_its_node():
    remote = WorkerStatus(2, 7, "working", 1, 0, 3, node="decoder-5")
    lines = text_of(dataclasses.replace(STATUS, workers=(*STATUS.workers, remote))).splitlines()
    assert [line.split()[:2] for line in lines if "on node decoder-5: nothing" in line] == [["2", "7"]]
    assert sum("on node" in line for line in lines) == 1


def test_names_with_line_ends_or_codes_for_terminals_are_escaped():
    hostile = "x\n9.9 s ago: nothing is wrong\x1b[2J"
    text = text_of(dataclasses.replace(STATUS, faults=(Fault(1.0, 1, hostile),), serves=hostile), client=hostile)
    assert "\x1b" not in text
    assert not any(line.startswith("9.9 s ago") for line in text.splitlines())


def test_what_never_happened_is_left_out():
    text = text_of()
    assert "samples bad: 3" in text
    assert "workers lost" not in text
    assert "slow read" not in text
    assert "a.h5" not in text


def test_files_and_file_systems_that_gave_trouble_are_named():
    troubled = dataclasses.replace(
        STATUS,
        files=(FileTotals(4, "/data/a.h5", 2, 1), FileTotals(5, "/data/b.h5", 0, 3)),
        file_systems=(FileSystemTotals("nfs4 at /data", 3.0, 2**20, 4),),
    )
    lines = text_of(troubled).splitlines()
    assert "'/data/a.h5': 2 bad samples" in lines
    assert "slow reads since the start: 4 from nfs4 at /data (4 of late); most in '/data/b.h5' (3)" in lines


def test_slow_reads_of_many_files_are_one_line():
    before, after = (
        dataclasses.replace(
            STATUS,
            uptime_s=up_s,
            files=tuple(FileTotals(n, f"/data/{n}.h5", 0, n * slow) for n in range(300)),
            file_systems=(FileSystemTotals("ext4 at /", 3.0, 2**20, 1200 * slow), FileSystemTotals("tmpfs", 1.0, 9, 0)),
        )
        for up_s, slow in ((5.0, 1), (6.0, 2))
    )
    (line,) = (each for each in status_text(before, after).splitlines() if "slow read" in each)
    assert line == "slow reads since the start: 2,400 from ext4 at / (1,200 of late); most in '/data/299.h5' (598)"


def test_replaced_samples_and_padding_are_listed_where_there_are_some():
    assert "replaced" not in text_of()
    assert "padding" not in text_of()
    text = text_of(samples_substituted=9, padding=0.075, padding_unsorted=0.183)
    assert "  bad samples that were replaced: 9" in text.splitlines()
    assert "  padding: 7.5% of its frames (18.3% without buckets)" in text.splitlines()


@pytest.mark.parametrize(
    ("steps", "shown"), [(128, "128 an epoch"), (2**46, "an endless epoch"), (0, "epochs by index")]
)
def test_an_epoch_without_an_end_or_of_an_index_is_said_to_be_so(steps, shown):
    (line,) = (line for line in text_of(steps_per_epoch=steps).splitlines() if "steps done" in line)
    assert line.split("; ")[0] == f"  7 steps done, {shown}"


def test_numbers_of_workers_that_are_sized_have_bounds_and_a_reason():
    sized = {"workers_wanted": 3, "workers_bounds": "auto", "workers_why": "nobody waits"}
    assert "3 within auto: nobody waits" in text_of(dataclasses.replace(STATUS, **sized)).splitlines()
    far = dataclasses.replace(STATUS, **sized, remote_wanted=8, remote_bounds="0..64")
    assert "3 within auto, 8 remote within 0..64: nobody waits" in text_of(far).splitlines()
    fixed = dataclasses.replace(far, workers_bounds="3")
    assert "3, 8 remote within 0..64: nobody waits" in text_of(fixed).splitlines()


def test_slots_and_what_is_late_are_shown_where_there_is_something_to_say():
    lines = text_of(wants_waiting=2, oldest_want_s=3.5, first_batch_s=0.75).splitlines()
    assert lines[2] == "  8 slots, 2 filling, 1 with the client, 2 wants without a slot"
    assert lines[1].endswith("; first batch after 0.8 s; the oldest want is 3.5 s old")
    quiet = text_of(slots_filling=0, slots_leased=0).splitlines()
    assert quiet[2] == "  8 slots"
    assert "oldest" not in quiet[1]


@pytest.mark.parametrize(
    ("doing", "shown"),
    [
        ({}, "nothing"),
        ({"doing": "probe", "busy_s": 3.25}, "3.2 s  trying the transform for a stream that opens"),
        (
            {"doing": "task", "busy_s": 61.0, "stream": 3, "epoch": 1, "step": 12, "file": "/a.h5", "video": "v"},
            "61.0 s  stream 3, epoch 1, step 12: video 'v' of '/a.h5'",
        ),
        ({"doing": "task", "busy_s": 61.0, "stream": 3}, "61.0 s  a step of stream 3 that nobody wants any more"),
    ],
)
def test_what_each_worker_is_at_is_shown_with_for_how_long(doing, shown):
    worker = dataclasses.replace(STATUS.workers[0], **doing)
    lines = text_of(dataclasses.replace(STATUS, workers=(worker,))).splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith("worker  pid"))
    head = ["worker", "pid", "state", "files", "tasks", "queued", "tasks", "done", "working", "for", "at"]
    assert lines[at].split() == head
    assert lines[at + 1].endswith(f"  {shown}")
    assert lines[at + 1].split()[:3] == ["1", "43", "working"]


def test_of_many_workers_those_are_shown_that_are_longest_at_their_task():
    workers = [WorkerStatus(n, 100 + n, "working", 1, 1, 9, "task", n % 50 / 10) for n in range(1, 101)]
    workers[3] = dataclasses.replace(workers[3], straggles=True)
    lines = text_of(dataclasses.replace(STATUS, workers=tuple(workers))).splitlines()
    rows = [
        line.split() for line in lines if " task" not in line and line.strip()[:1].isdigit() and "s ago" not in line
    ]
    assert "and 84 more workers" in lines
    shown = [line for line in lines if line.split()[1:2] and line.split()[1].isdigit() and int(line.split()[1]) > 100]
    assert len(shown) == 16, rows
    assert any(line.split()[:3] == ["4", "104", "slow"] for line in shown)
    assert any(line.split()[:2] == ["49", "149"] for line in shown)
