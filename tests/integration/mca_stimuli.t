#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""pesa mca with external stimuli: results computed by hand, and invalid input."""
import json
import os
import random
import shutil
import subprocess
import tempfile

from tap import PESA, check, end, needs, skip_all

UNIT = 360360

# Out of order: dispatched in cycle 0, issued from cycle 1 on, retired a cycle after execution.
MODEL = """pesa-processor-model 1
name Example
processor example rv64imafdcv
issue-width 4
micro-op-buffer 64
mispredict-penalty 7
resource ALU units=4
resource MEM units=1
group ANY ALU MEM
class add uops=1 latency=1 uses=ALU
\tADD ADDI
class multiply uops=1 latency=5 uses=ALU
\tMUL
class branch uops=1 latency=1 uses=ALU
\tBNE BEQ JAL JALR
class load uops=1 latency=4 uses=MEM
\tLD LW FLD LR_D VLE8_V
class store uops=1 latency=1 uses=MEM
\tSD
class none uops=1
\tFENCE
end
"""


def run(text, *options, cpu="./example.model"):
    result = subprocess.run([PESA, "mca", "-mcpu=" + cpu, "--cycle-stack", *options, "-"], input=text,
                            capture_output=True, text=True)
    return result.returncode, result.stdout, result.stderr


def mca(text, *options, cpu="./example.model"):
    status, output, errors = run(".option norvc\n" + text, "--json", *options, cpu=cpu)
    if status:
        return {"error": errors, "SummaryView": {"TotalCycles": -1}, "CycleStackView": {"Instructions": []}}
    region = json.loads(output)["CodeRegions"][0]
    view = region["CycleStackView"]
    region["conserved"] = sum(entry["Weight"] for entry in view["Instructions"]) == view["Cycles"] * UNIT
    return region


def cycles(region):
    return region["SummaryView"]["TotalCycles"]


def stack(region, index=0):
    entries = region["CycleStackView"]["Instructions"]
    return {f"{state}+{cause}": value for state, causes in entries[index]["CycleStack"].items()
            for cause, value in causes.items()} if entries else region.get("error")


def fails(what, expected, status, *options, text="nop\n"):
    found, output, errors = run(text, *options)
    check(found == status and errors.count("\n") == 1 and expected in errors, what, f"{found}: {output}{errors}")


if not any(shutil.which(name) for name in ("llvm-mc", "llvm-mc-22", "clang", "riscv64-linux-gnu-as")):
    skip_all(needs("clang"))
directory = tempfile.TemporaryDirectory()
os.chdir(directory.name)
with open("example.model", "w") as file:
    file.write(MODEL)
with open("unpunished.model", "w") as file:
    file.write(MODEL.replace("mispredict-penalty 7\n", ""))
N = 100
times = f"-iterations={N}"

# A branch takes L cycles, the next one comes P cycles after it has executed.
branch = "bne a0, a1, -4\n"
L = 1
for P in (3, 20):
    found = mca(branch, times, "--mispredict-rate=1", f"--mispredict-penalty={P}")
    check(cycles(found) == (N - 1) * (1 + L + P) + L + 3, f"every branch mispredicted, penalty {P}",
          (cycles(found), found.get("error")))
    # It is stalled from the cycle in which it comes; the flush begins behind the retirement, which is a cycle after the execution.
    expected = {"stalled+mispredict": N * (L + 2), "retiring+mispredict": N, "flushed+mispredict": (N - 1) * (P - 2)}
    check(stack(found) == expected and found["conserved"], f"its cycle stack, penalty {P}", (stack(found), expected))
found, expected = mca(branch, times, "--mispredict-rate=100%"), mca(branch, times, "--mispredict-rate=1",
                                                                    "--mispredict-penalty=7")
check(cycles(found) == cycles(expected) > 0, "the penalty is the model's unless given", cycles(found))
found, expected = mca(branch, times, "--mispredict-rate=0"), mca(branch, times)
check(cycles(found) == cycles(expected) > 0, "no branch mispredicted is no change", cycles(found))
found = mca(branch, "-iterations=1000", "--mispredict-rate=0.25", "--mispredict-penalty=1000")
mispredicted = stack(found)["flushed+mispredict"] / 999
check(abs(mispredicted - 250) <= 3, "a quarter mispredicted", mispredicted)
found = mca("beq a0, a1, 8\nbeq a2, a3, 8\n" * 5, "-iterations=1000", "--mispredict-rate=10%",
            "--mispredict-penalty=1000")
shares = [stack(found, i).get("flushed+mispredict", 0) / 999 for i in range(10)]
check(all(abs(share - 100) <= 12 for share in shares), "every branch of a loop has its share of them", shares)
found, expected = mca("jal x0, -4\n", times, "--mispredict-rate=1"), mca("jal x0, -4\n", times)
check(cycles(found) == cycles(expected) > 0, "a direct jump is never mispredicted", cycles(found))
# In order: issued in cycle c, executed and retired in c + 1.
for P in (3, 20):
    found = mca(branch, times, "--mispredict-rate=1", f"--mispredict-penalty={P}", cpu="rocket")
    expected = {"drained+none": 1, "retiring+mispredict": N, "flushed+mispredict": (N - 1) * P}
    check(cycles(found) == (N - 1) * (1 + P) + 2 and stack(found) == expected and found["conserved"],
          f"in order, penalty {P}", (cycles(found), stack(found), found.get("error")))

# Dependent loads.
for K in (1, 4, 30):
    found = mca("ld a0, 0(a0)\n", times, f"--load-latency={K}")
    check(cycles(found) == N * K + 3, f"dependent loads of {K} cycles", (cycles(found), found.get("error")))
    found = mca("lw a0, 0(a0)\n", times, f"--load-latency={K}", cpu="rocket")
    check(cycles(found) == N * K + 1, f"in order, of {K} cycles", (cycles(found), found.get("error")))
check(not any("D$miss" in key for key in stack(found)), "loads of one latency do not miss", stack(found))
found = mca("ld a0, 0(a0)\n", "-iterations=1000", "--load-latency=2:50%,10:0.5")
check(abs(cycles(found) - 6003) <= 24 and found["conserved"], "a distribution of latencies has its mean", cycles(found))
missed = stack(found)
check(abs(missed.get("stalled+D$miss", 0) - 500 * 9) <= 40 and 0 < missed.get("retiring+D$miss", 0) <= 504,
      "the longer ones miss", missed)
found = mca("ld a0, 0(a0)\n", "-iterations=1000", "--load-latency=2:0.2,10:50%,20:0.3")
check(abs(cycles(found) - 11403) <= 60, "a distribution of three latencies has its mean", cycles(found))
found, expected = mca("fld fa0, 0(a0)\nlr.d a0, (a0)\n", times, "--load-latency=50"), mca("lr.d a0, (a0)\n", times)
check(cycles(expected) < cycles(found) <= cycles(expected) + 51, "atomic loads keep the model's latency",
      (cycles(found), cycles(expected)))

# The front end.
for width in (1, 2, 3):
    found = mca("add a0, s0, s1\n" * 6, times, f"--fetch-width={width}")
    check(cycles(found) == 6 * N // width + 3, f"a front end that delivers {width}", cycles(found))
found = mca("add a0, s0, s1\njal x0, -4\n", times)
check(cycles(found) == N // 2 + 3, "two iterations a cycle", cycles(found))
found = mca("add a0, s0, s1\njal x0, -4\n", times, "--taken-branches=1")
check(cycles(found) == N + 3 and found["conserved"], "a taken branch ends what is fetched", cycles(found))
found = mca("beq a0, a1, 8\nadd a0, s0, s1\nbeq a0, a1, 8\nbne a0, a1, -12\n", times, "--taken-branches=1")
expected = mca("beq a0, a1, 8\nadd a0, s0, s1\nbeq a0, a1, 8\nbne a0, a1, -12\n", times)
check(cycles(found) == cycles(expected) > 0, "a branch that is not taken does not", cycles(found))
# Ahead of dispatch: what a taken branch leaves of a cycle's fetch is made up for by the next ones.
jump = "add a0, s0, s1\njal x0, 20\n" + "add a0, s0, s1\n" * 4
found = mca(jump, times, "--fetch-width=8", "--taken-branches=1")
check(cycles(found) == 2 * N + 3, "without a buffer a cycle up to the jump and one behind it", cycles(found))
found = mca(jump, times, "--fetch-width=8", "--taken-branches=1", "--fetch-buffer=16")
check(1.5 * N + 3 <= cycles(found) <= 1.5 * N + 5 and found["conserved"], "with one the width of dispatch", cycles(found))
found = mca("add a0, s0, s1\njal x0, -4\n", times, "--taken-branches=1", "--fetch-buffer=16")
check(N <= cycles(found) <= N + 5, "one taken branch a cycle is one with a buffer too", cycles(found))
for buffer in ("1", "2"):
    found = mca("add a0, s0, s1\n" * 4, times, "--fetch-buffer=" + buffer)
    check(cycles(found) == 4 * N // int(buffer) + 3, "no more than the buffer holds", cycles(found))
ahead = ["--mispredict-rate=1", "--mispredict-penalty=9", "--fetch-buffer=16"]
found, expected = (mca("add a0, s0, s1\nbne a0, a1, -4\n", times, *options) for options in (ahead, ahead[:2]))
check(cycles(found) == cycles(expected) and stack(found, 1) == stack(expected, 1), "a misprediction empties it",
      (cycles(found), cycles(expected)))

# Changes of the model.
found = mca("mul a0, a0, a1\n", times, "--set=mul.latency=9")
check(cycles(found) == N * 9 + 3, "--set of a latency", (cycles(found), found.get("error")))
found = mca("mul a0, a0, a1\n", times, "--set=multiply.latency=9", "--set", "MUL.latency=11")
check(cycles(found) == N * 11 + 3, "--set by the name of the class; the last one holds", cycles(found))
found = mca("mul a0, s0, s1\n" * 4, times, "--set=mul.ALU=3")
check(cycles(found) == 3 * N + 5, "--set of the cycles of a resource", (cycles(found), found.get("error")))
found = mca("add a0, s0, s1\n", times, "--set=add.uops=4")
check(cycles(found) == N + 3, "--set of micro-ops", (cycles(found), found.get("error")))
text = "ld a1, 0(a0)\nmul a2, a2, a1\nadd a0, a0, a3\nbne a0, a5, -12\n"
found = mca(text, times, "--set=ld.latency=6", "--what-if=mul.latency=2", "--what-if=add.latency=3",
            "--mispredict-rate=0.2")
view = found.get("WhatIfView", {"Instructions": []})
before = mca(text, times, "--set=ld.latency=6", "--mispredict-rate=0.2")
after = mca(text, times, "--set=ld.latency=6", "--set=mul.latency=2", "--set=add.latency=3", "--mispredict-rate=0.2")
for key, region in ("Before", before), ("After", after):
    check(view.get("Cycles" + key) == cycles(region) and
          [entry[key]["Weight"] for entry in view["Instructions"]] ==
          [entry["Weight"] for entry in region["CycleStackView"]["Instructions"]] and
          [entry[key]["CycleStack"] for entry in view["Instructions"]] ==
          [entry["CycleStack"] for entry in region["CycleStackView"]["Instructions"]],
          f"--what-if: {key.lower()} is what a run of its own gives", view)
check(cycles(found) == cycles(before) and view.get("Changes") == ["mul.latency=2", "add.latency=3"],
      "the other views are those before the change", view)
status, output, errors = run(".option norvc\n" + text, times, "--what-if=mul.latency=2")
after = mca(text, times, "--set=mul.latency=2")
before = mca(text, times)
check(f"Total Cycles:      {cycles(before)} before, {cycles(after)} after" in output, "and as text", output)

# Whatever is given, every cycle is someone's, and the machine is not faster for it.
random.seed(1)
pick = lambda: random.choice(["a0", "a1", "a2", "a3", "s0", "s1"])
LINES = (lambda: f"add {pick()}, {pick()}, {pick()}", lambda: f"lw {pick()}, 8({pick()})",
         lambda: f"sw {pick()}, 8({pick()})", lambda: f"bne {pick()}, {pick()}, 8", lambda: f"mul {pick()}, {pick()}, s1",
         lambda: f"jalr x0, 0({pick()})", lambda: f"div {pick()}, {pick()}, s1")
GIVEN = (["--mispredict-rate=0.3", "--mispredict-penalty=9"], ["--fetch-width=1"],
         ["--fetch-width=3", "--fetch-buffer=7", "--taken-branches=1", "--mispredict-rate=0.2", "--mispredict-penalty=5"],
         ["--fetch-width=2", "--taken-branches=1", "--mispredict-rate=1", "--mispredict-penalty=0"])
for cpu in ("rocket", "sifive-u74", "spacemit-x60", "andes-ax45", "sifive-p670", "xiangshan-nanhu", "mips-p8700"):
    text = ""
    for i in range(15):
        block = "".join(random.choice(LINES)() + "\n" for _ in range(random.randint(1, 10)))
        text += f"# LLVM-MCA-BEGIN b{i}\n{block}# LLVM-MCA-END b{i}\n"
    runs = []
    for given in ([], *GIVEN, ["--load-latency=1:0.5,40:0.5", *GIVEN[0]]):
        status, output, errors = run(".option norvc\n" + text, "--json", "-mattr=+m,+zmmul", "-iterations=20", *given, cpu=cpu)
        runs.append(json.loads(output)["CodeRegions"] if status == 0 else [])
    views = [[region["CycleStackView"] for region in regions] for regions in runs]
    broken = [view for regions in views for view in regions if
              sum(entry["Weight"] for entry in view["Instructions"]) != view["Cycles"] * UNIT or
              any(entry["Executions"] != 20 for entry in view["Instructions"])]
    check(not broken and all(len(regions) == 15 for regions in views), f"{cpu}: every cycle is someone's",
          broken[:1] or errors)
    # An out-of-order machine may choose better for being late: a few cycles are not a contradiction.
    faster = [(before["Cycles"], after["Cycles"]) for regions in views[1:4] for before, after in zip(views[0], regions)
              if after["Cycles"] < 0.95 * before["Cycles"]]
    check(not faster, f"{cpu}: limits do not make it faster", faster)

fails("a change that is none", "'add': expected CLASS.latency=CYCLES", 1, "--set=add")
fails("a change without a number", "expected CLASS.latency=CYCLES", 1, "--what-if=add.latency=x")
fails("an unknown class", "no class or SchedWrite 'nothing', and there is no such instruction", 1, "--set=nothing.latency=1")
fails("an instruction that is not supported", "does not support the instruction 'div'", 1, "--set=div.latency=1")
fails("an unknown resource", "expected latency, uops, advance or a resource", 1, "--set=add.FPU=1")
fails("a resource that is not used", "does not use the resource MEM", 1, "--set=add.MEM=1")
fails("a latency out of range", "between 0 and 32767", 1, "--set=add.latency=40000")
fails("no micro-op", "at least one micro-op", 1, "--set=add.uops=0")
fails("no latency", "no latency to change", 1, "--set=fence.latency=1")
fails("a rate above 1", "-mispredict-rate=1.5: expected a share", 2, "--mispredict-rate=1.5")
fails("a rate that is none", "-mispredict-rate=nan: expected", 2, "--mispredict-rate=nan")
fails("a penalty without a rate", "no effect without --mispredict-rate", 1, "--mispredict-penalty=3")
fails("shares that do not add up", "shares that add up to 1", 2, "--load-latency=1:0.5,2:0.4")
fails("a latency of 0", "cycles from 1", 2, "--load-latency=0")
fails("a distribution without shares", "add up to 1", 2, "--load-latency=1,2")
fails("a width of 0", "a number from 1", 2, "--fetch-width=0")
fails("nothing is run", "--instruction-tables runs nothing", 2, "--instruction-tables", "--fetch-width=1")
status, output, errors = run("nop\n", "--mispredict-rate=1", cpu="./unpunished.model")
check(status == 1 and "give it with --mispredict-penalty" in errors, "a model without a penalty", errors)
end()
