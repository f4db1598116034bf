#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Code that a program makes at run time, on the virtual core: the code is recorded, so every cycle is attributed to an instruction."""
import json
import os
import re
import shutil
import subprocess
import tempfile

from tap import TOP, PESA, GUEST_CC, bail_out, check, command, end, needs, plain_environment, records, skip

TURNS = 20000  # of each loop
PERF = shutil.which("perf")
work = tempfile.mkdtemp(prefix="pesa-jit-")
os.chdir(work)
plain = plain_environment(work)
made = subprocess.run([GUEST_CC, "-O1", "-g", "-static", os.path.join(TOP, "tests/data/guest/jit.c"), "-o", "jit"],
                      capture_output=True, text=True, check=False)
if made.returncode:
    bail_out("cannot build the guest program:", made.stderr)


def record(*words, prefix=()):
    run = command(*prefix, PESA, "record", "-q", "-c", "300", "-o", "perf.data", "--golden", "golden.data", "--", *words, env=plain)
    if run.returncode:
        bail_out("pesa record:", run.stderr.decode())
    return run.stdout.decode()


def loops(path, *options):
    """Of each instruction that the program made: how often it was executed, and its cycles."""
    run = command(PESA, "report", "--json", "--sort", "dso,symbol,insn", "-i", path, *options, env=plain)
    try:
        result = json.loads(run.stdout)
    except ValueError as error:
        bail_out("no JSON:", error, run.stderr.decode())
    return result, [row for row in result["instructions"] if row["dso"] == "//anon"]


def annotate(path):
    return command(PESA, "annotate", "-i", path, env=plain).stdout.decode()


LOOPS = ("addi    a1, a1, 3", "mul     a1, a1, a1", "xor     a1, a1, a0")
kept = {}
for prefix, where in (((), ""), (("taskset", "-c", "0"), ", on one processor")):
    printed = record("./jit", prefix=prefix)
    address = int(printed.split()[0], 16)
    # What follows the loop is the same code in all versions.
    golden, rows = loops("golden.data")
    check(sum(golden["unattributed"].values()) == 0, f"golden reference: every cycle is attributed{where}", golden["unattributed"])
    check(sorted(row["executions"] for row in rows) == [1] * 3 + [3] * 2 + [TURNS] * 9 and {row["address"] - address for row in rows} == set(range(0, 24, 4)),
          f"golden reference: each version of the code has its own executions{where}", rows)
    sampled, found = loops("perf.data")
    check(sum(sampled["unattributed"].values()) == 0, f"samples: every cycle is attributed{where}", sampled["unattributed"])
    exact, estimated = (sum(row["cycles"] for row in these) for these in (rows, found))
    check(exact > 0.4 * golden["cycles"] and abs(estimated - exact) < 0.05 * exact, f"samples and golden reference agree{where}",
          (estimated, exact, golden["cycles"]))
    for path in ("perf.data", "golden.data"):
        text = annotate(path)
        check(all(loop in text for loop in LOOPS) and "in //anon" in text, f"annotate shows the three loops of {path}{where}", text)
    kept[where] = [records(path) for path in ("perf.data", "golden.data")]
check(len(set(map(json.dumps, kept.values()))) == 1, "on one processor the recordings are the same")

if PERF:
    for path in ("perf.data", "golden.data"):
        for words in (("report", "--stdio"), ("script",)):
            run = command(PERF, *words, "-i", path, env=plain)
            check(run.returncode == 0 and not run.stderr and run.stdout, f"perf {words[0]} reads {path} without a warning", run.stderr.decode())
else:
    skip("perf reads the files", needs("linux-perf"))

said = command(PESA, "report", "--stdio", "-i", "perf.data", env=plain).stdout.decode()
check(re.search(r"^note: code made at run time has no names: /tmp/perf-\d+\.map: .*let its compiler write it, as node", said, re.M),
      "a note says where names would come from", said)

# ---- The code goes where the recording goes

os.rename("perf.data", "first.data")
record("./jit")
command(PESA, "merge", "-q", "-o", "merged.data", "first.data", "perf.data", env=plain)
one, before = loops("first.data")
both, after = loops("merged.data")
check(sum(both["unattributed"].values()) == 0 and both["cycles"] == one["cycles"] + sampled["cycles"] and len(after) == 2 * len(before) > 0,
      "a merged file has the code of both recordings", (both["unattributed"], len(before), len(after)))
command(PESA, "archive", "-q", "-i", "first.data", "-o", "first.tar", env=plain)
os.unlink("jit")
packed, rows = loops("first.tar")
check(sum(packed["unattributed"].values()) == 0 and rows == before, "an archive has the code", packed["unattributed"])

os.chdir("/")
shutil.rmtree(work)
end()
