#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Exports have the same values as reports: on a recording with known samples, on a recording of the virtual core, and on one
of stock perf.  Independent readers: the real pprof, Python's csv and json, a reader of Protocol Buffers."""
import csv
import io
import json
import os
import pty
import re
import shutil
import subprocess
import tempfile

from pprof_profile import Profile, pprof
from tap import TOP, BUILD, PESA, CROSS, QEMU, bail_out, check, command, end, needs, skip

MAKE = os.path.join(BUILD, "tests/tools/make_profile")
STATES = ["retiring", "stalled", "flushed", "drained"]
FORMATS = ["pprof", "folded", "speedscope", "firefox", "csv"]
work = tempfile.mkdtemp(prefix="pesa-export-")
os.chdir(work)
for variable in ("NO_COLOR", "DEBUGINFOD_URLS"):
    os.environ.pop(variable, None)
os.environ["LC_ALL"] = "C.UTF-8"


def pesa(*words, stdin=None):
    done = subprocess.run([PESA, *words], capture_output=True, input=stdin)
    done.err = done.stderr.decode("utf-8", "replace")
    return done


def report(recording, *words):
    done = pesa("report", "--json", "-i", recording, *words)
    return json.loads(done.stdout) if done.stdout else {}


def export(recording, kind, *words):
    """The text of an export; of pprof's a file name."""
    name = f"{recording}.{kind}"
    done = pesa("export", "-f", kind, "-i", recording, "-o", name, *words)
    if done.returncode:
        check(False, f"{recording} is exported as {kind}", done.err)
        return "" if kind != "pprof" else None
    if kind == "pprof":
        return name
    with open(name, encoding="utf-8", newline="") as file:
        return file.read()


def folded(text):
    """Cycles of each stack; no two lines have the same."""
    stacks = {}
    for line in text.splitlines():
        stack, cycles = re.fullmatch(r"(.+) (\d+)", line).groups()
        assert stack not in stacks, stack
        stacks[stack] = int(cycles)
    return stacks


def rows_of(text):
    return list(csv.DictReader(io.StringIO(text, newline=""), strict=True))


def number(text):
    return float(text) if text else 0.0


def added(pairs):
    sums = {}
    for key, value in pairs:
        sums[key] = sums.get(key, 0) + value
    return sums


def far(one, other, distance):
    """The keys whose values differ by more than the tolerance."""
    return {key: (one.get(key, 0), other.get(key, 0)) for key in set(one) | set(other)
            if abs(one.get(key, 0) - other.get(key, 0)) > distance}


# ---- Documents against their formats -----------------------------------------------------------
# speedscope: the types of src/lib/file-format-spec.ts, from which its file-format-schema.json is generated.

FRAME = {"type": "object", "required": ["name"], "additionalProperties": False, "properties": {
    "name": {"type": "string"}, "file": {"type": "string"}, "line": {"type": "number"}, "col": {"type": "number"}}}
SAMPLED = {"type": "object", "additionalProperties": False,
           "required": ["type", "name", "unit", "startValue", "endValue", "samples", "weights"], "properties": {
               "type": {"const": "sampled"}, "name": {"type": "string"}, "startValue": {"type": "number"},
               "endValue": {"type": "number"},
               "unit": {"enum": ["none", "nanoseconds", "microseconds", "milliseconds", "seconds", "bytes"]},
               "samples": {"type": "array", "items": {"type": "array", "items": {"type": "integer", "minimum": 0}}},
               "weights": {"type": "array", "items": {"type": "number"}}}}
SPEEDSCOPE = {"type": "object", "required": ["$schema", "shared", "profiles"], "additionalProperties": False,
              "properties": {"$schema": {"const": "https://www.speedscope.app/file-format-schema.json"},
                             "shared": {"type": "object", "required": ["frames"], "properties": {
                                 "frames": {"type": "array", "items": FRAME}}},
                             "profiles": {"type": "array", "items": SAMPLED}, "name": {"type": "string"},
                             "activeProfileIndex": {"type": "number"}, "exporter": {"type": "string"}}}

# The Firefox Profiler: the types of src/types/profile.ts as they were in version 54 of the processed format
# (docs-developer/CHANGELOG-formats.md says what changed since: sources and texts are shared from 56 and 58 on).
NUMBER, TEXT, INDEX = {"type": "number"}, {"type": "string"}, {"type": "integer", "minimum": 0}
INDEX_OR_NULL = {"anyOf": [INDEX, {"type": "null"}]}
NUMBER_OR_NULL = {"type": ["number", "null"]}


def table(**columns):
    return {"type": "object", "required": ["length", *columns],
            "properties": dict({name: {"type": "array", "items": kind} for name, kind in columns.items()},
                               length=INDEX)}


SAMPLES = table(stack=INDEX_OR_NULL, time=NUMBER, weight=NUMBER)
SAMPLES["required"].append("weightType")
SAMPLES["properties"]["weightType"] = {"enum": ["samples", "tracing-ms", "bytes"]}
THREAD = {
    "processType": TEXT, "processStartupTime": NUMBER, "processShutdownTime": NUMBER_OR_NULL, "registerTime": NUMBER,
    "unregisterTime": NUMBER_OR_NULL, "pausedRanges": {"type": "array"}, "name": TEXT,
    "isMainThread": {"type": "boolean"}, "pid": TEXT, "tid": {"type": ["number", "string"]}, "samples": SAMPLES,
    "markers": table(data={}, name=INDEX, startTime=NUMBER_OR_NULL, endTime=NUMBER_OR_NULL, phase=INDEX, category=INDEX),
    "stackTable": table(frame=INDEX, prefix=INDEX_OR_NULL),
    "frameTable": table(address={"type": "integer", "minimum": -1}, inlineDepth=INDEX, category=INDEX_OR_NULL,
                        subcategory=INDEX_OR_NULL, func=INDEX, nativeSymbol=INDEX_OR_NULL, innerWindowID=INDEX_OR_NULL,
                        line=NUMBER_OR_NULL, column=NUMBER_OR_NULL),
    "funcTable": table(name=INDEX, isJS={"type": "boolean"}, relevantForJS={"type": "boolean"},
                       resource={"type": "integer", "minimum": -1}, fileName=INDEX_OR_NULL, lineNumber=NUMBER_OR_NULL,
                       columnNumber=NUMBER_OR_NULL),
    "resourceTable": table(lib=INDEX_OR_NULL, name=INDEX, host=INDEX_OR_NULL, type=INDEX),
    "nativeSymbols": table(libIndex=INDEX, address=INDEX, name=INDEX, functionSize=INDEX_OR_NULL),
    "stringArray": {"type": "array", "items": TEXT}}
COLOURS = ["transparent", "purple", "green", "orange", "yellow", "lightblue", "blue", "brown", "magenta", "red",
           "lightred", "darkgrey", "grey"]
LIBRARY = ["arch", "name", "path", "debugName", "debugPath", "breakpadId"]
META = {"interval": NUMBER, "startTime": NUMBER, "processType": NUMBER, "product": TEXT, "stackwalk": {"enum": [0, 1]},
        "version": NUMBER, "preprocessedProfileVersion": {"const": 54}, "markerSchema": {"type": "array"},
        "categories": {"type": "array", "contains": {"properties": {"color": {"const": "grey"}}}, "items": {
            "type": "object", "required": ["name", "color", "subcategories"], "properties": {
                "name": TEXT, "color": {"enum": COLOURS},
                "subcategories": {"type": "array", "minItems": 1, "items": TEXT}}}}}
FIREFOX = {"type": "object", "required": ["meta", "libs", "threads"], "properties": {
    "meta": {"type": "object", "required": list(META), "properties": META},
    "libs": {"type": "array", "items": {
        "type": "object", "required": [*LIBRARY, "codeId"],
        "properties": dict({name: TEXT for name in LIBRARY}, codeId={"type": ["string", "null"]})}},
    "threads": {"type": "array", "items": {"type": "object", "required": list(THREAD), "properties": THREAD}}}}


def against(schema, document, what):
    """Of an exact profile, whose tables are long and like those of a sampled one, this would take seconds."""
    if what.endswith("exact"):
        return
    try:
        import jsonschema
    except ImportError:
        skip(f"{what} is what its types say", needs("python3-jsonschema"))
        return
    wrong = [f"{'/'.join(map(str, one.absolute_path))}: {one.message[:200]}"
             for one in jsonschema.Draft7Validator(schema).iter_errors(document)]
    check(not wrong, f"{what} is what its types say", "\n".join(wrong[:10]))


def speedscope_profiles(text, what):
    """Per profile its name and cycles by stack, a tuple of names; checked on the way."""
    document = json.loads(text)
    against(SPEEDSCOPE, document, f"speedscope's {what}")
    frames = document["shared"]["frames"]
    wrong = [one["name"] for one in document["profiles"] if len(one["samples"]) != len(one["weights"]) or
             one["endValue"] - one["startValue"] != sum(one["weights"]) or
             any(frame >= len(frames) for stack in one["samples"] for frame in stack)]
    check(not wrong, f"speedscope's {what}: each stack has a weight, frames exist, and the weights fill the profile", wrong)
    return [(one["name"], added((tuple(frames[frame]["name"] for frame in stack), weight)
                                for stack, weight in zip(one["samples"], one["weights"])))
            for one in document["profiles"]]


def broken_tables(document):
    """Invalid references between the tables of a Firefox profile."""
    wrong = []
    for at, thread in enumerate(document["threads"]):
        tables = {name: value for name, value in thread.items() if isinstance(value, dict)}
        for name, value in tables.items():
            wrong += [f"{at} {name}.{column}: {len(cells)}, not {value['length']}" for column, cells in value.items()
                      if isinstance(cells, list) and len(cells) != value["length"]]
        categories = document["meta"]["categories"]
        for name, column, size in (("samples", "stack", thread["stackTable"]["length"]),
                                   ("stackTable", "frame", thread["frameTable"]["length"]),
                                   ("frameTable", "func", thread["funcTable"]["length"]),
                                   ("frameTable", "category", len(categories)),
                                   ("funcTable", "resource", thread["resourceTable"]["length"]),
                                   ("funcTable", "name", len(thread["stringArray"])),
                                   ("funcTable", "fileName", len(thread["stringArray"])),
                                   ("resourceTable", "lib", len(document["libs"])),
                                   ("resourceTable", "name", len(thread["stringArray"]))):
            wrong += [f"{at} {name}.{column}: {cell}" for cell in tables[name][column]
                      if cell is not None and cell >= size]
        wrong += [f"{at} stack {index} has the prefix {prefix}"
                  for index, prefix in enumerate(thread["stackTable"]["prefix"]) if prefix is not None and prefix >= index]
        frames = thread["frameTable"]
        wrong += [f"{at} frame {index}: subcategory" for index in range(frames["length"])
                  if frames["subcategory"][index] >= len(categories[frames["category"][index]]["subcategories"])]
        if thread["samples"]["time"] != sorted(thread["samples"]["time"]):
            wrong.append(f"{at}: samples are not in the order of time")
    return wrong


def firefox_samples(text, what):
    """(thread, stack of names outermost first, category, subcategory, line of the innermost frame, weight)."""
    document = json.loads(text)
    against(FIREFOX, document, f"Firefox's {what}")
    wrong = broken_tables(document)
    check(not wrong, f"Firefox's {what}: columns are as long as their tables, and references lead somewhere", wrong[:5])
    result = []
    for thread in document["threads"]:
        frames, stacks = thread["frameTable"], thread["stackTable"]
        for index, weight in zip(thread["samples"]["stack"], thread["samples"]["weight"]):
            innermost = stacks["frame"][index]
            category = document["meta"]["categories"][frames["category"][innermost]]
            names = []
            while index is not None:
                names.insert(0, thread["stringArray"][thread["funcTable"]["name"][frames["func"][stacks["frame"][index]]]])
                index = stacks["prefix"][index]
            result.append((thread["tid"], tuple(names), category["name"],
                           category["subcategories"][frames["subcategory"][innermost]], frames["line"][innermost], weight))
    return result


# ---- A recording whose every sample is known ----------------------------------------------------

def tool(name, *arguments):
    return subprocess.run([CROSS + name, *arguments], capture_output=True, text=True, check=True).stdout


BUILD_ID = "00112233445566778899aabbccddeeff01234567"
source = os.path.join(TOP, "tests/data/symbols/inlined.c")
tool("gcc", "-g", "-O2", f"-Wl,--build-id=0x{BUILD_ID}", "-o", "inlined", source)
symbols = {name: int(address, 16)
           for address, name in re.findall(r"^([0-9a-f]+) \w (\S+)$", tool("nm", "inlined"), re.M)}
addresses = [int(address, 16) for address in
             re.findall(r"^ +([0-9a-f]+):\t", tool("objdump", "-d", "-j", ".text", "inlined"), re.M)]
at = addresses.index(symbols["outermost"])
entry = addresses[at:at + 14]
main = addresses[addresses.index(symbols["main"]) + 3]
BASE, KERNEL, USER = 0x400000, 0xffffffffffffff80, 0xfffffffffffffe00
IN_KERNEL = 0xffffffff80001000


def sample(count, address, state=0, instret=1, cause=0, task="7 7"):
    place = address if address >> 63 else BASE + address
    return f"sample {count} {task} {place:#x} {state} {instret} 0 0 0 0 0 {1 if cause else 0} {cause}"


def chain(*places):
    return "chain " + " ".join(f"{place:#x}" if place >> 16 else f"{BASE + place:#x}" for place in places)


HEAD = ["command ./inlined;x with arguments", "period 1000", "capability core test-core", "capability model test-model",
        "capability cause_names 0:I$miss,1:ITLBmiss,2:mispredict,3:D$miss,4:DTLBmiss,5:alloc-blocked"]
TASKS = ["comm 7 7 first", "comm 7 8 worker", "comm 9 9 odd;\"name,",
         f"map 7 {BASE:#x} 0x1000 0 {work}/inlined {BUILD_ID}", f"map 9 {BASE:#x} 0x1000 0 {work}/inlined {BUILD_ID}"]
KNOWN = HEAD + ["chains"] + TASKS + [
    "cpu 1", sample(200, entry[6], 1, 0, 8),                       # no call chain: a stack of one entry
    chain(KERNEL, USER, entry[4], main + 2),
    sample(90, entry[6], 1, 0, 8 | 16),                            # called from main
    "cpu 2", sample(30, entry[6], 1, 0, 8, "7 8"),                 # another thread and CPU
    chain(KERNEL, IN_KERNEL + 8, IN_KERNEL + 0x100, USER, entry[4], main + 2),
    sample(50, IN_KERNEL, 2, 0, 4),                                # in the kernel, called by the program
    sample(40, entry[7], 3, 0, 1),                                 # the kernel has interrupted: its frames are not callers
    "chain", sample(100, entry[0], instret=3, task="9 9"),         # thirds of a cycle
    "sample 10 9 9 0x99000 0 2 0 0 0 0 0 0 0",                     # in no mapping: the second address is unknown
]
made = command(MAKE, "known", input="\n".join(KNOWN).encode())
if made.returncode:
    bail_out("make_profile:", made.stderr)
whole = report("known", "--sort", "insn")
profile = Profile(export("known", "pprof"))

check(profile.types[:6] == [("cycles", "cycles"), ("executions", "count")] + [(state, "cycles") for state in STATES] and
      profile.default == "cycles" and profile.period == 1000,
      "pprof: values are cycles, executions, and cycles in each state", (profile.types, profile.default, profile.period))
check(profile.sum("cycles") == 520000 == whole["cycles"], "pprof: the cycles add up to those of the recording",
      profile.sum("cycles"))
check(all(sample["values"]["cycles"] == sum(sample["values"][name] for name, unit in profile.types[2:])
          for sample in profile.samples), "pprof: in each sample the states and the unattributed make the cycles")
check({"core: test-core", "model: test-model"} <= set(profile.comments), "pprof: comments name core and model",
      profile.comments)
mapping = next(iter(profile.mappings.values()), {})
check(mapping.get("file") == f"{work}/inlined" and mapping["build_id"] == BUILD_ID and
      mapping["start"] <= entry[6] < mapping["limit"], "pprof: a mapping has its path, build id and addresses",
      profile.mappings)


def one(**labels):
    """The only sample with these labels."""
    found = [sample for sample in profile.samples
             if all(sample["labels"].get(key) == value for key, value in labels.items())]
    return found[0] if len(found) == 1 else {"stack": [], "values": {}, "labels": {}, "found": len(found)}


plain = one(cause=["D$miss"], tid=["7"])
check(plain["values"] and plain["values"]["stalled"] == plain["values"]["cycles"] == 200000 and
      len(plain["stack"]) == 1 and plain["stack"][0]["address"] == entry[6] and
      plain["labels"] == {"cause": ["D$miss"], "cpu": ["1"], "pid": ["7"], "process": ["first"], "state": ["stalled"],
                          "thread": ["first"], "tid": ["7"]}, "pprof: a sample has its place and all labels", plain)
inlined = [line["name"] for line in plain["stack"][0]["lines"]] if plain["stack"] else []
reported = tool("addr2line", "-f", "-i", "-e", "inlined", hex(entry[6])).splitlines()
check(inlined == reported[::2] and inlined[-1] == "outermost" and
      [f"{line['file']}:{line['at']}" for line in plain["stack"][0]["lines"]] == [t.split(" ")[0] for t in reported[1::2]],
      "pprof: inlined frames and lines are those of addr2line", (inlined, reported))
both = one(cause=["D$miss", "DTLBmiss"])
check(both["values"].get("cycles") == 90000 and [place["address"] for place in both["stack"]] == [entry[6], main + 1],
      "pprof: two causes are two labels, and callers stand at their call", both)
check(one(tid=["8"])["labels"].get("thread") == ["worker"] and one(tid=["8"])["labels"].get("process") == ["first"] and
      one(tid=["8"])["labels"].get("cpu") == ["2"], "pprof: a thread is distinguished from its process", one(tid=["8"]))
kernel = one(state=["flushed"])
check(kernel["values"].get("flushed") == 50000 and
      [place["address"] for place in kernel["stack"]] == [IN_KERNEL, IN_KERNEL + 0xff, entry[4], main + 1],
      "pprof: callers of the kernel's instructions are the kernel's, then the program's", kernel)
check([place["address"] for place in one(state=["drained"])["stack"]] == [entry[7], main + 1],
      "pprof: callers of the program's are not those of the kernel that interrupted it", one(state=["drained"]))
lost = one(state=["unattributed"])
check(lost["values"].get("unattributed") == lost["values"].get("cycles") == 5000 and
      lost["stack"][0]["lines"][0]["name"] == "[unattributed: unmapped]",
      "pprof: what no instruction could be given has its reason as its function", lost)
thirds = [sample["values"] for sample in profile.samples if sample["labels"]["pid"] == ["9"] and
          sample["labels"]["state"] == ["retiring"] and sample["stack"][0]["mapping"]]
check(sorted(value["cycles"] for value in thirds) == [33333, 33333, 33334] and
      all(value["executions"] == 100000 for value in thirds), "pprof: thirds are rounded so that they add up", thirds)
check(all("odd;\"name," in sample["labels"]["process"] for sample in profile.samples if sample["labels"]["pid"] == ["9"]),
      "pprof: names of any letters are kept")

stacks = folded(export("known", "folded"))
leaf = ";".join(reversed(inlined))
check(sum(stacks.values()) == 520000 and stacks.get(f"first;{leaf}") == 200000 and
      stacks.get(f"first;main;{leaf}") == 160000,
      "folded: processes, callers and inlined functions are frames", stacks)
check(stacks.get("odd:\"name,;[unattributed: unmapped]") == 5000,
      "folded: semicolons in names become colons, and unattributed cycles are there", stacks)
detailed = folded(export("known", "folded", "--by", "insn", "--states"))
place = f"outermost+{entry[6] - symbols['outermost']:#x}"
check(sum(detailed.values()) == 520000 and detailed.get(f"first;main;{leaf};{place};stalled D$miss+DTLBmiss") == 90000,
      "folded: instruction, state and causes stand above the innermost function", detailed)
lines = folded(export("known", "folded", "--by", "line"))
check(lines.get(f"first;{leaf};{os.path.basename(reported[1].split(' ')[0])}") == 200000, "folded: so does the line", lines)

views = speedscope_profiles(export("known", "speedscope"), "known recording")
check([name for name, _ in views] == ["cycles", "first 7/7", "worker 7/8", "odd;\"name, 9/9"] and
      sum(views[0][1].values()) == 520000 and sum(sum(view.values()) for _, view in views[1:]) == 520000,
      "speedscope: a profile of all cycles, and one of each thread", [(name, sum(view.values())) for name, view in views])
check(added((stack.split(";", 1)[1], cycles) for stack, cycles in stacks.items()) ==
      added((";".join(stack), cycles) for stack, cycles in views[0][1].items()), "speedscope: its stacks are the folded ones")

samples = firefox_samples(export("known", "firefox"), "known recording")
check(sum(sample[-1] for sample in samples) == 520000, "Firefox: weights add up to the cycles of the recording")
check({(sample[2], sample[3]) for sample in samples} == {
    ("stalled", "D$miss"), ("stalled", "D$miss+DTLBmiss"), ("flushed", "mispredict"), ("drained", "I$miss"),
    ("retiring", "Other"), ("unattributed", "Other")}, "Firefox: categories are states, subcategories causes", samples)
check(added((sample[1], sample[-1]) for sample in samples) == views[0][1], "Firefox: its stacks are speedscope's")
check([(sample[0], sample[4], sample[5]) for sample in samples if sample[3] == "D$miss+DTLBmiss"] ==
      [(7, int(reported[1].rsplit(":", 1)[1].split(" ")[0]), 90000)], "Firefox: thread and line are those of the sample")

text = export("known", "csv")
rows = rows_of(text)
check(text.endswith("\r\n") and text.count("\n") == text.count("\r\n"), "csv: lines end with CR LF")
check(added((int(row["address"], 16), number(row["cycles"])) for row in rows if row["address"]) ==
      added((one["address"], one["cycles"]) for one in whole["instructions"]) and
      abs(sum(number(row["cycles"]) for row in rows) - 520000) < 1e-6, "csv: a row for each instruction, with its cycles", text)
stalled = [row for row in rows if row["address"] == hex(entry[6])][0]
check(stalled["stalled"] == stalled["cycles"] == "320000" and stalled["symbol"] == "outermost" and
      stalled["binary"] == f"{work}/inlined" and stalled["file"] == source and stalled["instruction"] and
      number(stalled["cycles_low"]) < 320000 < number(stalled["cycles_high"]), "csv: a row says what is known of it", stalled)
check([row["unattributed"] for row in rows if row["symbol"] == "[unattributed: unmapped]"] == ["5000"],
      "csv: unattributed cycles are a row", text)
check(any('"' in row["instruction"] or "," in row["instruction"] for row in rows) and '"' in text,
      "csv: fields with commas are quoted, and come back as they were")
for by, key in (("symbol", "functions"), ("line", "lines")):
    grouped = rows_of(export("known", "csv", "--by", by))
    wanted = report("known", "--sort", "dso,symbol" if by == "symbol" else "line")[key]
    # What is only in call chains has no cycles of its own.
    check(sorted(number(row["cycles"]) for row in grouped if row["unattributed"] == "0" and number(row["cycles"])) ==
          sorted(group["cycles"] for group in wanted), f"csv --by {by}: rows are those of the report", grouped)

# ---- The real pprof ----------------------------------------------------------------------------

PPROF, why_not = pprof()


def run_pprof(*words):
    return subprocess.run([PPROF, *words], capture_output=True, text=True,
                          env=dict(os.environ, PPROF_BINARY_PATH="/nonexistent", PPROF_TMPDIR=work, HOME=work))


def top(name, index):
    """Flat values by function."""
    done = run_pprof("-top", "-functions", "-noinlines", f"-sample_index={index}", "-nodecount=1000000", "-nodefraction=0",
                     "-unit=" + ("count" if index == "executions" else "cycles"), name)
    found = re.findall(r"^ *(-?[\d.]+)\w* +[\d.]+% +[\d.]+% +-?[\d.]+\w* +[\d.]+%  ?(.*)$", done.stdout, re.M)
    return added((re.sub(r" \(inline\)$", "", function), float(value)) for value, function in found), done


if PPROF:
    raw = run_pprof("-raw", "known.pprof")
    check(raw.returncode == 0 and "core: test-core" in raw.stdout and "Labels" not in raw.stderr and
          raw.stdout.count("state:[") == len(profile.samples), "pprof -raw reads every sample", raw.stderr or raw.stdout[:2000])
    traces = run_pprof("-traces", "known.pprof").stdout
    check(re.search(r"cause: +D\$miss DTLBmiss\n(.*\n)+? +90000 +\S+.*\n(.*\n)*? +main\n-", traces),
          "pprof -traces shows labels and callers", traces)
    listed = run_pprof("-list=outermost", "-unit=cycles", "known.pprof")
    check(re.search(r"^ *66667cycles +66667cycles +\d+:\tif \(value & 1\)$", listed.stdout, re.M),
          "pprof -list shows the source", listed.stdout + listed.stderr)
    peek = run_pprof("-peek=outermost", "-noinlines", "-unit=cycles", "known.pprof").stdout
    check(re.search(r"^ +\d+\w* +[\d.]+% \| +main$", peek, re.M), "pprof -peek shows the caller", peek)
    focused, done = top("known.pprof", "stalled")
    check(focused.get("outermost") == 320000, "pprof -sample_index=stalled has what stalled", focused)
    tagged = run_pprof("-top", "-tagfocus=cause=DTLBmiss", "-unit=cycles", "known.pprof").stdout
    check("Showing nodes accounting for 90000cycles" in tagged, "pprof -tagfocus finds a cause", tagged)
else:
    skip("the real pprof reads the known recording", why_not)


# ---- Recordings of the virtual core -------------------------------------------------------------

def flat_of(whole, value):
    """The expected output of pprof -top: by function, or by binary for functions without a name."""
    return added((one["symbol"] if one["symbol"] != "[unknown]" else f"[{os.path.basename(one['dso'])}]", value(one))
                 for one in whole)


def compare_recording(recording):
    whole = report(recording, "--sort", "dso,symbol")
    instructions = report(recording, "--sort", "insn")["instructions"]
    profile = Profile(export(recording, "pprof"))
    check(profile.sum("cycles") == round(whole["cycles"]) and whole["cycles"] == round(whole["cycles"]),
          f"{recording}: the cycles of pprof's samples are the recording's, exactly",
          (profile.sum("cycles"), whole["cycles"]))
    check(profile.sum("executions") == sum(one["executions"] for one in instructions),
          f"{recording}: so are the executions", profile.sum("executions"))
    states = {state: sum(whole["stack"].get(state, {}).values()) for state in STATES}
    check(all(abs(profile.sum(state) - states[state]) <= 1 for state in STATES),
          f"{recording}: and the cycles of each state, to one", (states, [profile.sum(state) for state in STATES]))
    if PPROF:
        for index in ["cycles", *STATES] if recording == "sampled" else ["flushed"]:
            shown, done = top(f"{recording}.pprof", index)
            wanted = flat_of(whole["functions"], lambda one, index=index: one["cycles"] if index == "cycles" else
                             sum(one["stack"].get(index, {}).values()))
            away = far(shown, wanted, 40)
            check(shown and not away, f"{recording}: pprof -top -sample_index={index} shows each function's cycles",
                  done.stderr or away)
    stacks = folded(export(recording, "folded"))
    names = flat_of(whole["functions"], lambda one: one["cycles"])
    inclusive = added((frame, cycles) for stack, cycles in stacks.items() for frame in set(stack.split(";")[1:]))
    away = {name: (inclusive.get(name.replace(";", ":"), 0), cycles) for name, cycles in names.items()
            if inclusive.get(name.replace(";", ":"), 0) < cycles - 40}
    check(sum(stacks.values()) == round(whole["cycles"]) and not away,
          f"{recording}: folded stacks have all cycles, and those of each function", away)
    views = speedscope_profiles(export(recording, "speedscope"), recording)
    check(sum(views[0][1].values()) == round(whole["cycles"]), f"{recording}: speedscope has all cycles")
    samples = firefox_samples(export(recording, "firefox"), recording)
    by_state = added((sample[2], sample[-1]) for sample in samples)
    check(sum(sample[-1] for sample in samples) == round(whole["cycles"]) and
          all(abs(by_state.get(state, 0) - states[state]) <= 50 for state in STATES),
          f"{recording}: Firefox has all cycles, by state", (by_state, states))
    rows = rows_of(export(recording, "csv"))
    away = far(added(((row["binary"], int(row["address"], 16)), number(row["cycles"])) for row in rows if row["address"]),
               added(((one["dso"], one["address"]), one["cycles"]) for one in instructions), 1e-6)
    broken = [row for row in rows if abs(number(row["cycles"]) - sum(
        number(row[state]) for state in [*STATES, "unknown", "unattributed"])) > 1e-6]
    check(not away and not broken, f"{recording}: csv has the cycles of each instruction, and states that add up to them",
          (list(away.items())[:5], broken[:3]))


program = os.path.join(BUILD, "programs/bzip2")
if not QEMU:
    skip("a recording of the virtual core", needs("qemu-user"))
else:
    if not os.access(program, os.X_OK):
        command(os.path.join(TOP, "tools/programs"), "-o", os.path.join(BUILD, "programs"), "bzip2")
    with open(PESA, "rb") as file, open("input", "wb") as out:
        out.write(file.read(12000))
    done = pesa("record", "-q", "-c", "377", "-o", "sampled", "--golden", "exact", "--", program, "-kf9", "input")
    if check(done.returncode == 0, "bzip2 is recorded", done.err):
        compare_recording("sampled")
        compare_recording("exact")

# ---- Call chains of stock perf ------------------------------------------------------------------

with open("chains.c", "w", encoding="utf-8") as out:
    out.write("""#define DEEP __attribute__((noinline, noipa)) int
volatile int sink;
DEEP inner(int n) { for (int i = 0; i < n; i++) sink += i; return sink; }
DEEP left(int n) { return inner(n) + 1; }
DEEP right(int n) { return inner(n) + 2; }
DEEP again(int depth, int n) { return depth ? again(depth - 1, n) + 1 : inner(n) + 3; }
int main(void) { for (int i = 0; i < 400; i++) { left(200000); right(100000); again(3, 100000); } return 0; }
""")
INTERESTING = {"inner", "left", "right", "again", "main"}
SHAPES = {  # method for call chains, and compiler options with which only this method works
    "frame pointers": ("-g", "-fno-omit-frame-pointer"),
    "copied stacks": ("--call-graph=dwarf,4096", "-fomit-frame-pointer"),
}
perf = shutil.which("perf")


def of_interest(stacks):
    """Cycles by stack, of which only the functions above are looked at."""
    return added((";".join(name for name in stack if name in INTERESTING), cycles) for stack, cycles in stacks)


def compare_chains(shape):
    option, flag = SHAPES[shape]
    made = command("gcc", "-O2", flag, "-fno-optimize-sibling-calls", "-o", "chains", "chains.c") if perf else None
    if not made or made.returncode:
        skip(f"{shape} of stock perf", "its program cannot be built" if perf else needs("linux-perf"))
        return False
    done = command(perf, "record", "-q", option, "-e", "cpu-clock:u", "-c", "1000000", "-o", "stock", "--", "./chains")
    script = command(perf, "script", "-i", "stock", "--no-inline", "-F", "ip,sym") if done.returncode == 0 else done
    if done.returncode or not script.stdout.strip():
        skip(f"{shape} of stock perf", "perf cannot record here")
        return False
    reported = of_interest((reversed(re.findall(r"^\s*[0-9a-f]+ (\S+)", stack, re.M)), 1000000)
                       for stack in script.stdout.decode().split("\n\n") if stack.strip())
    quiet = pesa("export", "-f", "folded", "-i", "stock", "-o", "stock.folded")
    with open("stock.folded", encoding="utf-8") as file:
        ours = of_interest((stack.split(";"), cycles) for stack, cycles in folded(file.read()).items())
    check(ours == reported and any("main;again;again" in stack for stack in ours),
          f"stacks by {shape} are those that perf script prints", (ours, reported))
    check(quiet.returncode == 0 and "only their PC" in quiet.err and quiet.err.count("\n") == 1,
          f"{shape}: what such samples do not tell is said in a line", quiet.err)
    plain = Profile(export("stock", "pprof"))
    check(plain.types == [("cpu-clock", "nanoseconds")] and plain.sum("cpu-clock") == sum(reported.values()),
          f"{shape}: pprof's samples have one value, named after their event", plain.types)
    return True


compare_chains("copied stacks")
if compare_chains("frame pointers"):
    for kind in ("speedscope", "firefox", "csv"):
        check(export("stock", kind), f"{kind}: samples without details are exported")

# ---- Bad input and use --------------------------------------------------------------------------

for words, part in ((["-f", "gif"], "gif"), ([], "which format"), (["-f", "pprof", "--by", "line"], "--by"),
                    (["-f", "csv", "--states"], "--states"), (["-f", "folded", "--by", "day"], "day"),
                    (["-f", "folded", "--json"], "-o")):
    done = pesa("export", "-i", "known", *words)
    check(done.returncode == 2 and part in done.err and not done.stdout, f"export {' '.join(words)} is refused", done.err)
master, slave = pty.openpty()
done = subprocess.run([PESA, "export", "-f", "pprof", "-i", "known"], stdout=slave, stderr=subprocess.PIPE, text=True)
os.close(slave)
os.close(master)
check(done.returncode == 2 and "terminal" in done.stderr, "binary output is not written to a terminal", done.stderr)
piped = pesa("export", "-f", "pprof", "-i", "known", "-o", "-")
with open("known.pprof", "rb") as file:
    check(piped.returncode == 0 and piped.stdout == file.read(), "but to a pipe, the same every time")
done = pesa("export", "-f", "csv", "-i", "known", "-o", "absent/file")
check(done.returncode == 1 and done.err.count("\n") == 1 and "absent/file" in done.err,
      "an output file that cannot be made is one line", done.err)
for kind in FORMATS:
    if os.path.exists("/dev/full"):
        with open("/dev/full", "wb") as full:
            done = subprocess.run([PESA, "export", "-f", kind, "-i", "known"], stdout=full, stderr=subprocess.PIPE, text=True)
        check(done.returncode == 1 and "could not be written" in done.stderr, f"{kind}: a full disk is reported", done.stderr)
with open("known", "rb") as file:
    data = file.read()
with open("cut", "wb") as file:
    file.write(data[:len(data) * 2 // 3])
for kind in FORMATS:
    done = pesa("export", "-f", kind, "-i", "cut", "-o", f"cut.{kind}")
    check(done.returncode == 1 and "damaged" in done.err and os.path.getsize(f"cut.{kind}") > 0,
          f"{kind}: of a damaged recording the rest is exported, and the exit status says so", done.err)
damaged = Profile("cut.pprof")
check(0 < damaged.sum("cycles") == report("cut")["cycles"], "its cycles are those that could be read")
command(MAKE, "empty", input="\n".join(HEAD + TASKS).encode())
done = pesa("export", "-f", "folded", "-i", "empty")
check(done.returncode == 1 and "no samples" in done.err and not done.stdout, "a recording without samples is one line", done.err)
gone = "\n".join(KNOWN).replace(f"{work}/inlined", f"{work}/gone")
command(MAKE, "nofile", input=gone.encode())
missing = Profile(export("nofile", "pprof"))
check(missing.sum("cycles") == 520000 and not missing.sum("unattributed") < 10000,
      "without the binaries cycles are exported by address", missing.sum("unattributed"))
said = pesa("export", "-f", "csv", "-i", "known", "-o", "out.csv", "--json")
document = json.loads(said.stdout or "{}")
check(document.get("command") == "export" and document.get("output") == "out.csv" and document.get("cycles") == 520000,
      "--json says what was exported", said.stdout)
latin = [line.replace("comm 7 8 worker", "comm 7 8 w\udcffrker") for line in KNOWN]
command(MAKE, "latin", input="\n".join(latin).encode("utf-8", "surrogateescape"))
check(any(sample["labels"]["thread"] == ["w\ufffdrker"] for sample in Profile(export("latin", "pprof")).samples) and
      any(name.startswith("w\ufffdrker") for name, _ in speedscope_profiles(export("latin", "speedscope"), "odd names")),
      "names that are no UTF-8 have a replacement character")

# ---- FlameGraph ----------------------------------------------------------------------------------

script = shutil.which("flamegraph.pl") or shutil.which("flamegraph")
if not script:
    skip("FlameGraph draws folded stacks", "flamegraph.pl is not installed; the distribution has no package of it")
else:
    done = command(script, "--countname", "cycles", "known.folded")
    svg = done.stdout.decode("utf-8", "replace")
    total = re.search(r"<title>all \(([\d,]+) cycles, 100%\)</title>", svg)
    check(total and int(total.group(1).replace(",", "")) == sum(folded(export("known", "folded")).values()),
          "FlameGraph draws folded stacks, with all their cycles", done.stderr)

os.chdir("/")
shutil.rmtree(work, ignore_errors=True)
end()
