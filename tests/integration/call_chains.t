#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Call chains of the virtual core: those that the source of the program allows, and no others."""
import csv
import io
import json
import os
import re
import shutil
import subprocess
import tempfile

from tap import TOP, PESA, CROSS, bail_out, check, command, end, plain_environment

work = tempfile.mkdtemp(prefix="pesa-chains-")
os.chdir(work)
plain = plain_environment(work)


def pesa(*words):
    run = command(PESA, *words, env=plain)
    if run.returncode:
        bail_out("pesa", *words, run.stderr.decode())
    return run.stdout.decode()


built = command(CROSS + "g++", "-O1", "-foptimize-sibling-calls", "-g", "-static", "-pthread",
                os.path.join(TOP, "tests/data/guest/calls.cc"), "-o", "calls")
if built.returncode:
    bail_out("cannot build the guest program:", built.stderr.decode())

START = "_start;__libc_start_main_impl;__libc_start_call_main;main;"
THREAD = "__thread_start;start_thread;thread;"
# What may call spin(), from the source.  The C library's own functions are in between where it calls.
ALLOWED = {
    "longjmp() leaves the frames of all functions that it skips": ("jumps;" + 6 * "deep;", "jumps;"),
    "longjmp() finds the frame of the setjmp() among recursive ones": (4 * "levels;", "levels;"),
    "a tail call has no frame": ("tails;tail_end;",),
    "an exception leaves the frames up to its handler": ("catcher;" + 5 * "thrower;", "catcher;"),
    "destructors are called by the function that is left": ("cleaned;cleanup;" + 3 * "thrower;", "cleaned;cleanup;guard::~guard;",
                                                            "cleaned;"),
    "a signal's handler is called by what it interrupted": ("raises;raise;(LIB;)*on_signal;", "raises;"),
    "siglongjmp() leaves a handler and its stack": ("leaves_handler;raise;(LIB;)*on_jump;", "leaves_handler;"),
    "a timer's signal interrupts anything": ("alarms;(busy;)+on_alarm;|alarms;on_alarm;|alarms;(LIB;)+on_alarm;", "alarms;"),
    "a coroutine has a chain of its own, and its caller the old one": ("COROUTINE:", "coroutines;"),
    "a thread begins at its start": ("THREAD:",),
    "recursion has a frame for each call": ("THREAD:(fib;)+",),
    "functions called by the C library": ("sorts;(LIB;)+compare;",),
    "main()": ("",),
}


def pattern(text):
    if text.startswith("THREAD:"):
        text = THREAD + text[7:]
    elif text.startswith("COROUTINE:"):
        text = "(__start_context;)?body;"
    else:
        text = START + text if "|" not in text else "|".join(START + one for one in text.split("|"))
    return re.compile("(" + text.replace("LIB", r"\w[\w.]*") + ")spin")


def chains(name):
    """{chain: cycles} without the process."""
    result = {}
    for line in pesa("export", "--format", "folded", "-i", name).splitlines():
        chain, _, cycles = line.rpartition(" ")
        chain = re.sub(r"\([^()]*\)", "", chain.partition(";")[2])
        result[chain] = result.get(chain, 0) + float(cycles)
    return result


def judge(found, what):
    left = {chain: cycles for chain, cycles in found.items() if chain.endswith(";spin")}
    for name, texts in ALLOWED.items():
        seen = []
        for text in texts:
            matching = [chain for chain in left if pattern(text).fullmatch(chain)]
            seen.append(bool(matching))
            for chain in matching:
                del left[chain]
        check(all(seen), f"{what}: {name}", (texts, seen))
    check(not left, f"{what}: no other chain", json.dumps(left, indent=1))


pesa("record", "-q", "-c", "256", "-g", "-o", "exact.data", "--", "./calls")
found = chains("exact.data")
judge(found, "exact")
deepest = max(chain.count("fib;") for chain in found)
check(deepest == 7, "fib(7) is seven calls deep", deepest)

# ---- Inclusive cycles, beside sums over the chains ---------------------------------------------
inclusive = {}
for line in pesa("export", "--format", "folded", "-i", "exact.data").splitlines():
    chain, _, cycles = line.rpartition(" ")
    for name in set(chain.split(";")[1:]):
        inclusive[name] = inclusive.get(name, 0) + float(cycles)
rows = list(csv.DictReader(io.StringIO(pesa("export", "--format", "csv", "--by", "symbol", "-i", "exact.data"), newline="")))
wrong = [(row["symbol"], row["cycles_inclusive"], inclusive[row["symbol"]]) for row in rows
         if row["symbol"] in inclusive and abs(float(row["cycles_inclusive"]) - inclusive[row["symbol"]]) > 1]
check({"main", "spin", "fib"} <= {row["symbol"] for row in rows} and not wrong, "csv has the inclusive cycles of functions", wrong)
rows = csv.DictReader(io.StringIO(pesa("export", "--format", "csv", "-i", "exact.data"), newline=""))
check(all(row["cycles_inclusive"] == "" for row in rows), "instructions have none")

# ---- What -g must not change ------------------------------------------------------------------
HEAD = re.compile(r'"(time|address|state|instret|causes|targets|details)":("[^"]*"|\[[^]]*\]|[^,}]*)')
built = command(CROSS + "gcc", "-O1", "-static", "-pthread", os.path.join(TOP, "tests/data/guest/guest.c"), "-o", "guest")
samples = {}
for name, words in (("with", ["-g"]), ("without", [])):
    pesa("record", "-q", "-c", "400", *words, "-o", f"{name}.data", "--", "./guest", "work", "3")
    samples[name] = [HEAD.findall(line) for line in pesa("script", "--json", "-i", f"{name}.data").splitlines()]
check(len(samples["with"]) > 100 and samples["with"] == samples["without"], "samples with call chains are those without",
      (len(samples["with"]), len(samples["without"])))

os.chdir("/")
shutil.rmtree(work)
end()
