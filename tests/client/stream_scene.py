"""A client with one open stream, and a service that says what a test has it say."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from loader_client.connecting import connect
from loader_client.connection import Connection
from loader_client.patience import Patience
from loader_client.stream import Stream
from loader_service.protocol import messages as m
from loader_service.protocol.spec import Clip, Spec
from tests.client.scripted_service import ScriptedService

SPEC = Spec(2, Clip(frames=1))
SOON_S = 60.0


class Scene:
    """A client with one open stream on a scripted service; the client's calls run in threads of their own."""

    def __init__(self, service: ScriptedService, threads: ThreadPoolExecutor, patience: Patience) -> None:
        self.service = service
        self.threads = threads
        connecting = threads.submit(connect, service.endpoint, patience=patience)
        service.welcome()
        self.connection: Connection = connecting.result(SOON_S)
        opening = threads.submit(self.connection.open, SPEC)
        service.open_stream()
        self.stream: Stream = opening.result(SOON_S)

    def fetch(self, step: int, epoch: int = 0) -> Future[int]:
        """Have a step fetched; the result is its `index`."""

        def fetch() -> int:
            return int(self.stream.fetch(epoch, step)["index"][0])

        return self.threads.submit(fetch)

    def serve(self, step: int, *, lease: int, place: int = 0) -> int:
        """Fetch a step that is answered at once; return its `index`."""
        fetching = self.fetch(step)
        want = self.expect_want(step)
        self.service.say(self.service.fill(want, lease=lease, place=place))
        return fetching.result(SOON_S)

    def expect_want(self, step: int) -> m.Want:
        """Return the next want of a step."""
        while True:
            want = self.service.expect(m.Want)
            if want.step == step:
                return want


@contextmanager
def scene(patience: Patience | None = None, **options: Any) -> Iterator[Scene]:
    with ThreadPoolExecutor(4) as threads, ScriptedService(**options) as service:
        made = Scene(service, threads, patience or Patience())
        with made.connection:
            yield made
