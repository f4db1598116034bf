#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""pesa mca assembles lines and analyses regions on all processors: it prints what it prints on one, in the same order,
warnings and errors, too."""
import os
import random
import subprocess

from tap import PESA, check, end, skip_all

SEED = int(os.environ.get("SEED", random.SystemRandom().randrange(1 << 40)))
print(f"# SEED={SEED}")
source = random.Random(SEED)
MAKE = [lambda r: f"add {r()}, {r()}, {r()}", lambda r: f"div {r()}, {r()}, {r()}", lambda r: f"mul {r()}, {r()}, {r()}",
        lambda r: f"ld {r()}, 8({r()})", lambda r: f"sd {r()}, 8({r()})"]
LACKED = "fence.i"  # by all models
PROCESSORS = sorted(os.sched_getaffinity(0))


def register():
    return source.choice(["a0", "a1", "a2", "t0", "s2"])


def regions(count, special=None, line=""):
    """Text of `count` regions; the one with the number `special` ends with `line`."""
    text = ""
    for number in range(count):
        lines = [source.choice(MAKE)(register) for _ in range(source.randint(1, 30))]
        text += f"# LLVM-MCA-BEGIN number {number}\n" + "\n".join(lines) + "\n" + (f"{line}\n" if number == special else "") + \
            f"# LLVM-MCA-END number {number}\n"
    return text


def mca(text, *options, processors):
    done = subprocess.run([PESA, "mca", "-mcpu=sifive-u74", *options], input=text, capture_output=True, text=True,
                          check=False, preexec_fn=lambda: os.sched_setaffinity(0, processors))
    return done.returncode, done.stdout, done.stderr


if len(PROCESSORS) < 2:
    skip_all("one processor")

many = regions(source.randint(40, 120))
for options in ([], ["-json"], ["-all-views"], ["-iterations=3", "-timeline"], ["-mcpu=sifive-p670"], ["--what-if=WriteIMul.latency=9"]):
    one, all_of_them = mca(many, *options, processors=PROCESSORS[:1]), mca(many, *options, processors=PROCESSORS)
    check(one[0] == 0 and one[1].count("number") > 30 and one == all_of_them, f"the same text of many regions: {options}", one[2][-300:])

middle = source.randrange(20, 40)
lacked = regions(60, middle, LACKED)
one, all_of_them = mca(lacked, processors=PROCESSORS[:1]), mca(lacked, processors=PROCESSORS)
check(one[0] == 1 and one == all_of_them, "the same error", one[2])
check(f"number {middle - 1}\n" in one[1] and f"number {middle + 1}\n" not in one[1], "after the regions before it", one[1][-300:])

SKIP = "-skip-unsupported-instructions=lack-sched"
one, all_of_them = mca(lacked, SKIP, processors=PROCESSORS[:1]), mca(lacked, SKIP, processors=PROCESSORS)
check(one[0] == 0 and one[2].count("left out") == 1 and one == all_of_them, "the same warning", one[2])

# Labels, branches and space; and an ISA without compressed instructions, which only its directive says.
lines = [source.choice([f"l{n}:", f"  l{n}: {source.choice(MAKE)(register)}  ", f"l{n}:\n\tbnez {register()}, l{n}", f"l{n}: # {n}",
                        f"l{n}:\n .p2align 1\n l{n}b: addi {register()}, {register()}, 1 // {n}"]) for n in range(1500)]
labels = "\t.attribute 5, \"rv64i2p1_m2p0_a2p1_f2p2_d2p2\"\n" + "\n".join(lines) + "\n beq a0, a1, l0\n"
one, all_of_them = [mca(labels, "-show-encoding", processors=processors) for processors in (PROCESSORS[:1], PROCESSORS)]
check(one[0] == 0 and one == all_of_them, "lines with labels", one[2][-300:])
short = mca(labels.split("\n", 1)[1], "-show-encoding", processors=PROCESSORS)
check(short[0] == 0 and short[1].count("\n") == one[1].count("\n") and short[1] != one[1], "the ISA of the directive", short[2][-300:])
lines[1200] += "\n nonsense a0"
one, all_of_them = [mca("\n".join(lines), processors=processors) for processors in (PROCESSORS[:1], PROCESSORS)]
number = "\n".join(lines[:1201]).count("\n") + 1
check(one[0] != 0 and f":{number}:2: error" in one[2] and one == all_of_them, "the same statement that nobody understands", one[2][-300:])

calls = regions(50, 49, "call f")
check(mca(calls, processors=PROCESSORS)[2].count("found a call") == 1, "a warning of the last region")
end()
