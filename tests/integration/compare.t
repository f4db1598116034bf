#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""pesa compare: measured and predicted cycles of a program with known loops, on cores with and without a deviation from the model.

tests/accuracy/compare.py does it for real programs.
"""
import html.parser
import json
import os
import re
import shutil
import subprocess
import tempfile

from counted_loops import build, program
from tap import PESA, bail_out, check, end

LOOPS = {
    "adds": (4000, "add a0, a0, a1; add a0, a0, a1; xor a0, a0, a1; add a2, a1, a1"),
    "products": (1500, "mul a0, a0, a1; add a0, a0, a1; mul a0, a0, a1; add a3, a1, a1"),
    "mixture": (2000, "add a4, a4, a1; mul a5, a4, a1; sub a4, a5, a4; and a6, a4, a1"),
    "loads": (2000, "ld a2, 0(s2); add a3, a2, a1; and a4, a2, zero; add s2, s2, a4"),
}
# Four chains need all four integer units, unless their additions take three cycles; independent instructions always do.
HIDING = {
    "chains": (3000, "; ".join(f"add {reg}, {reg}, a1" for reg in ("a2", "a3", "a4", "a5") * 2)),
    "apart": (3000, "; ".join(f"add {reg}, a1, a1" for reg in ("a2", "a3", "a4", "a5", "a6", "a7", "t0", "t1") * 2)),
}
# One memory pipe fewer, plus loads with a longer occupancy, look like loads and stores that both have a longer one.
STANDING = {
    "loads": (3000, "; ".join(f"ld a{i + 2}, {8 * i}(s2)" for i in range(6))),
    "stores": (3000, "; ".join(f"sd a1, {8 * i}(s2)" for i in range(6))),
    "both": (3000, "ld a2, 0(s2); add a3, a2, a1; sd a1, 8(s2); add a4, a1, a1; ld a5, 16(s2); add a6, a5, a1"),
    "adds": LOOPS["adds"],
}
# A lock as glibc's: the model lacks the fence, and younger loads wait for it; a division beside it is not to blame.
LOCKED = {
    "locked": (2000, "amoswap.w.aq a2, zero, (s2); add a3, a3, a1; fence iorw, ow; sw zero, 0(s2); remw a4, a3, a1; ld a5, 8(s2); add a6, a5, a1"),
    "csr": (1500, "frflags a2; add a3, a3, a1; fsflags a2; ld a4, 16(s2); add a5, a4, a1"),
    "adds": LOOPS["adds"],
}
# A fence after a store: the next load waits until the store is in the cache, the products do not.
FENCED = {
    "fenced": (2000, "sd a3, 0(s2); fence; ld a2, 8(s2); mul a4, a4, a1; mul a4, a4, a1; add a3, a2, a1"),
    "adds": LOOPS["adds"],
}
WRITTEN = {"csr": (1500, "fsflags a2; ld a4, 16(s2); add a5, a4, a1; mul a5, a5, a1; sub a6, a5, a4"), "adds": LOOPS["adds"]}
# Opcodes of one SchedWrite, each in its own loop; the latency of one is hidden by a division.
SHARED = {
    "low": (1500, "mul a0, a0, a1; xor a0, a0, a1; add a3, a1, a1"),
    "high": (1500, "mulhu a0, a0, a1; xor a0, a0, a1; add a3, a1, a1"),
    "behind": (1000, "mulh a4, a1, a3; div a5, a5, a1; add a5, a5, a3"),
    "adds": LOOPS["adds"],
}
TURNS = 24
# A recursive function that is not optimized.  Cores predict by store sets: the load of `rest` waits for the store to it in the call
# that has just returned.
RECURSIVE = """
static int subsets(int level, unsigned used)
{
	unsigned rest = ~(used | used << 1) & 63, lowest;
	int count = 1;

	if (level == 0)
		return count;
	while (rest) {
		lowest = rest & -rest;
		rest &= rest - 1;
		count += subsets(level - 1, (used | lowest) >> 1);
	}
	return count;
}

void _start(void)
{
	volatile int sum = 0;

	for (int i = 0; i < 600; i++)
		sum += subsets(3, (unsigned)i & 1);
	__asm__ volatile("li a0, 0; li a7, 93; ecall");
}
"""
# A branch that random numbers have taken where all of these bits of one are 0.
RANDOM = """
	.globl _start
_start:	li s0, 40000
	li a1, 88172645463325252
1:	slli t0, a1, 13; xor a1, a1, t0
	srli t0, a1, 7; xor a1, a1, t0
	slli t0, a1, 17; xor a1, a1, t0
	andi t0, a1, {bits}
	beqz t0, 2f
	add a2, a2, a1; xor a3, a3, a2; add a4, a4, a3
2:	addi s0, s0, -1
	bnez s0, 1b
	li a0, 0; li a7, 93
	ecall
"""
# A third of the way through, the load of copy() reads what its store has just written; the core then has it wait for that store in
# all later executions.
COPIES = """
static char a[4096], b[64], c[4096];

__attribute__((noinline)) static void copy(char *to, const char *from, unsigned long count)
{
	for (unsigned long i = 0; i < count; i++)
		to[i] = from[i];
}

void _start(void)
{
	for (int i = 0; i < 80; i++) {
		copy(c, a, 2000);
		if (i == 30)
			copy(b + 1, b, 12);
	}
	__asm__ volatile("li a0, 0; li a7, 93; ecall");
}
"""
# A decoder that copies what it wrote up to 64 bytes before: each load waits for the store before it.  Without that, the prediction
# is nearest if the branch of the loop is taken hundreds of times in a row.
DECODER = """
static unsigned char out[1 << 16];

void _start(void)
{
	unsigned random = 3;

	for (int round = 0; round < 6; round++)
		for (unsigned at = 0; at < 60000;) {
			random = random * 1103515245 + 12345;
			if ((random >> 16 & 7) < 4 || at < 64) {
				out[at++] = random >> 20;
			} else {
				unsigned length = 3 + (random >> 25 & 31);
				const unsigned char *from = out + at - 1 - (random >> 19 & 63);

				for (unsigned i = 0; i < length; i++)
					out[at + i] = from[i];
				at += length;
			}
		}
	__asm__ volatile("li a0, 0; li a7, 93; ecall");
}
"""
# Functions called through a table, the first one eight times in a row.
# Calls of the others are nearly always mispredicted.
DISPATCH = """
static long table[4];
#define FUNCTION(n, result) __attribute__((noinline)) static long f##n(long a) { return result; }
FUNCTION(0, a + 3)
FUNCTION(1, a * 5 + 1)
FUNCTION(2, (a >> 3) ^ a)
FUNCTION(3, a - 7)
static long (*const functions[4])(long) = {f0, f1, f2, f3};

void _start(void)
{
	long sum = 1;

	for (int i = 0; i < 60000; i++) {
		unsigned k = i % 11;

		sum = functions[k < 8 ? 0 : k - 7](sum);
		table[k & 3] += sum;
	}
	__asm__ volatile("li a0, 0; li a7, 93; ecall");
}
"""


work = tempfile.mkdtemp(prefix="pesa-compare-")
os.chdir(work)


def record(path, *words):
    done = subprocess.run([PESA, "record", "-q", "--core", "ooo-4", "-c", "320", "-o", path, *words, "--", "./program"],
                          capture_output=True, text=True)
    if done.returncode:
        bail_out("cannot record:", done.stderr)


def compare(*words, **environment):
    return subprocess.run([PESA, "compare", "--no-pager", *words], capture_output=True, text=True, env=dict(os.environ, **environment))


def result(*words):
    done = compare("--json", *words)
    return json.loads(done.stdout) if done.returncode == 0 else {"classes": [], "regions": [], "error": done.stderr}


def spent_in(found):
    """Core time of all regions, measured and predicted."""
    return [sum(region[part] for region in found["regions"]) for part in ("measured", "predicted")]


def near(measured, expected, share):
    return abs(measured - expected) <= share * expected


build(program(LOOPS, TURNS))
record("plain.data")
bare = result("-i", "plain.data")
check(bare["classes"] == [] and bare["regions"], "the core as the model has it: no finding", bare.get("error", bare["classes"]))
loops = {region["symbol"]: region for region in bare["regions"] if region["loop"] and region["symbol"] != "_start"}
check(set(loops) == set(LOOPS), "every loop is a region", sorted(loops))
for name, region in sorted(loops.items()):
    check(near(region["measured"], region["predicted"], 0.08), f"{name}: measured is predicted within 8 %",
          f"{region['measured']:.0f} and {region['predicted']:.0f}")
    executed = {round(one["executions"]) for one in region["instructions"]}
    check(max(executed) < 1.3 * min(executed), f"{name}: its instructions were executed as often as each other", executed)
check(loops["products"]["unstable"] < 0.001 * loops["products"]["predicted"], "a chain has one steady state", loops["products"]["unstable"])
parts = ("core", "event", "flushed", "drained", "unknown")
shown = sum(sum(region["cycles"][part] for part in parts) for region in result("-i", "plain.data", "--min-share", "0")["regions"])
total = sum(bare["totals"]["cycles"][part] for part in parts)
check(near(shown, total, 1e-9), "the cycles of all regions are those of the profile", f"{shown} and {total}")
text = compare("-i", "plain.data", "--symbol", "products")
check(text.returncode == 0 and "loop in products" in text.stdout and "loop in adds" not in text.stdout,
      "--symbol shows the regions of one function", text.stderr)
check("no entry of the model is significantly wrong" in text.stdout, "the text says that nothing was found", text.stdout[:500])

# A deviation.
record("slow.data", "--set", "mul.latency=5")
slow = result("-i", "slow.data")
first = slow["classes"][0] if slow["classes"] else {}
check(len(slow["classes"]) == 1 and first.get("kind") == "latency" and "mul" in first["instructions"].split(),
      "a slower multiplier: one finding, its latency", [one["change"] for one in slow["classes"]])
check(first.get("predicted") == 2 and first.get("measured") == 5, "the model's latency and the core's", first)
check(first and first["interval"][0] <= 5 <= first["interval"][1], "within its interval", first.get("interval"))
check(first and all(example["symbol"] in ("products", "mixture") for example in first["examples"]), "examples are where it multiplies",
      first.get("examples"))
check(first and near(first["executions"], TURNS * (2 * 1500 + 2000), 0.2), "executions are those of the multiplications",
      first.get("executions"))
wide = compare("-i", "slow.data")
narrow = compare("-i", "slow.data", COLUMNS="60", LC_ALL="C.UTF-8")
longest = max(narrow.stdout.splitlines(), key=len, default="")
check(narrow.returncode == 0 and 0 < len(longest) <= 60, "lines are no wider than the terminal", longest)
check("retiring, and stalled without an event" in " ".join(narrow.stdout.split()) and max(map(len, wide.stdout.splitlines())) > 100,
      "sentences are broken, not cut, and only there", narrow.stdout[:500])

rows = re.findall(r"^ .* ([0-9a-f]{5,}  \w+(?: \S+)*?)  +\w+$", wide.stdout, re.M)
for width in (60, 80):
    shown = compare("-i", "slow.data", COLUMNS=str(width), LC_ALL="C.UTF-8").stdout
    check(len(rows) > 10 and all(row in shown for row in rows), f"in {width} columns addresses and instructions are whole",
          [row for row in rows if row not in shown][:5])

# Two deviations: both are found.
record("two.data", "--set", "ld.latency=12", "--set", "mul.latency=8")
two = {one["class"]: one for one in result("-i", "two.data")["classes"]}
mixed = [(name, tie) for name, one in two.items() for tie in one["ties"] if tie.split(".")[0] in set(two) - {name}]
check(sorted(one["measured"] for one in two.values()) == [8, 12] and not mixed, "two findings, and no tie between them",
      (mixed, [one["change"] for one in two.values()]))

# The corrected model.
written = compare("-i", "slow.data", "--write-model", "new.model", "--html", "page.html")
check(written.returncode == 0, "--write-model and --html", written.stderr)
again = result("-i", "slow.data", "--model", "new.model")
check(again["classes"] == [] and again["regions"], "with the corrected model nothing is found any more", again.get("error", again["classes"]))
check(near(again["totals"]["predicted"], slow["totals"]["corrected"], 0.001), "it predicts what the finding said",
      f"{again['totals'].get('predicted')} and {slow['totals'].get('corrected')}")
opposite = result("-i", "plain.data", "--model", "new.model")
named = []
json.loads(compare("-i", "plain.data", "--model", "new.model", "--json").stdout,
           object_pairs_hook=lambda pairs: named.extend(value for name, value in pairs if name == "model"))
check(named == ["new.model"], "JSON names one model, the one that predicts", named)
check(not [one for one in opposite["classes"] if one["measured"] > one["predicted"] and "mul" in one["instructions"].split()],
      "on the plain core it is not too small", opposite["classes"])
# A group of two units has lost one already, by --write-model: the other one must stay.
with open("new.model", encoding="utf-8") as file, open("single.model", "w", encoding="utf-8") as out:
    out.write("".join(line.replace(" SiFiveP600IEXQ2", "") if line.startswith("group ") else line for line in file))
single = compare("-i", "plain.data", "--model", "single.model")
check(single.returncode == 0 and "model single.model" in single.stdout, "a model with a group of one unit is compared", single.stderr)


class Page(html.parser.HTMLParser):
    """The open tags of a page, and its references."""

    void = {"meta", "input", "br", "link", "img"}

    def __init__(self):
        super().__init__()
        self.open, self.wrong, self.references, self.count = [], [], [], {}

    def handle_starttag(self, tag, attrs):
        self.count[tag] = self.count.get(tag, 0) + 1
        self.references += [value for name, value in attrs if name in ("src", "href")]
        if tag not in self.void:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)


page = Page()
with open("page.html", encoding="utf-8") as file:
    source = file.read()
page.feed(source)
check(not page.open and not page.wrong, "the page's tags are closed in their order", f"{page.open[:5]} {page.wrong[:5]}")
references = [one for one in page.references if not one.startswith("#")]
check(not references and not re.search("https?:", source) and "@import" not in source, "the page refers to nothing outside", references)
check(page.count.get("button", 0) >= 9 and page.count.get("details", 0) >= 4, "headers are buttons, regions fold: both by keyboard",
      page.count)
check("width=device-width" in source and "@media(max-width" in source, "it adapts to narrow screens")
check(source.count("role=img aria-label=\"measured") == source.count("role=img aria-label=\"predicted") > 10,
      "a measured and a predicted bar for each instruction")

# A model that has no multiplications.
with open("new.model", encoding="utf-8") as file, open("lacking.model", "w", encoding="utf-8") as out:
    out.write("".join(re.sub(r"\b(C_)?MUL[A-Z]*\b", "", line) if line.startswith("\t") else line for line in file))
lacking = result("-i", "plain.data", "--model", "lacking.model")
lost = [one for region in lacking["regions"] for one in region["instructions"] if one["text"].startswith("mul ")]
check(lost and all(one["class"] is None and one["predicted"] is None and one["interval"] is None for one in lost)
      and lacking["totals"]["unsupported"] > 0, "of an instruction that the model does not have nothing is predicted, its time is reported",
      lost or lacking.get("error"))

# Bad input.
for words, expected, what in (
        (("-mcpu=sifive-e76",), "the model is for rv32", "a model of another width"),
        (("-mcpu=nothing",), "no model for the processor", "an unknown processor"),
        (("--model", "missing.model"), "missing.model", "a model that is not there"),
        (("-mcpu=sifive-p670", "--html", "nowhere/page.html"), "nowhere/page.html", "a page that cannot be written")):
    failed = compare("-i", "plain.data", *words)
    check(failed.returncode == 1 and failed.stderr.count("\n") == 1 and expected in failed.stderr, f"{what} is one line", failed.stderr)
few = compare("-i", "plain.data", "--min-share", "100")
check("no region has 100%" in few.stderr, "no region above the threshold: said so", few.stderr)
record("pc.data", "--sampler", "shpms,lcofi")
only = compare("-i", "pc.data", "--event", "pesa/lcofi/")
check(only.returncode == 0 and "in which state" in only.stderr and "rest of adds" in only.stdout,
      "samples without details: regions, and what else is possible", only.stderr + only.stdout[:300])
check("significantly wrong" not in only.stdout and "nothing could be compared" in only.stdout,
      "and not that the model is right", only.stdout[:900])
build(program(LOOPS, TURNS + 1))
changed = compare("-i", "plain.data")
check("100.00% of all cycles are in code that cannot be read" in changed.stdout,
      "code that changed: its share is reported, what is unattributed for it included", changed.stdout[:600])

# An unpredictable branch: exact profile and samples have the same rate of mispredictions.
build(RANDOM.format(bits=1))
record("random.data", "--golden", "random.golden")
sampled, exact = (result("-i", name)["totals"] for name in ("random.data", "random.golden"))
check(exact["predicted"] and near(exact["predicted"], sampled["predicted"], 0.03),
      "mispredictions of an exact profile are as many as those of samples", f"{exact['predicted']:.0f} {sampled['predicted']:.0f}")
check(near(exact["predicted"], exact["measured"], 0.01), "what is first behind a misprediction stalls from the cycle in which it enters",
      f"{exact['predicted']:.0f} {exact['measured']:.0f}")

record("refilled.data", "--core", "inorder-2")
refilled = result("-i", "refilled.data")
spent = spent_in(refilled)
check(refilled["classes"] == [] and near(*spent, 0.08), "in order, what is first behind a misprediction is complete later by its way there",
      refilled.get("error", (spent, refilled["classes"])))

# One that is taken one time in eight is mispredicted where it is taken; an exact profile does not tell.
build(RANDOM.format(bits=7))
record("biased.data", "--golden", "biased.golden")
ways = []
for name in ("biased.data", "biased.golden"):
    rows = [row for row in result("-i", name)["redirects"] if row["mispredicted"]]
    ways.append([sum(row["executed"] for row in rows if row["kind"] == kind) for kind in ("taken branch", "branch not taken")])
check(ways[0][0] > 3000 and near(ways[1][0], ways[0][0], 0.15) and ways[1][1] < 0.2 * ways[1][0],
      "a branch that is seldom taken is mispredicted where it is taken, in an exact profile as in samples", ways)

# A compare-and-exchange as compilers make it: of its four instructions that order others only the fences do on
# this core, and load-reserved reads what the conditional store wrote.
build("""
	.globl _start
_start:	li s1, 20000
	la s0, word
1:	fence rw, rw
	ld a0, 0(s0)
	fence r, rw
2:	mv a5, a0
	addi a1, a0, 1
	lr.d.aqrl a0, (s0)
	bne a0, a5, 2b
	sc.d.rl a3, a1, (s0)
	bnez a3, 2b
	li s2, 8
3:	lr.d a0, (s0)
	addi a1, a0, 1
	sc.d a3, a1, (s0)
	bnez a3, 3b
	addi s2, s2, -1
	bnez s2, 3b
	addi s1, s1, -1
	bnez s1, 1b
	li a0, 0; li a7, 93
	ecall
	.bss
	.balign 64
word:	.space 64
""")
for core in ("ooo-3", "ooo-8"):
    record("atomic.data", "--core", core)
    atomic = result("-i", "atomic.data")
    spent = spent_in(atomic)
    check(near(*spent, 0.04) and atomic["classes"] == [], f"{core}: atomics that do not order others, and read what others of them wrote",
          atomic.get("error", (spent, atomic["ordering"], atomic["classes"])))

# A call that does not return, as longjmp(): what it goes on with waits for the divisions before it.
build("""
	.globl _start
_start:	li s1, 20000
	li t1, 1 << 40
	la s2, 2f
1:	div t2, t1, s1
	div t2, t2, s1
	call throw
	ebreak
2:	add t3, t3, t2
	andi t3, t3, 255
	add t1, t1, t3
	addi s1, s1, -1
	bnez s1, 1b
	li a0, 0; li a7, 93
	ecall
throw:	addi sp, sp, -16
	sd ra, 8(sp)
	call leave
	.rept 8
	mul t3, t3, t3
	.endr
	ld ra, 8(sp)
	addi sp, sp, 16
	ret
leave:	mv ra, s2
	addi sp, sp, 16
	ret
""")
for core in ("inorder-2", "ooo-4"):
    record("leave.data", "--golden", "leave.golden", "--core", core)
    left = result("-i", "leave.golden")
    check(left["classes"] == [] and near(left["totals"]["predicted"], left["totals"]["measured"], 0.01),
          f"{core}: a call that does not return goes on where it was measured to", left.get("error", left.get("totals")))

# One loop is all of the program, and 13 % off: its own difference says nothing of how far others are.
build("""
	.globl _start
_start:	li a2, 60000
	addi sp, sp, -64
	li a5, 0
1:	andi a4, a5, 7
	addi a4, a4, 16
	andi a3, a5, 255
	add a4, a4, sp
	sb a3, -8(a4)
	lbu a4, 11(sp)
	addiw a5, a5, 1
	add a0, a0, a4
	bne a5, a2, 1b
	li a0, 0; li a7, 93
	ecall
""")
record("alone.data", "--set", "c0.latency=2")
alone = result("-i", "alone.data")
check(alone["classes"] or (alone["unexplained"] or {}).get("cycles", 0) > 0.1 * alone["totals"]["measured"],
      "a loop that is all of the program: an entry of the model, or what it leaves unexplained", alone.get("error", alone.get("unexplained")))

# While a load misses, the division of the next round executes: a model without misses predicts that it stalls.
build("""
	.option norvc
	.bss
	.balign 4096
big:	.space 16 << 20
	.text
	.globl _start
_start:	li s0, 40000
	la s2, big
	li a0, 1
	li a1, 77
	li a6, (16 << 20) - 64
1:	mul a0, a0, a1
	addi a0, a0, 13
	srli a2, a0, 7
	remw a3, a2, a1
	slli a4, a2, 6
	add a4, a4, a3
	and a4, a4, a6
	add a4, a4, s2
	ld a5, 0(a4)
	add a7, a7, a5
	addi s0, s0, -1
	bnez s0, 1b
	li a0, 0; li a7, 93
	ecall
""")
record("missing.data", "-c", "1000", "--golden", "missing.golden")
for name in ("missing.data", "missing.golden"):
    missing = result("-i", name)
    totals = missing["totals"]
    check(totals["cycles"]["event"] > 2 * totals["cycles"]["core"] and missing["classes"] == []
          and abs(totals["measured"] - totals["predicted"]) < 0.04 * missing["cycles"],
          f"{name}: what misses hide is predicted to be hidden", (missing["classes"], totals))

# One processor executes the paths, or several.
alone = subprocess.run(["taskset", "-c", str(min(os.sched_getaffinity(0))), PESA, "compare", "--json", "-i", "missing.data"],
                       stdout=subprocess.PIPE, check=False)
check(json.loads(alone.stdout) == result("-i", "missing.data"), "the result does not depend on the number of processors", "")

# Two deviations: on the unchanged model, one hides most of the effect of the other.
build(program(HIDING, TURNS))
record("hidden.data", "--set", "add.latency=3", "--set", "SiFiveP600IEXQ2.units=0")
hidden = result("-i", "hidden.data")
changes = [one["change"].split(".", 1)[1] for one in hidden["classes"]]
check(sorted(changes) == ["latency=3", "units=0"], "a latency, and a unit whose loss it hides in one of two loops",
      hidden.get("error", hidden["classes"]))

# A division is ready first that is second in the program; the core has one queue for the divider.
build("""
	.globl _start
_start:	li s0, 40000
	li s3, 1000003
	li a1, 7919
1:	addi s5, s0, 77
	remu a5, s3, s5
	remu a5, a5, a1
	remu s1, s3, s5
	remu s2, s1, a1
	addi s0, s0, -1
	bnez s0, 1b
	li a0, 0; li a7, 93
	ecall
""")
record("divided.data")
divided = result("-i", "divided.data")
divisions = [one for region in divided["regions"] for one in region["instructions"] if one["text"].startswith("remu")]
spent, expected = ([one[part] or 0 for one in divisions] for part in ("measured", "predicted"))
check(len(divisions) == 4 and all(abs(one / sum(spent) - other / sum(expected)) < 0.02 for one, other in zip(spent, expected))
      and divided["classes"] == [],
      "of divisions that wait for the divider each is predicted to wait for as long as it does", (divided["classes"], spent, expected))

# Few samples: of the outer loop there is none in which its branch retired.
build("""
	.globl _start
_start:	li s0, 4000
	li s4, 104729
	li s5, 7919
1:	mulw a4, s0, s5
	mulw a5, s0, s4
	slliw a3, s0, 3
	xor a5, a5, a3
2:	mv a3, a5
	remuw a5, a4, a5
	mv a4, a3
	bnez a5, 2b
	addi t0, t0, 1; addi t0, t0, 1; addi t0, t0, 1; addi t0, t0, 1
	addi t0, t0, 1; addi t0, t0, 1; addi t0, t0, 1; addi t0, t0, 1
	beqz s0, 3f
	addi t0, t0, 1; addi t0, t0, 1; addi t0, t0, 1; addi t0, t0, 1
	addi s0, s0, -1
	j 1b
3:	li a0, 0; li a7, 93
	ecall
""")
record("few.data", "-c", "9973")
few = result("-i", "few.data")
check(few["classes"] == [] and few["totals"]["measured"] > 0.9 * few["totals"]["cycles"]["core"] and few["samples"] < 200,
      "of few samples nearly all is on paths", (few["classes"], few["totals"]))

# Ordering instructions: the model does not say which instructions wait for them.
build(program(LOCKED, TURNS))
record("locked.data")
locked = result("-i", "locked.data")
kinds = {one["text"].split()[0]: one for one in locked["ordering"]}
check(locked["classes"] == [], "what waits for a fence is not blamed on an entry", locked["classes"])
check("fence" in kinds and not kinds["fence"]["modelled"] and kinds["fence"]["cycles"] > 0.1 * locked["cycles"],
      "the fence is named with its cycles, and that the model lacks it", locked["ordering"])
check("fsflags" in kinds and kinds["fsflags"]["drains"] and kinds["fsflags"]["modelled"], "the core drains where a CSR is written",
      locked["ordering"])
text = compare("-i", "locked.data")
check("fence iorw,ow and its like; the model has no such instruction" in " ".join(text.stdout.replace("iorw, ow", "iorw,ow").split()),
      "the text names it", text.stdout[:900])

build(program(FENCED, TURNS))
record("fenced.data")
fenced = result("-i", "fenced.data")
kinds = {one["text"].split()[0]: one for one in fenced["ordering"]}
check(kinds["fence"]["memory"] and not kinds["fence"]["drains"], "loads and stores wait at a fence, and products do not", fenced["ordering"])
check(fenced["classes"] == [] and near(fenced["totals"]["measured"], fenced["totals"]["predicted"], 0.05),
      "the time behind a fence is predicted, without a finding", (fenced["classes"], fenced["totals"]))

build(RECURSIVE, "program.c", ["-O0", "-fno-stack-protector"])
for core in ("ooo-3", "ooo-4", "ooo-8"):
    record("recursive.data", "--core", core)
    recursive = result("-i", "recursive.data")
    check(recursive["classes"] == [] and near(recursive["totals"]["measured"], recursive["totals"]["predicted"], 0.06),
          f"{core}: loads of a recursive function wait for stores of its other calls, without a finding",
          (recursive["classes"], recursive["totals"]))

build(COPIES, "program.c", ["-O1", "-Wl,--no-relax", "-fno-tree-loop-distribute-patterns", "-fno-tree-vectorize"])
for core in ("ooo-3", "ooo-4", "ooo-8"):
    record("copies.data", "--core", core)
    copies = result("-i", "copies.data")
    check(copies["classes"] == [] and near(copies["totals"]["measured"], copies["totals"]["predicted"], 0.03),
          f"{core}: a load that waits for a store from a moment on is predicted, without a finding", (copies["classes"], copies["totals"]))
    waits = [one["text"] for region in copies["regions"] for one in region["instructions"] if one["waits"] == "yes"]
    check(len(waits) == copies["chosen"]["waiting"] == 1 and waits[0].startswith("lbu"), f"{core}: which one it is", (waits, copies["chosen"]))
text = compare("-i", "copies.data").stdout
check("1 load waits for a store that the code does not name (chosen: nearest to the measurement)" in " ".join(text.split())
      and re.search("lbu .*WriteLDB +waits for a store", text), "the text says it, too", text)

build(DECODER, "program.c", ["-O2", "-Wl,--no-relax", "-fno-tree-loop-distribute-patterns", "-fno-tree-vectorize"])
for core in ("ooo-3", "ooo-4", "ooo-8"):
    record("decoder.data", "--core", core)
    decoder = result("-i", "decoder.data")
    check(decoder["classes"] == [] and near(decoder["totals"]["measured"], decoder["totals"]["predicted"], 0.06),
          f"{core}: the order of branches is chosen with the load that waits, and nothing is found",
          (decoder["classes"], decoder["totals"], decoder["chosen"]))

build(DISPATCH, "program.c", ["-O1", "-Wl,--no-relax"])
for core, off in (("inorder-2", 0.1), ("ooo-8", 0.2)):
    record("dispatch.data", "-c", "288", "--core", core)
    dispatch = result("-i", "dispatch.data")
    first = next((region for region in dispatch["regions"] if region["symbol"] == "f0"), {"measured": 0, "predicted": 1})
    check(dispatch["classes"] == [] and near(first["measured"], first["predicted"], off),
          f"{core}: calls through a table are mispredicted where samples say so, by their target", (dispatch["classes"], first))

build(program(WRITTEN, TURNS))
record("written.data")
csr = result("-i", "written.data")
check(csr["classes"] == [] and near(csr["totals"]["measured"], csr["totals"]["predicted"], 0.05), "the prediction begins anew behind a CSR write",
      (csr["classes"], csr["totals"]))
for core in ("ooo-4", "inorder-2"):
    record("written.data", "--golden", "written.golden", "--core", core)
    csr = result("-i", "written.golden")
    check(csr["classes"] == [] and near(csr["totals"]["predicted"], csr["totals"]["measured"], 0.005),
          f"{core}: without the noise of samples to the cycle", (csr["classes"], csr["totals"]))

# Several findings that together replace others: removing one of them makes the prediction worse.
build(program(STANDING, TURNS))
record("standing.data", "-c", "400", "--set", "ld.SiFiveP600LDST=4", "--set", "SiFiveP600LDST.units=1", "--set", "add.latency=3")
standing = result("-i", "standing.data")
check(sorted(one["change"].split(".", 1)[1] for one in standing["classes"]) == ["SiFiveP600LDST=4", "latency=3", "units=1"],
      "a pipe less, and not loads and stores that both occupy theirs for longer", standing.get("error", standing["classes"]))

# A store writes one of eight bytes, and a load reads the first four of them: it waits for the store in half of its executions.
build(program({"narrow": (435, """andi t3, s0, 255
	andi t0, s0, 7
	add t0, t0, s2
	sb t3, 0(t0)
	lw t1, 0(s2)
	slli t1, t1, 32
	srli t1, t1, 32
	add t2, t2, t1"""), "sum": (200, "lw t1, 32(s2)\n\tadd t2, t2, t1\n\tmul t2, t2, a1")}, 60))
for core in ("ooo-3", "ooo-4", "ooo-8"):
    record("narrow.data", "-c", "288", "--core", core)
    narrow = result("-i", "narrow.data")
    check(narrow["classes"] == [] and near(narrow["totals"]["measured"], narrow["totals"]["predicted"], 0.05),
          f"{core}: a load that waits for a narrower store in a part of its executions is predicted", narrow["totals"])

# A load of eight bytes waits until the store of four before it is in the cache; so does a fence.  When a store gets there depends on
# how many instructions retire before it in its cycle.
build(program({f"wide{adds}": (400, "; ".join(["addi t3, t3, 1", "sw t3, 8(s2)", *[f"addi a{2 + i % 4}, a{2 + i % 4}, 1" for i in range(adds)],
                                               "ld t1, 8(s2)", "add t2, t2, t1"])) for adds in range(12)} |
              {f"fence{adds}": (400, "; ".join(["sw t3, 8(s2)", *["addi a2, a3, 1"] * adds, "fence", "ld t1, 16(s2)", "add t2, t2, t1"]))
               for adds in (0, 3, 8)}, 20))
for core in ("inorder-2", "ooo-4"):
    record("wide.data", "--golden", "wide.golden", "--core", core)
    wide = result("-i", "wide.golden")
    check(wide["classes"] == [] and near(wide["totals"]["measured"], wide["totals"]["predicted"], 0.005),
          f"{core}: loads of more bytes than the store before them wrote, and fences, to the cycle", wide["totals"])

# The vector type is set once, before the loop, which no path has.
build(program({"vector": ("2000\n\t.option arch, +v\n\tvsetivli zero, 16, e8, m1, ta, ma", "vadd.vv v8, v8, v9; vse8.v v8, (s2); add a3, a3, a1"),
               "adds": LOOPS["adds"]}, TURNS))
for core in ("inorder-2", "ooo-8"):
    record("vector.data", "--core", core, "--cpu", "rv64,v=true")
    vector = result("-i", "vector.data")
    check(vector.get("classes") == [] and near(vector["totals"]["measured"], vector["totals"]["predicted"], 0.05),
          f"{core}: vector instructions of a type that was set before the loop are predicted", vector.get("totals", vector))

# Opcodes of an entry: one of them deviates, two of them by other numbers, all of them.
build(program(SHARED, TURNS))
# In an in-order core, instructions that issue later hide nothing.
for core, hidden in (("inorder-2", "moved"), ("ooo-4", "hidden")):
    record("plain.data", "--core", core)
    check(not result("-i", "plain.data")["classes"], f"{core}: no finding", result("-i", "plain.data")["classes"])
    for what, planted, expected, evidence in (
            ("one opcode", ["mul.latency=9"], {"MUL": 9}, {"MUL": "moved", "MULHU": "contradicts", "MULHSU": "not executed"}),
            ("two opcodes", ["mul.latency=9", "mulhu.latency=20"], {"MUL": 9, "MULHU": 20}, {}),
            ("all opcodes", ["WriteIMul.latency=9"], {"WriteIMul": 9},
             {"MUL": "moved", "MULHU": "moved", "MULH": hidden, "MULHSU": "not executed"})):
        record("opcodes.data", "--core", core, *(word for change in planted for word in ("--set", change)))
        classes = result("-i", "opcodes.data")["classes"]
        numbers = {one["change"].split(".latency=")[0]: one["measured"] for one in classes}
        check(set(numbers) == set(expected) and all(near(numbers[name], value, 0.12) for name, value in expected.items())
              and all(one["class"] == "WriteIMul" for one in classes), f"{core}, {what}: found as such", [one["change"] for one in classes])
        shown = {one["name"]: one["evidence"] for one in classes[0]["opcodes"]} if classes else {}
        check(evidence.items() <= shown.items(), f"{core}, {what}: what each of them shows", shown)
        compare("-i", "opcodes.data", "--write-model", "opcodes.model")
        corrected = result("-i", "opcodes.data", "--model", "opcodes.model")
        check(not corrected["classes"], f"{core}, {what}: with the corrected model nothing is found any more", corrected["classes"])
    text = compare("-i", "opcodes.data").stdout
    check(re.search(r"moved: mulh?u?, mulh?u?.*; not executed: c.mul, mulhsu", " ".join(text.split())), f"{core}: the text says it, too", text[:900])

nowhere = compare("-i", "hidden.data", "--symbol", "nosuch")
check(nowhere.returncode == 1 and "no region with 0.1% of all cycles is in a function 'nosuch'" in nowhere.stderr and not nowhere.stdout,
      "a function that is not there", nowhere.stderr + nowhere.stdout[:300])
written = compare("-i", "hidden.data", "--write-model", "hidden.model", "--json")
foreign = compare("-i", "hidden.data", "--model", "hidden.model", "-mcpu=sifive-u74")
check(written.returncode == 0 and foreign.returncode == 1 and "hidden.model has no processor sifive-u74" in foreign.stderr,
      "a processor that the model does not have", foreign.stderr)

shutil.rmtree(work)
end()
