"""A wire between clients and a service that loses, doubles and swaps what it carries; knows no message's meaning."""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Callable
from functools import partial

import zmq

from loader_service import endpoint as endpoints
from tests.support.services import new_endpoint

#: What becomes of ten payloads in a row, in an order drawn for each ten.
_FATES = ("lost", "doubled", "swapped", *["carried"] * 7)

#: After this time a payload that was to be swapped with the next one goes alone, in milliseconds.
_HELD_MS = 20

_Send = Callable[[bytes], None]


class LossyWire:
    """Listens at an endpoint of its own and passes payloads on, both ways; a context manager.

    Parameters
    ----------
    service
        Endpoint of the service.
    seed
        Of the payloads' fates.
    """

    def __init__(self, service: str, seed: int) -> None:
        self.endpoint = new_endpoint()
        self.fates: Counter[str] = Counter()
        self._service = service
        self._random = random.Random(seed)
        self._coming: list[str] = []
        self._held: list[tuple[_Send, bytes]] = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="lossy-wire")

    def __enter__(self) -> LossyWire:
        endpoints.parse(self.endpoint).path.parent.mkdir(mode=0o700, exist_ok=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        endpoints.parse(self.endpoint).path.unlink()

    def _run(self) -> None:
        with zmq.Context() as context, context.socket(zmq.ROUTER) as front:
            front.setsockopt(zmq.LINGER, 0)
            front.bind(self.endpoint)
            backs: dict[bytes, zmq.Socket[bytes]] = {}
            poller = zmq.Poller()
            poller.register(front, zmq.POLLIN)
            while not self._over.is_set():
                ready = dict(poller.poll(_HELD_MS))
                if not ready:
                    self._let_go()
                for peer, back in backs.items():
                    if back in ready:
                        self._carry(partial(_send_to, front, peer), back.recv())
                if front in ready:
                    peer, payload = front.recv_multipart()
                    if peer not in backs:
                        backs[peer] = self._connect(context, peer)
                        poller.register(backs[peer], zmq.POLLIN)
                    self._carry(backs[peer].send, payload)
            for back in backs.values():
                back.close()

    def _connect(self, context: zmq.Context[zmq.Socket[bytes]], peer: bytes) -> zmq.Socket[bytes]:
        back = context.socket(zmq.DEALER)
        back.setsockopt(zmq.ROUTING_ID, peer)
        back.setsockopt(zmq.LINGER, 0)
        back.connect(self._service)
        return back

    def _carry(self, send: _Send, payload: bytes) -> None:
        if not self._coming:
            self._coming = self._random.sample(_FATES, len(_FATES))
        fate = self._coming.pop()
        self.fates[fate] += 1
        if fate == "swapped":
            self._held.append((send, payload))
            return
        for _ in range({"lost": 0, "doubled": 2}.get(fate, 1)):
            send(payload)
        self._let_go()

    def _let_go(self) -> None:
        """Send what was held back, now that others have passed it."""
        held, self._held = self._held, []
        for send, payload in held:
            send(payload)


def _send_to(front: zmq.Socket[bytes], peer: bytes, payload: bytes) -> None:
    front.send_multipart((peer, payload))
