#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""kernel/series in a debug kernel, which checks memory (KASAN, kmemleak), undefined behaviour, locks, and sleeping in atomic context:
exact samples, branch stacks, call stacks, tasks that are switched, harts that go and come.  It must report nothing."""
import os
import subprocess

from board import TOP, tap
from debug_kernel import check_work

RECORD = "perf record -q -N -B -o /tmp/data"
WORK = [
    ("exact samples", f"{RECORD} -e cycles:ppp -c 50000 ./hot 30000"),
    ("branch stacks", f"{RECORD} -e cycles:ppp -b -c 50000 ./hot 30000"),
    ("filters", f"{RECORD} -e cycles:uppp -j any_call,u,save_type -c 50000 ./stacks chains 300"),
    ("two events with filters", f"{RECORD} -e cycles/branch_type=any_call/uppp -e instructions/branch_type=cond/u -c 50000 ./stacks chains 300"),
    ("call stacks", f"{RECORD} --call-graph lbr -e cycles:uppp -c 50000 ./stacks deep 60 40"),
    ("call stacks of threads", f"{RECORD} --call-graph lbr -e cycles:uppp -c 50000 ./stacks tasks 200"),
    ("call stacks of processes", f"{RECORD} --call-graph lbr -e cycles:uppp -c 50000 ./stacks forks 200"),
    ("call stacks that move", f"{RECORD} --call-graph lbr -e cycles:uppp -c 50000 ./stacks moves 300"),
    ("call stacks and branches in turns", f"{RECORD} -e cycles/branch_type=any/uppp -e instructions/branch_type=stack/u -c 50000 ./stacks chains 300"),
    ("a fork storm with exec", f"{RECORD} --call-graph lbr -e cycles:uppp -c 50000 ./storm 12 500 ./hot 500"),
    ("a hart that goes and comes", f"{RECORD} -a -b -e cycles:ppp -c 200000 sh -c 'echo 0 > $cpu/online; ./hot 10000; echo 1 > $cpu/online; "
                                   "taskset -c 1 ./hot 10000'"),
    # With the checks an interrupt takes longer than some 10,000 cycles, and the SBI driver does not stop events that perf throttles.
    ("a shorter period", f"{RECORD} -b -e cycles:uppp -c 30000 ./hot 2000"),
    ("by a user", f"setpriv --reuid=65534 --regid=65534 --clear-groups {RECORD} -j any,u -e cycles:uppp -c 50000 ./hot 30000"),
    ("refusals", "! perf record -q -o /tmp/data -j in_tx,u true && ! perf record -q -o /tmp/data -j stack,any,u true"),
]
built = subprocess.run([os.path.join(TOP, "tools/board/series"), "debug"], capture_output=True, text=True, check=False)
if not tap.check(not built.returncode, "the debug kernel with all patches builds", built.stderr[-2000:]):
    tap.end()
check_work(WORK, ("hot", "stacks", "storm"), "--without-device", "--without-driver", "--property", "pesa-sspesa=on",
           "--property", "pesa-ctr-depth=32", "--memory", "2G", env={**os.environ, "KERNEL": built.stdout.strip()})
tap.end()
