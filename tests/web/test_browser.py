"""The page in a headless Chromium, with a real service and a real trainer; makes the screenshots of the docs."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

import loader_client
from loader_client import Clip, Image
from tests.support import processes
from tests.support.services import Service, running_service
from tests.support.videos import frame_jpeg
from tests.support.waiting import eventually
from tests.web.asking import Page, page_of
from tests.web.browsing import Tab, browser
from tests.web.rehearsal import TASKS, write_rehearsals

pytestmark = pytest.mark.browser

#: Where the docs have their pictures; elsewhere unless they are asked for, so that a test run changes no file.
_SHOTS = Path(__file__).parents[2] / "docs" / "images"


class Trainer:
    """A trainer in a thread; as slow as it is told to be. Counts its steps."""

    def __init__(self, endpoint: str, pause_s: float = 0.0) -> None:
        self.steps, self.pause_s = 0, pause_s
        self._ended = threading.Event()
        self._endpoint = endpoint
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Trainer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join(60)

    def _run(self) -> None:
        with loader_client.connect(self._endpoint) as connection:
            image = Image(size=(128, 128), crop="random", flip=True, short_side=150)
            # 18 rehearsals are three whole steps: of a last one of two samples too few would be seen.
            for _ in connection.batches(
                6,
                clip=Clip(12, stride=2),
                image=image,
                epochs=None,
                prefetch=4,
                drop_remainder=False,
                on_error="substitute",
            ):
                self.steps += 1
                if self._ended.wait(self.pause_s):
                    return


@pytest.fixture(scope="module")
def rehearsals(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("robot")
    write_rehearsals(folder)
    return folder


@pytest.fixture(scope="module")
def service(rehearsals: Path) -> Iterator[Service]:
    with running_service(rehearsals / "*.h5", workers=2, web="127.0.0.1:0", web_control=True) as running:
        yield running


@pytest.fixture(scope="module")
def page(service: Service) -> Page:
    return page_of(lambda: service.said)


@pytest.fixture(scope="module")
def tab(page: Page) -> Iterator[Tab]:
    with browser() as opened:
        opened.open(page.link)
        yield opened


def shot(tab: Tab, name: str) -> None:
    """Save what is seen for the docs, if they are to be made anew."""
    if os.environ.get("SCREENSHOTS"):
        time.sleep(1.0)  # until what moves has moved
        tab.save(_SHOTS / f"{name}.png")


def test_who_waits_is_said_first_and_the_charts_move(tab: Tab, page: Page, service: Service) -> None:
    with Trainer(service.endpoint) as trainer:
        eventually(lambda: trainer.steps > 3, "some steps")
        tab.await_that(lambda: tab.run("return document.querySelector('.verdict')?.dataset.kind") == "decoding",
                       "the verdict")  # fmt: skip
        said = tab.text(".verdict")
        assert "decoding" in said.lower()
        assert "waits for data" in said
        assert tab.run("return document.querySelector('.stage.narrow').dataset.stage") == "decoding"
        assert tab.run("return location.search") == ""  # the token has left the address
        tab.await_that(lambda: tab.count(".chart path.line"), "a line")
        first = tab.run("return document.querySelector('.chart path.line').getAttribute('d')")
        tab.await_that(lambda: tab.run("return document.querySelector('.chart path.line').getAttribute('d')") != first,
                       "a chart that moves")  # fmt: skip
        tab.await_text("Workers (2)")
        if os.environ.get("SCREENSHOTS"):
            time.sleep(45)
        shot(tab, "web-now")
        trainer.pause_s = 0.5
        tab.await_that(lambda: tab.run("return document.querySelector('.verdict')?.dataset.kind") == "trainer",
                       "another verdict for a slow trainer")  # fmt: skip
    assert tab.complaints() == []


def test_the_samples_of_a_batch_are_seen_and_clips_play(tab: Tab, service: Service) -> None:
    with Trainer(service.endpoint, 0.2) as trainer:
        eventually(lambda: trainer.steps > 1, "some steps")
        tab.run("location.hash = 'samples'")
        tab.await_that(lambda: tab.loaded_pictures(".sample img") >= 4, "pictures of samples")
        said = tab.text("#sheet")
        assert "episode_" in said
        assert any(task in said for task in TASKS)
        assert "crop 128 x 128 at" in said
        assert "mirrored" in said
        shot(tab, "web-samples")
        tab.click(".sample", 1)
        tab.await_that(lambda: tab.count("dialog .chart path.line") >= 2, "joints beside the clip")
        script = "const c = document.querySelector('dialog canvas'); return c && c.width ? c.toDataURL() : ''"
        first = tab.await_that(lambda: tab.run(script), "the clip")
        tab.await_that(lambda: tab.run(script) != first, "a clip that plays")
        shot(tab, "web-clip")
        tab.click("dialog button")
        tab.await_that(lambda: tab.count("dialog") == 0, "a closed dialog")
    assert tab.complaints() == []


def test_what_a_transform_returns_is_seen_with_its_numbers(rehearsals: Path) -> None:
    own = "tests.preview.own_transforms:brightened"
    with running_service(rehearsals / "*0.h5", transform=own, web="127.0.0.1:0") as running, browser() as tab:
        with Trainer(running.endpoint, 0.2) as trainer:
            eventually(lambda: trainer.steps > 1, "some steps")
            tab.open(page_of(lambda: running.said).link)
            tab.run("location.hash = 'samples'")
            tab.await_text("What the transform returns", "float32", "black is ", selector="#outputs")
            tab.await_that(lambda: tab.loaded_pictures(".sample img") >= 4, "pictures of outputs")
            assert "outputs.jpg" in tab.run("return document.querySelector('.sample img').src")
            tab.click(".sample")
            script = "const c = document.querySelector('dialog canvas'); return c && c.width ? c.toDataURL() : ''"
            tab.await_that(lambda: tab.run(script), "the clip")
            tab.click("dialog button")
        assert tab.complaints() == []


def test_files_lead_to_videos_and_these_to_frames_and_joints(tab: Tab) -> None:
    tab.run("location.hash = 'data'")
    tab.await_text("session_02.h5", selector="#files")
    tab.await_text("pick", "place", "push", selector="#classes")
    tab.click("#files button", 1)
    tab.await_text("episode_011", selector="#videos")
    tab.run("const q = document.querySelector('input[aria-label=\"search videos\"]'); q.value = 'SODE_008';"
            "q.dispatchEvent(new Event('input'))")  # fmt: skip
    tab.await_that(lambda: tab.count("#videos button") == 1, "the only one of that name")
    tab.click("#videos button")
    tab.await_that(lambda: tab.loaded_pictures("#video .cameras img") == 2, "both cameras")
    tab.await_that(lambda: tab.count("#video .chart path.line") >= 5, "joints and gripper")
    before = tab.run("return document.querySelector('#video img').src")
    tab.run("const s = document.querySelector('#video input[type=range]'); s.value = 20;"
            "s.dispatchEvent(new Event('input'))")  # fmt: skip
    tab.await_that(lambda: tab.run("return document.querySelector('#video img').src") != before, "another frame")
    tab.await_text("frame 20 of", selector="#video")
    shot(tab, "web-data")
    assert tab.complaints() == []


def test_the_page_fits_a_phone_in_the_dark(page: Page, service: Service) -> None:
    with Trainer(service.endpoint), browser(size=(390, 844), dark=True) as phone:
        phone.open(page.link)
        phone.await_text("waits for data")
        for name in ("now", "samples", "data"):
            phone.run("location.hash = arguments[0]", name)
            time.sleep(0.5)
            assert phone.run("return document.documentElement.scrollWidth") <= 390, name
        assert phone.run("return getComputedStyle(document.body).backgroundColor") == "rgb(13, 17, 23)"
        phone.run("location.hash = 'now'")
        phone.await_text("waits for data")
        shot(phone, "web-phone")


def test_scaling_from_the_page(tab: Tab, page: Page) -> None:
    tab.run("location.hash = 'now'")
    tab.await_that(lambda: tab.count("#scale"), "the button")
    tab.run("document.querySelector('#workers-wanted').value = 1")
    tab.click("#scale")
    tab.await_text("2 → 1 worker")
    tab.await_text("Workers (1)")


_ATTACK = "<img src=x onerror='document.title=666'>"


@pytest.fixture(scope="module")
def hostile_service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """Serve files, videos and classes whose names would act if they were HTML; the last video has a bad frame."""
    attack = _ATTACK
    folder = tmp_path_factory.mktemp("hostile") / attack.replace("/", "")
    folder.mkdir()
    with h5py.File(folder / "<svg onload='document.title=666'>.h5", "w") as file:
        for place in range(5):
            group = file.create_group(f"{attack}{place}")
            frames = group.create_dataset("frames", (4,), h5py.vlen_dtype(np.uint8))
            for number in range(4):
                data = frame_jpeg(number)
                frames[number] = np.frombuffer(data[:200] if place == 4 and number == 2 else data, np.uint8)
            group.attrs["label"] = f"{attack}<script>document.title=666</script>{place}"
    with running_service(folder / "*.h5", workers=1, web="127.0.0.1:0") as running:
        yield running


def test_names_and_errors_that_are_html_stay_texts(hostile_service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", [_ATTACK])  # what a client calls itself
    with browser() as tab, Trainer(hostile_service.endpoint):
        tab.open(page_of(lambda: hostile_service.said).link)
        tab.await_text("<img src=x")  # what a worker is at, which has no rest
        tab.await_text(f": {_ATTACK}@", selector=".verdict")
        tab.await_text("bad sample in stream", f"video {_ATTACK!r}"[:20], selector="#faults")
        tab.run("location.hash = 'samples'")
        tab.await_that(lambda: tab.loaded_pictures(".sample img") >= 4, "samples")
        tab.click(".sample")
        tab.await_that(lambda: tab.count("dialog canvas"), "a clip")
        for name in ("data", "data/video/1"):
            tab.run("location.hash = arguments[0]", name)
            tab.await_text("<svg onload=", "<img src=x", "<script>document.title=666</script>")
        tab.await_that(lambda: tab.loaded_pictures("#video img") == 1, "a frame")
        assert tab.run("return document.title") == "loader-service"
        assert tab.run("return [...document.querySelectorAll('img')].every(i => !i.src.endsWith('/x'))")
        assert tab.complaints() == []
        # Texts cannot become HTML or scripts, even if the page tried.
        refused = "try { %s; return '' } catch (error) { return error.name }"
        for attempt in (
            "document.body.innerHTML = '<b>x</b>'",
            "document.body.setAttribute('onclick', 'document.title=666')",
            "document.createElement('script').text = 'document.title=666'",
        ):
            assert tab.run(refused % attempt) == "TypeError", attempt
        assert tab.run("return document.title") == "loader-service"


def test_a_page_whose_service_does_not_answer_says_of_when_it_is(tab: Tab, service: Service) -> None:
    tab.run("location.hash = 'now'")
    tab.await_text("1188 frames", selector="#health")
    assert tab.count("body.stale") == 0
    os.kill(service.pid, signal.SIGSTOP)
    try:
        tab.await_text("What is shown is of", selector="#health")
        assert tab.count("body.stale") == 1
    finally:
        os.kill(service.pid, signal.SIGCONT)
    tab.await_text("1188 frames", selector="#health")
    assert tab.count("body.stale") == 0


def test_without_the_token_nothing_is_shown(page: Page) -> None:
    with browser() as stranger:
        stranger.open(f"http://{page.host}:{page.port}/")
        assert "needs its token" in stranger.text()
        assert stranger.count("main") == 0
        stranger.open(f"{page.link}x")
        assert "needs its token" in stranger.text()


def _cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def asking_pages(page: Page, count: int) -> Iterator[list[int]]:
    """Ask what so many pages that are looked at ask for, once a second each; yield a list of answers."""
    ended = threading.Event()
    answers: list[int] = []

    def ask() -> None:
        while not ended.is_set():
            answers.append(page.ask("/api/now")[0])
            answers.append(page.ask("/api/history?seconds=600")[0])
            ended.wait(1.0)

    threads = [threading.Thread(target=ask) for _ in range(count)]
    try:
        for each in threads:
            each.start()
        yield answers
    finally:
        ended.set()
        for each in threads:
            each.join(60)


def test_fifty_pages_cost_little(service: Service, page: Page, record_property: Any) -> None:
    web = next(pid for pid, words in processes.children(service.pid).items() if "web_process" in words)
    with Trainer(service.endpoint) as trainer:
        eventually(lambda: trainer.steps > 5, "some steps")
        shares = []
        for count in (0, 50, 0, 50):
            with asking_pages(page, count) as answers:
                time.sleep(1.0)
                begun, cpu, daemon, steps = time.monotonic(), _cpu_s(web), _cpu_s(service.pid), trainer.steps
                time.sleep(4.0)
                seconds = time.monotonic() - begun
                costs = (_cpu_s(web) - cpu) / seconds, (_cpu_s(service.pid) - daemon) / seconds
                shares.append((count, (trainer.steps - steps) / seconds, *costs))
            assert set(answers) <= {200}
            assert bool(answers) == bool(count)
    print("pages, steps/s, cores of the page, cores of the daemon:", shares)
    record_property("fifty_pages", shares)
    without, beside = shares[0][3] + shares[2][3], shares[1][3] + shares[3][3]
    assert beside <= without + 0.1  # the daemon does not see how many look
    assert max(shares[1][2], shares[3][2]) < 0.35  # of one core, and nice


def test_fifty_tabs_at_once_all_show_the_service(page: Page, service: Service) -> None:
    with browser(size=(500, 400)) as tab:
        tab.open(page.link)
        tab.await_text("Workers")
        address = f"http://{page.host}:{page.port}/"
        for _ in range(49):
            tab.driver.switch_to.new_window("tab")
            tab.open(address)
        handles = tab.driver.window_handles
        assert len(handles) == 50
        for handle in (handles[0], handles[25], handles[49]):
            tab.driver.switch_to.window(handle)
            tab.await_text("Workers", "Over time")
            tab.await_that(lambda: "up" in tab.text("#health"), "the service")
    assert page.ask("/api/now")[0] == 200
