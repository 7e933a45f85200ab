"""A trainer that goes on while others misbehave, and checks each batch against what it got before they did."""

from __future__ import annotations

import threading
import zlib
from typing import Any

import loader_client
from loader_client import Clip, Image
from loader_service.protocol.spec import Spec

SPEC = Spec(batch_size=2, clip=Clip(frames=4), image=Image(size=(32, 32)), prefetch=2)
_EPOCHS = 4


class Honest:
    """Streams without end in a thread of its own; a context manager.

    Its first epochs, before anybody else does anything, are what every later batch is compared with.

    Parameters
    ----------
    endpoint
        Of the service.
    """

    def __init__(self, endpoint: str) -> None:
        self._connection = loader_client.connect(endpoint)
        self._stream = self._connection.open(SPEC)
        self._expected = {place: self._digest(place) for place in self._places()}
        self._stopping = threading.Event()
        self._error: BaseException | None = None
        self.batches = 0
        self._thread = threading.Thread(target=self._run, name="honest")

    def __enter__(self) -> Honest:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._thread.join()
        self._connection.close()

    def check(self) -> int:
        """Return how many batches came so far; raise what went wrong, if anything."""
        if self._error is not None:
            raise self._error
        return self.batches

    def _run(self) -> None:
        try:
            while not self._stopping.is_set():
                for place, expected in self._expected.items():
                    if self._stopping.is_set():
                        return
                    found = self._digest(place)
                    assert found == expected, f"epoch, step {place}: other bytes than before"
                    self.batches += 1
        except BaseException as error:  # noqa: BLE001 - raised again where the test looks
            self._error = error

    def _places(self) -> list[tuple[int, int]]:
        return [(epoch, step) for epoch in range(_EPOCHS) for step in range(self._stream.steps_per_epoch)]

    def _digest(self, place: tuple[int, int]) -> dict[str, int]:
        batch: dict[str, Any] = self._stream.fetch(*place)
        return {name: zlib.crc32(values.tobytes()) for name, values in batch.items()}
