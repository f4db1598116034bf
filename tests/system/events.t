#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Events other than cycles: programs in which one known instruction causes the event have their samples on exactly
that instruction, and samples times period agree with what was counted."""
import json
import re
import subprocess
import tempfile

from board import (CROSS, PESA, bare, board, events, guest_program, only_samples, pesa_of_board, read, script_parts, tap,
                   written_once)

# Each: recorder, event, period, program, number of events in it, instruction, and this one's share of the user's events.
CASES = {
    "misses": ("perf record -q -N", "pesa/INST.MISS.L1D.RET,fixed=1/u", 2000, "chase", 60000, "chase_load"),
    "guesses": ("perf record -q -N -R", "pesa/INST.MISPRED.BRANCH.RET/u", 700, "guess", 40000, "guess_branch"),
    "translations": ("/pesa/bin/pesa record -q", "pesa/INST.MISS.DTLB.RET/u", 2000, "chase", 60000, "chase_load"),
}
REFUSED = {
    "unknown": ("pesa/event=0x63/", "-c 1000"),
    "one": ("pesa/event=1,autorun=1/", "-F 1000"),
    "streamed": ("pesa/INST.LOAD.RET,autorun=1/", "-c 1000"),
}
SCRIPT = "cd /share; echo '== list'; perf list --no-desc pmu 2> /dev/null | grep pesa/\n" + "".join(
    f"{record} -e {event} -c {period} -o {name}.data -- ./events {program} {count} > {name}.out 2>&1\n"
    f"status=$?; echo '== {name}'; echo status $status; chmod a+r {name}.data\n"
    for name, (record, event, period, program, count, _) in CASES.items()) + "".join(
    f"echo '== {name}'; /pesa/bin/pesa record -e {event} {words} -o /tmp/none -- true 2>&1; echo status $?\n"
    for name, (event, words) in REFUSED.items()) + r"""
echo "== statistics"; cd /sys/bus/event_source/devices/pesa/statistics; for name in *; do echo "$name $(cat $name)"; done
"""

# ---- The device, with a bare-metal program -----------------------------------------------------

done, device = bare("events")
tap.adopt(done.stdout)
tap.check(done.returncode == 0, "bare: its status is 0", done.stderr)
if tap.check(device and len(device["harts"]) == 1, "bare: the device tells what it counted", device):
    hart = device["harts"][0]
    counted = hart["counted"]
    tap.check(hart["taken"] == 300 and hart["taken"] * 256 <= counted < (hart["taken"] + 1) * 256,
              "bare: a sample for each period of events", hart)
    # The model counted a little more: it also runs while the counter counts cycles.
    tap.check(counted <= hart["events"]["INST.LOAD.RET"] <= counted + 64, "bare: it counted what the model counted", hart)

# ---- The driver, with stock perf and pesa record -----------------------------------------------


def pesa(command, data, *words):
    share = data.rpartition("/")[0]
    run = subprocess.run([PESA, command, "-i", data, "--symfs", share, *words], capture_output=True, text=True,
                         check=False)
    return run.stdout + run.stderr


with tempfile.TemporaryDirectory(prefix="pesa-events-") as share:
    guest_program("events", share)
    symbols = subprocess.run([f"{CROSS}nm", f"{share}/events"], capture_output=True, text=True, check=True).stdout
    done = board("--harts", "1", "--share", share, "--also", f"pesa={pesa_of_board()}", "--console", f"{share}/console",
                 "--", "sh", "-c", SCRIPT, limit=400)
    parts = script_parts(done.stdout)
    console = read(f"{share}/console")
    why = f"status {done.returncode}\n{done.stdout}{done.stderr}"
    tap.check(done.returncode == 0, "the script ends", why + console)
    tap.check(all(f"pesa/{name}/" in parts.get("list", "") for name in ("cycles", "INST.RET", "INST.MISS.L1D.RET")),
              "perf list shows the events", parts.get("list", why))
    recorded = 0
    for name, (record, event, period, program, count, label) in CASES.items():
        if not tap.check("status 0" in parts.get(name, ""), f"{name}: {record} -e {event}",
                         parts.get(name, why) + read(f"{share}/{name}.out")):
            continue
        address = int(re.search(rf"^(\w+) T {label}$", symbols, re.M)[1], 16)
        data = f"{share}/{name}.data"
        samples = written_once(only_samples(events(data)), record)
        recorded += len(samples)
        here = sum(sample["address"] == address for sample in samples)
        tap.check(len(samples) > 20 and here >= len(samples) * 0.9, f"{name}: the samples are of {label}",
                  [sample["address"] for sample in samples])
        # Of the random branches every second is mispredicted.  What the handler causes itself counts and is never
        # sampled: it comes before it lets the next sample be taken.
        expected = count / (2 if program == "guess" else 1)
        tap.check(0.8 <= here * period / expected <= 1.25, f"{name}: samples times period are what was to be counted",
                  f"{here} of {len(samples)} samples, each {period}, of {expected:g}")
        tap.check(all(sample["exact_pc"] for sample in samples), f"{name}: script: each PC is exact", samples[:3])
        report = json.loads(pesa("report", data, "--json"))
        tap.check(report["event"].startswith(event.partition(",")[0].partition("/u")[0]) and
                  report["plain_samples"] == report["samples"] == len(samples) and report["skidding_samples"] == 0,
                  f"{name}: report: event, samples without details, none skids", report)
        text = pesa("report", data)
        tap.check("PC is exact" in text and "no cycle stacks" in text and "cycles" not in text.split("event", 1)[-1]
                  .replace("no cycle stacks", ""), f"{name}: report says so, and counts no cycles", text)
        tap.check("PC is exact" in pesa("annotate", data), f"{name}: annotate says so", pesa("annotate", data))
        tap.check("top-down is not possible" in pesa("topdown", data), f"{name}: no top-down", pesa("topdown", data))
    for name, (event, words) in REFUSED.items():
        tap.check("status 1" in parts.get(name, ""), f"refused: {event} {words}", parts.get(name, why))
        print(f"# {parts.get(name, '').strip()}")
    statistics = {name: int(value) for name, value in re.findall(r"^(\w+) (\d+)$", parts.get("statistics", ""), re.M)}
    tap.check(statistics and statistics["recorded"] == recorded and
              statistics["taken"] == recorded + statistics["excluded"] + statistics["unclaimed"],
              "each sample that was taken is in a file, excluded or unclaimed", f"{recorded} {statistics}")
    tap.check(not re.search(r"BUG:|WARNING:|Oops|Call Trace", console), "the kernel complains of nothing", console)
tap.end()
