"""Only those come in who have the token, by a name of this host; only the page itself may act. No socket."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from loader_service.web.gate import Gate

TOKEN = "0123456789abcdefTOKEN"
OK = {"host": "127.0.0.1:8321", "cookie": f"loader-service-8321={TOKEN}"}


async def _inside(scope: Any, _receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/plain")]})
    await send({"type": "http.response.body", "body": b"inside"})


def ask(path: str = "/", headers: Any = OK, method: str = "GET", query: str = "") -> tuple[int, dict[str, str], bytes]:
    """Return status, headers and body of a request to a gate in front of a page that says "inside"."""
    said: list[dict[str, Any]] = []

    async def send(message: Any) -> None:
        said.append(message)

    async def receive() -> Any:
        return {"type": "http.request", "body": b""}

    pairs = list(headers.items()) if isinstance(headers, dict) else headers
    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "query_string": query.encode(),
        "headers": [(name.encode("latin-1"), value.encode("latin-1")) for name, value in pairs],
    }
    asyncio.run(Gate(_inside, TOKEN, ("127.0.0.1", 8321))(scope, receive, send))
    told = {name.decode(): value.decode() for name, value in said[0]["headers"]}
    return said[0]["status"], told, said[1]["body"]


def test_who_has_the_cookie_comes_in_and_every_answer_binds_the_browser() -> None:
    status, headers, body = ask()
    assert (status, body) == (200, b"inside")
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "http" not in policy
    assert "frame-ancestors 'none'" in policy
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["cache-control"] == "no-store"
    assert not [name for name in headers if name.startswith("access-control")]


@pytest.mark.parametrize(
    "cookie",
    ["", "loader-service-8321=", f"loader-service-8321={TOKEN}x", f"loader-service-8321={TOKEN[:-1]}",
     f"loader-service-9999={TOKEN}", f"{TOKEN}", "loader-service-8321=\xff\xfe", "=" * 500],
)  # fmt: skip
def test_without_the_token_nothing_is_told(cookie: str) -> None:
    for path in ("/", "/api/now", "/app.js", "/nothing"):
        status, headers, body = ask(path, {**OK, "cookie": cookie})
        assert status == 401
        assert b"inside" not in body
        assert "set-cookie" not in headers
        assert "content-security-policy" in headers


def test_a_cookie_is_found_among_those_of_others() -> None:
    others = f'_xsrf=2|a|b; bad{{name="x; loader-service-8321={TOKEN}; more=1'
    assert ask(headers={**OK, "cookie": others})[0] == 200


def test_the_link_becomes_a_cookie_and_leaves_the_address() -> None:
    status, headers, _ = ask(headers={"host": "localhost:1"}, query=f"token={TOKEN}")
    assert (status, headers["location"]) == (303, "/")
    assert headers["set-cookie"] == f"loader-service-8321={TOKEN}; Path=/; HttpOnly; SameSite=Lax"


@pytest.mark.parametrize("given", ["", "x", f"{TOKEN}x", f"x&token={TOKEN}x", "%00", "%F0%9F%98%80"])
def test_a_wrong_token_is_refused_even_beside_a_good_cookie(given: str) -> None:
    status, headers, _ = ask(query=f"token={given}")
    assert status in (401, 200)
    assert "set-cookie" not in headers
    assert (status == 200) == (given == "")  # an empty one is none, and the cookie counts


def test_a_token_counts_at_the_front_page_alone() -> None:
    assert ask("/api/now", {"host": "localhost"}, query=f"token={TOKEN}")[0] == 401


@pytest.mark.parametrize(
    "host", ["127.0.0.1:8321", "127.0.0.1", "localhost:9", "LOCALHOST", "[::1]:8321", "10.1.2.3:80"]
)
def test_addresses_and_names_of_this_host_are_known(host: str) -> None:
    assert ask(headers={**OK, "host": host})[0] == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8321", "127.0.0.1.evil.example", "localhost.evil.example:8321", "", "[::1",
             "[evil.example]",
             "127.0.0.1:8321@evil.example", "user@localhost"]
)  # fmt: skip
def test_a_name_that_was_made_to_point_here_is_refused(host: str) -> None:
    status, _, body = ask(headers={**OK, "host": host}, query=f"token={TOKEN}")
    assert (status, b"inside" in body) == (403, False)


def test_a_request_with_no_host_or_two_is_refused() -> None:
    cookie = ("cookie", OK["cookie"])
    assert ask(headers=[cookie])[0] == 403
    assert ask(headers=[("host", "localhost"), ("host", "evil.example"), cookie])[0] == 403


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"origin": "http://127.0.0.1:8321", "x-loader-service": "1"}, 200),
        ({"origin": "http://127.0.0.1:8321"}, 403),
        ({"x-loader-service": "1"}, 403),
        ({"origin": "http://evil.example", "x-loader-service": "1"}, 403),
        ({"origin": "null", "x-loader-service": "1"}, 403),
        ({"origin": "http://127.0.0.1:8888", "x-loader-service": "1"}, 403),
    ],
)
def test_only_the_page_itself_may_act(headers: dict[str, str], status: int) -> None:
    for method in ("POST", "PUT", "DELETE", "OPTIONS"):
        assert ask("/api/scale", {**OK, **headers}, method)[0] == status
