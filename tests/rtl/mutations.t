#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Each output of the sampling unit, broken in several ways, turns the hand-made cases or the test of the registers red."""
import os
import re
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "../integration")]
import unit
from hand_made import CASES, address, line, token
from tap import check, end, needs, skip_all

if unit.missing("iverilog"):
    skip_all(needs("iverilog"))
work = tempfile.mkdtemp(prefix="pesa-rtl-")
os.chdir(work)
with open(unit.UNIT, encoding="utf-8") as file:
    text = file.read()
start = text.index("\n);\n") + 4
OUTPUTS = re.findall(r"^ *output logic (\[[^]]*\])? ?(\w+)", text[:start], re.M)
FIELDS = {"INSTRET": 0, "RSTATE": 4, "CTs": 6, "CTOFFSET1": 10, "CTOFFSET2": 14, "CAUSEOFFSET": 18, "CAUSE": 22}


def broken(name, width, becomes):
    """The unit with an output that is something else."""
    body = re.sub(rf"\b{name}\b", f"{name}_right", text[start:])
    late = f"logic {width} {name}_late; always_ff @(posedge clk) {name}_late <= {name}_right;"
    return text[:start] + f"  logic {width} {name}_right; {late if 'late' in becomes else ''}\n" \
        + f"  assign {name} = {becomes.format(right=name + '_right', late=name + '_late')};\n" + body


def passes(source):
    """Whether the tests pass: no word of it if they do, else the first that fails."""
    path = os.path.join(work, "broken.sv")
    with open(path, "w", encoding="utf-8") as out:
        out.write(source)
    try:
        shown = unit.run(*unit.build(work, {"Xlen": 64}, unit=path, bench=unit.REGISTERS, simulator="icarus"))
        if "not ok" in shown or not re.search(r"^1\.\.\d", shown, re.M):
            return re.search(r"^not ok.*|$", shown, re.M)[0] or "the registers: no end"
        parameters, cases = CASES[0]
        program = unit.build(work, {"AllocCause": 6, **parameters}, unit=path, simulator="icarus")
        for name, cycles, expected in cases:
            with open("vectors", "w", encoding="ascii") as out:
                out.writelines(line(cycle) for cycle in cycles.split(";"))
                out.write("20 1 %x 0 0 0 0 0\n" % address("z"))
            found, _ = unit.simulate(program, "vectors", "records", 1)
            if [token(record, 2, 0) for _, record, _ in found][:len(cycles.split(";"))] != expected.split():
                return name
    except (unit.Failed, ValueError) as error:
        return str(error).splitlines()[0]
    return ""


check(not passes(text), "the unit as it is passes", passes(text))
check(len(OUTPUTS) == 12, f"there are {len(OUTPUTS)} outputs", OUTPUTS)
for width, name in OUTPUTS:
    for how, becomes in (("is 0", "0"), ("is inverted", "~{right}"), ("comes a cycle late", "{late}")):
        if how == "comes a cycle late" and name.startswith("csr_"):
            continue  # a register would be read a cycle later; the test reads it at once
        red = passes(broken(name, width or "", becomes))
        check(red, f"{name} {how}: red", "no test sees it")
for field, bit in FIELDS.items():
    red = passes(broken("record_details", "[31:0]", "{right} ^ 32'd%d" % (1 << bit)))
    check(red, f"{field} of a record has a wrong bit: red", "no test sees it")
end()
