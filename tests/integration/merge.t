#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""pesa merge: the same bytes for any order and any steps; correct sums; entries that must not be merged; refused files."""
import collections
import itertools
import json
import os
import re
import shutil
import subprocess
import tempfile

from tap import BUILD, PESA, CROSS, GUEST_CC, QEMU, NATIVE, bail_out, check, command, end, needs, plain_environment, skip

MAKE = os.path.join(BUILD, "tests/tools/make_profile")
PERF = shutil.which("perf")
work = tempfile.mkdtemp(prefix="pesa-merge-")
os.chdir(work)
plain = plain_environment(work)


def pesa(*words):
    return command(PESA, *words, env=plain)


def merge(output, *inputs, status=0):
    run = pesa("merge", "-q", "-o", output, *inputs)
    if run.returncode != status:
        bail_out("merge", inputs, "gave", run.returncode, run.stderr.decode())
    return run.stderr.decode()


def report(path, *options):
    run = pesa("report", "--json", "--sort", "dso,symbol,insn", "-i", path, *options)
    try:
        return json.loads(run.stdout)
    except ValueError as error:
        bail_out("no JSON:", error, run.stderr.decode())


def bytes_of(path):
    with open(path, "rb") as file:
        return file.read()


def make(name, *lines):
    made = subprocess.run([MAKE, name], input="\n".join(lines).encode(), capture_output=True)
    if made.returncode:
        bail_out("make_profile:", made.stderr.decode())


def rows(result):
    """What adds up of every row."""
    sums = collections.Counter()
    for row in result["instructions"]:
        key = (row["dso"], row["address"])
        for name in ("cycles", "executions", "samples"):
            sums[key, name] += row.get(name) or 0
        for state, causes in row["stack"].items():
            for cause, cycles in causes.items():
                sums[key, state, cause] += cycles
    return sums


def same_sums(left, right):
    keys = set(left) | set(right)
    return all(abs(left[key] - right[key]) <= 1e-9 * abs(left[key]) for key in keys)


# Two programs at the same addresses of the same process number, on cores that are equal.
os.makedirs("a", exist_ok=True)
os.makedirs("b", exist_ok=True)
for folder, functions in (("a", ("first", "second")), ("b", ("other",))):
    with open(folder + "/program.s", "w", encoding="ascii") as out:
        out.write(".text\n.globl _start\n_start:\n" + "".join(
            f".globl {name}\n.type {name}, @function\n{name}:\n" + "\tnop\n" * (16 // len(functions)) + f".size {name}, . - {name}\n"
            for name in functions))
    built = command(CROSS + "gcc", "-march=rv64g", "-mabi=lp64d", "-nostdlib", "-static", "-Wl,--build-id", "-Wl,-Ttext=0x400000",
                    "-Wl,--no-relax", folder + "/program.s", "-o", folder + "/program")
    if built.returncode:
        bail_out("no guest:", built.stderr.decode())


def map_line(folder, pid=7):
    table = subprocess.run([CROSS + "readelf", "-lW", folder + "/program"], capture_output=True, text=True, check=True).stdout
    segment = re.search(r"LOAD +0x([0-9a-f]+) +0x0*([0-9a-f]+) [^\n]*R E", table)
    offset = int(segment.group(1), 16) + 0x400000 - int(segment.group(2), 16)
    return f"map {pid} 0x400000 0x1000 {offset:#x} {work}/{folder}/program"


HEAD = ["capability retire_width 2", "period 1000"]
make("a.data", "command ./a", *HEAD, "count CYCLES 10", "count ONLY.A 1", "comm 7 7 a", map_line("a"), "lost 5",
     *[f"sample {4 + i} 7 7 {0x400000 + 4 * i:#x} 1 0 0 0 0 0 0 0 0 0" for i in range(16)])
make("b.data", "command ./b", *HEAD, "count CYCLES 32", "comm 7 7 b", map_line("b"), "lost 3",
     *[f"sample {9 + i} 7 7 {0x400000 + 4 * i:#x} 0 1 0 0 0 0 0 0 0 0" for i in range(16)])
make("c.data", "command ./c", *[line.replace("1000", "500") for line in HEAD], "comm 8 8 c", map_line("a", 8), "comm 7 7 c",
     map_line("b"), *[f"sample {2 + i} {7 + i % 2} {7 + i % 2} {0x400000 + 4 * i:#x} 2 0 0 0 0 0 0 0 0 0" for i in range(16)])
singles = ["a.data", "b.data", "c.data"]

# ---- The same bytes in any order and any steps

results = []
for order in itertools.permutations(singles):
    merge("m.data", *order)
    results.append(bytes_of("m.data"))
check(len(set(results)) == 1, "three files give the same bytes in each of their six orders")
whole = results[0]
for inner in itertools.combinations(singles, 2):
    rest = [name for name in singles if name not in inner]
    merge("inner.data", *inner)
    merge("left.data", "inner.data", *rest)
    merge("right.data", *rest, "inner.data")
    check(bytes_of("left.data") == whole == bytes_of("right.data"), f"merging {' and '.join(inner)} first gives the same bytes")
merge("one.data", "a.data")
merge("again.data", "one.data")
check(bytes_of("one.data") == bytes_of("again.data"), "what was merged is merged again without a change")
merge("ab.data", "a.data", "b.data")
merge("bc.data", "b.data", "c.data")
note = merge("twice.data", "ab.data", "bc.data", "c.data", "ab.data")
check(bytes_of("twice.data") == whole, "recordings that are given more than once count once", note)
check(all(re.search(rf"note: .*{name}", note) for name in ("bc.data", "c.data", "ab.data was given more than once")),
      "and a note says which", note)
shutil.copy("a.data", "grow.data")
merge("grow.data", "grow.data", "b.data")
merge("grow.data", "c.data", "grow.data")
check(bytes_of("grow.data") == whole, "the output may be one of the inputs")
check(not [name for name in os.listdir(".") if name.endswith(".part")], "no temporary file is left")

# ---- Sums

merge("m.data", *singles)
parts = [report(name) for name in singles]
merged = report("m.data")
for member in ("samples", "lost", "cycles", "plain_samples", "impossible_records", "throttled", "damaged_records"):
    check(merged[member] == sum(part[member] for part in parts), f"{member} of the merged file is the sum: {merged[member]}",
          [part[member] for part in parts])
expected = collections.Counter()
for part in parts:
    expected.update(rows(part))
check(len(expected) > 60 and same_sums(rows(merged), expected), "cycles, executions and samples of each instruction are the sums",
      (rows(merged), expected))
check(merged["unattributed"] == {name: sum(part["unattributed"][name] for part in parts) for name in merged["unattributed"]},
      "and so is what is not attributed", merged["unattributed"])
listed = json.loads(pesa("merge", "--list", "--json", "m.data").stdout)
check([entry["samples"] for entry in listed["recordings"]] and
      sorted(entry["samples"] for entry in listed["recordings"]) == sorted(part["samples"] for part in parts),
      "--list shows each recording with its samples", listed)
header = pesa("merge", "--list", "m.data").stdout.decode()
check(all(f"./{name[0]}" in header for name in singles), "and its command", header)

# ---- Kept apart

names = {(row["dso"], row["symbol"]) for row in merged["instructions"]}
check({name for _, name in names} == {"first", "second", "other"}, "processes of the same number keep their programs", names)
entries = listed["recordings"]
ends = [0]
for entry in entries:
    check(entry["begin"] + entry["moved"] > ends[-1], "a recording begins behind the end of the one in front", entry)
    ends.append(entry["end"] + entry["moved"])
check(sum(entry["renumbered"] for entry in entries) == 2, "one of the three processes 7 keeps its number, two get others", entries)
script = pesa("script", "-i", "m.data", "--json").stdout.decode()
numbers = {int(number) for number in re.findall(r'"pid": ?(\d+)', script)}
check(len(numbers) == 4 and max(numbers) > 4194304 >= min(numbers), "four processes have four numbers", numbers)

kernels = []
for name, own, others in (("k", 0xffffffffc0000000, 0xffffffffd0000000), ("l", 0xffffffffd0000000, 0xffffffffc0000000)):
    make(f"{name}.data", f"command ./{name}", *HEAD, "comm 7 7 k",
         f"map 0xffffffff 0xffffffff80000000 0x1000000 0 [kernel.kallsyms]_text {(name * 20).encode().hex()}",
         f"map 0xffffffff {own:#x} 0x10000 0 /lib/modules/{name}.ko", f"sample 4 7 7 {own + 16:#x} 1 0 0 0 0 0 0 0 0 0",
         f"sample 2 7 7 {others + 16:#x} 1 0 0 0 0 0 0 0 0 0", "sample 3 7 7 0xffffffff80000100 1 0 0 0 0 0 0 0 0 0")
    kernels.append(report(f"{name}.data"))
merge("kl.data", "k.data", "l.data")
expected = rows(kernels[0])
expected.update(rows(kernels[1]))
check(same_sums(rows(report("kl.data")), expected), "the modules of one kernel are not those of another", (rows(report("kl.data")), expected))

make("d.data", "command ./d", "capability retire_width 4", "period 1000", "comm 7 7 d", map_line("a"),
     "sample 3 7 7 0x400000 1 0 0 0 0 0 0 0 0 0")
refused = pesa("merge", "-o", "bad.data", "a.data", "d.data")
message = refused.stderr.decode()
check(refused.returncode == 1 and message.count("\n") == 1 and all(word in message for word in ("a.data", "d.data", "retire_width")),
      "different cores are refused in a line that names the files and what differs", message)
make("e.data", "arch x86_64", "command ./e", "event cycles", "plain", "period 1000", "comm 7 7 e", "ip 3 7 7 0x400000")
refused = pesa("merge", "-o", "bad.data", "a.data", "e.data")
message = refused.stderr.decode()
check(refused.returncode == 1 and message.count("\n") == 1 and "x86_64" in message and "riscv64" in message,
      "different instruction sets are refused", message)
check(not os.path.exists("bad.data"), "and nothing is written")
make("f.data", "command ./f", "event pesa/instructions/", "capability retire_width 2", "period 100", "comm 7 7 f", map_line("a"),
     "sample 3 7 7 0x400000 1 0 0 0 0 0 0 0 0 0")
merge("af.data", "a.data", "f.data")
merge("fa.data", "f.data", "a.data")
check(bytes_of("af.data") == bytes_of("fa.data"), "files of different events give the same bytes in both orders")
check(report("af.data", "--event", "pesa/instructions/")["samples"] == 3 and
      report("af.data", "--event", "pesa/cycles/")["samples"] == parts[0]["samples"], "whose samples stay those of their events")

divided = pesa("merge", "-o", "ac.data", "a.data", "c.data").stderr.decode()
check("pesa/cycles/ was recorded in different ways" in divided, "a note says that one event was recorded at two periods", divided)
both = report("ac.data")
check(both["samples"] == parts[0]["samples"] + parts[2]["samples"] and both["cycles"] == parts[0]["cycles"] + parts[2]["cycles"],
      "and both are reported together, each sample with its own period", (both["samples"], both["cycles"]))

# ---- Exact profiles

make("x.data", "command ./x", "event pesa/exact/", "capability retire_width 2", map_line("a"),
     "exact 7 0x400000 11 0:0:2:10 1:8:1:3 >0x400010:4", "exact 7 0x400004 12 1:0:1:5")
make("y.data", "command ./x", "event pesa/exact/", "capability retire_width 2", map_line("a"),
     "exact 7 0x400000 100 0:0:2:7 2:4:1:1 >0x400010:1 >0x400020:2", "exact 7 0x400008 1 3:1:1:50")
merge("xy.data", "x.data", "y.data")
merge("yx.data", "y.data", "x.data")
exact = report("xy.data")
expected = rows(report("x.data"))
expected.update(rows(report("y.data")))
check(bytes_of("xy.data") == bytes_of("yx.data") and exact["exact"] and same_sums(rows(exact), expected),
      "exact profiles add up, executions too", (rows(exact), expected))

# ---- Damage

whole_a = bytes_of("a.data")
with open("cut.data", "wb") as file:
    file.write(whole_a[:len(whole_a) * 3 // 5])
cut = pesa("report", "--json", "-i", "cut.data")
cut_report = json.loads(cut.stdout)
note = merge("cm.data", "cut.data", "b.data", status=1)
check(note.count("\n") == 1 and "cut.data: damaged, the rest is used" in note, "a damaged file is named in one line", note)
damaged = report("cm.data")
check(damaged["samples"] == cut_report["samples"] + parts[1]["samples"], "what can be read of it is used",
      (damaged["samples"], cut_report["samples"], parts[1]["samples"]))
check(damaged["damaged_records"] == cut_report["damaged_records"] and damaged["damaged_bytes"] == cut_report["damaged_bytes"]
      and damaged["damaged_bytes"] > 0, "and the merged file carries what was not", damaged["damage"])
merge("cmc.data", "cm.data", "c.data")
merge("ccm.data", "c.data", "b.data", "cut.data", status=1)
check(bytes_of("cmc.data") == bytes_of("ccm.data"), "also through another merge, byte for byte")
with open("garbage.data", "wb") as file:
    file.write(b"no perf.data at all" * 10)
note = merge("mg.data", "garbage.data", *singles, status=1)
check(bytes_of("mg.data") == whole and [line for line in note.splitlines() if "note:" not in line][0].count("garbage.data") == 1,
      "a file of which nothing can be read is left out with a line", note)
for words, what in ((("a.data",), "no output"), (("-o", "o.data"), "no input"), (("--list", "-o", "o.data", "a.data"), "--list with -o"),
                    (("-z", "99", "-o", "o.data", "a.data"), "a level beyond zstd's")):
    check(pesa("merge", *words).returncode == 2, f"wrong usage is refused: {what}")
check(pesa("merge", "-o", "/dev/null", "a.data").returncode == 1 and os.path.exists("/dev/null") and not os.path.isfile("/dev/null"),
      "a device is no output, and stays")
check(pesa("merge", "-o", "none/o.data", "a.data").returncode == 1, "a folder that is not there is an error")

# ---- Stock perf

if PERF:
    shown = command(PERF, "script", "-F", "pid,ip,period,sym,dso", "-i", "m.data", env=dict(plain, HOME=work))
    lines = shown.stdout.decode().splitlines()
    check(shown.returncode == 0 and len(lines) == merged["samples"] and not shown.stderr, "perf reads every sample without a warning",
          (shown.stderr.decode(), len(lines)))
    separate = collections.Counter()
    for name in singles:
        text = command(PERF, "script", "-F", "ip,period,sym,dso", "-i", name, env=dict(plain, HOME=work)).stdout.decode()
        separate.update(" ".join(line.split()) for line in text.splitlines())
    together = collections.Counter(" ".join(line.split()[1:]) for line in lines)
    header = command(PERF, "report", "--header-only", "-i", "m.data", env=dict(plain, HOME=work)).stdout.decode()
    check(re.search(r"pesa_counts pmu capabilities: .*CYCLES=42\b", header) and re.search(r"capabilities: .*ONLY\.A=1\b", header),
          "what was counted is added up", header)
    check(separate == together, "perf resolves each as it did before", list((separate - together).items())[:5])
else:
    skip("perf reads it", needs("linux-perf"))

# ---- What stock perf recorded: groups that are read, call chains, compressed, a directory, a pipe

if PERF:
    ways = {"plain": ["-e", "cpu-clock"], "groups": ["-g", "-e", "{task-clock,page-faults}:S"],
            "several": ["-z", "-F", "5000", "-e", "cpu-clock", "-e", "page-faults"], "threads": ["--threads", "-e", "cpu-clock"]}
    recorded = []
    for name, options in ways.items():
        run = command(PERF, "record", "-q", *options, "-o", name, "--", "ls", "-R", "/usr/include", env=dict(plain, HOME=work))
        if run.returncode == 0:
            recorded.append(name)
    with open("pipe", "wb") as out:
        if subprocess.run([PERF, "record", "-q", "-e", "cpu-clock", "-o", "-", "--", "true"], stdout=out, stderr=subprocess.DEVNULL,
                          env=dict(plain, HOME=work)).returncode == 0:
            recorded.append("pipe")
    if not recorded:
        skip("recordings of perf", "perf records nothing here")

    def scripted(path):
        run = command(PERF, "script", "-F", "comm,pid,tid,period,event,ip,sym,dso", "-i", path, env=dict(plain, HOME=work))
        return run.returncode, run.stderr, run.stdout

    def scripted_periods(path):
        return command(PERF, "script", "-F", "period,event", "-G", "-i", path, env=dict(plain, HOME=work)).stdout.decode()

    for name in recorded:
        merge(name + ".merged", name)
        merge(name + ".again", name + ".merged")
        check(bytes_of(name + ".merged") == bytes_of(name + ".again"), f"a recording of perf ({name}) has one canonical form")
        before, after = scripted(name), scripted(name + ".merged")
        check(before == after, f"and perf script tells the same of it ({name})", (before[1], after[1], after[2][:500]))
    if "groups" in recorded:
        told = collections.Counter()
        for line in scripted_periods("groups").splitlines():
            period, event = line.split()
            told[event.rstrip(":")] += int(period)
        read = collections.Counter()
        for line in command(PESA, "script", "--json", "-i", "groups", env=plain).stdout.splitlines():
            sample = json.loads(line)
            if sample["type"] == "sample":
                read[sample["event"]] += sample["period"]
        check(len(told) == 2 and told == read, "members of a group have the counts that perf tells", (told, read))
        reported = json.loads(command(PESA, "report", "--json", "--event", "page-faults", "-i", "groups", env=plain).stdout)
        check(reported["event"] == "page-faults" and reported["cycles"] == told["page-faults"],
              "and pesa report has those of one", (reported["event"], reported["cycles"], told))
    if len(recorded) > 1:
        merge("perf.forth", *recorded)
        merge("perf.back", *[name + ".merged" for name in recorded[::-1]])
        check(bytes_of("perf.forth") == bytes_of("perf.back"), "and they merge in either order to the same bytes")

# ---- A real program on the virtual core, with all of its events

if QEMU or NATIVE:
    with open("p.c", "w", encoding="ascii") as out:
        out.write("#include <stdlib.h>\n__attribute__((noinline)) long f(long n) { volatile long s = 0; for (long i = 0; i < n; i++)"
                  " s += i * i % 7; return s; }\nint main(int c, char **v) { return f(atol(v[c - 1])) == 1; }\n")
    built = command(GUEST_CC, "-O2", "-g", "-static", "p.c", "-o", "p")
    if built.returncode:
        bail_out("no guest:", built.stderr.decode())
    for i in (1, 2):
        run = pesa("record", "-q", "--core", "ooo-4", "-c", "500", "--golden", f"g{i}.data", "-o", f"r{i}.data", "--", "./p",
                   str(i * 3000))
        if run.returncode:
            bail_out("record:", run.stderr.decode())
    merge("r.data", "r1.data", "r2.data")
    merge("rr.data", "r2.data", "r1.data", "r.data")
    check(bytes_of("r.data") == bytes_of("rr.data"), "recordings of the virtual core give the same bytes in both orders")
    expected = rows(report("r1.data"))
    expected.update(rows(report("r2.data")))
    check(same_sums(rows(report("r.data")), expected), "their instructions add up")
    merge("g.data", "g1.data", "g2.data")
    expected = rows(report("g1.data"))
    expected.update(rows(report("g2.data")))
    check(same_sums(rows(report("g.data")), expected), "and those of their exact profiles")
    check(pesa("error", "-i", "r.data", "--golden", "g.data").returncode == 0, "pesa error compares the merged ones")
else:
    skip("recordings of the virtual core", needs("qemu-user"))

if not os.environ.get("KEEP"):
    shutil.rmtree(work)
end()
