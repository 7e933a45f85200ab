"""A proxy that stands for a network: it forwards what comes, until it is cut, and then keeps all silently."""

from __future__ import annotations

import contextlib
import selectors
import socket
import threading
from collections.abc import Iterator


class CutNetwork:
    """Forwards connections from one port of this host to another, in a thread.

    Parameters
    ----------
    to_port
        Where connections are forwarded to.

    Attributes
    ----------
    port
        Where it listens.
    is_cut
        Whether nothing travels: connections stay, and what is sent is kept until it is mended.
    """

    def __init__(self, to_port: int) -> None:
        self._to_port = to_port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.is_cut = False
        self._over = False
        self._ends: dict[socket.socket, socket.socket] = {}
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def close(self) -> None:
        self._over = True
        self._thread.join()
        for each in (self._listener, *self._ends):
            each.close()

    def _run(self) -> None:
        with selectors.DefaultSelector() as ready:
            ready.register(self._listener, selectors.EVENT_READ)
            while not self._over:
                for key, _ in ready.select(0.02):
                    if not self.is_cut:
                        self._pass(ready, key.fileobj)
                if self.is_cut:
                    threading.Event().wait(0.02)

    def _pass(self, ready: selectors.BaseSelector, end: object) -> None:
        if end is self._listener:
            near, _ = self._listener.accept()
            far = socket.create_connection(("127.0.0.1", self._to_port))
            self._ends |= {near: far, far: near}
            for each in (near, far):
                ready.register(each, selectors.EVENT_READ)
            return
        assert isinstance(end, socket.socket)
        if end not in self._ends:
            return
        other = self._ends[end]
        try:
            data = end.recv(2**18)
            other.sendall(data)
        except OSError:
            data = b""
        if not data:
            for each in (end, other):
                ready.unregister(each)
                del self._ends[each]
                each.close()


@contextlib.contextmanager
def cut_network() -> Iterator[tuple[CutNetwork, int]]:
    """Yield a network, and the port where the receiver is to listen."""
    with socket.create_server(("127.0.0.1", 0)) as chosen:
        port = chosen.getsockname()[1]
    network = CutNetwork(port)
    try:
        yield network, port
    finally:
        network.close()
