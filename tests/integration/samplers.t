#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The samples that simpler hardware would have taken: several samplers in one run, each as an event of the same file.

The programs are loops for which the attribution of cycles, and the instructions that retire or dispatch near them, are known.
"""
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time

from tap import TOP, PESA, GUEST_CC, bail_out, check, command, end, needs, plain_environment, skip

NAMES = {"shpms": "pesa/cycles/", "lcofi": "pesa/lcofi/", "last-commit": "pesa/last-commit/",
         "next-commit": "pesa/next-commit/", "dispatch": "pesa/dispatch/"}
ALL = ",".join(NAMES)


work = tempfile.mkdtemp(prefix="pesa-samplers-")
os.chdir(work)
plain = plain_environment(work)

# Each iteration waits for a division.  Behind it come many additions, which are done by then: dispatch stops
# among those of a later iteration, where the reorder buffer is full.
DIVIDE = """
	.option norvc
	.globl _start
_start:	li s0, 20000
	li a0, 1
	li a1, 1
	.balign 64
1:	.globl before
before:	add a2, a1, a1
	.globl divide
divide:	div a0, a0, a1
	.globl after
after:	.rept 20
	add a3, a1, a1
	.endr
	addi s0, s0, -1
	bnez s0, 1b
	li a0, 0
	li a7, 93
	ecall
"""


def build():
    with open("divide.s", "w", encoding="ascii") as out:
        out.write(DIVIDE)
    for words in ([GUEST_CC, "-O1", "-g", "-static", "-pthread", os.path.join(TOP, "tests/data/guest/guest.c"), "-o",
                   "guest"], [GUEST_CC, "-static", "-nostdlib", "divide.s", "-o", "divide"]):
        made = command(*words)
        if made.returncode:
            bail_out("cannot build the guest programs:", made.stderr.decode())


def record(*words, samplers=ALL):
    for name in ("summary.json", "perf.data", "golden.data"):
        if os.path.exists(name):
            os.unlink(name)
    run = command(PESA, "record", "-q", "--sampler", samplers, "--golden", "golden.data", "--json=summary.json", *words,
                  env=plain)
    run.summary = {}
    if os.path.exists("summary.json"):
        with open("summary.json", encoding="utf-8") as file:
            run.summary = json.load(file)
    return run


def shares(event):
    """Share of each symbol, by the address that samples name."""
    shown = json.loads(command(PESA, "report", "--json", "--event", event).stdout)
    return {one["symbol"]: one["share"] for one in shown["functions"]}


def counts(path="perf.data"):
    """Samples of each event."""
    shown = command(PESA, "script", "--json", "-i", path)
    events = [json.loads(line)["event"] for line in shown.stdout.decode().splitlines()]
    return {event: events.count(event) for event in set(events)}


build()

# ---- Where the samples go --------------------------------------------------------------------
run = record("--core", "ooo-4", "-c", "500", "--", "./divide")
seen = {name: shares(event) for name, event in NAMES.items()}
check(seen["shpms"].get("divide", 0) > 0.55, "shpms: the cycles are the division's", seen["shpms"])
check(seen["next-commit"].get("divide", 0) > 0.55, "next-commit: the division retires next while it is waited for",
      seen["next-commit"])
check(seen["last-commit"].get("before", 0) > 0.55 and seen["last-commit"].get("divide", 0) < 0.05,
      "last-commit: the instruction before it has retired last", seen["last-commit"])
for name in ("dispatch", "lcofi"):
    check(seen[name].get("after", 0) > 0.9, f"{name}: what enters the pipeline is behind what fills it", seen[name])
for name, event in NAMES.items():
    reported = json.loads(command(PESA, "report", "--json", "--event", event).stdout)
    check(reported["samples"] and reported["skidding_samples"] == (0 if name == "shpms" else reported["samples"]),
          f"{name}: the PC is exact only where hardware would say so", (reported["samples"], reported["skidding_samples"]))
got = counts()
check(set(got) == set(NAMES.values()) and len({got[event] - got["pesa/cycles/"] for event in got} | {0, -1, -2}) <= 3
      and got["pesa/cycles/"] > 500, "every sampler takes the same cycles", got)
check(run.summary["samples"] == sum(got.values()) and
      run.summary["samples"] + run.summary["unfinished"] == 5 * got["pesa/cycles/"],
      "samples, and those without an instruction, are counted", run.summary)

alone = record("-c", "500", "--", "./divide", samplers="shpms")
only = command(PESA, "report", "--json").stdout
record("-c", "500", "--", "./divide")
together = command(PESA, "report", "--json").stdout
check(json.loads(only)["functions"] == json.loads(together)["functions"],
      "shpms is the default event, and the same without the others")

# ---- Tools -----------------------------------------------------------------------------------
for name, event in NAMES.items():
    for words in (["report"], ["annotate", "divide"], ["script"], ["error", "--golden", "golden.data"]):
        shown = command(PESA, *words, "--event", event) if words[0] != "script" else command(PESA, *words)
        check(shown.returncode == 0 and not shown.stderr and shown.stdout, f"{name}: pesa {words[0]} reads it", shown)
    error = json.loads(command(PESA, "error", "--json", "--golden", "golden.data", "--event", event).stdout)
    level = {"shpms": "stack", "dispatch": "causes"}.get(name, "instruction")
    check(error["level"] == level and 0 <= error["instruction"]["error"] <= 1
          and (level == "instruction") == ("causes" not in error),
          f"{name}: the error is by what its samples tell: {level}", error)
    if name == "shpms":
        check(error["error"] <= 1.3 * error["floor"], "shpms: it is that of random sampling", error)
shown = command(PESA, "report", "--event", "pesa/nothing/")
check(shown.returncode == 1 and all(event.encode() in shown.stderr for event in NAMES.values()),
      "an event that is not there: the file's events are named", shown)
shown = command(PESA, "report", "--event", "pesa/last-commit/").stdout
check(b"by their PC alone" in shown, "that samples have no details is said", shown)
record("-c", "300", "--", "./guest", "work", "2")
tagged = [json.loads(line) for line in command(PESA, "script", "--json").stdout.decode().splitlines()]
tagged = [one for one in tagged if one["event"] == "pesa/dispatch/"]
check(any("mispredict" in one["causes"] for one in tagged) and any(not one["causes"] for one in tagged)
      and not any("state" in one for one in tagged), "dispatch: samples have the causes met, and no state", tagged[:3])
perf = shutil.which("perf")
if not perf:
    skip("stock perf", needs("linux-perf"))
else:
    listed = command(perf, "evlist", env=plain)
    check(listed.stdout.decode().split() == list(NAMES.values()), "perf evlist shows the events", listed)
    shown = command(perf, "report", "--stdio", env=plain)
    check(shown.returncode == 0 and not shown.stderr and
          all(f"of event '{event}'".encode() in shown.stdout for event in NAMES.values()),
          "perf report reads the file without a warning", (shown.stdout[:500], shown.stderr))

# ---- Ends ------------------------------------------------------------------------------------


def readable(what, run, status, least=30):
    summary = run.summary
    got = counts()
    golden = json.loads(command(PESA, "report", "--json", "-i", "golden.data").stdout or b"{}")
    check(run.returncode == status and summary.get("cycles") == summary.get("golden_cycles", -1)
          and abs(golden.get("cycles", 0) - summary["cycles"]) < 1 and set(got) == set(NAMES.values())
          and min(got.values()) > least and max(got.values()) - min(got.values()) <= 4, what,
          f"{run} {summary} {got}")


for guest, status in ((["crash"], 139), (["illegal"], 132), (["signal", "9"], 137), (["signal", "15"], 143),
                      (["handlers"], 0), (["fork", "2"], 0)):
    readable(f"guest {' '.join(guest)}: every event and the golden reference are complete",
             record("-c", "300", "--", "./guest", *guest), status)

for how in (signal.SIGINT, signal.SIGTERM):
    spinning = subprocess.Popen([PESA, "record", "-q", "-c", "1000", "--sampler", ALL, "--golden", "golden.data",
                                 "--json=summary.json", "--", "./guest", "spin"], stdout=subprocess.PIPE, env=plain,
                                start_new_session=True)
    spinning.stdout.readline()
    time.sleep(0.3)
    os.kill(spinning.pid, how)
    spinning.returncode = spinning.wait(timeout=60)
    with open("summary.json", encoding="utf-8") as file:
        spinning.summary = json.load(file)
    readable(f"{how.name}: every event and the golden reference are complete", spinning, 128 + how)

os.mkdir("small")
if command("mount", "-t", "tmpfs", "-o", "size=300k", "none", "small").returncode:
    skip("a full disk", "no file system can be mounted here")
else:
    run = record("-c", "256", "-z", "0", "-o", "small/perf.data", "--", "./guest", "spin")
    got = counts("small/perf.data")
    check(run.returncode == 1 and b"No space left" in run.stderr and set(got) == set(NAMES.values())
          and min(got.values()) > 100, "a full disk ends the recording, every event is readable", (run, got))
    command("umount", "small")
    command("mount", "-t", "tmpfs", "-o", "size=32k", "none", "small")
    run = command(PESA, "record", "-q", "-c", "256", "-z", "0", "--sampler", ALL, "--golden", "small/golden.data", "--",
                  "./guest", "work", "2", env=plain)
    got = counts()
    shown = command(PESA, "report", "--json", "-i", "small/golden.data")
    check(run.returncode == 1 and b"No space left" in run.stderr and set(got) == set(NAMES.values())
          and min(got.values()) > 100, "a full disk for the golden reference leaves all samples", (run, got))
    check(json.loads(shown.stdout)["cycles"] > 0, "and as much of the reference as fitted is readable", shown)
    command("umount", "small")

# ---- Refusals --------------------------------------------------------------------------------
for words in ("nothing", "shpms,", "", "shpms,dispatched"):
    run = command(PESA, "record", "--sampler", words, "--", "./guest", env=plain)
    check(run.returncode == 2 and re.search(rb"^pesa record: '.*' is no value for --sampler; allowed: shpms", run.stderr)
          and run.stderr.count(b"\n") == 1, f"refused: --sampler '{words}'", run)

os.chdir("/")
shutil.rmtree(work)
end()
