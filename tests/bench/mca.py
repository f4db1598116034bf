#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""pesa mca against llvm-mca-22: 1,000 blocks of 4 to 24 instructions x 100 iterations, and one block.

CPU time of the process and its children (such as an assembler), best of several runs.  `engine` is the time of
the engine alone: that of 100 more iterations.  All that without views, and the whole with those that are shown where nobody
asks for others, and with all.  Then the ratios of the time that the user waits: pesa mca uses all processors where there are
several regions.
"""
import os
import random
import resource
import shutil
import subprocess
import tempfile
import time

PESA = os.environ.get("PESA", "build/bin/pesa")
ORACLE = shutil.which("llvm-mca-22")
BLOCKS = int(os.environ.get("BENCH_BLOCKS", "1000"))


def block(source):
    registers = [f"a{i}" for i in range(6)] + ["t0", "t1", "s2"]
    r = lambda: source.choice(registers)
    f = lambda: f"fa{source.randrange(6)}"
    make = [lambda: f"add {r()}, {r()}, {r()}", lambda: f"addi {r()}, {r()}, {source.randrange(99)}",
            lambda: f"xor {r()}, {r()}, {r()}", lambda: f"mul {r()}, {r()}, {r()}",
            lambda: f"ld {r()}, {8 * source.randrange(20)}({r()})",
            lambda: f"sd {r()}, {8 * source.randrange(20)}({r()})",
            lambda: f"fadd.d {f()}, {f()}, {f()}", lambda: f"fmul.d {f()}, {f()}, {f()}"]
    return [source.choice(make)() for _ in range(source.randint(4, 24))]


def seconds(command, runs=3):
    """Of processors, and elapsed; the best of each."""
    best = [float("inf")] * 2
    for _ in range(runs):
        before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
        elapsed, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
        used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        best = [min(best[0], used), min(best[1], elapsed)]
    return best


def main():
    if not ORACLE:
        print("llvm-mca-22 is not installed")
        return
    source = random.Random(1)
    blocks = [block(source) for _ in range(BLOCKS)]
    with tempfile.TemporaryDirectory() as directory:
        many, one = os.path.join(directory, "many.s"), os.path.join(directory, "one.s")
        with open(many, "w") as file:
            for number, lines in enumerate(blocks):
                file.write("\n".join([f"# LLVM-MCA-BEGIN b{number}"] + lines +
                                     [f"# LLVM-MCA-END b{number}"]) + "\n")
        with open(one, "w") as file:
            file.write("\n".join(blocks[0]) + "\n")
        for processor in ("sifive-p670", "sifive-u74"):
            target = ["-mtriple=riscv64", "-mcpu=" + processor]
            views = target + ["-instruction-info=false", "-resource-pressure=false"]
            times, elapsed = {}, {}
            for name, command in (("llvm-mca", [ORACLE]), ("pesa mca", [PESA, "mca"])):
                for what, options, runs in ((100, [*views, "-iterations=100", many], 3), (200, [*views, "-iterations=200", many], 3),
                                            ("one", [*views, one], 5), ("usual", [*target, many], 2),
                                            ("all", [*target, "-all-views", many], 2)):
                    times[name, what], elapsed[name, what] = seconds(command + options, runs)
            print(f"{processor}: {BLOCKS} blocks x 100 iterations")
            for name in ("llvm-mca", "pesa mca"):
                total = times[name, 100]
                engine = max(times[name, 200] - times[name, 100], 1e-6)
                print(f"  {name}: {BLOCKS / total:10.0f} blocks/s in all, {BLOCKS / engine:10.0f} blocks/s "
                      f"engine, {times[name, 'one'] * 1e3:6.1f} ms for one block and process")
            print(f"  ratio: {times['llvm-mca', 100] / times['pesa mca', 100]:.1f} in all, "
                  f"{(times['llvm-mca', 200] - times['llvm-mca', 100]) / max(times['pesa mca', 200] - times['pesa mca', 100], 1e-6):.1f} "
                  f"engine, {times['llvm-mca', 'one'] / times['pesa mca', 'one']:.1f} one block; "
                  f"{times['llvm-mca', 'usual'] / times['pesa mca', 'usual']:.1f} with the usual views, "
                  f"{times['llvm-mca', 'all'] / times['pesa mca', 'all']:.1f} with all")
            waited = {what: elapsed["llvm-mca", what] / elapsed["pesa mca", what] for what in (100, "one", "usual", "all")}
            print(f"  by elapsed time: {waited[100]:.1f} in all, {waited['one']:.1f} one block; "
                  f"{waited['usual']:.1f} with the usual views, {waited['all']:.1f} with all")


main()
