#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Life cycle of the driver: unloading while it is busy, repeated loading, harts that go offline and come back
during a recording, and the end of the system during a recording."""
import json
import os
import re
import shutil
import tempfile

from board import TOP, board, compiled, tap

LOADS = int(os.environ.get("LOADS", "100"))
SCRIPT = rf"""
cpu=/sys/devices/system/cpu/cpu1/online
until_used() {{ until [ "$(cat /sys/module/pesa/refcnt)" != 0 ]; do sleep 0.01; done; }}
samples() {{ perf script -i $1 -F ip 2> /dev/null | grep -c .; }}
i=0; while [ $i -lt {LOADS} ]; do rmmod pesa && insmod /board/pesa.ko || break; i=$((i + 1)); done; echo "loads $i"
perf record -q -N -e pesa/cycles/ -c 100000 -o /tmp/busy ./hot 100000 > /dev/null &
until_used; rmmod pesa 2> error; echo "unload $? $(cat error)"; wait $!; echo "busy $? samples $(samples /tmp/busy)"
rmmod pesa && insmod /board/pesa.ko; echo "idle $?"
perf record -q -N -a -e pesa/cycles/ -c 50000 -o /tmp/harts sh -c "
    echo 0 > $cpu; ./hot 20000; echo 1 > $cpu; ./hot 20000; echo 0 > $cpu; echo 1 > $cpu; ./hot 20000" > /dev/null
echo "harts $? samples $(samples /tmp/harts)"
echo 0 > $cpu; rmmod pesa; insmod /board/pesa.ko; echo 1 > $cpu
perf record -q -N -C 1 -e pesa/cycles/ -c 50000 -o /tmp/later taskset -c 1 ./hot 20000 > /dev/null
echo "later $? samples $(samples /tmp/later)"
perf record -q -N -a -e pesa/cycles/ -c 50000 -o /tmp/last ./hot 100000000 > /dev/null 2>&1 &
until_used; sleep 0.1; echo end
"""

with tempfile.TemporaryDirectory(prefix="pesa-lifecycle-") as share:
    shutil.copy(compiled("hot", [f"{TOP}/tests/system/programs/hot.c"], "-static"), f"{share}/hot")
    done = board("--share", share, "--counts", f"{share}/counts", "--console", f"{share}/console", "--", "sh", "-c",
                 SCRIPT, limit=600)
    with open(f"{share}/console", encoding="utf-8", errors="replace") as file:
        console = file.read()
    device = None
    if os.path.exists(f"{share}/counts"):
        with open(f"{share}/counts", encoding="utf-8") as file:
            device = json.load(file)

why = f"status {done.returncode}\n{done.stdout}{done.stderr}{console}"
reported = dict(line.split(" ", 1) for line in done.stdout.splitlines() if " " in line)


def samples(name):
    found = re.fullmatch(r"0 samples (\d+)", reported.get(name, ""))
    return int(found[1]) if found else 0


tap.check(reported.get("loads") == str(LOADS), f"it is unloaded and loaded {LOADS} times", why)
tap.check(re.match(r"1 .*in use", reported.get("unload", "")), "unloading while it is used is refused", why)
tap.check(samples("busy") > 5, "and the recording goes on", why)
tap.check(reported.get("idle") == "0", "afterwards it is not", why)
tap.check(samples("harts") > 5, "harts go and come while whole CPUs are recorded", why)
tap.check(samples("later") > 5, "a hart that was offline when the driver was loaded samples", why)
tap.check(done.stdout.endswith("end\n") and done.returncode == 0, "the system ends while a recording is made", why)
if tap.check(device, "the device tells what it counted", why):
    tap.check(all(hart["period"] == 0 for hart in device["harts"]) and any(hart["taken"] for hart in device["harts"]),
              "and then no counter runs: the next kernel finds it at rest", device)
tap.check(not re.search(r"BUG:|WARNING:|Oops|Call Trace", console), "the kernel complains of nothing", console)
tap.end()
