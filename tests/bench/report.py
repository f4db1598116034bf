#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Samples per second of `pesa report`, compared with `perf report --stdio` on the same recording, and time
and memory for 1 to 10 million samples.

The recording is a run of bzip2 on the virtual core, with its samples repeated.  REPORT_SAMPLES is the number of
samples, REPORT_ROUNDS the number of runs.
"""
import os
import shutil
import tempfile

from recordings import PESA, REPEAT, build, figures, repeat, short_bzip2

SAMPLES = int(os.environ.get("REPORT_SAMPLES", "1000000"))
ROUNDS = int(os.environ.get("REPORT_ROUNDS", "5"))


def best(commands):
    """Run all commands in several rounds, and return the best figures of each command."""
    results = [[figures(*command) for command in commands] for _ in range(ROUNDS)]
    return [tuple(min(one[i][k] for one in results) for k in range(3)) for i in range(len(commands))]


build(REPEAT)
with tempfile.TemporaryDirectory(prefix="pesa-bench-") as work:
    os.chdir(work)
    short = short_bzip2(work)
    for what, compression in (("uncompressed", "0"), ("compressed", "3")):
        repeat(short, "long.data", SAMPLES, compression)
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
            repeat(short, "longer.data", SAMPLES * 10, compression)
            wall, processor, memory = figures(PESA, "report", "-i", "longer.data")
            print(f"  10 times as many: {wall:.3f} s ({wall / results[0][0]:.1f} times), {memory:.0f} MB")
