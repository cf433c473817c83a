"""A real Chromium, without a window, driven by chromedriver's HTTP interface (W3C WebDriver)."""

from __future__ import annotations

import base64
import json
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import httpx
import pytest

START_LIMIT = 60.0
CALL_LIMIT = 120.0
_STARTED = re.compile(r"started successfully on port (\d+)")
FLAGS = (
    "--headless=new",
    "--no-sandbox",  # tests may run as root
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
    "--hide-scrollbars",
    # Names under .test lead to this machine; nothing else leaves it.
    "--host-resolver-rules=MAP *.test 127.0.0.1, MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1",
)


class Browser:
    """One window of the browser."""

    def __init__(self, driver: httpx.Client, session: str) -> None:
        self._driver = driver
        self._session = session

    def open(self, url: str) -> None:
        """Show the page, whatever its status."""
        self._command("url", url=url)

    def run(self, script: str, *arguments: Any) -> Any:
        """Run an asynchronous script in the page; return what it passes to its last argument, a function."""
        return self._command("execute/async", script=script, args=arguments)

    def resize(self, width: int, height: int) -> None:
        """Give the page this size, also a phone's, which is smaller than the smallest window."""
        self.devtools(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )

    def prefer(self, scheme: str) -> None:
        """Prefer the colour scheme `light` or `dark`."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.devtools("Emulation.setEmulatedMedia", features=features)

    def screenshot(self, *, is_whole: bool = False) -> bytes:
        """Return the visible part of the page, or all of it, as PNG."""
        answer = self.devtools("Page.captureScreenshot", format="png", captureBeyondViewport=is_whole)
        return base64.b64decode(answer["data"])

    def press(self, *keys: str) -> None:
        """Press keys one after the other; `\ue004` is the tabulator, `\ue007` the enter key."""
        actions = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        self._command("actions", actions=[{"type": "key", "id": "keys", "actions": actions}])

    def logged(self, kind: str) -> list[dict[str, Any]]:
        """Return new entries of a log: `browser` is the console, `performance` what the network did."""
        return cast(list[dict[str, Any]], self._command("se/log", type=kind))

    def requested(self) -> list[str]:
        """Return the URLs that pages have requested since the last call."""
        messages = [json.loads(entry["message"])["message"] for entry in self.logged("performance")]
        sent = [message["params"] for message in messages if message["method"] == "Network.requestWillBeSent"]
        return [message["request"]["url"] for message in sent]

    def devtools(self, name: str, **params: Any) -> Any:
        """Return the answer of a method of the browser's own protocol."""
        return self._command("goog/cdp/execute", cmd=name, params=params)

    def _command(self, name: str, **body: Any) -> Any:
        return result(self._driver.post(f"/session/{self._session}/{name}", json=body))


def result(answer: httpx.Response) -> Any:
    """Return the value of an answer of chromedriver."""
    value = answer.json()["value"]
    assert answer.status_code == 200, value
    return value


@contextmanager
def running_browser(folder: Path) -> Iterator[Browser]:
    """Yield a browser with a profile of its own; skip the test where Chromium is missing."""
    program, browser = shutil.which("chromedriver"), shutil.which("chromium")
    if program is None or browser is None:
        pytest.skip("Chromium is not here: install the packages chromium and chromium-driver")
    log = folder / "chromedriver.log"
    with log.open("w") as stream:
        process = subprocess.Popen([program, "--port=0"], stdout=stream, stderr=stream, cwd=folder)
    try:
        url = f"http://127.0.0.1:{_port(process, log)}"
        with httpx.Client(base_url=url, timeout=CALL_LIMIT) as driver:
            options = {"binary": browser, "args": [*FLAGS, f"--user-data-dir={folder}/profile"]}
            wanted = {
                "goog:chromeOptions": options,
                "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"},
                "timeouts": {"script": 60_000},
            }
            session = result(driver.post("/session", json={"capabilities": {"alwaysMatch": wanted}}))
            try:
                yield Browser(driver, session["sessionId"])
            finally:
                driver.delete(f"/session/{session['sessionId']}")
    finally:
        process.terminate()
        process.wait(timeout=CALL_LIMIT)


def _port(process: subprocess.Popen[bytes], log: Path) -> str:
    deadline = time.monotonic() + START_LIMIT
    while time.monotonic() < deadline:
        if match := _STARTED.search(log.read_text()):
            return match[1]
        assert process.poll() is None, log.read_text()
        time.sleep(0.02)
    raise AssertionError(f"chromedriver does not listen:\n{log.read_text()}")
