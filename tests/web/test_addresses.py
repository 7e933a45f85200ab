"""Where the page is served: addresses, tokens, ports that are taken."""

from __future__ import annotations

import socket

import pytest

from loader_service.config import ServiceConfig
from loader_service.errors import ConfigError
from loader_service.web_options import (
    TOKEN_VARIABLE,
    given_token,
    link_of,
    listening_socket,
    looks_like_address,
    parse_address,
)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("127.0.0.1:9000", ("127.0.0.1", 9000)),
        ("127.0.0.1", ("127.0.0.1", None)),
        (":9000", ("127.0.0.1", 9000)),
        ("9000", ("127.0.0.1", 9000)),
        ("0.0.0.0:0", ("0.0.0.0", 0)),
        ("[::1]:80", ("::1", 80)),
        ("node7:8321", ("node7", 8321)),
    ],
)
def test_addresses(text: str, place: tuple[str, int | None]) -> None:
    assert parse_address(text) == place


@pytest.mark.parametrize("text", ["", "a b", "http://x", "host:port", "host:99999", "::1", "x:1:2", "data/*.h5", "a/b"])
def test_what_is_no_address_is_refused_with_a_remedy(text: str) -> None:
    with pytest.raises(ConfigError, match=r"HOST:PORT|there is no port"):
        ServiceConfig(files=("a.h5",), web=text)


@pytest.mark.parametrize(
    ("word", "is_one"), [("127.0.0.1:80", True), ("8080", True), ("localhost:1", True), ("data.h5", False),
                         ("data/*.h5", False), ("--workers", False), ("", False), ("s3://b/x", False)]
)  # fmt: skip
def test_a_file_after_the_option_is_no_address(word: str, is_one: bool) -> None:
    assert looks_like_address(word) is is_one


@pytest.mark.parametrize("word", ["abc", "node7", "10.0.0.7", "videos"])
def test_a_host_without_a_port_after_the_option_is_told_from_a_file(word: str) -> None:
    with pytest.raises(ConfigError, match=f"'{word}' after --web is no file; .* --web {word}:8321"):
        looks_like_address(word)


def test_a_file_that_looks_like_an_address_is_a_file(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "8080").touch()
    assert not looks_like_address("8080")


def test_control_without_a_page_is_refused() -> None:
    with pytest.raises(ConfigError, match="give --web too"):
        ServiceConfig(files=("a.h5",), web_control=True)


def test_a_port_that_is_taken_is_an_error_if_it_was_asked_for() -> None:
    with listening_socket("127.0.0.1:0") as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ConfigError, match=r"cannot listen there.*give another HOST:PORT"):
            listening_socket(f"127.0.0.1:{port}")
    with pytest.raises(ConfigError, match="cannot listen there"):
        listening_socket("no-such-host.invalid:80")


def test_where_the_usual_port_is_taken_another_is_found() -> None:
    with listening_socket("127.0.0.1") as one, listening_socket("127.0.0.1") as other:
        assert one.getsockname()[1] != other.getsockname()[1]
        assert one.get_inheritable() is other.get_inheritable() is False
        assert one.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN) == 1


def test_a_token_of_the_environment_must_be_hard_to_guess(monkeypatch: pytest.MonkeyPatch) -> None:
    assert given_token() == ""
    monkeypatch.setenv(TOKEN_VARIABLE, "abcdefghijklmnop_-1")
    assert given_token() == "abcdefghijklmnop_-1"
    for bad in ("short", "x" * 15, "abcdefghijklmnopq;r", "ä" * 20):
        monkeypatch.setenv(TOKEN_VARIABLE, bad)
        with pytest.raises(ConfigError, match="16 or more letters"):
            given_token()


def test_links_lead_to_this_host() -> None:
    assert link_of("127.0.0.1", 1, "t") == "http://127.0.0.1:1/?token=t"
    assert link_of("0.0.0.0", 1, "t") == "http://127.0.0.1:1/?token=t"
    assert link_of("::", 1, "t") == "http://[::1]:1/?token=t"
