#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Vector register groups on the virtual core: an instruction waits for every register of its operands, and for no other.

Each loop is a chain through a register that is not the first one of its group.  Its twin is the same chain through the
first one, which llvm-mca sees too: both take the cycles that llvm-mca has for the twin.
"""
import os
import shutil
import tempfile

from steady_loops import build, measured, predicted
from tap import check, core_description, end, needs, skip_all

CORES = os.environ.get("PESA_CORES", "ooo-4 ooo-8").split()
ITERATIONS = 10000

# Test name, LMUL, the loop, its twin.
CHAINS = [
    ("the second half of a widened result", "m1",
     ["vwadd.vv v8,v4,v5", "vadd.vv v4,v9,v9"], ["vwadd.vv v8,v4,v5", "vadd.vv v4,v8,v8"]),
    ("the third register of a widened result under LMUL 2", "m2",
     ["vwmul.vv v8,v4,v16", "vadd.vv v4,v10,v10"], ["vwmul.vv v8,v4,v16", "vadd.vv v4,v8,v8"]),
    ("the second half of what is narrowed", "m1",
     ["vnsrl.wi v4,v8,0", "vadd.vv v9,v4,v4"], ["vnsrl.wi v4,v8,0", "vadd.vv v8,v4,v4"]),
    ("the second half of a wide source", "m1",
     ["vwadd.wv v8,v12,v5", "vadd.vv v13,v9,v9"], ["vwadd.wv v8,v12,v5", "vadd.vv v12,v8,v8"]),
    ("whole registers", "m1",
     ["vmv2r.v v8,v4", "vadd.vv v5,v9,v9"], ["vmv2r.v v8,v4", "vadd.vv v4,v8,v8"]),
]

# What does not touch each other, and a twin that is as long.
APART = [
    ("neighbours of single registers", "m1", ["vadd.vv v8,v8,v8", "vadd.vv v9,v9,v9"], ["vadd.vv v8,v8,v8"]),
    ("neighbours of groups", "m2", ["vadd.vv v8,v8,v8", "vadd.vv v10,v10,v10"], ["vadd.vv v8,v8,v8"]),
    ("the neighbour of the one register of a sum", "m2",
     ["vredsum.vs v8,v12,v16", "vredsum.vs v12,v20,v9"], ["vredsum.vs v8,v12,v16", "vredsum.vs v12,v20,v28"]),
]


if not shutil.which("llvm-mca-22"):
    skip_all(needs("llvm-22"))
work = tempfile.mkdtemp(prefix="pesa-vector-groups-")
os.chdir(work)
pairs = CHAINS + APART
loops = [(body, lmul) for _, lmul, one, other in pairs for body in (one, other)]
build(loops, ITERATIONS)
for core in CORES:
    prediction = predicted(core_description(core)["model"], loops, "+v")
    found = measured(core, ITERATIONS)
    for i, (what, lmul, _, _) in enumerate(pairs):
        cycles, twin, expected = found[f"loop_{2 * i}"], found[f"loop_{2 * i + 1}"], prediction[2 * i + 1]
        check(abs(cycles - expected) <= 0.03 * expected and abs(twin - expected) <= 0.03 * expected,
              f"{core}: {what}", f"{cycles:.2f} cycles an iteration, its twin {twin:.2f}, llvm-mca {expected:.2f}")

shutil.rmtree(work)
end()
