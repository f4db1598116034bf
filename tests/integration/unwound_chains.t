#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Call chains by frame pointers and by unwinding on the virtual core, beside the exact ones.

The same run is recorded three times, so that the same cycles are sampled.  What is compared is the
share of the cycles whose chain both recordings have, after what is known of the method was applied
to the exact chains:
- unwinding ends at the first function, from the inside, for which readelf finds no table;
- the kernel's walk takes ra for the caller, which in a function that has called something is in this
  function, and then goes on with the frame's frame: the caller itself is left out.  Functions that
  call nothing store no ra in their frame, where the walk looks for it, so they are left out here."""
import os
import re
import shutil
import tempfile

from tap import TOP, PESA, CROSS, bail_out, check, command, end, plain_environment, skip

work = tempfile.mkdtemp(prefix="pesa-unwound-")
os.chdir(work)
plain = plain_environment(work)
# Caches depend on the addresses that the emulator gives to the program.
still = ["setarch", "-R"] if not command("setarch", "-R", "true").returncode else []
OWN = set("main recurses works leaf copies compare sorts catches throws guard::~guard".split())


def folded(name):
    """{chain, outermost first: cycles} without the process."""
    run = command(PESA, "export", "--format", "folded", "-i", name, env=plain)
    if run.returncode:
        bail_out("pesa export:", run.stderr.decode())
    result = {}
    for line in run.stdout.decode().splitlines():
        chain, _, cycles = line.rpartition(" ")
        chain = tuple(re.sub(r"\(.*", "", frame) for frame in chain.split(";")[1:])
        result[chain] = result.get(chain, 0) + float(cycles)
    return result


def without_table(program):
    """The functions of the program that no unwinding table describes."""
    tables = command(CROSS + "readelf", "--debug-dump=frames", program).stdout.decode()
    ranges = [(int(first, 16), int(last, 16)) for first, last in re.findall(r"pc=([0-9a-f]+)\.\.([0-9a-f]+)", tables)]
    known, names = set(), set()
    for line in command(CROSS + "nm", "-C", program).stdout.decode().splitlines():
        address, _, name = line.partition(" ")
        if address and name[2:]:
            names.add(re.sub(r"\(.*", "", name[2:]))
            if any(first <= int(address, 16) < last for first, last in ranges):
                known.add(re.sub(r"\(.*", "", name[2:]))
    return names - known


def change(chains, function):
    result = {}
    for chain, cycles in chains.items():
        chain = function(chain)
        if chain:
            result[chain] = result.get(chain, 0) + cycles
    return result


def agreement(exact, other):
    """Share of the cycles of `exact` whose chain both have, and the largest differences."""
    both = sum(min(cycles, other.get(chain, 0)) for chain, cycles in exact.items())
    worst = sorted(((exact.get(chain, 0) - other.get(chain, 0), ";".join(chain)) for chain in {*exact, *other}),
                   key=lambda pair: -abs(pair[0]))
    return both / max(sum(exact.values()), 1), "\n".join(f"{cycles:+.0f} {chain}" for cycles, chain in worst[:20])


def ends_at_table(lacking):
    def function(chain):
        # It writes the saved registers of its caller's frame, which the tables do not know of.
        if chain[-1] == "uw_install_context_1":
            return ()
        for at in range(len(chain) - 1, -1, -1):
            if chain[at] in lacking:
                return chain[at:]
        return chain
    return function


def beyond_the_caller(chain):
    if "main" not in chain or chain[-1] == "leaf":
        return ()
    chain = chain[chain.index("main"):]
    # Of a function that main() calls, nothing is left beyond the caller.
    if set(chain) - OWN or len(chain) < 3:
        return ()
    return chain[:-2] + chain[-1:]


def record(program, name, *words):
    return command(*still, PESA, "record", "-q", "-c", "500", "-o", name, *words, "--", program, env=plain)


def build(name, language, *words):
    compiler = CROSS + ("gcc" if language == "c" else "g++")
    built = command(compiler, "-x", language, "-O1", "-g", "-static", *words,
                    os.path.join(TOP, "tests/data/guest/frames.cc"), "-o", name)
    if built.returncode:
        bail_out("cannot build the guest program:", built.stderr.decode())


build("c", "c")
first = record("./c", "fp.data", "-g", "fp")
if first.returncode:
    check(first.stderr.decode().startswith("pesa record: the virtual core cannot start: this emulator does not show registers")
          and "PESA_QEMU" in first.stderr.decode(), "an emulator without registers is refused with a way out", first.stderr.decode())
    skip("chains by frame pointers and by unwinding", "the emulator is older than QEMU 9")
elif not still:
    skip("chains by frame pointers and by unwinding", "the addresses of the emulator cannot be fixed (setarch -R)")
else:
    build("c-frames", "c", "-fno-omit-frame-pointer")
    build("cc", "c++")
    build("cc-frames", "c++", "-fno-omit-frame-pointer")
    for program in ("c", "c-frames", "cc", "cc-frames"):
        found = {}
        for mode in ((), ("fp",), ("dwarf",)):
            name = "".join((program, *mode)) + ".data"
            made = record("./" + program, name, "-g", *mode)
            if made.returncode:
                bail_out("pesa record:", made.stderr.decode())
            found["".join(mode)] = folded(name)
        total = sum(found[""].values())
        for mode in ("fp", "dwarf"):
            check(sum(found[mode].values()) == total, f"{program}: -g {mode} has the samples of -g", (total, sum(found[mode].values())))
        exact = change(found[""], ends_at_table(without_table(program)))
        share, worst = agreement(exact, change(found["dwarf"], lambda chain: chain if chain[-1] != "uw_install_context_1" else ()))
        print(f"# {program}: dwarf: {100 * agreement(found[''], found['dwarf'])[0]:.1f} % of all chains are the exact ones, "
              f"{100 * share:.1f} % up to the first function without a table")
        check(share > 0.98, f"{program}: chains by unwinding are the exact ones up to the first function without a table", worst)
        exact = change(found[""], beyond_the_caller)
        share, worst = agreement(exact, change(found["fp"], beyond_the_caller))
        print(f"# {program}: fp: {100 * agreement(found[''], found['fp'])[0]:.1f} % of all chains are the exact ones, "
              f"{100 * share:.1f} % from the second caller up to main(), where own functions call ({100 * sum(exact.values()) / total:.0f} % of the cycles)")
        if program.endswith("-frames"):
            # The first instructions of a function still have the caller's s0.
            check(share > 0.95, f"{program}: chains by frame pointers are the exact ones beyond the caller", worst)
        else:
            check(share < 0.1, f"{program}: without frame pointers there are none", worst)

os.chdir("/")
shutil.rmtree(work)
end()
