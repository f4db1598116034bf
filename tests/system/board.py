# SPDX-License-Identifier: GPL-2.0-or-later
"""What the system tests share: TAP, the board, bare programs."""
import json
import os
import subprocess
import sys
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
RUN = os.path.join(TOP, "tools/board/run")
BARE = os.path.join(TOP, "tests/system/bare")
CROSS = "" if os.uname().machine == "riscv64" else "riscv64-linux-gnu-"


class Tap:
    """Counts tests and prints them."""

    def __init__(self):
        self.number = 0
        self.bad = 0

    def check(self, holds, what, why=""):
        self.number += 1
        print("ok" if holds else "not ok", self.number, "-", what)
        if not holds:
            self.bad += 1
            for line in str(why).splitlines()[-30:]:
                print("#", line)
        sys.stdout.flush()
        return bool(holds)

    def adopt(self, text):
        """Take over the tests that a program on the board printed, and its plan."""
        planned = None
        seen = 0
        for line in text.splitlines():
            if line.startswith("1.."):
                planned = int(line[3:])
            elif line.startswith(("ok ", "not ok ")):
                seen += 1
                self.check(line.startswith("ok "), line.split(" - ", 1)[-1], line)
            elif line.startswith("#"):
                print(line)
        self.check(planned == seen and seen, "the program ran to its end", text)

    def end(self):
        print(f"1..{self.number}")
        sys.exit(1 if self.bad else 0)


def board(*words, limit=240, **keywords):
    """Run the board; status, output and error as subprocess.run has them."""
    return subprocess.run([RUN, "--time", str(limit), *words], capture_output=True, text=True, check=False,
                          errors="replace", stdin=subprocess.DEVNULL, **keywords)


def compiled(name, sources, *options):
    """A cross-compiled program in a directory of its own, removed when the test ends."""
    directory = tempfile.TemporaryDirectory(prefix="pesa-system-")
    compiled.directories.append(directory)
    program = os.path.join(directory.name, name)
    subprocess.run([f"{CROSS}gcc", "-O2", "-g", "-Wall", "-Wextra", f"-I{TOP}/include", *options, "-o", program,
                    *sources], check=True)
    return program


compiled.directories = []


def bare_program(name, *options):
    return compiled(name, [f"{BARE}/start.S", f"{BARE}/{name}.c"], "-march=rv64gc", "-mabi=lp64d",
                    "-mcmodel=medany", "-ffreestanding", "-nostdlib", "-nostartfiles", "-static", "-no-pie",
                    "-fno-pic", f"-I{BARE}", f"-Wl,--build-id=none,-T,{BARE}/bare.ld", "-Wl,-z,noexecstack", *options)


def bare(name, *words, options=()):
    """Run a bare program; its output and the counts of the device."""
    program = bare_program(name, *options)
    counts = program + ".counts"
    done = board("--bare", program, "--harts", "1", "--counts", counts, *words, limit=60)
    device = None
    if os.path.exists(counts):
        with open(counts, encoding="utf-8") as file:
            device = json.load(file)
    return done, device
