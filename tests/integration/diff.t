#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""pesa diff: on recordings with known samples, of the same build and of different builds, and on two runs of one program."""
import json
import os
import re
import shutil
import subprocess
import tempfile

from tap import TOP, BUILD, PESA, CROSS, GUEST_CC, bail_out, check, command, end, plain_environment

MAKE = os.path.join(BUILD, "tests/tools/make_profile")
work = tempfile.mkdtemp(prefix="pesa-diff-")
os.chdir(work)
plain = plain_environment(work)


def tool(name, *arguments):
    return subprocess.run([CROSS + name, *arguments], capture_output=True, text=True, check=True).stdout


def pesa(*words):
    return command(PESA, *words, env=plain)


def diff(*words):
    run = pesa("diff", "--json", *words)
    try:
        run.json = json.loads(run.stdout)
    except ValueError as error:
        bail_out("no JSON:", error, run.stderr.decode())
    return run.json


# The same function in two builds: an instruction more in front of the loop, one of the loop with another register, one gone; calls
# and addresses elsewhere because there is more code before it.
BODY = """
	.globl hot
	.type hot, @function
hot:	{extra}
	la a3, cell
1:	ld a1, 0(a3)
	{middle}
	addi a0, a0, -1
	{last}
	beqz a1, 2f
	jal ra, helper
	bnez a0, 1b
2:	ret
	.size hot, . - hot
"""


def function(name, instructions):
    return f"\t.globl {name}\n\t.type {name}, @function\n{name}:\n{instructions}\tret\n\t.size {name}, . - {name}\n"


def build(name, before, body, more):
    with open(name + ".s", "w", encoding="ascii") as out:
        out.write(".text\n" + before + body + function("helper", "\tnop\n") + more
                  + ".globl _start\n_start: j hot\n.data\n" + f".zero {len(before)}\n" + "cell: .dword 0\n")
    os.makedirs(name, exist_ok=True)
    tool("gcc", "-march=rv64g", "-mabi=lp64d", "-nostdlib", "-static", "-Wl,--build-id", "-Wl,-Ttext=0x400000", "-Wl,--no-relax",
         name + ".s", "-o", name + "/program")
    symbols = {word[2]: int(word[0], 16) for word in (line.split() for line in tool("nm", name + "/program").splitlines())}
    listing = re.findall(r"^ +([0-9a-f]+):\t(\S+)(.*)$", tool("objdump", "-d", "--no-show-raw-insn", "-M", "no-aliases",
                                                             name + "/program"), re.M)
    segment = re.search(r"LOAD +0x([0-9a-f]+) +0x0*([0-9a-f]+) [^\n]*R E", tool("readelf", "-lW", name + "/program"))
    head = [f"command ./{name}", "period 1000", "capability retire_width 2", "comm 7 7 program",
            f"map 7 0x400000 0x1000 {int(segment.group(1), 16) + 0x400000 - int(segment.group(2), 16):#x} {work}/{name}/program"]
    return symbols, [int(address, 16) for address, _, _ in listing], head


def record(name, head, samples):
    lines = head + [f"sample {count} 7 7 {address:#x} {state} {instret} 0 0 0 0 0 0 0"
                    for address, count, state, instret in samples]
    made = subprocess.run([MAKE, name], input="\n".join(lines).encode(), capture_output=True)
    if made.returncode:
        bail_out("make_profile:", made.stderr.decode())


old_symbols, old_code, old_head = build("old", "", BODY.format(extra="li a2, 1", middle="add a2, a2, a1", last="xor a4, a4, a1"),
                                        function("stale", "\taddi a0, a0, 1\n"))
new_symbols, new_code, new_head = build("new", function("first", "\tnop\n" * 9),
                                        BODY.format(extra="li a2, 1\n\tli a5, 7", middle="add a5, a2, a1", last=""),
                                        function("fresh", "\taddi a0, a0, 1\n"))
# Positions in hot: old li auipc addi ld add addi xor beq jal bne ret, new li li auipc addi ld add addi beq jal bne ret
OLD, NEW = old_symbols["hot"], new_symbols["hot"]
record("old.data", old_head, [(OLD, 100, 0, 1), (OLD + 12, 4000, 1, 0), (OLD + 12, 1000, 0, 1), (OLD + 16, 1000, 0, 1),
                              (OLD + 24, 500, 0, 1), (OLD + 28, 600, 0, 1), (old_symbols["stale"], 800, 0, 1), (OLD + 40, 5, 0, 1)])
record("new.data", new_head, [(NEW, 100, 0, 1), (NEW + 4, 300, 0, 1), (NEW + 16, 1000, 1, 0), (NEW + 16, 1000, 0, 1),
                              (NEW + 20, 1050, 0, 1), (NEW + 28, 600, 0, 1), (new_symbols["fresh"], 700, 0, 1)])

# ---- Functions --------------------------------------------------------------------------------
run = diff("old.data", "new.data")
rows = {one["symbol"]: one for one in run["rows"]}
check(run["rows"][0]["symbol"] == "hot" and rows["hot"]["change"] == 1000 * (4050 - 7205) and rows["hot"]["change_significant"]
      and rows["hot"]["change_interval"][0] < rows["hot"]["change"] < rows["hot"]["change_interval"][1] < 0,
      "the function that changed most is first", run["rows"])
check(rows["hot"]["old"]["executions"] == 100000 == rows["hot"]["new"]["executions"]
      and abs(rows["hot"]["cost_change"] - (40.5 - 72.05)) < 1e-9 and rows["hot"]["cost_change_significant"],
      "cycles per execution", rows["hot"])
check(rows["stale"]["kind"] == "gone" and rows["stale"]["new"] is None and rows["stale"]["change"] == -800000
      and rows["fresh"]["kind"] == "new" and rows["fresh"]["old"] is None and rows["fresh"]["change_significant"],
      "new functions and such that are gone", rows)
check(run["old"]["cycles"] == 8005000 and run["new"]["cycles"] == 4750000, "both are described", run["old"])

# ---- Instructions -----------------------------------------------------------------------------
run = diff("--by", "insn", "--symbol", "hot", "old.data", "new.data")
pairs = [(one["old"] and one["old"]["address"] - OLD, one["new"] and one["new"]["address"] - NEW) for one in run["rows"]]
check(pairs == [(0, 0), (None, 4), (4, 8), (8, 12), (12, 16), (16, 20), (20, 24), (24, None), (28, 28), (32, 32), (36, 36), (40, 40)],
      "instructions of different builds are aligned by their text", (pairs, [one["text"] for one in run["rows"]]))
at = {pair: one for pair, one in zip(pairs, run["rows"])}
load = at[(12, 16)]
check(load["change"] == -3000000 and load["cost_change_significant"] and abs(load["cost_change"] + 3) < 1e-9
      and load["old"]["cycles_per_execution"] == 5, "the load costs three cycles less each time", load)
check(at[(16, 20)]["old_text"] == "add a2, a2, a1" and at[(16, 20)]["text"] == "add a5, a2, a1"
      and "old_text" not in at[(32, 32)], "another register is said, a call that moved is not", at[(16, 20)])
check(not at[(28, 28)]["change_significant"] and at[(28, 28)]["change"] == 0 and not at[(40, 40)]["change_significant"],
      "what did not change is not significant", at[(28, 28)])
run = diff("--by", "insn", "old.data", "new.data")
flags = [one["change_significant"] for one in run["rows"]]
sizes = [abs(one["change"]) for one in run["rows"] if one["change_significant"]]
check(flags == sorted(flags, reverse=True) and sizes == sorted(sizes, reverse=True) and any(flags) and not all(flags),
      "significant changes first, the largest at the top", run["rows"])

# ---- Other lengths and periods -----------------------------------------------------------------
record("twice.data", [line.replace("period 1000", "period 2000") for line in old_head],
       [(OLD, 100, 0, 1), (OLD + 12, 4000, 1, 0), (OLD + 12, 1000, 0, 1), (OLD + 16, 1000, 0, 1),
        (OLD + 24, 500, 0, 1), (OLD + 28, 600, 0, 1), (old_symbols["stale"], 800, 0, 1), (OLD + 40, 5, 0, 1)])
run = diff("old.data", "twice.data")
check(run["rows"][0]["change"] == 7205000 and any("2.00 times" in note for note in run["notes"])
      and any("periods differ" in note for note in run["notes"]), "another period and more work is said", run["notes"])
run = diff("--shares", "old.data", "twice.data")
check(run["scale"] == .5 and all(abs(one["change"]) < 1e-6 and not one["change_significant"] for one in run["rows"]),
      "shares are the same", run["rows"])
run = diff("--by", "insn", "old.data", "old.data")
check(run["rows"] and all(one["change"] == 0 and one["kind"] == "both" and not one["cost_change_significant"]
                          and not one["change_significant"] for one in run["rows"]), "nothing changed from a recording to itself")
shown = pesa("diff", "old.data", "new.data").stdout.decode()
check(re.search(r"^ *-3\.1[56]M\* .* 72\.05 +40\.50\* +program +hot$", shown, re.M) and re.search(r"gone program +stale$", shown, re.M)
      and "NEW takes -40.66% cycles" in shown, "the text has the same figures", shown)
for width in (60, 80, 100, 250):
    narrow = command(PESA, "diff", "old.data", "new.data", env={**plain, "COLUMNS": str(width)}).stdout.decode()
    rows = [line for line in narrow.splitlines() if re.match(r" +[-+][\d.]+[kM]?\*? ", line)]
    check(rows and {row.split()[-1] for row in rows} == {"hot", "stale", "fresh"} and all(len(row) <= width for row in rows)
          and ("Execs old, new" in narrow) == (width == 250),
          f"in {width} columns figures are left out, not names", narrow)
os.makedirs("kept")
shutil.copy("old.data", "kept/perf.data.old")
shutil.copy("new.data", "kept/perf.data")
kept = subprocess.run([PESA, "diff"], capture_output=True, text=True, env=plain, cwd="kept")
check("NEW takes -40.66% cycles" in kept.stdout and "OLD perf.data.old" in kept.stdout, "without names: perf.data.old and perf.data", kept.stdout + kept.stderr)

# ---- Samples without details, damage, usage -----------------------------------------------------
made = subprocess.run([MAKE, "plain.data"], input="\n".join(["event cycles", "plain"] + old_head[1:] + [f"ip 50 7 7 {OLD:#x}"]).encode(),
                      capture_output=True)
run = diff("plain.data", "plain.data")
check(run["rows"][0]["old"]["cycles"] == 50000 and any("PC alone" in note for note in run["notes"]),
      "samples without details are compared by their PC", run["notes"])
with open("new.data", "rb") as file:
    whole = file.read()
with open("cut.data", "wb") as out:
    out.write(whole[:len(whole) - 700])
with open("noise.data", "wb") as out:
    out.write(b"#!/bin/sh\n" + whole[10:3000])
open("empty.data", "wb").close()
for words, status, message in ((["old.data", "missing.data"], 1, "missing.data"), (["noise.data", "new.data"], 1, "noise.data"),
                               (["old.data", "empty.data"], 1, "empty.data"), (["old.data"], 2, "OLD and NEW"),
                               (["old.data", "new.data", "more"], 2, "one more"), (["--by", "x", "old.data", "new.data"], 2, "--by"),
                               (["-i", "old.data", "old.data", "new.data"], 2, "without -i"),
                               (["--symbol", "none", "old.data", "new.data"], 1, "no function 'none'")):
    run = pesa("diff", *words)
    said = run.stderr.decode()
    check(run.returncode == status and message in said and (said.count("\n") == 1 or status == 2) and not run.stdout,
          f"refused: {' '.join(words)}", said)
run = pesa("diff", "old.data", "cut.data")
check(run.returncode == 1 and b"damaged" in run.stderr and b"hot" in run.stdout, "of a damaged one what is left is used",
      run.stderr.decode())

# ---- Two samplings of one program: nothing changed ----------------------------------------------
made = command(GUEST_CC, "-O1", "-g", "-static", "-pthread", os.path.join(TOP, "tests/data/guest/guest.c"), "-o", "guest")
if made.returncode:
    bail_out("cannot build the guest program:", made.stderr.decode())
retired = {}
for seed in ("1", "2"):
    recorded = pesa("record", "-q", "--json=run.json", "--core", "ooo-4", "-c", "300", "--seed", seed, "-o", f"run{seed}.data", "--",
                    "./guest", "work", "3")
    if recorded.returncode:
        bail_out("cannot record:", recorded.stderr.decode())
    with open("run.json", encoding="utf-8") as file:
        retired[seed] = json.load(file)["instructions"]
for by in ("symbol", "line", "insn"):
    run = diff("--by", by, "run1.data", "run2.data")
    changed = [one for one in run["rows"] if one["change_significant"] or one["cost_change_significant"]]
    check(run["rows"] and len(changed) <= 1 and all(one["kind"] == "both" or abs(one["change"]) < 10000 for one in run["rows"]),
          f"by {by}: two samplings of the same run do not differ significantly", changed)
tool("strip", "-o", "bare", "guest")
recorded = pesa("record", "-q", "--core", "ooo-4", "-c", "300", "--seed", "1", "-o", "bare.data", "--", "./bare", "work", "3")
run = diff("run1.data", "bare.data")
cycles = {kind: sum(one["new"]["cycles"] for one in run["rows"] if one["kind"] == kind) for kind in ("both", "new")}
check(recorded.returncode == 0 and cycles["both"] > 4 * cycles["new"] and
      not any("+0x" in one["symbol"] for one in run["rows"] if one["kind"] == "both"),
      "functions of a stripped binary are found by their code, and have the names of the other one", (cycles, run["rows"]))
# Functions of one code: as static ones of headers are.
with open("alike.c", "w", encoding="ascii") as file:
    file.write("".join(f"""
__attribute__((noinline)) static long step_{name}(long n) {{ long s = 0; for (; n; n--) s = s * 7 + n; return s; }}
long call_{name}(long n) {{ return step_{name}(n) + {offset}; }}
""" for offset, name in enumerate(("one", "two", "three"))) + "int main(void) { return (call_one(9000) + call_two(19000) + call_three(29000)) & 1; }\n")
made = command(GUEST_CC, "-O1", "-fno-ipa-icf", "-funwind-tables", "-static", "alike.c", "-o", "alike")
if made.returncode:
    bail_out("cannot build functions of one code:", made.stderr.decode())
tool("strip", "-o", "alike-bare", "alike")
for name in ("alike", "alike-bare"):
    pesa("record", "-q", "--core", "ooo-4", "-c", "300", "-o", name + ".data", "--", "./" + name)
for old, new in (("alike", "alike-bare"), ("alike-bare", "alike-bare"), ("alike-bare", "alike")):
    run = diff(old + ".data", new + ".data")
    cycles = sorted(one["new"]["cycles"] for one in run["rows"] if one["kind"] == "both" and one["new"]["cycles"] > 20000)
    named = [one["symbol"] for one in run["rows"] if one["symbol"].startswith("step_")]
    check(len(cycles) >= 3 and all(abs(one["change"]) < .05 * one["new"]["cycles"] for one in run["rows"] if one["new"] and one["new"]["cycles"] > 20000)
          and len(named) == (3 if old != new else 0), f"{old}, {new}: functions of one code are told apart", run["rows"])
# A function that has changed is found by its place, and one that is another is not.
PLACES = """
#define RUN(name, step) __attribute__((noipa)) long name(long n) { long s = 1; for (; n; n--) { step; } return s; }
RUN(before, s = s * 7 + n)
RUN(changed, CHANGED)
RUN(between, s = s ^ n << 3)
RUN(replaced, REPLACED)
RUN(after, s = s * 5 - n)
int main(void) { return (before(9000) + changed(9000) + between(9000) + replaced(9000) + after(9000)) & 1; }
"""
OTHER = "if (n & 1) s /= n; if (s > 99) s %= 97; if (s & 4) s = s * 3 + 5; s ^= s >> 3; if (s < n) s += n / 3; s = s << 1 | 1; if (n & 8) s -= n * n"
with open("places.c", "w", encoding="ascii") as file:
    file.write(PLACES)
function = {}
for name, changed, replaced in (("places-old", "s += n * 3; s ^= s >> 7; s -= n << 2; s = s * 9 + 1; s ^= n", "s += n"),
                                ("places-new", "s += n * 5; s ^= s >> 9; s -= n << 1; s = s * 9 + 3; s ^= n; s += 77777", OTHER)):
    made = command(GUEST_CC, "-O1", "-funwind-tables", "-static", f"-DCHANGED={changed}", f"-DREPLACED={replaced}", "places.c", "-o", name)
    if made.returncode:
        bail_out("cannot build two versions:", made.stderr.decode())
    function[name] = {int(line.split()[0], 16): line.split()[2] for line in tool("nm", name).splitlines() if len(line.split()) == 3}
    tool("strip", "-o", name + "-bare", name)
    pesa("record", "-q", "--core", "ooo-4", "-c", "300", "-o", name + ".data", "--", f"./{name}-bare")
run = diff("places-old.data", "places-new.data")
pairs = {(one["old"] and function["places-old"].get(one["old"]["address"]), one["new"] and function["places-new"].get(one["new"]["address"]))
         for one in run["rows"]}
expected = {("before", "before"), ("changed", "changed"), ("between", "between"), ("after", "after"), ("replaced", None), (None, "replaced")}
check({pair for pair in pairs if set(pair) & {"before", "changed", "between", "replaced", "after"}} == expected,
      "a changed function without a symbol is found by its place, another one is new", pairs)
shutil.move("guest", "elsewhere")
run = diff("run1.data", "run2.data")
check(run["old"]["instructions"] == retired["1"] and run["new"]["instructions"] == retired["2"] and not run["notes"],
      "instructions are those that were counted, also where the code cannot be read", (run["old"], run["new"], retired, run["notes"]))

os.chdir("/")
shutil.rmtree(work)
end()
