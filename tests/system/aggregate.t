#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Counting samples in the kernel (daemon/pesad/bpf, daemon/pesad/aggregate.h), compared with reading rings, on the board.

Conservation: each sample that the driver handed to perf is counted, filtered, in the ring, or missed; each sample in
the ring was read or is in the kernel's count of losses.

Address spaces: a process that executes a copy of its own program has equal records at equal addresses before and
after.  Each program has half of the samples.

Filters: each of the four filters selects the same process from those that run at the same time.
"""
import re
import tempfile

from board import (FAULTS, board, distance, events, guest_program, is_user, lost, noise, only_samples, pesa_of_board,
                   read, script_parts, tap)

TRY = "/pesa/tests/tools/aggregate"
STATISTICS = ("recorded", "excluded", "unclaimed", "discarded", "unreported")
DIVISIONS = 200000
SPLIT = f"./hot {DIVISIONS} ./again {DIVISIONS}"
GROUP = "/sys/fs/cgroup/outer/inner"
FILTERS = {"process": "-P child", "user": "-U 65534", "name": "-N chosen", "control group": "-G /sys/fs/cgroup/outer"}
CHOICE = f"""
./hot {DIVISIONS} > /dev/null &
echo $$ > {GROUP}/cgroup.procs; echo "chosen $$"
exec setpriv --reuid=65534 --regid=65534 --clear-groups ./chosen {DIVISIONS}
"""
DAEMON = """
[daemon]
user = nobody
[collect]
event = pesa/cycles/
period = 20000
[store]
directory = /tmp/store
interval = 2s
[http]
listen =
socket =
"""
CASES = {
    # Fallbacks: first the kernel's BPF compiler is off, then a capability is missing.
    "no compiler": f"{TRY} -c 16000 no-compiler.data ./hot 50000; echo 1 > /proc/sys/net/core/bpf_jit_enable",
    "no capability": f"capsh --drop=cap_bpf,cap_sys_admin -- -c '{TRY} -c 16000 no-capability.data ./hot 50000'",
    "counted": f"{TRY} -c 16000 counted.data ./mixed 200",
    "rings": f"{TRY} -r -c 16000 rings.data ./mixed 200",
    "exec": f"{TRY} -c 16000 exec.data {SPLIT}",
    "storm": f"{TRY} -d 200 -c 50000 storm.data ./storm 60 2000 ./hot 4000",
    "threads": f"{TRY} -t -c 16000 threads.data ./shares 60 60 120 180 240",
    "full": f"{TRY} -n 16 -c 4000 full.data ./mixed 60",
    "full ring": f"{TRY} -n 16 -m 4096 -c 2000 full-ring.data ./mixed 60",
    "disturbed": f"{TRY} -b -c 16000 disturbed.data ./hot 100000",
    "user mode": f"{TRY} -x -c 16000 user-mode.data ./mixed 60",
    **{name: f"{TRY} {option} -c 16000 {name.replace(' ', '-')}.data sh choice" for name, option in FILTERS.items()},
    # Wait for the daemon's first file; a fixed sleep is not enough, because the board's time advances while files are read.
    "daemon": "/pesa/bin/pesad -c conf & for i in $(seq 500); do [ -z \"$(ls -A /tmp/store)\" ] || break; sleep 0.05; "
              "done; ./mixed 100; sleep 1; kill $!; wait $!",
}


def script():
    lines = ["pmu=/sys/bus/event_source/devices/pesa; mkdir -p /tmp/store; chown nobody /tmp/store",
             # Raise the limit of the sample rate, or perf would throttle the event.
             "echo 1000000 > /proc/sys/kernel/perf_event_max_sample_rate",
             "echo 0 > /proc/sys/kernel/perf_cpu_time_max_percent",
             f"mount -t cgroup2 none /sys/fs/cgroup; mkdir -p {GROUP}",
             "statistics() { for name in %s; do read value < $pmu/statistics/$name; echo \"$1$name $value\"; done; }"
             % " ".join(STATISTICS)]
    for name, command in CASES.items():
        lines.append(f'echo "== {name}"; statistics before_; {{ {command}; echo "status $?"; }} 2>&1; statistics after_')
    return "\n".join(lines) + "\n"


def numbers(text):
    return {name: int(value) for name, value in re.findall(r"^(\w+) (\d+)$", text, re.M)}


def adds_up(name, part, records):
    """Check that each sample that was handed to perf is in exactly one place, and each counted one is in the file."""
    of = numbers(part)
    recorded = of["after_recorded"] - of["before_recorded"]
    in_ring = of["overflowed"] + of["passed"] if "mode kernel" in part else recorded
    places = of["counted"] + of["filtered"] + of["missed"] + in_ring
    # A full ring also loses other records, and the kernel counts them with the samples.
    unreported = of["after_unreported"] - of["before_unreported"]
    others = of["read"] + of["ring_lost"] - in_ring - unreported
    tap.check(recorded > 50 and recorded == places and 0 <= others <= of["ring_lost"] / 20 and
              of["written"] == of["counted"] and not of["dropped"],
              f"{name}: every sample that was taken is counted, filtered, missed, or in the ring", part)
    tap.check(len(only_samples(records)) == of["counted"] + of["read"] and lost(records) == of["ring_lost"],
              f"{name}: and is in the file, or reported to be lost", f"{len(only_samples(records))} {lost(records)} {part}")
    return of


with tempfile.TemporaryDirectory(prefix="pesa-aggregate-") as share:
    for program, copies in (("hot", ("again", "chosen")), ("mixed", ()), ("storm", ()), ("shares", ())):
        guest_program(program, share)
        for copy in copies:
            with open(f"{share}/{program}", "rb") as source, open(f"{share}/{copy}", "wb") as target:
                target.write(source.read())
    for name, text in (("script", script()), ("choice", CHOICE), ("conf", DAEMON)):
        with open(f"{share}/{name}", "w", encoding="utf-8") as file:
            file.write(text)
    pesa = pesa_of_board("bin/pesad", "tests/tools/aggregate")
    done = board("--share", share, "--also", f"pesa={pesa}", "--console", f"{share}/console", "--",
                 "sh", "-c", "chmod 755 again chosen; exec bash script", limit=900)
    parts = script_parts(done.stdout)
    of = {name: events(f"{share}/{data}") for name, data in
          ((name, found[1]) for name, found in
           ((name, re.search(r"([\w-]+\.data)", command)) for name, command in CASES.items()) if found)}
    console = read(f"{share}/console")

tap.check(done.returncode == 0 and set(parts) == set(CASES), "the script ends",
          f"{done.returncode}\n{done.stdout}{done.stderr}{console}")
if set(parts) != set(CASES):
    tap.end()
print("".join(f"# {name}: {' '.join(line for line in part.splitlines())}\n" for name, part in parts.items()), end="")

# ---- Fallbacks: rings are read, with a reason ------------------------------------------------
for name, reason in (("no compiler", "net.core.bpf_jit_enable=1"), ("no capability", "CAP_BPF and CAP_PERFMON")):
    tap.check("mode rings" in parts[name] and re.search(f"^reason .*{reason}", parts[name], re.M),
              f"{name}: rings are read, and the reason is reported", parts[name])
    adds_up(name, parts[name], of[name])

# ---- Conservation ----------------------------------------------------------------------------
for name in ("counted", "rings", "exec", "storm", "threads", "full", "full ring"):
    tap.check(("mode kernel" in parts[name]) == (name != "rings"), f"{name}: the requested mode is used", parts[name])
    adds_up(name, parts[name], of[name])
missed = sum(numbers(parts[name])["missed"] for name in ("counted", "exec", "storm", "threads", "full"))
tap.check(missed == 0, "nobody else runs a BPF program, and no sample is missed", missed)
counted = numbers(parts["full"])
tap.check(counted["room"] == 16 and counted["overflowed"] > counted["counted"] / 10 and counted["pairs"] <= 16,
          "a table of 16 pairs overflows, and the samples go through the ring", parts["full"])
counted = numbers(parts["full ring"])
tap.check(counted["ring_lost"] > 0, "if the ring is full too, the kernel counts the losses", parts["full ring"])
counted = numbers(parts["disturbed"])
recorded = counted["after_recorded"] - counted["before_recorded"]
tap.check(counted["missed"] > 10 and counted["counted"] < recorded and
          abs(recorded - counted["counted"] - counted["missed"]) <= counted["missed"] / 50,
          "samples that the kernel drops while their hart is in a system call on a map are missed, and counted",
          parts["disturbed"])
counted = numbers(parts["user mode"])
tap.check(counted["counted"] == counted["after_recorded"] - counted["before_recorded"] and
          counted["after_excluded"] > counted["before_excluded"] and not counted["missed"] and
          all(is_user(sample) for sample in only_samples(of["user mode"])),
          "user mode alone: samples of the kernel are excluded, not missed",
          [sample for sample in only_samples(of["user mode"]) if not is_user(sample)][:3] or parts["user mode"])

# ---- The same profile ------------------------------------------------------------------------
buckets = [[(sample["dso"], sample["address"]) for sample in only_samples(of[name])
            if is_user(sample) and sample["dso"].endswith("mixed")] for name in ("counted", "rings")]
if all(len(part) > 200 for part in buckets):
    far, (floor, deviation) = distance(*buckets), noise(*buckets)
    tap.check(far < floor + 5 * deviation, "counted samples make the profile of those that were read",
              f"{far} {floor} {deviation}")
    print(f"# distance {100 * far:.2f} %, noise {100 * floor:.2f} +- {100 * deviation:.2f} %")
else:
    tap.check(False, "the program is sampled both ways", [len(part) for part in buckets])
counted = numbers(parts["counted"])
tap.check(counted["taken_pairs"] < counted["counted"], "samples were equal",
          f"{counted['taken_pairs']} pairs of {counted['counted']} samples")

# ---- Address spaces --------------------------------------------------------------------------
halves = [[sample for sample in only_samples(of["exec"]) if is_user(sample) and sample["dso"].endswith(f"/{name}")
           and sample["symbol"] == "divide"] for name in ("hot", "again")]
first, second = map(len, halves)
tap.check(first + second > 300 and abs(first - second) < 5 * (first + second) ** 0.5,
          "a program and the copy of it that the process executes next have half of the samples each",
          f"{first} {second}")
tap.check(len({sample["pid"] for half in halves for sample in half}) == 1, "in one process")
equal = set.intersection(*({(sample["address"], sample["details"]) for sample in half} for half in halves))
tap.check(len(equal) > 0, "with records that are equal", len(equal))
samples = [sample for sample in only_samples(of["storm"]) if is_user(sample)]
tap.check({"storm_work", "divide"} <= {sample["symbol"] for sample in samples} and
          not [sample for sample in samples if sample["symbol"] == "divide" and not sample["dso"].endswith("/hot")] and
          len({sample["pid"] for sample in samples}) > 30,
          "a storm of processes: each sample is of the program that ran", len(samples))
threads = {sample["tid"] for sample in only_samples(of["threads"]) if is_user(sample) and
           sample["dso"].endswith("/shares")}
tap.check(len(threads) >= 4, "threads are distinguished where asked for", threads)

# ---- Filters ---------------------------------------------------------------------------------
for name in FILTERS:
    chosen = numbers(parts[name]).get("chosen")
    counted = adds_up(name, parts[name], of[name])
    samples = only_samples(of[name])
    processes = {sample["pid"] for sample in samples}
    tap.check(counted["filtered"] > 50 and processes == {chosen} and
              len([sample for sample in samples if sample["symbol"] == "divide"]) > 50,
              f"{name}: the samples are those of the process that was asked for", f"{chosen} {processes} {parts[name]}")

# ---- The daemon ------------------------------------------------------------------------------
part = parts["daemon"]
sums = re.search(r"(\d+) samples taken, (\d+) written in \d+ files, (\d+) filtered, (\d+) lost", part)
values = numbers(part)
recorded = values["after_recorded"] - values["before_recorded"]
discarded = values["after_discarded"] - values["before_discarded"]
tap.check("counting samples in the kernel" in part, "the daemon counts in the kernel, and says so", part)
tap.check(sums and int(sums[1]) == sum(int(sums[i]) for i in (2, 3, 4)) and
          int(sums[1]) <= recorded + discarded and int(sums[2]) > 100,
          "and all that it has taken since its first file began is written, filtered or lost",
          f"{recorded} {discarded} {part}")
tap.check(not FAULTS.search(console), "the kernel complains of nothing", console)
tap.end()
