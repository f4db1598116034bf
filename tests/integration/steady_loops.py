# SPDX-License-Identifier: GPL-2.0-or-later
"""Loops of a few instructions, each a function of one guest program: what an iteration costs on the virtual core, and what
llvm-mca has for it.  A loop is its lines and its LMUL, which is None where there are no vectors.  The lines may use all
registers but sp, t5 and t6; a0 and a1 point to 4096 bytes to read and 4096 bytes to write."""
import json
import re
import shutil
import subprocess

from tap import PESA, GUEST_CC, bail_out


def build(loops, iterations, extensions=""):
    """Make the program ./loops; `extensions` beside rv64gc, and vectors where a loop has them."""
    with open("loops.S", "w", encoding="ascii") as file:
        file.write(".option norvc\n.bss\n.balign 4096\nread: .space 4096\nwritten: .space 4096\n.text\n.globl main\nmain:\n"
                   "addi sp,sp,-64\nsd ra,0(sp)\nsd s2,8(sp)\nsd s3,16(sp)\nsd s4,24(sp)\nsd s5,32(sp)\n"
                   "la a0,read\nla a1,written\n")
        file.writelines(f"call loop_{i}\n" for i in range(len(loops)))
        file.write("ld ra,0(sp)\nld s2,8(sp)\nld s3,16(sp)\nld s4,24(sp)\nld s5,32(sp)\naddi sp,sp,64\nli a0,0\nret\n")
        for i, (body, lmul) in enumerate(loops):
            file.write(f".balign 64\n.type loop_{i},@function\nloop_{i}:\n"
                       + (f"vsetvli t5,zero,e32,{lmul},ta,ma\n" if lmul else "") + f"li t6,{iterations}\n.balign 64\n1:\n"
                       + "\n".join(body) + f"\naddi t6,t6,-1\nbnez t6,1b\nret\n.size loop_{i},.-loop_{i}\n")
    march = ("rv64gcv1p0" if any(lmul for _, lmul in loops) else "rv64gc") + extensions
    made = subprocess.run(["clang-22" if shutil.which("clang-22") else "clang", "--target=riscv64-linux-gnu", "-march=" + march,
                           "-c", "loops.S", "-o", "loops.o"], capture_output=True, text=True)
    if not made.returncode:
        made = subprocess.run([GUEST_CC, "-static", "loops.o", "-o", "loops"], capture_output=True, text=True)
    if made.returncode:
        bail_out("cannot build the loops:", made.stderr[:500].replace("\n", " "))


def measured(core, iterations):
    """Cycles of an iteration by loop, from the golden reference: {"loop_0": ...}."""
    subprocess.run([PESA, "record", "-q", "-o", "perf.data", "--golden", "golden.data", "--cpu", "rv64,v=true,vlen=128",
                    "--core", core, "--", "./loops"], check=True)
    done = subprocess.run([PESA, "report", "-i", "golden.data", "--json"], capture_output=True, text=True, check=True)
    return {row["symbol"]: row["cycles"] / iterations for row in json.loads(done.stdout)["functions"]}


def predicted(model, loops, features):
    """Cycles of an iteration by loop, as llvm-mca has them: the difference of two runs."""
    with open("mca.s", "w", encoding="ascii") as file:
        for i, (body, lmul) in enumerate(loops):
            file.write(f"# LLVM-MCA-BEGIN loop_{i}\n")
            if lmul:
                file.write(f"# LLVM-MCA-RISCV-LMUL {lmul.upper()}\n# LLVM-MCA-RISCV-SEW E32\n")
            file.write("\n".join(body) + "\naddi t6,t6,-1\nbnez t6,loop\n# LLVM-MCA-END\n")
    cycles = []
    for iterations in (200, 400):
        done = subprocess.run(["llvm-mca-22", "-mtriple=riscv64", "-mcpu=" + model, "-mattr=" + features, "-resource-pressure=0",
                               "-instruction-info=0", f"-iterations={iterations}", "mca.s"], capture_output=True, text=True)
        if done.returncode:
            bail_out("llvm-mca:", done.stderr[:500].replace("\n", " "))
        cycles.append([int(value) for value in re.findall(r"Total Cycles:\s+(\d+)", done.stdout)])
    return [(second - first) / 200 for first, second in zip(*cycles)]
