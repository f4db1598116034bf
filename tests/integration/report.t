#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""report, annotate, script and error on recordings with known samples."""
import json
import os
import platform
import pty
import re
import shutil
import subprocess
import tempfile

from tap import TOP, BUILD, PESA, CROSS, bail_out, check, end

MAKE = os.path.join(BUILD, "tests/tools/make_profile")
CYCLE = 360360


def run(*command, stdin=None, env=None):
    environment = dict(os.environ, **(env or {}))
    result = subprocess.run(command, capture_output=True, input=stdin, env=environment)
    result.out = result.stdout.decode("utf-8", "replace")
    result.err = result.stderr.decode("utf-8", "replace")
    return result


def tool(name, *arguments):
    return subprocess.run([CROSS + name, *arguments], capture_output=True, text=True, check=True).stdout


def pesa(*arguments, **named):
    return run(PESA, *arguments, **named)


def document(*arguments, **named):
    result = pesa(*arguments, "--json", **named)
    try:
        result.json = json.loads(result.stdout)
    except ValueError as error:
        result.json = None
        result.err += f"\nno JSON: {error}"
    return result


def make(name, lines):
    made = run(MAKE, name, stdin="\n".join(lines).encode())
    if made.returncode:
        bail_out("make_profile:", made.err)
    return name


def close(a, b):
    return abs(a - b) <= 1e-9 * max(1.0, abs(a), abs(b))


def stack_sum(stack):
    return sum(cycles for causes in stack.values() for cycles in causes.values())


def broken_sums(report):
    """The invariants of Documentation/json.md that do not hold."""
    wrong = []
    total = report["cycles"]
    unattributed = sum(report["unattributed"].values())
    functions = sum(one["cycles"] for one in report["functions"])
    if not close(functions + unattributed, total):
        wrong.append(f"functions {functions} + unattributed {unattributed} != cycles {total}")
    if not close(stack_sum(report["stack"]) + unattributed, total):
        wrong.append("stack of the whole + unattributed != cycles")
    for kind in ("functions", "dsos", "lines", "instructions"):
        for one in report.get(kind, []):
            if not close(stack_sum(one["stack"]), one["cycles"]):
                wrong.append(f"{kind}: stack of {one} does not sum to its cycles")
            if total and not close(one["share"], one["cycles"] / total):
                wrong.append(f"{kind}: share of {one}")
        if kind in report and kind != "functions" and report["command"] == "report":
            whole = sum(one["cycles"] for one in report[kind])
            if not close(whole + unattributed, total):
                wrong.append(f"{kind} {whole} + unattributed {unattributed} != cycles {total}")
    return wrong


work = tempfile.mkdtemp(prefix="pesa-report-")
os.chdir(work)
for variable in ("NO_COLOR", "DEBUGINFOD_URLS", "PAGER", "PESA_PAGER", "COLUMNS"):
    os.environ.pop(variable, None)
os.environ["LC_ALL"] = "C.UTF-8"
SOURCES = os.path.join(TOP, "tests/data/symbols")
tool("gcc", "-g", "-O2", "-o", "inlined", os.path.join(SOURCES, "inlined.c"))
tool("g++", "-g", "-O2", "-o", "templates", os.path.join(SOURCES, "templates.cc"))
symbols = {name: int(address, 16) for address, name in
           re.findall(r"^([0-9a-f]+) \w (\S+)$", tool("nm", "inlined"), re.M)}
listing = [(int(address, 16), text) for address, text in
           re.findall(r"^ +([0-9a-f]+):\t(.*)$", tool("objdump", "-d", "--no-show-raw-insn", "-j", ".text",
                                                     "inlined"), re.M)]
addresses = [address for address, _ in listing]
BASE = 0x400000
first = symbols["outermost"]
at = addresses.index(first)
entry = addresses[at:at + 12]     # the first instructions of outermost


def stop_of(name):
    sizes = dict((row[3], int(row[1], 16)) for row in
                 (line.split() for line in tool("nm", "-S", "inlined").splitlines()) if len(row) == 4)
    return symbols[name] + sizes[name]


HEAD = ["command ./inlined with arguments", "period 1000", "capability core test-core",
        "capability cause_names 0:I$miss,1:ITLBmiss,2:mispredict,3:D$miss,4:DTLBmiss,5:alloc-blocked",
        "comm 7 7 inlined", f"map 7 {BASE:#x} 0x1000 0 {work}/inlined"]


def sample(count, address, state=0, instret=1, cause=0, lost=0, pid=7, data=0):
    offset = 1 if cause else 0
    return f"sample {count} {pid} {pid} {BASE + address:#x} {state} {instret} 0 0 0 0 0 {offset} {cause} {data} {lost}"


# ---- The figures ------------------------------------------------------------------------------

main = symbols["main"]
KNOWN = HEAD + [
    sample(300, entry[0], instret=2),        # the first two instructions, half of the cycle each
    sample(200, entry[6], 1, 0, 8),          # stalled, D$miss
    sample(90, entry[6], 1, 0, 8 | 16),      # stalled, D$miss and DTLB miss
    sample(60, entry[7], 2, 0, 4),           # flushed, mispredict
    sample(40, main, 3, 0, 32, lost=2),      # drained, implementation-defined cause; 2 lost each
    "sample 10 7 7 0x99000 0 2 0 0 0 0 0 0 0",  # in no mapping
    "lost 5",
]
make("known.data", KNOWN)
r = document("report", "-i", "known.data")
report = r.json
check(r.returncode == 0 and report and not r.err, "report --json of a good recording succeeds quietly", r.err)
check(report["samples"] == 700 and report["lost"] == 85, "samples and lost samples are counted",
      (report["samples"], report["lost"]))
check(report["cycles"] == 700000 and report["unattributed"]["unmapped"] == 5000 and
      sum(report["unattributed"].values()) == 5000, "cycles stand for the period; unattributed has a reason",
      (report["cycles"], report["unattributed"]))
by_name = {one["symbol"]: one for one in report["functions"]}
check(set(by_name) == {"outermost", "main", "[unknown]"} and by_name["[unknown]"]["cycles"] == 5000, "functions are those that were sampled", set(by_name))
chosen = document("report", "-i", "known.data", "-S", "main", "-d", "inlined").json["functions"]
check(chosen == [by_name["main"]] and pesa("report", "-i", "known.data", "-S", "main").returncode == 0, "-S and -d choose rows", chosen)
outermost = by_name["outermost"]
check(outermost["cycles"] == 650000 and by_name["main"]["cycles"] == 40000,
      "a function has the cycles of its instructions", report["functions"])
check(outermost["dso"] == f"{work}/inlined" and outermost["address"] == first, "a function has its place", outermost)
check(outermost["executions"] == 300000, "its executions are those of its first instruction",
      outermost["executions"])
check(outermost["stack"] == {"retiring": {"none": 300000}, "stalled": {"D$miss": 200000, "D$miss+DTLBmiss": 90000},
                             "flushed": {"mispredict": 60000}}, "its stack is nested by state and cause",
      outermost["stack"])
check(by_name["main"]["stack"] == {"drained": {"alloc-blocked": 40000}}, "a core's own causes have its names",
      by_name["main"]["stack"])
check(report["functions"][0] is outermost, "functions are sorted, largest first")
check(not broken_sums(report), "all sums hold", "\n".join(broken_sums(report)))

r = document("report", "-i", "known.data", "--sort", "insn")
check(not broken_sums(r.json), "all sums hold for --sort insn", "\n".join(broken_sums(r.json)))
insns = {one["address"]: one for one in r.json["instructions"]}
check(insns[entry[0]]["cycles"] == 150000 and insns[entry[1]]["cycles"] == 150000 and
      insns[entry[0]]["executions"] == 300000 and insns[entry[6]]["cycles"] == 290000,
      "two instructions that retire together share the cycle", insns)
for sort, kind in (("dso", "dsos"), ("line", "lines"), ("dso,symbol,line", "lines"), ("symbol", "functions")):
    r = document("report", "-i", "known.data", "--sort", sort)
    check(r.returncode == 0 and kind in r.json and not broken_sums(r.json), f"all sums hold for --sort {sort}",
          r.err or "\n".join(broken_sums(r.json)))
r = document("report", "-i", "known.data", "--sort", "line")
wanted = tool("addr2line", "-e", "inlined", hex(main)).strip()
place = [(one["file"], one["line"]) for one in r.json["lines"] if one["symbol"] == "main"]
check(place and os.path.basename(wanted) == f"{os.path.basename(place[0][0])}:{place[0][1]}",
      "a line is addr2line's", (wanted, place))

r = pesa("report", "-i", "known.data")
check(r.returncode == 0 and re.search(r"92\.86% +650k +300k +\S.* outermost ", r.out) and
      "inlined with arguments" in r.out and "test-core" in r.out and "85 lost" in r.out and "unmapped 0.71%" in r.out,
      "the text has the same figures", r.out)
check("\033" not in r.out, "no colour in a pipe")
check("\033[" in pesa("report", "-i", "known.data", "--color=always").out, "colour where it is wanted")
r = pesa("report", "-i", "known.data", env={"LC_ALL": "C"})
check(r.out.isascii() and re.search(r"R+S+F+ +inlined", r.out), "bars are ASCII in an ASCII locale", r.out)
r = pesa("report", "-i", "known.data", env={"COLUMNS": "80"})
check(max(len(line) for line in r.out.splitlines() if not line.startswith("note:")) <= 80, "lines keep to the width of the terminal", r.out)
r = pesa("report", "-i", "known.data", "--percent-limit", "10")
check(re.search(r"6\.43% .*2 more below 10%", r.out), "what is below the limit is summed up", r.out)
r = document("report", "-i", "-", stdin=run(MAKE, "-", stdin="\n".join(KNOWN).encode()).stdout)
check(r.json and r.json["functions"] == report["functions"], "a recording can come through a pipe", r.err)

# ---- Annotate ----------------------------------------------------------------------------------

r = document("annotate", "-i", "known.data", "outermost")
insns = {one["address"]: one for one in r.json["instructions"]}
inside = [address for address in addresses if first <= address < stop_of("outermost")]
check(sorted(insns) == inside, "annotate has every instruction that objdump has", (sorted(insns), inside))
check([one["address"] for one in r.json["instructions"]] == inside, "in the order of their addresses")
check(sum(one["cycles"] for one in insns.values()) == 650000, "their cycles are the function's")
check(not [one for one in insns.values() if not close(stack_sum(one["stack"]), one["cycles"])],
      "the stack of each sums to its cycles")
check(insns[entry[0]]["cycles_per_execution"] == 0.5 and
      insns[entry[0]]["cycles_per_execution_interval"][0] <= 0.5 <= insns[entry[0]]["cycles_per_execution_interval"][1],
      "cycles per execution come with their interval", insns[entry[0]])
check(insns[entry[2]]["cycles_per_execution"] is None and insns[entry[2]]["cycles"] == 0,
      "an instruction in no sample has no cost", insns[entry[2]])
check(insns[entry[7]]["executions"] == 0 and insns[entry[7]]["cycles_per_execution"] is None,
      "nor has one that was never seen to retire", insns[entry[7]])
mnemonics = [(one["text"].split()[0], dict(listing)[one["address"]].split()[0]) for one in insns.values()]
# binutils before 2.41 prints "and" for "andi"
differ = [pair for pair in mnemonics if pair[0].replace("i", "") != pair[1].replace("i", "")]
check(not differ, "instructions are objdump's", differ)
lines = tool("addr2line", "-e", "inlined", *map(hex, inside)).splitlines()
differ = [(hex(a), insns[a]["line"], line) for a, line in zip(inside, lines)
          if f"{os.path.basename(insns[a]['file'])}:{insns[a]['line']}" != os.path.basename(line).split(" ")[0]]
check(not differ, "source lines are addr2line's", differ)
inlined = [one for one in insns.values() if "inlined" in one]
check(inlined and inlined[0]["inlined"][-1]["function"] == "outermost" and
      any(one["inlined"][0]["function"] == "innermost" for one in inlined), "inlined calls are named", inlined[:2])

r = pesa("annotate", "-i", "known.data", "outermost", "--full")
check("return middle(value" in r.out and "inlined innermost" in r.out and "stalled D$miss 69%" in r.out and
      re.search(r"0\.50 ±0\.0", r.out), "the text interleaves source and instructions", r.out)
check("too few" in r.out, "what has too few samples says so", r.out)
check(pesa("annotate", "-i", "known.data").out.count("in " + work) == 1 and
      "outermost" in pesa("annotate", "-i", "known.data").out, "without a name the hottest function is shown")
for width in (60, 80, 110, 160, 250):
    shown = {}
    for line in pesa("annotate", "-i", "known.data", "outermost", "--full", env={"COLUMNS": str(width)}).out.splitlines():
        if row := re.search(r" (" + "|".join(f"{address:x}" for address in insns) + ")  (.*)", line):
            shown[int(row[1], 16)] = re.sub(" +", " ", row[2])
        if len(line) > width and not line.startswith("note:"):
            shown[line] = "too long"
    cut = {address: (text, shown.get(address)) for address, text in ((address, one["text"]) for address, one in insns.items())
           if not shown.get(address, "").startswith(text)}
    check(not cut and "too long" not in shown.values(), f"address and instruction are whole in {width} columns", (cut, shown))
r = pesa("annotate", "-i", "known.data", "outermost")
check("instructions that are in no sample" in r.out, "long runs without samples are folded", r.out)
check(pesa("annotate", "-i", "known.data", hex(entry[3])).out == r.out, "an address stands for its function")
r = pesa("annotate", "-i", "known.data", "no_such_function")
check(r.returncode == 1 and r.err.count("\n") == 1 and "no_such_function" in r.err and not r.out,
      "an unknown function is one line and status 1", r.err)
r = pesa("annotate", "-i", "known.data", "weak_name")
check(r.returncode == 0 and "0.00%" in r.out.split("in " + work)[1].splitlines()[1], "a function without samples is shown",
      r.out + r.err)
os.rename(os.path.join(work, "inlined"), os.path.join(work, "kept"))

# ---- Binaries that are not what they were --------------------------------------------------------

r = document("report", "-i", "known.data")
check(r.returncode == 0 and any("inlined" in problem for problem in r.json["problems"]) and
      not broken_sums(r.json) and r.json["cycles"] == 700000, "a binary that is gone is named; the sums hold",
      json.dumps(r.json["problems"]) + str(r.json["unattributed"]))
r = pesa("report", "-i", "known.data")
check(len([line for line in r.out.splitlines() if line.startswith("note:") and "inlined" in line]) == 1,
      "in one line of the text", r.out)
r = pesa("annotate", "-i", "known.data")
check(r.returncode == 0 and "addresses only" in r.out, "annotate then has addresses only", r.out + r.err)
os.makedirs("root" + work)
shutil.copy("kept", f"root{work}/inlined")
r = document("report", "-i", "known.data", "--symfs", "root")
check(r.json["functions"] == report["functions"], "--symfs finds it again", r.err)
tool("strip", "-o", "inlined", "kept")
r = document("report", "-i", "known.data")
bare = r.json["functions"][0]
check(bare["symbol"] == f"inlined+{bare['address']:#x}" and bare["linkage_name"] is None and not broken_sums(r.json) and
      any("stripped" in problem for problem in r.json["problems"]),
      "a stripped binary says so; its functions are named by their addresses", (bare, r.json["problems"]))
r = document("annotate", "-i", "known.data", bare["symbol"])
check(r.returncode == 0 and [(one["symbol"], one["cycles"]) for one in r.json["functions"]] == [(bare["symbol"], bare["cycles"])],
      "annotate takes such a name", r.err + str(bare))
r = document("annotate", "-i", "known.data")
check(r.returncode == 0 and [one for one in r.json["instructions"] if one["address"] == entry[6]][0]["cycles"] == 290000
      and r.json["instructions"][0]["text"], "its code can be annotated without symbols", r.err)
shutil.copy("kept", "inlined")

tool("gcc", "-o", "beyond", os.path.join(SOURCES, "beyond.S"))
beyond = int(re.search(r"^([0-9a-f]+) \w beyond$", tool("nm", "beyond"), re.M).group(1), 16)
make("beyond.data", HEAD[:-1] + [f"map 7 {BASE:#x} 0x1000 0 {work}/beyond", sample(50, beyond, instret=2)])
r = document("annotate", "-i", "beyond.data", "beyond")
check([(one["address"] - beyond, one["text"]) for one in r.json["instructions"]] ==
      [(0, "vsetvli t0, a0, e32, m1, ta, ma"), (4, "vle32.v v8, (a1)"), (8, ".word 0xfff0700b"), (12, "ret")],
      "code beyond the ELF attributes is disassembled, an unknown instruction has its length",
      r.err + json.dumps([one["text"] for one in r.json["instructions"]]))

id_of = lambda name: re.search(r"Build ID: (\w+)", tool("readelf", "-n", name)).group(1)
tool("gcc", "-g", "-O1", "-Wl,--build-id", "-o", "other", os.path.join(SOURCES, "inlined.c"))
make("changed.data", HEAD[:-1] + [f"map 7 {BASE:#x} 0x1000 0 {work}/other {'ab' * 20}", sample(50, entry[0])])
r = document("report", "-i", "changed.data")
check(r.returncode == 0 and any("other" in p and "build id" in p for p in r.json["problems"]) and
      r.json["functions"][0]["symbol"] == "[unknown]" if r.json["functions"] else
      sum(r.json["unattributed"].values()) == r.json["cycles"], "another build id is recognised, its symbols not used",
      json.dumps(r.json["problems"]) + json.dumps(r.json["functions"]))

# ---- Several binaries, processes and languages ---------------------------------------------------

cxx = {name: int(address, 16) for address, name in
       re.findall(r"^([0-9a-f]+) \w (.+)$", tool("nm", "-C", "templates"), re.M)}
perimeter = [name for name in cxx if name.startswith("shapes::box<double>::perimeter")][0]
make("two.data", HEAD + [f"map 7 0x800000 0x10000 0 {work}/templates", f"comm 8 8 templates",
                         f"map 8 {BASE:#x} 0x10000 0 {work}/templates",
                         sample(20, main), f"sample 30 7 7 {0x800000 + cxx['main']:#x} 0 1 0 0 0 0 0 0 0",
                         sample(50, cxx[perimeter], pid=8)])
r = document("report", "-i", "two.data")
found = {(one["symbol"].split(" [clone")[0], os.path.basename(one["dso"])): one["cycles"] for one in r.json["functions"]}
check(found == {("main", "inlined"): 20000, ("main", "templates"): 30000,
                ("shapes::box<double>::perimeter(double) const", "templates"): 50000},
      "functions of the same name in two binaries are two; names of C++ are readable", found)
r = document("annotate", "-i", "two.data", "main")
check([os.path.basename(one["dso"]) for one in r.json["functions"]] == ["templates", "inlined"],
      "annotate shows both, the hottest first", r.json["functions"])
r = document("annotate", "-i", "two.data", "main", "--dso", "inlined")
check([os.path.basename(one["dso"]) for one in r.json["functions"]] == ["inlined"], "--dso picks one", r.err)
r = document("annotate", "-i", "two.data", "shapes::box<double>::perimeter")
check(r.returncode == 0 and r.json["functions"][0]["cycles"] == 50000, "C++ names need no parameters", r.err)
r = document("report", "-i", "two.data", "--pid", "8")
check(r.json["samples"] == 50 and r.json["cycles"] == 50000, "--pid keeps one process", r.err)

with open(f"/tmp/perf-{os.getpid()}.map", "w", encoding="ascii") as file:
    file.write("900000 100 jitted code\n")
make("jit.data", ["comm 7 7 x", f"map {os.getpid()} 0x900000 0x1000 0 //anon",
                  f"sample 40 {os.getpid()} 1 0x900010 1 0 0 0 0 0 0 1 8"])
r = document("report", "-i", "jit.data")
os.unlink(f"/tmp/perf-{os.getpid()}.map")
check([one["symbol"] for one in r.json["functions"]] == ["jitted code"] and r.json["functions"][0]["cycles"] == 40000,
      "code made at run time has the names of its map", (r.json["functions"], r.json["unattributed"]))
r = pesa("annotate", "-i", "jit.data")
check(r.returncode == 0 and "900010" in r.out, "and can be annotated by address", r.out + r.err)

# ---- Samples of stock perf, golden profiles, damage ------------------------------------------------

host = "/bin/true"
make("plain.data", ["arch x86_64", "event cycles", "plain", "comm 7 7 inlined", f"map 7 {BASE:#x} 0x1000 0 {work}/inlined"] +
     [f"ip {count} 7 7 {BASE + address:#x}" for address, count in
      ((entry[0], 311), (entry[5], 200), (main, 97), (symbols["plain_name"], 5))])
r = document("report", "-i", "plain.data")
ours = {one["symbol"]: round(one["share"] * 100, 2) for one in r.json["functions"]}
stock = run("perf", "report", "-i", "plain.data", "--stdio", "--sort", "symbol", "--percent-limit", "0").out
theirs = {name: float(share) for share, name in re.findall(r"^ +([\d.]+)% +\[\.\] (\S+)", stock, re.M)}
check(theirs and ours == theirs, "shares of plain samples are stock perf's", (ours, theirs))
check(r.json["plain_samples"] == 613 and not broken_sums(r.json) and
      "without details" in pesa("report", "-i", "plain.data").out, "and that they are plain is said", r.err)

make("foreign.data", ["arch x86_64", "event cycles", "plain", "comm 7 7 true", f"map 7 {BASE:#x} 0x100000 0 {host}",
                      f"ip 25 7 7 {BASE + 0x2000:#x}"])
r = document("report", "-i", "foreign.data")
check(r.returncode == 0 and r.json["cycles"] == 25000 and not broken_sums(r.json), "samples of another architecture count",
      r.err)
r = pesa("annotate", "-i", "foreign.data")
if platform.machine() != "riscv64":
    check(r.returncode == 0 and "addresses only" in r.out and "RISC-V" in r.out,
          "code that is not RISC-V is shown by address, saying so", r.out + r.err)

make("golden.data", HEAD[:2] + HEAD[4:] + [
    f"exact 7 {BASE + entry[0]:#x} 300000 0:0:2:300000", f"exact 7 {BASE + entry[1]:#x} 300000 0:0:2:300000",
    f"exact 7 {BASE + entry[6]:#x} 1000 1:8:1:200000 1:24:1:90000", f"exact 7 {BASE + entry[7]:#x} 1000 2:4:1:60000",
    f"exact 7 {BASE + main:#x} 5 3:32:1:40000"])
r = document("report", "-i", "golden.data", "--sort", "insn")
check(r.returncode == 0 and r.json["exact"] and r.json["cycles"] == 690000 and not broken_sums(r.json) and
      {one["symbol"]: one["cycles"] for one in r.json["functions"]} == {"outermost": 650000, "main": 40000},
      "a golden profile is reported like any other", r.err or r.json["functions"])
r = document("annotate", "-i", "golden.data", "outermost")
check([one for one in r.json["instructions"] if one["address"] == entry[6]][0]["cycles_per_execution"] == 290,
      "and annotated, with exact costs", r.err)
check("290" in pesa("annotate", "-i", "golden.data", "outermost").out, "in text, too")
r = document("error", "--golden", "golden.data", "-i", "known.data")
check(r.returncode == 0 and r.json["samples"] == 700 and close(r.json["error"], 0.5 * (10000 / 700000 +
      sum(abs(c / 700000 - c / 690000) for c in (150000, 150000, 200000, 90000, 60000, 40000)))) or
      close(r.json["error"], 0.5 * sum(abs(c / 700000 - c / 690000) for c in
                                       (150000, 150000, 200000, 90000, 60000, 40000))),
      "error is half the sum of the differences of shares", r.json)
check(0 < r.json["floor"] < 0.1, "the floor is that of 700 samples", r.json)
r = document("error", "--golden", "golden.data", "-i", "golden.data")
check(r.returncode == 0 and r.json["error"] == 0, "a profile does not differ from itself", r.err)
r = pesa("error", "--golden", "golden.data", "-i", "known.data")
check(r.returncode == 0 and re.search(r"error +[\d.]+ %", r.out) and re.search(r"floor +[\d.]+ %", r.out),
      "error in text", r.out)
r = pesa("error", "--golden", "known.data", "-i", "known.data")
check(r.returncode == 1 and r.err.count("\n") == 1 and "exact" in r.err, "a sampled profile is no golden one", r.err)
check(pesa("error", "-i", "known.data").returncode == 2, "--golden is not optional")

with open("known.data", "rb") as file:
    whole = file.read()


def damaged(name, content, command):
    with open(name, "wb") as file:
        file.write(content)
    return pesa(command, "-i", name, *(["--golden", name] if command == "error" else []))


for command in ("report", "annotate", "script", "error"):
    golden = ["--golden", "golden.data"] if command == "error" else []
    for what, content in (("empty", b""), ("garbage", b"certainly no recording" * 99), ("header", whole[:60])):
        r = damaged("bad.data", content, command)
        check(r.returncode == 1 and r.err.count("\n") == 1 and "bad.data" in r.err,
              f"{command}: a file that is {what} is one line and status 1", r.err + r.out[:200])
    r = pesa(command, "-i", "missing.data", *golden)
    check(r.returncode == 1 and r.err.count("\n") == 1 and "missing.data" in r.err,
          f"{command}: a file that is not there is one line and status 1", r.err)
    r = pesa(command, *golden)
    check(r.returncode == 1 and r.err.count("\n") == 1 and "pesa record" in r.err,
          f"{command}: without perf.data it says how to make one", r.err)
    check(pesa(command, "--no-such-option").returncode == 2, f"{command}: wrong usage is status 2")
r = damaged("cut.data", whole[:len(whole) // 2], "report")
check(r.returncode == 1 and r.err.count("cut.data") == 1 and "damaged" in r.err and "outermost" in r.out,
      "of a cut-off file the first part is reported, the rest counted, status 1", r.err + r.out)
crashed = [size for size in range(0, len(whole), 4096)
           if damaged("cut.data", whole[:size], "report").returncode not in (0, 1)]
check(not crashed, "no cut crashes it", crashed)
make("none.data", HEAD + ["lost 3"])
r = document("report", "-i", "none.data")
check(r.returncode == 1 and r.json["samples"] == 0 and r.json["lost"] == 3 and "no samples" in r.err,
      "a recording without samples says so, with its losses", r.err)
make("raw.data", HEAD + ["raw 4 7 7 0x400700 ffff0300", sample(6, main)])
r = document("report", "-i", "raw.data")
check(r.json["samples"] == 10 and r.json["impossible_records"] == 4 and not broken_sums(r.json),
      "raw records that are none are counted", {k: r.json[k] for k in ("samples", "impossible_records", "unattributed")})

# ---- Script --------------------------------------------------------------------------------------

r = pesa("script", "-i", "known.data", "--json")
objects = [json.loads(line) for line in r.out.splitlines()]
check(len(objects) == 700 and all(one["type"] == "sample" for one in objects), "script has a line for every sample",
      len(objects))
check([one["time"] for one in objects] == sorted(one["time"] for one in objects), "in the order of time")
sums = {}
for one in objects:
    key = (one["symbol"], one.get("state"), one.get("instret"), tuple(one.get("causes", ())), one["lost"])
    sums[key] = sums.get(key, 0) + 1
check(sums == {("outermost", "retiring", 2, (), 0): 300, ("outermost", "stalled", 0, ("D$miss",), 0): 200,
               ("outermost", "stalled", 0, ("D$miss", "DTLBmiss"), 0): 90,
               ("outermost", "flushed", 0, ("mispredict",), 0): 60, ("main", "drained", 0, ("alloc-blocked",), 2): 40,
               (None, "retiring", 2, (), 0): 10}, "with every field of its record", sums)
r = pesa("script", "-i", "known.data")
check(len(r.out.splitlines()) == 700 and "stalled instret=0 cause@1=D$miss+DTLBmiss" in r.out and
      f"outermost+0x{entry[6] - first:x} ({work}/inlined)" in r.out, "and in text", r.out[:300])
r = pesa("script", "-i", "known.data", "--json", "--show-events")
kinds = {json.loads(line)["type"] for line in r.out.splitlines()}
check({"mmap", "comm", "sample", "lost"} <= kinds, "--show-events shows the other records", kinds)
make("bits.data", HEAD + [f"sample 1 7 7 {BASE + entry[0]:#x} 0 3 2 1 {BASE + main:#x} 2 {BASE + first:#x} 4 3 0x1043 0"])
one = json.loads(pesa("script", "-i", "bits.data", "--json").out)
check(one["counter"] == 3 and one["opaque"] == 0x82 and one["cts"] == 2 and one["cause_offset"] == 4 and
      one["causes"] == ["I$miss", "ITLBmiss"] and
      [(t["offset"], t["symbol"]) for t in one["targets"]] == [(1, "main"), (2, "outermost")],
      "targets, counter and opaque bits are decoded", one)

# ---- Documentation -------------------------------------------------------------------------------


def members(value):
    """Names of all members, those whose names are data (causes, reasons) left out."""
    if isinstance(value, list):
        return set().union(*map(members, value)) if value else set()
    if not isinstance(value, dict):
        return set()
    return set(value).union(*(members(inner) for name, inner in value.items() if name not in ("stack", "unattributed")))


with open(os.path.join(TOP, "Documentation/json.md"), encoding="utf-8") as file:
    documented = set(re.findall(r"`(\w+)`", file.read()))
printed = set()
for arguments in (("report", "--sort", "insn"), ("report", "--sort", "line"), ("report", "--sort", "dso"),
                  ("annotate", "outermost")):
    for name in ("known.data", "golden.data", "bits.data"):
        printed |= members(document(*arguments, "-i", name).json)
printed |= members(document("error", "--golden", "golden.data", "-i", "known.data").json)
for name in ("known.data", "golden.data", "bits.data", "raw.data", "plain.data"):
    printed |= members([json.loads(line) for line in
                        pesa("script", "--show-events", "--json", "-i", name).out.splitlines()])
check(len(printed) > 60 and printed <= documented, "every member of the JSON is documented", sorted(printed - documented))

# ---- Help --------------------------------------------------------------------------------------

for command in ("annotate", "error", "list", "record", "report", "script"):
    texts = {pesa(*words).out for words in ((command, "--help"), (command, "-h"), ("help", command))}
    check(len(texts) == 1 and "Example" in texts.pop(), f"{command}: --help, -h and 'pesa help {command}' are the same")
with open("/dev/full", "wb") as full:
    for words in (("list",), ("report", "-i", "known.data"), ("script", "-i", "known.data"), ("--help",), ("--version",),
                  ("report", "--help"), ("record", "--help"), ("top", "--help"), ("stat", "--core", "ooo-4", "--list"),
                  ("mca", "-mcpu=help"), ("mca", "-mcpu=sifive-p670", "--hex=13050500")):
        r = subprocess.run((PESA, *words), stdout=full, stderr=subprocess.PIPE)
        check(r.returncode == 1 and b"could not be written" in r.stderr and r.stderr.count(b"\n") == 1,
              f"{' '.join(words)}: a full disk is said", r.stderr)

# ---- Output ------------------------------------------------------------------------------------

for words in (("report", "--html", "both"), ("topdown", "--html", "both"), ("compare", "--write-model", "both"),
              ("export", "-f", "csv", "-o", "both"), ("archive", "-o", "both.tar")):
    shutil.copy("known.data", words[-1])
    r = pesa(*words, "-i", words[-1])
    with open(words[-1], "rb") as file, open("known.data", "rb") as known:
        check(r.returncode == 1 and f"the recording and the output cannot both be {words[-1]}" in r.err and file.read() == known.read(),
              f"{words[0]}: the recording is not overwritten", r.err)

# ---- Terminal ------------------------------------------------------------------------------------


def on_terminal(command, env):
    """Output of a command whose standard output is a terminal."""
    leader, follower = pty.openpty()
    environment = dict(os.environ, TERM="xterm", COLUMNS="100", **env)
    with subprocess.Popen(command, stdout=follower, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL,
                          env=environment) as process:
        os.close(follower)
        text = b""
        while True:
            try:
                block = os.read(leader, 65536)
            except OSError:
                break
            if not block:
                break
            text += block
        process.wait()
    os.close(leader)
    return text.decode("utf-8", "replace").replace("\r\n", "\n")


shown = on_terminal([PESA, "report", "-i", "known.data"], {"PESA_PAGER": "sed s/^/paged:/", "NO_COLOR": "1"})
check(shown and all(line.startswith("paged:") for line in shown.splitlines()), "on a terminal $PESA_PAGER shows it",
      shown[:300])
check("\033" not in shown, "NO_COLOR means no colour")
shown = on_terminal([PESA, "report", "-i", "known.data"], {"PESA_PAGER": "no-such-pager --flag", "NO_COLOR": "1"})
check("outermost" in shown, "a pager that is not installed does not swallow the output", shown[:300])
shown = on_terminal([PESA, "report", "-i", "known.data"], {"PESA_PAGER": ""})
check("\033[" in shown, "colour on a terminal", shown[:300])
plain = re.sub(r"\033\[[0-9;]*m", "", shown)
check(max(len(line) for line in plain.splitlines() if not line.startswith("note:")) <= 100, "within its width", plain)

os.chdir("/")
shutil.rmtree(work)
end()
