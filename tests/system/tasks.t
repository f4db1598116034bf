#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Recordings of tasks that are switched, forked, executed and migrated, and of harts that go offline and come back.

Shares: threads whose time slices are shorter than a period get samples by their cycles, because the counter runs on
while tasks are switched (Documentation/hardware.md, decision 9).
"""
import collections
import json
import math
import re
import tempfile

from board import (FAULTS, board, check_handed_out, events, guest_program, lost, only_samples, pesa_of_board, phases, read,
                   script_parts, tap)

SLICES = (60, 120, 180, 240)  # on average, iterations of about 50 cycles
ROUNDS = 300
PERIOD = 20000
PROCESSES = 60
PESA = "/pesa/bin/pesa record -q -o"
STATISTICS = ("taken", "recorded", "excluded", "unclaimed", "discarded", "unreported")
SHARES = f"./shares {ROUNDS} {' '.join(map(str, SLICES))}"
CASES = {
    # Tasks that inherit the event swap it when they are switched; tasks with events of their own do not.
    "inherited": f"{PESA} inherited.data -e pesa/cycles/u -c {PERIOD} -- {SHARES}",
    "own": f"{{ sleep 1; echo; }} | {SHARES} > own.out & {PESA} own.data -e pesa/cycles/u -c {PERIOD} -p $!; wait; "
           "cat own.out; true",
    "storm": f"perf record -q -N -B -e pesa/cycles/ -c 50000 -o storm.data ./storm {PROCESSES} 2000",
    "exec": f"{PESA} exec.data -c 50000 -- ./storm {PROCESSES} 2000 ./hot 4000 > /dev/null",
    # During a system-wide recording the second hart goes offline and comes back, and the program runs on it again.
    "harts": f"{PESA} harts.data -a -c 100000 --json=harts.json -- sh hotplug",
    "harts-stock": "perf record -q -N -B -a -e pesa/cycles/u -c 100000 -o harts-stock.data sh hotplug",
    "harts-task": f"echo 0 > $cpu/online; {PESA} harts-task.data -c 100000 -- sh came; echo 1 > $cpu/online",
}
HOTPLUG = r"""
taskset -c 1 ./hot 150000
echo 0 > $cpu/online; ./hot 150000; echo 1 > $cpu/online
sleep 0.2
exec taskset -c 1 ./hot 150000
"""
CAME = r"""
./hot 150000; echo 1 > $cpu/online; exec taskset -c 1 ./hot 150000
"""


def script():
    lines = ["pmu=/sys/bus/event_source/devices/pesa; export cpu=/sys/devices/system/cpu/cpu1",
             "statistics() { for name in %s; do read value < $pmu/statistics/$name; echo \"$name $value\"; done; }"
             % " ".join(STATISTICS)]
    for name, command in CASES.items():
        lines.append(f'echo "== {name}"; {{ {command}; echo "status $?"; }} 2>&1; statistics')
    return "\n".join(lines) + "\n"


def numbers(text):
    return {name: int(value) for name, value in re.findall(r"^(\w+) (\d+)$", text, re.M) if name in STATISTICS}


def chi_squared(counts, weights):
    total, whole = sum(counts), sum(weights)
    return sum((count - total * weight / whole) ** 2 / (total * weight / whole)
               for count, weight in zip(counts, weights))


with tempfile.TemporaryDirectory(prefix="pesa-tasks-") as share:
    for program in ("hot", "shares", "storm"):
        guest_program(program, share)
    for name, text in (("script", script()), ("hotplug", HOTPLUG), ("came", CAME)):
        with open(f"{share}/{name}", "w", encoding="utf-8") as file:
            file.write(text)
    done = board("--share", share, "--also", f"pesa={pesa_of_board()}", "--counts", f"{share}/counts", "--console",
                 f"{share}/console", "--", "bash", "script", limit=900)
    parts = script_parts(done.stdout)
    recordings = {name: events(f"{share}/{name}.data") for name in CASES}
    console = read(f"{share}/console")
    device = json.loads(read(f"{share}/counts") or "null")
    followed = json.loads(read(f"{share}/harts.json") or "{}")

tap.check(done.returncode == 0, "the script ends", f"{done.returncode}\n{done.stdout}{done.stderr}{console}")
of = {name: only_samples(records) for name, records in recordings.items()}
before = collections.Counter()
for name in CASES:
    part = parts.get(name, "")
    after = collections.Counter(numbers(part))
    print(f"# {name}: {len(of[name])} samples, {lost(recordings[name])} lost; driver: {dict(after - before)}")
    tap.check("status 0" in part and of[name], f"{name}: recorded", part)
    check_handed_out(name, CASES[name], recordings[name], after - before, part)
    before = after

# The statistic: chi-squared of the samples in chain() by thread against the slices.  With 4 threads it has 3 degrees
# of freedom, and exceeds 30.7 once in a million times.  The slices have random lengths: if the threads alternated with a
# period near that of the samples, the samples would not be independent.
for name in ("inherited", "own"):
    switches = {int(task): int(count) for task, count in re.findall(r"^(\d+) (\d+)$", parts.get(name, ""), re.M)}
    counts = collections.Counter(sample["tid"] for sample in of[name] if sample["symbol"] == "chain")
    tasks = sorted(switches)
    got = [counts[task] for task in tasks]
    statistic = chi_squared(got, SLICES) if sum(got) else math.inf
    print(f"# {name}: slices {SLICES}, samples {got}, chi-squared {statistic:.1f}, switches {switches}")
    # One thread may have a hart for itself while the others share the second hart.
    tap.check(len(tasks) == len(SLICES) and sum(switches.values()) > 2 * ROUNDS, f"{name}: the threads take turns",
              switches)
    tap.check(sum(got) > 150, f"{name}: enough samples", got)
    tap.check(statistic < 30.7, f"{name}: each thread has samples by its cycles", f"{got} {statistic}")

for name in ("storm", "exec"):
    made = [record for record in recordings[name] if record["type"] == "fork" and record["pid"] != record["parent_pid"]]
    ended = [record for record in recordings[name] if record["type"] == "exit" and record["pid"] == record["tid"]]
    tap.check(len(made) == PROCESSES and len(ended) == PROCESSES + 1, f"{name}: every process is reported, and its end",
              f"{len(made)} {len(ended)}")
    ours = [sample for sample in of[name] if sample["symbol"] == "storm_work"]
    tap.check(len({sample["pid"] for sample in ours}) > 10 and {sample["comm"] for sample in ours} == {"storm"},
              f"{name}: samples of many of them", len(ours))
new = [sample for sample in of["exec"] if sample["symbol"] == "divide"]
tap.check(len({sample["pid"] for sample in new}) > 5 and {sample["comm"] for sample in new} == {"hot"} and
          all(sample["dso"].endswith("/hot") for sample in new),
          "exec: what a process became has its name and its functions", new[:2])
tap.check(not [sample for sample in of["exec"] if sample["comm"] == "hot" and sample["symbol"] == "storm_work"],
          "exec: and nothing of what it was")

print("# harts:", phases(of["harts"]), "stock:", phases(of["harts-stock"]), "task:", phases(of["harts-task"]))
seen = phases(of["harts"])
tap.check(len(seen) == 3 and set(seen[0]) == {1} and set(seen[1]) == {0} and set(seen[2]) == {1} and
          seen[2][1] > 0.7 * seen[0][1], "a hart that comes back is recorded again", seen)
tap.check(followed.get("unfollowed", "") is None, "nothing else is said", followed)
ids = {sample["event"] for sample in of["harts"]}
tap.check(ids == {"pesa/cycles/"}, "as the same event", ids)
seen = phases(of["harts-stock"])
tap.check(len(seen) >= 2 and set(seen[0]) == {1} and set(seen[1]) == {0}, "stock perf goes on without a hart that goes",
          seen)
seen = phases(of["harts-task"])
tap.check(len(seen) == 2 and set(seen[0]) == {0} and set(seen[1]) == {1},
          "a task is recorded on a hart that was not there when the recording began", seen)

if tap.check(device and before["taken"], "device and driver count", console):
    taken = sum(hart["taken"] for hart in device["harts"])
    print(f"# device: {taken} taken, driver: {dict(before)}")
    # A sample that is pending when a hart's counter stops belongs to no event: at the end of each recording, and for each
    # hart that went offline.
    tap.check(0 <= taken - before["taken"] <= len(device["harts"]) * (len(CASES) + 3),
              "the driver read the samples that the device took", f"{taken} {before}")
tap.check(not FAULTS.search(console), "the kernel complains of nothing", console)
tap.end()
