#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Threads on the virtual core: the deterministic thread scheduler orders them by model time, so that two runs are equal."""
import json
import os
import shutil
import subprocess
import tempfile

from tap import TOP, PESA, GUEST_CC, bail_out, check, end, records

ROUNDS = int(os.environ.get("PESA_TURNS_ROUNDS", "200"))


work = tempfile.mkdtemp(prefix="pesa-turns-")
os.chdir(work)
environment = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C"}
made = subprocess.run([GUEST_CC, "-O1", "-g", "-static", "-pthread", os.path.join(TOP, "tests/data/guest/turns.c"), "-o",
                       "turns"], capture_output=True, text=True)
if made.returncode:
    bail_out("cannot build the guest program:", made.stderr)


class Run:
    def __init__(self, core, *guest, **more):
        self.done = subprocess.run([PESA, "record", "-q", "-c", "1000", "-o", "perf.data", "--golden", "golden.data",
                                    "--json=summary", "--core", core, "--", "./turns", *map(str, guest)],
                                   capture_output=True, timeout=120, env={**environment, **more}, check=False)
        with open("summary", encoding="utf-8") as file:
            self.summary = json.load(file)
        self.harts = [{key: value for key, value in hart.items() if key not in ("pid", "tid")}
                      for hart in self.summary["harts"]]
        self.samples, self.golden = records("perf.data"), records("golden.data")

    def __eq__(self, other):
        return (self.done.stdout, self.harts, self.samples, self.golden) == (
            other.done.stdout, other.harts, other.samples, other.golden)


def difference(first, second):
    """The differences between two runs, one line each."""
    lines = [f"{name}: {one} and {other}" for name, one, other in (
        ("output", first.done.stdout, second.done.stdout), ("harts", first.harts, second.harts),
        ("samples", len(first.samples), len(second.samples)),
        ("exact records", len(first.golden), len(second.golden))) if one != other]
    for name, one, other in (("sample", first.samples, second.samples), ("exact record", first.golden, second.golden)):
        lines += [f"{name} {place}: {pair[0]} and {pair[1]}" for place, pair in enumerate(zip(one, other))
                  if pair[0] != pair[1]][:3]
    return "\n".join(lines)


def conserved(summary):
    return (summary["golden_cycles"] == summary["cycles"] > 0 and summary["golden_lost"] == 0
            and summary["golden_executions"] == summary["instructions"])


# The output of a run shows the order of the threads.
for core, mode, threads, rounds in (("ooo-4", "queue", 4, ROUNDS), ("ooo-4", "mutex", 8, ROUNDS),
                                    ("inorder-2", "mutex", 3, ROUNDS), ("ooo-4", "barrier", 4, ROUNDS),
                                    ("ooo-8", "barrier", 4, ROUNDS // 4), ("ooo-3", "spin", 3, ROUNDS // 4)):
    first, second = Run(core, mode, threads, rounds), Run(core, mode, threads, rounds)
    name = f"{core}: {mode}, {threads} threads"
    check(first.done.returncode == 0 and len(first.harts) == threads + 1 and len(first.golden) > 100
          and conserved(first.summary), f"{name}: each is a hart, all cycles accounted", first.summary)
    check(first == second, f"{name}: two runs have the same samples and the same golden reference",
          difference(first, second))
    check(first.summary["forced_turns"] == second.summary["forced_turns"] == 0, f"{name}: no wait for a thread was given up",
          (first.summary, second.summary))

# A thread that sleeps on a lock of the host has not yielded to the others.
made = subprocess.run(["cc", "-O1", "-shared", "-fPIC", os.path.join(TOP, "tests/data/host/slow_locks.c"), "-o",
                       "slow_locks.so"], capture_output=True, text=True)
if made.returncode:
    bail_out("cannot build what makes locks slow:", made.stderr)
for mode, threads in (("queue", 4), ("mutex", 8)):
    first, second = (Run("ooo-4", mode, threads, ROUNDS // 4, LD_PRELOAD=os.path.abspath("slow_locks.so"), SLOW_LOCKS=most)
                     for most in ("00000", "20000"))
    check(first == second, f"{mode}: a run whose threads fall asleep at locks of the host is the same run",
          difference(first, second))

# A thread that sleeps in a system call which the model cannot follow yields, and all threads complete.
run = Run("ooo-4", "pipe", 4, ROUNDS)
check(run.done.returncode == 0 and conserved(run.summary), "threads that wait for each other through a pipe end", run.summary)


def misses(mode):
    subprocess.run([PESA, "stat", "-e", "CACHE.L1D.RD.DATA.MISS,CACHE.L1D.WR.MISS", "--json=counts", "--",
                           "./turns", mode, "4", "20000"], capture_output=True, timeout=120, env=environment, check=True)
    with open("counts", encoding="utf-8") as file:
        return sum(event["value"] for event in json.load(file)["events"])


apart, together = misses("apart"), misses("together")
check(together > apart + 100, "a line that four threads write is taken from them again and again",
      f"{apart} misses in lines of their own, {together} in one line")

shutil.rmtree(work)
end()
