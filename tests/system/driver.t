#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The driver with stock perf: what perf lists, where the samples are, and that each sample that the device
took is in the file or counted as lost."""
import json
import os
import re
import shutil
import subprocess
import tempfile

from board import CROSS, TOP, board, compiled, tap

PERIODS = (100000, 10000, 1000, 256)
# Samples that perf wrote twice are counted once, see written_once().
SCRIPT = r"""
pmu=/sys/bus/event_source/devices/pesa
echo "== caps"; head -n 99 $pmu/caps/*
echo "== list"; perf list --no-desc pmu 2>/dev/null | grep pesa
for period in PERIODS; do
    perf record -q -N -e pesa/cycles,fixed=1/ -c $period -o /tmp/data ./hot $((period * 20 + 20000)) > /dev/null
    echo "== recorded $period status $? samples $(perf script -i /tmp/data -F tid,time,ip 2> /dev/null | sort -u | grep -c .)"
    perf report -i /tmp/data --stats 2> /dev/null | sed -n 's/^ *LOST_SAMPLES events: *\([0-9]*\).*/lost events \1/p'
    perf script -i /tmp/data --show-lost-events 2> /dev/null | sed -n 's/.*PERF_RECORD_LOST[A-Z_]* *lost *\([0-9]*\).*/lost \1/p'
    perf report -i /tmp/data --stdio --sort symbol -g none 2> /dev/null | sed -n 's/^ *\([0-9.]*\)%.*\] divide\( .*\)*$/divide \1/p'
done
echo "== statistics"; cd $pmu/statistics; for name in *; do echo "$name $(cat $name)"; done
"""


def number(name, text):
    found = re.search(rf"^{name} (\d+)", text, re.M)
    return int(found[1]) if found else None


with tempfile.TemporaryDirectory(prefix="pesa-driver-") as share:
    shutil.copy(compiled("hot", [f"{TOP}/tests/system/programs/hot.c"], "-static"), f"{share}/hot")
    # perf takes the assembler's mapping symbol ($xrv64...) at the function's address for the function.
    subprocess.run([f"{CROSS}objcopy", "-w", "--strip-symbol=$*", f"{share}/hot"], check=True)
    done = board("--share", share, "--counts", f"{share}/counts", "--console", f"{share}/console", "--", "sh", "-c",
                 SCRIPT.replace("PERIODS", " ".join(map(str, PERIODS))))
    parts = dict(part.split("\n", 1) if "\n" in part else (part, "")
                 for part in re.split(r"^== ", done.stdout, flags=re.M)[1:])
    console = open(f"{share}/console", encoding="utf-8", errors="replace").read()
    device = json.load(open(f"{share}/counts", encoding="utf-8")) if os.path.exists(f"{share}/counts") else None

why = f"status {done.returncode}\n{done.stdout}{done.stderr}{console}"
tap.check(done.returncode == 0, "the driver is loaded and the script ends", why)
tap.check("icache-miss" in parts.get("caps", "") and "ooo-4" in parts.get("caps", ""),
          "caps tell what the device-tree node says", parts.get("caps", why))
tap.check("pesa/cycles/" in parts.get("list", ""), "perf list shows the event", parts.get("list", why))
recorded = 0
for period in PERIODS:
    title = next((name for name in parts if name.startswith(f"recorded {period} ")), "")
    found = re.fullmatch(r"recorded \d+ status (\d+) samples (\d+)", title)
    if not tap.check(found and found[1] == "0" and int(found[2]) > 10, f"perf record -c {period} takes samples",
                     title or why):
        continue
    recorded += int(found[2]) + sum(map(int, re.findall(r"^lost (\d+)", parts[title], re.M)))
    share_of = re.search(r"^divide ([\d.]+)", parts[title], re.M)
    if period >= 10000:
        tap.check(share_of and float(share_of[1]) > 50, f"most of them, every {period} cycles, are of the hot function",
                  parts[title])
statistics = parts.get("statistics", "")
counted = {name: number(name, statistics) for name in ("taken", "recorded", "excluded", "unclaimed", "discarded")}
if tap.check(device and None not in counted.values(), "the device and the driver tell what they counted", why):
    taken = sum(hart["taken"] for hart in device["harts"])
    discarded = sum(hart["discarded"] for hart in device["harts"])
    print(f"# device: {taken} taken, {discarded} discarded; driver: {counted}; file: {recorded}")
    harts = len(device["harts"])
    # In each recording, one sample can be pending when a hart's counter stops; it belongs to no event.
    tap.check(0 <= taken - counted["taken"] <= harts * len(PERIODS), "the driver read the samples that the device took",
              f"{taken} {counted}")
    tap.check(counted["taken"] == counted["recorded"] + counted["excluded"] + counted["unclaimed"],
              "each that it read is recorded, excluded or unclaimed", counted)
    tap.check(counted["recorded"] == recorded, "each that it recorded is in the file or counted as lost",
              f"{recorded} {counted}")
tap.check(not re.search(r"BUG:|WARNING:|Oops|Call Trace", console), "the kernel complains of nothing", console)
tap.end()
