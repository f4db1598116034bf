#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A program that makes code at run time and writes a jitdump: each of its functions has its name, code, lines and cycles."""
import json
import os
import re
import shutil
import subprocess
import tempfile

from tap import TOP, PESA, GUEST_CC, bail_out, check, command, end, needs, plain_environment, skip

TURNS = 20000  # of each loop
SOURCE = os.path.join(TOP, "tests/data/guest/jitdump.c")
work = tempfile.mkdtemp(prefix="pesa-jitdump-")
os.chdir(work)
plain = plain_environment(work)
plain["HOME"] = work


def build(compiler, output, *options):
    made = subprocess.run([compiler, "-O1", "-g", *options, SOURCE, "-o", output], capture_output=True, text=True, check=False)
    if made.returncode:
        bail_out("cannot build the program:", made.stderr)


def report(path, *options):
    run = command(PESA, "report", "--json", "-i", path, *options, env=plain)
    try:
        return json.loads(run.stdout), run.stderr.decode()
    except ValueError as error:
        bail_out("no JSON:", error, run.stderr.decode())


def functions(path, *options):
    """Cycles (or nanoseconds) of each function that the program made, whatever it is in."""
    result, _ = report(path, *options)
    found = {}
    for row in result["functions"]:
        if row["dso"] == "//anon" or row["dso"].startswith("/") and "jitted-" in row["dso"]:
            found[row["symbol"]] = found.get(row["symbol"], 0) + row["cycles"]
    return found


def made_here(path, *options):
    result, _ = report(path, "--sort", "dso,symbol,insn", *options)
    return result, [row for row in result["instructions"] if row["dso"] == "//anon"]


# ---- On the virtual core

build(GUEST_CC, "program", "-static")
run = command(PESA, "record", "-q", "-c", "300", "-o", "perf.data", "--golden", "golden.data", "--", "./program", env=plain)
if run.returncode:
    bail_out("pesa record:", run.stderr.decode())
DUMP = run.stdout.decode().split()[0]
NAMES = {"adds": 1, "multiplies": 1, "mixes": 2}  # how often each loop ran
golden, rows = made_here("golden.data")
check(sum(golden["unattributed"].values()) == 0, "golden reference: every cycle is attributed", golden["unattributed"])
loops = {}
for row in rows:
    if row["executions"] == TURNS:
        loops[row["symbol"]] = loops.get(row["symbol"], 0) + 1
check(loops == {name: 3 * times for name, times in NAMES.items()} and {row["symbol"] for row in rows} == set(NAMES) and
      sum(row["executions"] for row in rows) == 4 * 3 * (TURNS + 1),
      "golden reference: each function has its own executions, also where another one was, and where it was moved to", rows)
sampled, found = made_here("perf.data")
check(sum(sampled["unattributed"].values()) == 0, "samples: every cycle is attributed", sampled["unattributed"])
for name in NAMES:
    exact, estimated = (sum(row["cycles"] for row in these if row["symbol"] == name) for these in (rows, found))
    check(abs(estimated - exact) < 0.05 * exact, f"samples of {name} agree with the golden reference", (estimated, exact))

LINES = {"adds": 11, "multiplies": 21, "mixes": 31}
for path in ("perf.data", "golden.data"):
    lines, problems = report(path, "--sort", "line")
    at = {row["line"]: row for row in lines["lines"] if row["file"] and row["file"].endswith("loops.source")}
    check(set(LINES.values()) <= set(at) and not problems, f"{path}: lines of the dump are reported, without a word", (lines["lines"], problems))
    text = command(PESA, "annotate", "-i", path, env=plain).stdout.decode()
    for name, instruction in (("adds", "addi    a1, a1, 3"), ("multiplies", "mul     a1, a1, a1"), ("mixes", "xor     a1, a1, a0")):
        part = re.search(rf"^{name}  in //anon\n(.*?)(?=^\S+  in |\Z)", text, re.M | re.S)
        check(part and instruction in part[1] and f"loops.source:{LINES[name]}" in part[1], f"{path}: annotate shows {name}, with its lines", text)
script = command(PESA, "script", "-i", "perf.data", env=plain).stdout.decode()
check(all(f" {name}+0x" in script for name in NAMES), "script names the functions", script[-2000:])
folded = command(PESA, "export", "-i", "perf.data", "--format", "folded", "-o", "-", env=plain).stdout.decode()
check(all(name in folded for name in NAMES), "export names the functions", folded)
top = command(PESA, "topdown", "-i", "perf.data", env=plain).stdout.decode()
check("mixes" in top and "loops.source" in top, "topdown names the functions", top)

# ---- It goes where the recording goes

names = functions("perf.data")
command(PESA, "archive", "-q", "-i", "perf.data", "-o", "perf.tar", env=plain)
os.rename(DUMP, "kept.dump")
missing, reported = report("perf.data")
check(DUMP in reported and reported.count("\n") == 1 and any(DUMP in problem for problem in missing["problems"]) and
      sum(missing["unattributed"].values()) == 0 and not set(NAMES) & {row["symbol"] for row in missing["functions"]},
      "without the dump there are no names, in a line", reported)
check(functions("perf.tar") == names and names.keys() == set(NAMES), "an archive has the dump", (names, functions("perf.tar")))


# ---- Dumps that somebody else may have put there


def refused(what):
    run = command(PESA, "report", "-i", "perf.data", env=plain)
    text = run.stderr.decode()
    check(run.returncode == 0 and text.count("\n") == 1 and DUMP in text and b"multiplies" not in run.stdout, f"{what} is refused, in a line", text)
    os.unlink(DUMP)


os.mkfifo(DUMP)
refused("a FIFO")
os.symlink("kept.dump", DUMP)
refused("a link")
with open(DUMP, "wb") as file:
    file.truncate(64 << 30)
refused("64 GB of nothing")
shutil.copy("kept.dump", DUMP)
if os.geteuid() == 0:
    os.chown(DUMP, 54321, 54321)
    refused("a dump of another user")
else:
    os.unlink(DUMP)
    skip("a dump of another user is refused", "needs root")
with open("kept.dump", "rb") as file:
    whole = file.read()
with open(DUMP, "wb") as file:
    file.write(whole[:4][::-1] + whole[4:])
refused("a dump of the other byte order")
with open(DUMP, "wb") as file:
    file.write(whole[:-30])
cut, reported = report("perf.data")
check("damaged, the rest is used" in reported and reported.count("\n") == 1 and "adds" in {row["symbol"] for row in cut["functions"]},
      "of a dump that is cut off the first part is used, the rest counted", reported)

# ---- perf inject --jit, on a recording of this machine


def recorded_here():
    """Whether perf could record the program, with the dump's clock."""
    build("cc", "native")
    run = command("perf", "record", "-q", "-k", "mono", "-e", "cpu-clock:u", "-F", "10000", "-o", "native.data", "./native", "20000000", env=plain)
    if run.returncode:
        return False
    run = command("perf", "inject", "--jit", "-i", "native.data", "-o", "injected.data", env=plain)
    return run.returncode == 0


if not shutil.which("perf") or not shutil.which("cc") or os.uname().machine != "x86_64":
    skip("names and samples are those of perf inject --jit", needs("linux-perf"))
elif not recorded_here():
    skip("names and samples are those of perf inject --jit", "perf cannot record here")
else:
    own = functions("native.data")
    run = command("perf", "report", "-i", "injected.data", "--stdio", "-F", "period,sym", "-q", env=plain)
    theirs = {name: int(count) for count, name in re.findall(r"^ *(\d+) +\[\.\] (\w+)", run.stdout.decode(), re.M) if name in NAMES}
    check(own == theirs and own.keys() == set(NAMES), "names and samples are those of perf inject --jit", (own, theirs, run.stderr.decode()))
    check(functions("injected.data") == theirs, "what perf inject --jit wrote is reported as well", functions("injected.data"))

os.chdir("/")
shutil.rmtree(work)
end()
