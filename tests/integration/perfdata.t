#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Stock perf reads the files that pesa writes, and pesa those that stock perf writes; events are compared one by one."""
import os
import re
import shutil
import subprocess
import tempfile

from tap import BUILD, bail_out, check, end, needs, skip, skip_all

TOOL = os.path.join(BUILD, "tests/tools/perfdata_tool")
PERF = "/usr/bin/perf"


def run(*command, stdin=None):
    """Exit status, standard output and standard error."""
    done = subprocess.run(command, stdin=open(stdin, "rb") if stdin else subprocess.DEVNULL,
                          capture_output=True, timeout=120, check=False)
    return (done.returncode, done.stdout.decode("utf-8", "replace"),
            done.stderr.decode("utf-8", "replace"))


def dump(*command, stdin=None):
    status, out, err = run(TOOL, *command, stdin=stdin)
    if status:
        print("#", err)
    return out


# What perf script -D says of an event, as perfdata_tool dump says it.
MEMBER = re.compile(r"\s*\S.*?\s\d+\s+(?:\[\d+\]\s+)?[\d.]+:\s+(\d+)\s+\S+:\s")
HEAD = re.compile(r"^(?:-?\d+ )?(\d+) (?:0x)?[0-9a-f]+ \[0x[0-9a-f]+\]: PERF_RECORD_(.*)$")
SAMPLE = re.compile(r"SAMPLE\(IP, 0x([0-9a-f]+)\): (-?\d+)/(-?\d+): (?:0x)?([0-9a-f]+) period: (\d+) "
                    r"addr: (?:0x)?([0-9a-f]+)")
MMAP = re.compile(r"MMAP2? (-?\d+)/(-?\d+): \[0x([0-9a-f]+)\((?:0x)?([0-9a-f]+)\) @ (?:0x)?([0-9a-f]+)"
                  r"[^]]*\]: \S+ (.*)$")
COMM = re.compile(r"COMM( exec)?: (.*):(-?\d+)/(-?\d+)$")
TASK = re.compile(r"(FORK|EXIT)\((\d+):(\d+)\):\((\d+):(\d+)\)")
CHAIN = re.compile(r"^\.\.\.\.\. +\d+: ([0-9a-f]{16})(?: -> ([0-9a-f]{16}) .*)?$")


def perf_events(text):
    events, group = [], None
    for line in text.splitlines():
        if line.startswith(".... group nr") and events and events[-1][0] == "sample":
            # What perf makes of the sample follows: one of each member that has grown.
            group = events.pop()
            continue
        member = MEMBER.match(line) if group else None
        if member:
            events.append([*group[:5], member[1], *group[6:]])
            continue
        link = CHAIN.match(line)
        if link and events and events[-1][0] == "sample":
            if link.group(2):
                events[-1][-1].append("%x-%x" % (int(link.group(1), 16), int(link.group(2), 16)))
            else:
                events[-1][-2].append("%x" % int(link.group(1), 16))
            continue
        head = HEAD.match(line)
        if not head:
            continue
        group = None
        time, what = head.groups()
        time = "0" if int(time) == 2 ** 64 - 1 else time
        found = SAMPLE.match(what)
        if found:
            misc, pid, tid, ip, period, address = found.groups()
            events.append(["sample", time, pid, tid, "%x" % int(ip, 16), period,
                           "%x" % int(address, 16), str(int(misc, 16) >> 14 & 1), [], []])
            continue
        found = MMAP.match(what)
        if found:
            events.append(["mmap", time, *found.groups()])
            continue
        found = COMM.match(what)
        if found:
            exec_, name, pid, tid = found.groups()
            events.append(["comm", time, "1" if exec_ else "0", name, pid, tid])
            continue
        found = TASK.match(what)
        if found:
            events.append([found.group(1).lower(), time, *found.groups()[1:]])
    return events


def our_events(text):
    events = []
    for line in text.splitlines():
        kind = line.split(" ", 1)[0]
        if kind == "sample":
            # the event's name may hold spaces; everything behind it is name=value
            value = dict(word.split("=", 1) for word in line[line.index(" pid="):].split())
            events.append(["sample", value["time"], value["pid"], value["tid"], value["ip"],
                           value["period"], value["address"], value["exact"],
                           [x for x in value["callchain"].split(",") if x],
                           [x for x in value["branches"].split(",") if x]])
            continue
        if kind == "mmap":
            line, path = line.split(" path=", 1)
            value = dict(word.split("=", 1) for word in line.split()[1:])
            events.append(["mmap", value["time"], value["pid"], value["tid"], value["address"],
                           value["length"], value["offset"], path])
        elif kind == "comm":
            line, name = line.split(" name=", 1)
            value = dict(word.split("=", 1) for word in line.split()[1:])
            events.append(["comm", value["time"], value["exec"], name, value["pid"], value["tid"]])
        elif kind in ("fork", "exit"):
            value = dict(word.split("=", 1) for word in line.split()[1:])
            events.append([kind, value["time"], value["pid"], value["tid"], value["parent_pid"],
                           value["parent_tid"]])
    return events


def compare(what, theirs, ours, at_least):
    """Two lists of events are the same, in order, and there are enough of them."""
    difference = ""
    for i, (their, our) in enumerate(zip(theirs, ours)):
        if their != our:
            difference = "event %d\nperf: %s\npesa: %s" % (i, their, our)
            break
    if not difference and len(theirs) != len(ours):
        difference = "perf has %d events, pesa %d" % (len(theirs), len(ours))
    if not difference and len(ours) < at_least:
        difference = "only %d events" % len(ours)
    check(not difference, what, difference)


def samples(text):
    """perf script -F pid,tid,cpu,time,period,event,ip and our dump, of the samples."""
    line = re.compile(r"^\s*(-?\d+)/(-?\d+)\s+\[(\d+)\]\s+(\d+)\.(\d{9}):\s+(\d+)\s+(\S+):\s+([0-9a-f]+)\s*$")
    found = [line.match(x) for x in text.splitlines() if x.strip()]
    return [None if not x else [x.group(1), x.group(2), int(x.group(3)),
                                int(x.group(4)) * 10 ** 9 + int(x.group(5)), x.group(6),
                                x.group(7), x.group(8)] for x in found]


def our_samples(text):
    found = []
    for line in text.splitlines():
        if line.startswith("sample "):
            value = dict(word.split("=", 1) for word in line[line.index(" pid="):].split())
            found.append([value["pid"], value["tid"], int(value["cpu"]), int(value["time"]),
                          value["period"], line[7:line.index(" pid=")], value["ip"]])
    return found


def stock_perf_reads_ours():
    variants = [("plain", []), ("compressed", ["-z1"]), ("compressed most", ["-z19", "-n3000"]),
                ("killed", ["--killed"]), ("killed and compressed", ["-z", "--killed"]),
                ("branches", ["-z", "--branches"]), ("two events", ["-z", "--two-events"]),
                ("without rounds", ["--no-rounds"])]
    for name, options in variants:
        status, _, err = run(TOOL, "write", "ours.data", "-n6000", *options)
        check(status == 0, name + ": is written", err)
        for command in (["report", "--stdio"], ["script"], ["script", "-D"], ["evlist", "-v"],
                        ["report", "--header-only", "-I"], ["buildid-list"]):
            if name.startswith("killed") and command[0] == "buildid-list":
                continue
            status, out, err = run(PERF, *command, "-i", "ours.data")
            check(status == 0 and not err and out,
                  "%s: perf %s reads it without a word" % (name, " ".join(command)),
                  "status %d, %d bytes\n%s" % (status, len(out), err))
        status, out, err = run(PERF, "script", "-D", "-i", "ours.data")
        compare(name + ": perf script -D and we read the same", perf_events(out),
                our_events(dump("dump", "ours.data")), 3000)
        status, out, err = run(PERF, "script", "-i", "ours.data", "--ns", "-F",
                               "pid,tid,cpu,time,period,event,ip")
        names = not name.startswith("killed")  # perf takes names from the feature section only
        compare(name + ": perf script and we read the same samples",
                [x[:5] + x[5 + (not names):] for x in samples(out)],
                [x[:5] + x[5 + (not names):] for x in our_samples(dump("dump", "ours.data"))], 3000)
    for name, options in (("pipe", []), ("compressed pipe", ["-z3"])):
        with open("ours.pipe", "wb") as out:
            subprocess.run([TOOL, "write", "-", "-n6000", *options], stdout=out, check=True)
        for command in (["report", "--stdio"], ["script"], ["script", "-D"], ["evlist", "-v"],
                        ["report", "--header-only"]):
            status, out, err = run(PERF, *command, "-i", "-", stdin="ours.pipe")
            check(status == 0 and not err and out,
                  "%s: perf %s reads it without a word" % (name, " ".join(command)),
                  "status %d, %d bytes\n%s" % (status, len(out), err))
        status, out, err = run(PERF, "script", "-D", "-i", "-", stdin="ours.pipe")
        compare(name + ": perf script -D and we read the same", perf_events(out),
                our_events(dump("dump", "-", stdin="ours.pipe")), 6000)


def headers_are_shown():
    run(TOOL, "write", "ours.data", "-z", "-n1000")
    _, out, _ = run(PERF, "report", "--header-only", "-I", "-i", "ours.data")
    for line in ("# arch : riscv64", "# perf version : pesa", "# nrcpus online : 2",
                 "# cpudesc : a core that is only a test", "# cmdline : pesa record -- ./program",
                 "# event : name = pesa/cycles/", "# pmu mappings: pesa = 42", "# sibling sockets : 0-1",
                 "# compressed : Zstd, level = 1", "# time of first sample", "# total memory :",
                 "# pesa pmu capabilities: xlen=64, retire_width=4", "core=test-core"):
        check(line in out, "perf report --header-only shows '%s'" % line, out)
    _, out, _ = run(PERF, "buildid-list", "-i", "ours.data")
    check(out.startswith("a0a1a2a3a4a5a6a7a8a9aaabacadaeafb0b1b2b3 /nonexistent/program"),
          "perf buildid-list shows the build id", out)


SPIN = r"""
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile unsigned long sum;
__attribute__((noinline)) static void spin(int turns) { for (int i = 0; i < turns; i++) sum += i; }
static void *thread(void *turns) { spin(*(int *)turns); return 0; }
int main(void)
{
    int turns = 100000000;
    for (int i = 0; i < 2; i++) {
        pthread_t other;
        pid_t child = fork();
        if (!child) { spin(turns); execl("/bin/true", "true", (char *)0); _exit(1); }
        pthread_create(&other, 0, thread, &turns);
        spin(turns);
        pthread_join(other, 0);
        waitpid(child, 0, 0);
    }
    return 0;
}
"""


def we_read_stock_perfs():
    with open("spin.c", "w", encoding="utf-8") as file:
        file.write(SPIN)
    status, _, err = run("cc", "-O1", "-o", "spin", "spin.c", "-lpthread")
    if status:
        skip("a program to record", "no compiler: " + err)
        return
    status, _, err = run(PERF, "record", "-e", "cpu-clock", "-o", "probe.data", "true")
    if status:
        skip("recording with stock perf", "perf cannot record here: " + err.replace("\n", " "))
        return
    variants = [
        ("a file", []),
        ("a compressed file", ["-z"]),
        ("call chains", ["-g"]),
        ("call chains, compressed", ["-g", "-z"]),
        ("registers and stacks", ["--call-graph", "dwarf,1024"]),
        ("two events", ["-e", "task-clock"]),
        ("a group that is read", ["-e", "{task-clock,page-faults}:S"]),
        ("addresses, weights, page sizes", ["-d", "-W"]),
        ("physical addresses and registers", ["--phys-data", "--intr-regs=ax,bx"]),
        ("identifiers", ["--sample-identifier"]),
        ("build ids in maps", ["--buildid-mmap"]),
        ("counts at exit", ["-s"]),
        ("all processors", ["-a"]),
        ("all processors, compressed", ["-a", "-z"]),
        ("maps of data", ["--data"]),
        ("namespaces and cgroups", ["--namespaces", "--switch-events"]),
        ("small rings", ["-m", "1", "-z"]),
    ]
    for name, options in variants:
        status, _, err = run(PERF, "record", "-e", "cpu-clock", "-F", "1500", "-T", "--sample-cpu",
                             *options, "-o", "theirs.data", "./spin")
        if status:
            skip(name, "perf record %s fails here: %s" % (" ".join(options), err.replace("\n", " ")[:200]))
            continue
        status, out, err = run(PERF, "script", "-D", "-i", "theirs.data")
        compare("we read %s as perf does" % name, perf_events(out),
                our_events(dump("dump", "theirs.data")), 100)
        summary = dump("summary", "theirs.data")
        check("damaged_records=0 damaged_bytes=0" in summary and "unordered=0" in summary and
              re.search("^event=cpu-clock", summary, re.M),
              name + ": nothing of it is damaged or out of order", summary)
        check("arch=%s\n" % os.uname().machine in summary and
              "hostname=%s\n" % os.uname().nodename in summary and
              re.search("^cmdline=.*perf record -e cpu-clock .*spin$", summary, re.M),
              name + ": its features are read", summary)
    for name, options in (("a pipe", []), ("a compressed pipe", ["-z"]), ("a pipe of two events", ["-e", "task-clock"])):
        with open("theirs.pipe", "wb") as out:
            subprocess.run([PERF, "record", "-e", "cpu-clock", "-F", "1500", "--sample-cpu", *options,
                            "-o", "-", "./spin"], stdout=out, stderr=subprocess.DEVNULL, check=True)
        status, out, err = run(PERF, "script", "-D", "-i", "-", stdin="theirs.pipe")
        theirs = perf_events(out)
        compare("we read %s as perf does" % name, theirs,
                our_events(dump("dump", "-", stdin="theirs.pipe")), 100)
        compare("we read %s from a file as perf does" % name, theirs,
                our_events(dump("dump", "theirs.pipe")), 100)
        summary = dump("summary", "theirs.pipe")
        check("damaged_records=0 damaged_bytes=0" in summary and
              "arch=%s\n" % os.uname().machine in summary and "event=cpu-clock\n" in summary,
              name + ": nothing of it is damaged and its features are read", summary)
    # a directory: perf and we may put events of equal times and different threads in another order
    for options in ([], ["-z"]):
        status, _, err = run(PERF, "record", "--threads", "-a", "-e", "cpu-clock", *options, "-o",
                             "directory%d.data" % len(options), "./spin")
        if status:
            skip("a directory", "perf record --threads fails here: " + err.replace("\n", " ")[:200])
            continue
        status, out, err = run(PERF, "script", "-D", "-i", "directory%d.data" % len(options))
        text = dump("dump", "directory%d.data" % len(options))
        compare("we read a directory %s as perf does" % " ".join(options), sorted(perf_events(out)),
                sorted(our_events(text)), 100)
        summary = dump("summary", "directory%d.data" % len(options))
        check("unordered=0" in summary and "damaged_records=0" in summary,
              "a directory is read in the order of time", summary)
    # a recorder that is killed
    child = subprocess.Popen([PERF, "record", "-e", "cpu-clock", "-o", "killed.data", "sleep", "5"],
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        child.wait(timeout=1.5)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
    summary = dump("summary", "killed.data")
    check("recorder was killed" in summary and "event=cpu-clock" in summary,
          "a file of a killed perf record is read and said to be one", summary)


def what_is_no_perf_data_is_refused():
    open("empty", "wb").close()
    for path, message in (("empty", "is empty"), ("missing", "cannot open missing: No such file"),
                          (TOOL, "is not a perf.data file"), (".", "is a directory, and not one of perf record")):
        status, out, err = run(TOOL, "dump", path)
        check(status == 1 and message in err and err.count("\n") == 1 and not out,
              "%s is refused in one line" % os.path.basename(path), err)
    run(TOOL, "write", "ours.data", "-n100")
    with open("ours.data", "rb") as file:
        done = subprocess.run("cat | %s dump -" % TOOL, shell=True, stdin=file, capture_output=True, check=False)
    check(done.returncode == 1 and b"give its path" in done.stderr,
          "a file that comes through a pipe is refused with advice", done.stderr)
    status, out, err = run(TOOL, "dump", "-", stdin="ours.data")
    check(status == 0 and out.count("sample ") == 100, "a file on standard input is read", err)


folder = tempfile.mkdtemp(prefix="pesa-perfdata-")
os.environ.update(HOME=folder, LC_ALL="C", PERF_CONFIG="/dev/null", PAGER="cat")
os.environ.pop("DEBUGINFOD_URLS", None)
os.chdir(folder)
try:
    if not os.access(PERF, os.X_OK):
        skip_all(needs("linux-perf"))
    if not os.access(TOOL, os.X_OK):
        bail_out("not built:", TOOL)
    stock_perf_reads_ours()
    headers_are_shown()
    we_read_stock_perfs()
    what_is_no_perf_data_is_refused()
finally:
    os.chdir("/")
    shutil.rmtree(folder)
end()
