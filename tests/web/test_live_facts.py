"""What the page says of the present is what a status says: here, why there are so many workers."""

from __future__ import annotations

from dataclasses import replace

from loader_service.web.live_facts import describe
from tests.watching.looks import look, stream, worker


def test_a_pool_that_sizes_itself_says_within_what_and_why() -> None:
    status = look(9.0, [worker(1, 9.0)], [stream(1, 9.0)])
    assert describe(None, status)["service"]["workers_sized"] == ""
    sized = replace(status, workers_wanted=1, workers_bounds="auto", workers_why="nobody waits")
    assert describe(None, sized)["service"]["workers_sized"] == "1 within auto: nobody waits"
