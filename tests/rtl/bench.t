#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The sampling unit (tools/rtl/shpms_unit.sv) in a Verilator bench, driven by pipeline traces: every record equals that of
`pesa import` of the same trace at the same period."""
import os
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "../integration")]
import in_order_log
import unit
import vectors
from tap import QEMU, TOP, check, end, needs, plain_environment, skip_all

if unit.missing():
    skip_all(needs(unit.missing()))
work = tempfile.mkdtemp(prefix="pesa-rtl-")
os.chdir(work)
plain = plain_environment(work)
COUNT = 120000  # instructions of a trace
DATA = os.path.join(TOP, "tests/data/in-order")
STATIC = os.path.join(unit.BUILD, "programs/bzip2-static")


def trace(core, name="trace", changes=(), elf=STATIC):
    """A pipeline trace of the virtual core, and the description of that core."""
    log, description = name + ".kanata", "./" + name + ".core"
    with open(unit.core_file(core), encoding="utf-8") as file, open(description, "w", encoding="utf-8") as out:
        for line in file:
            key = line.partition("=")[0].strip()
            out.write(next((f"{one} = {value}\n" for one, value in changes if one == key), line))
    unit.run(unit.PESA, "record", "-q", "--core", description, "-c", "100000", "--pipeline-trace", f"{log}:1-{COUNT}",
             "-o", "recording", "--", elf, "-kc", os.path.join(TOP, "Documentation/design.md"), env=plain)
    return log, description


def compare(what, log, elf, parameters, periods, core=None, import_options=(), vector_options=None, kind="virtual-core",
            bench_options=None, causes=None):
    """Build the bench, and one check for each period."""
    try:
        program = unit.build(work, parameters)
        table = causes if causes is not None else vectors.causes_of_core(core)
        with vectors.open_trace(log) as file:
            found = vectors.read_trace(file, table, kind)
        with open("vectors", "w", encoding="ascii") as out:
            cycles = vectors.make(found, vectors.Text(elf), table, parameters.get("RefillCycles", 0), out, width=parameters["Width"],
                                  **(vector_options or {}))
        for period in periods:
            expected = unit.imported(log, elf, period, "import.data", *(["--core", core] if core else []), *import_options)
            got, numbers = unit.simulate(program, "vectors", "records", period, **(bench_options or {}))
            why = unit.verdict(expected, got, numbers, period - 1, period, parameters.get("Xlen", 64) == 64)
            check(not why, f"{what}, period {period}: {numbers[2]} records of {cycles} cycles", why)
    except unit.Failed as error:
        check(False, what, error)


# Widths with other parameters beside them: of the unit, of the core, of what the trace is read with, of the bench.
FEWER = {"icache-miss": 0, "itlb-miss": 1, "branch-mispredict": 2, "dcache-miss": 3, "dtlb-miss": 4}
OTHERS = [
    (1, {"Targets": 0, "CounterBits": 9}, {"sample.ct_targets": 0}, {}, {}, None),
    (2, {"Targets": 1, "AutoRun": 0, "Depth": 1}, {"sample.ct_targets": 1}, {}, {"delay": 10}, None),
    (3, {"Causes": 5}, {}, {}, {}, 5),
    (5, {"CounterBits": 16, "RowPc": 1}, {}, {"rows": True}, {}, None),
    (6, {"AutoRun": 0, "Depth": 1}, {}, {}, {"delay": 300}, None),
    (7, {"Causes": 3, "Depth": 4}, {}, {}, {"stall": 40}, 3),
    (8, {"RowPc": 1, "Targets": 1, "Depth": 2}, {"sample.ct_targets": 1}, {"rows": True}, {"stall": 3}, None),
]


def map_with(number):
    """The virtual core's state map with the first causes only."""
    names = list(FEWER)[:number]
    with open(os.path.join(TOP, "tools/maps/virtual-core"), encoding="utf-8") as file, \
            open("fewer.map", "w", encoding="utf-8") as out:
        out.writelines(one for one in file if not one.startswith("cause.") or one[6:].partition(" ")[0] in names)
    return {name: FEWER[name] for name in names}


if QEMU:
    for core in ("inorder-2", "ooo-3", "ooo-4", "ooo-8"):
        log, description = trace(core)
        compare(f"{core}", log, STATIC, unit.of_core(description), (53, 257, 1), description)
    for width, parameters, changes, vector_options, bench_options, causes in OTHERS:
        log, description = trace("ooo-8", "other", [*changes.items(), ("retire.width", width),
                                                ("retire.transfers", min(width, 3))])
        compare(f"width {width} with " + ", ".join(f"{name} {value}" for name, value in {**parameters, **bench_options}.items()), log,
                STATIC, unit.of_core(description, **parameters), (53,), description, ("-m", "fewer.map") if causes else (), vector_options,
                bench_options=bench_options, causes=map_with(causes) if causes else None)
for program in ("sort", "stream"):
    with open(program + ".elf", "wb") as out:
        out.write(in_order_log.packed(DATA, program + ".elf"))
    with open(program + ".log", "w", encoding="ascii") as out:
        out.write(in_order_log.kanata(DATA, program))
    with open("told.map", "w", encoding="ascii") as out:
        out.write('name = told\nformat = kanata\ndispatch = X\ncomplete = W\nflush = label "flush="\n'
                  'cause.branch-mispredict = label "flush=transfer"\nexception = label "flush=exception"\n')
    compare(f"the RTL log {program} of an in-order core", program + ".log", program + ".elf",
            {"Width": 1, "Xlen": 32, "Depth": 32, "MinimumBits": 0, "FrontCauses": "10'd3"}, (53, 1), None,
            ("-m", "told.map", "--retire-width", "1"), kind="in-order")
end("" if QEMU else needs("qemu-user"))
