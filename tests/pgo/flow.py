#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""How near sampled executions are to the exact ones, before and after the flow is estimated: twelve programs, four cores.

  tests/pgo/flow.py [--samples N] [--programs NAMES] [--cores NAMES] [--jobs N] [-o FILE]

The distance is half of the sum of the absolute differences of the shares of all executions, by instruction
(build/tests/tools/flow_distance).  With -o the table in FILE (Documentation/pgo.md) is replaced.
"""
import argparse
import concurrent.futures
import json
import os
import subprocess
import sys
import tempfile

import inputs
import report

O = os.path.abspath(os.environ.get("O", os.path.join(inputs.TOP, "build")))
PESA = os.environ.get("PESA", os.path.join(O, "bin/pesa"))
PROGRAMS = [*inputs.PROGRAMS, "nettle-hash", "cwebp-vector"]
CORES = ["inorder-2", "ooo-3", "ooo-4", "ooo-8"]
PERIOD, SCALE = 288, 0.08  # as in tests/accuracy/accuracy.py; of the inputs there
SYSROOT = [] if os.uname().machine == "riscv64" else ["--sysroot", "/usr/riscv64-linux-gnu"]


def measure(name, core, samples):
    """Distances as measured, by blocks' means, and of the flow."""
    with tempfile.TemporaryDirectory(prefix="pesa-flow-") as folder:
        def path(what):
            return os.path.join(folder, what)
        command, standard_input, cpu = inputs.program(name, folder, SCALE)
        words = ["--core", core, *SYSROOT] + (["--cpu", cpu] if cpu else [])
        guest = ["--", os.path.join(O, "programs", name), *command[1:]]
        options = {"check": True, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "input": standard_input}
        subprocess.run([PESA, "stat", "-e", "CYCLES.HART", "--json=" + path("counts"), *words, *guest], **options)
        with open(path("counts"), encoding="utf-8") as file:
            period = json.load(file)["events"][0]["value"] // samples
        subprocess.run([PESA, "record", "-q", "-c", str(period), "-o", path("data"), "--golden=" + path("golden"), *words, *guest], **options)
        done = subprocess.run([os.path.join(O, "tests/tools/flow_distance"), path("data"), path("golden")], check=True, stdout=subprocess.PIPE)
        return list(map(float, done.stdout.split()))


def table(results, names, cores):
    lines = ["| program | " + " | ".join(cores) + " |", "| --- |" + " ---: |" * len(cores)]
    for name in names:
        lines.append(f"| {name} | " + " | ".join(f"{results[name, core][1]:.1%} to {results[name, core][3]:.1%}" for core in cores) + " |")
    means = {core: [sum(results[name, core][i] for name in names) / len(names) for i in range(5)] for core in cores}
    lines.append("| mean | " + " | ".join(f"{means[core][1]:.1%} to {means[core][3]:.1%}" for core in cores) + " |")
    lines.append("| ratio of the means | " + " | ".join(f"{means[core][3] / means[core][1]:.2f}" for core in cores) + " |")
    lines.append("| within the 95 % interval | " + " | ".join(f"{means[core][4]:.1%}" for core in cores) + " |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=10000)
    parser.add_argument("--programs", default=",".join(PROGRAMS))
    parser.add_argument("--cores", default=",".join(CORES))
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("-o", metavar="FILE")
    arguments = parser.parse_args()
    names, cores, results = arguments.programs.split(","), arguments.cores.split(","), {}
    subprocess.run([os.path.join(inputs.TOP, "tools/programs"), "-o", os.path.join(O, "programs"), *names], check=True, stdout=subprocess.DEVNULL)
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        waiting = {pool.submit(measure, name, core, arguments.samples): (name, core) for name in names for core in cores}
        for done in concurrent.futures.as_completed(waiting):
            results[waiting[done]] = done.result()
            print(*waiting[done], *done.result(), file=sys.stderr, flush=True)
    text = f"`{report.command()}` on {report.machine()}. As sampled to flow.\n\n{table(results, names, cores)}\n"
    print(text)
    if arguments.o:
        report.replace(arguments.o, "flow", text)


if __name__ == "__main__":
    main()
