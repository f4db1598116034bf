#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""pesa stat: all identities between events hold, and the counts agree with independent counts of the same run.

These are: plain QEMU (instructions), the golden reference (cycles of each state, executions, transfers), programs whose
counts are known because of how they are written.
"""
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time

from tap import TOP, BUILD, PESA, QEMU, GUEST_CC, bail_out, check, command, end, plain_environment

DATA = os.path.join(TOP, "tests/data/guest")
CORES = sorted(os.listdir(os.path.join(BUILD, "share/pesa/cores")))


work = tempfile.mkdtemp(prefix="pesa-stat-")
os.chdir(work)
plain = plain_environment(work)

LOOP = """
	.globl _start
_start:	li s0, %d
	lla s1, cell
1:	sd s0, 0(s1)
	ld t0, 0(s1)
	c.nop
	c.addi s0, -1
	bnez s0, 1b
	li a0, 0
	li a7, 93
	ecall
	.data
	.balign 64
cell:	.dword 0
"""
TIMES = 5000

# Branches on remainders: nobody can predict them, and each waits for its division.
REMAINDERS = """
	.globl _start
_start:	li s0, %d
	li s1, 12345
	li s2, 1103515245
	li s3, 97
1:	mul s1, s1, s2
	addi s1, s1, 1234
	srli t0, s1, 20
	remu t1, t0, s3
	andi t1, t1, 1
	beqz t1, 2f
	addi s4, s4, 1
2:	addi s0, s0, -1
	bnez s0, 1b
	li a0, 0
	li a7, 93
	ecall
"""


def build():
    version = re.search(rb"version (\d+)", command(QEMU, "--version").stdout)
    with open("loop.s", "w", encoding="ascii") as out:
        out.write(LOOP % TIMES)
    with open("remainders.s", "w", encoding="ascii") as out:
        out.write(REMAINDERS % TIMES)
    for words in ([GUEST_CC, "-O1", "-g", "-static", "-pthread", os.path.join(DATA, "guest.c"), "-o", "guest"],
                  [GUEST_CC, "-static", "-nostdlib", "loop.s", "-o", "loop"],
                  [GUEST_CC, "-static", "-nostdlib", "remainders.s", "-o", "remainders"],
                  ["gcc", "-O1", "-shared", "-fPIC", f"-DQEMU_PLUGIN_API={2 if int(version.group(1)) >= 9 else 1}",
                   "-I" + TOP, os.path.join(DATA, "count_plugin.c"), "-o", "count.so"]):
        made = command(*words)
        if made.returncode:
            bail_out("cannot build the guest programs:", made.stderr.decode())


def counted(*guest):
    """Instructions that plain QEMU begins."""
    if os.path.exists("count"):
        os.unlink("count")
    command(QEMU, "-plugin", os.path.join(work, "count.so") + ",out=" + os.path.join(work, "count"), *guest, env=plain)
    with open("count", encoding="ascii") as file:
        return sum(int(line) for line in file)


def values(entries):
    return {one["event"]: one["value"] for one in entries}


def stat(*words):
    run = command(PESA, "stat", "-e", "all", "--json=stat.json", *words, env=plain)
    with open("stat.json", encoding="utf-8") as file:
        run.json = json.load(file)
    run.event = values(run.json["events"])
    return run


def width(core, stage="dispatch"):
    with open(os.path.join(BUILD, "share/pesa/cores", core), encoding="utf-8") as file:
        return int(re.search(rf"^{stage}\.width *= *(\d+)", file.read(), re.M).group(1))


def hierarchy(event, retire_slots):
    """RETIRE.*.SLOTS: each node is the sum of those right below it."""
    nodes = {name[:-len(".SLOTS")]: value for name, value in event.items() if re.match(r"RETIRE.*\.SLOTS$", name)}
    equal = {"slots of retirement are width x cycles": (nodes["RETIRE"], retire_slots * event["CYCLES.HART"]),
             "retiring slots of retirement": (nodes["RETIRE.RETIRING"], event["INST.RET"])}
    for parent in nodes:
        below = [nodes[name] for name in nodes if name.rpartition(".")[0] == parent]
        if below:
            equal[parent + " sums to its parts"] = (nodes[parent], sum(below))
    return equal


def sums(event, slots):
    """What must be equal, by name."""
    top, bad_slots = "TOPDOWN.", "TOPDOWN.BAD_SPECULATION."
    kinds = ("MISPREDICT", "MEM_ORDERING", "SERIALIZING", "EXCEPTION", "INTERRUPT")
    return {
        "slots are width x cycles": (event[top + "SLOTS"], slots * event["CYCLES.HART"]),
        "level 1 sums to the slots": (event[top + "SLOTS"], event[top + "RETIRING.SLOTS"] + event[bad_slots + "SLOTS"]
                                      + event[top + "FRONTEND_BOUND.SLOTS"] + event[top + "BACKEND_BOUND.SLOTS"]),
        "bad speculation sums to its parts": (event[bad_slots + "SLOTS"], event[bad_slots + "MISPREDICT.SLOTS"]
                                              + event[bad_slots + "MEM_ORDERING.SLOTS"]
                                              + event[bad_slots + "OTHER.SLOTS"]),
        "front-end bound sums to its parts": (event[top + "FRONTEND_BOUND.SLOTS"],
                                              event[top + "FRONTEND_BOUND.LATENCY.SLOTS"]
                                              + event[top + "FRONTEND_BOUND.BANDWIDTH.SLOTS"]),
        "back-end bound sums to its parts": (event[top + "BACKEND_BOUND.SLOTS"],
                                             event[top + "BACKEND_BOUND.MEMORY.SLOTS"]
                                             + event[top + "BACKEND_BOUND.CORE.SLOTS"]),
        "mispredict slots are unresolved and recovery": (event[bad_slots + "MISPREDICT.SLOTS"],
                                                         event[bad_slots + "MISPREDICT.UNRESOLVED.SLOTS"]
                                                         + event[bad_slots + "MISPREDICT.RECOVERY.SLOTS"]),
        "slots of clears are unresolved and recovery": (event[bad_slots + "MEM_ORDERING.SLOTS"]
                                                        + event[bad_slots + "OTHER.SLOTS"],
                                                        event[bad_slots + "CLEAR.UNRESOLVED.SLOTS"]
                                                        + event[bad_slots + "CLEAR.RECOVERY.SLOTS"]),
        "recovery slots are width x recovery cycles": (event[bad_slots + "MISPREDICT.RECOVERY.SLOTS"]
                                                       + event[bad_slots + "CLEAR.RECOVERY.SLOTS"],
                                                       slots * event["FLUSH.CYCLES"]),
        "flushes sum to their kinds": (event["FLUSH.SPEC"], sum(event[f"FLUSH.{kind}.SPEC"] for kind in kinds)),
        "recovery cycles sum to their kinds": (event["FLUSH.CYCLES"],
                                               sum(event[f"FLUSH.{kind}.CYCLES"] for kind in kinds)),
        "retiring slots are the instructions retired": (event[top + "RETIRING.SLOTS"], event["INST.RET"]),
        "states of retirement sum to the cycles": (event["CYCLES.HART"], sum(
            event[f"RETIRE.{state}.CYCLES"] for state in ("RETIRING", "STALLED", "FLUSHED", "DRAINED"))),
        "mispredicts sum to their kinds": (event["INST.MISPRED.RET"], sum(
            event[f"INST.MISPRED.{kind}.RET"] for kind in ("BRANCH", "IND", "RETURN", "CORSWAP"))),
        "misses of the L1 TLBs look up the last-level TLB": (
            event["TLB.L1D.LDST.MISS"] + event["TLB.L1I.CODE.MISS"],
            event["TLB.LL.LDST.ACCESS"] + event["TLB.LL.CODE.ACCESS"]),
    }


def holds(event, core):
    equal = sums(event, width(core))
    equal.update(hierarchy(event, width(core, "retire")))
    return [f"{what}: {a} and {b}" for what, (a, b) in equal.items() if a != b]


build()

# ---- Identities, and plain QEMU --------------------------------------------------------------
for core in CORES:
    for guest, faults in ((["work", "2"], 0), (["fork", "2"], 0), (["generated", "100"], 0), (["handlers"], 20),
                          (["faults"], 42), (["threads", "3"], None), (["signal", "15"], None), (["signal", "9"], None),
                          (["crash"], None), (["illegal"], None)):
        run = stat("--core", core, "--", "./guest", *guest)
        event = run.event
        name = f"{core}: guest {guest[0]}"
        broken = holds(event, core)
        for hart in run.json["harts"]:
            broken += holds(values(hart["events"]), core)
        check(event["INST.RET"] > 1000 and not broken, f"{name}: all identities hold, in total and for each thread",
              "\n".join(broken))
        if faults is not None:
            oracle = counted("./guest", *guest)
            check(event["INST.RET"] == oracle - faults,
                  f"{name}: as many instructions retired as plain QEMU executes", f"{oracle} {event['INST.RET']}")
        if faults:
            check(event["FLUSH.EXCEPTION.SPEC"] == faults, f"{name}: each fault is a flush", event)

# ---- The golden reference --------------------------------------------------------------------
for core in CORES:
    run = stat("--core", core, "--", "./guest", "work", "2")
    recorded = command(PESA, "record", "-q", "--core", core, "--golden", "golden.data", "--json=record.json", "--",
                       "./guest", "work", "2", env=plain)
    golden = json.loads(command(PESA, "report", "--json", "-i", "golden.data").stdout)
    with open("record.json", encoding="utf-8") as file:
        summary = json.load(file)
    cycles = {state: sum(causes.values()) for state, causes in golden["stack"].items()}
    states = {state: run.event[f"RETIRE.{state.upper()}.CYCLES"] for state in cycles}
    check(len(cycles) == 4 and all(abs(cycles[state] - states[state]) < 1e-6 * cycles[state] for state in cycles),
          f"{core}: cycles of each state are those of the golden reference", f"{cycles} {states}")
    check(run.event["INST.RET"] == summary["golden_executions"] and
          run.event["CYCLES.HART"] == summary["golden_cycles"],
          f"{core}: instructions and cycles are those of the golden reference", summary)

# ---- Known programs --------------------------------------------------------------------------
for core in CORES:
    event = stat("--core", core, "--", "./loop").event
    total = counted("./loop")
    check(event["INST.RET"] == total and event["INST.BRJMP.RET"] == TIMES
          and event["INST.BRJMP.TK.RET"] == TIMES - 1 and event["INST.LOAD.RET"] == TIMES
          and event["INST.STORE.RET"] == TIMES and 4 * TIMES <= event["INST.RVC.RET"] <= 4 * TIMES + 4
          and event["INST.RVV.RET"] == 0,
          f"{core}: a loop's instructions are counted by kind", event)
    check(event["CACHE.L1D.WR.ACCESS"] == TIMES
          and event["LOAD.DSRC.STLF.RET"] + event["CACHE.L1D.RD.DATA.ACCESS"] == TIMES
          and event["LOAD.DSRC.STLF.RET"] > 0.9 * TIMES
          and event["CACHE.L1D.WR.MISS"] + event["CACHE.L1D.RD.DATA.MISS"] == 1,
          f"{core}: its loads take their data from its stores, one line misses once", event)
    check(event["INST.MISPRED.RET"] <= 3 and event["FLUSH.SERIALIZING.SPEC"] == 1,
          f"{core}: it is predicted, and its system call is a flush", event)

    # Behind a mispredicted branch no more is squashed than there are places in the reorder buffer.
    event = stat("--core", core, "--", "./remainders").event
    taken, flushes = event["TOPDOWN.BAD_SPECULATION.MISPREDICT.UNRESOLVED.SLOTS"], event["FLUSH.MISPREDICT.SPEC"]
    with open(os.path.join(BUILD, "share/pesa/cores", core), encoding="utf-8") as file:
        places = int(re.search(r"^rob\.entries *= *(\d+)", file.read(), re.M).group(1))
    check(0.4 * TIMES < flushes < 0.6 * TIMES and flushes < taken <= (places - 1) * flushes,
          f"{core}: a wrong path takes the places that are free and no more", (taken, flushes, places))
    if core == "inorder-2":
        check(event["TOPDOWN.BAD_SPECULATION.SLOTS"] < 0.1 * event["TOPDOWN.SLOTS"]
              and event["TOPDOWN.BACKEND_BOUND.CORE.SLOTS"] > 0.8 * event["TOPDOWN.SLOTS"]
              and event["RETIRE.BACKEND_BOUND.CORE.SLOTS"] > 0.8 * event["RETIRE.SLOTS"],
              f"{core}: slots behind a branch that waits for a division are bound by the back end", event)

# ---- Deliveries ------------------------------------------------------------------------------
spinning = subprocess.Popen([PESA, "stat", "-e", "all", "--json=stat.json", "--", "./guest", "spin"],
                            stdout=subprocess.PIPE, env=plain, start_new_session=True)
spinning.stdout.readline()
time.sleep(0.3)
os.kill(spinning.pid, signal.SIGINT)
status = spinning.wait(timeout=60)
with open("stat.json", encoding="utf-8") as file:
    event = values(json.load(file)["events"])
check(status == 130 and event["INST.RET"] > 100000 and not holds(event, "ooo-4"),
      "SIGINT: what was counted is printed and adds up", (status, holds(event, "ooo-4")))

shown = command(PESA, "stat", "-e", "inst.ret,CYCLES.*", "--", "./guest", "exit", "7", env=plain)
check(shown.returncode == 7 and re.search(rb"^ +[\d,]+ +INST\.RET +# +[\d.]+ insn per cycle$", shown.stderr, re.M)
      and b"CYCLES.HART" in shown.stderr and b"TOPDOWN" not in shown.stderr,
      "-e chooses, by name or pattern; the program's status is passed on", shown.stderr.decode())
shown = command(PESA, "stat", "-e", "cycles:u,instructions:ppp,Branch-Misses", "-e", "L1-dcache-loads", "--", "./guest", "exit", "7", env=plain)
check(re.findall(r"^ +[\d,]+ +(\S+)", shown.stderr.decode(), re.M) ==
      ["CYCLES.HART", "INST.RET", "INST.MISPRED.RET", "CACHE.L1D.RD.DATA.ACCESS"], "perf's names of events", shown.stderr.decode())
shown = command(PESA, "stat", "-e", "cycles:k", "--core", "ooo-4", "--", "./guest", "exit", "7", env=plain)
check(shown.returncode == 2 and b"cycles:k" in shown.stderr, "the kernel's cycles are none of the virtual core's", shown.stderr.decode())
shown = command(PESA, "stat", "-I", "10", "-e", "task-clock", "--", "./guest", "exit", "7", env=plain)
check(shown.returncode == 7  # the kernel has an emulator for it
      or shown.returncode == 1 and shown.stderr.decode().split("\n")[-2].startswith("pesa stat: cannot run ./guest"),
      "a program of another processor is not given to a shell", shown.stderr.decode())
shown = command(PESA, "stat", "--per-thread", "-o", "text", "--", "./guest", "threads", "2", env=plain)
with open("text", encoding="utf-8") as file:
    text = file.read()
check(text.count("thread ") == 3 and text.count("INST.RET ") == 3 and not shown.stderr, "--per-thread, -o FILE", text)
listed = command(PESA, "stat", "--list").stdout.decode()
check(all(re.search(f"^{re.escape(name)} ", listed, re.M) for name in event), "--list names every event", listed)
for words, status, text in ((["-e", "NOTHING.*", "--", "./guest"], 2, r"no event matches 'NOTHING\.\*'"),
                            (["--", "./missing"], 1, "no program"), ([], 2, "no program"),
                            (["--core", "none", "--", "./guest"], 1, "no core description 'none'"),
                            (["-o", "/nowhere/x", "--", "./guest", "exit", "0"], 1, "/nowhere/x")):
    shown = command(PESA, "stat", *words, env=plain)
    message = shown.stderr.decode()
    check(shown.returncode == status and re.search("^pesa stat: .*" + text, message) and message.count("\n") <= 1,
          f"refused: {' '.join(words)}", message)

os.chdir("/")
shutil.rmtree(work)
end()
