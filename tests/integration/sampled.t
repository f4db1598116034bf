#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""pesa record --sampled and pesa stat --sampled: CPI, counts and profile against the run with every cycle, on programs drawn at random
and on one whose time depends on what caches, TLBs and predictors hold."""
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile

from tap import GUEST_CC, PESA, TOP, bail_out, check, end, plain_environment, records, skip

sys.path.insert(0, os.path.join(TOP, "tests/accuracy"))
import random_program  # noqa: E402  pylint: disable=wrong-import-position

# Walks in lists of 128 KB and of 4 MB, of which the first is in the L2 and the second mostly in the last level.  Now and then it runs
# through code that is larger than an instruction cache, with thousands of branches, each of which goes one way for twenty times.
WALK = """
#include <stdio.h>
#include <stdlib.h>
#define SMALL (128 << 10 >> 6)
#define LARGE (4 << 20 >> 6)
struct line { struct line *next; long value[7]; };
static struct line small[SMALL], large[LARGE];
static void shuffle(struct line *line, int count)
{
	unsigned state = 1;
	int *order = malloc(count * sizeof(*order));
	for (int i = 0; i < count; i++)
		order[i] = i;
	for (int i = count - 1; i > 0; i--) {
		state = state * 1103515245 + 12345;
		int j = (state >> 8) % (i + 1), kept = order[i];
		order[i] = order[j];
		order[j] = kept;
	}
	for (int i = 0; i < count; i++)
		line[order[i]].next = &line[order[(i + 1) % count]];
}
static unsigned char way[4000];
static void turn(void)
{
	static unsigned state = 1;
	for (unsigned i = 0; i < sizeof(way); i++) {
		state = state * 1103515245 + 12345;
		way[i] = state >> 16 & 1;
	}
}
static long branches(void)
{
	long taken = 0;
	const unsigned char *at = way;
	asm volatile(".rept 4000\\nlbu t0, 0(%0)\\naddi %0, %0, 1\\nbeqz t0, 1f\\naddi %1, %1, 1\\n1:\\n.endr"
		     : "+r"(at), "+r"(taken) : : "t0", "memory");
	return taken;
}
int main(void)
{
	const struct line *at = small, *far = large;
	long sum = 0;
	shuffle(small, SMALL);
	shuffle(large, LARGE);
	for (int i = 0; i < 600000; i++) {
		at = at->next;
		if (i % 8 == 0)
			far = far->next;
		sum += at->value[i & 3];
		if (i % 20000 == 0)
			turn();
		if (i % 1000 == 0)
			sum += branches();
	}
	printf("%ld %p\\n", sum, (void *)(far - large));
	return 0;
}
"""

work = tempfile.mkdtemp(prefix="pesa-sampled-")
os.chdir(work)
environment = plain_environment(work)


def run(*command, allowed=None, status=0):
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, env=environment,
                          preexec_fn=lambda: allowed and os.sched_setaffinity(0, allowed))
    if status is not None and done.returncode != status:
        bail_out(" ".join(command), done.stderr)
    return done


def record(*words, **options):
    run(PESA, "record", "-q", "--json=summary", *words, **options)
    with open("summary", encoding="utf-8") as file:
        summary = json.load(file)
    for hart in summary["harts"]:
        del hart["pid"], hart["tid"]
    # Processes end in any order.
    summary["harts"].sort(key=lambda hart: sorted(hart.items()))
    return summary


def counts(*words):
    run(PESA, "stat", "-e", "all", "--json=counts", *words)
    with open("counts", encoding="utf-8") as file:
        document = json.load(file)
    return document, {one["event"]: one["value"] for one in document["events"]}


def compile_guest(name, source, *flags):
    with open(name + ".c", "w", encoding="ascii") as file:
        file.write(source)
    run(GUEST_CC, "-O1", "-static", *flags, name + ".c", "-o", name)


# ---- What windows estimate -------------------------------------------------------------------------------------------

for seed in (3, 17, 40):
    for core in ("ooo-4", "inorder-2"):
        program = f"drawn-{seed}"
        if not os.path.exists(program):
            random_program.Program(seed).build(program)
        rounds = 1
        words = ["-c", "20000", "--core", core, "--cpu", "rv64,v=true"]
        while record("--sampled", *words, "--", "./" + program, str(rounds))["instructions"] < 8e6:
            rounds *= 2
        exact = record(*words, "--golden", "golden.data", "--", "./" + program, str(rounds))
        sampled = record(*words, "--sampled", "--", "./" + program, str(rounds))
        truth, estimate = exact["cycles"] / exact["instructions"], sampled["sampled"]
        why = f"{truth:.4f}; {estimate}"
        check(exact["instructions"] == sampled["instructions"], f"program {seed} on {core}: all instructions are counted",
              (exact, sampled))
        # Twice the interval is left in one of 10,000 cases; 1 % is for what is not warmed.
        check(abs(estimate["cpi"] - truth) < 2 * estimate["cpi_interval"] + 0.01 * truth,
              f"program {seed} on {core}: CPI is within twice its interval, and 1 %", why)
        error = json.loads(run(PESA, "error", "--json", "--golden", "golden.data", "-i", "perf.data").stdout)
        # By chance once in 10^6 (period.t); samples of a window are less independent than that.
        most = error["floor"] * 1.1 + math.sqrt(math.log(1e6) / (2 * error["samples"]))
        check(error["error"] < most and error["samples"] > 100, f"program {seed} on {core}: the profile is near the exact one",
              f"{error['error']:.3f}, at most {most:.3f}: {error}")

# ---- Warm caches, TLBs and predictor ----------------------------------------------------------------------------------

compile_guest("walk", WALK)
WARM = {  # what windows with anything cold would have more of, and by how much it may differ
    "CYCLES.HART": 0.05, "INST.BRJMP.RET": 0.1, "CACHE.L1D.RD.DATA.MISS": 0.05, "CACHE.L2.MISS": 0.1, "TLB.L1D.LDST.MISS": 0.05,
    "CACHE.L1I.RD.CODE.MISS": 0.15, "INST.MISPRED.RET": 0.3,
}
for core in ("ooo-4", "inorder-2"):
    _, exact = counts("--core", core, "--", "./walk")
    document, sampled = counts("--core", core, "--sampled", "--", "./walk")
    check(document["sampled"]["windows"] > 50, f"{core}: there are {document['sampled']['windows']} windows", document["sampled"])
    chance = 2 * document["sampled"]["cpi_interval"] / document["sampled"]["cpi"]
    for event, most in WARM.items():
        check(abs(sampled[event] - exact[event]) <= (most + chance) * exact[event], f"{core}: {event} is as in the run with all cycles",
              f"{sampled[event]} instead of {exact[event]}")

# ---- The same each time, wherever it runs -----------------------------------------------------------------------------

run(GUEST_CC, "-O1", "-g", "-static", "-pthread", "-march=rv64gc", os.path.join(TOP, "tests/data/guest/guest.c"), "-o", "guest")
processors = sorted(os.sched_getaffinity(0))
first = record("--sampled", "-c", "20000", "--", "./walk"), records("perf.data")
check(first == (record("--sampled", "-c", "20000", "--", "./walk"), records("perf.data")), "samples are the same in the next run")
if len(processors) > 1:
    check(first == (record("--sampled", "-c", "20000", "--", "./walk", allowed=processors[:1]), records("perf.data")),
          "samples are the same on one processor")
else:
    skip("samples are the same on one processor", "there is one")
for *guest, status in (("work", "3", 0), ("vector", 0), ("handlers", 0), ("crash", None), ("illegal", None), ("threads", 0),
                       ("fork", 0)):
    words = ("--cpu", "rv64,v=true", "--", "./guest", *guest)
    exact, sampled = record(*words, status=status), record("--sampled", "-c", "20000", *words, status=status)
    check(exact["exit_status"] == sampled["exit_status"], f"guest {guest[0]}: the same end", (exact, sampled))
    if guest[0] != "threads":
        check(exact["instructions"] == sampled["instructions"], f"guest {guest[0]}: all instructions are counted", (exact, sampled))
    check(sampled["harts"] == record("--sampled", "-c", "20000", *words, status=status)["harts"], f"guest {guest[0]}: the same again")

sampled = record("--sampled", "-c", "20000", "--set", "fetch.bytes=16", "--set", "line=16", "--", "./walk")
check(sampled["instructions"] == first[0]["instructions"] and sampled["cycles"] > first[0]["cycles"], "lines of 16 bytes",
      (sampled, first[0]))

# ---- What it refuses --------------------------------------------------------------------------------------------------

for words, named in ((["--golden", "g"], "--golden"), (["-g"], "-g"), (["--sampler", "dispatch"], "--sampler"),
                     (["--pipeline-trace", "t"], "--pipeline-trace"), (["-c", "5000"], "20000")):
    done = run(PESA, "record", "--sampled", *words, "--", "./walk", status=None)
    check(done.returncode in (1, 2) and named in done.stderr and len(done.stderr.splitlines()) <= 2,
          f"refused with {words[0]}: {done.stderr.splitlines()[0] if done.stderr else ''}", done.stderr)

shutil.rmtree(work)
end()
