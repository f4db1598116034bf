#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""pesa stat through the kernel, with software events: counts, groups, intervals, repetitions, ends, refusals.

Oracles: what the program did (pages that it touched), the conservation of counts over intervals and threads, the formula
of the standard error, stock perf's list of what is counted.
"""
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time

from tap import PESA, bail_out, check, command, end, skip

if command(PESA, "stat", "-e", "page-faults", "--json", "--", "true").returncode:
    end("the kernel does not count here")
work = tempfile.mkdtemp(prefix="pesa-counting-")
os.chdir(work)
with open("touch.c", "w", encoding="ascii") as out:
    out.write("""
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
static void *touch(void *pages)
{
	size_t size = (size_t)atol(pages) * 4096;
	char *memory = mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	madvise(memory, size, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < size; i += 4096)
		memory[i] = 1;
	return 0;
}
int main(int argc, char **argv)
{
	pthread_t thread;
	if (!strcmp(argv[2], "main"))
		touch(argv[1]);
	else if (!strcmp(argv[2], "thread"))
		pthread_create(&thread, 0, touch, argv[1]), pthread_join(thread, 0);
	else if (!strcmp(argv[2], "fork") && !fork())
		touch(argv[1]), _exit(0);
	else if (!strcmp(argv[2], "spin"))
		for (;;)
			touch(argv[1]);
	else if (!strcmp(argv[2], "exit"))
		return 7;
	else if (!strcmp(argv[2], "slow"))
		for (int i = 0; i < 20; i++)
			touch(argv[1]), usleep(20000);
	while (wait(0) > 0)
		;
	return 0;
}
""")
if command("gcc", "-O1", "-pthread", "touch.c", "-o", "touch").returncode:
    bail_out("cannot build the program")
PAGES = 20000


def stat(*words, **options):
    run = command(PESA, "stat", "--json=out.json", *words, **options)
    run.json = {}
    if os.path.exists("out.json"):
        with open("out.json", encoding="utf-8") as file:
            text = file.read()
        os.unlink("out.json")
        run.json = json.loads(text) if text else {}
    run.value = {one["event"]: one["value"] for one in run.json.get("events", [])}
    return run


# ---- Counts ------------------------------------------------------------------------------------
few = stat("-e", "page-faults", "--", "./touch", "0", "main").value["page-faults"]
for how in ("main", "thread", "fork"):
    run = stat("-e", "page-faults,minor-faults,major-faults,task-clock", "--", "./touch", str(PAGES), how)
    value = run.value
    check(run.returncode == 0 and PAGES <= value["page-faults"] < PAGES + few + 500,
          f"{how}: every page that was touched is a fault", value)
    check(value["page-faults"] == value["minor-faults"] + value["major-faults"], f"{how}: faults sum to their kinds", value)
run = stat("--no-inherit", "-e", "page-faults", "--", "./touch", str(PAGES), "fork")
check(run.value["page-faults"] < few + 500, "--no-inherit: without what children do", run.value)
run = stat("-e", "{page-faults,minor-faults}:u,{task-clock,cs}", "--", "./touch", str(PAGES), "main")
check(set(run.value) == {"page-faults:u", "minor-faults:u", "task-clock", "cs"}
      and run.value["page-faults:u"] >= PAGES, "groups, with modifiers for all of one", run.value)
run = stat("-e", "page-faults,task-clock", "--", "./touch", str(PAGES), "main")
by = {one["event"]: one for one in run.json["events"]}
faults, clock = by["page-faults"], by["task-clock"]
per_second = faults["value"] / clock["value"] * 1e3 / {"K/sec": 1e3, "M/sec": 1e6, "/sec": 1}[faults["metric_unit"]]
check(clock["unit"] == "msec" and abs(faults["metric"] - per_second) < 1e-6 * per_second
      and abs(clock["metric"] - clock["value"] / 1e3 / run.json["seconds"]) < 1e-6
      and run.json["user_seconds"] + run.json["system_seconds"] > 0, "rates, and the CPUs that were in use", run.json)
run = stat("-e", "page-faults", "-e", "task-clock,cs", "--", "true")
check(list(run.value) == ["page-faults", "task-clock", "cs"], "several -e are one list", run.value)
run = stat("--", "true")
check(run.returncode == 0 and run.value["page-faults"] > 0 and "cycles" in run.value and "instructions" in run.value,
      "without -e: time, faults, cycles, instructions", run.json)
for one in run.json["events"]:
    if not one["supported"]:
        check(one["value"] is None and one["metric"] is None, f"{one['event']}: not supported, and said so", one)
        break

# ---- Repetitions -------------------------------------------------------------------------------
run = stat("-r", "5", "-e", "page-faults,task-clock", "--", "./touch", "1000", "main")
check(run.json["runs"] == 5 and 1000 <= run.json["events"][0]["value"] < few + 1500
      and 0 <= run.json["events"][0]["spread"] < 0.2 and run.json["events"][1]["spread"] > 0,
      "-r: means, with their standard errors", run.json)
with open("grow", "w", encoding="ascii") as out:
    out.write("#!/bin/sh\necho x >> runs\nexec ./touch $(($(wc -l < runs) * 2000)) main\n")
os.chmod("grow", 0o755)
run = stat("-r", "4", "-e", "minor-faults", "--", "./grow")
# 2000, 4000, 6000, 8000 and what each has in common: variance 4e6 * 5 / 3, standard error its root by that of 4.
error = (4e6 * 5 / 3 / 4) ** 0.5
one = run.json["events"][0]
check(abs(one["spread"] * one["value"] - error) < 0.03 * error, "-r: the standard error is that of its formula",
      (one, error))
run = command(PESA, "stat", "-r", "2", "-e", "task-clock", "--", "./touch", "1", "exit")
check(run.returncode == 7 and re.search(rb"\(2 runs\)", run.stderr) and re.search(rb"\( \+- +[\d.]+% \)", run.stderr),
      "-r: text, and the program's status", run.stderr.decode())

# ---- Intervals ---------------------------------------------------------------------------------
run = stat("-I", "50", "-e", "page-faults,task-clock", "--", "./touch", "500", "slow")
parts = run.json["intervals"]
sums = {event: sum(one["value"] for part in parts for one in part["events"] if one["event"] == event)
        for event in run.value}
times = [part["time"] for part in parts]
check(len(parts) >= 4 and sums["page-faults"] == run.value["page-faults"]
      and abs(sums["task-clock"] - run.value["task-clock"]) < 1e-3 and times == sorted(times)
      and abs(times[-1] - run.json["seconds"]) < 1e-3, "-I: the intervals add up to the whole", run.json)
run = command(PESA, "stat", "-I", "50", "-e", "page-faults", "--", "./touch", "500", "slow")
check(len(re.findall(rb"^ +\d+\.\d{6} +[\d,]+ +page-faults", run.stderr, re.M)) >= 4, "-I: a line for each",
      run.stderr.decode())

# ---- What runs already -------------------------------------------------------------------------
spin = subprocess.Popen(["./touch", "100", "spin"])
run = stat("-p", str(spin.pid), "--duration", "300ms", "-e", "page-faults,task-clock", "--per-thread")
check(run.returncode == 0 and run.value["page-faults"] > 100 and run.value["task-clock"] > 0
      and len(run.json["threads"]) == 1
      and run.json["threads"][0]["events"][0]["value"] == run.value["page-faults"], "-p: a process that runs", run.json)
spin.send_signal(signal.SIGSTOP)
time.sleep(0.1)
run = stat("-t", str(spin.pid), "--duration", "100ms", "-e", "page-faults")
check(run.value["page-faults"] == 0, "-t: a thread that stands still", run.json)
spin.send_signal(signal.SIGCONT)
counting = subprocess.Popen([PESA, "stat", "-p", str(spin.pid), "-e", "page-faults"], stderr=subprocess.PIPE)
time.sleep(0.5)
spin.kill()
spin.wait()
text = counting.communicate(timeout=30)[1].decode()
check(counting.returncode == 0 and re.search(r"[\d,]+ +page-faults", text), "-p ends with the process", text)
if os.geteuid() == 0:
    run = stat("-a", "-e", "cpu-clock,context-switches", "--", "sleep", "0.2")
    cpus = os.cpu_count()
    check(run.value["context-switches"] > 0 and 0.5 * cpus < run.json["events"][0]["metric"] <= 1.5 * cpus,
          "-a: all CPUs, while a program runs", run.json)
    run = stat("-C", "0", "-e", "cpu-clock", "--duration", "200ms")
    check(0.5 < run.json["events"][0]["metric"] <= 1.5, "-C: one of them, for a time", run.json)
else:
    skip("whole CPUs", "only root may")

# ---- Ends --------------------------------------------------------------------------------------
for how, words in (("a program", ["--", "./touch", "100", "spin"]), ("a process", ["-p", str(os.getpid())])):
    counting = subprocess.Popen([PESA, "stat", "--json=ended.json", "-e", "page-faults", *words], stderr=subprocess.PIPE)
    time.sleep(0.7)
    counting.send_signal(signal.SIGINT)
    text = counting.communicate(timeout=30)[1].decode()
    with open("ended.json", encoding="utf-8") as file:
        ended = json.load(file)
    check(ended["interrupted"] and ended["events"][0]["value"] >= 0
          and counting.returncode == (130 if how == "a program" else 0), f"SIGINT, {how}: what was counted is printed",
          (text, ended, counting.returncode))
run = stat("--duration", "200ms", "-e", "page-faults", "--", "./touch", "100", "spin")
check(run.returncode == 143 and run.value["page-faults"] > 100, "--duration ends a program", run.json)
run = command(PESA, "stat", "-e", "task-clock", "--", "sh", "-c", "kill -9 $$")
check(run.returncode == 137, "a signal's status is passed on", run.returncode)
run = command(PESA, "stat", "-o", "text", "-e", "page-faults", "--", "sh", "-c", "echo out; echo err >&2; exit 3")
with open("text", encoding="utf-8") as file:
    check(run.returncode == 3 and run.stdout == b"out\n" and run.stderr == b"err\n" and "page-faults" in file.read(),
          "the program keeps its streams and its status", (run.stdout, run.stderr))

for words in (["stat", "-e", "task-clock"], ["record", "-g", "dwarf", "-e", "task-clock", "-o", "words.data"]):
    run = command(PESA, *words, "sh", "-c", "echo \"$@\"; exit 5", "-", "-q", "--json", "-p", "--help")
    check(run.returncode == 5 and run.stdout == b"-q --json -p --help\n",
          f"pesa {words[0]}: options after the program are the program's", (run.returncode, run.stdout, run.stderr))

# ---- Refusals ----------------------------------------------------------------------------------
for words, status, text in ((["-e", "page-fault", "--", "true"], 1, "do you mean 'page-faults'"),
                            (["-e", "cycles", "--", "./none"], 1, "no program './none'"),
                            (["-p", "1", "-a"], 2, "exclude each other"), (["-p", "1", "--", "true"], 2, "exclude each"),
                            (["-r", "2", "-a"], 2, "only a program"), (["-I", "0", "--", "true"], 2, "no value for"),
                            (["-p", "999999999"], 1, "no process"), (["-t", "999999999"], 1, "no thread"),
                            (["-C", "4000", "--duration", "1"], 1, "CPU 4000 is not online"),
                            (["--core", "ooo-4", "-a"], 2, "of the virtual core"), (["-p", "x"], 2, "no value"),
                            (["-r", "2", "-I", "5", "--", "true"], 2, "exclude each other"),
                            (["--duration", "1 hour", "--", "true"], 2, "no value for --duration"),
                            (["-e"], 2, "requires an argument"), ([], 2, "no program to run")):
    run = command(PESA, "stat", *words)
    message = run.stderr.decode()
    check(run.returncode == status and re.search("^pesa stat: .*" + text, message) and message.count("\n") == 1,
          f"refused: {' '.join(words)}", f"{run.returncode} {message}")

# ---- Skidding PCs are reported ---------------------------------------------------------------------
run = command(PESA, "record", "-q", "-e", "cpu-clock", "-c", "250000", "--", "./touch", "20000", "main")
report = command(PESA, "report", "--json", "--event", "cpu-clock")
shown = json.loads(report.stdout) if report.stdout else {}
check(shown.get("samples", 0) > 0 and shown["skidding_samples"] == shown["samples"], "report: samples of a timer skid",
      (run.stderr, report.stderr, shown.get("samples")))
for name, words in (("report", ["report"]), ("annotate", ["annotate"]), ("topdown", ["topdown"]),
                    ("diff", ["diff", "perf.data", "perf.data"]), ("script", ["script"])):
    run = command(PESA, *words, *([] if name == "script" else ["--event", "cpu-clock"]))
    check(b"skidding" in run.stdout, f"{name} says so", run.stdout.decode()[-1000:] + run.stderr.decode())

os.chdir("/")
shutil.rmtree(work)
end()
