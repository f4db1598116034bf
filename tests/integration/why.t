#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What stalled instructions waited for, and what would be won: loops whose reason is known, and programs drawn at random.

The oracle of the latter is the pipeline trace of the virtual core (tests/accuracy/why_oracle.py).  WHY_SEED repeats a program.
"""
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

from tap import GUEST_CC, PESA, QEMU, TOP, bail_out, check, end, needs, skip_all

if not QEMU or not shutil.which(GUEST_CC):
    skip_all(needs("qemu-user" if not QEMU else "gcc-riscv64-linux-gnu"))
os.environ["PESA"] = PESA
sys.path.insert(0, os.path.join(TOP, "tests/accuracy"))
import why_oracle  # noqa: E402  pylint: disable=wrong-import-position
from accuracy import Failed  # noqa: E402  pylint: disable=wrong-import-position

# Loops of one reason each: name -> (rounds, lines before the loop, lines of the loop).
LOOPS = {
    "chain": (6000, "li a0, 3", "mul a0, a0, s3; addi a0, a0, 1"),
    "chase": (4000, "la a0, ring", "ld a0, 0(a0)"),
    "quotients": (1500, "li a3, 7", "divu a2, s3, a3; add a4, a4, a2"),
    "forward": (4000, "la a5, cell", "ld a0, 0(a5); addi a0, a0, 1; sd a0, 0(a5)"),
    "random": (6000, "li a0, 88172645463325252", "slli a1, a0, 13; xor a0, a0, a1; srli a1, a0, 7; xor a0, a0, a1; slli a1, a0, 17; "
               "xor a0, a0, a1; andi a2, a0, 1; bnez a2, 9f; addi a4, a4, 3; 9: addi a5, a5, 1"),
}
NODES, STEP, STRIDE = 4096, 1367, 256  # of the ring: more than the L1 cache holds

TEXT = """
	.bss
	.balign 64
ring:	.space RINGSIZE
cell:	.space 64
	.text
	.globl _start
_start:	la a0, ring
	li a1, NODES
	li a2, 0
	li a6, STEP
	li a5, NODES - 1
1:	add a3, a2, a6
	and a3, a3, a5
	slli a4, a2, 8
	add a4, a4, a0
	slli t0, a3, 8
	add t0, t0, a0
	sd t0, 0(a4)
	mv a2, a3
	addi a1, a1, -1
	bnez a1, 1b
	li s3, 1234567891234567
	li s1, 3
2:	CALLS
	addi s1, s1, -1
	bnez s1, 2b
	li a0, 0
	li a7, 93
	ecall
""".replace("CALLS", "; ".join(f"call {name}" for name in LOOPS)) + "".join(f"""
	.balign 64
	.globl {name}
	.type {name}, @function
{name}:	{before}
	li s0, {rounds}
1:	{body}
	addi s0, s0, -1
	bnez s0, 1b
	ret
	.size {name}, . - {name}
""" for name, (rounds, before, body) in LOOPS.items())

work = tempfile.mkdtemp(prefix="pesa-why-")
os.chdir(work)
with open("program.s", "w", encoding="ascii") as out:
    out.write(TEXT.replace("RINGSIZE", str(NODES * STRIDE)).replace("NODES", str(NODES)).replace("STEP", str(STEP)))
made = subprocess.run([GUEST_CC, "-static", "-nostdlib", "-Wl,--build-id", "program.s", "-o", "program"], capture_output=True, text=True)
if made.returncode:
    bail_out("cannot build the program:", made.stderr)


def pesa(*words, **environment):
    return subprocess.run([PESA, *words], capture_output=True, text=True, env={**os.environ, **environment})


def record(core, output, *words):
    done = pesa("record", "-q", f"--json={output}.json", "--core", core, "-c", "320", "-o", output, *words, "--", "./program")
    if done.returncode:
        bail_out("cannot record:", done.stderr)
    with open(output + ".json", encoding="utf-8") as file:
        return json.load(file)["cycles"]


def annotate(*words):
    done = pesa("annotate", "--json", *words)
    if done.returncode:
        bail_out("cannot annotate:", done.stderr)
    return json.loads(done.stdout)


# ---- Loops whose reason is known ----

def waits_of(data, name):
    rows = annotate("--why", "--no-source", "-i", data, name)["instructions"]
    return max((row for row in rows if row["wait"]), key=lambda row: row["wait"]["cycles"])


cycles = {}
for core in ("ooo-4", "inorder-2"):
    data = core + ".data"
    cycles[core] = record(core, data)
    for name, mnemonic, kinds in (("chain", "mul", ("chain",)), ("chase", "ld", ("miss",)), ("quotients", "divu", ("unit", "latency", "chain")),
                                  ("forward", "ld", ("store",)))[:4 if core.startswith("ooo") else 3]:
        row = waits_of(data, name)
        cause = row["wait"]["causes"][0]
        check(row["text"].split()[0] == mnemonic and cause["kind"] in kinds and cause["share"] > 0.5,
              f"{core}, {name}: {mnemonic} waits, and mostly for {' or '.join(kinds)}", (row["text"], row["wait"]))
        check(abs(sum(one["share"] for one in row["wait"]["causes"]) - 1) < 1e-6, f"{core}, {name}: the shares of its causes add up to 1",
              row["wait"])
        measured = sum(row["stack"]["stalled"].values())
        check(abs(row["wait"]["cycles"] - measured) < 1e-6 * measured, f"{core}, {name}: its wait is its measured stall",
              (row["wait"]["cycles"], measured))
        if name == "chain":
            check(cause["recurrence"] and cause["length"] == 2
                  and cause["root"]["text"].startswith(("mul", "addi")) and cause["producer"]["text"].startswith("addi"), f"{core}: the chain comes back to itself by two instructions", cause)
        if name == "chase":
            # Out of order the next load of the chain blocks retirement in the same cycle, and is named.
            check(cause["misses"]["l1d"] is None or cause["misses"]["l1d"] > 0.5, f"{core}: the load says how often it missed", cause)
            check(cause["misses"]["l1d"] or core.startswith("ooo"), f"{core}: and in order that is known", cause)
row = waits_of("ooo-4.data", "quotients")
check(row["wait"]["causes"][0]["kind"] == "unit" and "Div" in row["wait"]["causes"][0]["resource"],
      "ooo-4: divisions without dependence wait for the divider", row["wait"])

# ---- What would be won ----

for core in ("ooo-4", "inorder-2"):
    gains = annotate("--what-if", "-i", core + ".data")["what_if"]
    check(0 < len(gains) <= 10, f"{core}: up to ten changes are estimated", gains)
    check(gains == sorted(gains, key=lambda one: -one["saved"]), f"{core}: what saves most is first", gains)
    near, judged = 0, 0
    for gain in gains:
        if core == "inorder-2" and gain["change"] == "unit":
            check(gain["high"] < 0.05 * cycles[core], "inorder-2: a unit saves no more than waited for it, however busy it is", gain)
        check(gain["low"] <= gain["saved"] <= gain["high"] <= cycles[core], f"{core}: {gain['change']}: the interval holds the estimate", gain)
        if gain["saved"] < 0.01 * cycles[core] and gain["high"] < 0.02 * cycles[core]:
            continue
        saved = cycles[core] - record(core, "other.data", "--ideal", f"{gain['change']}@{gain['place']['address']:#x}")
        judged += 1
        near += abs(gain["saved"] - saved) <= 0.2 * abs(saved) or gain["low"] <= saved <= gain["high"]
        print(f"# {core} {gain['change']} {gain['place']['text']}: estimated {gain['saved']:.0f} ({gain['low']:.0f} to {gain['high']:.0f}), "
              f"saved {saved}")
    # In order two changes save more than 1 %: what overlaps is little.
    check(near >= 2 and near >= judged - 1, f"{core}: what the changes save is within 20 % or the interval, but for one at most",
          f"{near} of {judged}")
    everything = record(core, "other.data", "--ideal", "predict", "--ideal", "hit")
    check(everything < 0.95 * cycles[core], f"{core}: --ideal without an address is about every instruction", everything)

# Of a program that does little but divide: an instruction occupies its unit for no more than the whole run.
with open("divide.s", "w", encoding="ascii") as out:
    out.write(re.sub(r"\bcall (?!quotients)\w+;?", "", TEXT).replace("li s1, 3", "li s1, 40").replace("NODES", "4").replace("STEP", "1")
              .replace("RINGSIZE", "1024"))
subprocess.run([GUEST_CC, "-static", "-nostdlib", "-Wl,--build-id", "divide.s", "-o", "divide"], check=True)
done = pesa("record", "-q", "--core", "ooo-4", "-c", "499", "-o", "divide.data", "--json=divide.json", "--", "./divide")
with open("divide.json", encoding="utf-8") as file:
    whole = json.load(file)["cycles"]
gains = [one for one in annotate("--what-if", "-i", "divide.data")["what_if"] if one["change"] == "unit"]
check(gains and 0.5 * whole < max(one["high"] for one in gains) <= whole, "no change saves more than the whole run", (whole, gains))

# ---- Text, and what cannot be ----

text = pesa("annotate", "--why", "--no-source", "-i", "ooo-4.data", "chain").stdout
check("waits" in text and "in a recurrence of 2 instructions" in text, "the text names the chain below the instruction", text)
text = pesa("annotate", "--what-if", "-i", "ooo-4.data")
check("it were always predicted" in text.stdout and text.returncode == 0, "--what-if is a table", text.stdout + text.stderr)
rows = {one for one in re.findall(r"`[^`]*` at [0-9a-f]+ in \w+", text.stdout)}
for width in (60, 80, 119):
    narrow = pesa("annotate", "--what-if", "-i", "ooo-4.data", COLUMNS=str(width)).stdout
    words = " ".join(narrow.split())
    check(rows and all(one in words for one in rows) and "it were always predicted" in words,
          f"and has its instructions in {width} columns", narrow)
for words in (("--what-if", "chain"), ("-mcpu=sifive-u74",)):
    done = pesa("annotate", "-i", "ooo-4.data", *words)
    check(done.returncode == 2 and done.stderr.count("\n") == 1, f"{' '.join(words)} is a usage error", done.stderr)
done = pesa("annotate", "-i", "ooo-4.data", "--why", "-mcpu=none-such")
check(done.returncode == 1 and done.stderr.count("\n") == 1, "an unknown processor is one line", done.stderr)
for wrong in ("hot@0x10", "hit@", "hit@x", "unit@-1"):
    done = pesa("record", "--ideal", wrong, "--", "./program")
    check(done.returncode == 2 and wrong in done.stderr, f"record --ideal {wrong} is refused", done.stderr)
with open(os.path.join(os.path.dirname(os.path.dirname(PESA)), "share/pesa/cores/ooo-4"), encoding="utf-8") as described, \
        open("mine", "w", encoding="utf-8") as mine:
    mine.write(described.read().replace("name = ooo-4", "name = mine"))
record("./mine", "mine.data")
done = pesa("annotate", "-i", "mine.data", "--what-if")
check(done.returncode == 0 and "'mine'" in done.stderr and done.stderr.count("\n") == 1,
      "that the recording's core has no description is said in one line", done.stderr)
pesa("report", "-i", "ooo-4.data", "--percent-limit", "0", "--html", "page.html")
with open("page.html", encoding="utf-8") as file:
    page = file.read()
check("in a recurrence of 2 instructions" in page, "the page has it too")
code = json.loads(re.search(r'<script type="?application/json"? id="?\w+"?>(.*?)</script>', page, re.S)[1])["code"]
rows = [(row, sum(one[4] for one in function["rows"] if len(one) > 4)) for function in code for row in function["rows"] if len(row) > 10]
small = [row for row, whole in rows if sum(row[9][i + 2] for i in range(0, len(row[9]), 3) if row[9][i] == 1) < 0.0049 * whole]
check(rows and not small, "as annotate, it leaves out waits of less than 0.5 % of the function", small[:3])

# ---- Programs drawn at random ----


class Wanted:
    samples, first, instructions, verbose = 8000, 200000, 100000, False


seeds = [int(os.environ["WHY_SEED"])] if "WHY_SEED" in os.environ else [random.SystemRandom().randrange(10 ** 12) for _ in range(2)]
agrees = total = 0
for number, seed in enumerate(seeds):
    core = ("ooo-4", "inorder-2")[number % 2]
    try:
        part, whole = why_oracle.trial(seed, core, Wanted)
    except Failed as failed:
        print(f"# seed {seed}: {failed}")
        continue
    print(f"# seed {seed} on {core}: {100 * part.total() / max(1, whole.total()):.0f} % of {whole.total()} stalled cycles agree")
    if whole.total() < 2000:
        continue  # which hardly stalls: a few samples
    agrees += part.total() / whole.total()
    total += 1
check(not total or agrees / total > 0.4, "the causes agree with the pipeline trace in most of the stalled cycles", f"WHY_SEED={seeds}")
shutil.rmtree(work)
end()
