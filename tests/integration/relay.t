#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The virtual core on one CPU of the host and on two, where the pipeline has its own thread, gives the same samples, golden
reference and counts, for programs with JIT code, vectors, signal handlers, renamed threads, and abnormal ends."""
import json
import os
import subprocess
import tempfile

from tap import GUEST_CC, PESA, TOP, bail_out, check, end, plain_environment, records, skip

work = tempfile.mkdtemp(prefix="pesa-relay-")
os.chdir(work)
processors = sorted(os.sched_getaffinity(0))
made = subprocess.run([GUEST_CC, "-O1", "-g", "-static", "-pthread", "-march=rv64gc",
                       os.path.join(TOP, "tests/data/guest/guest.c"), "-o", "guest"], capture_output=True, text=True)
if made.returncode:
    bail_out("cannot build the guest program:", made.stderr)


def record(core, allowed, *guest):
    done = subprocess.run([PESA, "record", "-q", "-c", "700", "-o", "perf.data", "--golden", "golden.data",
                           "--json=summary", "--core", core, "--cpu", "rv64,v=true", "--", "./guest", *guest],
                          capture_output=True, timeout=120, env=plain_environment(work), check=False,
                          preexec_fn=lambda: os.sched_setaffinity(0, allowed))
    with open("summary", encoding="utf-8") as file:
        summary = json.load(file)
    for hart in summary["harts"]:
        del hart["pid"], hart["tid"]
    return done.returncode, done.stdout, summary, records("perf.data"), records("golden.data")


for core, *guest in (("ooo-4", "work", "3"), ("inorder-2", "work", "1"), ("ooo-8", "generated", "3"), ("ooo-4", "vector"),
                     ("ooo-3", "handlers"), ("ooo-4", "rename", "other"), ("ooo-4", "exit", "3"), ("ooo-4", "crash"),
                     ("ooo-4", "illegal")):
    name = f"{core}: {' '.join(guest)}"
    if len(processors) < 2:
        skip(name, "one processor")
        continue
    one, two = record(core, processors[:1], *guest), record(core, processors[:2], *guest)
    check(one[:3] == two[:3], f"{name}: the same end and the same counts", (one[:3], two[:3]))
    check(one[3] == two[3] and len(one[3]) > 10, f"{name}: the same {len(one[3])} records",
          next((pair for pair in zip(one[3], two[3]) if pair[0] != pair[1]), "one is longer"))
    check(one[4] == two[4] and len(one[4]) > 10, f"{name}: the same golden reference",
          next((pair for pair in zip(one[4], two[4]) if pair[0] != pair[1]), "one is longer"))
end()
