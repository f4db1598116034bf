#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Idle harts enter a suspend state in which they lose their registers, during a recording: the driver saves and restores
them."""
import collections
import json
import re
import tempfile

from board import (FAULTS, board, check_device, check_handed_out, check_harts, events, guest_program, lost, only_samples,
                   pesa_of_board, phases, read, script_parts, tap)

PHASES = """
for cpu in 0 1 0 1; do taskset -c $cpu ./hot 60000; sleep 0.2; done
"""
CASES = {"all": "-a", "tasks": ""}
SCRIPT = """
statistics() { for name in taken recorded unreported; do echo "$name $(cat /sys/bus/event_source/devices/pesa/statistics/$name)"; done; }
record() { echo "== $1"; /pesa/bin/pesa record -q $2 -o $1.data -c 20000 --json=$1.json -- sh phases; echo "status $?"; statistics; }
""" + "".join(f'record {name} "{words}"\n' for name, words in CASES.items()) + """
echo "== idle"; cat /sys/devices/system/cpu/cpu*/cpuidle/state1/usage
"""


with tempfile.TemporaryDirectory(prefix="pesa-idle-") as share:
    guest_program("hot", share)
    for name, text in (("script", SCRIPT), ("phases", PHASES)):
        with open(f"{share}/{name}", "w", encoding="utf-8") as file:
            file.write(text)
    done = board("--deep-idle", "--share", share, "--also", f"pesa={pesa_of_board()}", "--counts", f"{share}/counts",
                 "--console", f"{share}/console", "--", "sh", "script", limit=600)
    parts = script_parts(done.stdout)
    recordings = {name: events(f"{share}/{name}.data") for name in CASES}
    followed = json.loads(read(f"{share}/all.json") or "{}")
    console = read(f"{share}/console")
    device = json.loads(read(f"{share}/counts") or "null")
why = f"status {done.returncode}\n{done.stdout}{done.stderr}{console}"
slept = [int(count) for count in parts.get("idle", "").split()]
print(f"# deep sleeps by hart: {slept}")
tap.check(len(slept) == 2 and min(slept) > 50, "idle harts sleep deep", why)
before = collections.Counter()
for name, words in CASES.items():
    part = parts.get(name, "")
    of = only_samples(recordings[name])
    after = collections.Counter({key: int(value) for key, value in re.findall(r"^(\w+) (\d+)$", part, re.M)})
    seen = phases(of)
    print(f"# {name}: {len(of)} samples, {lost(recordings[name])} lost; driver: {dict(after - before)}; {seen}")
    tap.check("status 0" in part, f"{name}: recorded", why)
    check_harts(name, seen)
    check_handed_out(name, words, recordings[name], after - before, part)
    before = after
tap.check(followed.get("unfollowed", "") is None, "nothing else is said", followed)
check_device(device, before["taken"], why)
tap.check(not FAULTS.search(console), "the kernel complains of nothing", console)
tap.end()
