# SPDX-License-Identifier: GPL-2.0-or-later
"""A program on a terminal: keys, what the screen shows, other sizes.  tmux is the terminal, and makes the pseudo-terminal."""
import os
import re
import shutil
import subprocess
import time

from tap import check

TMUX = shutil.which("tmux")
TIMEOUT = 30  # seconds that anything may take on a busy machine
KEPT = ("TERM", "TMPDIR", "LC_ALL", "NO_COLOR", "PATH", "PESA_PAGER", "ASAN_OPTIONS")  # variables that the program gets


class Terminal:
    """A command in a terminal of tmux; its messages are in the file `error`, and its status is shown when it has ended."""
    number = 0

    def __init__(self, *command, environment, width=110, height=24, term="tmux-256color", **more):
        Terminal.number += 1
        self.tmux = [TMUX, "-L", f"pesa{os.getpid()}-{Terminal.number}", "-f", "/dev/null"]
        settings = {**environment, **more, "TERM": term}
        line = " ".join(["env", "-u", "COLUMNS", "-u", "LINES"] + [f"'{name}={value}'" for name, value in settings.items() if name in KEPT]
                        + [*command, "2>error;", "echo", "status", "$?;", "sleep", "1000"])
        subprocess.run(self.tmux + ["new-session", "-d", "-x", str(width), "-y", str(height), line], check=True,
                       env={**environment, "TERM": "screen"})

    def screen(self, *options):
        return subprocess.run(self.tmux + ["capture-pane", "-p", *options], capture_output=True, text=True).stdout

    def wait(self, holds):
        """Wait for a condition and return the screen; after the time limit, return the last one."""
        deadline = time.monotonic() + TIMEOUT
        while True:
            screen = self.screen()
            if holds(screen) or time.monotonic() > deadline:
                return screen
            time.sleep(0.05)

    def see(self, what, *patterns):
        screen = self.wait(lambda screen: all(re.search(pattern, screen, re.M) for pattern in patterns))
        check(all(re.search(pattern, screen, re.M) for pattern in patterns), what, screen)
        return screen

    def keys(self, *keys):
        subprocess.run(self.tmux + ["send-keys", *keys], check=True)

    def resize(self, width, height):
        subprocess.run(self.tmux + ["resize-window", "-x", str(width), "-y", str(height)], check=True)

    def end(self):
        subprocess.run(self.tmux + ["kill-server"], capture_output=True)
