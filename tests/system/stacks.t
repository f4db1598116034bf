#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Call stacks that the hart keeps (Ssctr with RASEMU): against frame pointers of the same samples, and against the chains that
the source of a program allows; each task has its own, on whichever hart; what is deeper than the hart is counted."""
import bisect
import json
import os
import re
import subprocess
import tempfile

from board import CROSS, FAULTS, PESA, board, core_with_transfers, guest_program, pesa_of_board, read, script_parts, tap

DEPTH, DEEP = 16, 40
# The functions that call each function.
CALLERS = {"work": {"left_b", "right_b", "down"}, "left_b": {"left_a"}, "left_a": {"main", "left"}, "right_b": {"right_a"},
           "right_a": {"main", "right"}, "left": {"start_left", "main"}, "right": {"start_right", "main"}, "down": {"down", "main"}}
RUNS = {"chains": "chains 2500", "moves": "moves 2500", "deep": f"deep 400 {DEEP}", "tasks": "tasks 1200", "forks": "forks 1200"}
RECORD = "/pesa/bin/pesa record -q -g lbr -e pesa/cycles/u -c 5000"
SCRIPT = "\n".join([
    "echo == caps; cat /sys/bus/event_source/devices/pesa/caps/call_stacks",
    "echo == perf; perf record -q -N --call-graph lbr -e pesa/cycles/u -c 5000 -o /tmp/perf ./stacks chains 4000 > /dev/null; "
    "perf script -i /tmp/perf -D 2> /dev/null | grep -A60 'PERF_RECORD_SAMPLE(' | grep -E 'RECORD_SAMPLE|: nr:|^\\.+ +[0-9]+: [0-9a-f]{16}$'",
    *[f"echo == {name}; {RECORD} -o /share/{name}.data -- ./stacks {words}; echo $?" for name, words in RUNS.items()],
    f"echo == all; /pesa/bin/pesa record -q -a -g lbr -e pesa/cycles/u -c 5000 -o /share/all.data -- ./stacks chains 500; echo $?",
    "echo == kernel; perf record -q -N -j stack,u,k -e pesa/cycles/ -c 5000 -o /tmp/kernel true > /dev/null 2>&1; echo $?",
    "echo == filter; perf record -q -N -j stack,any,u -e pesa/cycles/u -c 5000 -o /tmp/filter true > /dev/null 2>&1; echo $?",
])
REFUSED = "echo == caps; cat /sys/bus/event_source/devices/pesa/caps/call_stacks; echo == refused; /pesa/bin/pesa record -g lbr -- ./stacks chains 1 2>&1; echo $?"


def pesa(*words):
    return subprocess.run([PESA, *words], capture_output=True, text=True, check=False, errors="replace")


def folded(share, name):
    """The chains of a recording, callers first, with their weight."""
    done = pesa("export", "--format", "folded", "--symfs", share, "-i", f"{share}/{name}.data", "-o", "-")
    chains = []
    for line in done.stdout.splitlines():
        stack, _, weight = line.rpartition(" ")
        # Without the command's name, and what else is no function.
        chains.append(([frame for frame in stack.split(";")[1:]], int(float(weight))))
    return chains, done.stderr


def is_legal(chain):
    """Whether each function of the program is called by one that calls it."""
    return all(not (callee in CALLERS and i) or chain[i - 1] in CALLERS[callee] for i, callee in enumerate(chain))


def share_of(chains, holds):
    whole = sum(weight for _, weight in chains)
    return sum(weight for chain, weight in chains if holds(chain)) / whole if whole else 0


def of_program(chains):
    """The chains that end in a function of the program's work."""
    return [(chain, weight) for chain, weight in chains if chain and chain[-1] in ("work", "left_b", "right_b", "left_a", "right_a", "down")]


class Symbols:
    def __init__(self, program):
        shown = subprocess.run([f"{CROSS}nm", "-n", "--defined-only", program], capture_output=True, text=True, check=True).stdout
        pairs = [(int(address, 16), name) for address, kind, name in (line.split() for line in shown.splitlines()) if kind in "tT"]
        self.starts, self.names = [address for address, _ in pairs], [name for _, name in pairs]

    def __call__(self, address):
        place = bisect.bisect_right(self.starts, address) - 1
        return self.names[place] if place >= 0 else "?"


def is_subsequence(part, whole):
    rest = iter(whole)
    return all(any(name == other for other in rest) for name in part)


with tempfile.TemporaryDirectory(prefix="pesa-stacks-") as share:
    guest_program("stacks", share, "-fno-optimize-sibling-calls")
    os.symlink(".", f"{share}/share")
    os.chmod(share, 0o777)
    core, built = core_with_transfers(share, DEPTH), pesa_of_board()
    done = board("--core", core, "--share", share, "--also", f"pesa={built}", "--console", f"{share}/console", "--",
                 "sh", "-c", SCRIPT, limit=900)
    console, parts, symbol = read(f"{share}/console"), script_parts(done.stdout), Symbols(f"{share}/stacks")
    why = f"status {done.returncode}\n{done.stdout[-1500:]}\n{done.stderr[-1500:]}\n{console[-1500:]}"
    tap.check(parts.get("caps", "").strip() == "1", "the driver offers call stacks", why)

    # ---- Against frame pointers, in the same samples of stock perf
    samples = [dict((kind, [symbol(int(address, 16)) for address in re.findall(r"^\.+ +\d+: ([0-9a-f]+)$", text, re.M) if address[0] != "f"])
                    for kind, text in re.findall(r"(LBR call|FP) chain: nr:\d+\n((?:\.+ +\d+: .*\n?)*)", part))
               for part in re.split(r"^.*PERF_RECORD_SAMPLE.*$", parts.get("perf", ""), flags=re.M)[1:]]
    both = [(sample["FP"], sample["LBR call"]) for sample in samples if {"FP", "LBR call"} <= set(sample) and "main" in sample["FP"][1:]]
    agree = [one for one in both if is_subsequence(one[0][1:one[0].index("main") + 1], one[1])]
    tap.check(len(both) > 40, "stock perf records both chains", f"{len(both)} of {len(samples)}: {samples[-3:]} {why}")
    # Frame pointers are those of the interrupted instruction, some instructions behind the sample.
    tap.check(len(agree) > 0.8 * len(both), "callers by frame pointers are in the hart's stack",
              f"{len(agree)} of {len(both)}: {[one for one in both if one not in agree][:4]}")

    # ---- Against the source
    for name, root in (("chains", "main"), ("moves", "main"), ("tasks", None), ("forks", None)):
        chains, problems = folded(share, name)
        work = of_program(chains)
        if not tap.check(len(work) > 1 and sum(weight for _, weight in work) > 100000, f"{name}: there are chains",
                         f"{chains[:5]} {problems} {why}"):
            continue
        legal = share_of(work, is_legal)
        tap.check(legal > 0.99, f"{name}: they are those of the source", f"{legal}: {[one for one in work if not is_legal(one[0])][:5]}")
        if root:
            rooted = share_of(work, lambda chain: "main" in chain)
            tap.check(rooted > 0.99, f"{name}: from main on", f"{rooted}: {[one for one in work if 'main' not in one[0]][:5]}")
        else:
            mixed = share_of(chains, lambda chain: {"left", "left_a"} & set(chain) and {"right", "right_a"} & set(chain))
            tap.check(mixed == 0, f"{name}: no task has calls of the other", f"{mixed}")
            started = share_of(work, lambda chain: {"left", "right"} & set(chain))
            tap.check(started > 0.99, f"{name}: nor lost its own", f"{started}: {[one for one in work if not {'left', 'right'} & set(one[0])][:5]}")

    # ---- Deeper than the hart
    shown = json.loads(pesa("report", "--json", "--children", "--symfs", share, "-i", f"{share}/deep.data").stdout or "{}")
    tap.check(shown.get("call_stacks", 0) == shown.get("samples", -1) and shown.get("cut_call_stacks", 0) > 0.5 * shown.get("samples", 0),
              "deeper chains are counted", {key: shown.get(key) for key in ("samples", "call_stacks", "cut_call_stacks")})
    text = pesa("report", "--stdio", "--children", "--symfs", share, "-i", f"{share}/deep.data").stdout
    tap.check(re.search(rf"\d+ of \d+ call chains are cut: the hardware keeps {DEPTH} calls", text), "and said", text[:500])
    chains = [chain for chain, _ in folded(share, "deep")[0] if chain and chain[-1] == "work"]
    tap.check(chains and max(len(chain) for chain in chains) <= DEPTH + 1 and all(set(chain[:-1]) <= {"down", "main"} or "main" in chain for chain in chains),
              "they have as many calls as the hart keeps", [len(chain) for chain in chains])
    shown = json.loads(pesa("report", "--json", "--children", "--symfs", share, "-i", f"{share}/chains.data").stdout or "{}")
    tap.check(shown.get("call_stacks", 0) > 0 and shown.get("cut_call_stacks", 1) <= 0.1 * shown.get("samples", 0),
              "those that are not deep are whole", {key: shown.get(key) for key in ("samples", "call_stacks", "cut_call_stacks")})
    work = of_program(folded(share, "all")[0])
    tap.check(work and share_of(work, is_legal) > 0.99, "of whole CPUs: chains of the source", work[:5])
    tap.check(parts.get("kernel", "0").strip() != "0" and parts.get("filter", "0").strip() != "0", "with the kernel or a filter they are refused",
              f"{parts.get('kernel')} {parts.get('filter')}")
    tap.check(not FAULTS.search(console), "the kernel complains of nothing", console)

    # ---- Harts that have none
    done = board("--core", core, "--share", share, "--also", f"pesa={built}", "--property", "pesa-ctr-rasemu=off", "--", "sh", "-c", REFUSED)
    parts = script_parts(done.stdout)
    lines = parts.get("refused", "").strip().splitlines()
    tap.check(parts.get("caps", "").strip() == "0" and len(lines) == 2 and "RASEMU" in lines[0] and "-g fp" in lines[0] and lines[1] != "0",
              "without RASEMU pesa record refuses, with one line", f"{done.stdout} {done.stderr[-500:]}")
tap.end()
