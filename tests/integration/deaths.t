#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Guests that are killed by a signal on the virtual core: the profile has their last instructions."""
import json
import os
import subprocess
import tempfile

from tap import TOP, PESA, GUEST_CC, bail_out, check, end, records

DATA = os.path.join(TOP, "tests/data/guest")
TURNS = 100003
LOAD, STORE, ILLEGAL, BREAK, JUMP, SIGNAL, MIDDLE = range(1, 8)

work = tempfile.mkdtemp(prefix="pesa-deaths-")
os.chdir(work)
environment = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C"}


def build(output, source, *words):
    made = subprocess.run([GUEST_CC, "-g", "-static", *words, os.path.join(DATA, source), "-o", output],
                          capture_output=True, text=True, check=False)
    if made.returncode:
        bail_out("cannot build the guest program:", made.stderr)


class Run:
    def __init__(self, *guest, prefix=()):
        for name in ("perf.data", "golden.data", "summary"):
            if os.path.exists(name):
                os.unlink(name)
        self.done = subprocess.run([*prefix, PESA, "record", "-q", "-c", "1000", "--golden", "golden.data",
                                    "--json=summary", "--", *guest], capture_output=True, timeout=120,
                                   env=environment, check=False)
        with open("summary", encoding="utf-8") as file:
            self.summary = json.load(file)
        self.golden = records("golden.data")

    def conserved(self):
        return (self.summary["golden_cycles"] == self.summary["cycles"] > 0 and not self.summary["golden_lost"]
                and self.summary["golden_executions"] == self.summary["instructions"])


# With the pipeline on another CPU of the host, and without.
for prefix, where in (((), ""), (("taskset", "-c", "0"), ", on one processor")):
    for death, number, after, status, what in (
            (LOAD, 0, 0, 139, "a load"), (STORE, 0, 0, 139, "a store"), (ILLEGAL, 0, 0, 132, "an illegal instruction"),
            (BREAK, 0, 0, 133, "ebreak"), (JUMP, 0, 1, 139, "a jump to nowhere"),
            (SIGNAL, 6, 5, 134, "SIGABRT"), (SIGNAL, 15, 5, 143, "SIGTERM"),
            (MIDDLE, 0, 4, 139, "a load within straight-line code")):
        build("dies", "deaths.S", "-nostdlib", f"-DTURNS={TURNS}", f"-DDEATH={death}", f"-DNUMBER={number}")
        run = Run("./dies", prefix=prefix)
        check(run.done.returncode == status and run.conserved()
              and run.summary["instructions"] == 2 * TURNS + 2 + after,
              f"death by {what}: each instruction before it is in the profile{where}",
              (run.done, run.summary, 2 * TURNS + 2 + after))
        said = run.done.stderr.decode()
        check(said.count("was killed by signal") == (number != 15) and ("choose one with --cpu" in said) == (death == ILLEGAL),
              f"death by {what}: a line says so if it was a fault{where}", said)

build("dies", "deaths.S", "-nostdlib", f"-DTURNS={TURNS}", "-DDEATH=6", "-DNUMBER=9")
run = Run("./dies")
check(run.done.returncode == 137 and run.conserved() and run.summary["instructions"] == 2 * TURNS + 2 + 5,
      "death by SIGKILL of its own, likewise", (run.done, run.summary))

build("guest", "guest.c", "-O1", "-pthread")
runs = [Run("./guest", "crash-thread") for _ in range(3)]
check(all(run.done.returncode == 139 and run.conserved() for run in runs)
      and all(run.golden == runs[0].golden for run in runs),
      "a thread that faults while others run: two runs are the same run",
      [(run.done, run.summary["instructions"]) for run in runs])
row = [one for one in runs[0].golden if one.get("symbol") == "fall"]
check(row, "and the instruction that it stood at is in the profile")

os.chdir("/")
subprocess.run(["rm", "-rf", work], check=False)
end()
