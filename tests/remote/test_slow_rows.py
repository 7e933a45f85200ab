"""A receiver that needs long for each message of rows is heard meanwhile."""

from __future__ import annotations

from contextlib import ExitStack

import pytest

from tests.remote.receiver_scene import ReceiverScene

#: Each takes 0.1 s at that failpoint: longer, together, than a worker waits for a silent receiver.
TASKS = range(1, 31)


def test_a_receiver_that_needs_long_for_rows_is_heard_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOADER_SERVICE_FAILPOINTS", "receiver.rows=delay")
    with ExitStack() as stack:
        scene = ReceiverScene(stack, encrypt=False, rows=2, row_bytes=1000)
        assert scene.task(*TASKS) > 0.1 * len(TASKS)
        assert scene.link.end is None, scene.link.why
