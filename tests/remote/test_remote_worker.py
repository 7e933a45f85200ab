"""What a remote worker refuses before it makes a connection, and how rows are cut into messages."""

from __future__ import annotations

import mmap
import os
import platform
from dataclasses import replace

import pytest

from loader_service.errors import ConfigError, ProtocolError
from loader_service.protocol.fields import Field, SlotLayout
from loader_service.protocol.rows import Rows
from loader_service.remote.actor_body import serve_columns
from loader_service.remote.link import pieces_of_rows
from loader_service.remote.remote_options import RemoteWorkerOptions, own_versions
from loader_service.remote.remote_worker import serve_remote
from loader_service.remote.row_frames import read_row_head, row_head
from loader_service.remote.run_keys import RunKeys
from loader_service.remote.slot_pieces import cut, slot_pieces, total

FIELDS = (Field("frames", "uint8", (700,)), Field("boxes", "float32", (4,), varies=True), Field("label", "int64", ()))


@pytest.mark.parametrize(("name", "said"), [("version", "version '9' instead"), ("decoder", "decoder '9' instead")])
def test_other_versions_are_refused_by_name_and_node(name, said):
    options = RemoteWorkerOptions("tcp://127.0.0.1:1", RunKeys.make(encrypt=False), **own_versions(), catalog="f")
    with pytest.raises(ConfigError) as refused:
        serve_remote(replace(options, **{name: "9"}), None)
    assert f"node {platform.node()} has {name}" in str(refused.value)
    assert "install the same versions" in str(refused.value)


def test_an_actor_compares_versions_before_it_looks_at_what_another_version_may_have_changed():
    told = {**own_versions(), "version": "9", "option_of_version_9": True}
    ended = serve_columns(told, {"column_of_version_9": None})
    assert (ended["error"], ended["node"]) == ("ConfigError", platform.node())
    assert "version" in ended["line"]
    assert "instead of '9': install the same versions there" in ended["line"]


@pytest.mark.parametrize("most", [1, 64, 1000, 10**6])
@pytest.mark.parametrize("numbers", [(0,), (1, 2), (0, 2, 3), (3, 0)])
def test_what_is_cut_into_messages_is_put_together_again_where_it_was(numbers, most):
    layout = SlotLayout(FIELDS, 4, frames=40)
    rows = Rows(numbers, numbers, offsets=tuple(10 * each for each in numbers), lengths=(7,) * len(numbers), room=10)
    pieces = slot_pieces(layout, rows)
    assert total(pieces) == len(numbers) * (700 + 16 * 10 + 8)
    with mmap.mmap(-1, layout.size_bytes) as there, mmap.mmap(-1, layout.size_bytes) as here:
        there.write(os.urandom(layout.size_bytes))
        begin = 0
        for data in pieces_of_rows(there, pieces, most):
            taken = 0
            for start, length in cut(pieces, begin, len(data)):
                here[start : start + length] = data[taken : taken + length]
                taken += length
            assert taken == len(data) <= most
            begin += len(data)
        assert begin == total(pieces)
        written = bytearray(layout.size_bytes)
        for start, length in pieces:
            written[start : start + length] = there[start : start + length]
        assert here[:] == bytes(written)


def test_rows_of_different_length_lie_end_to_end():
    layout = SlotLayout((Field("boxes", "float32", (4,), varies=True),), 3, frames=40)
    rows = Rows((0, 2), (5, 6), offsets=(0, 9), lengths=(4, 3))
    assert slot_pieces(layout, rows) == [(0, 64), (144, 48)]


def test_a_head_that_is_none_is_refused():
    assert read_row_head(row_head(7, 2**40)) == (7, 2**40)
    with pytest.raises(ProtocolError, match="has 3 bytes"):
        read_row_head(b"abc")
