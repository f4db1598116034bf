#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""pesa import: hand-made pipeline traces with the expected state of every cycle, invalid traces, and the round trip."""
import gzip
import json
import lzma
import os
import random
import re
import shutil
import subprocess
import tempfile

from tap import TOP, PESA, QEMU, CROSS, GUEST_CC, bail_out, check, command, end, needs, plain_environment, skip

work = tempfile.mkdtemp(prefix="pesa-import-")
os.chdir(work)
plain = plain_environment(work)

PROGRAM = """
    .option norvc
    .globl _start
_start:
a:  addi a0, a0, 1
b:  addi a1, a1, 1
c:  beq  a0, a1, t
d:  addi a2, a2, 1
e:  addi a2, a2, 2
t:  addi a3, a3, 1
j:  jal  x0, l
k:  addi a4, a4, 1
l:  addi a5, a5, 2
u:  csrw sscratch, a0
v:  addi a6, a6, 1
h:  addi a7, a7, 1
z:  jal  x0, a
"""

MAP = """
name = hand
format = kanata
dispatch = D
complete = C
complete.offset = 1
retire = R
fetch.depth = 2
rollback = B
exception = label fault
stall.lane = 1
cause.alloc-blocked = empty stall F
cause.icache-miss = front label imiss
cause.dcache-miss = label dmiss
"""


def build(name, *flags):
    """An ELF file, and the addresses of its labels."""
    with open("program.S", "w", encoding="ascii") as file:
        file.write(PROGRAM)
    made = command(CROSS + "as", "-o", name + ".o", *flags, "program.S")
    if made.returncode == 0:
        emulation = ["-m", "elf32lriscv"] if "-mabi=ilp32" in flags else []
        made = command(CROSS + "ld", *emulation, "-Ttext=0x10000", "-o", name, name + ".o")
    if made.returncode:
        bail_out("cannot build", name, made.stderr.decode())
    listed = command(CROSS + "nm", name).stdout.decode()
    return {words[2]: int(words[0], 16) for words in map(str.split, listed.splitlines()) if len(words) == 3}


at = build("program64", "-march=rv64g")
build("program32", "-march=rv32g", "-mabi=ilp32")
with open("hand", "w", encoding="ascii") as out:
    out.write(MAP)


def rows(diagram):
    """The instructions of a diagram: label, stages by cycle, notes."""
    for line in diagram.strip().splitlines():
        label, stages, *notes = line.split()
        yield label, stages, notes


def kanata(diagram, first=0, start=0):
    """A diagram as Kanata log: F, D, C, R are stages (R: it retires), x: thrown away, B: rolled back, f: F and stalled."""
    lines = {}

    for place, (label, stages, notes) in enumerate(rows(diagram)):
        number, now, stalled = place + first, None, False
        for cycle, letter in enumerate(stages):
            here = lines.setdefault(cycle, [])
            if letter == ".":
                continue
            if now is None:
                here.append(f"I\t{number}\t{number}\t0")
                if "nopc" not in notes:
                    here.append(f"L\t{number}\t0\t{at[label]:x}: an instruction")
                here.extend(f"L\t{number}\t1\t{note}" for note in notes)
            if stalled and letter != "f":
                here.append(f"E\t{number}\t1\tstl")
                stalled = False
            stage = letter.upper()
            if letter == "x":
                here.append(f"R\t{number}\t0\t1")
            elif stage != now:
                here.append(f"S\t{number}\t0\t{stage}")
            if letter == "f" and not stalled:
                here.append(f"S\t{number}\t1\tstl")
                stalled = True
            if letter == "R":
                here.append(f"R\t{number}\t{number}\t0")
            now = stage
    text, at_cycle = f"Kanata\t0004\nC=\t{start}\n", 0
    for cycle in sorted(lines):
        if cycle > at_cycle:
            text += f"C\t{cycle - at_cycle}\n"
            at_cycle = cycle
        text += "".join(line + "\n" for line in lines[cycle])
    return text


def o3pipeview(diagram):
    """The same in gem5's format: 500 ticks per cycle; an instruction is written when it has left the pipeline, so lines are unordered."""
    text = "1000: system.cpu: something else\n"
    blocks = []
    for place, (label, stages, _) in enumerate(rows(diagram)):
        tick = {letter: 500 * stages.index(letter) + 7000 for letter in "FDCR" if letter in stages}
        blocks.append(f"O3PipeView:fetch:{tick['F']}:0x{at[label]:08x}:0:{place + 1}:  addi x1, x2, 3\n"
                      f"O3PipeView:decode:{tick['F']}\nO3PipeView:rename:{tick.get('D', 0)}\n"
                      f"O3PipeView:dispatch:{tick.get('D', 0)}\nO3PipeView:issue:{tick.get('C', 0)}\n"
                      f"O3PipeView:complete:{tick.get('C', 0)}\nO3PipeView:retire:{tick.get('R', 0)}:store:0\n")
    random.Random(5).shuffle(blocks)
    return text + "".join(blocks)


SHORT = {"I$miss": "im", "D$miss": "dm", "mispredict": "mp", "alloc-blocked": "ab"}
names = {value: key for key, value in at.items() if len(key) == 1}


def token(sample):
    """One cycle: s:a stalled on a, f: flushed, d: drained; R2:a two retired from a on, >t@1 a transfer to t behind the
    first, !3 the third is named, +dm with these causes."""
    name = names.get(sample["address"], hex(sample["address"]))
    causes = "".join("+" + SHORT.get(cause, cause) for cause in sample["causes"])
    if sample["state"] != "retiring":
        return sample["state"][0] + ":" + name + causes
    targets = ",".join(f"{names.get(target['address'], hex(target['address']))}@{target['offset']}"
                       for target in sample["targets"])
    named = f"!{sample['cause_offset']}" if sample["cause_offset"] else ""
    return f"R{sample['instret']}:{name}" + (">" + targets if targets else "") + named + causes


def records(path, kind):
    shown = command(PESA, "script", "--json", "-i", path)
    return [one for one in map(json.loads, shown.stdout.decode().splitlines()) if one["type"] == kind]


def run(trace, *options, name="trace.log", state_map="./hand", period="1", jitter="0"):
    """Import a log.  Returns the state of every cycle, and the summary."""
    for stale in ("perf.data", "golden.data", "summary.json"):
        if os.path.exists(stale):
            os.unlink(stale)
    with open(name, "wb") as file:
        file.write(trace if isinstance(trace, bytes) else trace.encode())
    words = ["--state-map", state_map] if state_map else []
    done = command(PESA, "import", *words, "-c", period, "--jitter", jitter, "--golden", "golden.data",
                   "--json=summary.json", *options, name, env=plain)
    done.summary = {}
    done.error = done.stderr.decode()
    if os.path.exists("summary.json"):
        with open("summary.json", encoding="utf-8") as file:
            done.summary = json.load(file)
        done.cycles = [token(sample) for sample in records("perf.data", "sample")] if period == "1" else []
    return done


def conserved(summary):
    return (summary.get("cycles", 0) > 0 and summary["golden_remainder"] == 0
            and summary["accounted_cycles"] == summary["golden_cycles"] == summary["cycles"] * summary["harts"]
            == sum(summary["states"].values()))


def rules(summary):
    return {rule["rule"]: rule["cycles"] for rule in summary.get("rules", []) if rule["cycles"]}


def problems(summary):
    return {problem["problem"]: problem["count"] for problem in summary.get("problems", [])}


# ---- One trace for each rule: the diagram, what every cycle is, the rules that decided how many cycles ----------
CASES = [
    ("two retire together", """
        a FDCR
        b FDCR""", "d:a s:a s:a R2:a", {}),
    ("a stalled oldest instruction, a cause, and who blocked the group", """
        a FDCR
        b FDDDDCR dmiss""", "d:a s:a s:a R1:a!2+dm s:b+dm s:b+dm R1:b!1+dm", {}),
    ("a taken branch inside a retire group", """
        b FDCR
        c FDCR
        t FDCR""", "d:b s:b s:b R3:b>t@2", {}),
    ("a branch that is not taken", """
        b FDCR
        c FDCR
        d FDCR""", "d:b s:b s:b R3:b", {}),
    ("two transfers in a group", """
        c FDCR
        t FDCR
        j FDCR
        l FDCR""", "d:c s:c s:c R4:c>t@1,l@3", {}),
    ("an exception", """
        a FDCR
        b FDCCx fault
        h .....FDCR""", "d:a s:a s:a R1:a f:b f:b s:h s:h R1:h", {"exception": 2}),
    ("an exception that the log does not name", """
        a FDCR
        b FDCCx
        h .....FDCR""", "d:a s:a s:a R1:a f:b f:b s:h s:h R1:h", {"exception?": 2}),
    ("a mispredict", """
        c FDCR
        d .FDx
        t ....FDCR""", "d:c s:c+mp s:c+mp R1:c>t@1!1+mp f:c+mp s:t s:t R1:t", {"mispredict": 1}),
    ("a mispredict, then a miss of the I-cache", """
        c FDCR
        d .FDx
        t ....FFFFFDCR imiss""", "d:c s:c+mp s:c+mp R1:c>t@1!1+mp f:c+mp f:c+mp d:t+im d:t+im d:t+im s:t+im "
     "s:t+im R1:t!1+im", {"mispredict": 2}),
    ("retirement is held while a wrong path is rolled back", """
        b FDC......R
        c FDC......R
        d .FDDBBBBx
        t .........FDCR""", "d:b s:b s:b s:b f:c+mp f:c+mp f:c+mp f:c+mp s:b R2:b>t@2!2+mp s:t s:t R1:t",
     {"roll-back": 4, "held?": 2}),
    ("done, and held for no reason that the log tells", """
        a FDC..R""", "d:a s:a s:a s:a s:a R1:a", {"held?": 2}),
    ("rename is blocked by a full structure", """
        a FDCR
        b FFFfffDCR""", "d:a s:a s:a R1:a!2+ab d:b+ab d:b+ab s:b+ab s:b+ab R1:b!1+ab", {}),
    ("a full structure while the reorder buffer is not empty is no cause", """
        a FDDDDCR
        b FFfffDCR""", "d:a s:a s:a s:a s:a s:a R1:a!2 R1:b", {}),
    ("want of instructions", """
        a FDCR
        b ....FDCR""", "d:a s:a s:a R1:a d:b s:b s:b R1:b", {}),
    ("a load that is fetched again", """
        a FDCR
        b .FDDx
        b .....FDCR""", "d:a s:a s:a R1:a f:b f:b s:b s:b R1:b", {"replay": 2}),
    ("a serialising instruction, what follows is thrown away", """
        u FDCR
        v .FDDx
        v .....FDCR""", "d:u s:u s:u R1:u f:u f:u s:v s:v R1:v", {"serialise": 2}),
    ("a serialising instruction, what follows is fetched late", """
        u FDCR
        v .....FDCR""", "d:u s:u s:u R1:u f:u f:u s:v s:v R1:v", {"serialise?": 2}),
    ("no wrong path in the log: fetch goes on when the branch is resolved", """
        c FDCR
        t ....FDCR""", "d:c s:c+mp s:c+mp R1:c>t@1!1+mp f:c+mp s:t s:t R1:t", {"restart?": 1}),
    ("the front end redirects itself", """
        j FDDCR
        k .Fx
        l .FFFFDCR""", "d:j s:j s:j s:j R1:j>l@1 s:l s:l R1:l", {}),
    ("a trap behind an instruction", """
        a FDCR
        h .....FDCR""", "d:a s:a s:a R1:a>h@1 f:a f:a s:h s:h R1:h", {"trap?": 2}),
    ("a wrong path behind what transfers no control", """
        a FDCR
        k .FDx
        b ....FDCR""", "d:a s:a s:a R1:a f:a s:b s:b R1:b", {"phantom?": 1}),
    ("in flight at the end", """
        a FDCR..
        b FDDDDD""", "d:a s:a s:a R1:a!2 s:b s:b", {"open-end?": 2}),
    ("only a wrong path at the end", """
        c FDCR...
        d .FDDDDx""", "d:c s:c s:c R1:c d:d d:d", {"open-end?": 2}),
    ("no stage says that it is in the reorder buffer", """
        a FDCR
        b F..CR""", "d:a s:a s:a R1:a!2 R1:b", {}),
]

for what, diagram, expected, decided in CASES:
    done = run(kanata(diagram), "--elf", "program64")
    check(done.returncode == 0 and done.cycles == expected.split() and conserved(done.summary)
          and rules(done.summary) == decided, what,
          f"{done.error}\nexpected {expected}\ncycles   {' '.join(getattr(done, 'cycles', []))}\n"
          f"expected {decided}\nrules    {rules(done.summary)}")
    golden = records("golden.data", "exact") if done.returncode == 0 else []
    retired = sum(1 for _, stages, _ in rows(diagram) if "R" in stages)
    check(sum(one["executions"] for one in golden) == done.summary.get("instructions") == retired
          and abs(sum(bucket["cycles"] for one in golden for bucket in one["buckets"])
                  - len(expected.split())) < 1e-9,
          what + ": the exact profile has every cycle, and nothing that was thrown away", golden)

for what, diagram, expected, _ in CASES:
    # gem5 does not log stalls, causes, the time of squashes, and instructions in flight.
    if re.search(r"[Bf]|fault|imiss|dmiss", diagram) or what.startswith("an exception") or "R" not in diagram.split()[-1]:
        continue
    done = run(o3pipeview(diagram), "--elf", "program64", state_map=None)
    check(done.returncode == 0 and done.cycles == expected.split() and conserved(done.summary)
          and done.summary["ticks_per_cycle"] == 500, "O3PipeView: " + what,
          f"{done.error}\nexpected {expected}\ncycles   {' '.join(getattr(done, 'cycles', []))}")

# ---- Other ways to write the same --------------------------------------------------------------------------------
_, diagram, expected, _ = CASES[4]
done = run(kanata(diagram), "--elf", "program32")
shown = records("perf.data", "sample")
check(done.cycles == expected.split() and all(sample["xlen"] == 32 for sample in shown), "RV32", done)
reported = command(PESA, "report", "--json", env=plain)
check(reported.returncode == 0 and b"program32" in reported.stdout, "pesa report reads it", reported)
done = run(kanata(diagram, start=-1, first=1000000007), "--elf", "program64")
check(done.cycles == expected.split() and done.summary["first_cycle"] == -1, "a log that begins with cycle -1", done)
done = run(kanata(diagram).replace("\n", "\t \r\n").replace("Kanata\t0004\t \r\n", "Kanata\t0004    \r\n"),
           "--elf", "program64")
check(done.cycles == expected.split(), "blanks and carriage returns at the ends of lines", done)
done = run(kanata(diagram), "--elf", "program64@0000", period="010")
check(done.summary.get("period") == 10 and conserved(done.summary), "a number with a 0 in front is decimal", done)
moved = kanata(diagram).replace("100", "7f00100")
done = run(moved, "--elf", "program64@0x7f0000000")
check(conserved(done.summary) and not problems(done.summary), "a file that is moved", done)
with open("hand-units", "w", encoding="ascii") as out:
    out.write(MAP + "micro-ops = 4\n")
units = kanata("a FDCR\nb FDDCR\nb FDDDDCR\nc ..FDDDCR").replace("I\t0\t0", "I\t0\t40").replace(
    "I\t1\t1", "I\t1\t44").replace("I\t2\t2", "I\t2\t45").replace("I\t3\t3", "I\t3\t48")
done = run(units, "--elf", "program64", state_map="./hand-units")
check(done.cycles == "d:a s:a s:a R1:a!2 s:b s:b R1:b!2 R1:c".split() and done.summary["instructions"] == 3,
      "micro-ops come together", done)
threads = "Kanata\t0004\nC=\t0\n" + "".join(
    f"I\t{i}\t{i}\t{i}\nL\t{i}\t0\t{at['a']:x}\nS\t{i}\t0\tF\n" for i in range(3)) + "C\t2\n" + "".join(
    f"S\t{i}\t0\tD\n" for i in range(3)) + "C\t3\n" + "".join(f"S\t{i}\t0\tR\nR\t{i}\t0\t0\n" for i in range(3))
done = run(threads, "--elf", "program64")
check(conserved(done.summary) and done.summary["harts"] == 3 and done.summary["accounted_cycles"] == 18
      and {sample["tid"] for sample in records("perf.data", "sample")} == {1, 2, 3}, "threads are harts", done)

# ---- Without a period ----
for stale in ("perf.data", "golden.data"):
    os.unlink(stale)
done = run(kanata(diagram), "--elf", "program64")
sampled = records("golden.data", "exact")
os.unlink("perf.data")
words = ["import", "-m", "./hand", "--elf", "program64", "--json=summary.json"]
done = command(PESA, *words, "trace.log", env=plain)
with open("summary.json", encoding="utf-8") as file:
    summary = json.load(file)
check(done.returncode == 0 and sampled and records("perf.data", "exact") == sampled and not records("perf.data", "sample")
      and summary["period"] == 0 == summary["samples"] and conserved(summary) and b"all 4 cycles in perf.data" in done.stderr,
      "without a period every cycle is written", done)
reported = command(PESA, "report", "--json", env=plain)
check(json.loads(reported.stdout)["exact"] and json.loads(reported.stdout)["cycles"] == 4, "and reported as exact", reported)
done = command(PESA, *words, "-g", "golden.data", "-o", "both.data", "trace.log", env=plain)
check(done.returncode == 0 and records("both.data", "exact") == sampled == records("golden.data", "exact"),
      "also beside --golden", done)
for option in ("--jitter", "--seed"):
    done = command(PESA, *words, option, "3", "trace.log", env=plain)
    check(done.returncode == 2 and b"--period" in done.stderr, f"{option} needs a period", done)

big = kanata("\n".join(f"{'abctjluvhz'[i % 10]} " + "." * i + "FDCR" for i in range(400)))
done = run(big, "--elf", "program64", period="7")
reference = done.summary
made = command(CROSS + "ld", "-pie", "--no-dynamic-linker", "-Ttext=0x10000", "-o", "anywhere", "program64.o")
if made.returncode:
    bail_out("cannot link a position-independent program:", made.stderr.decode())
moved = re.sub(r"\t0\t(100..):", r"\t0\t7f55551\g<1>:", big)
done = run(moved, "--elf", "anywhere", period="7")
check(conserved(done.summary) and done.summary["files"][0]["address"] == 0x7f5555100000
      and done.summary["files"][0]["place"] == "found" and problems(done.summary) == problems(reference)
      and "anywhere: taken as loaded at 0x7f5555100000" in done.error,
      "where a position-independent program was loaded is found", done)
done = run(big, "--elf", "anywhere", period="7")
check(done.summary["files"][0] == {**done.summary["files"][0], "address": 0, "place": "found"} and "taken as" not in done.error,
      "it may have run where it was linked", done)
done = run(moved, "--elf", "anywhere@0x7f5555100000", period="7")
check(done.summary["files"][0]["place"] == "given" and not problems(done.summary), "an address that is given is taken", done)
done = run(moved.replace("7f5555110004:", "7f5555110008:"), "--elf", "anywhere", period="7")
check(done.summary["files"][0]["place"] == "unknown" and "say it with --elf" in done.error,
      "an address that hardly fits is not taken", done)
with open("trace.log", "w", encoding="ascii") as out:
    out.write(moved)
piped = subprocess.run(f"cat trace.log | {PESA} import -m ./hand -e anywhere -o piped.data -", shell=True, capture_output=True,
                       env=plain)
check(b"taken as loaded at 0x7f5555100000" in piped.stderr, "also by the beginning of a pipe", piped)
packers = {"gz": gzip.compress, "xz": lzma.compress,
           "zst": lambda data: subprocess.run(["zstd", "-c"], input=data, capture_output=True, check=True).stdout}
for suffix, pack in packers.items():
    packed = pack(big.encode())
    done = run(packed, "--elf", "program64", name="trace." + suffix, period="7")
    same = {key: value for key, value in done.summary.items() if key != "trace"}
    check(done.returncode == 0 and same == {key: value for key, value in reference.items() if key != "trace"},
          f"compressed: {suffix}", done)
    done = run(packed[:len(packed) * 2 // 3], "--elf", "program64", name="trace." + suffix, period="7")
    check(done.returncode == 1 and "cut off" in done.error, f"compressed and cut off: {suffix}", done)
done = run(gzip.compress(big[:2000].encode()) + gzip.compress(big[2000:].encode()), "--elf", "program64", period="7")
check(done.summary.get("cycles") == reference["cycles"], "gzip in two members", done)
with open("trace.log", "rb") as stream:
    piped = command(PESA, "import", "-m", "./hand", "-o", "piped.data", "-q", "-", stdin=stream, env=plain)
check(piped.returncode == 0, "from standard input", piped)
for name in ("samples", "exact"):
    os.mkfifo(name)
readers = [subprocess.Popen(["sh", "-c", f"exec timeout 60 cat {name} > {name}.data"]) for name in ("samples", "exact")]
piped = command(PESA, "import", "-m", "./hand", "-c", "5", "-o", "samples", "-g", "exact", "-q", "trace.log", env=plain)
for reader in readers:
    reader.wait()
check(piped.returncode == 0 and records("samples.data", "sample") and records("exact.data", "exact"),
      "into named pipes", piped)

# ---- Bad input ---------------------------------------------------------------------------------------------------
_, diagram, expected, _ = CASES[8]
whole = kanata(diagram)
lines = whole.splitlines(keepends=True)
for cut in range(0, len(whole), 19):
    done = run(whole[:cut], "--elf", "program64", "-q", period="5")
    if done.returncode not in (0, 1) or done.summary.get("harts") and not conserved(done.summary) \
            or (done.returncode and len(done.error.splitlines()) > 3):
        check(False, f"a trace that is cut off after {cut} bytes", done)
        break
else:
    check(True, "a trace that is cut off anywhere: all of its cycles are accounted")
chance = random.Random(3)
for turn in range(24):
    mixed = lines[2:]
    if turn % 3 == 0:
        chance.shuffle(mixed)
    elif turn % 3 == 1:
        mixed = [chance.choice(mixed) for _ in mixed]
    else:
        mixed = ["".join(chr(ord(c) ^ (chance.random() < 0.05)) for c in line[:-1]) + "\n" for line in mixed]
    done = run("".join(lines[:2] + mixed), "--elf", "program64", "-q", period="5")
    if done.returncode not in (0, 1) or done.summary and done.summary["golden_remainder"]:
        check(False, f"lines in disorder, turn {turn}", done)
        break
else:
    check(True, "lines in disorder, doubled, left out, changed")
done = run(whole.replace("I\t1\t1\t0", "I\t0\t1\t0", 1), "--elf", "program64")
check(done.returncode == 1 and "number of another one in flight" in done.error, "a number that two have", done)
done = run(whole + "nonsense\nS\t1\nR\t0\t0\t7\n", "--elf", "program64")
check(done.returncode == 1 and done.cycles == expected.split() and "damaged lines" in done.error,
      "damaged lines are counted and the rest is used", done)
done = run(whole.replace("C\t1\n", "C\t1\nC\t-1\nC=\t0\n", 1), "--elf", "program64")
check(done.returncode == 1 and "cycles that go back" in done.error and done.cycles == expected.split(),
      "cycles that go back", done)
done = run(whole.replace("C\t1\n", f"C\t1\nC\t{2**59}\n", 1), "--elf", "program64")
check(done.returncode == 1 and "damaged lines" in done.error and done.cycles == expected.split(),
      "cycles that nothing can last do not pass", done)
straight = o3pipeview("a FDCR\nb .FDCR\nc ..FDCR\nd ...FDCR")
for what, pattern, keeps in (("is fetched", r"(fetch:)(\d+)(:0x\w+:0:2:)", True), ("retires", r"(retire:)(9500)(:)", False)):
    done = run(re.sub(pattern, rf"\g<1>{500 * 2**50}\3", straight, count=1), "--elf", "program64", state_map=None)
    check(done.returncode == 1 and problems(done.summary).get("damaged lines") == 1 and conserved(done.summary)
          and done.summary["instructions"] == 4 - (not keeps) and done.summary["cycles"] < 100,
          f"one that {what} in a tick that cannot be: the rest is used", done)
done = run(kanata("a FDCR nopc\nb FDCR nopc\nc FDDDCR"), "--elf", "program64")
check(done.returncode == 0 and problems(done.summary).get("retired instructions without an address") == 2
      and done.summary["cycles_without_address"] == 4 and conserved(done.summary), "missing PCs", done)
late = kanata("a FDCR\nb .FDCR\na ..FDCR")
done = run(late.replace("R\t0\t0\t0", "", 1), "--elf", "program64")
check(done.summary["in_flight_at_end"] == 3 and conserved(done.summary), "an end that is missing", done)
done = run(kanata("a FDDDCR\nb FDCR"), "--elf", "program64")
check(problems(done.summary).get("instructions that retired before an older one") == 1, "retired out of order", done)
done = run(kanata("a FDCR\nb FDCR\nc FDCR"), "--elf", "program64", "--retire-width", "2")
check(problems(done.summary).get("cycles in which more retired than the core can") == 1, "wider than the core", done)
with open("program64", "rb") as program, open("foreign", "wb") as out:
    text = program.read()
    out.write(text[:18] + b"\x3e\0" + text[20:])
done = run(big, "--elf", "foreign", period="7")
check(done.returncode == 1 and "not RISC-V" in done.error, "an ELF file of another machine", done)
shifted = PROGRAM.replace("addi", "ret; addi")
PROGRAM, kept = shifted, PROGRAM
build("other", "-march=rv64g")
PROGRAM = kept
done = run(big, "--elf", "other", period="7")
check(done.returncode == 1 and "do not fit the ELF files" in done.error and conserved(done.summary), "another ELF file", done)
done = run(big, "--elf", "program64@0x4000000", period="7")
check(done.returncode == 1 and "do not fit" in done.error, "an ELF file at another address", done)
for text, why in (("", "neither a Kanata log"), ("hello\n", "neither a Kanata log"),
                  ("Kanata\t0003\n", "version 0004 is read"), ("Kanata\t0004\n", "no instruction retired")):
    done = run(text)
    check(done.returncode == 1 and why in done.error, f"{text!r} is refused: {why}", done)
done = run(whole, state_map=None)
check(done.returncode == 1 and "--state-map" in done.error, "no map recognises the producer", done)
for text, name, options in ((whole, "gem5", []), (straight, "rsd", []), (whole, "rsd", ["--format", "o3pipeview"])):
    done = run(text, *options, state_map=name)
    check(done.returncode == 1 and "for traces of another format" in done.error and done.error.count("\n") == 1,
          f"the map {name} is refused for a trace of the other format", done)
for text, why in (("nonsense\n", "hand:1"), ("dispatch = D\n", "sets no name"), ("name = x\n", "no dispatch"),
                  ("name = x\nname = y\n", "set twice"), ("pc.base = 7\n", "allowed"), ("color = red\n", "no key"),
                  ("cause.x = front smell y\n", "allowed"), ("format = vcd\n", "kanata, o3pipeview")):
    with open("bad-hand", "w", encoding="ascii") as out:
        out.write(text)
    done = run(whole, state_map="./bad-hand")
    check(done.returncode == 1 and why in done.error, f"a state map with {text!r} is refused", done)
for options in (["--retire-width", "99"], ["-c", "0"], ["--jitter", "9"], ["--xlen", "48"], ["--format", "vcd"]):
    done = command(PESA, "import", "-c", "5", *options, "trace.log", env=plain)
    check(done.returncode == 2, f"{' '.join(options)} is refused", done)
    if options[0] == "--xlen":
        check(b"allowed: 32 or 64" in done.stderr, "and told which widths there are", done)

before = open("trace.log", "rb").read()
for options in (["-o", "trace.log"], ["-o", "x.data", "-g", "x.data"], ["-g", "./trace.log"]):
    done = command(PESA, "import", "-m", "./hand", *options, "trace.log", env=plain)
    check(done.returncode == 2 and open("trace.log", "rb").read() == before, f"{' '.join(options)}: nothing is overwritten",
          done)
with open("kept.data", "w", encoding="ascii") as out:
    out.write("a recording")
for options in (["-g", "/nowhere/x"], ["--json=/nowhere/x"], ["-g", "."]):
    done = command(PESA, "import", "-m", "./hand", "-o", "kept.data", *options, "trace.log", env=plain)
    check(done.returncode == 2 and options[-1].split("=")[-1].encode() in done.stderr and done.stderr.count(b"\n") == 1 and
          open("kept.data", "rb").read() == b"a recording", f"{' '.join(options)}: nothing is written where a file cannot be created",
          done)

# ---- Maps that come with pesa ------------------------------------------------------------------------------------
rsd = "Kanata\t0004\nC=\t-1\n"
for i, (label, fetch) in enumerate((("a", 0), ("b", 0))):
    rsd += f"I\t{i}\t{4 * i}\t0\nL\t{i}\t1\t(g:{4 * i},c-1)\\n\nS\t{i}\t0\tF\nL\t{i}\t0\t{at[label]:08x}: addi\n"
for name in ("Pd", "Dc", "Rn", "Ds", "Sc", "Is", "Rr", "X", "Rw", "Wc", "Cm"):
    rsd += "C\t1\n" + "".join(f"S\t{i}\t0\t{name}\n" for i in range(2))
rsd += "C\t1\n" + "".join(f"E\t{i}\t0\tCm\nR\t{i}\t{i}\t0\n" for i in range(2))
done = run(rsd, "--elf", "program64", state_map=None)
check(done.summary.get("state_map") == "rsd" and done.cycles == ["d:a"] * 4 + ["s:a"] * 7 + ["R2:a"]
      and conserved(done.summary), "a log of RSD's form is recognised", done)
onikiri = "Kanata\t0004\nC=\t216\n"
for i, label in enumerate(("a", "b")):
    onikiri += f"I\t{i}\t{i}\t0\nL\t{i}\t0\t{at[label]:x} r1 = ADDI(r2)\nS\t{i}\t0\tF\n"
for name in ("Rn", "D", "Sw", "I", "X", "Wb", "f", "Cm"):
    onikiri += "C\t1\n" + "".join(f"E\t{i}\t0\tF\nS\t{i}\t0\t{name}\t\n" for i in range(2))
onikiri += "C\t3\n" + "".join(f"R\t{i}\t{i}\t0\n" for i in range(2))
done = run(onikiri, "--elf", "program64", state_map="onikiri")
check(done.cycles[:2] == ["d:a"] * 2 and done.cycles[8] == "R2:a" and done.summary["first_cycle"] == 216,
      "a log of Onikiri's form", done)

# ---- Round trip with the virtual core ----------------------------------------------------------------------------
SORT = """
#include <stdio.h>
#include <stdlib.h>
static int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
static int volatile numbers[200];
int main(void) {
    unsigned int x = 1;
    for (int i = 0; i < 200; i++) numbers[i] = (int)((x = x * 1103515245 + 12345) >> 16 & 0x7fff);
    qsort((void *)numbers, 200, sizeof(numbers[0]), compare);
    printf("%d %d\\n", numbers[0], numbers[199]);
    return 0;
}
"""


def canonical(path, kind):
    """The records with sorted buckets, without values that depend on the file or process."""
    result = []
    for one in records(path, kind):
        # The log does not know what the emulator mapped of its own, as the code that signals return to.
        for place in (one, *one.get("targets", ())):
            for key in ("pid", "tid", "comm", "time", "cpu", "dso", "dso_address", "symbol", "symbol_offset"):
                place.pop(key, None)
        for key in ("buckets", "transfers"):
            if isinstance(one.get(key), list):
                one[key] = sorted(json.dumps(part, sort_keys=True) for part in one[key])
        result.append(json.dumps(one, sort_keys=True))
    return sorted(result) if kind == "exact" else result


def round_trip():
    with open("sort.c", "w", encoding="ascii") as file:
        file.write(SORT)
    for words in (["-O2", "sort.c", "-o", "sort"],
                  ["-O1", "-g", "-pthread", os.path.join(TOP, "tests/data/guest/guest.c"), "-o", "guest"]):
        made = command(GUEST_CC, "-static", *words)
        if made.returncode:
            bail_out("cannot build the guest programs:", made.stderr.decode())
    for core in ("ooo-4", "inorder-2"):
        for guest in (["./guest", "exit", "0"], ["./guest", "handlers"], ["./sort"]):
            ran = command(PESA, "record", "-q", "--core", core, "-c", "300", "-o", "run.data", "--golden",
                          "run-golden.data", "--json=run.json", "--pipeline-trace", "core.log", "--", *guest, env=plain)
            done = command(PESA, "import", "-q", "-c", "300", "--elf", guest[0], "-o", "again.data", "--golden",
                           "again-golden.data", "--json=again.json", "core.log", env=plain)
            name = f"{core}: {' '.join(guest)[2:]}"
            if not check(ran.returncode == done.returncode == 0, f"{name}: recorded and imported", (ran, done)):
                continue
            with open("run.json", encoding="utf-8") as file:
                ran.summary = json.load(file)
            with open("again.json", encoding="utf-8") as file:
                done.summary = json.load(file)
            check(done.summary["cycles"] == ran.summary["cycles"] and conserved(done.summary)
                  and done.summary["instructions"] == ran.summary["instructions"],
                  f"{name}: as many cycles and instructions", (ran.summary, done.summary))
            check(canonical("run-golden.data", "exact") == canonical("again-golden.data", "exact"),
                  f"{name}: the same golden reference")
            first = canonical("run.data", "sample")
            check(len(first) > 50 and first == canonical("again.data", "sample"), f"{name}: the same samples")
    measured = command(PESA, "error", "--golden", "run-golden.data", "-i", "again.data", "--json", env=plain)
    check(measured.returncode == 0 and json.loads(measured.stdout)["error"] < 0.5, "pesa error compares the two", measured)
    for words in (["report", "-i", "again.data"], ["annotate", "-i", "again.data"], ["topdown", "-i", "again.data"],
                  ["report", "-i", "again-golden.data"], ["diff", "run.data", "again.data"]):
        shown = command(PESA, *words, env=plain)
        check(shown.returncode == 0 and shown.stdout, f"pesa {' '.join(words)} reads what was imported", shown)
    perf = shutil.which("perf")
    for name in ("again.data", "again-golden.data"):
        if perf:
            shown = command(perf, "script", "-i", name, env=plain)
            check(shown.returncode == 0 and b"pesa/" in shown.stdout and not shown.stderr, f"perf script reads {name}",
                  shown.stderr.decode())
        else:
            skip(f"perf script reads {name}", needs("linux-perf"))
    ran = command(PESA, "record", "-q", "-c", "300", "--pipeline-trace", "window.log:1001-3000", "--", "./sort",
                  env=plain)
    with open("window.log", encoding="ascii") as file:
        window = file.read()
    done = run(window, "--elf", "sort", state_map=None, period="300", jitter="10")
    check(ran.returncode == 0 and done.summary.get("instructions") == 2000 and conserved(done.summary),
          "a window of instructions", done)
    ran = command(PESA, "record", "-q", "--pipeline-trace", "window.log:9-3", "--", "./sort", env=plain)
    check(ran.returncode == 2, "a window that ends before it begins is refused", ran)
    ran = command(PESA, "record", "-q", "--pipeline-trace", "no/such/place", "--", "./sort", env=plain)
    check(ran.returncode == 1 and b"no/such/place" in ran.stderr, "a trace that cannot be written is told", ran)
    ran = command(PESA, "record", "-q", "--pipeline-trace", "/dev/full", "--", "./sort", env=plain)
    check(ran.returncode == 1 and ran.stderr.count(b"\n") == 1 and b"/dev/full" in ran.stderr,
          "so is one that cannot be written to its end", ran)


if QEMU:
    round_trip()
else:
    skip("round trip", needs("qemu-user"))
end()
