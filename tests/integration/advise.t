#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""pesa advise.  Oracle: the change is made in the program, or on the virtual core, and its cycles counted again."""
import json
import os
import re
import shutil
import subprocess
import tempfile

from tap import TOP, PESA, CROSS, GUEST_CC, NATIVE, bail_out, check, end, needs, skip

SOURCE = os.path.join(TOP, "tests/data/guest/advise.c")
SYSROOT = [] if NATIVE else ["--sysroot", "/usr/riscv64-linux-gnu"]
CORES = ("inorder-2", "ooo-4")
FACTOR = 2  # by which an estimate may be off where its interval does not hold what was saved
work = tempfile.mkdtemp(prefix="pesa-advise-")
os.chdir(work)
os.environ["LC_ALL"] = "C.UTF-8"
os.environ.pop("DEBUGINFOD_URLS", None)
with open(SOURCE, encoding="utf-8") as source:
    lines = source.read().splitlines()


def command(*words, **options):
    return subprocess.run(words, capture_output=True, encoding="utf-8", errors="replace", timeout=120, check=False, **options)


def build(kind, *words):
    """The program's name."""
    name = kind + "".join(words)
    if not os.path.exists(name):
        done = command(GUEST_CC, "-static", "-O2", "-g", f"-DKIND={kind}", *words, SOURCE, "-o", name)
        if done.returncode:
            bail_out(f"{SOURCE} cannot be compiled: {done.stderr}")
    return name


def record(program, core, *words):
    """The recording's name, and the program's cycles."""
    name = "-".join((program, core, *words)).replace("/", "_") + ".data"
    done = command(PESA, "record", "--core", core, *SYSROOT, "-c", "500", "-o", name, *words, "--", f"./{program}")
    found = re.search(r"of (\d+) cycles", done.stdout + done.stderr)
    if not found:
        bail_out(f"{program} cannot be recorded: {done.stderr}")
    return name, int(found[1])


def advise(recording, *words):
    done = command(PESA, "advise", "--json", "-i", recording, *words)
    if done.returncode:
        bail_out(f"{recording}: {done.stderr}")
    return json.loads(done.stdout)["remarks"]


def of_program(remarks, kind):
    """Remarks of a kind on the program's own source, not on what is linked into it."""
    return [one for one in remarks if one["kind"] == kind and (one["file"] or "").endswith("advise.c")]


def line_of(kind):
    """The line marked `here` in the part of the source for a kind."""
    begin = next(number for number, line in enumerate(lines, 1) if line.endswith(f"KIND == {kind}"))
    return next(number for number, line in enumerate(lines, 1) if number > begin and line.endswith("/* here */"))


def judge(what, remarks, before, after):
    """Whether what a change saved is in the interval of the estimate, or within the factor."""
    saved = before - after
    estimate = sum(one["saved"] for one in remarks)
    low, high = (sum(one["saved_interval"][i] for one in remarks) for i in (0, 1)) if remarks else (0, 0)
    print(f"# {what}: saved {saved / before:.1%}, estimated {estimate / before:.1%} ({low / before:.1%} to {high / before:.1%})")
    check(remarks and all(one["modelled"] for one in remarks) and (low <= saved <= high or estimate / FACTOR <= saved <= estimate * FACTOR),
          f"{what}: what it saves is about what was estimated", f"{saved} {estimate}")


# ---- Each kind, before and after -------------------------------------------------------------------------------------------

PLACES = {"PREFETCH": ("prefetch", True), "INLINE": ("inline", False), "LAYOUT": ("layout", False), "UNROLL": ("unroll", True), "SPILL": ("spill", False)}
fixed = {}
for name, (kind, marked) in PLACES.items():
    for core in CORES:
        if (name, core) == ("INLINE", "ooo-4"):
            before, after = record(build(name), core)[1], record(build(name, "-DFIXED"), core)[1]
            print(f"# {kind} on {core}: saved {(before - after) / before:.1%}; a call costs next to nothing there")
            continue
        recording, before = record(build(name), core)
        changed, after = record(build(name, "-DFIXED"), core)
        remarks = of_program(advise(recording), kind)
        if marked:
            remarks = [one for one in remarks if one["line"] == line_of(name)]
        judge(f"{kind} on {core}", remarks, before, after)
        fixed[name, core] = advise(changed)
        left = [one for one in of_program(fixed[name, core], kind) if not marked or one["line"] == line_of(name)]
        # A loop that was unrolled four times still counts, a quarter as often.
        allowed = 0.5 * sum(one["saved"] for one in remarks) if kind == "unroll" else 0
        check(sum(one["saved"] for one in left) <= allowed, f"{kind} on {core}: the program without it has no such remark", str(left))

recording, _ = record(build("INLINE"), "inorder-2")
calls = of_program(advise(recording), "inline")
first = calls[0] if calls else {}
check(first.get("line") == line_of("INLINE") and "mix" in first["evidence"] and "always_inline" in first["try"], "a call is named with what it calls", str(calls))

# How often a loop iterates says whether unrolling is worth a try.
for core in CORES:
    recording, before = record(build("UNROLL", "-DCOUNT=3"), core)
    loops = [one for one in of_program(advise(recording), "unroll") if one["line"] == line_of("UNROLL")]
    _, after = record(build("UNROLL", "-DCOUNT=3", "-DFIXED"), core)
    print(f"# a loop of 3 iterations that is unrolled on {core}: saved {(before - after) / before:.1%}")
    check(not loops, f"unroll on {core}: a loop of few iterations has no such remark", str(loops))

# A branch that is always predicted is another core, not another program; without a branch it is less work for no prediction.
for core in CORES:
    recording, before = record(build("PREDICT"), core)
    branches = of_program(advise(recording), "predict")
    check(branches and branches[0]["line"] == line_of("PREDICT"), f"predict on {core}: the branch is found", str(branches))
    _, after = record(build("PREDICT"), core, "--ideal", f"predict@{branches[0]['address']:#x}") if branches else (0, before)
    judge(f"predict on {core}", branches[:1], before, after)
    _, without = record(build("PREDICT", "-DFIXED"), core)
    print(f"# without the branch on {core}: saved {(before - without) / before:.1%}")
    check(without < before, f"predict on {core}: code without the branch is faster", f"{before} {without}")

# ---- Addresses -------------------------------------------------------------------------------------------------------------

recording, before = record(build("PREFETCH"), "ooo-4")
load = next((one for one in of_program(advise(recording), "prefetch") if one["line"] == line_of("PREFETCH")), {})
check(load.get("address_from") == "stride" and load["stride"] == 256 and load["distance"] and
      f"+ {256 * load['distance']})" in load["try"] and load["loop"]["iterations"] > 100, "a stride is that of the array", str(load))
recording, before = record(build("LISTED"), "ooo-4")
listed = [one for one in of_program(advise(recording), "prefetch") if one["line"] == line_of("LISTED")]
check(listed and listed[0]["address_from"] == "chased" and not listed[0]["distance"] and "__builtin_prefetch" not in listed[0]["try"],
      "of a list no prefetch is proposed", str(listed))
_, after = record(build("LISTED", "-DFIXED"), "ooo-4")
judge("elements side by side on ooo-4", listed, before, after)

# ---- Hints -----------------------------------------------------------------------------------------------------------------

recording, _ = record(build("PREFETCH"), "ooo-4")
done = command(PESA, "advise", "--no-pager", "-i", recording, "--kind", "prefetch", "--hints", "hints.txt")
with open("hints.txt", encoding="utf-8") as file:
    hints = file.read()
offset = line_of("PREFETCH") - next(number for number, line in enumerate(lines, 1) if "work(struct item" in line)
check("1 hint written" in done.stdout and re.fullmatch(rf"work:\d+:0\n {offset}(\.\d+)?: \d+ __prefetch_t0_0:{256 * load.get('distance', 0)}\n", hints),
      "a stride is a hint", done.stdout + hints)
profdata = next((path for path in map(shutil.which, ("llvm-profdata-22", "llvm-profdata")) if path), None)
if not profdata:
    skip("llvm-profdata reads hints", needs("llvm-22"))
else:
    done = command(profdata, "show", "--sample", "hints.txt")
    check("__prefetch_t0_0" in done.stdout, "llvm-profdata reads hints", done.stderr)
clang = shutil.which("clang-14")
if not clang or os.uname().machine != "x86_64":
    skip("a compiler makes prefetches of hints", "clang-14 for x86-64 is not here")
else:
    done = command(clang, "-O2", "-g", "-fdebug-info-for-profiling", "-DKIND=PREFETCH", SOURCE, "-S", "-o", "-", "-mllvm", "-prefetch-hints-file=hints.txt")
    check(re.search(rf"prefetcht0\s+{256 * load.get('distance', 0)}\(", done.stdout), "a compiler makes prefetches of hints", done.stderr)

# ---- The text --------------------------------------------------------------------------------------------------------------

text = command(PESA, "advise", "--no-pager", "-i", recording).stdout
check(re.search(rf"^{re.escape(SOURCE)}:{line_of('PREFETCH')}:\d+: remark: load misses the cache, .*would save about [\d.]+% .*\[prefetch\]\n"
                rf" +{line_of('PREFETCH')} \|.*/\* here \*/\n    `ld ", text, re.M), "a remark is beside the source", text)
check("no remark" in command(PESA, "advise", "--no-pager", "-l", "90", "-i", recording).stdout, "-l leaves out what has less at stake")
check({one["kind"] for one in advise(recording, "--kind", "unroll,layout", "-l", "0")} <= {"unroll", "layout"}, "--kind chooses")
done = command(PESA, "advise", "--kind", "speed", "-i", recording)
check(done.returncode == 2 and "speed" in done.stderr and done.stderr.count("\n") == 1, "a kind that is none is refused", done.stderr)
done = command(PESA, "advise", "--hints", recording, "-i", recording)
check(done.returncode == 1 and done.stderr.count("\n") == 1, "hints are not written over the recording", done.stderr)

# ---- Bad input -------------------------------------------------------------------------------------------------------------

shutil.copy(build("UNROLL"), "stripped")
command(CROSS + "strip", "stripped")
remarks = advise(record("stripped", "ooo-4")[0])
check(remarks and all(one["file"] is None for one in remarks) and any(one["kind"] == "unroll" for one in remarks),
      "without debug information places are addresses", str(remarks))
text = command(PESA, "advise", "--no-pager", "-i", "stripped-ooo-4.data").stdout
check(re.search(r"^stripped\+0x[0-9a-f]+: remark: ", text, re.M), "and so in the text", text)
plain, _ = record(build("UNROLL"), "ooo-4", "--sampler", "lcofi")
done = command(PESA, "advise", "-i", plain)
check(done.returncode == 1 and not done.stdout and "only a PC" in done.stderr and done.stderr.count("\n") == 1,
      "samples without details are no ground for advice", done.stdout + done.stderr)
with open(recording, "rb") as file:
    content = file.read()
with open("cut.data", "wb") as file:
    file.write(content[:len(content) // 2])
done = command(PESA, "advise", "--no-pager", "-i", "cut.data")
check(done.returncode == 1 and done.stderr.count("\n") == 1, "what can be read of a damaged file is used", done.stderr)
done = command(PESA, "advise", "-mcpu=none-such", "-i", recording)
check(done.returncode == 1 and "none-such" in done.stderr and done.stderr.count("\n") == 1, "a processor that is not known is refused", done.stderr)
end()
