"""A headless Chromium for tests: opens pages, runs scripts, takes screenshots; knows nothing of the tested code."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

#: How long a page may take to show what is waited for, in seconds.
_PATIENCE_S = 100.0


class Tab:
    """One tab of a browser."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver

    def open(self, address: str) -> None:
        """Go to an address."""
        self.driver.get(address)

    def run(self, script: str, *arguments: Any) -> Any:
        """Run JavaScript of the test's own, and return what it returns."""
        return self.driver.execute_script(script, *arguments)

    def text(self, selector: str = "body") -> str:
        """Return the text of the first element, "" without one."""
        return str(self.run("return document.querySelector(arguments[0])?.innerText ?? ''", selector))

    def count(self, selector: str) -> int:
        """Return how many elements there are."""
        return int(self.run("return document.querySelectorAll(arguments[0]).length", selector))

    def click(self, selector: str, place: int = 0) -> None:
        """Click an element."""
        self.run("document.querySelectorAll(arguments[0])[arguments[1]].click()", selector, place)

    def await_that(self, look: Callable[[], Any], what: str, within_s: float = _PATIENCE_S) -> Any:
        """Return the first true value of a look; fail with what the page says when there is none in time."""
        deadline = time.monotonic() + within_s
        while not (found := look()):
            assert time.monotonic() < deadline, f"not within {within_s:g} s: {what}; the page: {self.text()[:2000]}"
            time.sleep(0.05)
        return found

    def await_text(self, *words: str, selector: str = "body") -> str:
        """Return the text of an element when it has all of some words."""
        return str(
            self.await_that(
                lambda: (said := self.text(selector)) if all(each in self.text(selector) for each in words) else "",
                f"{words} in {selector}",
            )
        )

    def loaded_pictures(self, selector: str) -> int:
        """Return how many pictures there are that have pixels."""
        script = "return [...document.querySelectorAll(arguments[0])].filter(i => i.naturalWidth > 8).length"
        return int(self.run(script, selector))

    def save(self, path: Path) -> None:
        """Write what is seen as a PNG."""
        path.parent.mkdir(parents=True, exist_ok=True)
        self.driver.save_screenshot(str(path))

    def complaints(self) -> list[str]:
        """Return what the browser said of errors, refused scripts and missing files since the last call."""
        return [str(each["message"]) for each in self.driver.get_log("browser") if each["level"] == "SEVERE"]


@contextmanager
def browser(*, size: tuple[int, int] = (1280, 900), dark: bool = False) -> Iterator[Tab]:
    """Run a headless Chromium with a profile of its own."""
    from selenium import webdriver  # noqa: PLC0415 - for tests of `make web` alone
    from selenium.webdriver.chrome.service import Service as DriverService  # noqa: PLC0415

    chromium, driver_program = shutil.which("chromium"), shutil.which("chromedriver")
    if chromium is None or driver_program is None:
        pytest.fail("there is no chromium; apt-get install chromium chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--hide-scrollbars"):
        options.add_argument(flag)
    options.add_argument(f"--window-size={size[0]},{size[1]}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    home = tempfile.TemporaryDirectory()  # for what desktops write, beside the sockets of services
    variables = {**os.environ, "XDG_RUNTIME_DIR": home.name, "XDG_CONFIG_HOME": home.name, "XDG_CACHE_HOME": home.name}
    driver = webdriver.Chrome(options=options, service=DriverService(driver_program, env=variables))
    try:
        width, height = size
        screen = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
        yield Tab(driver)
    finally:
        driver.quit()
        home.cleanup()
