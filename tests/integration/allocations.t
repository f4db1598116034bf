#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Whichever allocation of pesa's own code fails, a command says so and leaves with status 1, or does without and prints
what it prints anyway.  No command dies, none hangs, and none leaves a part out in silence.

tests/data/host/failing_allocation.c makes one allocation fail: of each place that allocates the first and the last, in the
first command that comes there; with a recording of a program that is not at hand, in every command.  Making and filling
json-c's objects counts as allocating."""
import concurrent.futures
import os
import re
import shutil
import signal
import subprocess
import tempfile

from tap import TOP, BUILD, PESA, GUEST_CC, QEMU, bail_out, check, end, needs, plain_environment, skip_all

if os.environ.get("PESA_SANITIZED"):
    skip_all("sanitizers have an allocator of their own")
if not QEMU:
    skip_all(needs("qemu-user"))
work = tempfile.mkdtemp(prefix="pesa-allocations-")
os.chdir(work)
plain = plain_environment(work)
IN_COMMANDS = 1 << 40  # as in failing_allocation.c
DIES = 60  # s, after which a run hangs
ASSEMBLY = """# LLVM-MCA-BEGIN one
	lw a0, 0(a1)
	vadd.vv v1, v2, v3
	mul a2, a0, a0
	bnez a0, 1f
1:	nop
# LLVM-MCA-END one
"""
# A recording of a program that is not at hand: what its symbols lack is told as a problem of the file.
MISSING = """command ./program
period 1000
capability core test-core
capability cause_names 0:I$miss,3:D$miss
comm 7 7 program
map 7 0x400000 0x1000 0 {work}/program
sample 300 7 7 0x400100 0 2 0 0 0 0 0 0 0 0 0
sample 40 7 7 0x400104 1 0 0 0 0 0 0 1 8 0 0
"""
# Words of a command, and the file that it writes.
COMMANDS = [
    (["report", "-i", "a.data", "--sort", "symbol,line", "--json"], None),
    (["annotate", "-i", "a.data", "work"], None),
    (["report", "-i", "b.data", "--json"], None),
    (["report", "-i", "a.data", "--children", "-g", "--sort", "comm,cpu,time,sym", "--stdio", "--time", "0%-99%"], None),
    (["report", "-i", "a.data", "--callee", "main", "--json"], None),
    (["script", "-i", "b.data"], None),
    (["error", "-i", "a.data", "--golden", "golden.a.data"], None),
    (["diff", "a.data", "b.data"], None),
    (["topdown", "-i", "b.data"], None),
    (["topdown", "-i", "a.data", "--json", "--by", "line"], None),
    (["compare", "-i", "a.data", "--mcpu", "sifive-p670"], None),
    (["export", "-f", "pprof", "-i", "b.data", "-o", "out"], "out"),
    (["export", "-f", "firefox", "-i", "b.data", "-o", "out"], "out"),
    (["export", "-f", "csv", "-i", "b.data", "-o", "out"], "out"),
    (["export", "-f", "speedscope", "-i", "b.data", "-o", "out"], "out"),
    (["export", "-f", "folded", "-i", "b.data", "-o", "out"], "out"),
    (["merge", "-o", "out", "a.data", "b.data"], "out"),
    (["archive", "-i", "a.data", "-o", "out.tar"], "out.tar"),
    (["mca", "-mcpu=sifive-x280", "-timeline", "-all-views", "block.s"], None),
    (["list"], None),
    (["report", "-i", "missing.data"], None),
    (["report", "-i", "missing.data", "--json"], None),
    (["script", "-i", "missing.data", "--json"], None),
    (["topdown", "-i", "missing.data", "--json"], None),
]

def build(*words):
    made = subprocess.run(words, capture_output=True, text=True)
    if made.returncode:
        bail_out("cannot build", words[-1], made.stderr)


def run(words, output=None, **more):
    """What a command prints, into a pipe and into the file `output`."""
    if output and os.path.exists(output):
        os.unlink(output)
    done = subprocess.run([PESA, *words], capture_output=True, timeout=DIES, stdin=subprocess.DEVNULL, env={**plain, **more})
    done.err = done.stderr.decode("utf-8", "replace")
    written = b""
    if output and os.path.exists(output):
        with open(output, "rb") as file:
            written = file.read()
    done.all = done.stdout, written
    return done


def refused(done):
    """Whether a command said that memory ran out."""
    return done.returncode == 1 and re.search("out of memory|Cannot allocate memory", done.err)


def where(attempt):
    """The functions that a place is in, inlined ones first, and its line."""
    place = int(attempt.split(":")[0], 16) - 1
    file = os.path.join(BUILD, "libexec/pesa-commands.so") if place & IN_COMMANDS else PESA
    shown = subprocess.run(["addr2line", "-sfie", file, f"{place & ~IN_COMMANDS:x}"], capture_output=True, text=True).stdout.split("\n")
    return shown[:-1:2], shown[1]


def one(words, usual, output, attempt):
    """What is wrong when this allocation fails; "": nothing."""
    own = f"{attempt}.{output}" if output else None
    words = [own if output and word == output else word for word in words]
    try:
        done = run(words, own, LD_PRELOAD=preload, FAILING=attempt)
    except subprocess.TimeoutExpired:
        return "hangs"
    if own and os.path.exists(own):
        os.unlink(own)
    said[bool(refused(done))] += 1
    if done.returncode < 0:
        return f"dies of {signal.Signals(-done.returncode).name}"
    if done.returncode == 0 and done.all != usual.all:
        return f"status 0, and prints something else: {done.err[:200]!r}"
    if done.returncode and not refused(done):
        return f"status {done.returncode}: {done.err[:200]!r}"
    return ""


preload = os.path.abspath("failing_allocation.so")
build("cc", "-O1", "-shared", "-fPIC", os.path.join(TOP, "tests/data/host/failing_allocation.c"), "-o", preload)
build(GUEST_CC, "-O1", "-g", "-static", "-pthread", os.path.join(TOP, "tests/data/guest/guest.c"), "-o", "guest")
for name, period, guest in (("a.data", "1000", ("work", "3")), ("b.data", "700", ("threads", "2"))):
    made = subprocess.run([PESA, "record", "-q", "-c", period, "-o", name, "--golden", f"golden.{name}", "--core", "ooo-4", "--",
                           "./guest", *guest], capture_output=True, timeout=300, env=plain, text=True)
    if made.returncode:
        bail_out("cannot record:", made.stderr)
made = subprocess.run([os.path.join(BUILD, "tests/tools/make_profile"), "missing.data"], input=MISSING.format(work=work),
                      capture_output=True, text=True)
if made.returncode:
    bail_out("cannot make a profile:", made.stderr)
with open("block.s", "w", encoding="ascii") as file:
    file.write(ASSEMBLY)

tried, said = set(), [0, 0]
for words, output in COMMANDS:
    what = "pesa " + " ".join(words)
    usual = run(words, output)
    counted = run(words, output, LD_PRELOAD=preload, ALLOCATIONS="places")
    if usual.returncode or counted.all != usual.all:
        check(False, f"{what}: runs, twice the same", usual.err + counted.err)
        continue
    with open("places", encoding="ascii") as file:
        places = sorted((offset, int(count)) for offset, count in (line.split() for line in file))
    if "missing.data" in words:
        tried.clear()
    attempts = sorted({f"{offset}:{number}" for offset, count in places if offset not in tried for number in (1, count)})
    tried |= {offset for offset, _ in places}
    with concurrent.futures.ThreadPoolExecutor(int(os.environ.get("JOBS", os.cpu_count()))) as pool:
        found = list(pool.map(lambda attempt: one(words, usual, output, attempt), attempts))
    bad = []
    for attempt, why in zip(attempts, found):
        functions, line = where(attempt) if why else ([], "")
        # In a build that counts lines libgcov is linked with the program.
        counts_lines = any(function.startswith(("gcov", "__gcov")) for function in functions)
        if why and not counts_lines:
            bad.append(f"{' in '.join(functions)}, {line}, {attempt}: {why}")
    check(places and not bad, f"{what}: {len(attempts)} allocations may fail", "\n".join(bad))
check(said[True] > 0.8 * sum(said), "a failure is seldom done without", f"{said[True]} of {sum(said)} are told")
shutil.rmtree(work)
end()
