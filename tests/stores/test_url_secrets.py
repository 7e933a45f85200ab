"""What is secret in a URL reaches the server and the processes of a service, and nothing that people read."""

from __future__ import annotations

import os
import re
import subprocess
from base64 import b64encode
from collections.abc import Iterator

import pytest

from loader_service import url_secrets
from loader_service.catalog.paths import expand_patterns
from loader_service.errors import ConfigError
from loader_service.stores.faults import StoreFault
from loader_service.stores.listing import expand_url, objects_at
from loader_service.stores.open_stored import open_stored
from loader_service.url_secrets import keep_secrets, shown_url, whole_url, without_secrets
from tests.support.services import command_line, running_service
from tests.support.videos import make_videos, write_videos

SIGNATURE = "X-Amz-Signature=5ec2e7f00d&expires=99"


@pytest.fixture(autouse=True)
def nothing_kept() -> Iterator[None]:
    yield
    for name in [each for each in os.environ if each.startswith(url_secrets._PREFIX)]:
        del os.environ[name]


def _run(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command_line(*arguments), capture_output=True, text=True, check=False, timeout=300)


@pytest.fixture
def signed(server):
    """Return a URL that the server answers with its query alone."""
    server.signature = SIGNATURE
    (server.folder / "a.h5").write_bytes(bytes(range(256)) * 40)
    return f"{server.url('a.h5')}?{SIGNATURE}"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("https://host/a.h5?sig=abcdef", "https://host/a.h5"),
        ("https://user:word@host/a.h5", "https://host/a.h5"),
        ("https://token@host/a.h5#part", "https://host/a.h5"),
        ("ftp://user:word@host:2121/b/a.h5", "ftp://host:2121/b/a.h5"),
        ("abfss://box@account.dfs.core.windows.net/a.h5", "abfss://box@account.dfs.core.windows.net/a.h5"),
        ("s3://bucket/what?.h5", "s3://bucket/what?.h5"),
        ("/data/a?.h5", "/data/a?.h5"),
    ],
)
def test_queries_and_passwords_are_not_shown(text, shown):
    assert shown_url(text) == shown
    assert whole_url(keep_secrets(text)) == text


def test_what_a_library_says_has_no_part_of_a_secret():
    shown = keep_secrets(f"https://me:pass-word@host/a.h5?{SIGNATURE}")
    said = without_secrets(f"GET https://me:pass-word@host/a.h5?{SIGNATURE}: no 5ec2e7f00d for pass-word", shown)
    assert "5ec2e7f00d" not in said
    assert "pass-word" not in said


@pytest.mark.parametrize("keys", ["AKIA7:hidden", "AKIA7:hid/den", "AKIA7"])
@pytest.mark.parametrize("read", [expand_url, objects_at])
def test_keys_before_a_bucket_are_refused_and_not_shown(read, keys):
    with pytest.raises(ConfigError, match=r"give 's3a://box/a\.h5', and the keys in the environment") as caught:
        read(f"s3a://{keys}@box/a.h5")
    assert not re.search("AKIA7|hid|den", str(caught.value))


def test_two_urls_that_differ_in_their_query_alone_are_refused():
    with pytest.raises(ConfigError, match="'https://h/get' is given twice, with two queries"):
        expand_patterns(["https://h/get?id=1", "https://h/get?id=2"])


def test_more_secrets_than_an_environment_holds_are_refused(monkeypatch):
    monkeypatch.setattr(url_secrets, "_MOST_BYTES", 20)
    with pytest.raises(ConfigError, match="give s3:// URLs and credentials"):
        keep_secrets("https://host/a.h5?signature=0123456789")


def test_a_signed_file_is_read_by_requests_that_carry_the_signature(server, signed):
    (name,) = expand_url(signed)
    assert name == server.url("a.h5")
    assert open_stored(name).read_at(3, 5) == bytes(range(3, 8))


@pytest.mark.parametrize(("login", "sent"), [("me:pass%40wo%3Ard", "me:pass@wo:rd"), ("a-token", "a-token:")])
def test_a_user_and_a_password_are_sent_and_wrong_ones_are_named_and_not_shown(server, login, sent):
    (server.folder / "a.h5").write_bytes(bytes(range(256)))
    server.authorization = f"Basic {b64encode(sent.encode()).decode()}"
    url = server.url("a.h5")
    (name,) = expand_url(url.replace("://", f"://{login}@"))
    assert (name, open_stored(name).read_at(3, 5)) == (url, bytes(range(3, 8)))
    server.authorization = "another"
    with pytest.raises(ConfigError, match="the password in the URL is wrong") as refused:
        expand_url(url.replace("://", f"://{login}@"))
    assert not re.search("pass|token@|a-token", str(refused.value).replace("the password in", ""))


def test_a_signature_that_has_expired_is_one_line_without_it(server, signed):
    (name,) = expand_url(signed)
    server.signature = "another"
    with pytest.raises(StoreFault, match="give a right one") as caught:
        open_stored(name)
    assert "5ec2e7f00d" not in str(caught.value)
    with pytest.raises(ConfigError, match="has expired or is not for GET") as refused:
        expand_url(signed)
    assert "5ec2e7f00d" not in str(refused.value)


def test_a_service_of_a_signed_file_shows_its_name_alone(server, signed, tmp_path):
    write_videos(server.folder / "a.h5", "padded", make_videos([6] * 4))
    cache = tmp_path / "cache"
    found = _run("inspect", signed, "--cache-dir", cache)
    assert found.returncode == 0, found.stderr
    with running_service(signed, workers=1, cache_dir=cache) as service:
        status = _run("status", service.endpoint).stdout
        service.stop()
        said = found.stdout + found.stderr + status + service.log
    assert server.url("a.h5") in said
    assert not re.search("5ec2e7f00d|X-Amz", said)
    assert not [each for each in cache.rglob("*") if each.is_file() and b"5ec2e7f00d" in each.read_bytes()]
