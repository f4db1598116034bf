#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""pesa mca against llvm-mca-22: 1,000 blocks of 4 to 24 instructions x 100 iterations, and one block.

CPU time of the process and its children (such as an assembler), best of several runs.  `engine` is the time of
the engine alone: that of 100 more iterations.  All that without views, and the whole with those that are shown where nobody
asks for others, and with all.
"""
import os
import random
import resource
import shutil
import subprocess
import tempfile

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
    best = None
    for _ in range(runs):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        best = used if best is None else min(best, used)
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
            times = {}
            for name, command in (("llvm-mca", [ORACLE]), ("pesa mca", [PESA, "mca"])):
                for iterations in (100, 200):
                    times[name, iterations] = seconds(command + views +
                                                      [f"-iterations={iterations}", many], 2)
                times[name, "one"] = seconds(command + views + [one], 5)
                times[name, "usual"] = seconds(command + target + [many], 2)
                times[name, "all"] = seconds(command + target + ["-all-views", many], 2)
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


main()
