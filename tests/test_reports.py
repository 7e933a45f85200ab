"""What `loader-service status` says of a service, as text."""

from __future__ import annotations

import dataclasses

import pytest

from loader_service.protocol.messages import Status, StreamStatus, WorkerStatus
from loader_service.reports import status_text

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
    counters=(),
    memory_bytes=2**20,
    memory_budget_bytes=2**30,
    events=("1.0 s: worker 1 was killed by SIGKILL",),
    serves="generator 'scenes:Scenes.make', a copy per worker: order and resume are not reproducible",
)


def text_of(**stream):
    return status_text(dataclasses.replace(STATUS, streams=(dataclasses.replace(STREAM, **stream),)))


def test_what_is_served_and_the_transform_are_named():
    lines = status_text(dataclasses.replace(STATUS, transform="scenes:brighten")).splitlines()
    assert lines[1] == f"serves {STATUS.serves}; transform 'scenes:brighten'"
    assert "transform" not in status_text(STATUS)


def test_faults_stand_at_the_end():
    assert status_text(STATUS).endswith("\n1.0 s: worker 1 was killed by SIGKILL")


def test_replaced_samples_and_padding_are_listed_where_there_are_some():
    assert "replaced" not in text_of()
    assert "padding" not in text_of()
    text = text_of(samples_substituted=9, padding=0.075, padding_unsorted=0.183)
    assert "bad samples of stream 3 that were replaced: 9" in text
    assert "padding of stream 3: 7.5% of its frames (18.3% without buckets)" in text


@pytest.mark.parametrize(("steps", "shown"), [(128, "128"), (2**46, "endless"), (0, "by index")])
def test_an_epoch_without_an_end_or_of_an_index_is_said_to_be_so(steps, shown):
    head, row = (
        line for line in text_of(steps_per_epoch=steps).splitlines() if "train-0" in line or "an epoch" in line
    )
    end = head.index("an epoch") + len("an epoch")
    assert row[:end].endswith(f" {shown}")


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
    lines = status_text(dataclasses.replace(STATUS, workers=(worker,))).splitlines()
    assert lines[3].split() == ["worker", "pid", "state", "files", "tasks", "queued", "tasks", "done", "for", "at"]
    assert lines[4].endswith(f"  {shown}")
    assert lines[4].split()[:3] == ["1", "43", "working"]
