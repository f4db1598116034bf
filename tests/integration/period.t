#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Period effects: loops whose length in cycles divides the sampling period, with a fixed period and with the default.

The statistic is the distance of the sampled instruction profile from the golden one over the floor, which is the distance
that ideal random sampling of as many cycles is expected to have (both from `pesa error`).  One sample moves the distance
by at most 1/n.  So, for n independent samples, it exceeds its expectation by t with a probability of at most
exp(-2 n t^2) (C. McDiarmid, "On the method of bounded differences", 1989): 1e-6 at t = sqrt(ln(1e6) / (2 n)).
A fixed period must exceed floor + t, the default must not.
"""
import json
import math
import os
import shutil
import subprocess
import tempfile

from tap import PESA, GUEST_CC, bail_out, check, end

SAMPLES = int(os.environ.get("PERIOD_SAMPLES", "4000"))
CORES = ("inorder-2", "ooo-4")
LOOPS = {
    "dependent adds": "addi t0, t0, 1\n" * 30,
    "a divide, a multiply, loads": "divu t0, t1, t2\nadd t3, t0, t1\nmul t3, t3, t2\nand t3, t3, zero\nadd t3, t3, s1\n"
                                   "ld t4, 0(t3)\nand t4, t4, zero\nadd t1, t4, t5\nadd t1, t1, t0\nxor t1, t1, t0\n",
}


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    if done.returncode:
        bail_out(" ".join(command), done.stderr)
    return done.stdout


def assemble(name, body, count):
    with open(name + ".s", "w", encoding="ascii") as file:
        file.write(f".option norvc\n.globl _start\n_start: li s0, {count}\nla s1, memory\nli t1, 1000003\nli t5, 1000003\n"
                   f"li t2, 7\n.balign 64\n1:\n{body}addi s0, s0, -1\nbnez s0, 1b\nli a0, 0\nli a7, 93\necall\n"
                   ".bss\n.balign 64\nmemory: .skip 64\n")
    run(GUEST_CC, "-nostdlib", "-static", "-march=rv64gc", "-o", name, name + ".s")


def cycles(core, name):
    run(PESA, "stat", "-e", "CYCLES.HART", "--json=counts", "--core", core, "--", "./" + name)
    with open("counts", encoding="utf-8") as file:
        return json.load(file)["events"][0]["value"]


work = tempfile.mkdtemp(prefix="pesa-period-")
os.chdir(work)
for core in CORES:
    for loop, body in LOOPS.items():
        assemble("one", body, 1000)
        assemble("two", body, 2000)
        length = (cycles(core, "two") - cycles(core, "one")) / 1000
        check(length == int(length), f"{core}: {loop}: {length:g} cycles each time")
        # Two turns or more fit into the range of the jitter, which is a quarter of the period.
        period = int(length) * max(8, math.ceil(512 / length))
        assemble("program", body, SAMPLES * period // int(length))
        for how, jitter in (("fixed period", ["--jitter", "0"]), ("default jitter", [])):
            run(PESA, "record", "-q", "-c", str(period), *jitter, "--core", core, "-o", "perf.data", "--golden", "golden.data",
                "--", "./program")
            result = json.loads(run(PESA, "error", "--json", "--golden", "golden.data", "-i", "perf.data"))
            error, floor = result["instruction"]["error"], result["instruction"]["floor"]
            ratio = error / floor
            most = 1 + math.sqrt(math.log(1e6) / (2 * result["samples"])) / floor
            what = f"{core}: {loop}, period of {period} cycles, {how}: "
            why = f"{ratio:.2f} x floor ({error:.2%}, floor {floor:.2%}, {result['samples']} samples), bound {most:.2f}"
            check((ratio > most) == bool(jitter), what + why, why)

shutil.rmtree(work)
end()
