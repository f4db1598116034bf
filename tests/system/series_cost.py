#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What a sample of a counter (PMU cpu) costs in the kernel of kernel/series: the instructions, in all modes, that a program takes more when
stock perf samples it, divided by the samples; the median of three recordings.  Prints a table.

  O=$PWD/build tests/system/series_cost.py"""
import os
import statistics
import subprocess
import sys
import tempfile

from board import TOP, board, guest_program

PERIOD, ROUNDS = 20011, 4000000
EVENTS = {
    "address of the interrupt": "-e cycles",
    "exact address": "-e cycles:ppp",
    "exact address, 32 branches": "-e cycles:ppp -b",
    "exact address, call stack": "-e cycles:uppp --call-graph lbr",
}
SCRIPT = f"""
count="perf stat -x, -e instructions -o /tmp/stat ./hot {ROUNDS}"
for round in 1 2 3; do
    $count > /dev/null; echo "alone: $(grep -o '^[0-9]*' /tmp/stat) 0"
""" + "".join(f"""
    perf record -q -N -B -m 4M -o /tmp/data -c {PERIOD} {words} -- $count > /dev/null
    echo "{name}: $(grep -o '^[0-9]*' /tmp/stat) $(perf script --comm hot -F comm,ip -i /tmp/data 2> /dev/null | grep -c '^ *hot')"
""" for name, words in EVENTS.items()) + "done\n"


def main():
    kernel = subprocess.run([f"{TOP}/tools/board/series"], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
    with tempfile.TemporaryDirectory(prefix="pesa-cost-") as share:
        guest_program("hot", share)
        with open(f"{share}/script", "w", encoding="utf-8") as file:
            file.write(SCRIPT)
        done = board("--without-device", "--without-driver", "--harts", "1", "--property", "pesa-sspesa=on", "--property", "pesa-ctr-depth=32",
                     "--share", share, "--", "bash", "script", limit=600, env={**os.environ, "KERNEL": kernel})
    runs = {name: [] for name in ["alone", *EVENTS]}
    for line in done.stdout.splitlines():
        name, _, numbers = line.partition(": ")
        runs[name].append(tuple(map(int, numbers.split())))
    if done.returncode or any(len(found) != 3 for found in runs.values()) or any(samples < 100 for name in EVENTS for _, samples in runs[name]):
        sys.exit(f"the board has not recorded: {done.stdout}{done.stderr}")
    alone = statistics.median(instructions for instructions, _ in runs["alone"])
    print(f"| {'sample':<26} | instructions |\n| {'-' * 26} | -----------: |")
    for name in EVENTS:
        print(f"| {name:<26} | {statistics.median((instructions - alone) / samples for instructions, samples in runs[name]):12.0f} |")


main()
