#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The driver as a module on the kernel without patches, and in the kernel that kernel/series makes: both offer the same, and make the
same recordings of the same program; only the latter can mark the samples' addresses as exact.

What the kernel does meanwhile differs, so that the sampled cycles do.  The statistic is that of profile.t: the distance of two profiles
is compared with that of random splits of all their samples.  Interrupts that read branches, and periods that are always the same, disturb
and choose instructions in their own way: there only the functions are compared, with a bound of one in twenty samples."""
import os
import struct
import tempfile

from board import EXACT, FAULTS, board, core_with_transfers, distance, events, guest_program, marked_addresses, noise, only_samples, pesa_of_board, read, script_parts, tap

PERIOD, ROUNDS = 10007, 300
# The interrupt that reads a call stack takes about PERIOD cycles.  With so short a period, samples would be lost while the one before
# is pending, and perf would throttle: how often, depends on how fast the emulating machine is.
CALLS_PERIOD, CALLS_ROUNDS = 5 * PERIOD, 2 * ROUNDS
RECORD = "perf record -q -N -B -R -o"
# Names of files, and how each is recorded.
RECORDINGS = {
    "cycles": f"{RECORD} cycles.data -e pesa/cycles/u -c {PERIOD} ./mixed {ROUNDS}",
    "branches": f"{RECORD} branches.data -e pesa/cycles,fixed=1/u -j any,u,save_type -c {PERIOD} ./mixed {ROUNDS}",
    "calls": f"{RECORD} calls.data -e pesa/cycles,fixed=1/u --call-graph lbr -c {CALLS_PERIOD} ./mixed {CALLS_ROUNDS}",
    "autorun": f"/pesa/bin/pesa record -q -e pesa/cycles,autorun=1/u -c {PERIOD} -o autorun.data -- ./mixed {ROUNDS}",
}
SCRIPT = """
echo 0 > /proc/sys/kernel/randomize_va_space
echo "== sysfs"; cd /sys/bus/event_source/devices/pesa; for file in caps/* format/* events/*; do echo "$file $(cat $file)"; done; ls
cd /share
""" + "\n".join(f'echo "== {name}"; {command} > /dev/null; echo "status $?"' for name, command in RECORDINGS.items()) + "\n"
PRECISE = "p pp ppp P"
SCRIPT += f"""
echo "== precise"; for precise in {PRECISE}; do
    {RECORD} $precise.data -e pesa/cycles/$precise -c {PERIOD} dd if=/dev/zero of=/dev/null bs=1 count=2000 2> /dev/null; echo "status $?"
done
"""
CAUSE_SHIFT = 22  # in shpmsdetailsdata
FUNCTIONS = {"function": lambda sample: sample["symbol"]}
BUCKETS = {
    "instruction": lambda sample: sample["address"],
    "instruction, state and causes": lambda sample: (sample["address"], sample["state"], sample["details"] >> CAUSE_SHIFT),
}


def attributes(path):
    """The event of a perf.data file, as it was asked for, but for the number of the PMU."""
    with open(path, "rb") as file:
        data = file.read()
    attribute_size, at = struct.unpack_from("<2Q", data, 16)
    return data[at + 4:at + attribute_size]


def record(form):
    with tempfile.TemporaryDirectory(prefix="pesa-forms-") as share:
        guest_program("mixed", share)
        with open(f"{share}/script", "w", encoding="utf-8") as file:
            file.write(SCRIPT)
        done = board("--core", core_with_transfers(share), "--harts", "1", "--share", share, "--also", f"pesa={pesa_of_board()}",
                     "--console", f"{share}/console", "--", "bash", "script", limit=600, env={**os.environ, "BOARD_DRIVER": form})
        console = read(f"{share}/console")
        parts = script_parts(done.stdout)
        tap.check(done.returncode == 0 and all("status 0" in parts.get(name, "") for name in RECORDINGS) and not FAULTS.search(console),
                  f"{form}: recordings are made", f"status {done.returncode}\n{done.stdout}{done.stderr}{console}")
        made = {name: only_samples(events(f"{share}/{name}.data")) for name in RECORDINGS}
        asked = {name: attributes(f"{share}/{name}.data") for name in RECORDINGS if os.path.exists(f"{share}/{name}.data")}
        # AutoRun's are written by pesa record, which marks them itself.
        names = [name for name in RECORDINGS if name != "autorun"] + PRECISE.split()
        marks = {name: [misc & EXACT for misc, _ in marked_addresses(f"{share}/{name}.data")] for name in names}
        modes = {address >> 63 for name in PRECISE.split() for _, address in marked_addresses(f"{share}/{name}.data")}
    tap.check("max_precise 3\n" in parts.get("sysfs", "") and parts.get("precise", "").count("status 0") == len(PRECISE.split()) and modes == {0, 1},
              f"{form}: each precision is taken, in both modes", f"{parts.get('sysfs')} {parts.get('precise')} {modes}")
    tap.check(all(len(found) > 20 and all(found) == (form == "tree") == any(found) for found in marks.values()),
              f"{form}: addresses are marked as exact where the kernel has a mark", {name: (len(found), sum(map(bool, found))) for name, found in marks.items()})
    return parts.get("sysfs", ""), made, asked


module, tree = record("module"), record("tree")
tap.check(module[0].count("\n") > 20 and module[0] == tree[0], "both offer the same in sysfs", f"{module[0]}\n{tree[0]}")
for name in RECORDINGS:
    ours, theirs = module[1][name], tree[1][name]
    tap.check(module[2].get(name) == tree[2].get(name), f"{name}: perf asks for the same event", (module[2].get(name), tree[2].get(name)))
    print(f"# {name}: {len(ours)} samples, {len(theirs)} in tree")
    tap.check(min(len(ours), len(theirs)) > 500 and abs(len(ours) - len(theirs)) < 0.03 * len(ours), f"{name}: both have as many samples",
              (len(ours), len(theirs)))
    if not ours or not theirs:
        continue
    tap.check({key for sample in ours for key in sample} == {key for sample in theirs for key in sample}, f"{name}: with the same fields")
    for what, bucket in (BUCKETS if name == "cycles" else FUNCTIONS).items():
        one, other = [[bucket(sample) for sample in samples] for samples in (ours, theirs)]
        far, (floor, deviation) = distance(one, other), noise(one, other)
        print(f"# {name} by {what}: distance {100 * far:.2f} %, noise {100 * floor:.2f} +- {100 * deviation:.2f} %")
        bound = floor + 5 * deviation if name == "cycles" else max(floor + 5 * deviation, 0.05)
        tap.check(far < bound, f"{name}: the profiles agree by {what}", f"{far} {floor} {deviation}")
tap.end()
