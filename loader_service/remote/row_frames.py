"""How rows travel: a message of two frames, a head of 16 bytes and up to `PIECE_BYTES` of a task's rows. Pure."""

from __future__ import annotations

import struct

from loader_service.errors import ProtocolError

#: Bytes of rows in one message. Smaller ones cost more messages, larger ones more memory on both sides.
PIECE_BYTES = 2**18

#: Messages of rows that may wait at each end of a connection, beside what the kernel holds.
WAITING_MESSAGES = 16

_HEAD = struct.Struct("<QQ")


def row_head(task: int, begin: int) -> bytes:
    """Return the head of a message with bytes of a task's rows, which begin at byte `begin` of all of them."""
    return _HEAD.pack(task, begin)


def read_row_head(head: bytes) -> tuple[int, int]:
    """Return task and begin.

    Raises
    ------
    ProtocolError
        When it is no such head.
    """
    if len(head) != _HEAD.size:
        raise ProtocolError(f"the head of rows has {len(head)} bytes; expected {_HEAD.size}")
    task, begin = _HEAD.unpack(head)
    return task, begin
