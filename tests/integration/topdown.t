#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""pesa topdown: on recordings with known samples, and compared with the counts of the virtual core."""
import html.parser
import json
import os
import re
import shutil
import subprocess
import tempfile

from tap import TOP, BUILD, PESA, CROSS, GUEST_CC, bail_out, check, command, end, needs, plain_environment, skip

MAKE = os.path.join(BUILD, "tests/tools/make_profile")
BASE = 0x400000
work = tempfile.mkdtemp(prefix="pesa-topdown-")
os.chdir(work)
plain = plain_environment(work)


def tool(name, *arguments):
    return subprocess.run([CROSS + name, *arguments], capture_output=True, text=True, check=True).stdout


def make(name, lines):
    made = subprocess.run([MAKE, name], input="\n".join(lines).encode(), capture_output=True)
    if made.returncode:
        bail_out("make_profile:", made.stderr.decode())


def pesa(*words, **options):
    return command(PESA, *words, env=plain, **options)


def topdown(*words):
    run = pesa("topdown", "--json", *words)
    try:
        run.json = json.loads(run.stdout)
        run.node = {one["key"]: one for one in run.json["nodes"]}
    except ValueError as error:
        bail_out("no JSON:", error, run.stderr.decode())
    return run


def close(a, b):
    return abs(a - b) < 1e-9


with open("code.s", "w", encoding="ascii") as out:
    out.write("\t.globl _start\n\t.type _start, @function\n_start:\n" + "\taddi t0, t0, 1\n" * 8
              + "\t.size _start, . - _start\n\t.globl other\n\t.type other, @function\nother:\n"
              + "\tld a0, 0(a1)\n" * 8 + "\t.size other, . - other\n")
tool("gcc", "-march=rv64g", "-mabi=lp64d", "-nostdlib", "-static", "-Wl,-Ttext=0x400000", "code.s", "-o", "code")
symbols = {name: int(address, 16) for address, name in re.findall(r"^([0-9a-f]+) \w (\S+)$", tool("nm", "code"), re.M)}
segment = re.search(r"LOAD +0x([0-9a-f]+) +0x0*([0-9a-f]+) [^\n]*R E", tool("readelf", "-lW", "code"))
start, other = symbols["_start"], symbols["other"]
HEAD = ["command ./code", "period 1000", "capability retire_width 4", "capability core test-core",
        "capability cause_names 0:I$miss,1:ITLBmiss,2:mispredict,3:D$miss,4:DTLBmiss,5:llc-miss,6:alloc-blocked,8:serialise",
        "comm 7 7 code", f"map 7 0x400000 0x1000 {int(segment.group(1), 16) + 0x400000 - int(segment.group(2), 16):#x} {work}/code"]


def sample(count, address, state, instret, offset=0, cause=0, tid=7):
    return f"sample {count} 7 {tid} {address:#x} {state} {instret} 0 0 0 0 0 {offset} {cause}"


# ---- The rule, record by record ---------------------------------------------------------------
I, ITLB, MISPREDICT, D, DTLB, LLC, ALLOC, SERIALISE = 1, 2, 4, 8, 16, 32, 64, 256
CASES = (
    ((0, 4), "retiring", "a full cycle"),
    ((0, 1), "frontend_bound.bandwidth", "nobody is named"),
    ((0, 1, 2, 0), "backend_bound.core.execution", "the next one is there and met nothing"),
    ((0, 2, 3, D), "backend_bound.memory.dcache", "the next one missed the D-cache"),
    ((0, 2, 3, I), "frontend_bound.latency.icache", "the next one missed the I-cache"),
    ((0, 2, 3, I | D), "backend_bound.memory.dcache", "the next one missed both"),
    ((0, 2, 3, ALLOC), "backend_bound.memory.stores", "the next one had no room"),
    ((0, 2, 2, MISPREDICT), "bad_speculation.mispredicts", "the last that retired was mispredicted"),
    ((0, 2, 1, MISPREDICT), "frontend_bound.bandwidth", "one behind which others retired was"),
    ((0, 2, 2, SERIALISE), "bad_speculation.clears.serialising", "the last that retired serialises"),
    ((0, 2, 1, D | LLC), "backend_bound.memory.llc", "one that retired had missed"),
    ((1, 0), "backend_bound.core.execution", "stalled on nothing"),
    ((1, 0, 1, D), "backend_bound.memory.dcache", "stalled on a D-cache miss"),
    ((1, 0, 1, D | DTLB | LLC), "backend_bound.memory.llc", "stalled on a miss of everything"),
    ((1, 0, 1, DTLB), "backend_bound.memory.dtlb", "stalled on a TLB miss alone"),
    ((1, 0, 1, I), "backend_bound.core.execution", "stalled, and had missed the I-cache before"),
    ((1, 0, 1, SERIALISE), "backend_bound.core.serialising", "stalled and serialises"),
    ((2, 0, 1, MISPREDICT), "bad_speculation.mispredicts", "flushed by a mispredict"),
    ((2, 0, 1, SERIALISE), "bad_speculation.clears.serialising", "flushed by a serialising one"),
    ((2, 0, 1, D), "bad_speculation.clears.other", "flushed by something else"),
    ((3, 0), "frontend_bound.latency.other", "drained"),
    ((3, 0, 1, I | ITLB), "frontend_bound.latency.icache", "drained by an I-cache miss"),
    ((3, 0, 1, ITLB), "frontend_bound.latency.itlb", "drained by an ITLB miss"),
    ((3, 0, 1, ALLOC), "backend_bound.memory.stores", "drained for want of room"),
)
for fields, key, what in CASES:
    make("one.data", HEAD + [sample(100, start, *fields)])
    node = topdown("-i", "one.data", "--level", "3").node
    lost = 0 if fields[1] == 4 else (4 - fields[1]) / 4
    parts = {key, *(key[:i] for i, letter in enumerate(key) if letter == ".")}
    wrong = [one for one, value in node.items() if not close(
        value["share"], fields[1] / 4 if one == "retiring" else lost if one in parts else 0)]
    check(not wrong, f"{what}: the lost slots are {key}", (fields, wrong))

# ---- Sums, instructions, parts ----------------------------------------------------------------
KNOWN = HEAD + [
    sample(300, start, 0, 2, 3, D),         # two retire, the third missed: 2 slots each way
    sample(200, other, 1, 0, 1, D, tid=8),
    sample(100, other + 8, 2, 0, 1, MISPREDICT),
    sample(40, other + 12, 3, 0, 0),
    "count TOPDOWN.SLOTS 2560", "count TOPDOWN.RETIRING.SLOTS 640", "count CYCLES.HART 640", "count FLUSH.CYCLES 30",
    "count FLUSH.MISPREDICT.CYCLES 20", "count TOPDOWN.BAD_SPECULATION.MISPREDICT.UNRESOLVED.SLOTS 40",
    "count TOPDOWN.BAD_SPECULATION.CLEAR.UNRESOLVED.SLOTS 20", "count RETIRE.SLOTS 2560", "count RETIRE.RETIRING.SLOTS 512",
]
make("known.data", KNOWN)
run = topdown("-i", "known.data", "--by", "symbol", "--level", "3")
check(run.returncode == 0 and run.json["possible"] and run.json["width"] == 4 and run.json["width_told"]
      and run.json["told_cycles"] == 640000 and run.json["silent_cycles"] == 0, "width and cycles", run.stderr.decode())
share = {key: one["share"] for key, one in run.node.items()}
check(close(share["retiring"], 600 / 2560) and close(share["backend_bound.memory"], 1400 / 2560)
      and close(share["bad_speculation"], 400 / 2560) and close(share["frontend_bound"], 160 / 2560),
      "slots go where the samples say", share)
wrong = []
for key, one in run.node.items():
    below = [other_node["slots"] for other_node in run.json["nodes"] if other_node["parent"] == key]
    if below and sum(below) != one["slots"]:
        wrong.append(key)
    if not one["interval"][0] <= one["share"] <= one["interval"][1]:
        wrong.append(key + " interval")
check(not wrong and sum(one["slots"] for one in run.json["nodes"] if one["level"] == 1) == 2560000,
      "every node is the sum of those below it, and lies in its interval", wrong)
memory = run.node["backend_bound.memory"]["instructions"]
check([(one["address"], one["slots"]) for one in memory] == [(other, 800000), (start + 8, 600000)]
      and memory[0]["text"].startswith("ld a0") and memory[0]["symbol"] == "other",
      "the instruction that is blamed has the lost slots, also beside those that retired", memory)
check({one["address"]: one["slots"] for one in run.node["retiring"]["instructions"]} == {start: 300000, start + 4: 300000},
      "each that retired has a slot", run.node["retiring"]["instructions"])
rows = {one["symbol"]: one for one in run.json["rows"]}
check(close(rows["_start"]["share"], 1200 / 2560) and close(rows["_start"]["nodes"]["retiring"]["share"], .5)
      and close(rows["other"]["nodes"]["backend_bound.memory"]["share"], 800 / 1360), "functions", rows)
check(close(run.node["retiring"]["counted"], .2) and close(run.node["retiring"]["counted_dispatch"], .25)
      and run.node["bad_speculation"]["counted"] is None, "what was counted stands beside it", run.node["retiring"])
split = run.json["split"]
check(split and close(split["mispredict_share"], (40 + 20 * 4) / (40 + 20 + 30 * 4)),
      "bad speculation is split by issued slots and recovery cycles", split)
rows = {one["tid"]: one for one in topdown("-i", "known.data", "--by", "thread").json["rows"]}
check(close(rows[8]["nodes"]["backend_bound.memory"]["share"], 1) and close(rows[7]["nodes"]["retiring"]["share"], 600 / 1760),
      "threads", rows)
rows = topdown("-i", "known.data", "--by", "cpu").json["rows"]
check(len(rows) == 1 and close(rows[0]["share"], 1), "CPUs", rows)
rows = topdown("-i", "known.data", "--by", "time", "--slices", "8").json["rows"]
check(4 <= len(rows) <= 8 and close(sum(one["share"] for one in rows), 1)
      and all(one["end"] == two["start"] for one, two in zip(rows, rows[1:])), "slices of time follow each other", rows)
rows = topdown("-i", "known.data", "--by", "line").json["rows"]
check(close(sum(one["share"] for one in rows), 1), "lines", rows)
run = topdown("-i", "known.data", "--tid", "8")
check(run.node["retiring"]["counted"] is None and close(run.node["backend_bound.memory"]["share"], 1),
      "of one thread nothing is counted", run.node)
shown = pesa("topdown", "-i", "known.data", "--by", "symbol").stdout.decode()
check(re.search(r"^  Retiring +23\.44% .*20\.00% +25\.00%", shown, re.M) and "_start" in shown
      and "Memory bound 54.69%" in shown and "66.67% of it mispredicts" in shown, "the text has the same figures", shown)
shown = pesa("topdown", "-i", "known.data", "--level", "1").stdout.decode()
check("Memory bound" not in shown and "Backend bound" in shown, "--level 1 shows the first level only", shown)

perf = shutil.which("perf")
if perf:
    shown = subprocess.run([perf, "report", "--header-only", "-i", "known.data"], capture_output=True, text=True)
    listed = subprocess.run([perf, "report", "--stdio", "-i", "known.data"], capture_output=True, text=True)
    check(shown.returncode == 0 and re.search(r"pesa_counts.*TOPDOWN\.SLOTS=2560", shown.stdout) and listed.returncode == 0
          and re.search(r"_start|code", listed.stdout), "stock perf reads a recording with counts",
          shown.stderr + listed.stderr)
else:
    skip("stock perf reads a recording with counts", needs("linux-perf"))

make("narrow.data", [line for line in KNOWN if "retire_width" not in line])
run = topdown("-i", "narrow.data")
check(run.json["width"] == 2 and not run.json["width_told"], "a width that is not recorded is the most that retired",
      run.json["width"])


class Page(html.parser.HTMLParser):
    """What a page refers to, and whether its elements are closed in order."""
    def __init__(self):
        super().__init__()
        self.open, self.wrong, self.links, self.summaries = [], [], [], 0

    def handle_starttag(self, tag, attrs):
        self.links += [value for name, value in attrs if name in ("src", "href")]
        self.summaries += tag == "summary"
        if tag in ("details", "summary", "table", "span", "h1", "h2", "button", "style", "script", "title"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag in ("details", "summary", "table", "span", "h1", "h2", "button", "style", "script", "title"):
            if not self.open or self.open.pop() != tag:
                self.wrong.append(tag)


make("named.data", [line.replace("command ./code", "command ./code <b>&") for line in KNOWN])
run = pesa("topdown", "-i", "named.data", "--by", "symbol", "--level", "3", "--html", "page.html")
with open("page.html", encoding="utf-8") as file:
    text = file.read()
page = Page()
page.feed(text)
check(run.returncode == 0 and not page.wrong and not page.open and not page.links and page.summaries >= 20
      and "./code &lt;b&gt;&amp;" in text and not re.search(r"https?:", text) and ">54.69% ±" in text,
      "--html: a page that is well formed, escapes names and refers to nothing", (page.wrong, page.open, page.links))

# ---- What tells nothing of slots, what is wrong -------------------------------------------------
make("plain.data", ["event cycles", "plain", "comm 7 7 code"] + HEAD[-1:] + [f"ip 50 7 7 {start:#x}"])
run = pesa("topdown", "-i", "plain.data")
check(run.returncode == 0 and b"not possible" in run.stdout and b"pesa annotate" in run.stdout and b"_start" in run.stdout,
      "plain samples: it is said what is possible, and where they fell", run.stdout.decode())
check(not topdown("-i", "plain.data").json["possible"], "... also in JSON")
make("mixed.data", KNOWN + [f"bare 360 7 7 {start:#x}"])
run = topdown("-i", "mixed.data")
check(run.json["silent_cycles"] == 360000 and close(run.node["retiring"]["share"], 600 / 2560),
      "samples without details among others are counted apart", run.json["silent_cycles"])
make("exact.data", HEAD + [f"exact 7 {start:#x} 100 0:0:2:100 1:8:1:30", f"exact 7 {start + 4:#x} 100 0:0:2:100"])
run = topdown("-i", "exact.data")
check(close(run.node["retiring"]["share"], 200 / 520) and close(run.node["backend_bound.memory"]["share"], 120 / 520)
      and close(run.node["retiring"]["interval"][0], 200 / 520) and close(run.node["retiring"]["interval"][1], 200 / 520),
      "an exact profile has exact shares", run.node)
with open("known.data", "rb") as file:
    whole = file.read()
with open("cut.data", "wb") as out:
    out.write(whole[:len(whole) // 2])
with open("noise.data", "wb") as out:
    out.write(b"\x7fELF" + whole[8:5000])
for words, status, message in ((["-i", "missing.data"], 1, "missing.data"), (["-i", "noise.data"], 1, "noise.data"),
                               (["-i", "cut.data"], 1, "cut.data"), (["-i", "known.data", "--by", "colour"], 2, "--by takes"),
                               (["-i", "known.data", "--level", "4"], 2, "--level"), (["more"], 2, "unexpected"),
                               (["-i", "known.data", "--slices", "1", "--by", "time"], 2, "--slices"),
                               (["-i", "known.data", "--html", "/nowhere/x"], 1, "/nowhere/x"),
                               (["-i", "plain.data", "--html", "x.html"], 1, "nothing of slots"),
                               (["-i", "known.data", "--tid", "99"], 1, "no samples")):
    run = pesa("topdown", *words)
    said = run.stderr.decode()
    check(run.returncode == status and message in said and (said.count("\n") == 1 or status == 2),
          f"refused or said: {' '.join(words)}", said)

# ---- Sampled against counted --------------------------------------------------------------------
made = command(GUEST_CC, "-O1", "-g", "-static", "-pthread", os.path.join(TOP, "tests/data/guest/guest.c"), "-o", "guest")
if made.returncode:
    bail_out("cannot build the guest program:", made.stderr.decode())
held = 0
for core in sorted(os.listdir(os.path.join(BUILD, "share/pesa/cores"))):
    recorded = pesa("record", "-q", "--core", core, "-c", "300", "--", "./guest", "work", "3")
    node = topdown("--level", "3").node
    # Three times the interval's half width, and nothing at all below a few samples: never wrong by chance.
    wrong = [(key, one["interval"], one["counted"]) for key, one in node.items()
             if abs(one["share"] - one["counted"]) > 1.5 * (one["interval"][1] - one["interval"][0]) + 1e-3]
    check(recorded.returncode == 0 and not wrong and node["retiring"]["counted"] > .05,
          f"{core}: sampled shares are those that were counted", wrong)
    check(close(node["retiring"]["counted"], node["retiring"]["counted_dispatch"]) or core not in ("inorder-2", "ooo-4"),
          f"{core}: retiring is the same at dispatch", node["retiring"])

os.chdir("/")
shutil.rmtree(work)
end()
