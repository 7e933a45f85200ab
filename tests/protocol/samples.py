"""One message of every kind, and strategies that make any of them; shared by the tests of the wire."""

from __future__ import annotations

import dataclasses
import struct
import types
import typing
from typing import Any

from hypothesis import strategies as st

from loader_service.errors import ConfigError
from loader_service.protocol import messages as m
from loader_service.protocol import remote_messages as r
from loader_service.protocol.fields import CatalogField, Field
from loader_service.protocol.numbers import NumberColumn, PackedNumbers
from loader_service.protocol.rows import Rows
from loader_service.protocol.spec import Clip, Frame, Image, Spec
from loader_service.protocol.totals import (
    FileSystemReads,
    FileSystemTotals,
    FileTotals,
    SlowReads,
    StreamTotals,
    WorkerTotals,
)
from loader_service.protocol.windows import Window

SPEC = Spec(
    batch_size=16,
    clip=Clip(frames=8, stride=2, sampling="every", hop=4),
    image=Image(size=(48, 64), crop="random", flip=True, channels=3, short_side=60, colors="bgr", chroma="exact"),
    fields=("frames", "label"),
    shuffle=False,
    seed=2**63 - 1,
    shard=(1, 4),
    drop_remainder=False,
    prefetch=3,
    on_error="substitute",
)
BOXES = Image(224, "resized", scale=(0.2, 1.0), ratio=(0.5, 2.0), decode="full", strict=False)
FIELDS = (Field("frames", "uint8", (8, 48, 64, 3)), Field("video", "S24", ()))
VARYING = (
    Field("qpos", "float32", (7,), varies=True),
    Field("boxes", "float32", (9, 4), varies=True, lengths="boxes_length"),
    Field("boxes_length", "int64", (), varies=True),
    Field("length", "int64", ()),
)

WORKER_TOTALS = WorkerTotals(60.0, 3.5, 4.0, 2.0, 0.25, 0.5, 1000, 16_000, 2**40, 7)
STREAM_TOTALS = StreamTotals(60.0, 1.5, 60.0, 20.0, 0.5, 55, 880, 7040, 2**40, 1)
WORKER = m.WorkerStatus(
    1, 100, "working", 3, 2, 1000, "task", 61.5, 3, 1, 42, "/a.h5", "v", True, WORKER_TOTALS, "whole"
)
STREAM = m.StreamStatus(
    3, "train.py@host", 4711, 100, 55, 8, 1, 2, 3, 4096, 1, 2, 0.25, 0.5, 12, 0.5, 1.25, (48, 64, 3), STREAM_TOTALS
)

MESSAGES: tuple[Any, ...] = (
    m.Hello("train.py@host", 4711),
    m.OpenStream(1, SPEC),
    m.OpenStream(2, Spec(1, Clip(1)), "0123456789abcdef"),
    m.OpenStream(3, Spec(1, Frame(), indexed=True)),
    m.OpenStream(4, Spec(1, None, batching="bucket", on_error="substitute", max_bad_samples=3)),
    m.OpenStream(5, Spec(1, Clip(1), order="interleave", cycle_length=4, block_length=2)),
    m.OpenStream(6, Spec(1, Frame(), split="train[:90%]", videos=("a/v1", "ä"))),
    m.OpenStream(7, Spec(1, Frame(), batching="ragged", windows=(Window("boxes", (50, None), crop="random"),))),
    m.OpenStream(8, Spec(1, Frame(), BOXES)),
    m.OpenStream(9, Spec(1, Frame(), Image((8, 8), "random", short_side=(9, 12)))),
    m.CloseStream(3),
    m.Want(3, 7, 1, 42),
    m.Want(3, 8, 1, 42, samples=(5, 5, 70_000), positions=(0, 1, 2)),
    m.Want(3, 8, 1, 42, samples=PackedNumbers(bytes([*range(24)])), positions=(0, 1, 2)),
    m.Forget(3, 7),
    m.Release(3, 9),
    m.Heartbeat(),
    m.Heartbeat((m.TrainerTimes(3, 1.5, 60.0),)),
    m.Goodbye(),
    m.GetStatus(4),
    m.GetCatalog(5),
    m.Scale(6, 12),
    m.Stop(7),
    m.Restart(8),
    m.Welcome("0123456789abcdef", 99, "f" * 64, 3, 12, 345, 1.0, (m.FieldClasses("label", 2, ("cat", "dog")),)),
    m.Opened(1, 3, FIELDS, 100, 8, 4, samples=1600),
    m.Opened(1, 3, VARYING, 100, 8, 4, samples=1600, frames=4096, resizes=2),
    m.Resized(3, 4, 2, 5, (7, 9)),
    m.Ready(3, 7, 2, 9, 16),
    m.Ready(3, 7, 2, 9, 16, frames=640, substituted=1),
    m.Failed(3, 8, "DecodeError", "file 'ä.h5', video 'v', frame 3: truncated"),
    m.BadSample(3, "truncated"),
    m.Refused(0, "ProtocolError", "no"),
    m.Stranger(),
    m.Stopping("SIGTERM"),
    m.Done(6, "1 → 12 workers"),
    m.Status(
        4, "ipc:///x.sock", 99, "0.1.0", 2.5,
        workers=(WORKER,), streams=(STREAM,),
        counters=(m.Counter("workers_lost", 1),),
        memory_bytes=2**33, memory_budget_bytes=2**34, faults=(m.Fault(0.1, 3, "worker 1 was killed by SIGKILL"),),
        serves="3 files, 12 videos, 345 frames", transform="augment:brighten",
        workers_wanted=2, cores=8, stored_frame=(48, 64), worker_totals=WORKER_TOTALS, stream_totals=STREAM_TOTALS,
        file_systems=(FileSystemTotals("nfs4 at /data", 3.5, 2**40, 7),), files=(FileTotals(5, "/a.h5", 1, 2),),
        frame_cache=m.FrameCacheStatus("/nvme", 2**37, 10, 3, 2, (m.CachedForm("frames: 48 x 64 x 3", 345, 9, 2**20),)),
    ),
    m.CatalogSummary(
        5, "f" * 64, 3, 12, 345, 48, 64, "int64", ("cat", "dog"), 1, 2,
        kind="videos", fields=(
            CatalogField("frames", "image", "uint8", (48, 64, 3)),
            CatalogField("boxes", "array", "float32", (0, 4), most=(9, 4)),
            CatalogField("label", "value", "int64", (), ("cat", "dog")),
        ),
    ),
    m.PrepareStream(3, SPEC, FIELDS),
    m.PrepareStream(3, SPEC, VARYING, frames=4096, inputs=FIELDS),
    m.ProbeStream(1, SPEC, FIELDS),
    m.DropStream(3),
    m.DropSlots(3, (7, 9)),
    m.Task(11, 3, 1, 2, Rows((0, 1, 2), (5, 900, 70_000))),
    m.Task(12, 3, 1, 2, Rows((0, 1), (5, 9), positions=(70, 3), offsets=(0, 40), lengths=(40, 17), room=40)),
    m.Task(13, 3, 1, 2, Rows((0, 1), (5, 9), positions=PackedNumbers(bytes([255] * 8 + [0] * 8)))),
    m.AdoptFile(4, 1_000, 1_700_000_000_000_000_000, -(2**63)),
    m.Drain(),
    m.WorkerReady(1, "parts by libturbojpeg.so.0"),
    m.Probed(1, 1, VARYING, "", ""),
    m.Probed(1, 1, (), "SourceError", "transform 'm:f': no"),
    m.TaskDone(1, 11, (m.BadRow(1, "DecodeError", "broken"),)),
    m.TasksWanted(1, 6),
    m.TimeSpent(1, 9.5, 3.5, 2.0, (FileSystemReads("nfs4 at /data", 3.5, 2**40, 7),), (SlowReads(5, 2),)),
    m.CopyRead(1, 40, 2, 2_500_000),
    m.GetRecentSteps(9),
    m.RecentSteps(9, (m.RecentStep(3, Spec(2, Clip(1)), FIELDS, False, 1, 42, 2, (5, 7), (), (4, 8)),)),
    m.ScaleRemote(9, 64),
    m.ScaleRemote(9, 0, 64),
    r.RemoteHello("0.1.0", "simplejpeg 1.8.1, OpenCV 4.12.0", "f" * 64, "node-3", 4711),
    r.RemoteBeat(),
    r.RemoteLeaving("no files"),
    r.RemoteWelcome("0f"),
    r.RemoteRefused("no"),
    r.ReceiverBeat(),
    r.RemoteLeave(comes_again=True),
    r.RemoteArrived(2**32, "node-3", 4711),
    r.RemoteEnded(7, "is gone"),
    r.RemoteRejected("no key"),
    r.ReceiverLoad(1234, 2**33),
    r.AdmitArrival(2**32, 7),
    r.DismissArrival(2**32),
    r.FenceRemote(7),
)  # fmt: skip

#: Whoever receives it, by kind of message; a `Heartbeat` goes both ways.
UNIONS = (
    m.FromClient, m.ToClient, m.ToWorker, m.FromWorker, r.FromRemote, r.ToRemote, r.FromReceiver, r.ToReceiver
)  # fmt: skip


def union_of(message: Any) -> Any:
    return next(union for union in UNIONS if isinstance(message, union))


def any_message() -> st.SearchStrategy[Any]:
    """Return a strategy of all messages, derived from their annotations."""
    return st.one_of([_instances(kind) for union in UNIONS for kind in typing.get_args(union)])


_UTF8 = st.text(st.characters(codec="utf-8"))
_INTEGERS = st.integers(-(2**63), 2**63 - 1)


def _as_bytes(numbers: list[int]) -> PackedNumbers:
    return PackedNumbers(struct.pack(f"<{len(numbers)}q", *numbers))


def _instances(kind: Any) -> st.SearchStrategy[Any]:
    if kind is Spec:
        return _specs()
    if kind is Field:
        dtypes = st.sampled_from(["uint8", "bool", "int64", "float32", "S7"])
        return st.builds(Field, st.text(), dtypes, st.lists(st.integers(0, 512), max_size=4).map(tuple), st.booleans())
    hints = typing.get_type_hints(kind)
    return st.builds(kind, **{field.name: _values(hints[field.name]) for field in dataclasses.fields(kind)})


def _values(hint: Any) -> st.SearchStrategy[Any]:
    if dataclasses.is_dataclass(hint):
        return _instances(hint)
    if typing.get_origin(hint) is typing.Literal:
        return st.sampled_from(typing.get_args(hint))
    if hint == NumberColumn:
        return st.lists(_INTEGERS, max_size=5).map(tuple) | st.lists(_INTEGERS, max_size=40).map(_as_bytes)
    if typing.get_origin(hint) is types.UnionType:
        return st.one_of([_values(each) for each in typing.get_args(hint)])
    if typing.get_origin(hint) is tuple:
        return st.lists(_values(typing.get_args(hint)[0]), max_size=5).map(tuple)
    numbers = st.floats(allow_nan=False, allow_infinity=False)
    simple = {
        types.NoneType: st.none(),
        int: _INTEGERS,
        str: st.text(),
        float: numbers,
        bool: st.booleans(),
        int | None: st.none() | _INTEGERS,
    }
    return simple[hint]


@st.composite
def _specs(draw: st.DrawFn) -> Spec:
    world = draw(st.integers(1, 1_000_000))
    clip = draw(st.none() | st.just(Frame()) | _clips())
    order: Any = draw(st.sampled_from(["global", "interleave"]))
    batching: Any = draw(st.sampled_from(["pad", "ragged"]))
    on_error: Any = draw(st.sampled_from(["raise", "substitute"]))
    split = draw(st.none() | st.sampled_from(["train", "train[:90%]", "all[12.5%:20%]"]))
    videos = draw(st.none() | st.lists(_UTF8, min_size=1, max_size=3, unique=True).map(tuple))
    return Spec(
        batch_size=draw(st.integers(1, 65_536)),
        clip=clip,
        image=draw(_images()),
        fields=draw(st.none() | st.lists(st.text(min_size=1, max_size=20), min_size=1, unique=True).map(tuple)),
        shuffle=draw(st.booleans()),
        seed=draw(st.integers(0, 2**63 - 1)),
        shard=(draw(st.integers(0, world - 1)), world),
        drop_remainder=draw(st.booleans()),
        prefetch=draw(st.integers(0, 1024)),
        on_error=on_error,
        batching=batching,
        order=order,
        cycle_length=draw(st.integers(1, 65_536)),
        block_length=draw(st.integers(1, 2**31)),
        max_bad_samples=draw(st.none() | st.integers(0, 2**62)) if on_error == "substitute" else None,
        indexed=draw(st.booleans()) if order == "global" and split is None and videos is None else False,
        split=split,
        videos=videos,
        windows=draw(st.lists(_windows(), max_size=3, unique_by=lambda window: window.field).map(tuple)),
    )


@st.composite
def _windows(draw: st.DrawFn) -> Window:
    sides = st.lists(st.none() | st.integers(1, 2**31), min_size=1, max_size=8).map(tuple)
    crop: Any = draw(st.sampled_from(["start", "center", "random"]))
    return Window(draw(st.text(min_size=1, max_size=20)), draw(sides), crop)


@st.composite
def _clips(draw: st.DrawFn) -> Clip:
    numbers = st.integers(1, 65_536)
    sampling: Any = draw(st.sampled_from(["random", "center", "start", "every"]))
    return Clip(draw(numbers), draw(numbers), sampling, draw(numbers))


@st.composite
def _images(draw: st.DrawFn) -> Image:
    sides = st.integers(1, 16_384)
    values: dict[str, Any] = {
        "size": draw(st.none() | sides | st.tuples(sides, sides)),
        "crop": draw(st.sampled_from(["none", "center", "random", "resized"])),
        "flip": draw(st.booleans()),
        "channels": draw(st.sampled_from([1, 3])),
        "short_side": draw(st.none() | sides | st.tuples(sides, sides)),
        "colors": draw(st.sampled_from(["rgb", "bgr"])),
        "chroma": draw(st.sampled_from(["fast", "exact"])),
        "decode": draw(st.sampled_from(["reduced", "full"])),
        "strict": draw(st.booleans()),
    }
    try:
        return Image(**values)
    except ConfigError:  # values that contradict each other
        return Image(flip=values["flip"], channels=values["channels"])
