#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""kernel/series: branch stacks of stock perf from the control transfer records of harts (Ssctr).  They are transfers of the program,
each event has the types and modes that it asked for, cycle counts are those of the code between, call stacks are those of the source
and go with their tasks; pesa reads the recordings."""
import collections
import functools
import json
import os
import re
import shutil
import subprocess
import tempfile

from board import (FAULTS, PESA, TOP, board, compiled, events, guest_program, instructions, kind_of_transfer, only_samples, read,
                   script_parts, tap)
from series_each import selftest

DEPTH = 32
FILTERS = {"any": ("cycles:uppp", "-j any,u"), "calls": ("cycles:uppp", "-j any_call,u"), "returns": ("cycles:uppp", "-j any_ret,u"),
           "conditional": ("cycles:uppp", "-j cond,u"), "direct": ("cycles:uppp", "-j call,u"), "kernel": ("cycles:ppp", "-j any,k"),
           "both": ("cycles:ppp", "-b"), "quiet": ("cycles:uppp", "-j any,u,save_type"),
           # Two events at once, on one set of records.
           "shared": ("cycles/branch_type=any_call/uppp", "-e instructions/branch_type=cond/u")}
ALLOWED = {"any": None, "quiet": None, "calls": {"direct", "indirect call"}, "returns": {"return"}, "conditional": {"conditional"},
           "direct": {"direct"}, "cycles": {"direct", "indirect call"}, "instructions": {"conditional"}}
REFUSED = {"transactions": "in_tx,u", "the hypervisor alone": "any,hv", "a call stack with a filter": "stack,any,u",
           "a call stack of the kernel": "stack,u,k"}
RUNS = {"chains": "chains 4000", "moves": "moves 4000", "tasks": "tasks 2500", "forks": "forks 2500"}
# The functions that call each function.
CALLERS = {"work": {"left_b", "right_b"}, "left_b": {"left_a"}, "left_a": {"main", "left"}, "right_b": {"right_a"}, "right_a": {"main", "right"},
           "left": {"start_left", "main"}, "right": {"start_right", "main"}}
HEAD = """
cpu=/sys/bus/event_source/devices/cpu
record() { # FILE WORDS...
    file=$1; shift
    perf record -q -N -B -o $file "$@" > /dev/null; echo "status $?: $(perf script -G -F ip -i $file 2> /dev/null | grep -c .) samples"
}
"""
FIELDS = "-F event,ip,brstack"
PLAIN = HEAD + "\n".join([
    "echo '== caps'; cat $cpu/caps/branches; grep -m 1 isa /proc/cpuinfo",
    *[f"echo '== {name}'; record {name}.data -e {event} {words} -c 3001 ./calls 3000; perf script {FIELDS} -i {name}.data 2> /dev/null"
      for name, (event, words) in FILTERS.items()],
    "chmod 777 .; echo 2 > /proc/sys/kernel/perf_event_paranoid",
    "echo '== user'; setpriv --reuid=65534 --regid=65534 --clear-groups bash -c '" +
    f"perf record -q -N -B -e cycles:uppp -j any,u -c 3001 -o user.data ./calls 3000 > /dev/null; echo status $?'; perf script {FIELDS} -i user.data 2> /dev/null",
    "echo '== forbidden'; setpriv --reuid=65534 --regid=65534 --clear-groups perf record -q -e cycles:u -j any,k -o /tmp/no ./calls 1 > /dev/null 2>&1; echo status $?",
    *[f"echo '== refused {name}'; perf record -q -e cycles:u -j {words} -o /tmp/no ./calls 1 > /dev/null 2>&1; echo status $?"
      for name, words in REFUSED.items()],
]) + "\n"
STACKS = HEAD + "\n".join([
    *[f"echo '== {name}'; record {name}.data --call-graph lbr -e cycles:uppp -c 5003 ./stacks {words}" for name, words in RUNS.items()],
    "echo '== all'; record all.data -a --call-graph lbr -e cycles:uppp -c 5003 ./stacks chains 3000",
    # Both kinds take turns.
    "echo '== turns'; record turns.data -e cycles/branch_type=any/uppp -e instructions/branch_type=stack/u -c 5003 ./stacks chains 20000; "
    "perf script -F event,brstack -i turns.data 2> /dev/null | awk '/0x/ { print $1 }' | sort | uniq -c",
]) + "\n"
REFUSAL = """
echo "== lbr"; perf record -q --call-graph lbr -e cycles:u -o /tmp/no true > /dev/null 2>&1; echo status $?
echo "== selftest"
./sampling
"""
ENTRY = re.compile(r"0x([0-9a-f]+)/0x([0-9a-f]+)/([MPN-])/[X-]/[A-]/(\d+)/([A-Z_]*)")


def boot(name, script, programs, *options):
    share = tempfile.mkdtemp(prefix="pesa-branches-")
    for program in programs:
        program(share)
    os.symlink(".", f"{share}/share")
    with open(f"{share}/script", "w", encoding="utf-8") as out:
        out.write(script)
    done = board("--without-device", "--without-driver", "--property", "pesa-sspesa=on", "--property", f"pesa-ctr-depth={DEPTH}", *options,
                 "--share", share, "--console", f"{share}/console", "--", "bash", "script", limit=900, env={**os.environ, "KERNEL": series})
    console = read(f"{share}/console")
    tap.check(done.returncode == 0 and not FAULTS.search(console), f"{name}: boots and records", f"{done.stdout[-1500:]}{done.stderr[-800:]}{console[-2000:]}")
    return share, collections.defaultdict(str, script_parts(done.stdout))


def stacks_of(text, event=""):
    """Of each sample: its address and its entries, the newest first: source, target, cycles, type."""
    return [(int(re.search(r"\b([0-9a-f]+)\s+(?:0x|$)", line)[1], 16),
             [(int(source, 16), int(target, 16), int(cycles), kind) for source, target, _, cycles, kind in ENTRY.findall(line)])
            for line in text.splitlines() if ENTRY.search(line) and event in line]


def check_transfers(name, stacks):
    entries = [entry for _, stack in stacks for entry in stack]
    if not tap.check(len(stacks) > 20 and len(entries) > 100, f"{name}: there are samples with branch stacks", (len(stacks), parts[name][:1500])):
        return
    tap.check(not any((source | target) >> 63 for source, target, _, _ in entries), f"{name}: none is of the kernel")
    kinds = collections.Counter(kind_of_transfer(*code[source]) if source in code else "nowhere" for source, _, _, _ in entries)
    wrong = sum(count for what, count in kinds.items() if what in ("nowhere", "other") or (ALLOWED[name] and what not in ALLOWED[name]))
    tap.check(wrong == 0, f"{name}: all are transfers of the program, of the kind that was asked for", kinds)


def pesa(*words):
    return subprocess.run([PESA, *words], capture_output=True, text=True, check=False, errors="replace")


def folded(share, name):
    """The chains of a recording, callers first, without the command, with their weight."""
    done = pesa("export", "--format", "folded", "--symfs", share, "-i", f"{share}/{name}.data", "-o", "-")
    lines = [line.rpartition(" ") for line in done.stdout.splitlines()]
    return [(stack.split(";")[1:], int(float(weight))) for stack, _, weight in lines], done.stderr


def is_legal(chain):
    return all(callee not in CALLERS or not i or chain[i - 1] in CALLERS[callee] for i, callee in enumerate(chain))


def share_of(chains, holds):
    whole = sum(weight for _, weight in chains)
    return sum(weight for chain, weight in chains if holds(chain)) / whole if whole else 0


built = subprocess.run([os.path.join(TOP, "tools/board/series")], capture_output=True, text=True, check=False)
if not tap.check(not built.returncode, "the kernel with all patches builds", built.stderr[-2000:]):
    tap.end()
series = built.stdout.strip()
source = subprocess.run([os.path.join(TOP, "tools/board/series"), "--source"], capture_output=True, text=True, check=True).stdout.strip()
its_selftest = functools.partial(selftest, source)

# ---- Branch stacks
program = compiled("calls", [f"{TOP}/tests/system/programs/calls.c"], "-static", "-fno-pie", "-no-pie")
code = instructions(program)
share, parts = boot("one hart", PLAIN, [lambda share: (os.chmod(share, 0o755), shutil.copy(program, f"{share}/calls"))], "--harts", "1")
tap.check(parts["caps"].startswith(f"{DEPTH}\n") and "ssctr" in parts["caps"], "the kernel finds the extension", parts["caps"])
for name in ("any", "calls", "returns", "conditional", "direct", "quiet"):
    check_transfers(name, stacks_of(parts[name]))
check_transfers("cycles", stacks_of(parts["shared"], "cycles"))
check_transfers("instructions", stacks_of(parts["shared"], "instructions"))
stacks = stacks_of(parts["any"])
tap.check(max((len(stack) for _, stack in stacks), default=0) == DEPTH, "as many entries as the hart has")
# Between the target of a transfer and the source of the next (newer) one there is straight-line code.
pairs = [(older[1], newer[0], newer[2]) for _, stack in stacks for newer, older in zip(stack, stack[1:])]
straight = [pair for pair in pairs if 0 <= pair[1] - pair[0] < 4096]
tap.check(len(straight) > 0.99 * len(pairs) > 0, "each goes on where the one before went to", f"{len(straight)} of {len(pairs)}")
# The board's counters do not distinguish modes: there are samples of the kernel, too.
ended = [0 <= address - stack[0][1] < 4096 for address, stack in stacks if address in code and stack]
tap.check(len(ended) > 20 and sum(ended) > 0.95 * len(ended), "the newest is the last before the sample", f"{sum(ended)} of {len(ended)}")
# A cycle of the emulator is an instruction: count those between, with the transfer itself.
places = {address: place for place, address in enumerate(sorted(code))}
counted = [(places[end] - places[start] + 1, cycles) for start, end, cycles in straight if start in places and end in places and cycles]
exact = sum(1 for instructions_between, cycles in counted if instructions_between == cycles)
tap.check(len(counted) > 0.95 * len(straight) and exact > 0.99 * len(counted), "cycle counts are those of the code between two transfers",
          f"{exact} of {len(counted)} of {len(straight)}: {[one for one in counted if one[0] != one[1]][:5]}")
types = {"conditional": "COND", "direct": "CALL", "indirect call": "IND_CALL", "return": "RET", "jump": "UNCOND", "indirect": "IND"}
typed = [(kind_of_transfer(*code[source]), kind) for _, stack in stacks_of(parts["quiet"]) for source, _, _, kind in stack if source in code]
tap.check(typed and all(types[kind] == shown for kind, shown in typed), "types are those of the instructions", collections.Counter(typed))
kernel = [entry for _, stack in stacks_of(parts["kernel"]) for entry in stack]
tap.check(kernel and all(source >> 63 and target >> 63 for source, target, _, _ in kernel), "of the kernel alone there is nothing else", kernel[:5])
both = [entry for _, stack in stacks_of(parts["both"]) for entry in stack]
crossing = [entry for entry in both if (entry[0] ^ entry[1]) >> 63]
tap.check(any(not entry[0] >> 63 for entry in both) and any(entry[0] >> 63 for entry in both) and crossing,
          "of both modes there are both, and what goes from one to the other", (len(both), len(crossing)))
tap.check("status 0" in parts["user"] and stacks_of(parts["user"]) and
          not any((source | target) >> 63 for _, stack in stacks_of(parts["user"]) for source, target, _, _ in stack),
          "a user without privilege has branch stacks of user mode", parts["user"][:500])
tap.check("status 0" not in parts["forbidden"], "and none of the kernel", parts["forbidden"])
for name in REFUSED:
    tap.check("status" in parts[f"refused {name}"] and "status 0" not in parts[f"refused {name}"], f"refused: {name}", parts[f"refused {name}"])

# ---- What pesa makes of the recording
read_by_pesa = [[(entry["from"], entry["to"]) for entry in record.get("branches") or []] for record in only_samples(events(f"{share}/any.data"))]
read_by_perf = [[(source, target) for source, target, _, _ in stack] for _, stack in stacks]
tap.check(sum(map(len, read_by_pesa)) > 100 and sorted(stack for stack in read_by_pesa if stack) == sorted(read_by_perf),
          "pesa script has the branches that perf script has", (read_by_pesa[:1], read_by_perf[:1]))
symbols = ["--symfs", share, "-i", f"{share}/any.data"]
reported = json.loads(pesa("report", "--json", *symbols).stdout or "{}")
tap.check({"turn", "both", "main"} <= {one["symbol"] for one in reported.get("functions", [])},
          "pesa report has the program's functions", str(reported)[:1500])
blocks = json.loads(pesa("report", "--block", "--json", *symbols).stdout or "{}").get("blocks", [])
timed = [block for block in blocks if block["instructions"] and block["median"] == block["instructions"]]
tap.check(len(blocks) > 10 and len(timed) > 0.95 * len(blocks), "its timed blocks take a cycle an instruction",
          [(block["symbol"], block["instructions"], block["median"]) for block in blocks if block not in timed][:5])
compared = pesa("compare", "--json", "-mcpu=rocket-rv64", *symbols)
compared = json.loads(compared.stdout or json.dumps({"blocks": [], "why": compared.stderr}))
measured = [block for block in compared["blocks"] if abs(block["measured"] - (block["instructions"] or 0)) < 0.01]
tap.check(len(compared["blocks"]) > 5 and len(measured) > 0.95 * len(compared["blocks"]) and "classes" not in compared,
          "pesa compare sets them against a model, and names no entry of it", str(compared)[:1500])
whole = pesa("compare", "--json", "-mcpu=rocket-rv64", "--symfs", share, "-i", f"{share}/both.data")
whole = json.loads(whole.stdout or json.dumps({"blocks": [], "why": whole.stderr}))
tap.check({"turn", "both"} <= {block["symbol"] for block in whole["blocks"]} and whole["timed"]["no_text"] > 0,
          "also of perf record -e cycles:ppp -b, whose transfers of the kernel have no code here", str(whole)[:1500])
annotated = pesa("annotate", "--stdio", *symbols, "both")
tap.check(annotated.returncode == 0 and "both" in annotated.stdout, "pesa annotate shows one", annotated.stdout[:800] + annotated.stderr[-500:])
exported, problems = folded(share, "any")
tap.check({"turn", "both", "main"} <= {chain[-1] for chain, _ in exported if chain}, "pesa export has them", (exported[:5], problems))
shutil.rmtree(share)

# ---- Call stacks
share, parts = boot("two harts", STACKS, [lambda share: guest_program("stacks", share, "-fno-optimize-sibling-calls")])
for name, root in (("chains", "main"), ("moves", "main"), ("tasks", None), ("forks", None), ("all", "main")):
    chains, problems = folded(share, name)
    work = [one for one in chains if one[0] and one[0][-1] in CALLERS]
    if not tap.check("status 0" in parts[name] and len(work) > 1, f"{name}: there are chains", (chains[:5], problems, parts[name])):
        continue
    tap.check(share_of(work, is_legal) > 0.99, f"{name}: they are those of the source", [one for one in work if not is_legal(one[0])][:5])
    if root:
        tap.check(share_of(work, lambda chain: "main" in chain) > 0.98, f"{name}: from main on", [one for one in work if "main" not in one[0]][:5])
    else:
        tap.check(not any({"left", "left_a"} & set(chain) and {"right", "right_a"} & set(chain) for chain, _ in chains),
                  f"{name}: no task has calls of the other", chains[:5])
        # The callers of left() and right() have returned from nothing since the task last ran.
        callers = {"start_left", "start_right"} if name == "tasks" else {"main"}
        tap.check(share_of(work, lambda chain: callers & set(chain)) > 0.98, f"{name}: nor lost its own",
                  [one for one in work if not callers & set(one[0])][:5])
tap.check(re.search(r"\d\d+ cycles", parts["turns"]) and re.search(r"\d\d+ instructions", parts["turns"]),
          "events with call stacks and with branches take turns", parts["turns"])
shutil.rmtree(share)

# ---- Harts without it
share, parts = boot("without call stacks", REFUSAL, [its_selftest], "--property", "pesa-ctr-rasemu=off")
tap.check("status 0" not in parts["lbr"] and "status" in parts["lbr"], "without RASEMU call stacks are refused", parts["lbr"])
tap.check(re.search(r"pass:[1-9]\d* fail:0 .*skip:3 error:0", parts["selftest"]), "the selftest passes, and skips only samples of cycles",
          parts["selftest"][-1500:])
shutil.rmtree(share)
share, parts = boot("without Ssctr", REFUSAL, [its_selftest], "--property", "pesa-ctr-depth=0", "--property", "pesa-sspesa=off")
tap.check(re.search(r"pass:[1-9]\d* fail:0 .*skip:[1-9]\d* error:0", parts["selftest"]), "without both, the selftest finds them refused",
          parts["selftest"][-1500:])
shutil.rmtree(share)
tap.end()
