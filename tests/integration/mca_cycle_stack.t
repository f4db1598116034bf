#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""pesa mca --cycle-stack: shares computed by hand, conservation, and the timeline as an oracle."""
import json
import os
import random
import shutil
import subprocess

from tap import PESA, check, end, needs, skip_all

UNIT = 360360
BLOCKS = int(os.environ.get("MCA_STACK_BLOCKS", "25"))


def mca(text, *options):
    result = subprocess.run([PESA, "mca", "--cycle-stack", "--json", *options, "-"], input=text,
                            capture_output=True, text=True)
    if result.returncode:
        print("#", result.stderr.strip())
        return []
    return json.loads(result.stdout)["CodeRegions"]


def stacks(region):
    return [{(state, cause): round(cycles * UNIT) for state, causes in entry["CycleStack"].items()
             for cause, cycles in causes.items()} for entry in region["CycleStackView"]["Instructions"]]


def block():
    registers = ["a0", "a1", "a2", "a3", "a4", "a5", "t0", "t1"]
    pick = lambda: random.choice(registers)
    lines = []
    for _ in range(random.randint(1, 12)):
        lines.append(random.choice([
            lambda: f"{random.choice(['add', 'sub', 'xor', 'sll'])} {pick()}, {pick()}, {pick()}",
            lambda: f"addi {pick()}, {pick()}, {random.randint(-9, 9)}",
            lambda: f"{random.choice(['mul', 'div', 'remu'])} {pick()}, {pick()}, {pick()}",
            lambda: f"lw {pick()}, {4 * random.randint(0, 9)}({pick()})",
            lambda: f"sw {pick()}, {4 * random.randint(0, 9)}({pick()})",
        ])())
    return "".join(line + "\n" for line in lines)


def by_timeline(region, in_order):
    """The same from the timeline: in which cycle each instruction was dispatched and retired."""
    entries = region["TimelineView"]["TimelineInfo"]
    count = len(region["Instructions"])
    cycles = region["SummaryView"]["TotalCycles"]
    result = [{} for _ in range(count)]
    for cycle in range(cycles):
        now = [i for i, entry in enumerate(entries) if entry["CycleRetired"] == cycle]
        if now:
            for i in now:
                bucket = result[i % count]
                bucket["retiring"] = bucket.get("retiring", 0) + UNIT / len(now)
            continue
        oldest = min(i for i, entry in enumerate(entries) if entry["CycleRetired"] > cycle)
        # In the cycle in which it is dispatched it is in the reorder buffer, which is not empty then.
        state = "stalled" if entries[oldest]["CycleDispatched"] <= cycle else "drained"
        # The timeline does not tell what an in-order processor holds up before it issues.
        state = "not retiring" if in_order else state
        result[oldest % count][state] = result[oldest % count].get(state, 0) + UNIT
    return result


if not any(shutil.which(name) for name in ("llvm-mc", "llvm-mc-22", "clang", "riscv64-linux-gnu-as")):
    skip_all(needs("clang"))

# Rocket issues one instruction a cycle: an addition is done in the next one, when the next issues.
regions = mca("add a0, a0, a1\n" * 4, "-mcpu=rocket", "-iterations=25")
found = [{key[0]: value / UNIT for key, value in stack.items()} for stack in stacks(regions[0])]
check(found == [{"drained": 1, "retiring": 25}] + 3 * [{"retiring": 25}],
      "dependent additions retire one a cycle", found)
# Its divider takes 33 cycles more than the one in which it retires.
regions = mca("div a0, a0, a1\n", "-mcpu=rocket", "-iterations=10", "-mattr=+m")
view = regions[0]["CycleStackView"]
total = view["Cycles"]
found = {key[0]: value / UNIT for key, value in stacks(regions[0])[0].items()}
check(found == {"drained": 1, "retiring": 10, "stalled": total - 11} and view["Instructions"][0]["Executions"] == 10,
      "dependent divisions stall for what they take", (found, total))
# Four wide: four independent additions retire together, and share the cycle.
regions = mca("add a0, s0, s1\nadd a1, s0, s1\n", "-mcpu=sifive-p670", "-iterations=100")
found = stacks(regions[0])
retired = [stack[("retiring", "none")] for stack in found]
check(retired[0] == retired[1] and regions[0]["CycleStackView"]["Cycles"] <= 60,
      "instructions that retire together share the cycle", found)

random.seed(1)
IN_ORDER = ["rocket", "sifive-u74", "sifive-x390", "spacemit-x60", "syntacore-scr5-rv64", "andes-ax45"]
OUT_OF_ORDER = ["syntacore-scr7", "sifive-p670", "sifive-p450", "xiangshan-nanhu", "tt-ascalon-d8", "mips-p8700",
                "generic-ooo"]
for processor in IN_ORDER + OUT_OF_ORDER:
    in_order = processor in IN_ORDER
    text = "".join(f"# LLVM-MCA-BEGIN b{i}\n{block()}# LLVM-MCA-END b{i}\n" for i in range(BLOCKS))
    regions = mca(text, "-mcpu=" + processor, "-mattr=+m,+zmmul", "-iterations=7", "-timeline",
                  "-timeline-max-iterations=7", "-timeline-max-cycles=0")
    broken, different = [], []
    for region in regions:
        view = region["CycleStackView"]
        if sum(entry["Weight"] for entry in view["Instructions"]) != view["Cycles"] * UNIT or \
           view["Cycles"] != region["SummaryView"]["TotalCycles"] or \
           any(entry["Executions"] != 7 for entry in view["Instructions"]):
            broken.append((region["Instructions"], view))
        for got, expected in zip(stacks(region), by_timeline(region, in_order)):
            sums = {}
            for (state, cause), weight in got.items():
                state = "not retiring" if in_order and state != "retiring" else state
                sums[state] = sums.get(state, 0) + weight
            if sums.keys() != expected.keys() or any(abs(sums[key] - expected[key]) > 100 for key in sums):
                different.append((region["Instructions"], sums, expected))
    check(len(regions) == BLOCKS and not broken, f"{processor}: the shares add up to the cycles exactly",
          "\n".join(map(str, broken[:2])) or len(regions))
    check(len(regions) == BLOCKS and not different, f"{processor}: the shares are those of the timeline",
          "\n".join(map(str, different[:2])))

# ---- A wait for a unit with nothing in flight is a stall, for as long as the unit is occupied --------------------
for cycles in (2, 3, 8):
    region = mca("mul a0, a1, a2\nmul a3, a1, a2\n", "-mcpu=syntacore-scr1-max", f"-set=c7.SCR1_MUL={cycles}", "-iterations=50")[0]
    sums = {}
    for stack in stacks(region):
        for (state, _), weight in stack.items():
            sums[state] = sums.get(state, 0) + weight
    check(sums.get("stalled", 0) >= 99 * (cycles - 1) * UNIT and sums.get("drained", 0) <= UNIT,
          f"a unit that is occupied for {cycles} cycles: who waits for it is stalled", sums)
end()
