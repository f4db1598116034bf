#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Errors of pesa record on the board: one line each, with a hint.  They need no samples, so the harts have no timing
model."""
import tempfile

from board import FAULTS, board, guest_program, pesa_of_board, read, script_parts, tap

PESA = "/pesa/bin/pesa record -o /tmp/data"
USER = "setpriv --reuid=65534 --regid=65534 --clear-groups"
PARANOID = "/proc/sys/kernel/perf_event_paranoid"
# Name, command, exit status, and texts in the error line.
WITHOUT_DEVICE = [
    ("no PMU, and nothing less will do", f"{PESA} --require details -- ./hot 10", 1, ("no PMU 'pesa'", "pesa doctor")),
    ("no PMU, all CPUs", f"{PESA} --require details -a --duration 1", 1, ("no PMU 'pesa'", "pesa doctor")),
    ("no PMU, its event", f"{PESA} -e pesa/cycles/ -- ./hot 10", 1, ("no PMU 'pesa'",)),
]
WITH_DEVICE = [
    ("period below the minimum, which is taken", f"{PESA} -q -c 255 -- ./hot 10", 0, ("255", "every 256 cycles")),
    ("period beyond the counter", f"{PESA} -c 2147483649 -- ./hot 10", 1, ("2147483649", "256 to ")),
    ("period whose jitter the counter does not hold", f"{PESA} -c 2147483648 -- ./hot 10", 1, ("256 to ",)),
    ("frequency that no period gives", f"{PESA} -F 20000000 -- ./hot 10", 1, ("perf_event_max_sample_rate",)),
    ("unknown event", f"{PESA} -e pesa/stalls/ -- ./hot 10", 1, ("stalls", "/events", "/format")),
    ("unknown configuration", f"{PESA} -e pesa/event=2/ -- ./hot 10", 1, ("refuses event pesa/event=2/", "format")),
    ("bits beyond a term", f"{PESA} -e pesa/cycles,fixed=2/ -- ./hot 10", 1, ("fixed", "0x2")),
    ("ring that holds no sample", f"{PESA} -m 1 -g dwarf -- ./hot 10", 1, ("too small", "-m ")),
    ("hart that is not there", f"{PESA} -C 7 -- ./hot 10", 1, ("CPU 7 is not online",)),
    ("user, all CPUs", f"{USER} {PESA} -a --duration 1", 1, ("CAP_PERFMON", f"{PARANOID} at 0", "it is 2")),
    ("user, the kernel", f"{USER} {PESA} -e pesa/cycles/k -- ./hot 10", 1, ("CAP_PERFMON", f"{PARANOID} at 1", "it is 2")),
    ("user, another's process", f"{USER} {PESA} -e pesa/cycles/u -p 1", 1, ("another user", "CAP_PERFMON")),
    ("user, large rings", f"{USER} {PESA} -e pesa/cycles/u -m 64M -- ./hot 10", 1, ("perf_event_mlock_kb", "-m")),
    ("user", f"{USER} {PESA} -q -- ./hot 10", 0, ("only user mode", "CAP_PERFMON", f"{PARANOID} at 1", "it is 2")),
    ("user with the privilege", f"{USER} --inh-caps=+perfmon --ambient-caps=+perfmon {PESA} -q -- ./hot 10", 0, ("kptr_restrict",)),
    ("driver unloaded", f"rmmod pesa; {PESA} --require details -- ./hot 10", 1, ("no PMU 'pesa'", "pesa doctor")),
    ("another event, when asked for", f"{PESA} -q -e cpu-clock -- ./hot 10", 0, ()),
]


def run(cases, *words):
    lines = ["chmod 1777 /tmp"]
    for name, command, _, _ in cases:
        lines.append(f'rm -f /tmp/data; echo "== {name}"; {{ {command} > /dev/null; echo "status $?"; }} 2>&1')
    with open(f"{share}/script", "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    done = board("--share", share, "--also", f"pesa={pesa_of_board()}", "--console", f"{share}/console",
                 "--without-timing", *words, "--", "bash", "script", limit=400)
    console = read(f"{share}/console")
    tap.check(done.returncode == 0, "the script ends", f"{done.returncode}\n{done.stdout}{done.stderr}{console}")
    parts = script_parts(done.stdout)
    for name, command, status, texts in cases:
        lines = parts.get(name, "").splitlines()
        tap.check(lines and lines[-1] == f"status {status}" and len(lines) == (2 if texts else 1) and
                  all(text in lines[0] for text in texts), f"{name}: in a line", f"{command}\n{parts.get(name)}")
    tap.check(not FAULTS.search(console), "the kernel complains of nothing", console)


with tempfile.TemporaryDirectory(prefix="pesa-refused-") as share:
    guest_program("hot", share)
    run(WITHOUT_DEVICE, "--without-device", "--without-driver")
    run(WITH_DEVICE)
tap.end()
