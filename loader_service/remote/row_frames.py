"""How rows travel: a message of two frames, a head of 16 bytes and up to `PIECE_BYTES` of a task's rows. Pure."""

from __future__ import annotations

import struct

from loader_service.errors import ProtocolError

#: Bytes of rows in one message. Larger ones take more memory on both sides; a GB took the receiver 0.70 s of CPU at
#: 128 KiB, 0.54 at 256 KiB, 0.36 at 1 MiB, and with CURVE 1.44, 1.16, 0.98 (`benchmarks/remote.py`, a busy machine).
PIECE_BYTES = 2**20

#: Bytes of one frame that the receiver takes: a piece of rows, with what encryption adds. ZeroMQ makes room for a frame
#: before it knows who sends it: a stranger can make the receiver take so much, for as long as a handshake may last.
MOST_FRAME_BYTES = PIECE_BYTES + 4096

#: Messages of rows that may wait at each end of a connection, beside what the kernel holds.
WAITING_MESSAGES = 8

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
