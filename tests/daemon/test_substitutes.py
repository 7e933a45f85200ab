"""Samples that cannot be decoded, replaced by others in a real service: where, with what, and how it is told."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from loader_service.protocol import messages as m
from loader_service.protocol.fields import SlotLayout
from loader_service.protocol.segment_files import map_segment
from loader_service.protocol.spec import Clip, Frame, Spec
from tests.daemon.peer import Peer
from tests.support.services import Service, running_service
from tests.support.videos import make_videos, write_videos

#: Frames of the videos.
LENGTHS = (6, 4, 9, 5, 2, 7)

#: The video that has a frame that is no JPEG, and that frame.
BAD_VIDEO, BAD_FRAME = 3, 2


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("substitutes")
    videos = make_videos(LENGTHS)
    jpeg = videos[f"video{BAD_VIDEO}"][BAD_FRAME]
    videos[f"video{BAD_VIDEO}"][BAD_FRAME] = jpeg[: len(jpeg) // 2]
    write_videos(directory / "some.h5", "group_vlen", videos)
    return directory


@pytest.fixture(scope="module")
def service(folder: Path) -> Iterator[Service]:
    with running_service(folder / "*.h5", workers=1) as service:
        yield service


@pytest.fixture
def peer(service: Service) -> Iterator[Peer]:
    with Peer(service.endpoint) as peer:
        yield peer


def step_of(peer: Peer, spec: Spec) -> tuple[m.Ready, dict[str, np.ndarray]]:
    """Return the first step of a new stream."""
    instance = peer.hello("substitutes").instance
    opened = peer.open(spec)
    peer.send(m.Want(opened.stream, 1, 0, 0))
    ready = peer.expect(m.Ready)
    layout = SlotLayout(opened.fields, spec.batch_size, opened.frames)
    with map_segment(instance, ready.slot, layout.size_bytes) as memory:
        fields = {
            each.name: layout.view(each.name, memory, ready.frames if each.varies else ready.rows).copy()
            for each in opened.fields
        }
    return ready, fields


@pytest.mark.parametrize("batching", ["pad", "ragged"])
@pytest.mark.parametrize("seed", range(3))
def test_the_beginning_of_a_longer_video_takes_the_place_of_a_bad_one(peer, batching, seed):
    fields = ("frames", "index", "length")
    spec = Spec(6, None, fields=fields, batching=batching, shuffle=False, seed=seed, prefetch=1, on_error="substitute")
    ready, got = step_of(peer, spec)
    assert ready.substituted == 1
    other = int(got["index"][BAD_VIDEO])
    assert other != BAD_VIDEO
    assert LENGTHS[other] >= LENGTHS[BAD_VIDEO]
    assert got["index"].tolist() == [*range(BAD_VIDEO), other, *range(BAD_VIDEO + 1, 6)]
    assert got["length"].tolist() == list(LENGTHS)
    begins = np.arange(6) * max(LENGTHS) if batching == "pad" else np.cumsum([0, *LENGTHS[:-1]])
    mine, its = (got["frames"][begins[row] :][: LENGTHS[BAD_VIDEO]] for row in (BAD_VIDEO, other))
    np.testing.assert_array_equal(mine, its)


def test_a_bad_frame_is_replaced_by_another_one(peer):
    spec = Spec(sum(LENGTHS), Frame(), fields=("frames", "index"), shuffle=False, prefetch=1, on_error="substitute")
    ready, got = step_of(peer, spec)
    bad = sum(LENGTHS[:BAD_VIDEO]) + BAD_FRAME
    other = int(got["index"][bad])
    assert ready.substituted == 1
    assert other != bad
    np.testing.assert_array_equal(got["frames"][bad], got["frames"][other])


def test_substituted_samples_are_counted_and_listed_in_the_status(peer):
    spec = Spec(6, Clip(2, sampling="every"), shuffle=False, prefetch=1, on_error="substitute", drop_remainder=False)
    peer.hello("status")
    opened = peer.open(spec)
    bad = sum(length - 1 for length in LENGTHS[:BAD_VIDEO]) + BAD_FRAME  # two clips have the frame: it ends one
    steps = {(bad - 1) // 6, bad // 6}
    for want, step in enumerate(sorted(steps), start=1):
        peer.send(m.Want(opened.stream, want, 0, step))
        peer.expect(m.Ready)
    status = peer.status()
    figures = next(each for each in status.streams if each.stream == opened.stream)
    assert figures.samples_substituted >= 2
    assert any(f"video 'video{BAD_VIDEO}', frame {BAD_FRAME}" in line for line in status.events)
