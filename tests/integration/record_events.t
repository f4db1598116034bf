#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""pesa record through the kernel, with software events: records, ends of a recording, and refused options."""
import collections
import glob
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import tempfile
import time

from tap import TOP, PESA, bail_out, check, copy_of_pesa, end, needs, skip, skip_all

PERF = shutil.which("perf")


def command(*words, **options):
    return subprocess.run(words, capture_output=True, text=True, errors="replace", timeout=120, **options)


def record(*words, event="task-clock", **options):
    return command(PESA, "record", "-e", event, *words, **options)


def events(path="perf.data"):
    run = command(PESA, "script", "--json", "--show-events", "-i", path)
    return [json.loads(line) for line in run.stdout.splitlines()]


def samples(path="perf.data"):
    return [event for event in events(path) if event["type"] == "sample"]


def summary(path="summary.json"):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def perf_report(path):
    """The errors that stock perf reports."""
    run = command(PERF, "report", "--stdio", "-i", path)
    # Of the report itself perf says nothing on standard error.
    return run.returncode, run.stderr.strip(), run.stdout


work = tempfile.mkdtemp(prefix="pesa-events-")
os.chmod(work, 0o755)
os.chdir(work)
made = command("gcc", "-O0", "-g", "-fno-omit-frame-pointer", "-pthread",
               os.path.join(TOP, "tests/data/guest/busy.c"), "-o", "busy")
if made.returncode:
    bail_out("cannot build the program to record:", made.stderr)
first = record("--", "true")
if first.returncode and re.search("perf_event_paranoid|seccomp|no perf events|CAP_PERFMON", first.stderr):
    skip_all("perf_event_open is not permitted here: " + first.stderr)
check(first.returncode == 0, "a program is recorded", first.stderr)

# ---- What is recorded ------------------------------------------------------------------------

# The task clock ticks with the CPU time that the program itself measures.
run = record("-c", "1000000", "--json=summary.json", "--", "./busy", "200")
taken = samples()
check(run.returncode == 7, "the status is the program's", run.returncode)
check(150 <= len(taken) <= 230, "200 ms of CPU time are about 200 samples of 1 ms", len(taken))
check(summary()["samples"] == len(taken) and summary()["lost"] == 0, "the summary counts what is in the file",
      summary())
inner = sum(sample["symbol"] == "inner" for sample in taken)
check(inner > 0.8 * len(taken), "nearly all of them are where the program spins", inner)
check(all(sample["period"] == 1000000 for sample in taken), "each stands for the period")

everything = events()
maps = [event for event in everything if event["type"] == "mmap"]
binary = [event for event in maps if event["path"].endswith("/busy")]
notes = command("readelf", "-n", "busy").stdout
build_id = re.search("Build ID: ([0-9a-f]+)", notes)
check(len(binary) == 1 and build_id and binary[0]["build_id"] == build_id.group(1),
      "the program's map has its build id", binary)
check(any(event["type"] == "comm" and event["name"] == "busy" and event["exec"] for event in everything),
      "its name is reported with its exec")
check([event["type"] for event in everything].count("exit") == 1, "and its exit")

# Rounds: our reader sorts by them, so that disorder would show.
times = [event["time"] for event in everything if event["time"]]
check(times == sorted(times), "events come in order of time")

run = record("-c", "1000000", "--", "./busy", "60", "3", "2")
pids = collections.Counter(sample["pid"] for sample in samples())
tids = collections.Counter((sample["pid"], sample["tid"]) for sample in samples())
check(len(pids) == 3 and len(tids) == 9, "threads and processes that a program makes are recorded", tids)
check(min(tids.values()) > 0.5 * max(tids.values()), "each with its share", tids)
record("-c", "1000000", "--no-inherit", "--", "./busy", "60", "3", "2")
tids = collections.Counter((sample["pid"], sample["tid"]) for sample in samples())
check(len(tids) == 1, "with --no-inherit only the program's first thread", tids)

run = record("-F", "500", "--", "./busy", "200")
check(60 <= len(samples()) <= 140, "500 samples a second in 200 ms are about 100", len(samples()))
run = record("-c", "1000000", "--", "./busy", "50", event="task-clock:u,cpu-clock")
names = collections.Counter(sample["event"] for sample in samples())
check(set(names) == {"task-clock:u", "cpu-clock"}, "two events are distinguished", names)
check(all(sample["address"] < 1 << 63 for sample in samples() if sample["event"] == "task-clock:u"),
      "one of user mode has no samples of the kernel")

# ---- Targets ---------------------------------------------------------------------------------


def threads_of(process, count):
    """The numbers of its threads, once there are as many."""
    deadline = time.monotonic() + 30
    while True:
        threads = sorted(int(name) for name in os.listdir(f"/proc/{process.pid}/task"))
        if len(threads) >= count or time.monotonic() > deadline:
            return threads
        time.sleep(0.001)


def start(*words):
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    process.stdout.readline()
    return process


# A program that leaves the recorder no processor may be over before its events are open.
for milliseconds in ("600", "3000", "15000"):
    busy = start("./busy", milliseconds, "2")
    run = record("-c", "1000000", "-p", str(busy.pid))
    if busy.wait(timeout=120) != 7 or run.returncode or samples():
        break
check(run.returncode == 0 and busy.returncode == 7, "-p ends with the process", run.stderr)
tids = collections.Counter(sample["tid"] for sample in samples())
check(len(tids) == 2 and set(sample["comm"] for sample in samples()) == {"busy"},
      "-p has all threads of the process, by name", tids)
check(sum(sample["symbol"] == "inner" for sample in samples()) > 0.5 * len(samples()),
      "what was mapped before is known")
reported = [event for event in events() if event["type"] == "mmap" and event["path"].endswith("/busy")]
check(reported and reported[0]["time"] == 0 and reported[0]["build_id"] == build_id.group(1),
      "and was reported in front of everything, with its build id", reported)

for milliseconds in ("400", "3000", "15000"):
    busy = start("./busy", milliseconds, "2")
    threads = threads_of(busy, 2)
    record("-c", "1000000", "-t", str(threads[-1]))
    busy.wait(timeout=120)
    if samples():
        break
check(set(sample["tid"] for sample in samples()) == {threads[-1]}, "-t has that thread only", threads)

busy = start("./busy", "100000")
run = record("-c", "1000000", "-p", str(busy.pid), "--duration", "0.3")
check(run.returncode == 0 and busy.poll() is None, "--duration ends the recording, not the process", run.stderr)
busy.kill()
busy.wait()

if os.geteuid() == 0:
    busy = start("./busy", "100000")
    run = record("-a", "-c", "1000000", "--duration", "0.5", event="cpu-clock")
    check(busy.pid in {sample["pid"] for sample in samples()}, "-a has what runs", run.stderr)
    comms = {event["pid"] for event in events() if event["type"] == "comm"}
    check({1, busy.pid, os.getpid()} <= comms, "and names of all that was running")
    run = record("-C", "0", "-c", "1000000", "--duration", "0.3", event="cpu-clock")
    check({sample["cpu"] for sample in samples()} == {0}, "-C has that CPU only", run.stderr)
    busy.kill()
    busy.wait()
else:
    skip("-a has what runs", "needs root")

def sample_addresses(source, addresses, target):
    """Copy a recording with its first sample once for each address, and without the others."""
    data = open(source, "rb").read()
    start, size = struct.unpack_from("<QQ", data, 40)
    features = sum(bin(word).count("1") for word in struct.unpack_from("<4Q", data, 72))
    records, offset, made = [], start, False
    while offset < start + size:
        kind, misc, length = struct.unpack_from("<IHH", data, offset)
        record_bytes = bytearray(data[offset:offset + length])
        if kind != 9:
            records.append(bytes(record_bytes))
        elif misc & 7 == 1 and not made:
            # The address comes first, behind the identifier of the event where there is one.
            place = 8 if struct.unpack_from("<Q", record_bytes, 8)[0] >> 40 else 16
            for address in addresses:
                struct.pack_into("<Q", record_bytes, place, address)
                records.append(bytes(record_bytes))
            made = True
        offset += length
    body = b"".join(records)
    header, tail = bytearray(data[:start]), bytearray(data[start + size:])
    struct.pack_into("<Q", header, 48, len(body))
    for index in range(features):
        place = struct.unpack_from("<Q", tail, 16 * index)[0]
        struct.pack_into("<Q", tail, 16 * index, place + len(body) - size)
    with open(target, "wb") as out:
        out.write(bytes(header) + body + bytes(tail))


# ---- Against stock perf ----------------------------------------------------------------------

if PERF and command(PERF, "record", "-q", "-e", "task-clock", "-o", "stock.data", "true").returncode == 0:
    command(PERF, "record", "-q", "-e", "task-clock", "-c", "1000000", "-o", "stock.data", "./busy", "200")
    record("-c", "1000000", "-o", "ours.data", "--", "./busy", "200")

    def side(path):
        # The kernel, what is executable, names: without what differs between any two runs.
        dump = command(PERF, "script", "-D", "-i", path).stdout
        found = re.findall(r"PERF_RECORD_(MMAP2?) .*?[r-][w-]([x-])[ps] (\S+)$", dump, re.M)
        names = re.findall(r"PERF_RECORD_COMM.*: (\S+?):\d", dump)
        return sorted(name for _, mode, name in found if mode == "x" and name[0] != "[" or name == "[vdso]"), \
            [name for name in names if name != "perf-exec"]

    check(side("ours.data") == side("stock.data"), "the same maps and names as stock perf",
          f"{side('ours.data')}\n{side('stock.data')}")
    stock = len(command(PERF, "script", "-i", "stock.data").stdout.splitlines())
    ours = len(command(PERF, "script", "-i", "ours.data").stdout.splitlines())
    check(abs(stock - ours) < 0.2 * stock, "as many samples as stock perf", f"{ours}, stock {stock}")
    status, said, text = perf_report("ours.data")
    check(status == 0 and not said and "inner" in text, "stock perf report reads it without a word", said or text)
    record("-c", "1000000", "-g", "-o", "chain.data", "--", "./busy", "100")
    chain = command(PERF, "script", "-i", "chain.data").stdout
    check(len(re.findall(r"\binner\+.*\n.*\bouter\+.*\n.*\bwork\+", chain)) > 50, "-g gives the callers", chain[:2000])
    record("-c", "1000000", "-g", "dwarf,4096", "-o", "chain.data", "--", "./busy", "100")
    chain = command(PERF, "script", "-i", "chain.data").stdout
    check(len(re.findall(r"\binner(?:\+| ).*\n.*\bouter(?:\+| )", chain)) > 50, "and by DWARF from stack dumps",
          chain[:2000])
    pipe = subprocess.run(f"{PESA} record -q -e task-clock -o - -- ./busy 100 | {PERF} report --stdio -i -",
                          shell=True, capture_output=True, text=True, timeout=60)
    check("inner" in pipe.stdout and "busy" in pipe.stdout, "a pipe into stock perf", pipe.stdout + pipe.stderr)
    shown = command(PESA, "report", "-i", "stock.data").stdout
    check(re.search(r"^  \d\S*ms of time, ", shown, re.M) and "sampled every 1.00ms" in shown and "Time" in shown
          and "oldest instruction" not in shown, "a clock's samples are time in the report", shown)
    shown = command(PESA, "annotate", "-i", "stock.data").stdout
    check("of all time: " in shown and "Execs" not in shown and "Stack" not in shown and "Largest" not in shown,
          "and in annotate, without columns that nothing is known for", shown)
    record("-c", "200000", "-o", "folded.data", "--", "sh", "-c", "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done")
    folded = re.findall(r"^ *\S+% +(\S+)  in \d+ instructions", command(PESA, "annotate", "-i", "folded.data", "-p", "100").stdout, re.M)
    check(all(re.fullmatch(r"[\d.]+(ns|us|ms|s)", one) for one in folded), "and in lines that stand for many instructions", folded)
    check(json.loads(command(PESA, "report", "--json", "-i", "stock.data").stdout)["unit"] == "nanoseconds",
          "in JSON the unit is reported")
    shown = command(PESA, "diff", "stock.data", "stock.data").stdout
    check(len(re.findall(r"^    \d\S*ms of time, ", shown, re.M)) == 2, "diff tells both times", shown)
    if os.geteuid() == 0:
        # The kernel works for this program; perf tells no build ids of what it compresses.
        for what, options in (("compressed", ["-z"]), ("not compressed", [])):
            command(PERF, "record", "-q", *options, "-e", "cpu-clock", "-c", "500000", "-o", "kernel.data", "dd",
                    "if=/dev/zero", "of=/dev/null", "bs=1M", "count=2000")
            stock = re.findall(r"^ *(\w+) ([^\s\[]\S*) \(\[kernel",
                               command(PERF, "script", "-i", "kernel.data", "-F", "ip,sym,dso").stdout, re.M)
            ours = re.findall(r": +(\w+) (\S+)\+0x\S+ \(\[kernel", command(PESA, "script", "-i", "kernel.data").stdout)
            said = command(PESA, "report", "-i", "kernel.data").stdout
            check(len(stock) > 20 and stock == ours and max(stock, key=stock.count)[1] in said,
                  f"functions of the kernel as stock perf names them, {what}",
                  f"{sorted(set(stock) ^ set(ours))[:9]}\n{said}")
        # Every address that has several names, put in the place of a sample's.
        kernel = [line.split() for line in open("/proc/kallsyms")]
        at = collections.Counter(int(line[0], 16) for line in kernel if line[1] in "tTwW" and len(line) == 3)
        limit = next((int(line[0], 16) for line in kernel if line[2] == "_etext"), 0)
        several = [address for address in at if at[address] > 1 and address < limit]
        sample_addresses("kernel.data", several, "several.data")
        stock = dict(re.findall(r"^ *(\w+) ([^\s\[]\S*) \(\[kernel",
                                command(PERF, "script", "-i", "several.data", "-F", "ip,sym,dso").stdout, re.M))
        ours = dict(re.findall(r": +(\w+) (\S+)\+0x\S+ \(\[kernel",
                               command(PESA, "script", "-i", "several.data").stdout))
        differ = [(address, name, ours.get(address)) for address, name in stock.items() if ours.get(address) != name]
        check(len(stock) >= 0.9 * len(several) > 0 and not differ,
              "and each address with several names by the same one", f"{len(several)} {len(stock)} {differ[:9]}")
    else:
        skip("functions of the kernel as stock perf names them", "needs root")
else:
    skip("the same as stock perf", "perf cannot record here" if PERF else needs("linux-perf"))
run = command("sh", "-c", f"{PESA} record -q -e task-clock -o - -- ./busy 50 | {PESA} report -i -")
check("inner" in run.stdout and re.search(r"^\d+$", run.stderr, re.M),
      "in a pipe the program's output goes to standard error", run.stdout + run.stderr)

os.mkfifo("named")
run = command("bash", "-c", f"timeout 60 cat named > named.data & "
              f"{PESA} record -q -e task-clock -o named -- ./busy 50; wait; {PESA} report -i named.data")
check(run.returncode == 0 and "inner" in run.stdout and not run.stderr, "a named pipe", run.stdout + run.stderr)
run = command("sh", "-c", f"{PESA} record -q -e task-clock -o /dev/stdout -- ./busy 50 | {PESA} report -i /dev/stdin")
check("inner" in run.stdout and re.search(r"^\d+$", run.stderr, re.M), "/dev/stdout, which is a pipe", run.stdout + run.stderr)
run = command("bash", "-c", f"timeout -s INT 2 {PESA} record -q -e task-clock -o named -- ./busy 50; echo $?")
check(run.stdout == "124\n", "a pipe that nobody reads is given up when it is interrupted", run.stdout + run.stderr)

# ---- How it ends -----------------------------------------------------------------------------


def readable(path="perf.data"):
    run = command(PESA, "report", "--json", "-i", path)
    return run.returncode == 0 and json.loads(run.stdout)["damaged_bytes"] == 0


def recorded(*words, before=()):
    """A recording that is under way: its program has begun to spin."""
    if os.path.exists("perf.data"):
        os.unlink("perf.data")
    process = subprocess.Popen([*before, PESA, "record", "-e", "task-clock", *words], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    child = int(process.stdout.readline())
    time.sleep(0.2)
    return process, child


def cpu_ticks(pid):
    """What a process has computed so far."""
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        return int(file.read().rsplit(")", 1)[1].split()[11])


for name in ("SIGINT", "SIGTERM", "SIGHUP"):
    process, child = recorded("--", "./busy", "100000")
    process.send_signal(getattr(signal, name))
    said = process.communicate(timeout=60)[1]
    check(process.returncode == 128 + getattr(signal, name) and readable() and samples(),
          f"{name} ends program and recording, and the file is complete", f"{process.returncode} {said}")
process, child = recorded("--", "./busy", "100000")
os.kill(child, signal.SIGKILL)
said = process.communicate(timeout=60)[1]
check(process.returncode == 137 and readable() and samples(), "the program's SIGKILL is reported, the file is complete",
      said)
process, child = recorded("--", "sh", "-c", "trap '' INT TERM; exec ./busy 100000")
process.send_signal(signal.SIGINT)
process.send_signal(signal.SIGINT)
said = process.communicate(timeout=60)[1]
check(process.returncode == 137 and readable() and "was ended" in said, "a program that does not want to end is ended",
      f"{process.returncode} {said}")
check(not os.path.exists(f"/proc/{child}"), "and gone")
busy = start("./busy", "100000")
os.unlink("perf.data")
process = subprocess.Popen([PESA, "record", "-e", "task-clock", "-p", str(busy.pid)], stderr=subprocess.PIPE, text=True)
while not os.path.exists("perf.data"):
    time.sleep(0.05)
# On a busy machine the recorder, which has little to do yet, is no slower than the process.
spun = cpu_ticks(busy.pid)
while cpu_ticks(busy.pid) < spun + os.sysconf("SC_CLK_TCK"):
    time.sleep(0.05)
process.terminate()
said = process.communicate(timeout=60)[1]
check(process.returncode == 0 and readable() and busy.poll() is None, "SIGTERM with -p leaves the process alone", said)
busy.kill()
busy.wait()

# ---- Several files ---------------------------------------------------------------------------


def files():
    return sorted(glob.glob("part.data*"))


def clear():
    for path in files():
        os.unlink(path)


record("-c", "500000", "-z", "0", "-o", "part.data", "--switch-output=20K", "--json=summary.json", "--",
       "./busy", "1200", "1", "1")
parts = files()
check(len(parts) >= 3 and "part.data" not in parts and summary()["files"] == len(parts), "--switch-output by size",
      parts)
counts = [len(samples(path)) for path in parts]
check(sum(counts) == summary()["samples"], "no sample is lost between the files", f"{counts} {summary()}")
check(all(sample["symbol"] is not None for path in parts for sample in samples(path)
          if (sample["dso"] or "").endswith("/busy")) and
      all(any(sample["symbol"] == "inner" for sample in samples(path)) for path in parts[1:-1]),
      "each file knows what was mapped before it began, of children too")
clear()
record("-c", "1000000", "-o", "part.data", "--switch-output=200ms", "--", "./busy", "900")
check(len(files()) >= 3, "--switch-output by time", files())
clear()
process, child = recorded("-c", "1000000", "-o", "part.data", "--switch-output", "--", "./busy", "600")
process.send_signal(signal.SIGUSR2)
process.communicate(timeout=60)
check(len(files()) == 2 and process.returncode == 7, "--switch-output by signal", files())
clear()
# 8 pages hold about 800 samples of 40 bytes: the snapshot is the newest, not the first.
process, child = recorded("-c", "100000", "-m", "4", "-o", "part.data", "--snapshot", "--", "./busy", "1500")
time.sleep(0.4)
process.send_signal(signal.SIGUSR2)
process.communicate(timeout=60)
parts = files()
check(len(parts) == 2 and process.returncode == 7, "a snapshot when the signal comes, and one at the end", parts)
if len(parts) == 2:
    first, last = (samples(path) for path in parts)
    check(first and last and max(s["time"] for s in first) < min(s["time"] for s in last),
          "the second has what is newer than the first")
    spread = max(s["time"] for s in last) - min(s["time"] for s in last)
    check(len(last) < 1500 and all(s["symbol"] for s in last if s["dso"].endswith("/busy")) and readable(parts[1]),
          "it is a ring full, with names", f"{len(last)} in {spread} ns")
clear()

# ---- Losses ----------------------------------------------------------------------------------

process, child = recorded("-c", "50000", "-m", "1", "--json=summary.json", "--", "./busy", "700")
process.send_signal(signal.SIGSTOP)
time.sleep(0.5)
process.send_signal(signal.SIGCONT)
said = process.communicate(timeout=60)[1]
lost = json.loads(command(PESA, "report", "--json", "-i", "perf.data").stdout)["lost"]
check(summary()["lost"] > 0 and "were lost" in said, "what a full ring loses is reported", said)
check(lost == summary()["lost"], "and stands in the file", f"{lost} {summary()}")

# ---- Refusals --------------------------------------------------------------------------------

for words, status, text in (
        (("-e", "none", "--", "true"), 1, "no event 'none'"),
        (("-e", "none/x/", "--", "true"), 1, "no PMU 'none'"),
        (("-e", "cpu-clock", "-p", "999999999"), 1, "no process 999999999"),
        (("-e", "cpu-clock", "-p", "1", "--", "true"), 2, "exclude each other"),
        (("-e", "cpu-clock", "-p", "1", "-a"), 2, "exclude each other"),
        (("-e", "cpu-clock", "-C", "4000", "--", "true"), 1, "CPU 4000 is not online"),
        (("-e", "cpu-clock", "-C", "x", "--", "true"), 2, "CPUs, as in"),
        (("-e", "cpu-clock", "-m", "3", "--", "true"), 2, "power of two"),
        (("-e", "cpu-clock", "-gdwarf,7", "--", "true"), 2, "multiple of 8"),
        (("-e", "cpu-clock", "-m", "2", "-gdwarf", "--", "true"), 1, "too small for samples"),
        (("-e", "cpu-clock", "-F", "4000000000", "--", "true"), 1, "perf_event_max_sample_rate"),
        (("-e", "cpu-clock", "-c", "1", "-F", "1", "--", "true"), 2, "either --period or --frequency"),
        (("-e", "cpu-clock", "--core", "ooo-4", "--", "true"), 2, "--core is of the virtual core"),
        (("-e", "cpu-clock", "--snapshot", "-o", "-", "--", "true"), 2, "cannot go to standard output"),
        (("-e", "cpu-clock", "--switch-output", "-o", "/dev/null", "--", "true"), 2, "a pipe or a device"),
        (("-e", "cpu-clock", "--", "./none"), 1, "no program './none'"),
        (("-e", "cpu-clock", "-o", "/none/x", "--", "true"), 1, "/none/x"),
        (("-e", "cpu-clock"), 2, "no program")):
    run = command(PESA, "record", *words)
    check(run.returncode == status and text in run.stderr and run.stderr.count("\n") == 1,
          f"refused in a line: {' '.join(words)}", f"{run.returncode} {run.stderr}")

# ---- The best source -------------------------------------------------------------------------

# What works is found by trying; stock perf is the witness of whether cycles are counted here.
LEVELS = ["details", "pc", "cycles", "leader", "clock"]
if not os.path.exists("/sys/bus/event_source/devices/pesa"):
    run = command(PESA, "record", "-g", "--json=summary.json", "--", "./busy", "100")
    told, source = run.stderr.splitlines(), summary()["source"]
    check(run.returncode == 7 and len(told) == 2 and re.match("pesa record: sampling [^ ]+: ", told[0]),
          "without -e the source is named in one line", run.stderr)
    check(source["level"] in LEVELS[1:] and source["meaning"] in told[0] and source["why"] in told[0]
          and "no PMU 'pesa'" in source["why"] and summary()["events"][0] in told[0], "with what it means, and why no better one",
          source)
    seen = samples()
    where = sum(sample["symbol"] == "inner" for sample in seen)
    check(len(seen) > 20 and where > 0.7 * len(seen), "its samples are where the program spins", len(seen))
    if PERF:
        counted = command(PERF, "stat", "-x,", "-e", "cycles", "true").stderr
        check((source["level"] == "clock") >= ("not supported" in counted), "it is a clock where nothing counts cycles", counted)
    run = command(PESA, "record", "-q", "-F", "99", "--", "./busy", "100")
    check(run.returncode == 7 and not run.stderr, "--quiet: no line", run.stderr)
    for words in (("-a", "--duration", "0.2"), ("-p", str(os.getpid()), "--duration", "0.2"), ("-C", "0", "--duration", "0.2")):
        run = command(PESA, "record", *words)
        # On a busy machine the kernel may throttle, which is said too.
        said = [line for line in run.stderr.splitlines() if "the kernel stopped sampling for a while" not in line]
        check(run.returncode == 0 and len(said) == 2, f"so it does with {words[0]}", run.stderr)
    for level in LEVELS:
        run = command(PESA, "record", "-q", "--require", level, "--", "./busy", "20")
        if LEVELS.index(level) < LEVELS.index(source["level"]):
            check(run.returncode == 1 and run.stderr.count("\n") == 1 and "no PMU 'pesa'" in run.stderr
                  and "pesa doctor" in run.stderr, f"--require {level} refuses it in one line", run.stderr)
        else:
            check(run.returncode == 7, f"--require {level} takes it", run.stderr)
run = command(PESA, "record", "--require", "details", "-e", "cpu-clock", "--", "true")
check(run.returncode == 2 and "--require" in run.stderr, "--require is not for named events", run.stderr)
run = command(PESA, "record", "--require", "much", "--", "true")
check(run.returncode == 2 and "details, pc, cycles" in run.stderr, "--require lists its levels", run.stderr)

# As an ordinary user: what the privilege is that is missing.
with open("/proc/sys/kernel/perf_event_paranoid", encoding="ascii") as file:
    paranoid = int(file.read())
setpriv = shutil.which("setpriv")
if os.geteuid() == 0 and setpriv and paranoid == 2:
    os.mkdir("user")
    os.chmod("user", 0o777)
    copy_of_pesa("user")
    shutil.copy("busy", "user/busy")
    ordinary = [setpriv, "--reuid=65534", "--regid=65534", "--clear-groups"]

    def unprivileged(*words):
        return command(*ordinary, "bin/pesa", "record", *words, cwd="user")

    run = unprivileged("-e", "task-clock", "-c", "1000000", "--", "./busy", "50")
    check(run.returncode == 7 and "only user mode" in run.stderr and "CAP_PERFMON" in run.stderr,
          "an ordinary user records user mode and is reported so", run.stderr)
    check(samples("user/perf.data") and all(s["address"] < 1 << 63 for s in samples("user/perf.data")),
          "and no address of the kernel is in the file")
    for words, texts in (
            (("-e", "cpu-clock", "-a", "--duration", "1"), ("CAP_PERFMON", "perf_event_paranoid at 0", "it is 2")),
            (("-e", "cpu-clock:k", "--", "./busy", "10"), ("CAP_PERFMON", "perf_event_paranoid at 1", "it is 2")),
            (("-e", "cpu-clock:u", "-p", "1"), ("another user", "root")),
            (("-e", "cpu-clock:u", "-m", "64M", "--", "./busy", "10"), ("perf_event_mlock_kb", "-m"))):
        run = unprivileged(*words)
        check(run.returncode == 1 and all(text in run.stderr for text in texts) and run.stderr.count("\n") == 1,
              f"the missing privilege: {' '.join(words)}", f"{run.returncode} {run.stderr}")
    busy = start("./busy", "100000", "60")
    threads_of(busy, 60)
    run = command("sh", "-c", f"ulimit -n 40; exec {PESA} record -e cpu-clock -p {busy.pid} --duration 1")
    busy.kill()
    busy.wait()
    check(run.returncode == 1 and "ulimit -n" in run.stderr, "too few files: what to raise", run.stderr)
else:
    skip("the missing privilege", "needs root, setpriv and perf_event_paranoid 2")

os.chdir("/")
shutil.rmtree(work)
end()
