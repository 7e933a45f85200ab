"""Steps that the client makes up, and steps of whole videos, through a real service."""

from __future__ import annotations

import numpy as np
import pytest

from loader_service.protocol import messages as m
from loader_service.protocol.fields import SlotLayout
from loader_service.protocol.segment_files import map_segment
from loader_service.protocol.spec import Clip, Frame, Spec
from tests.conftest import LENGTHS
from tests.daemon.peer import Peer

#: Frames of all videos, in catalog order.
FRAMES = [length for file in LENGTHS for length in file]

#: Labels of all videos, in catalog order.
LABELS = [10 * file + place for file, lengths in enumerate(LENGTHS) for place in range(len(lengths))]


@pytest.fixture
def connected(service):
    """A peer that has introduced itself, and the instance of the service."""
    with Peer(service.endpoint) as peer:
        yield peer, peer.hello("wants").instance


def step_of(connected, spec: Spec, *samples: int, step: int = 0) -> tuple[m.Ready, dict[str, np.ndarray]]:
    """Open a stream, want a step, and return what came: of each field, all that the slot has."""
    peer, instance = connected
    opened = peer.open(spec)
    positions = tuple(100 + place for place in range(len(samples)))
    peer.send(m.Want(opened.stream, 1, 0, step, samples, positions))
    ready = peer.expect(m.Ready)
    layout = SlotLayout(opened.fields, spec.batch_size, opened.frames)
    fields = {}
    with map_segment(instance, ready.slot, layout.size_bytes) as memory:
        for field in opened.fields:
            length = ready.frames if field.varies else ready.rows
            fields[field.name] = layout.view(field.name, memory, length).copy()
    peer.send(m.CloseStream(opened.stream))
    return ready, fields


def test_a_step_holds_what_the_client_names_as_often_as_it_names_it(connected):
    spec = Spec(4, Clip(2), fields=("index", "position", "label"), prefetch=1, indexed=True)
    ready, fields = step_of(connected, spec, 9, 3, 9, step=10**6)
    assert ready.rows == 3
    assert fields["index"].tolist() == [9, 3, 9]
    assert fields["position"].tolist() == [100, 101, 102]
    assert fields["label"].tolist() == [LABELS[9], LABELS[3], LABELS[9]]


def test_draws_hang_on_the_position_and_not_on_the_sample(connected):
    longest = int(np.argmax(FRAMES))
    spec = Spec(20, Clip(2), fields=("start",), prefetch=1, indexed=True)
    _, fields = step_of(connected, spec, *[longest] * 20)
    assert len(set(fields["start"].tolist())) > 1


@pytest.mark.parametrize(
    ("samples", "positions"), [((99,), (0,)), ((-1,), (0,)), ((), ()), ((1, 2), (0,)), ((1, 2, 3), (0, 1, 2))]
)
def test_a_want_of_an_index_that_makes_no_sense_fails_by_name(connected, samples, positions):
    peer, _ = connected
    opened = peer.open(Spec(2, Clip(2), prefetch=1, indexed=True))
    before = peer.counter("requests_refused")
    peer.send(m.Want(opened.stream, 5, 0, 0, samples, positions))
    failed = peer.expect(m.Failed)
    assert (failed.stream, failed.want, failed.error) == (opened.stream, 5, "ConfigError")
    assert peer.counter("requests_refused") == before + 1


def test_a_want_that_names_samples_where_the_plan_does_fails_by_name(connected):
    peer, _ = connected
    opened = peer.open()
    peer.send(m.Want(opened.stream, 5, 0, 0, (1, 2), (0, 1)))
    assert "the stream has no index" in peer.expect(m.Failed).message


@pytest.fixture
def all_frames(connected) -> np.ndarray:
    spec = Spec(sum(FRAMES), Frame(), fields=("frames",), shuffle=False, prefetch=1)
    return step_of(connected, spec)[1]["frames"]


def test_ragged_videos_are_their_frames_one_after_the_other(connected, all_frames):
    spec = Spec(len(FRAMES), None, fields=("frames", "index"), batching="ragged", shuffle=False, prefetch=1)
    ready, fields = step_of(connected, spec)
    assert ready.frames == sum(FRAMES)
    assert fields["length"].tolist() == FRAMES
    np.testing.assert_array_equal(fields["frames"], all_frames)


def test_padded_videos_have_zeros_behind_them(connected, all_frames):
    spec = Spec(len(FRAMES), None, fields=("length", "frames"), shuffle=False, prefetch=1)
    ready, fields = step_of(connected, spec)
    room = max(FRAMES)
    assert ready.frames == room * len(FRAMES)
    rows = fields["frames"].reshape(len(FRAMES), room, *all_frames.shape[1:])
    for row, frames, end in zip(rows, FRAMES, np.cumsum(FRAMES), strict=True):
        np.testing.assert_array_equal(row[:frames], all_frames[end - frames : end])
        assert not row[frames:].any()


def test_buckets_are_reported_in_what_they_save(connected):
    peer, _ = connected
    opened = peer.open(Spec(3, None, batching="bucket", prefetch=1))
    figures = next(each for each in peer.status().streams if each.stream == opened.stream)
    assert 0 < figures.padding < figures.padding_unsorted < 1
