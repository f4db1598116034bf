#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Recording on the virtual core against plain QEMU: the same program, in one run."""
import json
import os
import subprocess
import sys
import tempfile
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("O", os.path.join(TOP, "build"))
PESA = os.environ.get("PESA", os.path.join(BUILD, "bin/pesa"))
RUNS = 3  # of each recording, by turns; before each of them so many of plain QEMU, of which the fastest counts
PROGRAM = os.path.join(BUILD, "programs/bzip2-static")


class Run:
    """A program's time, seconds of processor, and peak memory in MB, with those that it started."""

    def __init__(self, words):
        start = time.monotonic()
        with subprocess.Popen(words, stdout=subprocess.DEVNULL) as process:
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        self.time = time.monotonic() - start
        self.processor = usage.ru_utime + usage.ru_stime
        self.memory = usage.ru_maxrss / 1024
        if process.returncode:
            sys.exit(f"{' '.join(words)}: exit status {process.returncode}")


def record(core, golden, guest):
    words = [PESA, "record", "-q", "-c", "10000", "--core", core, "--json=summary"]
    if golden:
        words += ["--golden", "golden.data"]
    run = Run([*words, "--", *guest])
    with open("summary", encoding="utf-8") as file:
        run.summary = json.load(file)
    run.size = os.path.getsize("perf.data")
    return run


def median(runs):
    return sorted(runs, key=lambda run: run.ratio)[len(runs) // 2]


if not os.path.exists(PROGRAM):
    subprocess.run([os.path.join(TOP, "tools/programs"), "-o", os.path.dirname(PROGRAM), "bzip2-static"], check=True,
                   stdout=subprocess.DEVNULL)
with tempfile.TemporaryDirectory() as work:
    os.chdir(work)
    with open("text", "wb") as out:
        for folder, _, names in sorted(os.walk(os.path.join(TOP, "decoder"))):
            for name in sorted(names):
                with open(os.path.join(folder, name), "rb") as file:
                    out.write(file.read())
        out.truncate(800000)
    with open("text", "rb") as text, open("less", "wb") as out:
        out.write(text.read(100000))
    guest = [PROGRAM, "-kc", "text"]
    cases = [(core, golden) for core in ("inorder-2", "ooo-4") for golden in (False, True)]
    recordings = {case: [] for case in cases}
    for _ in range(RUNS):
        for case in cases:
            plain = min((Run(["qemu-riscv64", *guest]) for _ in range(RUNS)), key=lambda run: run.time)
            run = record(*case, guest)
            run.plain, run.ratio = plain, run.time / plain.time
            recordings[case].append(run)
    for core, golden in cases:
        run = median(recordings[core, golden])
        least, most = (function(one.ratio for one in recordings[core, golden]) for function in (min, max))
        print(f"{core}{', golden reference' if golden else ''}: {run.time:.2f} s, {run.ratio:.0f} x plain QEMU's {run.plain.time:.2f} s "
              f"({least:.0f} to {most:.0f}), {run.summary['instructions'] / run.time / 1e6:.1f} million instructions/s; "
              f"{run.processor:.2f} s of processor, {run.processor / run.plain.processor:.0f} x; "
              f"{run.size / run.summary['samples']:.1f} bytes of file a sample; {run.memory:.0f} MB ({run.plain.memory:.0f})")
    # Memory does not grow with the time that the program runs.
    run = record("ooo-4", True, [PROGRAM, "-kc", "less"])
    print(f"ooo-4, golden reference, 100 KB of the input: {run.time:.2f} s, "
          f"{run.summary['instructions'] / 1e6:.0f} million instructions; {run.memory:.0f} MB")
sys.exit(0)
