#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Measure how near sampled profiles of real programs are to the exact ones, and write the table.

Each program runs on each core with every sampler and the exact profile, and each sampler's profile is compared with that.
Its input is as large as it takes for the wanted number of samples at a period of 288 cycles, the shortest one that leaves
room for jitter, or somewhat longer.  How large that is comes from the cycles of an earlier run, which O/accuracy.cycles keeps; where
that is missing, from a run with a small input.  What was measured stands in O/accuracy.partial until the document is written: a run
that was interrupted goes on where it was, with the same build.

  tests/accuracy/accuracy.py [-o FILE] [--samples N] [--programs NAMES] [--cores NAMES] [--json FILE]
  tests/accuracy/accuracy.py --topdown ...    the top-down shares alone: one short run of each, no exact profile
  tests/accuracy/accuracy.py --sampled ...    sampled recordings (sampled.py): a section of the document
  tests/accuracy/accuracy.py --timed ...      timed branches (timed.py): another section

O is the build directory; programs are built into it by tools/programs where they are missing.
"""
import argparse
import array
import concurrent.futures
import datetime
import glob
import io
import json
import math
import os
import random
import re
import subprocess
import sys
import tempfile
import threading

from columns import wrapped

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
O = os.path.abspath(os.environ.get("O", os.path.join(TOP, "build")))
PESA = os.environ.get("PESA", os.path.join(O, "bin/pesa"))
EVENTS = {"shpms": "pesa/cycles/", "next-commit": "pesa/next-commit/", "last-commit": "pesa/last-commit/",
          "dispatch": "pesa/dispatch/", "lcofi": "pesa/lcofi/"}

LUA = """
local words, state = {}, 1
for i = 1, %d do
    state = (state * 1103515245 + 12345) %% 2147483648
    local key = "k" .. state %% 997
    words[key] = (words[key] or 0) + #key * 1.5
end
local keys = {}
for key in pairs(words) do keys[#keys + 1] = key end
table.sort(keys)
print(#keys, words[keys[1]])
"""

SQL = """
CREATE TABLE part(id INTEGER PRIMARY KEY, name TEXT, weight REAL);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)
INSERT INTO part SELECT i, 'part' || (i * 7919 %% 4001), i * 0.37 FROM n;
CREATE INDEX by_name ON part(name);
SELECT count(*), sum(weight) FROM part WHERE name LIKE 'part1%%';
SELECT a.name, count(*) FROM part a JOIN part b ON b.name = 'part' || (a.id %% 50) GROUP BY a.name ORDER BY 2 DESC LIMIT 3;
"""


# ---- Programs and their inputs: the same on every machine ------------------------------------------------------------


def text(folder, size):
    """Words that follow a power law, as those of languages do."""
    random.seed(1)
    words = ["".join(random.choice("etaoinshrdlucmfwyp") for _ in range(random.randint(2, 9))) for _ in range(4000)]
    path = os.path.join(folder, f"text-{size}")
    with open(path, "w", encoding="ascii") as out:
        written = 0
        while written < size:
            line = " ".join(words[int(4000 * random.random() ** 3)] for _ in range(random.randint(4, 14))) + ".\n"
            out.write(line)
            written += len(line)
    return path


def numbers(folder, lines):
    random.seed(2)
    path = os.path.join(folder, "numbers")
    with open(path, "w", encoding="ascii") as out:
        for _ in range(lines):
            out.write(f"{random.randint(0, 10 ** 9)} {random.random():.6f} {random.choice('abcdefgh')}\n")
    return path


def image(folder, width, height):
    """Shapes, gradients and some noise."""
    random.seed(3)
    path = os.path.join(folder, "image.ppm")
    pixels = bytearray()
    for y in range(height):
        for x in range(width):
            inside = (x - width / 3) ** 2 + (y - height / 2) ** 2 < (height / 4) ** 2
            pixels += bytes((int(255 * x / width) ^ (64 if inside else 0),
                             int(127 + 120 * math.sin(x * y / 900)), random.randint(0, 31) + 4 * (y % 32)))
    with open(path, "wb") as out:
        out.write(b"P6\n%d %d\n255\n" % (width, height) + pixels)
    return path


def sound(folder, seconds):
    random.seed(4)
    path = os.path.join(folder, "sound.wav")
    rate = 22050
    samples = array.array("h", (int(9000 * math.sin(i / 9) + 5000 * math.sin(i / 31 + math.sin(i / 4000))
                                    + random.randint(-300, 300)) for i in range(int(rate * seconds))))
    if sys.byteorder == "big":
        samples.byteswap()
    data = samples.tobytes()
    with open(path, "wb") as out:
        out.write(b"RIFF" + (36 + len(data)).to_bytes(4, "little") + b"WAVEfmt " + (16).to_bytes(4, "little")
                  + (1).to_bytes(2, "little") * 2 + rate.to_bytes(4, "little") + (2 * rate).to_bytes(4, "little")
                  + (2).to_bytes(2, "little") + (16).to_bytes(2, "little") + b"data"
                  + len(data).to_bytes(4, "little") + data)
    return path


def assembly(folder, lines):
    random.seed(5)
    path = os.path.join(folder, "code.asm")
    registers = ["rax", "rbx", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11"]
    with open(path, "w", encoding="ascii") as out:
        out.write("section .text\nglobal start\nstart:\n")
        for i in range(lines):
            a, b = random.choice(registers), random.choice(registers)
            out.write(random.choice((f"  mov {a}, {b}\n", f"  add {a}, [{b}+{i % 4096}]\n", f"label{i}: imul {a}, {b}\n",
                                     f"  cmp {a}, {i}\n  jne start\n", f"  lea {a}, [{b}*4+rel{i % 7}]\n",
                                     f"  dq {i} * 3 + (label_{i % 5} - start)\n")))
        for i in range(7):
            out.write(f"rel{i} equ {i * 16}\n")
        for i in range(5):
            out.write(f"label_{i}:\n")
    return path


def source(folder, functions):
    random.seed(6)
    path = os.path.join(folder, "code.c")
    with open(path, "w", encoding="ascii") as out:
        out.write("struct node { struct node *next; long value; char name[16]; };\n")
        for i in range(functions):
            out.write(f"static long f{i}(struct node *n, int a)\n{{\n\tlong sum = {i};\n"
                      f"\tfor (int i = 0; i < a; i++) {{\n\t\tif (n->value > {i % 17})\n\t\t\tsum += n->value * {i % 9 + 2};\n"
                      f"\t\telse\n\t\t\tsum ^= n->name[i & 15] << {i % 5};\n\t\tn = n->next;\n\t}}\n"
                      f"\treturn sum{f' + f{i - 1}(n, a - 1)' if i else ''};\n}}\n")
        out.write(f"long start(struct node *n) {{ return f{functions - 1}(n, 9); }}\n")
    return path


KINDS = {
    "bzip2": "compressor", "zstd": "compressor", "xz": "compressor", "lua": "interpreter", "sqlite3": "database",
    "nettle-hash": "cryptography", "cwebp": "image encoder", "cwebp-vector": "the same with vectors",
    "flac": "audio encoder", "nasm": "assembler", "tcc": "compiler", "sort": "sorting",
}


def program(name, folder, scale):
    """The command with its input, standard input, and the emulator's CPU."""
    def times(number):
        return max(1, int(number * scale))

    def side(pixels):
        return max(16, int(pixels * scale ** 0.5))

    def script():
        path = os.path.join(folder, "script.lua")
        with open(path, "w", encoding="utf-8") as out:
            out.write(LUA % times(140000))
        return path

    def webp():
        return ["cwebp", "-quiet", image(folder, side(420), side(320)), "-o", os.path.join(folder, "output")]
    command = {
        "bzip2": lambda: ["bzip2", "-kc", text(folder, times(400000))],
        "zstd": lambda: ["zstd", "-q", "-6", "-c", text(folder, times(400000))],
        "xz": lambda: ["xz", "-1", "-kc", text(folder, times(400000))],
        "lua": lambda: ["lua", script()],
        "sqlite3": lambda: ["sqlite3"],
        "nettle-hash": lambda: ["nettle-hash", "-a", "sha256", text(folder, times(5400000))],
        "cwebp": webp,
        "cwebp-vector": webp,
        "flac": lambda: ["flac", "-s", "-f", "-6", "-c", sound(folder, 30 * scale)],
        "nasm": lambda: ["nasm", "-f", "elf64", "-o", os.path.join(folder, "output"), assembly(folder, times(4000))],
        "tcc": lambda: ["tcc", "-nostdinc", "-c", "-o", os.path.join(folder, "output"), source(folder, times(4000))],
        "sort": lambda: ["sort", "-k2,2", "-S", "64M", "--parallel=1", numbers(folder, times(80000))],
    }[name]()
    return (command, (SQL % times(14000)).encode() if name == "sqlite3" else None,
            "rv64,v=true" if name == "cwebp-vector" else None)


# ---- One program on one core -----------------------------------------------------------------------------------------


class Failed(Exception):
    pass


def run(words, **options):
    environment = {"PATH": os.environ["PATH"], "LC_ALL": "C"}
    for name in ("PESA_QEMU", "HOME", "XDG_CACHE_HOME"):
        if name in os.environ:
            environment[name] = os.environ[name]
    done = subprocess.run(words, capture_output=True, env=environment, **options)
    if done.returncode:
        raise Failed(f"{' '.join(words)}: status {done.returncode}\n{done.stderr.decode(errors='replace')}")
    return done.stdout


def record(common, period, folder, standard_input, samplers):
    """Record; returns the summary."""
    data, golden, summary = (os.path.join(folder, what) for what in ("perf.data", "golden.data", "summary"))
    run([PESA, "record", "-q", "-c", str(period), "--sampler", ",".join(samplers), "-o", data, "--golden", golden,
         "--json=" + summary] + common, input=standard_input)
    with open(summary, encoding="utf-8") as file:
        return json.load(file)


def topdown(data):
    """Shares of the nodes of levels 1 and 2: sampled, its interval, counted at the retire stage and at dispatch."""
    document = json.loads(run([PESA, "topdown", "--json", "--top", "0", "--level", "2", "-i", data]))
    return {one["key"]: {name: one[name] for name in ("level", "name", "share", "interval", "counted", "counted_dispatch")}
            for one in document["nodes"]}


PERIOD = 288  # cycles
SMALL = 0.05  # scale of a first run
TRIES = 6


def next_scale(points, target):
    """The scale that takes `target` cycles, from what earlier scales took: there is a part that no input changes."""
    if not points:
        return SMALL
    scale, cycles = points[-1]
    if len(points) == 1 or points[-2][0] == scale or points[-2][1] == cycles:
        return scale * target / cycles
    slope = (cycles - points[-2][1]) / (scale - points[-2][0])
    guess = scale + (target - cycles) / slope
    return min(max(guess, scale / 8), scale * 8)


def measure(name, core, wanted, known, samplers=tuple(EVENTS)):
    """`known`: scale and cycles of an earlier run, None: none was."""
    with tempfile.TemporaryDirectory(prefix="pesa-accuracy-") as folder:
        data, golden = os.path.join(folder, "perf.data"), os.path.join(folder, "golden.data")
        points, period, scale = [known] if known else [], PERIOD, None
        for attempt in range(TRIES):
            if period == PERIOD:
                # A little more than is needed: cycles are not quite proportional to the input.
                scale = next_scale(points, 1.03 * wanted * PERIOD)
            command, standard_input, cpu = program(name, folder, scale)
            common = ["--core", core] + (["--cpu", cpu] if cpu else []) + ["--", os.path.join(O, "programs", name)] \
                + command[1:]
            if not points:
                counts = os.path.join(folder, "counts")
                run([PESA, "stat", "-e", "CYCLES.HART", "--json=" + counts] + common, input=standard_input)
                with open(counts, encoding="utf-8") as file:
                    points.append((scale, json.load(file)["events"][0]["value"]))
                continue
            summary = record(common, period, folder, standard_input, samplers)
            cycles = summary["cycles"]
            points.append((scale, cycles))
            if summary["golden_cycles"] != cycles or summary["lost"]:
                raise Failed(f"{name} on {core}: {summary['lost']} samples lost, {summary['golden_cycles']} of {cycles} cycles")
            if wanted * 0.99 <= cycles / period <= wanted * 1.1:
                break
            if cycles / PERIOD > wanted:
                # A longer period fits the run as it is.
                period = cycles // wanted
            elif attempt == TRIES - 1:
                raise Failed(f"{name} on {core}: {cycles} cycles at scale {scale} are not {wanted} samples")
        result = {"program": name, "core": core, "cycles": cycles, "period": period, "scale": scale,
                  "command": " ".join(os.path.basename(word) if word.startswith(folder) else word for word in command)
                             + (" < input" if standard_input else ""), "samplers": {}}
        result["topdown"] = topdown(data)
        for sampler in samplers:
            result["samplers"][sampler] = json.loads(run([PESA, "error", "--json", "--golden", golden, "-i", data,
                                                          "--event", EVENTS[sampler]]))
    return result


def measure_topdown(name, core, wanted, known):
    """One run with about as many samples, without the exact profile."""
    with tempfile.TemporaryDirectory(prefix="pesa-accuracy-") as folder:
        scale = known[0] * wanted * PERIOD / known[1] if known else SMALL
        command, standard_input, cpu = program(name, folder, scale)
        data, summary = os.path.join(folder, "perf.data"), os.path.join(folder, "summary")
        run([PESA, "record", "-q", "-c", str(PERIOD), "-o", data, "--json=" + summary, "--core", core]
            + (["--cpu", cpu] if cpu else []) + ["--", os.path.join(O, "programs", name)] + command[1:], input=standard_input)
        with open(summary, encoding="utf-8") as file:
            found = json.load(file)
        return {"program": name, "core": core, "cycles": found["cycles"], "samples": found["samples"], "topdown": topdown(data)}


# ---- More samples ----------------------------------------------------------------------------------------------------


def more_samples(results, wanted):
    """shpms with ten times less and ten times more samples."""
    rows = []
    for name in ("bzip2", "zstd"):
        core = "ooo-4"
        known = next((one["scale"], one["cycles"]) for one in results if (one["program"], one["core"]) == (name, core))
        for number in (wanted // 10, wanted, wanted * 10):
            shpms = measure(name, core, number, known, ("shpms",))["samplers"]["shpms"]
            rows.append([name, shpms["samples"], shpms["error"], shpms["floor"]])
    return rows


def write_more_samples(out, rows):
    out.write("""
## More samples

shpms on ooo-4 with inputs of other lengths: the error falls with the floor, as long as there is nothing but chance in it.

| program | samples | shpms | floor | ratio |
| --- | ---: | ---: | ---: | ---: |
""")
    for name, samples, error, floor in rows:
        out.write(f"| {name} | {samples} | {percent(error)} | {percent(floor)} | {error / floor:.3f} |\n")


# ---- Period effects --------------------------------------------------------------------------------------------------

LOOP = """
	.globl _start
_start:	li s0, %d
1:	.rept %d
	addi t0, t0, 1
	.endr
	addi s0, s0, -1
	bnez s0, 1b
	li a0, 0
	li a7, 93
	ecall
"""


def period_effects(wanted):
    """A fixed period and the default jitter on loops, each a chain of additions: as many cycles an iteration as additions."""
    period, rows = 1024, []
    compiler = "gcc" if os.uname().machine == "riscv64" else "riscv64-linux-gnu-gcc"
    with tempfile.TemporaryDirectory(prefix="pesa-accuracy-") as folder:
        loop, data, golden = (os.path.join(folder, what) for what in ("loop", "perf.data", "golden.data"))
        for length in (16, 64, 60, 61):
            with open(loop + ".s", "w", encoding="ascii") as out:
                out.write(LOOP % (period * wanted // length, length))
            run([compiler, "-static", "-nostdlib", loop + ".s", "-o", loop])
            row = [length]
            for jitter in (["--jitter", "0"], []):
                run([PESA, "record", "-q", "--core", "ooo-4", "-c", str(period), *jitter, "-o", data, "--golden", golden, "--",
                     loop])
                error = json.loads(run([PESA, "error", "--json", "--golden", golden, "-i", data]))
                row.append(error["error"])
            rows.append(row + [error["floor"]])
    return rows


def write_effects(out, rows, wanted):
    out.write(f"""
## Period effects

Loops of as many cycles as additions that depend on each other, on ooo-4, a period of 1024 cycles, {wanted} samples: percent of the
cycles that are attributed to another instruction, state or causes. A fixed period that has a divisor in common with the loop sees the
same few instructions of it all the time; the default, intervals that vary by an eighth of the period, does not.

| cycles an iteration | period / iteration | fixed period | default jitter | floor |
| ---: | ---: | ---: | ---: | ---: |
""")
    for length, fixed, jittered, floor in rows:
        out.write(f"| {length} | {1024 / length:.2f} | {percent(fixed)} | {percent(jittered)} | {percent(floor)} |\n")


# ---- Top-down --------------------------------------------------------------------------------------------------------


def holds(node):
    return node["interval"] is not None and node["interval"][0] <= node["counted"] <= node["interval"][1]


def nodes_of(results, level=None):
    return [node for one in results for node in one["topdown"].values() if level in (None, node["level"])]


def held(nodes):
    return f"{sum(map(holds, nodes))} of {len(nodes)} ({100 * sum(map(holds, nodes)) / len(nodes):.1f} %)"


def write_topdown(out, results):
    everything = nodes_of(results)
    half = [(node["interval"][1] - node["interval"][0]) / 2 for node in everything]
    out.write(f"""
## Top-down: sampled against counted

The slots of the retire stage, by the same rule estimated from samples (`pesa topdown`) and counted by the virtual core
(`RETIRE.*.SLOTS`; [what that shows and what not](topdown.md)). For each node: sampled, counted (FE: frontend, BE: backend). A case is the share of one node of
one run; it holds when the counted share lies in the 95 % interval of the sampled one.

* Level 1: {held(nodes_of(results, 1))} hold; level 2: {held(nodes_of(results, 2))}; both: {held(everything)}.
* The mean of |sampled - counted| is {percent(sum(abs(node["share"] - node["counted"]) for node in everything) / len(everything))},
  that of the half width of an interval {percent(sum(half) / len(half))}, the widest {percent(max(half))}.
""")
    outside = [(abs(node["share"] - node["counted"]), one["program"], one["core"], node) for one in results
               for node in one["topdown"].values() if not holds(node)]
    for _, program_name, core, node in sorted(outside, key=lambda case: -case[0]):
        out.write(f"* Outside: {node['name'].lower()} of {program_name} on {core}: {percent(node['share'])} "
                  f"({percent(node['interval'][0])} to {percent(node['interval'][1])}), counted {percent(node['counted'])}.\n")
    apart = {}
    for node in everything:
        apart.setdefault(node["name"], []).append(abs(node["counted"] - node["counted_dispatch"]))
    out.write("""
Slots of dispatch (`TOPDOWN.*`) are another quantity ([why](topdown.md)). Mean of |counted at retirement - counted at dispatch|:
""" + ", ".join(f"{name.lower()} {percent(sum(values) / len(values))}" for name, values in apart.items()) + ".\n")
    for core in sorted({one["core"] for one in results}):
        mine = [one for one in results if one["core"] == core]
        names = [node["name"].replace("Frontend", "FE").replace("Backend", "BE") for node in mine[0]["topdown"].values()]
        out.write(f"\n### {core}\n")
        # Two tables: all nodes beside each other are wider than a page.
        for part, last in ((slice(0, 5), False), (slice(5, None), True)):
            out.write("\n| program | " + " | ".join(names[part]) + (" | held |" if last else " |") + "\n| --- |"
                      + " ---: |" * (len(names[part]) + last) + "\n")
            for one in mine:
                nodes = list(one["topdown"].values())
                out.write(f"| {one['program']} | " + " | ".join(
                    f"{percent(node['share'])} {percent(node['counted'])}" + ("" if holds(node) else " !")
                    for node in nodes[part])
                    + (f" | {sum(map(holds, nodes))}/{len(nodes)} |\n" if last else " |\n"))


# ---- The document ----------------------------------------------------------------------------------------------------


def percent(value):
    return f"{100 * value:.2f}"


def figures(result):
    """The cells of a row, as shares and ratios."""
    samplers = result["samplers"]
    shpms = samplers["shpms"]
    return ([shpms["stack"]["error"], shpms["stack"]["floor"], shpms["stack"]["error"] / shpms["stack"]["floor"],
             shpms["causes"]["error"], samplers["dispatch"]["causes"]["error"], shpms["causes"]["floor"]]
            + [samplers[name]["instruction"]["error"] for name in EVENTS] + [shpms["instruction"]["floor"]])


def mean(rows):
    return [sum(column) / len(column) for column in zip(*rows)]


def cells(row):
    return [f"{value:.3f}" if i == 2 else percent(value) for i, value in enumerate(row)]


# What the figures of a row are: the tables of a core, and the columns of each (figures()).
BY_STACK = (slice(0, 6), ["program", "cycles", "samples", "shpms", "floor", "ratio", "shpms", "dispatch", "floor"])
BY_INSTRUCTION = (slice(6, 12), ["program", "shpms", "next-commit", "last-commit", "dispatch", "lcofi", "floor"])


def write_table(out, heads, rows):
    out.write("\n| " + " | ".join(heads) + " |\n| --- |" + " ---: |" * (len(heads) - 1) + "\n")
    for row in rows:
        out.write("| " + " | ".join(row) + " |\n")


def write_core(out, results, rows, core):
    average = cells(mean([rows[key] for key in rows if key[0] == core]))
    mine = [(one, cells(rows[core, one["program"]])) for one in results if one["core"] == core]
    out.write(f"\n## {core}\n\nBy instruction, state and causes (first shpms and floor), and by instruction and causes "
              "(second shpms and floor, dispatch):\n")
    part, heads = BY_STACK
    write_table(out, heads, [[one["program"], str(one["cycles"]), str(one["samplers"]["shpms"]["samples"]), *row[part]]
                             for one, row in mine] + [["average", "", "", *average[part]]])
    out.write("\nBy instruction:\n")
    part, heads = BY_INSTRUCTION
    write_table(out, heads, [[one["program"], *row[part]] for one, row in mine] + [["average", *average[part]]])


def write_topdown_alone(out, results, command):
    samples = sorted(one["samples"] for one in results)
    out.write(f"""<!-- SPDX-License-Identifier: GPL-2.0-or-later -->
# Top-down shares: sampled against counted

Written by `{command}`; {datetime.date.today()}. All figures but the counts are percent. Programs as in [accuracy](accuracy.md), each
once on each core, a sample every {PERIOD} cycles: {samples[0]} to {samples[-1]} samples, {samples[len(samples) // 2]} in the middle.
""")
    write_topdown(out, results)


def machine():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        model = re.search(r"^model name[^:]*: (.*)$", file.read(), re.M)
    return f"{os.cpu_count()} x {model.group(1) if model else os.uname().machine}, {os.uname().sysname} " \
           f"{os.uname().release.split('-')[0]}"


def write(out, results, wanted, command, effects):
    rows = {(one["core"], one["program"]): figures(one) for one in results}
    cores = sorted({core for core, _ in rows})
    every = mean(rows.values())
    worst = max(rows, key=lambda key: rows[key][2])
    over = sorted(key for key in rows if rows[key][2] > 1.05)
    needed = sum(wanted * (row[1] / 0.021) ** 2 for row in rows.values()) / len(rows)
    out.write(f"""<!-- SPDX-License-Identifier: GPL-2.0-or-later -->
# Accuracy

For whoever asks how far a sampled profile is from the exact one: twelve programs on each core of the virtual
core, measured against the exact profile of the same run.

Written by `{command}`; machine: {machine()}; {datetime.date.today()}. All figures but the counts and ratios are percent.

Programs of the distribution's source packages, compiled for riscv64 by `tools/programs`, ran once on each core of the
virtual core with every sampler at once, {wanted} samples each, and with the exact profile. Error is half the sum, over
the buckets of the profile, of |share measured - share exact|; the floor is what ideal random sampling of as many cycles is
expected to have ([estimates](estimates.md)). Samplers are described in [virtual-core](virtual-core.md).

Three comparisons, each with its floor: by **instruction, state and causes**, pesa's cycle stacks; by **instruction and
causes**, which is what TEA calls per-instruction cycle stacks; by **instruction**, TIP's. Hardware that does not tell states
or causes is compared only where it can be.

| averages over {len(rows)} runs | instruction, state, causes | instruction, causes | instruction |
| --- | ---: | ---: | ---: |
| floor of random sampling | {percent(every[1])} | {percent(every[5])} | {percent(every[11])} |
| shpms | {percent(every[0])} | {percent(every[3])} | {percent(every[6])} |
| next-commit | | | {percent(every[7])} |
| last-commit | | | {percent(every[8])} |
| dispatch | | {percent(every[4])} | {percent(every[9])} |
| lcofi | | | {percent(every[10])} |

* shpms against its floor: {every[0] / every[1]:.3f} on average, {rows[worst][2]:.3f} at most ({worst[1]} on {worst[0]}).
""")
    if over:
        out.write("* Above 1.05 times the floor: " + ", ".join(
            f"{program} on {core} ({rows[core, program][2]:.3f})" for core, program in over) + ".\n")
    else:
        out.write("* No run is above 1.05 times its floor.\n")
    if every[0] > 0.021:
        out.write(f"""* The average is above 2.1 %, and so is the floor: the programs spread over so many instructions and buckets that
  {wanted} samples cannot say more. The floor falls with the square root of the number of samples; about {needed / 1e6:.1f}
  million would bring it to 2.1 % on average.
""")
    for core in cores:
        write_core(out, results, rows, core)
    write_topdown(out, results)
    if effects:
        more, period, samples = effects
        write_more_samples(out, more)
        write_effects(out, period, samples)
    out.write("\n## Programs\n\nInputs are generated, as large as it takes for the samples.\n\n"
              "| program | what | command |\n| --- | --- | --- |\n")
    for name in sorted({one["program"] for one in results}):
        shown = next(one["command"] for one in results if one["program"] == name)
        out.write(f"| {name} | {KINDS[name]} | `{re.sub(r'text-[0-9]+', 'text', shown)}` |\n")


def finish(path, text):
    with open(path, "w", encoding="utf-8") if path != "-" else sys.stdout as out:
        out.write(wrapped(text))


class Partial:
    """What an interrupted run has measured."""

    def __init__(self, wanted):
        built = [os.stat(path) for path in [PESA] + sorted(glob.glob(os.path.join(O, "libexec/*.so")))]
        self.path, self.wanted, self.lock = os.path.join(O, "accuracy.partial"), wanted, threading.Lock()
        self.build = [wanted] + [[one.st_size, one.st_mtime_ns] for one in built]
        self.results = {}
        if os.path.exists(self.path):
            with open(self.path, encoding="utf-8") as file:
                kept = json.load(file)
            if kept["build"] == self.build:
                self.results = kept["results"]

    def measure(self, name, core, known):
        key = f"{name} {core}"
        if key not in self.results:
            found = measure(name, core, self.wanted, known)
            with self.lock:
                self.results[key] = found
                with open(self.path + ".new", "w", encoding="utf-8") as out:
                    json.dump({"build": self.build, "results": self.results}, out)
                os.rename(self.path + ".new", self.path)
        return self.results[key]

    def forget(self):
        if os.path.exists(self.path):
            os.unlink(self.path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-o", "--output", default="-", help="the document; - is standard output")
    parser.add_argument("--json", help="the figures, too")
    parser.add_argument("--samples", type=int, default=100000, help="of each sampler (100000)")
    parser.add_argument("--programs", help="a comma list; default: all")
    parser.add_argument("--cores", help="a comma list; default: all that are described")
    parser.add_argument("--topdown", action="store_true", help="top-down shares alone, from one short run of each program")
    parser.add_argument("--sampled", action="store_true", help="sampled recordings alone: their section of the document")
    parser.add_argument("--timed", action="store_true", help="timed branches alone: their section of the document")
    parser.add_argument("--cycles", type=float, default=1e9, help="of --sampled: cycles of each program (1e9)")
    arguments = parser.parse_args()
    cores = arguments.cores.split(",") if arguments.cores else sorted(os.listdir(os.path.join(O, "share/pesa/cores")))
    remembered = os.path.join(O, "accuracy.cycles")
    known = {}
    if os.path.exists(remembered):
        with open(remembered, encoding="utf-8") as file:
            known = json.load(file)
    command = "make accuracy" if len(sys.argv) == 3 and arguments.output.endswith("accuracy.md") \
        else "tests/accuracy/accuracy.py " + " ".join(sys.argv[1:])
    names = arguments.programs.split(",") if arguments.programs else list(KINDS)
    for name in names:
        if name not in KINDS:
            print(f"accuracy: no program '{name}'; there are {', '.join(KINDS)}", file=sys.stderr)
            return 2
    subprocess.run([os.path.join(TOP, "tools/programs"), "-o", os.path.join(O, "programs")] + names, check=True,
                   stdout=sys.stderr)
    if arguments.sampled:
        import sampled  # pylint: disable=import-outside-toplevel
        try:
            sampled.main(names, arguments.output, arguments.cycles, command)
        except Failed as failure:
            print(f"accuracy: {failure}", file=sys.stderr)
            return 1
        return 0
    jobs = [(name, core) for core in cores for name in names]
    if arguments.timed:
        import timed  # pylint: disable=import-outside-toplevel
        try:
            timed.main(jobs, arguments.output, arguments.samples, known, command)
        except Failed as failure:
            print(f"accuracy: {failure}", file=sys.stderr)
            return 1
        return 0
    if arguments.topdown:
        try:
            results = [measure_topdown(name, core, arguments.samples, known.get(f"{name} {core}")) for name, core in jobs]
        except Failed as failure:
            print(f"accuracy: {failure}", file=sys.stderr)
            return 1
        text = io.StringIO()
        write_topdown_alone(text, results, command)
        finish(arguments.output, text.getvalue())
        return 0
    partial = Partial(arguments.samples)
    results = []
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        running = [pool.submit(partial.measure, name, core, known.get(f"{name} {core}")) for name, core in jobs]
        for (name, core), one in zip(jobs, running):
            try:
                results.append(one.result())
            except Failed as failure:
                for other in running:
                    other.cancel()
                print(f"accuracy: {failure}", file=sys.stderr)
                return 1
            known[f"{name} {core}"] = (results[-1]["scale"], results[-1]["cycles"])
            with open(remembered + ".new", "w", encoding="utf-8") as out:
                json.dump(known, out)
            os.rename(remembered + ".new", remembered)
            shpms = results[-1]["samplers"]["shpms"]
            print(f"{name:<14}{core:<11}{results[-1]['cycles']:>12} cycles {shpms['samples']:>7} samples  "
                  f"error {percent(shpms['error'])} %  floor {percent(shpms['floor'])} %", file=sys.stderr, flush=True)
    # Only with the whole table: a part of it is asked for because it is quick.
    effects = None if arguments.programs or arguments.cores else (
        more_samples(results, arguments.samples), period_effects(arguments.samples // 10), arguments.samples // 10)
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as out:
            json.dump(results, out, indent=1)
    text = io.StringIO()
    write(text, results, arguments.samples, command, effects)
    finish(arguments.output, text.getvalue())
    partial.forget()
    return 0


if __name__ == "__main__":
    sys.exit(main())
