#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""report, annotate and script on a real recording, against nm, objdump, addr2line and stock perf."""
import bisect
import json
import os
import re
import shutil
import subprocess
import tempfile

from tap import TOP, BUILD, PESA, CROSS, bail_out, check, end, failed, needs, skip

SIZE = int(os.environ.get("REPORT_INPUT_BYTES", "60000"))  # of the file that is compressed


def run(*command):
    result = subprocess.run(command, capture_output=True, text=True, errors="replace")
    if result.returncode:
        print("#", " ".join(command), "failed:", result.stderr.strip()[:500])
    return result.stdout


def tool(name, *arguments):
    return run(CROSS + name, *arguments)


def close(a, b):
    return abs(a - b) <= 1e-9 * max(1.0, abs(a), abs(b))


def stack_sum(stack):
    return sum(cycles for causes in stack.values() for cycles in causes.values())


program = os.path.join(BUILD, "programs/bzip2")
if not os.access(program, os.X_OK):
    run(os.path.join(TOP, "tools/programs"), "-o", os.path.join(BUILD, "programs"), "bzip2")
work = tempfile.mkdtemp(prefix="pesa-recorded-")
os.chdir(work)
os.environ["LC_ALL"] = "C.UTF-8"
with open(PESA, "rb") as file, open("input", "wb") as out:
    out.write(file.read(SIZE))
run(PESA, "record", "-q", "-c", "500", "-o", "perf.data", "--golden", "golden.data", "--", program, "-kf9", "input")

# Most samples are counted by their raw payload, without being decoded; those that a filter looks at are not.
whole = json.loads(run(PESA, "report", "--json", "--sort", "insn", "-i", "perf.data") or "{}")
thread = json.loads((run(PESA, "script", "--json", "-i", "perf.data").splitlines() or ["{}"])[0]).get("pid", 0)
decoded = json.loads(run(PESA, "report", "--json", "--sort", "insn", "--pid", str(thread), "-i", "perf.data") or "{}")
check(whole and whole == decoded, "counted by their payload, samples give the profile that decoded ones give",
      {key: (whole.get(key), decoded.get(key)) for key in whole if whole[key] != decoded.get(key)})

report = json.loads(run(PESA, "report", "--json", "--sort", "insn"))
golden = json.loads(run(PESA, "report", "--json", "--sort", "insn", "-i", "golden.data"))
check(report["samples"] > 1000 and golden["exact"], "there is a recording", report["samples"])
if failed():
    bail_out("nothing to look at")
for name, one in (("sampled", report), ("golden", golden)):
    unattributed = sum(one["unattributed"].values())
    check(close(sum(f["cycles"] for f in one["functions"]) + unattributed, one["cycles"]) and
          close(sum(i["cycles"] for i in one["instructions"]) + unattributed, one["cycles"]),
          f"{name}: functions, and instructions, add up to all cycles")
    wrong = [f for f in one["functions"] + one["instructions"] if not close(stack_sum(f["stack"]), f["cycles"])]
    check(not wrong, f"{name}: every stack sums to its cycles", wrong[:3])
check(close(golden["cycles"], round(golden["cycles"])) and abs(report["cycles"] / golden["cycles"] - 1) < 0.01,
      "the sampled cycles are the cycles that were run, within 1 %", (report["cycles"], golden["cycles"]))

# Every function that holds a sampled instruction is nm's for that address.
sized = []
for line in tool("nm", "-S", "--defined-only", program).splitlines():
    parts = line.split()
    if len(parts) == 4 and parts[2] in "tTwWi":
        sized.append((int(parts[0], 16), int(parts[1], 16), parts[3]))
sized.sort()
starts = [start for start, _, _ in sized]


def by_nm(address):
    index = bisect.bisect_right(starts, address) - 1
    if index >= 0 and address < sized[index][0] + sized[index][1]:
        return {name for start, size, name in sized if start == sized[index][0]}
    return None


own = [one for one in report["instructions"] if os.path.basename(one["dso"]) == "bzip2"]
wrong = [(hex(one["address"]), one["symbol"], by_nm(one["address"])) for one in own
         if by_nm(one["address"]) and one["symbol"] not in by_nm(one["address"])]
check(own and not wrong, "functions of sampled instructions are nm's", wrong[:5])

# Executions of a hot function: golden says how often it was called; the estimate is near.
exact = {f["symbol"]: f for f in golden["functions"]}
hot = [f for f in report["functions"] if f["executions"] and f["executions"] > 100000 and f["symbol"] in exact]
far = [(f["symbol"], f["executions"], exact[f["symbol"]]["executions"]) for f in hot
       if abs(f["executions"] / exact[f["symbol"]]["executions"] - 1) > 0.25]
check(not far, "executions of often called functions are near the exact ones", far)
near = [i for i in report["instructions"] if i["cycles_per_execution_interval"]]
costs = {(i["dso"], i["address"]): i["cycles_per_execution"] for i in golden["instructions"]}
inside = [i["cycles_per_execution_interval"][0] <= costs.get((i["dso"], i["address"]), -1) <=
          i["cycles_per_execution_interval"][1] for i in near if costs.get((i["dso"], i["address"])) is not None]
check(len(inside) > 100 and sum(inside) / len(inside) > 0.93,
      "the exact cost lies in the interval of at least 93 % of the instructions",
      (len(inside), sum(inside) / max(1, len(inside))))

# What annotate lists is what objdump lists, and its lines are addr2line's.
hottest = [f for f in report["functions"] if os.path.basename(f["dso"]) == "bzip2"][0]
annotated = json.loads(run(PESA, "annotate", "--json", hottest["symbol"]))["instructions"]
dump = re.findall(r"^ +([0-9a-f]+):\t", tool("objdump", "-d", "--no-show-raw-insn", program,
                                            f"--start-address={hottest['address']}",
                                            f"--stop-address={hottest['address'] + hottest['size']}"), re.M)
check([i["address"] for i in annotated] == [int(a, 16) for a in dump], "annotate lists objdump's instructions",
      (len(annotated), len(dump)))
check(close(sum(i["cycles"] for i in annotated), hottest["cycles"]), "they have the function's cycles")
places = tool("addr2line", "-e", program, *[hex(i["address"]) for i in annotated]).splitlines()
differ = [(hex(i["address"]), i["file"], i["line"], place) for i, place in zip(annotated, places)
          if i["file"] and f"{os.path.basename(i['file'])}:{i['line']}" != os.path.basename(place).split(" ")[0]]
check(not differ, "source lines are addr2line's", differ[:5])
text = run(PESA, "annotate", hottest["symbol"])
check(hottest["symbol"] in text and "±" in text and re.search(r"^\S+\.c:\d+ +\S", text, re.M),
      "the text shows source, cost and interval", text[:500])

# One line for each sample; stock perf sees the same addresses.
lines = run(PESA, "script", "--json").splitlines()
samples = [json.loads(line) for line in lines]
check(len(samples) == report["samples"], "script has every sample", (len(samples), report["samples"]))
if shutil.which("perf"):
    stock = [line.split() for line in run("perf", "script", "-i", "perf.data", "-F", "tid,ip").splitlines()]
    theirs = sorted((int(tid), int(ip, 16)) for tid, ip in stock)
    ours = sorted((one["tid"], one["address"]) for one in samples)
    check(theirs == ours, "threads and addresses are those that stock perf script prints", (theirs[:2], ours[:2]))
    counts = {}
    for one in samples:
        counts[os.path.basename(one["dso"] or "[unknown]")] = counts.get(os.path.basename(one["dso"] or "[unknown]"), 0) + 1
    stock = run("perf", "report", "-i", "perf.data", "--stdio", "--sort", "dso", "-F", "sample,dso", "--percent-limit", "0")
    theirs = {name: int(count) for count, name in re.findall(r"^ +(\d+) +(\S+) *$", stock, re.M)}
    check(theirs == counts, "samples of each binary are those of stock perf report", (theirs, counts))
else:
    skip("samples are those of stock perf", needs("linux-perf"))

os.chdir("/")
shutil.rmtree(work)
end()
