#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The driver in a kernel that checks itself: memory (KASAN, kmemleak), undefined behaviour, locks,
sleeping where that is not allowed.  It must have nothing to say."""
import re
import shutil
import tempfile

from board import TOP, board, compiled, tap

FAULTS = re.compile(r"BUG:|WARNING:|KASAN:|UBSAN:|Oops|INFO: (?:possible|trying|task|rcu|suspicious)|Call Trace|"
                    r"unreferenced object|DEBUG_LOCKS_WARN|possible circular")
SCRIPT = r"""
uname -v
zcat /proc/config.gz | grep -cE '^CONFIG_(KASAN|UBSAN|PROVE_LOCKING|DEBUG_ATOMIC_SLEEP|DEBUG_KMEMLEAK)=y'
perf record -q -N -e pesa/cycles/ -c 50000 -o /tmp/data ./hot 300000 && perf script -i /tmp/data -F ip | grep -c .
perf record -q -N -a -e pesa/cycles/ -c 100000 -o /tmp/data ./hot 300000 && echo system-wide
for i in 1 2 3 4 5; do rmmod pesa && insmod /board/pesa.ko; done && echo reloaded
sleep 6; echo scan > /sys/kernel/debug/kmemleak; sleep 6; echo scan > /sys/kernel/debug/kmemleak
echo "leaks:"; cat /sys/kernel/debug/kmemleak
"""

with tempfile.TemporaryDirectory(prefix="pesa-debug-") as share:
    shutil.copy(compiled("hot", [f"{TOP}/tests/system/programs/hot.c"], "-static"), f"{share}/hot")
    done = board("--kernel", "debug", "--share", share, "--console", f"{share}/console", "--", "sh", "-c", SCRIPT,
                 limit=600)
    with open(f"{share}/console", encoding="utf-8", errors="replace") as file:
        console = file.read()
lines = done.stdout.splitlines()
why = f"status {done.returncode}\n{done.stdout}{done.stderr}{console}"
tap.check(done.returncode == 0, "the debug kernel boots and the script ends", why)
tap.check(len(lines) > 1 and lines[1] == "5", "it has the five checkers", why)
tap.check("system-wide" in lines and "reloaded" in lines, "recording and reloading work", why)
tap.check(done.stdout.rstrip().endswith("leaks:"), "no memory of the driver's is lost", why)
tap.check(not FAULTS.search(console), "the kernel has nothing to say", "\n".join(
    line for line in console.splitlines() if FAULTS.search(line)) + "\n" + console)
tap.end()
