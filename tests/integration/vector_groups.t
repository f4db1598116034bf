#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Vector register groups on the virtual core: an instruction waits for every register of its operands, and for no other.

Each loop is a chain through a register that is not the first one of its group.  Its twin is the same chain through the
first one, which llvm-mca sees too: both take the cycles that llvm-mca has for the twin.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

from tap import PESA, GUEST_CC, bail_out, check, core_description, end

CORES = os.environ.get("PESA_CORES", "ooo-4 ooo-8").split()
ITERATIONS = 10000

# What it shows, LMUL, the loop, its twin.
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


def guest(loops):
    with open("loops.S", "w", encoding="ascii") as file:
        file.write(".option norvc\n.text\n.globl main\nmain:\naddi sp,sp,-16\nsd ra,0(sp)\n")
        file.writelines(f"call loop_{i}\n" for i in range(len(loops)))
        file.write("ld ra,0(sp)\naddi sp,sp,16\nli a0,0\nret\n")
        for i, (lmul, body) in enumerate(loops):
            file.write(f".balign 64\n.type loop_{i},@function\nloop_{i}:\nvsetvli t5,zero,e32,{lmul},ta,ma\nli t6,{ITERATIONS}\n"
                       ".balign 64\n1:\n" + "\n".join(body) + f"\naddi t6,t6,-1\nbnez t6,1b\nret\n.size loop_{i},.-loop_{i}\n")
    made = subprocess.run(["clang-22" if shutil.which("clang-22") else "clang", "--target=riscv64-linux-gnu", "-march=rv64gcv1p0",
                           "-c", "loops.S", "-o", "loops.o"], capture_output=True, text=True)
    if not made.returncode:
        made = subprocess.run([GUEST_CC, "-static", "loops.o", "-o", "loops"], capture_output=True, text=True)
    if made.returncode:
        bail_out("cannot build the loops:", made.stderr[:500].replace("\n", " "))


def measured(core):
    """Cycles of an iteration by loop, from the golden reference."""
    subprocess.run([PESA, "record", "-q", "-o", "perf.data", "--golden", "golden.data", "--cpu", "rv64,v=true,vlen=128",
                    "--core", core, "--", "./loops"], check=True)
    done = subprocess.run([PESA, "report", "-i", "golden.data", "--json"], capture_output=True, text=True, check=True)
    return {row["symbol"]: row["cycles"] / ITERATIONS for row in json.loads(done.stdout)["functions"]}


def predicted(model, loops):
    """Cycles of an iteration by loop, as llvm-mca has them: the difference of two runs."""
    with open("mca.s", "w", encoding="ascii") as file:
        for i, (lmul, body) in enumerate(loops):
            file.write(f"# LLVM-MCA-BEGIN loop_{i}\n# LLVM-MCA-RISCV-LMUL {lmul.upper()}\n# LLVM-MCA-RISCV-SEW E32\n"
                       + "\n".join(body) + "\naddi t6,t6,-1\nbnez t6,loop\n# LLVM-MCA-END\n")
    cycles = []
    for iterations in (200, 400):
        done = subprocess.run(["llvm-mca-22", "-mtriple=riscv64", "-mcpu=" + model, "-mattr=+v", "-resource-pressure=0",
                               "-instruction-info=0", f"-iterations={iterations}", "mca.s"], capture_output=True, text=True)
        if done.returncode:
            bail_out("llvm-mca:", done.stderr[:500].replace("\n", " "))
        cycles.append([int(value) for value in re.findall(r"Total Cycles:\s+(\d+)", done.stdout)])
    return [(second - first) / 200 for first, second in zip(*cycles)]


if not shutil.which("llvm-mca-22"):
    print("1..0 # SKIP no llvm-mca-22")
    sys.exit(0)
work = tempfile.mkdtemp(prefix="pesa-vector-groups-")
os.chdir(work)
pairs = CHAINS + APART
loops = [(lmul, body) for _, lmul, one, other in pairs for body in (one, other)]
guest(loops)
for core in CORES:
    prediction = predicted(core_description(core)["model"], loops)
    found = measured(core)
    for i, (what, lmul, _, _) in enumerate(pairs):
        cycles, twin, expected = found[f"loop_{2 * i}"], found[f"loop_{2 * i + 1}"], prediction[2 * i + 1]
        check(abs(cycles - expected) <= 0.03 * expected and abs(twin - expected) <= 0.03 * expected,
              f"{core}: {what}", f"{cycles:.2f} cycles an iteration, its twin {twin:.2f}, llvm-mca {expected:.2f}")

shutil.rmtree(work)
end()
