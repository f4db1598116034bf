#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Build and boot the kernel of each prefix of kernel/series, and try there what perf can record: TAP on standard output.

  O=$PWD/build tests/system/series_each.py [FROM [TO]]      numbers of patches: those between are built and booted

Patches that change only documentation, device-tree bindings or tools/ are applied, and no kernel is built for them.  There is one build
directory: each kernel compiles what its patch changes.  The configuration is that of the board's plain kernel without debug information.
What works with one patch has to work with the next.  It takes an hour or more on two cores, so tests/run does not run it; series.t tries
the last kernel with check_kernel()."""
import collections
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

from board import CROSS, FAULTS, TOP, board, core_with_transfers, guest_program, read, script_parts, tap

PATCHES = sorted(glob.glob(os.path.join(TOP, "kernel/series/0*.patch")))
NOT_COMPILED = re.compile(r"Documentation/|tools/|MAINTAINERS$")
SELFTEST = "tools/testing/selftests/riscv/pmu"
LEAST = 20  # samples of a recording that works
# What a kernel may or may not be able to record, and the words for perf record.  `exact`: only marked samples count.
RECORDINGS = {
    "samples": "-e cycles -c 20011",
    "exact samples": "-e cycles:ppp -c 20011",
    "branch stacks": "-e cycles -b -c 20011",
    "call stacks": "-e cycles:u --call-graph lbr -c 20011",
    "samples of pesa": "-e pesa/cycles/ -c 20011",
    "branch stacks of pesa": "-e pesa/cycles/u -j any,u -c 20011",
}
SCRIPT = """
echo "== stat"; perf stat -x, -e cycles,instructions ./hot 2000 2>&1; echo status $?
record() { # NAME PATTERN WORDS...
    echo "== $1"; pattern=$2; shift 2
    rm -f /tmp/data; perf record -q -N -B -o /tmp/data "$@" ./hot 20000 2>&1; echo "status $?"
    echo "$(perf script -D -i /tmp/data 2> /dev/null | grep -c "$pattern") samples"
}
""" + "\n".join(f"record '{name}' 'PERF_RECORD_SAMPLE(IP, 0x{'4' if 'exact' in name else ''}' {words}" for name, words in RECORDINGS.items()) + """
[ ! -e sampling ] || { echo "== selftest"; ./sampling; echo "status $?"; }
echo "== end"
"""


def selftest(source, share):
    """Compile the selftest of a source, if there is one, into a directory."""
    if not os.path.exists(f"{source}/{SELFTEST}"):
        return
    folder = f"{source}/tools/testing/selftests"
    subprocess.run([f"{CROSS}gcc", "-Wall", "-Werror", "-O2", "-static", f"-I{folder}", f"-I{source}/tools/include", "-o", f"{share}/sampling",
                    f"{source}/{SELFTEST}/sampling.c", f"{source}/{SELFTEST}/loop.S"], check=True)


def check_kernel(name, kernel, source):
    """Boot a kernel on harts that have everything, and try it.  Returns the names of the recordings that work."""
    with tempfile.TemporaryDirectory(prefix="pesa-each-") as share:
        guest_program("hot", share)
        selftest(source, share)
        with open(f"{share}/script", "w", encoding="utf-8") as file:
            file.write(SCRIPT)
        done = board("--harts", "1", "--core", core_with_transfers(share, 32), "--property", "pesa-sspesa=on", "--share", share,
                     "--console", f"{share}/console", "--", "bash", "script", limit=600, env={**os.environ, "BOARD_DRIVER": "tree", "KERNEL": kernel})
        console = read(f"{share}/console")
    parts = collections.defaultdict(str, script_parts(done.stdout))
    tap.check(done.returncode == 0 and "end" in parts and not FAULTS.search(console), f"{name}: boots, and the kernel complains of nothing",
              f"status {done.returncode}\n{done.stdout[-3000:]}{done.stderr[-2000:]}{console[-3000:]}")
    counted = re.findall(r"^(\d+),,(?:cycles|instructions)", parts["stat"], re.M)
    tap.check("status 0" in parts["stat"] and len(counted) == 2 and all(int(count) for count in counted), f"{name}: perf stat counts", parts["stat"])
    works = {what for what in RECORDINGS
             if "status 0" in parts[what] and int(re.search(r"(\d+) samples\n", parts[what] + "0 samples\n")[1]) > LEAST}
    print("#", name, "records", ", ".join(what for what in RECORDINGS if what in works), flush=True)
    tap.check("samples" in works, f"{name}: perf record samples", parts["samples"])
    if os.path.exists(f"{source}/{SELFTEST}"):
        tap.check(re.search(r"pass:[1-9]\d* fail:0 .*error:0", parts["selftest"]) and "status 0" in parts["selftest"], f"{name}: its selftest passes",
                  parts["selftest"])
    return works


def apply(tree, patch):
    """Returns what subprocess.run() returns."""
    with open(patch, "rb") as text:
        return subprocess.run(["patch", "-d", tree, "-p1", "--forward", "--fuzz=0", "--no-backup-if-mismatch"], stdin=text, capture_output=True,
                              text=True, check=False)


def is_compiled(patch):
    return not all(NOT_COMPILED.match(file) for file in re.findall(r"^\+\+\+ b/(\S+)", read(patch), re.M))


def check_each(first, last):
    plain = subprocess.run([os.path.join(TOP, "tools/board/kernel")], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
    # Beside the source, whose files the tree has as links.
    work = tempfile.mkdtemp(prefix="series-each-", dir=os.path.dirname(plain))
    tree, built = f"{work}/source", f"{work}/build"
    make = ["make", "-s", "-C", tree, f"O={built}", "ARCH=riscv", f"CROSS_COMPILE={CROSS}", f"-j{os.cpu_count()}"]
    worked = set()
    try:
        subprocess.run(["cp", "-al", f"{os.path.realpath(f'{plain}/source')}/.", tree], check=True)
        os.mkdir(built)
        shutil.copy(f"{plain}/.config", built)
        subprocess.run([f"{tree}/scripts/config", "--file", f"{built}/.config", "-d", "DEBUG_INFO_DWARF_TOOLCHAIN_DEFAULT", "-e", "DEBUG_INFO_NONE"], check=True)
        for patch in PATCHES:
            applied = apply(tree, patch)
            if applied.returncode:
                tap.bail_out(f"{patch} does not apply: {applied.stdout}")
            name = os.path.basename(patch)[:4]
            if not first <= int(name) <= last:
                continue
            if not is_compiled(patch):
                print(f"# {name}: nothing of it is compiled into the kernel", flush=True)
                continue
            subprocess.run([*make, "olddefconfig"], check=True, capture_output=True)
            done = subprocess.run([*make, "Image", "modules"], capture_output=True, text=True, check=False)
            if not tap.check(not done.returncode and "warning:" not in done.stderr, f"{name}: the kernel builds without warnings", done.stderr[-3000:]):
                if done.returncode:
                    continue
            works = check_kernel(name, built, tree)
            tap.check(worked <= works, f"{name}: what worked still works", worked - works)
            worked = works
    finally:
        shutil.rmtree(work, ignore_errors=True)
    if last >= len(PATCHES):
        tap.check(worked == set(RECORDINGS), "in the end everything is recorded", set(RECORDINGS) - worked)


if __name__ == "__main__":
    numbers = [int(word) if word.isdecimal() else 0 for word in sys.argv[1:]]
    if 0 in numbers or len(numbers) > 2:
        sys.exit(f"usage: {sys.argv[0]} [FROM [TO]]: numbers of patches, from 1 on")
    check_each(*[*numbers, 1, len(PATCHES)][:2] if len(numbers) != 1 else (numbers[0], len(PATCHES)))
    tap.end()
