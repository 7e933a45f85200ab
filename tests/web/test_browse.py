"""Pages of files and videos from the columns alone: a million videos, searched within a bounded time."""

from __future__ import annotations

import time
from contextlib import closing
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from loader_service.web import browse
from loader_service.web.browse import Browser
from tests.support.catalogs import catalog_of

VIDEOS = 1_000_000


class Columns:
    """What a browser asks of a catalog, for a million videos in a thousand files; made in a second."""

    kind = "videos"
    fields = facts = left_out = skipped = ()
    file_count, video_count, frame_count = 1000, VIDEOS, 3 * VIDEOS
    split, classes, empty_videos = "", ("cat", "dog", "<b>"), 0

    def __init__(self) -> None:
        self.video_file = np.repeat(np.arange(1000, dtype=np.int32), VIDEOS // 1000)
        self.frame_counts = np.full(VIDEOS, 3, np.int64)
        self.frame_counts[7] = 50
        self.labels = (np.arange(VIDEOS) % 3).astype(np.int64)
        self.file_bytes = np.full(1000, 10, np.int64)
        letters = np.tile(np.frombuffer(b"Video_0000000", np.uint8), (VIDEOS, 1))
        letters[:, 6:] += (np.arange(VIDEOS)[:, np.newaxis] // 10 ** np.arange(6, -1, -1) % 10).astype(np.uint8)
        paths = b"".join(b"/f%04d " % number for number in range(1000))
        self._heaps = {
            "names": (np.arange(VIDEOS + 1, dtype=np.int64) * 13, letters.reshape(-1)),
            "paths": (np.arange(1001, dtype=np.int64) * 7, np.frombuffer(paths, np.uint8)),
        }  # fmt: skip

    def heap(self, texts: str, _bounds: str) -> Any:
        return self._heaps[texts]

    def name(self, video: int) -> bytes:
        return b"Video_%07d" % video

    def file_path(self, file: int) -> str:
        return f"/f{file:04} "

    def videos_of(self, file: int) -> range:
        return range(file * 1000, (file + 1) * 1000)


@pytest.fixture(scope="module")
def million() -> Browser:
    return Browser(Columns())  # type: ignore[arg-type]


def pages(ask: Any, most: int = 1000) -> list[int]:
    """Return the numbers on all pages of an answer that has several."""
    found, after = [], 0
    for _ in range(most):
        told = ask(after)
        found += [each.get("video", each.get("file")) for each in told[next(iter(told))]]
        if told["next"] is None:
            return found
        assert told["next"] > after
        after = told["next"]
    raise AssertionError("no end")


def test_a_million_videos_are_searched_within_bounds(million: Browser) -> None:
    begun = time.process_time()
    assert pages(lambda after: million.videos("O_0999", after, 200, None, None)) == list(range(999_000, 1_000_000))
    assert [each["video"] for each in million.videos("video_0123456", 0, 5, None, None)["videos"]] == [123_456]
    assert pages(lambda after: million.videos("nothing of the kind", after, 50, None, None)) == []
    assert pages(lambda after: million.videos("0999999", after, 50, 999, None)) == [999_999]
    assert pages(lambda after: million.videos("_0000001", after, 50, None, 1)) == [1]
    assert time.process_time() - begun < 20  # of CPU, in all; each request has a bound of its own


def test_no_request_takes_long_however_much_there_is(million: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(browse, "_SEARCH_S", 0.0)
    told = million.videos("nothing of the kind", 0, 50, None, None)
    assert told["videos"] == []
    assert told["next"] is not None  # it says where it goes on


def test_pages_follow_one_another_without_a_gap(million: Browser) -> None:
    first = million.videos("", 0, 50, None, None)
    assert [each["video"] for each in first["videos"]] == list(range(50))
    assert first["next"] == 50
    last = million.videos("", VIDEOS - 3, 50, None, None)
    assert ([each["video"] for each in last["videos"]], last["next"]) == ([VIDEOS - 3, VIDEOS - 2, VIDEOS - 1], None)
    assert million.videos("", VIDEOS + 5, 50, None, None)["videos"] == []
    assert million.videos("", 0, 5, 7, None)["videos"][0]["video"] == 7000
    assert million.videos("", 7998, 5, 7, None)["next"] is None
    assert pages(lambda after: million.videos("", after, 200, 3, 2)) == [n for n in range(3000, 4000) if n % 3 == 2]
    assert million.files("f0999", 0, 50)["files"][0]["file"] == 999


def test_counts_of_a_million(million: Browser) -> None:
    summary = million.summary
    assert (summary["videos"], summary["lengths"]["median"]) == (VIDEOS, 3)
    assert sum(summary["lengths"]["counts"]) == VIDEOS
    assert summary["lengths"]["edges"][0] == 3
    assert [each["name"] for each in summary["classes"]] == ["cat", "dog", "<b>"]
    assert sum(each["videos"] for each in summary["classes"]) == VIDEOS


def test_names_are_found_whole_and_never_across_two(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        for name in ("ab", "cd", "xabx", "a.*b", "Ünï"):
            group = file.create_group(name)
            group["qpos"] = np.zeros((4, 3), np.float32)
            group["action"] = np.zeros((4, 2), np.float32)
    with closing(catalog_of(tmp_path)) as catalog:
        browser = Browser(catalog)

        def named(text: str) -> set[str]:
            return {each["name"] for each in browser.videos(text, 0, 50, None, None)["videos"]}

        everything = {"ab", "cd", "xabx", "a.*b", "Ünï"}
        assert named("") == everything
        assert named("üNÏ") == named("ünï") == {"Ünï"}
        assert named("bc") == set()  # "ab" and "cd" lie beside each other
        assert named("AB") == {each for each in everything if "ab" in each}
        assert named(".*") == {each for each in everything if ".*" in each}
        assert named("x" * 10_000) == set()
        with pytest.raises(IndexError):
            browser.videos("", 0, 5, 99, None)
