#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""All kinds of recordings in a debug kernel, which checks memory (KASAN, kmemleak), undefined behaviour, locks, and sleeping
in atomic context.  It must report nothing."""
import tempfile

from board import FAULTS, board, guest_program, pesa_of_board, read, script_parts, tap

PESA = "/pesa/bin/pesa record -q -o /tmp/data"
RATE = "/proc/sys/kernel/perf_event_max_sample_rate"
WORK = [
    ("a program", f"{PESA} -c 50000 -- ./hot 30000"),
    ("call chains", f"{PESA} -g -c 50000 -- ./hot 30000"),
    # With the checks an interrupt takes longer than this period: perf must throttle, so that the program makes progress.
    ("a short period", f"{PESA} -c 8192 -- ./hot 2000"),
    ("the minimum period", f"{PESA} -c 256 -- ./hot 500"),
    ("the minimum period in user mode", f"{PESA} -e pesa/cycles/u -c 256 -- ./hot 500"),
    # perf then allows only few samples.
    ("a frequency", f"echo 100000 > {RATE}; {PESA} -F 20000 -- ./hot 30000"),
    ("user mode, by a user", f"setpriv --reuid=65534 --regid=65534 --clear-groups {PESA} -e pesa/cycles/u -c 50000 "
                             "-- ./hot 30000"),
    ("threads", f"{PESA} -c 20000 -- ./shares 30 60 120 180 240"),
    ("a fork storm with exec", f"{PESA} -c 50000 -- ./storm 12 500 ./hot 500"),
    ("a hart that goes and comes", f"{PESA} -a -c 200000 -- sh -c 'echo 0 > $cpu/online; ./hot 10000; "
                                   "echo 1 > $cpu/online; taskset -c 1 ./hot 10000'"),
    ("two recordings at once", f"{PESA} -c 50000 -- ./hot 30000 & /pesa/bin/pesa record -q -o /tmp/other -c 100000 -- "
                               "./hot 30000; wait"),
    ("stock perf", "perf record -q -N -B -e pesa/cycles/u -c 50000 -o /tmp/stock ./hot 30000"),
    ("a driver that is unloaded", "for i in 1 2 3 4 5; do rmmod pesa && insmod /board/pesa.ko || exit 1; done"),
]
CHECKERS = "KASAN|UBSAN|PROVE_LOCKING|DEBUG_ATOMIC_SLEEP|DEBUG_KMEMLEAK"
leaks = "/sys/kernel/debug/kmemleak"


def script():
    lines = ["export cpu=/sys/devices/system/cpu/cpu1; chmod 1777 /tmp",
             f"echo '== checkers'; zcat /proc/config.gz | grep -cE '^CONFIG_({CHECKERS})=y'",
             # Memory that the kernel lost before is not the driver's fault.
             f"sleep 6; echo scan > {leaks}; echo clear > {leaks}"]
    for name, command in WORK:
        lines.append(f"rm -f /tmp/data; echo '== {name}'; ({command}) 2>&1; echo status $?")
    lines.append(f"rm -f /tmp/*; sleep 6; echo scan > {leaks}; sleep 6; echo scan > {leaks}; "
                 f"echo '== leaks'; cat {leaks}; echo '== end'")
    return "\n".join(lines) + "\n"


with tempfile.TemporaryDirectory(prefix="pesa-debug-") as share:
    for program in ("hot", "shares", "storm"):
        guest_program(program, share)
    with open(f"{share}/script", "w", encoding="utf-8") as file:
        file.write(script())
    done = board("--kernel", "debug", "--share", share, "--also", f"pesa={pesa_of_board()}", "--console",
                 f"{share}/console", "--", "bash", "script", limit=1080)
    console = read(f"{share}/console")
parts = script_parts(done.stdout)
why = f"status {done.returncode}\n{done.stdout}{done.stderr}{console}"
tap.check(done.returncode == 0 and "end" in parts, "the debug kernel boots and the script ends", why)
tap.check(parts.get("checkers", "").strip() == "5", "it has the five checkers", parts.get("checkers", why))
for name, command in WORK:
    tap.check("status 0" in parts.get(name, ""), f"recorded: {name}", f"{command}\n{parts.get(name)}")
tap.check(parts.get("leaks", "none").strip() == "", "no memory is lost", parts.get("leaks", why))
tap.check(not FAULTS.search(console), "the kernel reports nothing", "\n".join(
    line for line in console.splitlines() if FAULTS.search(line)) + "\n" + console)
tap.end()
