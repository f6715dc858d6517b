"""A headless Chromium that tests look at pages with, spoken to in its own DevTools protocol."""

from __future__ import annotations

import base64
import itertools
import json
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tornado.ioloop import IOLoop
from tornado.websocket import WebSocketClientConnection, websocket_connect

SECONDS = 60


class Page:
    """One tab of the browser."""

    def __init__(self, connection: WebSocketClientConnection, loop: IOLoop) -> None:
        self._connection, self._loop = connection, loop
        self._numbers = itertools.count(1)
        target = self._send("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self._send("Page.enable")

    def open(self, url: str, width: int = 1200, height: int = 900) -> None:
        self._send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self._send("Page.navigate", url=url)
        self.wait("document.readyState === 'complete'")

    def evaluate(self, script: str) -> Any:
        """What the script gives in the page, as JSON can hold it."""
        answer = self._send("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def wait(self, script: str, seconds: float = SECONDS) -> Any:
        """Until the script gives something true, which is returned."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                if found := self.evaluate(script):
                    return found
            except AssertionError:
                pass  # the page is being loaded
            time.sleep(0.1)
        raise AssertionError(f"The page did not come to: {script}; it has: {self.text()[:2000]}")

    def text(self) -> str:
        """What a reader sees of the page."""
        return str(self.evaluate("document.body.innerText"))

    def picture(self, path: Path, selector: str = "body", margin: int = 12) -> None:
        """A PNG of the first element that fits."""
        script = f"(() => {{ const b = document.querySelector({selector!r}).getBoundingClientRect();"
        box = self.evaluate(script + " return [b.x + scrollX, b.y + scrollY, b.width, b.height]; })()")
        x, y = max(box[0] - margin, 0), max(box[1] - margin, 0)
        clip = {"x": x, "y": y, "width": box[2] + 2 * margin, "height": box[3] + 2 * margin, "scale": 1}
        answer = self._send("Page.captureScreenshot", format="png", clip=clip, captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(answer["data"]))

    def _send(self, method: str, **params: Any) -> dict[str, Any]:
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": params}
        if hasattr(self, "_session"):
            message["sessionId"] = self._session

        async def ask() -> dict[str, Any]:
            await self._connection.write_message(json.dumps(message))
            while True:
                text = await self._connection.read_message()
                assert text is not None, "the browser has ended"
                answer = json.loads(text)
                if answer.get("id") == number:
                    return dict(answer)

        answer = self._loop.run_sync(ask, timeout=SECONDS)
        assert "error" not in answer, f"{method}: {answer['error']}"
        return dict(answer["result"])


@contextmanager
def browser(folder: Path) -> Iterator[Page]:
    """A page of a browser that keeps everything of its own in the folder, and ends with the block."""
    program = shutil.which("chromium")
    assert program, "no chromium: scripts/setup browser"
    options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"]
    options += ["--remote-debugging-port=0", f"--user-data-dir={folder / 'profile'}", "--no-first-run"]
    with (folder / "chromium.log").open("w") as log:
        process = subprocess.Popen([program, *options, "about:blank"], stdout=log, stderr=log)
    loop = IOLoop(make_current=False)
    try:
        yield Page(loop.run_sync(lambda: websocket_connect(address(folder), max_message_size=1 << 28)), loop)
    finally:
        process.terminate()
        process.wait(SECONDS)
        loop.close()


def address(folder: Path) -> str:
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        if found := re.search(r"DevTools listening on (ws://\S+)", (folder / "chromium.log").read_text()):
            return found[1]
        time.sleep(0.1)
    raise AssertionError((folder / "chromium.log").read_text())
