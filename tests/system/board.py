# SPDX-License-Identifier: GPL-2.0-or-later
"""What the system tests share: the board, bare programs, and TAP as the integration tests have it."""
import json
import os
import subprocess
import sys
import tempfile

sys.path.append(os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "integration"))
import tap  # noqa: E402
from tap import CROSS, TOP  # noqa: E402

RUN = os.path.join(TOP, "tools/board/run")
BARE = os.path.join(TOP, "tests/system/bare")


def board(*words, limit=240, **keywords):
    """Run the board; status, output and error as subprocess.run has them.  BOARD_PATIENCE multiplies the time limit,
    for machines that have much else to do."""
    limit *= float(os.environ.get("BOARD_PATIENCE", "1"))
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
