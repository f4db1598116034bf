#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A machine whose harts differ: the driver offers what all harts support, periods are correct on each, and a hart that
comes online later and supports less is not sampled."""
import json
import os
import re
import tempfile

from board import FAULTS, board, core_with_transfers, guest_program, pesa_of_board, read, script_parts, tap

PERIOD = 20000
CAPS = "for name in counter_bits ctr_depth autorun; do echo $name $(cat /sys/bus/event_source/devices/pesa/caps/$name); done"
RECORD = f"/pesa/bin/pesa record -q -e pesa/cycles,fixed=1/ -c {PERIOD}"
SCRIPT = f"""
echo "== caps"; {CAPS}
for hart in 0 1; do echo "== hart $hart"; {RECORD} --json -o data$hart -C $hart -- taskset -c $hart ./hot 40000; echo "status $?"; done
echo "== longest"; /pesa/bin/pesa record -q -e pesa/cycles,fixed=1/ -c 1048576 -o /tmp/longest -- ./hot 10 2>&1; echo "status $?"
echo "== branches"; perf record -q -N -j any,u -e pesa/cycles/u -c 5000 -o /tmp/branches taskset -c 1 ./hot 4000 > /dev/null; echo "status $?"
perf script -i /tmp/branches -F brstack 2> /dev/null | awk '{{ if (NF > most) most = NF }} END {{ print "most", most }}'
echo "== log"; dmesg | grep 'pesa:'
"""
LATER = f"""
echo 1 > /sys/devices/system/cpu/cpu1/online; echo "== caps"; {CAPS}
echo "== hart 1"; {RECORD} -o /tmp/data1 -C 1 -- taskset -c 1 ./hot 4000 2>&1; echo "status $?"
echo "== task"; {RECORD} --json -o /tmp/task -- taskset -c 1 ./hot 40000; echo "status $?"
echo "== log"; dmesg | grep 'pesa:'
"""
# The order in which the driver tries the harts is not known.
BOARDS = {"31:20": "32:16", "20:31": "16:32"}


def run(script, *words):
    with tempfile.TemporaryDirectory(prefix="pesa-mixed-") as share:
        guest_program("hot", share)
        with open(f"{share}/script", "w", encoding="utf-8") as file:
            file.write(script)
        done = board("--share", share, "--core", core_with_transfers(share, 32), "--also",
                     f"pesa={pesa_of_board()}", "--counts", f"{share}/counts", "--console",
                     f"{share}/console", *words, "--", "sh", "script", limit=300)
        console = read(f"{share}/console")
        device = json.loads(read(f"{share}/counts") or '{"harts": []}')["harts"]
    tap.check(done.returncode == 0 and not FAULTS.search(console), f"{' '.join(words)}: the script ends, and the kernel "
              "complains of nothing", f"status {done.returncode}\n{done.stdout}{done.stderr}{console}")
    return script_parts(done.stdout), device


for bits, depth in BOARDS.items():
    parts, device = run(SCRIPT, "--property", f"pesa-counter-bits={bits}", "--property", f"pesa-ctr-depth={depth}")
    caps = dict(line.split() for line in parts.get("caps", "").splitlines())
    tap.check(caps == {"counter_bits": "20", "ctr_depth": "16", "autorun": "1"}, f"{bits}: what all harts have is offered",
              caps)
    log = parts.get("log", "")
    # The node describes the first hart: of records beyond those nobody knows.
    tap.check("counters of 20 to 31 bits: periods fit into 20" in log and
              ("16 to 32 control transfer records: 16 are" in log or depth.startswith("16")),
              f"{bits}: and it is said", log)
    print(f"# {bits}: {[(hart['cycles'], hart['taken'], hart['discarded'], hart['filtered']) for hart in device]}")
    counts = [int((re.search(r'"samples": *(\d+)', parts.get(f"hart {hart}", "")) or [0, 0])[1]) for hart in (0, 1)]
    tap.check(min(counts) > 20 and max(counts) < 2 * min(counts), f"{bits}: both harts have as many samples of the same work",
              f"{counts} {parts}")
    tap.check("status 0" not in parts.get("longest", "status 0"), f"{bits}: a period that one counter cannot count is refused",
              parts.get("longest"))
    tap.check("status 0" in parts.get("branches", "") and "most 16" in parts.get("branches", ""),
              f"{bits}: branch stacks have what all harts have", parts.get("branches"))

parts, _ = run(LATER, "--property", "pesa-counter-bits=31:20", "--append", "maxcpus=1")
tap.check("counter_bits 31" in parts.get("caps", ""), "a hart that is offline is ignored", parts)
tap.check("CPU 1 has less than those before it: it is not sampled" in parts.get("log", ""),
          "when it comes online it is not sampled",
          parts.get("log"))
tap.check("status 0" not in parts.get("hart 1", "status 0"), "an event on it is refused", parts.get("hart 1"))
task = re.search(r'"samples": *(\d+)', parts.get("task", ""))
tap.check("status 0" in parts.get("task", "") and task and int(task[1]) < 200, "and a task has no samples there",
          parts.get("task"))
parts, _ = run(SCRIPT, "--property", "pesa=on:off")
tap.check(re.search(r'"samples": *0', parts.get("hart 1", "")) and re.search(r'"samples": *[1-9]', parts.get("hart 0", "")),
          "where one hart lacks the registers the other is sampled", parts)
tap.end()
