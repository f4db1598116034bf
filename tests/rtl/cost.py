#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What the sampling unit costs, by yosys: flip-flops, cells of yosys' generic library, logic depth, and the area in an open cell library.

  tests/rtl/cost.py [-o FILE]       the document; without -o to standard output
"""
import argparse
import concurrent.futures
import datetime
import io
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
UNIT = os.path.join(TOP, "tools/rtl/shpms_unit.sv")
JOBS = int(os.environ.get("JOBS", "2"))
LIBRARY = "/usr/share/qflow/tech/osu018/osu018_stdcells.lib"


def yosys(parameters, commands):
    """What the statistics at the end print."""
    sets = " ".join(f"-set {name} {value}" for name, value in parameters.items())
    with tempfile.TemporaryDirectory(prefix="pesa-cost-") as folder:
        shown = os.path.join(folder, "shown")
        script = [f"read_verilog -sv {UNIT}", f"chparam {sets} shpms_unit" if sets else "", "synth -flatten -top shpms_unit"]
        script += [command.replace("SHOWN", shown) for command in commands]
        done = subprocess.run(["yosys", "-q", "-p", "; ".join(filter(None, script))], capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"cost.py: yosys: {done.stderr.strip()[-500:]}")
        with open(shown, encoding="utf-8") as file:
            return file.read()


def measure(parameters, with_area=True):
    """Flip-flops, other cells, the longest way between registers, inputs and outputs in cells; square micrometres in the library."""
    with_area = with_area and os.path.exists(LIBRARY)
    shown = yosys(parameters, ["tee -o SHOWN stat", "tee -a SHOWN ltp -noff"]
                  + ([f"dfflibmap -liberty {LIBRARY}", f"abc -liberty {LIBRARY}", f"tee -a SHOWN stat -liberty {LIBRARY}"] if with_area
                     else []))
    cells = [(name, int(number)) for name, number in re.findall(r"^ +(\$_\w+_) +(\d+)$", shown.partition("length=")[0], re.M)]
    flops = sum(number for name, number in cells if "DFF" in name)
    size = re.search(r"Chip area for module .*: ([0-9.]+)", shown)
    return (flops, sum(number for _, number in cells) - flops, int(re.search(r"\(length=(\d+)\)", shown)[1]),
            round(float(size[1])) if size else "no library")


def of(parameters):
    """Flip-flops and other cells."""
    return measure(parameters, False)[:2]


BASE = {"Width": 4, "AutoRun": 0}
ROWS = [("as a core with four instructions a cycle would have it", {})] + \
    [(f"width {width}", {"Width": width}) for width in (1, 2, 8)] + \
    [("RV32", {"Xlen": 32}), ("no 16-bit instructions", {"Compressed": 0}), ("rows with one PC", {"RowPc": 1}),
     ("1 target", {"Targets": 1}), ("0 targets", {"Targets": 0})] + \
    [(f"{causes} cause{'s' if causes != 1 else ''}", {"Causes": causes}) for causes in (5, 3, 1, 0)] + \
    [("discarded overflows are not counted", {"Discarded": 0}), ("period counter of 16 bits", {"CounterBits": 16}),
     ("registers written at once", {"Late": 0}), ("a refill of 8 cycles is told from a miss", {"RefillCycles": 8}),
     ("AutoRun, 2 records may wait", {"AutoRun": 1, "Depth": 2}), ("AutoRun, 4 records may wait", {"AutoRun": 1, "Depth": 4}),
     ("least: width 1, no targets, causes, count", {"Width": 1, "Targets": 0, "Causes": 0, "Discarded": 0, "Late": 0})]
ENTRY = [("PC of the oldest", "none: a reorder buffer has it, per entry or row"), ("length (rows with one PC)", "1"),
         ("taken, and its target", "1; 63 for the target where it is not kept anyway"),
         ("CAUSE", "1 for each tracked bit, 0 to 10"), ("flushes behind it", "1, which a core has")]


def write(out, command):
    with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        measured = pool.map(measure, [{**BASE, **changes} for _, changes in ROWS])
        rows = [(name, *one) for (name, _), one in zip(ROWS, measured)]
    version = subprocess.run(["yosys", "-V"], capture_output=True, text=True, check=True).stdout.split(" (")[0].strip()
    out.write(f"""<!-- SPDX-License-Identifier: GPL-2.0-or-later -->
# What the sampling unit costs

For whoever weighs shpmsdetails against the area of a core: `tools/rtl/shpms_unit.sv` in gates.

Written by `{command}`; {version}, {datetime.date.today()}. Each row is the first one with one change. Flip-flops and cells
are those of `synth -flatten` with yosys' generic library (gates of two inputs, multiplexers); depth is the longest way in such cells
between registers, inputs and outputs (`ltp -noff`), not optimised for time: a core would put registers in front of it. The area is that
of the cells of OSU's open library for TSMC 180 nm (`qflow-tech-osu018`), without wires.

| unit | flip-flops | cells | depth | area, um2 |
| --- | ---: | ---: | ---: | ---: |
""")
    for row in rows:
        out.write("| " + " | ".join(map(str, row)) + " |\n")
    flops = rows[0][1]
    out.write(f"""
## Beside what the papers publish

* TIP (MICRO 2021): 57 bytes, that is 456 bits, of storage, for a core that retires four instructions in a cycle. (The paper was not at hand; its abstract has
  the errors.)
* TEA (ISCA 2023): 249 bits a core, beside the events of each instruction in flight; 0.1 % more power
  (hdl.handle.net/11250/3155643).
* The unit: {flops} flip-flops. They hold two targets (126), the PC (63), the details (32 and 2 of state), the culprit of a flush (74),
  the period counter and its start value (62), and two counters of discarded overflows (64). Others
  take period and interrupt from a counter that the core has.

## What a core carries per instruction in flight

| field | bits in an entry of the reorder buffer |
| --- | --- |
""")
    for field, bits in ENTRY:
        out.write(f"| {field} | {bits} |\n")


def main():
    parser = argparse.ArgumentParser(description="what the sampling unit costs")
    parser.add_argument("-o", "--output")
    options = parser.parse_args()
    sys.path.insert(0, os.path.join(TOP, "tests/accuracy"))
    from columns import wrapped  # pylint: disable=import-outside-toplevel
    text = io.StringIO()
    write(text, "tests/rtl/cost.py -o Documentation/rtl-cost.md")
    if options.output:
        with open(options.output, "w", encoding="utf-8") as out:
            out.write(wrapped(text.getvalue()))
    else:
        print(wrapped(text.getvalue()), end="")


if __name__ == "__main__":
    main()
