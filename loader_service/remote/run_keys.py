"""The keys of one run, and what they prove; made by the daemon, and never on a command line or in a file."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from dataclasses import dataclass, field

import zmq
from zmq.utils import z85

from loader_service.errors import ConfigError

#: Letters of a number that is used once.
_ONCE_LETTERS = 32


@dataclass(frozen=True)
class RunKeys:
    """The keys of one run. Those of the receiver's own secret are empty in what remote workers get.

    Parameters
    ----------
    encrypt
        Whether connections are encrypted by CURVE; else each proves itself once, by `key`.
    receiver_public, receiver_secret, worker_public, worker_secret
        The key pairs of CURVE, in Z85.
    key
        64 hexadecimal digits, for connections without encryption.
    """

    encrypt: bool
    receiver_public: str
    receiver_secret: str = field(repr=False)  # no log line and no traceback shows it
    worker_public: str
    worker_secret: str = field(repr=False)
    key: str = field(repr=False)

    @classmethod
    def make(cls, *, encrypt: bool) -> RunKeys:
        """Return new keys.

        Raises
        ------
        ConfigError
            When ZeroMQ was built without CURVE, and encryption is asked for.
        """
        if not encrypt:
            return cls(encrypt, "", "", "", "", secrets.token_hex(32))
        if not zmq.has("curve"):
            raise ConfigError("this ZeroMQ was built without CURVE; install pyzmq from PyPI, or give --no-encrypt")
        receiver, worker = zmq.curve_keypair(), zmq.curve_keypair()
        public, secret, worker_public, worker_secret = (each.decode() for each in (*receiver, *worker))
        return cls(encrypt, public, secret, worker_public, worker_secret, "")

    def without_receiver_secret(self) -> RunKeys:
        """Return what remote workers are given."""
        return RunKeys(self.encrypt, self.receiver_public, "", self.worker_public, self.worker_secret, self.key)

    def proof(self, role: str, once: str) -> str:
        """Return what shows that somebody in a role has the key; `once` is used for one connection only."""
        return hmac.new(bytes.fromhex(self.key), f"{role}:{once}".encode(), hashlib.sha256).hexdigest()


def new_once() -> str:
    """Return a number that nobody has used before."""
    return secrets.token_hex(_ONCE_LETTERS // 2)


def open_door(socket: zmq.Socket[bytes], keys: RunKeys) -> None:
    """Have a listening socket let in only whom `Gatekeeper` knows."""
    socket.setsockopt(zmq.ZAP_DOMAIN, b"remote-workers")
    if keys.encrypt:
        socket.setsockopt(zmq.CURVE_SERVER, 1)
        socket.setsockopt(zmq.CURVE_SECRETKEY, keys.receiver_secret.encode())
    else:
        socket.setsockopt(zmq.PLAIN_SERVER, 1)


def identify(socket: zmq.Socket[bytes], keys: RunKeys) -> str:
    """Have a socket that is about to connect prove itself; return what the receiver is to prove, "" for nothing."""
    if keys.encrypt:
        socket.setsockopt(zmq.CURVE_SERVERKEY, keys.receiver_public.encode())
        socket.setsockopt(zmq.CURVE_PUBLICKEY, keys.worker_public.encode())
        socket.setsockopt(zmq.CURVE_SECRETKEY, keys.worker_secret.encode())
        return ""
    once = new_once()
    socket.setsockopt(zmq.PLAIN_USERNAME, once.encode())
    socket.setsockopt(zmq.PLAIN_PASSWORD, keys.proof("worker", once).encode())
    return keys.proof("receiver", once)


class Gatekeeper:
    """Answers ZeroMQ's question whether a connection may come in (ZAP, RFC 27).

    Attributes
    ----------
    turned_away
        Connections that were not let in.
    """

    def __init__(self, keys: RunKeys) -> None:
        self._keys = keys
        self._worker_key = z85.decode(keys.worker_public.encode()) if keys.encrypt else b""
        self._used: set[str] = set()
        self.turned_away = 0

    def answer(self, request: list[bytes]) -> list[bytes]:
        """Return the reply to a request: ZeroMQ's own frames, six or more, whatever credentials a peer has sent."""
        version, number, _domain, _address, _identity, mechanism, *credentials = request
        user = self._user(mechanism, credentials)
        if user is None:
            self.turned_away += 1
            return [version, number, b"400", b"not of this run", b"", b""]
        return [version, number, b"200", b"", user.encode(), b""]

    def _user(self, mechanism: bytes, credentials: list[bytes]) -> str | None:
        """Return what a connection is known by, None when it is not let in."""
        if self._keys.encrypt:
            known = mechanism == b"CURVE" and len(credentials) == 1
            return "worker" if known and hmac.compare_digest(credentials[0], self._worker_key) else None
        if mechanism != b"PLAIN" or len(credentials) != 2 or not credentials[0].isalnum():
            return None
        once = credentials[0].decode("ascii", "replace")
        if len(once) != _ONCE_LETTERS or once in self._used:
            return None
        if not hmac.compare_digest(credentials[1], self._keys.proof("worker", once).encode()):
            return None
        self._used.add(once)
        return once
