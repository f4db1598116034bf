#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Run time of recording on the virtual core, compared with plain QEMU and the same program.

    tests/bench/vcore.py [--sampled]       --sampled: sampled recordings only, compared with recordings of every cycle
"""
import json
import os
import subprocess
import sys
import tempfile
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("O", os.path.join(TOP, "build"))
PESA = os.environ.get("PESA", os.path.join(BUILD, "bin/pesa"))
RUNS = 3  # rounds of all recordings; before each recording as many runs of plain QEMU, of which the fastest counts
PROGRAM = os.path.join(BUILD, "programs/bzip2-static")
# More programs, recorded once each: {name: (arguments, file for standard input)}.
OTHERS = {
    "nettle-hash-static": (["-a", "sha256", "long"], os.devnull),
    "sqlite3-static": (["-batch", ":memory:"], "queries"),
    "zstd-static": (["-qc", "-6", "text"], os.devnull),  # it has threads, so no second CPU is free for the relay thread
}
QUERIES = """create table t(a, b);
with recursive c(x) as (select 1 union all select x + 1 from c where x < 40000) insert into t select x, x * 7 % 101 from c;
create index i on t(b);
select count(*), sum(a) from t where b between 10 and 50;
"""


class Run:
    """Run a program.  Returns its elapsed and CPU seconds and its peak memory in MB, with those of its children."""

    def __init__(self, words, source=os.devnull):
        start = time.monotonic()
        with open(source, "rb") as stdin, subprocess.Popen(words, stdin=stdin, stdout=subprocess.DEVNULL) as process:
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        self.time = time.monotonic() - start
        self.processor = usage.ru_utime + usage.ru_stime
        self.memory = usage.ru_maxrss / 1024
        if process.returncode:
            sys.exit(f"{' '.join(words)}: exit status {process.returncode}")


def record(core, golden, guest, source=os.devnull):
    words = [PESA, "record", "-q", "-c", "10000", "--core", core, "--json=summary"]
    if golden:
        words += ["--golden", "golden.data"]
    run = Run([*words, "--", *guest], source)
    with open("summary", encoding="utf-8") as file:
        run.summary = json.load(file)
    run.size = os.path.getsize("perf.data")
    return run


def compare_sampled(name, guest, source=os.devnull):
    """By turns: every cycle, and sampled, at a period of 1,000,000; on all processors and on one."""
    words = [PESA, "record", "-q", "-c", "1000000", "--core", "ooo-4", "--json=summary"]
    for where, prefix in (("", []), (", one processor", ["taskset", "-c", str(min(os.sched_getaffinity(0)))])):
        pairs = []
        for _ in range(RUNS):
            normal = Run([*prefix, *words, "--", *guest], source)
            pairs.append((normal, Run([*prefix, *words, "--sampled", "--", *guest], source)))
        with open("summary", encoding="utf-8") as file:
            summary = json.load(file)
        ratios = sorted(normal.time / sampled.time for normal, sampled in pairs)
        worked = sorted(normal.processor / sampled.processor for normal, sampled in pairs)
        middle = sorted(pairs, key=lambda pair: pair[0].time / pair[1].time)[len(pairs) // 2]
        print(f"ooo-4, sampled, {name}{where}: {middle[1].time:.2f} s instead of {middle[0].time:.2f} s, "
              f"{ratios[len(ratios) // 2]:.1f} times as fast ({ratios[0]:.1f} to {ratios[-1]:.1f}); by processor time "
              f"{worked[len(worked) // 2]:.1f}; {summary['instructions'] / middle[1].time / 1e6:.0f} million instructions/s")


def median(runs):
    return sorted(runs, key=lambda run: run.ratio)[len(runs) // 2]


for name in (os.path.basename(PROGRAM), *OTHERS):
    if not os.path.exists(os.path.join(BUILD, "programs", name)):
        subprocess.run([os.path.join(TOP, "tools/programs"), "-o", os.path.join(BUILD, "programs"), name], check=True,
                       stdout=subprocess.DEVNULL)
EMULATOR = subprocess.run([os.path.join(TOP, "tools/emulator")], check=True, capture_output=True, text=True).stdout.strip()
with tempfile.TemporaryDirectory() as work:
    os.chdir(work)
    with open("text", "wb") as out:
        for folder, _, names in sorted(os.walk(os.path.join(TOP, "decoder"))):
            for name in sorted(names):
                with open(os.path.join(folder, name), "rb") as file:
                    out.write(file.read())
        out.truncate(800000)
    with open("text", "rb") as text, open("less", "wb") as less, open("long", "wb") as long:
        less.write(text.read(100000))
        text.seek(0)
        long.write(text.read() * 12)
    with open("queries", "w", encoding="utf-8") as out:
        out.write(QUERIES)
    guest = [PROGRAM, "-kc", "text"]
    programs = [("bzip2", guest, os.devnull)] + [
        (name.removesuffix("-static"), [os.path.join(BUILD, "programs", name), *words], source)
        for name, (words, source) in OTHERS.items()]
    for one in programs:
        compare_sampled(*one)
    if sys.argv[1:] == ["--sampled"]:
        sys.exit(0)
    cases = [(core, golden) for core in ("inorder-2", "ooo-4") for golden in (False, True)]
    recordings = {case: [] for case in cases}
    for _ in range(RUNS):
        for case in cases:
            plain = min((Run([EMULATOR, *guest]) for _ in range(RUNS)), key=lambda run: run.time)
            run = record(*case, guest)
            run.plain, run.ratio = plain, run.time / plain.time
            recordings[case].append(run)
    for core, golden in cases:
        run = median(recordings[core, golden])
        least, most = (function(one.ratio for one in recordings[core, golden]) for function in (min, max))
        print(f"{core}{', golden reference' if golden else ''}: {run.time:.2f} s, {run.ratio:.0f} x plain QEMU's {run.plain.time:.2f} s "
              f"({least:.0f} to {most:.0f}), {run.summary['instructions'] / run.time / 1e6:.1f} million instructions/s; "
              f"{run.processor:.2f} s of processor, {run.processor / run.plain.processor:.0f} x; "
              f"{run.size / run.summary['samples']:.1f} bytes of file a sample; {run.memory:.0f} MB ({run.plain.memory:.0f})")
    for name, (words, source) in OTHERS.items():
        guest_words = [os.path.join(BUILD, "programs", name), *words]
        plain = min((Run([EMULATOR, *guest_words], source) for _ in range(RUNS)), key=lambda run: run.time)
        run = record("ooo-4", True, guest_words, source)
        print(f"ooo-4, golden reference, {name.removesuffix('-static')}: {run.time:.2f} s, {run.time / plain.time:.0f} x plain QEMU's "
              f"{plain.time:.2f} s, {run.summary['instructions'] / run.time / 1e6:.1f} million instructions/s; {run.memory:.0f} MB")
    # Memory does not grow with the time that the program runs.
    run = record("ooo-4", True, [PROGRAM, "-kc", "less"])
    print(f"ooo-4, golden reference, 100 KB of the input: {run.time:.2f} s, "
          f"{run.summary['instructions'] / 1e6:.0f} million instructions; {run.memory:.0f} MB")
sys.exit(0)
