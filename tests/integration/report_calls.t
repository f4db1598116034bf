#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""report by thread, CPU, time and control group, with children, callers and callees: perf report and sums over the exported
stacks are the oracles."""
import json
import os
import random
import re
import shutil
import subprocess
import tempfile

from tap import BUILD, PESA, CROSS, bail_out, check, end, plain_environment, skip

BASE, USER, PERIOD = 0x400000, 0xfffffffffffffe00, 1000
FUNCTIONS = 8
work = tempfile.mkdtemp(prefix="pesa-calls-")
os.chdir(work)
plain = plain_environment(work)


def run(*words, **named):
    return subprocess.run(words, capture_output=True, text=True, check=False, env=plain, **named)


def document(*words):
    found = run(PESA, "report", "--json", *words)
    if found.returncode:
        bail_out("pesa report", *words, found.stderr)
    return json.loads(found.stdout)


def close(a, b):
    return abs(a - b) <= 1e-9 * max(1, abs(a), abs(b))


# ---- A recording with random chains, in which functions recur, of three threads of two processes on three CPUs ----------
with open("called.s", "w", encoding="ascii") as file:
    file.write(".text\n" + "".join(f".globl f{i}\n.type f{i}, @function\nf{i}: nop\nnop\nnop\nret\n.size f{i}, . - f{i}\n"
                                   for i in range(FUNCTIONS)))
built = run(CROSS + "gcc", "-march=rv64g", "-mabi=lp64d", "-nostdlib", "-static", "-Wl,--build-id", "-Wl,-e,f0",
            f"-Wl,-Ttext={BASE:#x}", "-Wl,--no-relax", "-o", "called", "called.s")
if built.returncode:
    bail_out(built.stderr)
address = {word[2]: int(word[0], 16) for word in (line.split() for line in run(CROSS + "nm", "called").stdout.splitlines())}
segment = re.search(r"LOAD +0x([0-9a-f]+) +0x0*([0-9a-f]+) [^\n]*R E", run(CROSS + "readelf", "-lW", "called").stdout)
random.seed(7)
TASKS = [(7, 7, "first", 0), (7, 8, "second", 1), (9, 9, "third", 4)]
GROUPS = {7: (100, "/system.slice/ssh.service"), 8: (101, "/system.slice/ssh.service/deeper"), 9: (102, "/user.slice")}
lines = ["command ./called", f"period {PERIOD}", "plain", "chains", "cgroups", "comm 7 7 first", "comm 9 9 third", "comm 7 8 second"]
lines += [f"map {pid} {BASE:#x} 0x1000 {int(segment[1], 16) + BASE - int(segment[2], 16):#x} {work}/called" for pid in (7, 9)]
samples = []
for number in range(300):
    pid, tid, comm, cpu = TASKS[number % 2 if number < 200 else random.randrange(3)]
    chain = [random.randrange(FUNCTIONS if number % 3 else 3) for _ in range(random.randrange(1, 9))]
    count = random.randrange(1, 4)
    places = [address[f"f{one}"] + (8 if depth else 4) for depth, one in enumerate(chain)]
    lines += [f"cpu {cpu}", f"cgroup {GROUPS[tid][0]} {GROUPS[tid][1]}", f"chain {USER:#x} " + " ".join(f"{one:#x}" for one in places),
              f"ip {count} {pid} {tid} {places[0]:#x}"]
    samples.append((count * PERIOD, [f"f{one}" for one in chain], (pid, tid, comm, cpu, GROUPS[tid][1])))
made = subprocess.run([os.path.join(BUILD, "tests/tools/make_profile"), "random.data"], input="\n".join(lines) + "\n", text=True,
                      check=False, capture_output=True)
if made.returncode:
    bail_out("make_profile:", made.stderr)
TOTAL = sum(cycles for cycles, _, _ in samples)


def expected(key, inclusive):
    """Cycles by key(function, task): own, or of every key of the chain, once."""
    sums = {}
    for cycles, chain, task in samples:
        for one in {key(function, task) for function in (chain if inclusive else chain[:1])}:
            sums[one] = sums.get(one, 0) + cycles
    return sums


def perf(*words):
    """perf report's rows: [percentages], [cells]."""
    found = run("perf", "report", "-i", "random.data", "--stdio", "-g", "none", "-t", "|", "--percent-limit", "0", *words)
    rows = [[cell.strip() for cell in line.split("|")] for line in found.stdout.splitlines() if "|" in line and not line.startswith("#")]
    return [([float(cell[:-1]) for cell in row if re.fullmatch(r"[\d.]+%", cell)],
             [cell for cell in row if not re.fullmatch(r"[\d.]+%", cell)]) for row in rows]


report = document("-i", "random.data", "--children", "--sort", "sym")
own = {one["symbol"]: one["cycles"] for one in report["groups"] if one["cycles"]}
inclusive = {one["symbol"]: one["children_cycles"] for one in report["groups"]}
check(own == expected(lambda function, task: function, False), "own cycles are those of the innermost function", own)
check(inclusive == expected(lambda function, task: function, True), "inclusive cycles count a recursive function once", inclusive)
check(sum(own.values()) == TOTAL == report["cycles"], "own cycles add up to all", (sum(own.values()), TOTAL))
check([one["children_cycles"] for one in report["groups"]] == sorted(inclusive.values(), reverse=True),
      "rows are sorted by inclusive cycles")
found = {re.sub(r"^\[.\] ", "", cells[-1]): percents for percents, cells in perf("--children", "--sort", "sym")}
check(found and all(abs(found[name][0] - 100 * inclusive[name] / TOTAL) < 0.011 and
                    abs(found[name][1] - 100 * own.get(name, 0) / TOTAL) < 0.011 for name in inclusive) and len(found) == len(inclusive),
      "Children and Self are perf's", found)

# ---- Keys -------------------------------------------------------------------------------------------------------------
KEYS = {"pid": lambda task: task[0], "tid": lambda task: task[1], "comm": lambda task: task[2], "cpu": lambda task: task[3],
        "cgroup": lambda task: task[4]}
for keys in ("comm", "pid", "tid", "cpu", "cgroup", "comm,sym", "cpu,pid,tid,comm", "cgroup,sym"):
    wanted = keys.split(",")
    report = document("-i", "random.data", "--sort", keys)
    found = {tuple(one["symbol" if name == "sym" else name] for name in wanted): one["cycles"] for one in report["groups"]}
    truth = expected(lambda function, task: tuple(KEYS[name](task) if name in KEYS else function for name in wanted), False)
    check(found == truth and len(report["groups"]) == len(truth) and set(report["sort"].split(",")) == set(wanted) and
          not report["not_recorded"], f"--sort {keys}", (found, truth, report["not_recorded"]))
for keys, column in (("comm", -1), ("cgroup", -1), ("cpu", -1)):
    truth = {str(one[0][0]): 100 * cycles / TOTAL
             for one, cycles in expected(lambda function, task: ((KEYS[keys](task),),), False).items()}
    found = {cells[column].lstrip("0") or "0": percents[0] for percents, cells in perf("--no-children", "--sort", keys)}
    check(found and all(abs(found.get(name, 0) - share) < 0.011 for name, share in truth.items()), f"perf report --sort {keys} is the same",
          (found, truth))
text = run(PESA, "report", "--stdio", "-i", "random.data", "--sort", "comm,tid,cpu,sym", "--children").stdout
check(re.search(r"Children +Self +(Counted|Cycles) +Command +Thread +CPU +Function", text), "text has a column for each key", text)

# ---- Callers and callees ---------------------------------------------------------------------------------------------


def tree(kind, name):
    """{path: cycles} below a function."""
    report = document("-i", "random.data", f"--{kind}", name)
    paths = {}

    def walk(one, path):
        path += (one["symbol"],)
        paths[path] = one["cycles"], one["own_cycles"]
        below = one["callers" if kind == "callee" else "callees"]
        for child in below:
            walk(child, path)
        if kind == "caller" and not close(one["cycles"], one["own_cycles"] + sum(child["cycles"] for child in below)):
            paths[path + ("sum",)] = None
    for one in report["call_trees"]:
        walk(one, ())
    return paths


def folded(kind, name):
    paths = {}
    for cycles, chain, _ in samples:
        if name not in chain:
            continue
        path = [name]
        if kind == "callee":  # from the innermost one outwards
            for one in chain[chain.index(name) + 1:]:
                if one not in path:
                    path.append(one)
        else:  # from the outermost one inwards
            outer = chain[::-1]
            for one in outer[outer.index(name) + 1:]:
                path = path[:path.index(one) + 1] if one in path else path + [one]
        for length in range(1, len(path) + 1):
            whole, mine = paths.get(tuple(path[:length]), (0, 0))
            innermost = chain[0] == name if kind == "callee" else length == len(path)
            paths[tuple(path[:length])] = whole + cycles, mine + cycles * innermost
    return paths


for kind, what in (("callee", "its callers"), ("caller", "what it called")):
    for name in ("f0", "f5"):
        found, truth = tree(kind, name), folded(kind, name)
        check(found == truth, f"--{kind} {name}: {what}, with recursion folded; weights are conserved",
              {path: (found.get(path), truth.get(path)) for path in set(found) | set(truth) if found.get(path) != truth.get(path)})
report = document("-i", "random.data", "--sort", "sym", "-g")
truth = {}
for cycles, chain, _ in samples:
    others = [one for one in chain if one != chain[0]]
    if others:
        truth[chain[0], others[0]] = truth.get((chain[0], others[0]), 0) + cycles
found = {(one["symbol"], caller["symbol"]): caller["cycles"] for one in report["groups"] for caller in one["callers"]}
check({pair: cycles for pair, cycles in truth.items() if cycles >= 0.005 * TOTAL} == found,
      "-g: below a function those that called it, by its own cycles, if they have half a percent", found)
report = document("-i", "random.data", "-G", "--sort", "sym,tid")
found = {(one["symbol"], one["tid"]): sum(below["cycles"] for below in one["callees"]) for one in report["groups"]}
check(all(found[one["symbol"], one["tid"]] <= one["children_cycles"] for one in report["groups"]) and any(found.values()),
      "-G: below a function what it called in the thread of the row", found)
refused = run(PESA, "report", "-i", "random.data", "--callee", "f9x")
check(refused.returncode == 1 and "no function 'f9x'" in refused.stderr and refused.stderr.count("\n") == 1,
      "a function that is not there is named", refused.stderr)
for words, reason in ((["-G", "--no-children"], "needs --children"), (["--children", "--sort", "insn"], "insn"),
                      (["-g", "--sort", "comm"], "add the key sym"), (["--caller", "f0", "--callee", "f1"], "two"),
                      (["--sort", "color"], "cgroup and time"), (["--slices", "1"], "2 to"), (["--by", "moon"], "symbol, line"),
                      (["--time", "5,4"], "START,STOP"), (["--time", "50%-40%"], "10%-20%"), (["--time", "10%/11"], "10%/2"),
                      (["-C", "3-1"], "ranges"), (["-g", "flat"], "callee, caller")):
    refused = run(PESA, "report", "-i", "random.data", "--stdio", *words)
    check(refused.returncode == 2 and reason in refused.stderr and refused.stderr.count("\n") == 1, f"{' '.join(words)} is refused",
          refused.stderr)

# ---- Time, CPUs, control groups ---------------------------------------------------------------------------------------
report = document("-i", "random.data", "--by", "time", "--slices", "7")
slices = [(one["time"], one["time_end"]) for one in report["groups"]]
check(slices == sorted(slices) and 4 <= len(set(slices)) <= 7 and sum(one["cycles"] for one in report["groups"]) == TOTAL,
      "--by time: slices in order; their cycles add up", slices)
wrong = []
for begin, stop in sorted(set(slices)):
    part = document("-i", "random.data", "--sort", "tid,cpu", "--time", f"{begin / 1e9:.9f},{(stop - 1) / 1e9:.9f}")
    inside = {(one["tid"], one["cpu"]): one["cycles"] for one in report["groups"] if one["time"] == begin}
    if {(one["tid"], one["cpu"]): one["cycles"] for one in part["groups"]} != inside:
        wrong.append((begin, part["groups"], inside))
check(not wrong, "--time of a slice has what --by time says, by thread and CPU", wrong)
parts = [document("-i", "random.data", "--time", part)["cycles"] for part in ("0%-30%", "30%-60%", "60%-100%")]
check(sum(parts) == TOTAL and min(parts) > 0, "parts of the time add up", parts)
check(document("-i", "random.data", "--time", "30%/2")["cycles"] == parts[1], "30%/2 is the second of such parts")
check(document("-i", "random.data", "--time", "0%-30%,60%-100%")["cycles"] == parts[0] + parts[2], "several parts")
check(document("-i", "random.data", "-C", "0-1,5")["cycles"] == sum(cycles for cycles, _, task in samples if task[3] < 2), "-C chooses CPUs")
for words, wanted in ((["--unit", "ssh"], (7, 8)), (["--unit", "ssh.service", "--cgroup", "system.slice"], (7, 8)),
                      (["--cgroup", "/system.slice/ssh.service/deeper"], (8,)), (["--cgroup", "/user.slice/"], (9,)), (["--cgroup", "/"], (7, 8, 9))):
    report = document("-i", "random.data", *words)
    check(report["cycles"] == sum(cycles for cycles, _, task in samples if task[1] in wanted), f"{' '.join(words)}", report["cycles"])
refused = run(PESA, "report", "-i", "random.data", "--unit", "sh", "--stdio")
check(refused.returncode == 1 and "no samples of those that are wanted" in refused.stderr, "part of a unit's name is no unit", refused.stderr)

os.mkdir("store")
shutil.copy("random.data", "store/pesa-20261121T194310.000Z.data")
report = document("-i", "store", "--unit", "ssh", "--sort", "cgroup")
truth = {group: cycles for group, cycles in expected(lambda function, task: task[4], False).items() if "ssh" in group}
check({one["cgroup"]: one["cycles"] for one in report["groups"]} == truth, "--unit of a store of pesad", report["groups"])

# Control groups of this machine, one of which is older than the recording: perf names the same.
os.mkdir("groups")
mounted = run("mount", "-t", "cgroup2", "none", "groups")
if mounted.returncode:
    skip("pesa record --all-cgroups", "no privilege to mount the control groups")
else:
    SPIN = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done"
    group = f"pesa-{os.getpid()}"
    os.mkdir(f"groups/{group}")
    done = run(PESA, "record", "-q", "--all-cgroups", "-e", "cpu-clock", "-o", "groups.data", "--", "sh", "-c",
               f"home=$(grep ^0:: /proc/self/cgroup | cut -d: -f3); {SPIN}; echo $$ > groups/{group}/cgroup.procs && {SPIN}; {SPIN}; "
               "echo $$ > groups$home/cgroup.procs")
    os.rmdir(f"groups/{group}")
    run("umount", "groups")
    if done.returncode or "Permission" in done.stderr or "permission" in done.stderr:
        skip("pesa record --all-cgroups", "no privilege for perf events or control groups")
    else:
        report = document("-i", "groups.data", "--sort", "cgroup")
        found = {one["cgroup"]: 100 * one["share"] for one in report["groups"]}
        output = run("perf", "report", "-i", "groups.data", "--stdio", "--no-children", "-t", "|", "--sort", "cgroup").stdout
        theirs = {cells[-1].strip(): float(cells[0].strip()[:-1]) for cells in
                  (line.split("|") for line in output.splitlines() if "|" in line and not line.startswith("#"))}
        check(set(found) == set(theirs) and all(abs(found[name] - share) < 0.011 for name, share in theirs.items()) and
              f"/{group}" in found, "pesa record --all-cgroups: groups are those that perf reads", (found, theirs))

# ---- What is not recorded -------------------------------------------------------------------------------------------
bare = [line for line in lines if not line.startswith(("chain", "cgroup", "comm"))]
bare.insert(1, "no-cpu")
subprocess.run([os.path.join(BUILD, "tests/tools/make_profile"), "bare.data"], input="\n".join(bare) + "\n", text=True, check=True)
report = document("-i", "bare.data", "--sort", "comm,cpu,cgroup", "--children")
check([(one["comm"], one["cpu"], one["cgroup"]) for one in report["groups"]] == [(None, None, None)] and
      set(report["not_recorded"].split(",")) == {"comm", "cpu", "cgroup"} and report["call_chains"] is False,
      "--json says what is not recorded", report["groups"])
text = run(PESA, "report", "--stdio", "-i", "bare.data", "--sort", "comm,cpu,cgroup", "--children").stdout
check(text.count("[not recorded]") == 3 and text.count("the recording lacks") == 4, "text says so, and how it is recorded", text)
for words, reason in ((["-C", "1"], "--sample-cpu"), (["--unit", "ssh"], "--all-cgroups")):
    refused = run(PESA, "report", "-i", "bare.data", *words)
    check(refused.returncode == 1 and reason in refused.stderr, f"{words[0]} of what is not recorded is an error", refused.stderr)

# ---- The virtual core: inclusive cycles of retiring groups are sums over the stacks that export writes ----------------
with open("guest.c", "w", encoding="ascii") as file:
    file.write("""
#include <pthread.h>
static volatile long sink;
#define OUT __attribute__((noipa))
OUT long leaf(long n) { for (long i = 0; i < n; i++) sink += i; return n; }
OUT long ping(long n);
OUT long pong(long n) { leaf(200); return (n ? ping(n - 1) : 0) + sink; }
OUT long ping(long n) { leaf(100); return (n ? pong(n - 1) : 0) + sink; }
static void *other(void *unused) { for (int i = 0; i < 30; i++) leaf(700); return unused; }
int main(void) { pthread_t t; pthread_create(&t, 0, other, 0); for (int i = 0; i < 12; i++) { ping(9); leaf(300); } return pthread_join(t, 0); }
""")
built = run(CROSS + "gcc", "-O1", "-g", "-static", "-pthread", "-o", "guest", "guest.c")
if built.returncode:
    bail_out(built.stderr)
done = run(PESA, "record", "-q", "-g", "-c", "499", "-o", "guest.data", "--", "./guest")
if done.returncode:
    bail_out(done.stderr)
sums, stacks = {}, run(PESA, "export", "--format", "folded", "-i", "guest.data").stdout
for line in stacks.splitlines():
    chain, _, cycles = line.rpartition(" ")
    for name in set(chain.split(";")[1:]):
        sums[name] = sums.get(name, 0) + int(cycles)
report = document("-i", "guest.data", "--children", "--sort", "sym")
found = {one["symbol"]: one["children_cycles"] for one in report["groups"]}
# Whole cycles in the export; what is inlined has frames of its own there.
wrong = {name: (cycles, sums.get(name)) for name, cycles in found.items() if abs(cycles - sums.get(name, 0)) > 1 + stacks.count("\n")}
check(not wrong and found["main"] > 0.3 * report["cycles"], "inclusive cycles are sums over exported stacks", wrong)
check(close(sum(one["cycles"] for one in report["groups"]) + sum(report["unattributed"].values()), report["cycles"]),
      "own and unattributed cycles add up to all")
by_thread = document("-i", "guest.data", "--sort", "tid,sym")
plain_report = {one["symbol"]: (one["cycles"], one["executions"]) for one in document("-i", "guest.data", "--sort", "sym")["functions"]}
found = {}
for one in by_thread["groups"]:
    cycles, executions = found.get(one["symbol"], (0, 0))
    found[one["symbol"]] = cycles + one["cycles"], executions + (one["executions"] or 0)
check(all(close(found[name][0], cycles) and (executions is None or found[name][1] == executions)
          for name, (cycles, executions) in plain_report.items()), "cycles and executions of threads add up to those of all", found)

os.chdir("/")
shutil.rmtree(work)
end()
