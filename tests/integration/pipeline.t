#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The pipeline of the virtual core: loops whose cycles follow from the core description."""
import json
import os
import re
import shutil
import subprocess
import tempfile

from tap import TOP, PESA, GUEST_CC, bail_out, check, core_description, end

work = tempfile.mkdtemp(prefix="pesa-pipeline-")
os.chdir(work)
made = subprocess.run([GUEST_CC, "-O1", "-g", "-static", os.path.join(TOP, "tests/data/guest/loops.c"), "-o", "loops"],
                      capture_output=True, text=True)
if made.returncode:
    bail_out("cannot build the loops:", made.stderr)


def latencies(model):
    """Cycles of instructions that depend on themselves, as llvm-mca has them."""
    body = {"mul": "mul a0, a0, a0", "div": "div a0, a0, a0", "fadd": "fadd.d fa0, fa0, fa1", "load": "ld a0, 0(a0)"}
    found = {}
    for name, line in body.items():
        with open("body.s", "w", encoding="ascii") as file:
            file.write(line + "\n")
        done = subprocess.run(["llvm-mca-22", "-mtriple=riscv64", "-mattr=+m,+d", "-mcpu=" + model, "-iterations=1000", "body.s"],
                              capture_output=True, text=True, check=True)
        found[name] = round(int(re.search(r"Total Cycles:\s+(\d+)", done.stdout).group(1)) / 1000)
    return found


def cycles(core, loop, count):
    subprocess.run([PESA, "record", "-q", "-o", "perf.data", "--json=summary", "--core", core, "--", "./loops", loop,
                    str(count)], check=True, env={"PATH": "/usr/local/bin:/usr/bin:/bin"})
    with open("summary", encoding="utf-8") as file:
        return json.load(file)["cycles"]


def each(core, loop, count=4000):
    """Cycles of one iteration, start and end of the program left out."""
    return (cycles(core, loop, 2 * count) - cycles(core, loop, count)) / count


for core in ("inorder-2", "ooo-4"):
    d = core_description(core)
    latency = latencies(d["model"])
    load_use = latency["load"]
    in_order = d["order"] == "in-order"
    # The entries of the pages are in the L2, those above in the page-walk cache.
    translation = d["l2tlb.latency"] + d["walk.latency"] + d["dcache.latency"] + d["l2.latency"]
    outer = d["l2.latency"] + (d["llc.latency"] if d["llc.size"] else 0)
    width = min(d["dispatch.width"], d["retire.width"])
    flush = 1 + d["fetch.redirect"] + d["fetch.depth"]
    for loop, expected, tolerance, what in (
            ("dependent", 16, 0.01, "dependent additions: one a cycle"),
            ("independent", 18 / width, 0.01, "independent additions: as many a cycle as the core is wide"),
            ("multiply", 16 * latency["mul"], 0.01, "dependent multiplications: their latency"),
            ("multiplies", 16 + in_order, 0.01, "independent multiplications: one a cycle; in order the branch takes their pipe"),
            ("divide", 4 * latency["div"], 0.01, "dependent divisions: their latency"),
            ("add_double", 16 * latency["fadd"], 0.01, "dependent floating-point additions: their latency"),
            ("forward", 4 * (1 + d["forward.latency"]) + in_order, 0.01, "store to load: forwarded"),
            ("empty", 1, 0.01, "an empty loop: a taken branch a cycle"),
            ("jumps", 5, 0.01, "jumps: a taken one a cycle"),
            ("fences", 4 * (flush + 3), 0.25, "fence.i: the pipeline is refilled"),
            ("chase_l1", 16 * load_use, 0.01, "a chain of loads in the L1 cache: its load-use latency"),
            ("chase_l2", 16 * (load_use + d["l2.latency"]), 0.01, "a chain of loads in the L2 cache"),
            ("chase_memory", 16 * (load_use + translation + outer + d["memory.latency"]), 0.04,
             "a chain of loads in memory: all caches and a page walk")):
        found = each(core, loop, 1000 if "memory" in loop else 4000)
        check(abs(found - expected) <= tolerance * expected, f"{core}: {what}",
              f"{found} cycles an iteration, expected {expected}")
    # Half of the random branches are wrong; resolving one takes its issue and what it depends on.
    cost = 2 * (each(core, "random_branch") - each(core, "steady_branch"))
    check(flush <= cost <= flush + 5, f"{core}: a mispredicted branch costs the redirect and the refill",
          f"{cost} cycles, redirect and refill are {flush}")

# Changes of the core for one recording.


def changed(setting, loop, expected, what):
    subprocess.run([PESA, "record", "-q", "--json=one", "--core", "ooo-4", "--set", setting, "--", "./loops", loop, "4000"],
                   check=True)
    subprocess.run([PESA, "record", "-q", "--json=two", "--core", "ooo-4", "--set", setting, "--", "./loops", loop, "8000"],
                   check=True)
    run = []
    for name in ("one", "two"):
        with open(name, encoding="utf-8") as file:
            run.append(json.load(file)["cycles"])
    found = (run[1] - run[0]) / 4000
    check(abs(found - expected) <= 0.01 * expected, "--set " + setting + ": " + what,
          f"{found} cycles an iteration, expected {expected}")


changed("latency.mul=7", "multiply", 16 * 7, "a class of the description has another latency")
changed("mul.latency=9", "multiply", 16 * 9, "an instruction of the model has another latency")
changed("interval.mul=2", "multiplies", 16 * 2, "a unit is busy for longer")
changed("dispatch.width=2", "independent", 18 / 2, "the core is narrower")
for setting, message in (("latency.mul=0", "allowed: 1 to 1000"), ("nothing=1", "pesa list --keys"), ("line=48", "power of two")):
    done = subprocess.run([PESA, "record", "--core", "ooo-4", "--set", setting, "--", "./loops", "empty", "1"],
                          capture_output=True, text=True)
    check(done.returncode == 1 and message in done.stderr and done.stderr.count("\n") == 1,
          f"--set {setting} is refused", done.stderr)

shutil.rmtree(work)
end()
