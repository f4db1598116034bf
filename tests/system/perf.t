#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Recording on the board with stock perf and pesa record, with all their options.

Each recording has the hot function, and its samples show the options; each sample that the driver handed to perf is in
the file or counted as lost.  For all recordings together: the driver read every sample that the device took.
"""
import collections
import json
import os
import re
import subprocess
import tempfile

from board import (FAULTS, board, events, guest_program, handed_out, is_user, lost, only_samples, pesa_of_board, read, script_parts, tap,
                   written_once)

STATISTICS = ("taken", "recorded", "excluded", "unclaimed", "discarded", "unreported")
STOCK = "perf record -q -N -B -e pesa/cycles/ -o"
PESA = "/pesa/bin/pesa record -q -o"
# A process that exists when the recording starts, and works only after that.  It sleeps for long, because the board's clock
# advances while the board waits for files.
LATER = "sh -c 'sleep 5; exec ./hot 200000' > /dev/null"
# Name, and a command that writes NAME.data.
CASES = [
    ("stock-program", "perf record -q -N -e pesa/cycles/ -c 50000 -o stock-program.data ./hot 200000"),
    ("stock-frequency", f"{STOCK} stock-frequency.data -F 4000 ./hot 4000000"),
    ("stock-chains", f"{STOCK} stock-chains.data -g -c 50000 ./hot 200000"),
    ("stock-per-thread", f"{STOCK} stock-per-thread.data --per-thread -T -c 50000 ./hot 200000"),
    ("stock-all", f"{STOCK} stock-all.data -a -c 50000 ./hot 200000"),
    ("stock-process", f"{LATER} & {STOCK} stock-process.data -p $! -c 50000; wait"),
    ("stock-pipe", f"{STOCK} - -c 50000 ./hot 200000 | cat > stock-pipe.data"),
    ("pesa-program", f"{PESA} pesa-program.data -c 50000 -- ./hot 200000"),
    ("pesa-1kHz", f"{PESA} pesa-1kHz.data -F 1000 -- ./hot 8000000"),
    ("pesa-4kHz", f"{PESA} pesa-4kHz.data -F 4000 -- ./hot 4000000"),
    ("pesa-20kHz", f"{PESA} pesa-20kHz.data -F 20000 -- ./hot 1000000"),
    ("pesa-minimum", f"{PESA} pesa-minimum.data -c 256 -- ./hot 20000 2>&1 | tee shortest"),
    # Run for several timer ticks: perf may stop the event until the next tick when the program starts.
    ("pesa-shortest", f"{PESA} pesa-shortest.data -c $(grep -o '[-]c [0-9]*' shortest | tr -dc 0-9) -- ./hot 8000000"),
    ("pesa-minimum-user", f"{PESA} pesa-minimum-user.data -e pesa/cycles/u -c 256 -- ./hot 20000"),
    ("pesa-chains", f"{PESA} pesa-chains.data -g -c 50000 -- ./hot 200000"),
    ("pesa-stack-dumps", f"{PESA} pesa-stack-dumps.data -g dwarf,1024 -c 50000 -- ./hot 200000"),
    ("pesa-all", f"{PESA} pesa-all.data -a -c 50000 -- ./hot 200000"),
    ("pesa-cpu", f"{PESA} pesa-cpu.data -C 1 -c 50000 -- taskset -c 1 ./hot 200000"),
    ("pesa-process", f"{LATER} & {PESA} pesa-process.data -p $! -c 50000; wait"),
    ("pesa-thread", f"{LATER} & {PESA} pesa-thread.data -t $! -c 50000; wait"),
    ("pesa-user", f"{PESA} pesa-user.data -e pesa/cycles/u -c 50000 -- ./hot 200000"),
    ("pesa-pipe", f"{PESA} - -c 50000 -- ./hot 200000 > pesa-pipe.data"),
]
CHAINS = ("stock-chains", "pesa-chains", "pesa-stack-dumps")
SCRIPT = r"""
pmu=/sys/bus/event_source/devices/pesa
statistics() { for name in %s; do read value < $pmu/statistics/$name; echo "$name $value"; done; }
""" % " ".join(STATISTICS)


def script():
    lines = [SCRIPT]
    for name, command in CASES:
        lines.append(f'echo "== {name}"; {{ {command}; echo "status $?"; }} 2>&1; statistics')
    for name in CHAINS:
        lines.append(f'echo "== chains {name}"; perf script -i {name}.data -F ip,sym 2> /dev/null | grep -c " main$"')
    lines.append('echo "== report"; perf report -i stock-program.data --stdio --sort symbol 2>&1 | grep "\\] divide"')
    lines.append('echo "== dump"; perf script -D -i stock-program.data 2>&1 | grep -c PERF_RECORD_SAMPLE')
    lines.append('echo "== report of pesa"; perf report -i pesa-program.data --stdio --sort symbol 2>&1 '
                 '| grep "\\] divide"; echo status $?')
    lines.append('echo "== report of a pipe"; cat pesa-pipe.data | perf report -i - --stdio --sort symbol 2>&1 '
                 '| grep "\\] divide"')
    lines.append('echo "== pesa report"; /pesa/bin/pesa report --sort symbol -i stock-program.data 2>&1 | grep divide')
    return "\n".join(lines) + "\n"


def numbers(text):
    return {name: int(value) for name, value in re.findall(r"^(\w+) (\d+)$", text, re.M) if name in STATISTICS}


def cycles_in_divide(path, caller=""):
    """From pesa export: the cycles of the hot function in stacks with this caller."""
    share = os.path.dirname(path)
    done = subprocess.run([tap.PESA, "export", "-f", "folded", "--symfs", share, "-i", path], capture_output=True,
                          text=True, check=False)
    stacks = [line.rpartition(" ") for line in done.stdout.splitlines()]
    return sum(int(cycles) for stack, _, cycles in stacks if stack.endswith(f"{caller};divide"))


def mean_interval(samples):
    times = [sample["time"] for sample in samples]
    return (times[-1] - times[0]) / (len(times) - 1)


with tempfile.TemporaryDirectory(prefix="pesa-perf-") as share:
    guest_program("hot", share)
    with open(f"{share}/script", "w", encoding="utf-8") as file:
        file.write(script())
    done = board("--share", share, "--also", f"pesa={pesa_of_board()}", "--counts", f"{share}/counts", "--console",
                 f"{share}/console", "--", "bash", "script", limit=900)
    parts = script_parts(done.stdout)
    recordings = {name: events(f"{share}/{name}.data") for name, _ in CASES}
    exported = {name: (cycles_in_divide(f"{share}/{name}.data"), cycles_in_divide(f"{share}/{name}.data", ";main"))
                for name in CHAINS}
    console = read(f"{share}/console")
    device = json.loads(read(f"{share}/counts") or "null")

tap.check(done.returncode == 0, "the script ends", f"{done.returncode}\n{done.stdout}{done.stderr}{console}")
before = collections.Counter()
for name, command in CASES:
    part = parts.get(name, "")
    after = collections.Counter(numbers(part))
    taken = written_once(only_samples(recordings[name]), command)
    user = [sample for sample in taken if is_user(sample)]
    hot = [sample for sample in user if sample["symbol"] == "divide"]
    print(f"# {name}: {len(taken)} samples, {len(hot)} in the hot function, {lost(recordings[name])} lost; "
          f"driver: {dict(after - before)}")
    of_hot = [sample for sample in user if sample["comm"] == "hot"]
    warned = re.search(r"-c (\d+) is the shortest period", part)
    if name.startswith("pesa-minimum"):
        # At this period nearly all time is spent in the handling of samples.
        tap.check("status 0" in part and (len(taken) > 500 or name == "pesa-minimum-user"), f"{name}: samples",
                  f"{command}\n{part}{len(taken)}")
        tap.check(warned and 500 < int(warned[1]) < 20000, f"{name}: and it is said which period has others", part)
    else:
        tap.check(not warned, f"{name}: the period is long enough", part)
        tap.check("status 0" in part and len(hot) >= 8 and len(hot) > 0.9 * len(of_hot),
                  f"{name}: samples, those of the program in its hot function", f"{command}\n{part}{len(taken)}")
    tap.check(handed_out(after - before) == len(taken) + lost(recordings[name]),
              f"{name}: each that the driver handed out is in the file or counted", part)
    tap.check(after["taken"] - before["taken"] == sum(after[key] - before[key] for key in
                                                      ("recorded", "excluded", "unclaimed")),
              f"{name}: each that it read was handed out, excluded or nobody's", part)
    before = after

of = {name: only_samples(records) for name, records in recordings.items()}
periods = [sample["period"] for sample in of["pesa-program"]]
tap.check(periods and min(periods) >= 43750 and max(periods) <= 56250 and len(set(periods)) > 1,
          "pesa-program: periods vary by an eighth around what was asked for", periods)
for name, hertz in (("stock-frequency", 4000), ("pesa-1kHz", 1000), ("pesa-4kHz", 4000), ("pesa-20kHz", 20000)):
    # The kernel starts with the nominal frequency and adapts the period.
    learned = of[name][len(of[name]) // 2:]
    rate = 1e9 / mean_interval(learned) if len(learned) > 3 else 0
    tap.check(0.6 * hertz < rate < 1.6 * hertz, f"{name}: the sample rate is the requested one", f"{rate} of {len(learned)}")
for name in CHAINS:
    hot = sum(sample["symbol"] == "divide" for sample in of[name])
    callers = int(parts.get(f"chains {name}", "").strip() or 0)
    tap.check(callers > 0.9 * hot > 0, f"{name}: the caller is reported", f"{callers} of {hot}")
    tap.check(exported[name][1] > 0.9 * exported[name][0] > 0, f"{name}: exported stacks have the caller", exported[name])
for name in ("stock-all", "pesa-all"):
    tap.check(len({sample["cpu"] for sample in of[name]}) == 2 and len({sample["pid"] for sample in of[name]}) > 1,
              f"{name}: both harts and more than one process")
tap.check({sample["cpu"] for sample in of["pesa-cpu"]} == {1}, "pesa-cpu: that hart only")
for name in ("stock-process", "pesa-process", "pesa-thread"):
    tap.check({sample["comm"] for sample in of[name]} <= {"hot", "sh"} and len({sample["tid"] for sample in of[name]}) == 1,
              f"{name}: that process only", {sample["comm"] for sample in of[name]})
tap.check(of["pesa-user"] and all(map(is_user, of["pesa-user"])) and
          all(is_user(target) for sample in of["pesa-user"] for target in sample["targets"]
              if target["address"] is not None),
          "pesa-user: no address of the kernel")
tap.check(any(not is_user(sample) for sample in of["pesa-program"]), "pesa-program: the kernel's part too")
share_of = re.search(r"([\d.]+)%", parts.get("report", ""))
tap.check(share_of and float(share_of[1]) > 40, "perf report names the hot function", parts.get("report"))
tap.check(parts.get("dump", "").strip() == str(len(of["stock-program"])), "perf script -D shows every sample",
          parts.get("dump"))
for name in ("report of pesa", "report of a pipe", "pesa report"):
    tap.check("divide" in parts.get(name, ""), f"{name}: the hot function", parts.get(name))

if tap.check(device and before["taken"], "device and driver count", console):
    taken = sum(hart["taken"] for hart in device["harts"])
    print(f"# device: {taken} taken, driver: {dict(before)}")
    # In each recording, one sample per hart can be pending when its counter stops; it belongs to no event.
    tap.check(0 <= taken - before["taken"] <= len(device["harts"]) * len(CASES),
              "the driver read the samples that the device took", f"{taken} {before}")
    discarded = sum(hart["discarded"] for hart in device["harts"])
    tap.check(before["discarded"] <= discarded, "and reports no more discarded overflows than there were",
              f"{discarded} {before}")
tap.check(not FAULTS.search(console), "the kernel complains of nothing", console)
tap.end()
