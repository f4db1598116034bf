#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The sampling unit on hand-made cycles (hand_made.py), and its registers as software sees them (registers.sv)."""
import os
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "../integration")]
import unit
from hand_made import CASES, address, line, token
from tap import adopt, check, end, needs, skip_all

if unit.missing("iverilog"):
    skip_all(needs("iverilog"))
work = tempfile.mkdtemp(prefix="pesa-rtl-")
os.chdir(work)


def run_cases(simulator, parameters, cases):
    parameters = {"AllocCause": 6 if parameters.get("Causes", 10) > 6 else -1, **parameters}
    try:
        program = unit.build(work, parameters, simulator=simulator)
    except unit.Failed as error:
        check(False, f"the bench is built: {simulator} {parameters}", error)
        return
    for name, cycles, expected in cases:
        with open("vectors", "w", encoding="ascii") as out:
            out.writelines(line(cycle) for cycle in cycles.split(";"))
            out.write("20 1 %x 0 0 0 0 0\n" % address("z"))  # records leave one by one
        try:
            found, _ = unit.simulate(program, "vectors", "records", 1)
            got = [token(record, parameters.get("Targets", 2), parameters.get("RowPc", 0)) for _, record, _ in found]
        except unit.Failed as error:
            got = [str(error)]
        wanted = expected.split()
        got = got[:len(cycles.split(";"))]
        check(got == wanted, f"{simulator}: {name}", f"{cycles}\nexpected {expected}\ngot      {' '.join(got)}")


for xlen in (64, 32):
    adopt(unit.run(*unit.build(work, {"Xlen": xlen}, bench=unit.REGISTERS, simulator="icarus")))
for parameters, cases in CASES:
    run_cases("icarus", parameters, cases)
if unit.missing():
    end(needs("verilator"))
run_cases("verilator", *CASES[0])
check(sum(len(cases) for _, cases in CASES) >= 50, "there are 50 cases or more")
end()
