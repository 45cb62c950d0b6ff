"""A headless Chromium, driven over the DevTools protocol through a pipe: nothing but the browser is needed."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

PATIENCE = 120.0
"""Seconds that one answer may take: only a browser that hangs takes so long, however busy the machine is."""
NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
"""The first is the same browser without its window, for two thirds of its CPU time."""
FLAGS = (
    *("--headless=new", "--remote-debugging-pipe", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"),
    *("--no-first-run", "--no-default-browser-check", "--disable-extensions", "--disable-component-update"),
    *("--disable-background-networking", "--disable-sync", "--mute-audio", "--force-color-profile=srgb"),
    # One process draws all pages: to start one for each takes a third of the CPU time.
    *("--renderer-process-limit=1", "--process-per-site", "--disable-site-isolation-trials"),
)


def chromium() -> str | None:
    """The Chromium of this machine that starts, or None. TURNWIRE_CHROMIUM names another one."""
    for name in filter(None, (os.environ.get("TURNWIRE_CHROMIUM"), *NAMES)):
        path = shutil.which(name)
        if path is not None and subprocess.run([path, "--version"], capture_output=True, timeout=300).returncode == 0:
            return path
    return None


class Browser:
    """A running browser; ``close`` it. It keeps its profile in ``folder``."""

    def __init__(self, path: str, folder: Path) -> None:
        ours, theirs = _pipe(), _pipe()
        flags = [*FLAGS, *(["--no-sandbox"] if os.geteuid() == 0 else []), f"--user-data-dir={folder / 'profile'}"]
        log = (os.POSIX_SPAWN_OPEN, 2, str(folder / "log"), os.O_WRONLY | os.O_CREAT, 0o600)
        actions = [log, (os.POSIX_SPAWN_DUP2, ours[0], 3), (os.POSIX_SPAWN_DUP2, theirs[1], 4)]
        environment = {**os.environ, "HOME": str(folder)}
        command = [path, *flags, "about:blank"]
        self._pid = os.posix_spawn(path, command, environment, file_actions=actions, setsid=True)
        os.close(ours[0])
        os.close(theirs[1])
        self._out, self._in = ours[1], theirs[0]
        self._number = 0
        self._held = b""
        self._events: list[dict[str, Any]] = []

    def send(self, method: str, session: str | None = None, **parameters: Any) -> dict[str, Any]:
        """The result of a method of the protocol; what happens meanwhile is kept for :meth:`events`."""
        self._number += 1
        number = self._number
        message = {"id": number, "method": method, "params": parameters, **({"sessionId": session} if session else {})}
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._out, data) :]
        while (answer := self._next()).get("id") != number:
            self._events.append(answer)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        result: dict[str, Any] = answer["result"]
        return result

    def events(self, session: str) -> list[dict[str, Any]]:
        """The events of a session since the last call."""
        found = [event for event in self._events if event.get("sessionId") == session]
        self._events = [event for event in self._events if event.get("sessionId") != session]
        return found

    def wait(self, session: str, method: str) -> list[dict[str, Any]]:
        """Waits for an event; all that happened up to it."""
        while not any(event.get("sessionId") == session and event["method"] == method for event in self._events):
            self._events.append(self._next())
        return self.events(session)

    def _next(self) -> dict[str, Any]:
        ends = time.monotonic() + PATIENCE
        while b"\0" not in self._held:
            ready, _, _ = select.select([self._in], [], [], max(ends - time.monotonic(), 0))
            data = os.read(self._in, 1 << 20) if ready else b""
            if not data:
                raise RuntimeError("the browser does not answer" if not ready else "the browser has ended")
            self._held += data
        message, _, self._held = self._held.partition(b"\0")
        found: dict[str, Any] = json.loads(message)
        return found

    def close(self) -> None:
        """Ends the browser."""
        os.close(self._out)
        os.close(self._in)
        os.killpg(self._pid, signal.SIGKILL)  # a script may have started it
        os.waitpid(self._pid, 0)


class Page:
    """One page in a browser. ``errors``: what its console complained of; ``requests``: every address it asked for."""

    def __init__(self, browser: Browser, width: int = 1280, height: int = 900) -> None:
        self._browser = browser
        self._target = browser.send("Target.createTarget", url="about:blank")["targetId"]
        self._session = browser.send("Target.attachToTarget", targetId=self._target, flatten=True)["sessionId"]
        self._errors: list[str] = []
        self._requests: list[str] = []
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")
        self.resize(width, height)

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """The result of a method for this page."""
        return self._browser.send(method, self._session, **parameters)

    def resize(self, width: int, height: int = 900) -> None:
        """Gives the window another size, and waits until the page has been drawn for it: what it has open or shut
        by its width follows the event."""
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.run("new Promise(drawn => requestAnimationFrame(() => requestAnimationFrame(() => drawn(0))))")

    def prefer(self, scheme: str) -> None:
        """Pretends that the reader prefers "light" or "dark" colours."""
        self.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def open(self, path: Path) -> None:
        """Opens a file and waits until it is loaded."""
        self.send("Page.navigate", url=path.as_uri())
        self._note(self._browser.wait(self._session, "Page.loadEventFired"))

    def run(self, expression: str) -> Any:
        """The value of an expression of JavaScript in the page (a promise is waited for)."""
        done = self.send("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in done:
            raise RuntimeError(f"{expression}: {done['exceptionDetails']}")
        return done["result"].get("value")

    def press(self, key: str) -> None:
        """Presses one key."""
        codes = {"Enter": 13, "Tab": 9}
        text = {"text": "\r"} if key == "Enter" else {}
        for kind in ("keyDown", "keyUp"):
            more = text if kind == "keyDown" else {}
            self.send("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=codes[key], **more)

    def until(self, condition: str) -> None:
        """Waits until a condition of JavaScript holds."""
        ends = time.monotonic() + PATIENCE
        while not self.run(condition):
            if time.monotonic() > ends:
                raise RuntimeError(f"this does not come true: {condition}")
            time.sleep(0.02)

    def type(self, field: str, text: str) -> None:
        """Puts a text into the field with that id, as a reader who types or chooses it does."""
        self.run(
            f"(() => {{ const field = document.getElementById({json.dumps(field)}); field.value = {json.dumps(text)};"
            "for (const kind of ['input', 'change']) field.dispatchEvent(new Event(kind, {bubbles: true})); })()"
        )

    def click(self, selector: str) -> None:
        """Clicks on the first element of a selector."""
        self.run(
            f"document.querySelector({json.dumps(selector)}).dispatchEvent(new MouseEvent('click', {{bubbles: true}}))"
        )

    def text(self, selector: str) -> str:
        """The text of the first element of a selector."""
        said: str = self.run(f"document.querySelector({json.dumps(selector)}).innerText")
        return said

    def texts(self, selector: str) -> list[str]:
        """The text of each element of a selector."""
        said: list[str] = self.run(
            f"[...document.querySelectorAll({json.dumps(selector)})].map(one => one.textContent)"
        )
        return said

    def close(self) -> None:
        """Closes the page."""
        self._browser.send("Target.closeTarget", targetId=self._target)

    def shot(self) -> bytes:
        """A PNG of what the window shows."""
        return base64.b64decode(self.send("Page.captureScreenshot")["data"])

    @property
    def errors(self) -> list[str]:
        """Exceptions, errors and warnings so far."""
        self._note(self._browser.events(self._session))
        return self._errors

    @property
    def requests(self) -> list[str]:
        """Addresses that were asked for so far."""
        self._note(self._browser.events(self._session))
        return self._requests

    def _note(self, events: list[dict[str, Any]]) -> None:
        for event in events:
            method, values = event["method"], event["params"]
            if method == "Runtime.exceptionThrown":
                self._errors.append(json.dumps(values["exceptionDetails"]))
            elif method == "Runtime.consoleAPICalled":
                self._errors.append(json.dumps(values["args"]))
            elif method == "Log.entryAdded" and values["entry"]["level"] in ("error", "warning"):
                self._errors.append(values["entry"]["text"])
            elif method == "Network.requestWillBeSent":
                self._requests.append(values["request"]["url"])


def _pipe() -> tuple[int, int]:
    """A pipe whose ends are numbered above those that the browser gets."""
    ends = os.pipe()
    moved = tuple(fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 20) for end in ends)
    for end in ends:
        os.close(end)
    return moved[0], moved[1]
