#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Counting on the board, where the firmware counts cycles and instructions for the kernel's SBI PMU: pesa stat agrees with
stock perf, with the instructions of the program, and between runs.  Recording events other than pesa/cycles/: those that
the board offers, and that reports say that their PCs skid.
"""
import json
import re
import shutil
import tempfile
from statistics import median

from board import FAULTS, board, guest_program, pesa_of_board, read, script_parts, tap

PESA = "/pesa/bin/pesa"
# The last one is long enough for the kernel to multiplex events, and to be nearly all that is counted.
LOOPS = (200000, 4000000)
SOME = 400000
# Tolerance: the emulator counts whole blocks of instructions, also those that are partly executed when a counter is read,
# and its programmable counters do not distinguish privilege modes.  They include the kernel's instructions, which make
# counts of the short program differ by up to 8 % between runs: the medians of several runs of each tool are compared.
NEAR = 0.05
RUNS = 5
EVENTS = "cycles:u,instructions:u,page-faults:u,task-clock"
SCRIPT = f"""
echo "== pmu"; for name in /sys/bus/event_source/devices/*; do echo "${{name##*/}} $(cat $name/type)"; done
cat /sys/bus/event_source/devices/cpu/format/* 2> /dev/null
echo "== id"; grep -m 3 -E '^(mvendorid|marchid|mimpid)' /proc/cpuinfo
""" + "".join(f"""
echo "== pesa {loops} {run}"; {PESA} stat -e {EVENTS} --json=pesa-{loops}-{run}.json -- ./hot {loops} > /dev/null; echo "status $?"
echo "== perf {loops} {run}"; perf stat -x, -e {EVENTS} -o perf-{loops}-{run}.csv ./hot {loops} > /dev/null; echo "status $?"
""" for loops in LOOPS for run in range(RUNS)) + f"""
echo "== group"; {PESA} stat -e '{{cycles,instructions}}:u' --json=group.json -- ./hot {LOOPS[1]} > /dev/null; echo "status $?"
echo "== standard"; {PESA} stat -e CYCLES.HART:u,INST.RET:u --json=standard.json -- ./hot {LOOPS[1]} > /dev/null; echo "status $?"
echo "== default"; {PESA} stat -r 3 -- ./hot 20000 2>&1 > /dev/null; echo "status $?"
echo "== all"; {PESA} stat -a -I 200 -e cycles,instructions,context-switches --json=all.json -- ./hot {SOME} > /dev/null; echo "status $?"
echo "== many"; {PESA} stat -e {",".join(["cycles:u", "instructions:u", "dTLB-load-misses:u", "iTLB-load-misses:u", "dTLB-store-misses:u"] * 6)} --json=many.json -- ./hot {LOOPS[1]} > /dev/null; echo "status $?"
echo "== files"; mkdir -p files; echo '[{{"EventName": "OWN", "ConfigCode": "0x8000000000000005"}}]' > files/a.json
{PESA} stat --event-directory files -e OWN --json=own.json -- ./hot 20000 > /dev/null; echo "status $?"
echo "== meaning"; {PESA} list --event-directory files -e OWN; echo "status $?"
echo "== record clock"; {PESA} record -q -e cpu-clock -o clock.data -- ./hot {SOME} > /dev/null; echo "status $?"
{PESA} report -i clock.data --json > clock.json; echo "status $?"
echo "== record cycles"; {PESA} record -q -e cycles:u -c 100000 -o cycles.data -- ./hot {SOME} 2>&1 > /dev/null; echo "status $?"
echo "== record precise"; {PESA} record -q -e cycles:upp -c 100000 -o precise.data -- ./hot {LOOPS[0]} 2>&1 > /dev/null; echo "status $?"
for name in cycles precise; do [ ! -s $name.data ] || {PESA} report -i $name.data --json > $name.json; done
"""


def values(path):
    return {one["event"]: one for one in json.loads(read(path) or '{"events": []}')["events"]}


def stock(path):
    """perf stat -x,: value, unit, event."""
    rows = [line.split(",") for line in read(path).splitlines() if line.count(",") > 4]
    return {row[2]: float(row[0]) for row in rows if re.fullmatch(r"[\d.]+", row[0])}


share = tempfile.mkdtemp(prefix="pesa-stat-")
guest_program("hot", share)
with open(f"{share}/script", "w", encoding="utf-8") as out:
    out.write(SCRIPT)
booted = board("--share", share, "--also", f"pesa={pesa_of_board()}", "--", "bash", "script", limit=900)
parts = script_parts(booted.stdout)
tap.check(booted.returncode == 0 and len(parts) > 12 and not FAULTS.search(booted.stdout),
          "the board boots, counts, and has nothing to complain of", booted.stdout[-3000:] + booted.stderr[-1000:])
if len(parts) <= 12:
    tap.end()
done = {name: re.search(r"status (\d+)\s*\Z", text) for name, text in parts.items()}

runs = {loops: [values(f"{share}/pesa-{loops}-{run}.json") for run in range(RUNS)] for loops in LOOPS}
stock_runs = {loops: [stock(f"{share}/perf-{loops}-{run}.csv") for run in range(RUNS)] for loops in LOOPS}
counted = {loops: runs[loops][0] for loops in LOOPS}
if not counted[LOOPS[0]].get("instructions:u", {}).get("supported") or "instructions:u" not in stock_runs[LOOPS[0]][0]:
    tap.skip("cycles and instructions are counted", "the board's firmware counts none")
else:
    for loops in LOOPS:
        for name, near in (("instructions", NEAR), ("cycles", 0.1)):
            mine = [one[f"{name}:u"]["value"] for one in runs[loops]]
            other = [one[f"{name}:u"] for one in stock_runs[loops]]
            tap.check(abs(median(mine) - median(other)) < near * median(other),
                      f"{loops} loops: as many {name} as stock perf counts", (mine, other))
    step = {name: counted[LOOPS[1]][name]["value"] - counted[LOOPS[0]][name]["value"]
            for name in ("instructions:u", "cycles:u")}
    per_loop = step["instructions:u"] / (LOOPS[1] - LOOPS[0])
    tap.check(per_loop > 1 and abs(per_loop - round(per_loop)) < 0.02 * per_loop,
              "a loop more is a whole number of instructions more", step)
    one = counted[LOOPS[0]]["instructions:u"]
    tap.check(one["metric_unit"] == "insn per cycle"
              and abs(one["metric"] - one["value"] / counted[LOOPS[0]]["cycles:u"]["value"]) < 1e-9, "IPC", one)
    group, standard = values(f"{share}/group.json"), values(f"{share}/standard.json")
    want = counted[LOOPS[1]]["instructions:u"]["value"]
    tap.check(abs(group["instructions:u"]["value"] - want) < NEAR * want and group["cycles:u"]["supported"],
              "a group counts the same", group)
    tap.check(abs(standard["INST.RET:u"]["value"] - want) < NEAR * want
              and standard["INST.RET:u"]["metric_unit"] == "insn per cycle", "so do the standard names", standard)
    many = json.loads(read(f"{share}/many.json"))["events"]
    # In the emulator a second counter of the same event has arbitrary values, so only multiplexed events are compared.
    turns = [one for one in many if one["event"] == "instructions:u" and 0 < one["share"] < 1 and one["value"]]
    want = counted[LOOPS[1]]["instructions:u"]["value"]
    print("#", [(one["event"], one["value"], one["share"]) for one in many])
    tap.check(turns and all(0.75 * want < one["value"] < 1.33 * want for one in turns)
              and all(one["share"] <= 1 for one in many),
              "more events than counters: they take turns, and are scaled", (turns, want))
    whole = json.loads(read(f"{share}/all.json"))
    sums = {name: sum(one["value"] for part in whole["intervals"] for one in part["events"] if one["event"] == name)
            for name in ("cycles", "instructions", "context-switches")}
    tap.check(all(sums[one["event"]] == one["value"] for one in whole["events"] if one["share"] == 1)
              and sums["instructions"] > round(per_loop) * SOME, "whole CPUs: the intervals add up", (sums, whole["events"]))

tap.check(done["default"] and done["default"].group(1) == "0" and "(3 runs)" in parts["default"]
          and "task-clock" in parts["default"], "without -e, thrice", parts["default"])
tap.check("0x8000000000000005" in parts["meaning"] and re.search(r"type +4", parts["meaning"]),
          "an event file's ConfigCode is the SBI PMU's config", parts["meaning"])
own = values(f"{share}/own.json")
tap.check(not own or own["OWN"]["supported"] or own["OWN"]["value"] is None, "an event of the firmware, or said to be none",
          (own, parts["files"]))
clock = json.loads(read(f"{share}/clock.json") or "{}")
tap.check(clock.get("samples", 0) > 3 and clock["skidding_samples"] == clock["samples"],
          "a timer's samples skid, and the report says so", clock.get("samples"))
for name in ("cycles", "precise"):
    report = read(f"{share}/{name}.json")
    if report:
        shown = json.loads(report)
        tap.check(shown["skidding_samples"] == shown["samples"],
                  f"{name}: the board's SBI PMU marks no PC as exact, whatever it accepts", shown["samples"])
    else:
        tap.check(re.search(r"pesa record: .*(cannot be sampled|nothing on this machine|refuses)",
                            parts[f"record {name}"]), f"{name}: what the board cannot sample is refused in words",
                  parts[f"record {name}"])
print("#", " ".join(parts["pmu"].split()))
shutil.rmtree(share)
tap.end()
