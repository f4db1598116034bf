#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Speed of `pesa import` in lines per second, and time and memory by the length of the trace.

The trace is that of a small program on the virtual core, and the same trace in gem5's format.  Longer traces repeat it
IMPORT_TIMES times (10), through a pipe.
"""
import json
import os
import subprocess
import sys
import tempfile
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("O", os.path.join(TOP, "build"))
PESA = os.environ.get("PESA", os.path.join(BUILD, "bin/pesa"))
TIMES = int(os.environ.get("IMPORT_TIMES", "10"))
CROSS = "" if os.uname().machine == "riscv64" else "riscv64-linux-gnu-"


def measure(*words, times=0):
    """Wall seconds, processor seconds, peak MB, and the summary.  `times`: the trace so often on standard input."""
    source = None
    if times:
        source = subprocess.Popen(["sh", "-c", "cat trace.log; n=1; while [ $n -lt $1 ]; do tail -n +3 trace.log; "
                                   "n=$((n + 1)); done", "sh", str(times)], stdout=subprocess.PIPE)
    start = time.monotonic()
    with subprocess.Popen([PESA, "import", "-q", "--json=summary.json", "-c", "10000", "--golden", "golden.data", *words],
                          stdout=subprocess.DEVNULL, stdin=source and source.stdout) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"pesa import {' '.join(words)} ended with status {process.returncode}")
    with open("summary.json", encoding="utf-8") as file:
        return (time.monotonic() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, json.load(file))


def show(what, measured):
    wall, processor, peak, summary = measured
    lines = summary["lines"]
    print(f"{what}: {lines / 1e6:.1f} million lines, {summary['bytes'] / 1e6:.0f} MB, {wall:.2f} s "
          f"({processor:.2f} s of processor), {lines / wall / 1e6:.1f} million lines/s, {peak:.0f} MB of memory", flush=True)


def as_o3pipeview(source, target):
    """Seven lines for each instruction, in the order in which they retire."""
    with open(source, encoding="ascii") as log, open(target, "w", encoding="ascii") as out:
        now, begun = 0, {}
        for line in log:
            words = line.rstrip("\n").split("\t")
            if words[0] == "C":
                now += int(words[1])
            elif words[0] == "I":
                begun[words[1]] = [now]
            elif words[0] == "L" and words[2] == "0":
                begun[words[1]].append(words[3])
            elif words[0] == "S" and words[3] != "F":
                begun[words[1]].append(now)
            elif words[0] == "R" and words[3] == "0":
                fetch, text, dispatch, done, retired = begun.pop(words[1])
                address, text = text.split(":", 1)
                tick = [500 * (cycle + 10) for cycle in (fetch, dispatch, done, retired)]
                out.write(f"O3PipeView:fetch:{tick[0]}:0x{address}:0:{int(words[1]) + 1}:{text}\n"
                          f"O3PipeView:decode:{tick[0]}\nO3PipeView:rename:{tick[1]}\n"
                          f"O3PipeView:dispatch:{tick[1]}\nO3PipeView:issue:{tick[1]}\n"
                          f"O3PipeView:complete:{tick[2]}\nO3PipeView:retire:{tick[3]}:store:0\n")


with tempfile.TemporaryDirectory(prefix="pesa-bench-") as work:
    os.chdir(work)
    subprocess.run([CROSS + "gcc", "-O1", "-static", "-pthread", os.path.join(TOP, "tests/data/guest/guest.c"), "-o",
                    "guest"], check=True)
    subprocess.run([PESA, "record", "-q", "--pipeline-trace", "trace.log", "--", "./guest", "work", "1"], check=True,
                   stdout=subprocess.DEVNULL)
    show("kanata", min((measure("--elf", "guest", "trace.log") for _ in range(3)), key=lambda one: one[0]))
    show(f"kanata, {TIMES} times, from a pipe", measure("--elf", "guest", "-", times=TIMES))
    for suffix, pack in (("gz", ["gzip", "-1k"]), ("zst", ["zstd", "-q"]), ("xz", ["xz", "-1k"])):
        subprocess.run(pack + ["trace.log"], check=True)
        show("kanata, " + suffix, measure("--elf", "guest", "trace.log." + suffix))
    as_o3pipeview("trace.log", "trace.o3")
    show("o3pipeview", min((measure("--elf", "guest", "trace.o3") for _ in range(3)), key=lambda one: one[0]))
