#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Event names have the same meaning as in stock perf; for an unknown name the error has the nearest one; event files.

The oracle: the perf_event_attr that `perf stat -vv` prints before it opens an event, supported or not.
"""
import glob
import json
import os
import re
import shutil
import subprocess
import tempfile

from tap import BUILD, PESA, TOP, check, command, end, needs, skip

PERF = shutil.which("perf")
MEMBERS = ("type", "config", "config1", "config2", "pinned", "exclusive", "exclude_user", "exclude_kernel", "exclude_hv",
           "exclude_idle", "precise_ip", "exclude_host", "exclude_guest")
HARDWARE = ("cpu-cycles cycles instructions cache-references cache-misses branch-instructions branches branch-misses "
            "bus-cycles stalled-cycles-frontend idle-cycles-frontend stalled-cycles-backend idle-cycles-backend "
            "ref-cycles").split()
SOFTWARE = ("cpu-clock task-clock page-faults faults context-switches cs cpu-migrations migrations minor-faults "
            "major-faults alignment-faults emulation-faults dummy cgroup-switches bpf-output").split()
CACHES = {"L1-dcache": "rwp", "l1d": "rwp", "l1-d": "rwp", "L1-data": "rwp", "L1-icache": "rp", "l1i": "rp",
          "LLC": "rwp", "L2": "rwp", "dTLB": "rwp", "d-tlb": "rwp", "Data-TLB": "rwp", "iTLB": "r", "i-tlb": "r",
          "branch": "r", "bpu": "r", "btb": "r", "node": "rwp"}
OPERATIONS = {"r": ("load", "loads", "read"), "w": ("store", "stores", "write"),
              "p": ("prefetch", "prefetches", "speculative-read")}
work = tempfile.mkdtemp(prefix="pesa-names-")


def meanings(events, *options):
    run = command(PESA, "list", "--json", *options, "-e", events)
    return json.loads(run.stdout).get("meanings", []) if run.stdout else [], run


def attributes(events):
    """The attributes that perf uses for each event, in order: those of its first attempt."""
    run = subprocess.run([PERF, "stat", "-vv", "-e", ",".join(events), "--", "true"], capture_output=True, text=True,
                         timeout=300, check=False)
    found = []
    for block in re.findall(r"^perf_event_attr:\n(.*?)^-{60}$(.*?)(?=^perf_event_attr|\Z)", run.stderr, re.M | re.S):
        members = dict(re.findall(r"^  (\w+) +(\S+)", block[0], re.M))
        found.append(({name: int(members.get(name, "0"), 0) for name in MEMBERS}, block[1]))
    # If the kernel refuses an attribute, perf tries again with fewer: ignore these attempts.
    kept, again = [], False
    for members, behind in found:
        if not again:
            kept.append(members)
        again = "switching off" in behind
    return kept, run.stderr


def cache_names():
    for cache, operations in CACHES.items():
        yield cache
        for operation in operations:
            for word in OPERATIONS[operation]:
                for result in ("", "-refs", "-misses", "-miss", "-access"):
                    yield f"{cache}-{word}{result}"


def compare(names, what, alone=False, but=lambda name: ()):
    """`alone`: one run for each event; `but`: members that may differ."""
    mine, run = meanings(",".join(names))
    theirs, said = attributes(names) if not alone else ([attributes([name])[0][0] for name in names], "")
    if not check(len(mine) == len(names) == len(theirs), f"{what}: pesa and perf know all {len(names)} names",
                 f"{len(mine)} {len(theirs)} {run.stderr.decode()} {said[-2000:]}"):
        return
    other = [f"{name}: pesa {[one[m] for m in MEMBERS]}, perf {[two[m] for m in MEMBERS]}"
             for name, one, two in zip(names, mine, theirs) if any(one[m] != two[m] for m in MEMBERS if m not in but(name))]
    check(not other, f"{what}: they mean the same", "\n".join(other))


# ---- Stock perf --------------------------------------------------------------------------------
if not PERF:
    skip("perf means the same", needs("linux-perf"))
else:
    compare(HARDWARE, "hardware events")
    compare(SOFTWARE, "software events")
    names = list(dict.fromkeys(cache_names()))
    # Generic events take precedence over caches of branches.
    compare([name for name in names if name not in HARDWARE], "cache events in every form")
    compare(["r0", "r1a2", "rffff", "r1234567890abcdef", "r1:u", "r1a:kp"], "raw events")
    modifiers = ["u", "k", "h", "uk", "kh", "ukh", "p", "pp", "ppp", "up", "kpp", "H", "G", "uG", "I", "uI", "D", "uD"]
    compare([f"{name}:{modifier}" for name in ("cycles", "instructions", "page-faults", "r1a2", "LLC-loads")
             for modifier in modifiers], "modifiers",
            # Without a modifier perf excludes guests; with some modifiers it counts them, which is probably a mistake.
            but=lambda name: () if set("upGH") & set(name.split(":")[1]) else ("exclude_guest",))
    listed = subprocess.run([PERF, "list", "--no-desc"], capture_output=True, text=True, check=False).stdout
    tracepoints = re.findall(r"^ +([\w-]+:[\w-]+) +\[Tracepoint event\]", listed, re.M)
    if os.geteuid() or not tracepoints:
        skip("tracepoints mean the same", "they cannot be seen here")
    else:
        step = max(1, len(tracepoints) // 40)
        compare(tracepoints[::step], "tracepoints")
    # perf prints them as PMU/NAME/, or as NAME OR PMU/NAME/.
    aliases = re.findall(r"(\w+/[\w.-]+/) +\[Kernel PMU event\]", listed)
    aliases = [name for name in aliases if not name.startswith("pesa/")][:10]
    if aliases:
        compare(aliases, "events of the kernel's PMUs", alone=True)
    else:
        skip("events of the kernel's PMUs mean the same", "there are none")
    generic = [re.split(r" OR | +\[", line.strip()) for line in listed.splitlines()
               if re.search(r"\[(Software|Hardware|Hardware cache) event\]", line)]
    mine, run = meanings(",".join(name for names in generic for name in names[:-1]))
    check(len(mine) == sum(len(names) - 1 for names in generic) > 10, "pesa knows every generic name of perf list",
          run.stderr.decode())

# ---- Standard RISC-V names ---------------------------------------------------------------------
pairs = (("CYCLES.HART", "cycles"), ("inst.ret", "instructions"), ("INST.BRJMP.RET", "branches"),
         ("INST.MISPRED.RET:u", "branch-misses:u"), ("CACHE.L1D.RD.DATA.MISS", "L1-dcache-load-misses"),
         ("TLB.L1I.CODE.MISS", "iTLB-load-misses"))
mine, run = meanings(",".join(name for pair in pairs for name in pair))
check(len(mine) == 2 * len(pairs) and all(
    all(one[member] == two[member] for member in MEMBERS) for one, two in zip(mine[::2], mine[1::2])),
      "standard RISC-V names are the generic events that count the same", run.stderr.decode())

# ---- What is no name ---------------------------------------------------------------------------
for name, text in (("cycle", r"do you mean 'cycles'\?"), ("instructoins", r"do you mean 'instructions'\?"),
                   ("L1-dcache-load-mises", "'L1-dcache-load-misses'"), ("INST.RETT", "'INST.RET'"),
                   ("qqqqqqqqqqqqqq", "there is no event"), ("cycles:x", "'x' are no modifiers"),
                   ("cycles:pppp", "more precise than ppp"), ("nosuch/event=1/", "no PMU 'nosuch'"),
                   ("{cycles", "should be a group"), ("{}", "should be a group"), ("a,,b", "an event is missing"),
                   ("{cycles}instructions", "a comma should stand"), ("", "an event is missing"),
                   ("c" * 200, "is no event")):
    mine, run = meanings(name)
    message = run.stderr.decode()
    check(run.returncode == 1 and message.count("\n") == 1 and re.search("^pesa list: .*" + text, message),
          f"refused: {name[:40]}", message)

# ---- Event files -------------------------------------------------------------------------------
def write(path, text):
    path = os.path.join(work, path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as out:
        out.write(text)


def files(*words):
    run = command(PESA, "list", "--json", *words)
    return {one["name"]: one["terms"] for one in json.loads(run.stdout)["names"] if one["kind"] == "file"}, run


write("kernel/mapfile.csv", "# comment\n0x489-0x7-0x[[:xdigit:]]+,v1,vendor/one,core\n0x489-0x8-0x0,v1,vendor/two,core\n"
      "0x489-0x8-0x0,v1,vendor/one,uncore\n")
write("kernel/standard.json", '[{"EventName": "FW_TIMER", "ConfigCode": "0x8000000000000005", "BriefDescription": "a"}]')
write("kernel/vendor/one/a.json", '[{"EventName": "MISSES", "EventCode": "0x102"}, {"ArchStdEvent": "FW_TIMER"}]')
write("kernel/vendor/one/b.json", '[{"EventName": "OTHER", "EventCode": 7, "UMask": "0x0", "Filter": "x=1"}]')
write("kernel/vendor/two/a.json", '[{"EventName": "TWO", "EventCode": "2"},\n {"EventName": "NOTHING"},\n'
      ' {"MetricName": "m", "MetricExpr": "a / b"},\n {"EventName": "LAST", "ConfigCode": "9"}]')
directory = ["--event-directory", os.path.join(work, "kernel")]
found, run = files(*directory, "--cpu-id", "0x489-0x7-0xabc")
check(found == {"MISSES": "cpu/event=0x102/", "FW_TIMER": "cpu/config=0x8000000000000005/",
                "OTHER": "cpu/event=0x7,x=1/"} and not run.stderr, "the files of the processor are read", found)
found, run = files(*directory, "--cpu-id", "0x489-0x8-0x0")
check(found == {"TWO": "cpu/event=0x2/", "LAST": "cpu/config=0x9/"} and
      re.search(r"two/a\.json:2: event NOTHING has neither", run.stderr.decode()) and run.returncode == 0,
      "an entry that makes no sense is reported with file and line, and passed over", run.stderr.decode())
check(not files(*directory, "--cpu-id", "0x489-0x70-0x0")[0], "another processor has none")
check(not files(*directory, "--cpu-id", "00x489-0x8-0x0")[0], "the whole id must match")
run = command(PESA, "list", "--event-directory", os.path.join(work, "kernel"))
check(os.uname().machine == "riscv64" or (run.returncode == 1 and b"--cpu-id" in run.stderr),
      "without an id there is no choice", run.stderr.decode())
found, run = files("--event-directory", os.path.join(work, "kernel/vendor/one"))
check(set(found) == {"MISSES", "OTHER"} and b"no standard event FW_TIMER" in run.stderr,
      "a directory without a map is taken as it is", run.stderr.decode())
check(command(PESA, "list", "--event-directory", work + "/none").returncode == 1, "a directory that is not there")
for name, text, what in (("cut", '[{"EventName": "A", "EventCode": "1"},\n{"EventName"', r"cut\.json:2: .*ends"),
                         ("object", '{"EventName": "A"}', r"object\.json:1: .*array"),
                         ("word", '[\n\n{"EventName": B}]', r"word\.json:3: "),
                         ("comma", '[{"EventName": "A", "EventCode": "1"}\n {}]', r"comma\.json:2: a comma"),
                         ("code", '[{"EventName": "A", "EventCode": "x"}]', r"code\.json:1: EventCode is no number"),
                         ("name", '[{"EventName": "A/B", "EventCode": "1"}]', r"name\.json:1: 'A/B' is no name"),
                         ("msr", '[{"EventName": "A", "EventCode": "1", "MSRIndex": "0x1"}]', "MSRIndex is not"),
                         ("empty", "", r"empty\.json:1: .*array")):
    write(f"{name}/{name}.json", text)
    run = command(PESA, "list", "--event-directory", os.path.join(work, name))
    check(run.returncode == 0 and run.stderr.count(b"\n") == 1 and re.search(what, run.stderr.decode()),
          f"event file: {name}", run.stderr.decode())
write("map/mapfile.csv", "0x1-0x2-0x3,v1\n")
run = command(PESA, "list", "--event-directory", os.path.join(work, "map"), "--cpu-id", "0x1-0x2-0x3")
check(re.search(rb"mapfile\.csv:1: should be ID", run.stderr) and run.stderr.count(b"\n") == 1, "a map's line", run.stderr)
installed, run = files("--cpu-id", "0x489-0x8000000000000007-0x421")
check(installed.get("DATA_TLB_MISS") == "cpu/event=0x1002/" and not run.stderr and
      installed.get("FW_SET_TIMER") == "cpu/config=0x8000000000000005/", "event files come with pesa", installed)
for path in ("share/pesa/events/mapfile.csv", "share/pesa/events/thead/c900/cache.json"):
    check(os.path.exists(os.path.join(BUILD, path)), f"{path} is built from {TOP and 'tools/events'}")


# Numbers of events against those of the kernel's own files, where its source is (the board's).
theirs = sorted(glob.glob(os.path.expanduser("~/.cache/pesa/board/linux-source-*/tools/perf/pmu-events/arch/riscv")))
if theirs:
    for ours, their in (("andes/ax45", "andes/ax45"), ("sifive/u74", "sifive/u74"), ("starfive/dubhe-80", "starfive/dubhe-80"),
                        ("thead/c900", "thead/c900-legacy")):
        numbers = []
        for folder in (f"{TOP}/tools/events/{ours}", f"{theirs[-1]}/{their}"):
            entries = [one for path in glob.glob(f"{folder}/*.json") for one in json.load(open(path, encoding="utf-8"))]
            numbers.append({one["EventName"]: int(one["EventCode"], 16) for one in entries if "EventCode" in one})
        check(numbers[0] == numbers[1] and len(numbers[0]) > 10, f"{ours}: the events of the kernel's perf",
              set(numbers[0].items()) ^ set(numbers[1].items()))
else:
    skip("events of processors are those of the kernel's perf", "the board's kernel source is not here (make board)")

shutil.rmtree(work)
end()
