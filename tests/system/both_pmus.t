#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The kernel of kernel/series on harts that have everything: samples of counters (PMU cpu) and of cycles (PMU pesa) at the same time.  What
both could use in a hart, only events of one have; the other's are refused.  What they do not share does not disturb the other."""
import collections
import os
import re
import shutil
import subprocess
import tempfile

from board import FAULTS, TOP, board, compiled, core_with_transfers, events, instructions, is_user, kind_of_transfer, only_samples, read, script_parts, tap
from series_each import selftest

RECORD = "perf record -q -N -B -o"
REFUSED = {
    "samples of counters beside those of cycles": "-e pesa/cycles/u -c 5003 -e cycles:u",
    "samples of cycles beside exact events": "-e cycles:uppp -c 5003 -e pesa/cycles/u",
}
# Also where counters have no exact addresses.
REFUSED_BRANCHES = {
    "branch stacks of both": "-e pesa/cycles/u -c 5003 -e cycles:u -j any,u",
    "call stacks of both": "-e pesa/cycles/u -c 5003 -e cycles:u --call-graph lbr",
}


def refusals(refused):
    return "".join(f"echo '== refused {name}'; perf record -q -N -o /tmp/no {words} ./calls 1 2>&1 > /dev/null; echo status $?\n" for name, words in refused.items())


# The counters of the board do not distinguish modes.
TOGETHER = f"""
echo "== cycles"; {RECORD} cycles.data -e pesa/cycles,period=3001,branch_type=any/u -e cycles/period=2003/ ./calls 3000 > /dev/null; echo "status $?"
echo "== counters"; {RECORD} counters.data -e pesa/cycles,period=5003/u -e cycles/period=3001,branch_type=any/u ./calls 3000 > /dev/null; echo "status $?"
{refusals(REFUSED_BRANCHES)}"""
APART = f"""
{refusals(REFUSED)}
echo "== afterwards"; {RECORD} /tmp/no -e cycles:uppp -c 50000 -j any,u ./calls 1 > /dev/null && {RECORD} /tmp/no -e pesa/cycles/u -c 50000 -j any,u ./calls 1 > /dev/null
echo "status $?"
echo "== counted"; perf stat -e cycles {RECORD} /tmp/no -e pesa/cycles/u -c 50000 ./calls 1 > /dev/null 2>&1; echo "status $?"
echo "== selftest"; ./sampling
"""

series = subprocess.run([f"{TOP}/tools/board/series", "--source"], capture_output=True, text=True, check=False)
if not tap.check(not series.returncode, "the patches apply", series.stderr[-2000:]):
    tap.end()
source = series.stdout.strip()
program = compiled("calls", [f"{TOP}/tests/system/programs/calls.c"], "-static", "-fno-pie", "-no-pie")
code = instructions(program)


def boot(script, *options):
    """Returns the parts of the output, and the samples of each event of each recording."""
    with tempfile.TemporaryDirectory(prefix="pesa-both-") as share:
        shutil.copy(program, f"{share}/calls")
        selftest(source, share)
        with open(f"{share}/script", "w", encoding="utf-8") as file:
            file.write(script)
        done = board("--harts", "1", "--core", core_with_transfers(share, 32), *options, "--share", share, "--console", f"{share}/console", "--",
                     "bash", "script", limit=600, env={**os.environ, "BOARD_DRIVER": "tree"})
        console = read(f"{share}/console")
        samples = {name: collections.defaultdict(list) for name in ("cycles", "counters")}
        for name, by_event in samples.items():
            for sample in only_samples(events(f"{share}/{name}.data")):
                by_event[sample["event"].partition("/")[0]].append(sample)
    tap.check(done.returncode == 0 and not FAULTS.search(console), "the kernel records, and complains of nothing",
              f"status {done.returncode}\n{done.stdout[-2000:]}{done.stderr}{console}")
    parts = collections.defaultdict(str, script_parts(done.stdout))
    for name, said in parts.items():
        if name.startswith("refused"):
            tap.check("status" in said and "status 0" not in said and "busy" in said, f"{name}: EBUSY", said)
    return parts, samples


def check_path(name, samples):
    """Branch stacks are paths through the program that end at the sample."""
    stacks = [(sample["address"], [(entry["from"], entry["to"]) for entry in sample.get("branches") or []]) for sample in samples if is_user(sample)]
    stacks = [one for one in stacks if one[1]]
    entries = [entry for _, stack in stacks for entry in stack]
    if not tap.check(len(stacks) > 20 and len(entries) > 100, f"{name}: there are branch stacks", (len(stacks), samples[:2])):
        return
    wrong = collections.Counter("nowhere" if source not in code else kind_of_transfer(*code[source]) for source, _ in entries)
    tap.check(not wrong["nowhere"] and not wrong["other"], f"{name}: all are transfers of the program", wrong)
    pairs = [(older[1], newer[0]) for _, stack in stacks for newer, older in zip(stack, stack[1:])]
    straight = sum(0 <= end - start < 4096 for start, end in pairs)
    tap.check(straight > 0.98 * len(pairs), f"{name}: each goes on where the one before went to", (straight, len(pairs)))
    # The other PMU's interrupt can freeze the records a few transfers behind the sampled instruction, and the timing model knows the last ones
    # before an interrupt later.  Records that nobody lets go on are of another time altogether.
    ended = [0 <= address - stack[0][1] < 4096 for address, stack in stacks if address in code]
    print(f"# {name}: {sum(ended)} of {len(ended)} stacks end right before the sample")
    tap.check(len(ended) > 20 and sum(ended) > 0.7 * len(ended), f"{name}: most end right before the sample", (sum(ended), len(ended)))


parts, samples = boot(TOGETHER)
for name, one, other in (("cycles", "pesa", "cycles"), ("counters", "cycles", "pesa")):
    tap.check("status 0" in parts[name] and len(samples[name][other]) > 20, f"{name}: those of the other PMU are there as well",
              (parts[name], {event: len(those) for event, those in samples[name].items()}))
    check_path(name, samples[name][one])
parts, _ = boot(APART, "--property", "pesa-sspesa=on")
tap.check("status 0" in parts["afterwards"], "afterwards each has what it asks for", parts["afterwards"])
tap.check("status 0" in parts["counted"], "counters count while cycles are sampled", parts["counted"])
tap.check(re.search(r"pass:[1-9]\d* fail:0 .*skip:0 error:0", parts["selftest"]), "the selftest passes, and skips nothing", parts["selftest"][-1500:])
tap.end()
