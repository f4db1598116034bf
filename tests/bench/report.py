#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Samples a second of `pesa report` beside `perf report --stdio` on the same recording, and how time and
memory grow from 1 to 10 million samples.

The recording is a real one (bzip2 on the virtual core), its samples repeated.  REPORT_SAMPLES and
REPORT_ROUNDS change the sizes.
"""
import os
import shutil
import subprocess
import sys
import tempfile
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("O", os.path.join(TOP, "build"))
PESA = os.environ.get("PESA", os.path.join(BUILD, "bin/pesa"))
REPEAT = os.path.join(BUILD, "tests/tools/repeat_recording")
SAMPLES = int(os.environ.get("REPORT_SAMPLES", "1000000"))
ROUNDS = int(os.environ.get("REPORT_ROUNDS", "5"))


def measure(command):
    """Wall seconds, processor seconds, peak MB."""
    start = time.monotonic()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{' '.join(command)} ended with status {process.returncode}")
    return time.monotonic() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def best(commands):
    """The best of several rounds of each command, the commands taking turns."""
    results = [[measure(command) for command in commands] for _ in range(ROUNDS)]
    return [tuple(min(one[i][k] for one in results) for k in range(3)) for i in range(len(commands))]


subprocess.run(["make", "-s", "-C", TOP, f"O={BUILD}", REPEAT], check=True)
subprocess.run([os.path.join(TOP, "tools/programs"), "-o", os.path.join(BUILD, "programs"), "bzip2"], check=True,
               stdout=subprocess.DEVNULL)
with tempfile.TemporaryDirectory(prefix="pesa-bench-") as work:
    os.chdir(work)
    with open(PESA, "rb") as file, open("input", "wb") as out:
        out.write(file.read(200000))
    subprocess.run([PESA, "record", "-q", "-c", "300", "-o", "short.data", "--", os.path.join(BUILD, "programs/bzip2"),
                    "-kf9", "input"], check=True)
    for what, compression in (("uncompressed", "0"), ("compressed", "3")):
        subprocess.run([REPEAT, "short.data", "long.data", str(SAMPLES), compression], check=True)
        size = os.path.getsize("long.data") / SAMPLES
        pesa = [PESA, "report", "-i", "long.data"]
        perf = ["perf", "report", "--stdio", "-i", "long.data"]
        print(f"{SAMPLES} samples, {what}, {size:.1f} bytes each; best of {ROUNDS}:")
        results = best([pesa, perf] if shutil.which("perf") else [pesa])
        for name, (wall, processor, memory) in zip(("pesa report", "perf report"), results):
            print(f"  {name}: {wall:.3f} s, {processor:.3f} s of processor, {SAMPLES / wall / 1e6:.2f} million samples/s, "
                  f"{memory:.0f} MB")
        if len(results) == 2:
            print(f"  ratio: {results[1][0] / results[0][0]:.1f} by time, {results[1][1] / results[0][1]:.1f} by processor")
        if compression == "3":
            subprocess.run([REPEAT, "short.data", "longer.data", str(SAMPLES * 10), compression], check=True)
            wall, processor, memory = measure([PESA, "report", "-i", "longer.data"])
            print(f"  10 times as many: {wall:.3f} s ({wall / results[0][0]:.1f} times), {memory:.0f} MB")
