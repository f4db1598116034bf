#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The sampling unit is accepted by Verilator with all warnings, by Icarus and by yosys, whatever its parameters; no latches."""
import itertools
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "../integration")]
import unit
from tap import check, end, needs, skip

work = tempfile.mkdtemp(prefix="pesa-rtl-")
VALUES = {"Width": (1, 2, 3, 4, 5, 6, 7, 8), "Xlen": (32, 64), "Compressed": (0, 1), "Targets": (0, 1, 2), "Causes": (0, 1, 3, 5, 10),
          "CounterBits": (9, 16, 31), "AutoRun": (0, 1), "Discarded": (0, 1), "Late": (0, 1), "RefillCycles": (0, 8), "RowPc": (0, 1)}


def shown(name, value):
    """Verilator says that 1 has 32 bits where a parameter has one."""
    return f"1'd{value}" if name in ("Compressed", "AutoRun", "Discarded", "Late", "RowPc") else value


def words(*command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    return done.returncode, done.stdout + done.stderr


# Each value of each parameter beside each value of its neighbour in the list.
sets = []
for one, other in zip(VALUES, list(VALUES)[1:]):
    sets += [{one: a, other: b} for a, b in itertools.product(VALUES[one], VALUES[other])]
if unit.missing():
    skip("Verilator has no warning", needs("verilator"))
else:
    wrong = []
    for parameters in sets:
        status, said = words("verilator", "--lint-only", "-Wall", "-DSHPMS_ASSERT", *(f"-G{name}={shown(name, value)}" for name, value in
                                                                                      parameters.items()), unit.UNIT)
        if status or said.strip():
            wrong.append((parameters, said[:300]))
    check(not wrong, f"Verilator has no warning, with {len(sets)} sets of parameters", wrong)
if unit.missing("iverilog"):
    skip("Icarus accepts it", needs("iverilog"))
else:
    status, said = words("iverilog", "-g2012", "-Wall", "-o", os.path.join(work, "unit"), unit.UNIT)
    # It says of this what it does with constant selects: it waits for all bits.
    others = [one for one in said.splitlines() if "constant selects in always_* processes" not in one]
    check(status == 0 and not others, "Icarus accepts it", others)
if unit.missing("yosys"):
    skip("yosys synthesizes it", needs("yosys"))
else:
    for parameters in ({}, {"Width": 8, "RowPc": 1}, {"Width": 1, "Xlen": 32, "Targets": 0, "Causes": 0, "AutoRun": 0, "Late": 0}):
        made = os.path.join(work, "made")
        status, said = words("yosys", "-q", "-p", f"read_verilog -sv {unit.UNIT}; "
                             + (f"chparam {' '.join(f'-set {name} {value}' for name, value in parameters.items())} shpms_unit; "
                                if parameters else "")
                             + f"synth -flatten -top shpms_unit; check -assert; tee -o {made} stat")
        with open(made, encoding="utf-8") as file:
            cells = file.read()
        check(status == 0 and "DFF" in cells and "DLATCH" not in cells and "DFF_PN" not in cells.replace("_PN_", ""),
              f"yosys synthesizes it without latches: {parameters}", said[-500:] + cells)
end()
