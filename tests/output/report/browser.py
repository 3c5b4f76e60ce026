"""A headless Chromium that speaks over two pipes: no port, no network, nothing kept."""

import base64
import importlib.util
import json
import os
import select
import shutil
import signal
import subprocess
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
PROGRAM = next(filter(None, map(shutil.which, NAMES)), None)
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--remote-debugging-pipe", "--hide-scrollbars", "--disable-ipc-flooding-protection",
)  # fmt: skip
OURS = ("file:", "data:", "about:")  # what a page may ask for
PATIENCE = 180.0  # seconds; the rules of accessibility take 20 on two busy cores


class Browser:
    """One page of a browser, and all that it complained of or asked for.

    Parameters
    ----------
    folder
        A new, empty one, for what the browser keeps while it runs.
    """

    def __init__(self, folder: Path) -> None:
        speaks_over_3_and_4 = 'exec "$@" 3<&0 4>&1 </dev/null >/dev/null 2>/dev/null'
        command = [PROGRAM, *FLAGS, f"--user-data-dir={folder}", "about:blank"]
        self._process = subprocess.Popen(
            ["sh", "-c", speaks_over_3_and_4, "sh", *command],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True,
        )  # fmt: skip
        self._unread = bytearray()
        self._number, self._session = 0, None
        self.complaints, self.requests, self.loaded = [], [], 0
        try:
            self._open()
        except AssertionError:
            self.close()
            raise

    def _open(self) -> None:
        target = next(
            info["targetId"]
            for info in self("Target.getTargets")["targetInfos"]
            if info["type"] == "page"
        )
        self._session = self("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self(f"{domain}.enable")

    def __call__(self, method: str, **parameters):
        """Say something, and wait for the answer."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        message |= {"sessionId": self._session} if self._session else {}
        self._process.stdin.write(json.dumps(message).encode() + b"\0")
        self._process.stdin.flush()
        while (heard := self._heard()).get("id") != self._number:
            self._note(heard)
        assert "error" not in heard, heard["error"]
        return heard["result"]

    def _heard(self):
        while b"\0" not in self._unread:
            ready, _, _ = select.select([self._process.stdout], [], [], PATIENCE)
            assert ready, f"the browser said nothing for {PATIENCE:g} s"
            some = os.read(self._process.stdout.fileno(), 1 << 16)
            assert some, "the browser has gone"
            self._unread += some
        text, _, self._unread = self._unread.partition(b"\0")
        return json.loads(text)

    def _note(self, heard) -> None:
        method, said = heard.get("method"), heard.get("params", {})
        if method == "Network.requestWillBeSent":
            self.requests.append(said["request"]["url"])
        elif method in ("Runtime.exceptionThrown", "Log.entryAdded", "Runtime.consoleAPICalled"):
            self.complaints.append(said)
        self.loaded += method == "Page.loadEventFired"

    def show(self, path: Path, *, width: int, mode: str = "light", medium: str = "") -> None:
        """Open a file in a window so wide."""
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
        self("Emulation.setDeviceMetricsOverride", **size)
        feature = {"name": "prefers-color-scheme", "value": mode}
        self("Emulation.setEmulatedMedia", media=medium, features=[feature])
        self._until_loaded("Page.navigate", url=path.as_uri())

    def reload(self) -> None:
        """Load the page again, at its present address."""
        self._until_loaded("Page.reload")

    def _until_loaded(self, method: str, **parameters) -> None:
        self.loaded = 0
        self(method, **parameters)
        while not self.loaded:
            self._note(self._heard())

    def says(self, expression: str, *, waits: bool = False):
        """What a script in the page gives; with `waits`, once its promise is kept."""
        asked = {"expression": expression, "returnByValue": True, "awaitPromise": waits}
        said = self("Runtime.evaluate", **asked)
        assert "exceptionDetails" not in said, said["exceptionDetails"]
        return said["result"].get("value")

    def violations(self) -> list[str] | None:
        """What axe-core has against the page; None where it is not installed."""
        rules = importlib.util.find_spec("axe_core_python")
        if rules is None:
            return None
        self.says(Path(rules.origin).with_name("axe.min.js").read_text() + ";0")
        told = "axe.run().then((r) => r.violations.map((v) => `${v.id} ${v.nodes[0].html}`))"
        return self.says(told, waits=True)

    def paper(self) -> bytes:
        """The page as a PDF."""
        asked = {"preferCSSPageSize": True, "printBackground": True}
        return base64.b64decode(self("Page.printToPDF", **asked)["data"])

    @property
    def strangers(self) -> list[str]:
        """Addresses that it asked for and that lie outside the page."""
        return [url for url in self.requests if not url.startswith(OURS)]

    def close(self) -> None:
        """End it with all that it started: they are a group of their own."""
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            pipe.close()
