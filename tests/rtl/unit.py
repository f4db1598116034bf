# SPDX-License-Identifier: GPL-2.0-or-later
"""The sampling unit in its bench, built by Verilator for a set of parameters, and what `pesa import` makes of the same trace."""
import os
import re
import shutil
import subprocess
import sys

import records
import vectors

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
BUILD = os.path.abspath(os.environ.get("O", os.path.join(TOP, "build")))
PESA = os.path.abspath(os.environ.get("PESA", os.path.join(BUILD, "bin/pesa")))
UNIT = os.path.join(TOP, "tools/rtl/shpms_unit.sv")
BENCH = os.path.join(HERE, "bench.sv")
REGISTERS = os.path.join(HERE, "registers.sv")
TIMEOUT = 240  # seconds: a simulation that does not end


class Failed(Exception):
    pass


def run(*words, **options):
    try:
        done = subprocess.run(words, capture_output=True, text=True, errors="replace", timeout=TIMEOUT, **options)
    except subprocess.TimeoutExpired as error:
        raise Failed(str(error)) from error
    if done.returncode:
        raise Failed(f"{' '.join(words)}: status {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-4000:]}")
    return done.stdout


def build(folder, parameters, unit=UNIT, bench=BENCH, simulator="verilator"):
    """The bench as a program: the words that start it."""
    name = os.path.join(folder, simulator + "-" + os.path.basename(bench) + "-" + "-".join(f"{name}{value}" for name, value in parameters.items()).replace("'", ""))
    if simulator == "icarus":
        run("iverilog", "-g2012", "-DSHPMS_ASSERT", "-o", name, "-s", "bench", *(f"-Pbench.{key}={value}" for key, value in parameters.items()),
            unit, bench)
        return ["vvp", "-n", name]
    program = os.path.join(name, "Vbench")
    if not os.path.exists(program):
        # Verilator's own files are compiled to the same for all parameters: once is enough.
        run(os.path.join(TOP, "tests/keep_compiled"), "verilator", "--binary", "--assert", "-DSHPMS_ASSERT", "-Wall", "-Wno-fatal", "-Wno-WIDTH",
            "-Wno-UNUSEDSIGNAL", "-Wno-BLKSEQ", "-CFLAGS", "-O1", "-j", os.environ.get("JOBS", "2"), "--Mdir", name, "--top-module", "bench",
            *(f"-G{key}={value}" for key, value in parameters.items()), unit, bench)
    return [program]


def core_file(core):
    return core if os.path.exists(core) else os.path.join(BUILD, "share/pesa/cores", core)


def core_keys(core):
    keys = {}
    with open(core_file(core), encoding="utf-8") as file:
        for line in file:
            key, equals, value = line.partition("=")
            if equals:
                keys[key.strip()] = value.strip()
    return keys


def of_core(core, **others):
    """Parameters of the unit in this core."""
    causes = vectors.causes_of_core(core_file(core))
    front = sum(1 << causes[name] for name in vectors.FRONT if name in causes)
    keys = core_keys(core)
    return {"Width": int(keys["retire.width"]), "Targets": int(keys["sample.ct_targets"]), "FrontCauses": f"10'd{front}",
            "RefillCycles": vectors.refill_of_core(core_file(core)), "MinimumBits": 0, "Depth": 32, **others}


def simulate(program, vector_file, record_file, period, **options):
    """The records; and numbers of cycles, samples, records, discarded overflows, and those of these that no record counts."""
    shown = run(*program, f"+vectors={vector_file}", f"+records={record_file}", f"+period={period}",
                *(f"+{name}={value}" for name, value in options.items()))
    found = re.search(r"(\d+) cycles, (\d+) samples, (\d+) records, (\d+) discarded, of which no record tells (\d+)", shown)
    if not found:
        raise Failed(f"{program[0]}: {shown}")
    return list(records.of_unit(record_file)), [int(number) for number in found.groups()]


def imported(trace, elf, period, data, *options):
    run(PESA, "import", "-q", "-e", elf, "-c", str(period), "--jitter", "0", "-z", "0", "-o", data, *options, trace)
    return records.of_perf_data(data)


def verdict(expected, found, numbers, first, period, counts=True):
    """'' if the unit and the import agree, otherwise why they do not.  `counts`: records tell of discarded overflows."""
    equal, differences, _, counted = records.compare(expected, found, first, period)
    cycles, samples, written, discarded, untold = numbers
    why = []
    if differences:
        why.append(f"{len(differences)} of {len(found)} records differ")
    for cycle, wanted, got in differences[:10]:
        why.append(f"cycle {cycle}: import {records.text(wanted)}\n             unit {records.text(got)}")
    if not equal:
        why.append("there is no record")
    overflows = (cycles - first - 1) // period + 1
    if samples + discarded != overflows:
        why.append(f"{overflows} overflows: {samples} samples, {discarded} discarded")
    if counts and counted + untold != discarded:
        why.append(f"{discarded} overflows were discarded, records tell of {counted}, and {untold} are to be told")
    return "\n".join(why)


def missing(program="verilator", package=None):
    """The package that is needed and not here."""
    return None if shutil.which(program) else package or program


if __name__ == "__main__":
    sys.exit("tests/rtl/unit.py is used by the tests beside it")
