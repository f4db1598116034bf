#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""AutoRun: samples that the hart writes to memory give the same profile as samples read in the interrupt, and each
sample is in the file or counted as lost."""
import collections
import json
import os
import re
import shutil
import subprocess
import tempfile

from board import TOP, board, compiled, events, only_samples, tap
from tap import PESA

# AutoRun's period is fixed.  With a prime number, as with a varying period, all cycles of a loop are sampled equally often.
PERIOD, DIVISIONS = 10007, 200000
RECORD = ("/pesa/bin/pesa record -q -e pesa/cycles,{terms}/{modes} -c {period} {words} -o {name}.data -- ./hot {count} "
          "> /dev/null")
RECORDINGS = {
    "memory": {"terms": "autorun=1", "modes": "u"},
    "interrupt": {"terms": "fixed=0", "modes": "u"},
    "kernel": {"terms": "autorun=1", "period": 2000, "count": 20000},
    "harts": {"terms": "autorun=1", "words": "-a", "period": 5000, "count": 40000},
    "small": {"terms": "autorun=1", "period": 256, "words": "-m 4K", "modes": "u", "count": 20000},
}
REFUSED = {
    "frequency": "-e pesa/cycles,autorun=1/ -F 1000",
    "chains": "-e pesa/cycles,autorun=1/ -g",
    "snapshot": "-e pesa/cycles,autorun=1/ --snapshot",
    "two": "-e pesa/cycles,autorun=1/ -e cpu-clock",
}


def guest_script():
    lines = ["count() { cat /sys/bus/event_source/devices/pesa/statistics/$1; }"]
    for name, terms in RECORDINGS.items():
        words = {"modes": "", "words": "", "period": PERIOD, "count": DIVISIONS, "name": name} | terms
        lines.append(f"before=$(count recorded); {RECORD.format(**words)}")
        lines.append(f"echo {name} $? $(($(count recorded) - before))")
    for name, words in REFUSED.items():
        lines.append(f"/pesa/bin/pesa record -q {words} -o refused.data -- ./hot 1 > /dev/null 2> error; "
                     f"echo refused-{name} $? $(cat error)")
    return "\n".join(lines)


def report(path):
    shown = subprocess.run([PESA, "report", "--json", "-i", path], capture_output=True, text=True, check=False)
    return json.loads(shown.stdout) if not shown.returncode else {"failed": shown.stderr}


def samples(path):
    shown = subprocess.run([PESA, "script", "-i", path], capture_output=True, text=True, check=False)
    return shown.stdout


pesa = subprocess.run([f"{TOP}/tools/board/pesa"], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
with tempfile.TemporaryDirectory(prefix="pesa-autorun-") as share:
    shutil.copy(compiled("hot", [f"{TOP}/tests/system/programs/hot.c"], "-static"), f"{share}/hot")
    done = board("--share", share, "--also", f"pesa={pesa}", "--counts", f"{share}/counts", "--console",
                 f"{share}/console", "--", "sh", "-c", guest_script(), limit=600)
    with open(f"{share}/console", encoding="utf-8", errors="replace") as file:
        console = file.read()
    why = f"status {done.returncode}\n{done.stdout}{done.stderr}{console}"
    reported = dict(line.split(" ", 1) for line in done.stdout.splitlines() if " " in line)
    reports = {name: report(f"{share}/{name}.data") for name in RECORDINGS}
    moments = collections.Counter((sample["cpu"], sample["time"]) for sample in only_samples(events(f"{share}/harts.data")))
    lists = {name: samples(f"{share}/{name}.data") for name in RECORDINGS}

tap.check(done.returncode == 0 and all(reported.get(name, "").startswith("0 ") for name in RECORDINGS),
          "recordings are made", why)
for name in RECORDINGS:
    driver = int(reported.get(name, "0 0").split()[1])
    tap.check(driver > 20 and reports[name].get("samples") == driver,
              f"{name}: each sample that the driver handed over is in the file",
              f"{driver} {reports[name].get('samples')} {reports[name].get('failed')}\n{why}")


def stalled(name):
    """The share of stalled cycles.  Nearly all of them are those of the program's division."""
    states = {state: sum(causes.values()) for state, causes in reports[name].get("stack", {}).items()}
    return states.get("stalled", 0) / (sum(states.values()) or 1)


ours, theirs = stalled("memory"), stalled("interrupt")
# Five standard deviations of the difference of two shares: noise exceeds it less than once in a million times.
noise = 5 * sum(share * (1 - share) / (reports[name].get("samples") or 1)
                for name, share in (("memory", ours), ("interrupt", theirs))) ** 0.5
print(f"# stalled: {ours:.4f} through memory, {theirs:.4f} by interrupts, noise {noise:.4f}")
tap.check(theirs > 0.5 and abs(ours - theirs) <= noise, "the profile is that of ordinary samples",
          f"{ours} {theirs} {noise}")
known = len(re.findall(r"^\s+hot ", lists["harts"], re.M))
tap.check(20 < known < lists["harts"].count("\n"), "samples of whole CPUs know their tasks",
          f"{known} of {lists['harts'].count(chr(10))}\n{lists['harts'][:2000]}")
most = max(moments.values(), default=0)
print(f"# at most {most} samples of a hart at one time")
# If a hart waited for the other one's time, it would write all its samples at once.
tap.check(0 < most <= 8, "and their times advance with the cycles", moments.most_common(3))
high = re.compile(r"\bffff[0-9a-f]{12}\b|\bff[0-9a-f]{14}\b")
tap.check(high.search(lists["kernel"]), "a recording of the kernel has its addresses", lists["kernel"][:2000])
for name in ("memory", "small"):
    tap.check(lists[name] and not high.search(lists[name]), f"{name}: a recording without the kernel has none",
              high.findall(lists[name])[:5])
for name in REFUSED:
    tap.check(re.match(r"[12] .*(AutoRun|event)", reported.get(f"refused-{name}", "")),
              f"{name} with AutoRun: refused, and why", reported.get(f"refused-{name}", why))
tap.check(not re.search(r"BUG:|WARNING:|Oops|Call Trace", console), "the kernel complains of nothing", console)
tap.end()
