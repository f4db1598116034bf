#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Subcommands beside the nearest command of perf 6.1, on the same recordings: CPython of the distribution on the virtual core
(flat, stripped, many distinct records), and a run of bzip2 with its samples repeated to 100,000 and to a million.  Last, the memory of
a report of many samples.

COMMANDS_ROUNDS is the number of runs; commands run by turns, and the best of each counts.  COMMANDS_MANY is the number of samples of
the last report.
"""
import os
import shutil
import subprocess
import tempfile

from recordings import PESA, REPEAT, build, cpython, figures, repeat, short_bzip2

ROUNDS = int(os.environ.get("COMMANDS_ROUNDS", "5"))
MANY = int(os.environ.get("COMMANDS_MANY", "100000000"))
OBJDUMP = "riscv64-linux-gnu-objdump"


def pairs(data):
    """What pesa does, and what of perf is nearest to it."""
    return [
        ("report", [PESA, "report", "-i", data], ["perf", "report", "--stdio", "-i", data]),
        ("annotate", [PESA, "annotate", "-i", data], ["perf", "annotate", "--stdio", "--objdump", OBJDUMP, "-i", data]),
        ("script", [PESA, "script", "-i", data], ["perf", "script", "-i", data]),
        ("export folded", [PESA, "export", "--format", "folded", "-o", "/dev/null", "-i", data], ["perf", "script", "-i", data]),
        ("diff", [PESA, "diff", data, data], ["perf", "diff", data, data]),
        ("topdown", [PESA, "topdown", "-i", data], ["perf", "report", "--stdio", "-i", data]),
    ]


def samples_of(data):
    """The number of samples, as text."""
    text = subprocess.run([PESA, "report", "--stdio", "-i", data], check=True, capture_output=True, text=True).stdout
    return next((line.strip() for line in text.splitlines() if " samples" in line), "")


build(REPEAT)
with tempfile.TemporaryDirectory(prefix="pesa-bench-") as work:
    os.chdir(work)
    short = short_bzip2(work)
    repeat(short, "bzip2-100000.data", 100000)
    repeat(short, "bzip2-1000000.data", 1000000)
    for recording in ("bzip2-100000.data", "bzip2-1000000.data", os.path.basename(cpython(work, 5100)), os.path.basename(cpython(work, 717))):
        print(f"{recording}: {samples_of(recording)}; best of {ROUNDS}")
        for name, pesa, perf in pairs(recording):
            runs = [(figures(*pesa), figures(*perf) if shutil.which("perf") else None) for _ in range(ROUNDS)]
            wall, processor = (min(one[0][k] for one in runs) for k in range(2))
            line = f"  {name}: {wall:.3f} s, {processor:.3f} s of processor"
            if runs[0][1]:
                their, their_processor = (min(one[1][k] for one in runs) for k in range(2))
                line += (f"; perf {perf[1]}: {their:.3f} s, {their_processor:.3f} s; ratio {their / wall:.1f} by time, "
                         f"{their_processor / processor:.1f} by processor")
            print(line, flush=True)
    repeat("cpython-5100.data", "many.data", MANY)
    wall, processor, memory = figures(PESA, "report", "-i", "many.data")
    print(f"report of {MANY} samples, those of cpython-5100.data repeated: {wall:.1f} s, {processor:.1f} s of processor, {memory:.0f} MB")
