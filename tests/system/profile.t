#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The same program on the board and on the user-mode virtual core: its user part has the same profile.

The function that first accesses the memory is not compared: on the board the kernel has cleared its pages before, so that
their lines are in the caches.

The statistic: the distance of the two profiles, half the sum over all buckets of |share - share|, where a bucket is an
instruction, or an instruction with state and causes.  If both profiles have the same distribution, exchanging samples
between them changes nothing: random splits of all samples show the distances that noise alone causes.  The bound is the
mean of these distances plus five standard deviations, which noise exceeds less than once in a million times.
"""
import subprocess
import tempfile

from board import (FAULTS, PESA, board, distance, events, guest_program, is_user, noise, only_samples, pesa_of_board,
                   read, tap)

# A long period, because the interrupt of each sample disturbs caches and TLBs.
PERIOD, ROUNDS = 16000, 600

CAUSE_SHIFT = 22  # in shpmsdetailsdata: the names of causes differ

BUCKETS = {
    "instruction": lambda sample: sample["address"],
    "instruction, state and causes": lambda sample: (sample["address"], sample["state"],
                                                     sample["details"] >> CAUSE_SHIFT),
}

with tempfile.TemporaryDirectory(prefix="pesa-profile-") as share:
    guest_program("mixed", share)
    done = board("--share", share, "--also", f"pesa={pesa_of_board()}", "--console", f"{share}/console", "--harts", "1",
                 "--", "/pesa/bin/pesa", "record", "-q", "-c", str(PERIOD), "-o", "board.data", "--", "./mixed",
                 str(ROUNDS), limit=600)
    core = subprocess.run([PESA, "record", "-q", "--core", "ooo-4", "-c", str(PERIOD), "-o", f"{share}/core.data", "--",
                           f"{share}/mixed", str(ROUNDS)], capture_output=True, text=True, check=False,
                          stdin=subprocess.DEVNULL)
    on_board, on_core = [[sample for sample in only_samples(events(f"{share}/{name}.data"))
                          if is_user(sample) and sample["symbol"] != "fill"] for name in ("board", "core")]
    console = read(f"{share}/console")

tap.check(done.returncode == 0 and core.returncode == 0 and done.stdout == core.stdout,
          "the program runs on both, with the same result", f"{done} {core} {console}")
tap.check(len(on_board) > 2500 and len(on_core) > 2500, "and is sampled", f"{len(on_board)} {len(on_core)}")
if on_board and on_core:
    cycles = [sum(sample["period"] for sample in samples) for samples in (on_board, on_core)]
    print(f"# board: {len(on_board)} samples of user mode, {cycles[0]} cycles; virtual core: {len(on_core)}, {cycles[1]}")
    for name, bucket in BUCKETS.items():
        one, other = [[bucket(sample) for sample in samples] for samples in (on_board, on_core)]
        far, (floor, deviation) = distance(one, other), noise(one, other)
        print(f"# by {name}: distance {100 * far:.2f} %, noise {100 * floor:.2f} +- {100 * deviation:.2f} %")
        tap.check(far < floor + 5 * deviation, f"the profiles agree by {name}", f"{far} {floor} {deviation}")
    # Check that the statistic distinguishes profiles: without one function it must exceed the bound by far.
    without = [sample["address"] for sample in on_core if sample["symbol"] is None or "divide" not in sample["symbol"]]
    one = [sample["address"] for sample in on_board]
    floor, deviation = noise(one, without)
    tap.check(distance(one, without) > floor + 5 * deviation,
              "and would not, were a function of a tenth of the cycles missing", distance(one, without))
tap.check(not FAULTS.search(console), "the kernel complains of nothing", console)
tap.end()
