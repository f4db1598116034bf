#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""All kinds of recordings in a debug kernel, which checks memory (KASAN, kmemleak), undefined behaviour, locks, and sleeping
in atomic context.  It must report nothing."""
import tempfile

from board import IN_TREE, core_with_transfers, pesa_of_board, tap
from debug_kernel import check_work

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
    ("AutoRun", f"{PESA} -e pesa/cycles,autorun=1/ -c 50000 -- ./hot 30000"),
    ("branch stacks", "perf record -q -N -B -j any -e pesa/cycles/ -c 50000 -o /tmp/stock ./hot 30000"),
    ("call stacks of threads", "perf record -q -N -B --call-graph lbr -e pesa/cycles/u -c 50000 -o /tmp/stock ./shares 30 60 120 180 240"),
]
if IN_TREE:
    WORK += [
        ("samples of counters at the same time", "perf record -q -N -B -e pesa/cycles/ -c 50000 -e cycles/period=60000,branch_type=any/u "
                                                 "-o /tmp/stock ./hot 30000"),
        ("branch stacks of both are refused", "! perf record -q -N -j any,u -e pesa/cycles/u -e cycles:u -c 50000 -o /tmp/stock ./hot 1"),
    ]
else:
    WORK.append(("a driver that is unloaded", "for i in 1 2 3 4 5; do rmmod pesa && insmod /board/pesa.ko || exit 1; done"))
with tempfile.TemporaryDirectory(prefix="pesa-core-") as work:
    check_work(WORK, ("hot", "shares", "storm"), "--kernel", "debug", "--core", core_with_transfers(work, 32), "--also", f"pesa={pesa_of_board()}")
tap.end()
