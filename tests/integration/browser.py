# SPDX-License-Identifier: GPL-2.0-or-later
"""Headless Chromium, driven over the DevTools protocol: load pages, send keys and clicks, read contents.

Messages are JSON objects, each ended by a zero byte, on descriptors 3 and 4 of the browser
(--remote-debugging-pipe), so no port is open.
"""
import base64
import fcntl
import json
import os
import select
import shutil
import signal
import subprocess
import time

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--mute-audio", "--hide-scrollbars",
         "--disable-background-networking", "--disable-component-update", "--disable-default-apps",
         "--disable-dev-shm-usage", "--disable-extensions", "--disable-sync", "--metrics-recording-only",
         "--remote-debugging-pipe")
TIMEOUT = 90    # seconds for anything, on a busy machine
KEYS = {"Enter": ("Enter", 13, "\r"), "Escape": ("Escape", 27, ""), "Tab": ("Tab", 9, ""), "ArrowUp": ("ArrowUp", 38, ""),
        "ArrowDown": ("ArrowDown", 40, ""), "ArrowLeft": ("ArrowLeft", 37, ""), "ArrowRight": ("ArrowRight", 39, ""),
        "Home": ("Home", 36, ""), " ": ("Space", 32, " "), "/": ("Slash", 191, "/"), "-": ("Minus", 189, "-"), "End": ("End", 35, "")}


class BrowserError(Exception):
    """The browser, or a script in it, has failed."""


class Browser:
    """One process of the browser, with a profile of its own below `work`."""

    def __init__(self, work):
        to_read, self.to_browser = os.pipe()
        self.from_browser, to_write = os.pipe()
        # Out of the way of 3 and 4.
        ends = [fcntl.fcntl(end, fcntl.F_DUPFD, 20) for end in (to_read, to_write)]
        os.close(to_read)
        os.close(to_write)

        def take_ends():
            os.dup2(ends[0], 3)
            os.dup2(ends[1], 4)

        self.log = open(os.path.join(work, "browser.log"), "wb")  # pylint: disable=consider-using-with
        self.process = subprocess.Popen(  # pylint: disable=consider-using-with,subprocess-popen-preexec-fn
            [CHROMIUM, *FLAGS, "--user-data-dir=" + os.path.join(work, "browser")], stdin=subprocess.DEVNULL,
            stdout=self.log, stderr=self.log, preexec_fn=take_ends, pass_fds=(3, 4), start_new_session=True)
        for end in ends:
            os.close(end)
        self.received, self.number, self.replies, self.pages = b"", 0, {}, {}

    def close(self):
        """End the browser and its children."""
        try:
            self.command("Browser.close")
            self.process.wait(20)
        except (BrowserError, OSError, subprocess.TimeoutExpired):
            pass
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        os.close(self.to_browser)
        os.close(self.from_browser)
        self.log.close()

    def receive(self, until):
        """Take messages until until() is true."""
        limit = time.monotonic() + TIMEOUT
        while not until():
            ready, _, _ = select.select([self.from_browser], [], [], max(0, limit - time.monotonic()))
            data = os.read(self.from_browser, 1 << 20) if ready else b""
            if not data:
                raise BrowserError("the browser " + ("ended" if ready else "does not answer"))
            self.received += data
            *messages, self.received = self.received.split(b"\0")
            for message in map(json.loads, messages):
                if "id" in message:
                    self.replies[message["id"]] = message
                elif message.get("sessionId") in self.pages:
                    self.pages[message["sessionId"]].take(message["method"], message["params"])

    def command(self, method, session=None, **parameters):
        """Send a request and wait for the answer."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.to_browser, data):]
        self.receive(lambda: self.number in self.replies)
        reply = self.replies.pop(self.number)
        if "error" in reply:
            raise BrowserError(f"{method}: {reply['error']['message']}")
        return reply["result"]


class Page:
    """A tab: `errors` has what its console and scripts complained of, `requests` what it asked for and was not refused by
    its own policy."""

    def __init__(self, browser):
        self.browser, self.errors, self.asked, self.loaded = browser, [], {}, False
        target = browser.command("Target.createTarget", url="about:blank")["targetId"]
        self.session = browser.command("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        browser.pages[self.session] = self
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.command(domain + ".enable")
        # A tab that is not in front has no focus: what it gave the focus to would not show it, whenever the browser is late.
        self.command("Emulation.setFocusEmulationEnabled", enabled=True)

    def command(self, method, **parameters):
        """Send a request about this page."""
        return self.browser.command(method, self.session, **parameters)

    @property
    def requests(self):
        """The URLs that were requested."""
        return list(self.asked.values())

    def take(self, method, parameters):
        """An event of the page."""
        if method == "Page.loadEventFired":
            self.loaded = True
        elif method == "Network.requestWillBeSent":
            self.asked[parameters["requestId"]] = parameters["request"]["url"]
        elif method == "Network.loadingFailed" and parameters.get("blockedReason") == "csp":
            self.asked.pop(parameters["requestId"], None)
        elif method == "Runtime.exceptionThrown":
            self.errors.append(json.dumps(parameters["exceptionDetails"])[:500])
        elif method == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning", "assert"):
            self.errors.append(json.dumps(parameters["args"])[:500])
        elif method == "Log.entryAdded" and parameters["entry"]["level"] in ("error", "warning"):
            self.errors.append(parameters["entry"]["text"])

    def open(self, path):
        """Load a file.  Returns the seconds that it took."""
        self.loaded, self.errors, self.asked = False, [], {}
        start = time.monotonic()
        answer = self.command("Page.navigate", url="file://" + os.path.abspath(path))
        if answer.get("errorText"):
            raise BrowserError(answer["errorText"])
        self.browser.receive(lambda: self.loaded)
        return time.monotonic() - start

    def evaluate(self, script):
        """The value of a JavaScript expression."""
        answer = self.command("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            raise BrowserError(f"{script}: " + details.get("exception", {}).get("description", details["text"]))
        return answer["result"].get("value")

    def text(self, selector):
        """The text of the first element that a selector names; None: there is none."""
        return self.evaluate(f"document.querySelector({json.dumps(selector)})?.textContent ?? null")

    def press(self, key, times=1):
        """Press and release a key."""
        code, number, typed = KEYS[key]
        for _ in range(times):
            self.command("Input.dispatchKeyEvent", type="keyDown" if typed else "rawKeyDown", key=key, code=code,
                         windowsVirtualKeyCode=number, text=typed)
            self.command("Input.dispatchKeyEvent", type="keyUp", key=key, code=code, windowsVirtualKeyCode=number)

    def type(self, text):
        """Type text into the focused element."""
        self.command("Input.insertText", text=text)

    def click(self, selector):
        """Click the left button in the middle of the visible part of an element."""
        where = self.evaluate(f"""(() => {{
            const box = document.querySelector({json.dumps(selector)});
            box.scrollIntoView({{block: "center"}});
            const edge = box.getBoundingClientRect();
            return [edge.left + Math.min(edge.width, innerWidth - edge.left) / 2, edge.top + edge.height / 2];
        }})()""")
        for kind in ("mousePressed", "mouseReleased"):
            self.command("Input.dispatchMouseEvent", type=kind, x=where[0], y=where[1], button="left", clickCount=1)

    def resize(self, width, height, phone=False):
        """Set the size of the viewport, in CSS pixels."""
        self.command("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=phone)

    def prefer(self, scheme):
        """"dark" or "light"."""
        self.command("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def screenshot(self, path):
        """A PNG image of the viewport."""
        data = self.command("Page.captureScreenshot", format="png")["data"]
        with open(path, "wb") as out:
            out.write(base64.b64decode(data))
