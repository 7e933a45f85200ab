"""What tests of stores share: a web server that gives ranges, and an S3 server."""

from __future__ import annotations

import os
import threading
import urllib.request
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import obstore
import pytest
from obstore.store import MemoryStore

from loader_service.stores import objects
from loader_service.stores.urls import StoreUrl
from tests.support.range_server import RangeServer, range_server

#: What ``a.h5`` of the FTP server holds, which is no HDF5.
CONTENT = bytes(range(256)) * 400


@pytest.fixture(scope="session", autouse=True)
def runtime() -> None:
    """Start the library's own threads, which stay: no test has left them behind."""
    obstore.put(MemoryStore(), "x", b"")


@pytest.fixture(autouse=True)
def no_connections() -> Iterator[None]:
    """Let go of the connections that a test has made."""
    objects._opened.cache_clear()
    yield
    objects._opened.cache_clear()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RangeServer]:
    """Serve the folder ``web`` of the test's own."""
    (tmp_path / "web").mkdir()
    with range_server(tmp_path / "web") as server:
        yield server


@pytest.fixture(scope="session")
def s3_address() -> Iterator[str]:
    """Run an S3 server, and return its URL."""
    from moto.server import ThreadedMotoServer  # noqa: PLC0415 - a second, and only some tests need it

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def s3(s3_address: str, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Return what puts bytes into a bucket that was empty, as ``s3(key, bytes, "data")``; the environment has a key."""
    urllib.request.urlopen(urllib.request.Request(f"{s3_address}/moto-api/reset", method="POST")).close()
    urllib.request.urlopen(urllib.request.Request(f"{s3_address}/data", method="PUT")).close()
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    for name, value in {
        "AWS_ENDPOINT_URL": s3_address,
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_REGION": "us-east-1",
    }.items():
        monkeypatch.setenv(name, value)

    def put(key: str, content: bytes, bucket: str = "data") -> None:
        if bucket != "data":
            urllib.request.urlopen(urllib.request.Request(f"{s3_address}/{bucket}", method="PUT")).close()
        obstore.put(objects.open_store(StoreUrl("s3", bucket, key)), key, content)

    return put


@pytest.fixture
def ftp(tmp_path: Path) -> Iterator[str]:
    """Serve the folder ``ftp`` of the test's own; return its URL, with user and password."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of asyncore, which it takes from Python while it is there
        from pyftpdlib.authorizers import DummyAuthorizer  # type: ignore[import-untyped] # noqa: PLC0415 - few tests need it
        from pyftpdlib.handlers import FTPHandler  # type: ignore[import-untyped] # noqa: PLC0415
        from pyftpdlib.servers import ThreadedFTPServer  # type: ignore[import-untyped] # noqa: PLC0415

    folder = tmp_path / "ftp"
    folder.mkdir()
    (folder / "a.h5").write_bytes(CONTENT)
    authorizer = DummyAuthorizer()
    authorizer.add_user("me", "pass-word", str(folder), perm="elr")
    handler = type("Handler", (FTPHandler,), {"authorizer": authorizer})
    server = ThreadedFTPServer(("127.0.0.1", 0), handler)
    ended = threading.Event()

    def serve() -> None:
        while not ended.is_set():
            server.serve_forever(timeout=0.05, blocking=False, handle_exit=False)
        server.close_all()  # by the thread that polls, which would meet a closed descriptor otherwise

    thread = threading.Thread(target=serve)
    thread.start()
    yield f"ftp://me:pass-word@127.0.0.1:{server.address[1]}/"
    ended.set()
    thread.join()
