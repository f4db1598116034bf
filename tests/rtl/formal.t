#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The assertions of the sampling unit hold in every reachable state: temporal induction by yosys' sat, for all inputs, unbounded."""
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "../integration")]
import unit
from tap import check, end, needs, skip_all

if unit.missing("yosys"):
    skip_all(needs("yosys"))
work = tempfile.mkdtemp(prefix="pesa-rtl-")
SMALL = {"Width": 2, "Xlen": 32, "CounterBits": 9, "MinimumBits": 3, "Depth": 2, "Causes": 2, "FrontCauses": 1}


def prove(source, parameters):
    """Whether the proof succeeds, and what yosys says."""
    sets = " ".join(f"-set {name} {value}" for name, value in parameters.items())
    script = f"""read_verilog -sv -formal -D SHPMS_ASSERT {source}
chparam {sets} shpms_unit
hierarchy -check -top shpms_unit
proc
flatten
async2sync
memory
dffunmap
opt_clean
sat -verify -seq 1 -set-at 1 rst 1 -prove-asserts -tempinduct -maxsteps 12 shpms_unit
"""
    path = os.path.join(work, "script.ys")
    with open(path, "w", encoding="ascii") as out:
        out.write(script)
    try:
        done = subprocess.run(["yosys", path], capture_output=True, text=True, timeout=240, check=False)
    except subprocess.TimeoutExpired:
        return False, "no end after 240 s"
    return "Induction step proven: SUCCESS!" in done.stdout and done.returncode == 0, done.stdout[-1500:] + done.stderr


for what, changes in (("two records may wait", {}), ("four, of a core with four instructions a cycle", {"Width": 4, "Depth": 4}),
                      ("without AutoRun", {"AutoRun": 0, "Depth": 1}), ("registers written at once", {"AutoRun": 0, "Depth": 1, "Late": 0}),
                      ("one instruction a cycle, no targets, no causes", {"Width": 1, "Targets": 0, "Causes": 0, "AutoRun": 0, "Depth": 1}),
                      ("eight instructions a cycle, 64 bits, ten causes", {"Width": 8, "Xlen": 64, "Causes": 10, "FrontCauses": 67,
                                                                           "AutoRun": 0, "Depth": 1})):
    proven, said = prove(unit.UNIT, {**SMALL, **changes})
    check(proven, f"all assertions are proven: {what}", said)

with open(unit.UNIT, encoding="utf-8") as file:
    text = file.read()
number = len(re.findall(r"^ *assert ", text, re.M))
check(number >= 25, f"there are {number} assertions")
for what, old, new in (("a dropped record becomes pending", "done && !drop) pending", "done) pending"),
                       ("a sample is taken where there is no room", ": used == 0;", ": 1'b1;"),
                       ("a short period is accepted", "wire cc_start = cc_write && csr_wdata[30:0] != 0 && !too_short;",
                        "wire cc_start = cc_write && csr_wdata[30:0] != 0;"),
                       ("CAUSEOFFSET is one too large", "cause_offset = number + 1;", "cause_offset = number + 2;")):
    broken = os.path.join(work, "broken.sv")
    with open(broken, "w", encoding="utf-8") as out:
        out.write(text.replace(old, new))
    proven, said = prove(broken, {**SMALL, "AutoRun": 0, "Depth": 1, "Width": 3})
    check(old in text and not proven, f"no proof where {what}", said)
end()
