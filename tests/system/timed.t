#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Timed branches of stock perf on the board: the counts of ctrdata, by the driver, are those of the same program on the virtual
core in user mode, which has neither interrupts nor records that freeze, nor a kernel whose cycles do not count."""
import json
import os
import shutil
import subprocess
import tempfile

from board import CROSS, PESA, board, compiled, core_with_transfers, read, tap

DEPTH = 32
EVENTS = {"user": "pesa/cycles/u", "both": "pesa/cycles/"}
SCRIPT = "\n".join([
    *[f"perf record -q -N -j any,u -e {event} -c 3011 -o /share/{name}.data ./loops > /dev/null" for name, event in EVENTS.items()],
    "perf record -q -N -j any,k -e pesa/cycles/ -c 3011 -o /share/kernel.data dd if=/dev/zero of=/dev/null bs=64 count=2000 2> /dev/null",
    "perf record -q -N --call-graph lbr -e pesa/cycles/u -c 3011 -o /share/stacks.data ./loops > /dev/null",
])
LOOPS = """
	.globl _start
_start:	li s1, 60
1:	li s0, 200
	li a1, 7
	li a0, -1
	.globl divide
divide:	div a0, a0, a1
	div a0, a0, a1
	div a0, a0, a1
	addi s0, s0, -1
	bnez s0, divide
	li s0, 4000
	.globl choose
choose:	addi s0, s0, -1
	andi t1, s0, 1
	beqz t1, 3f
	mul a0, a0, a1
	mul a0, a0, a1
3:	bnez s0, choose
	addi s1, s1, -1
	bnez s1, 1b
	li a0, 0
	li a7, 93
	ecall
"""


def report(path):
    """The blocks of a recording, by their first and last address; and the sums."""
    shown = subprocess.run([PESA, "report", "--block", "--json", "--symfs", os.path.dirname(path), "-i", path], capture_output=True,
                           text=True, check=False)
    if shown.returncode:
        return {}, {"why": shown.stderr}
    document = json.loads(shown.stdout)
    return {(block["start"], block["last"]): block for block in document["blocks"]}, document["timed_branches"]


def counts(path):
    """Source, target and cycles of the entries of each sample."""
    shown = subprocess.run([PESA, "script", "--json", "-i", path], capture_output=True, text=True, check=False)
    return [[(one["from"], one["to"], one["cycles"]) for one in sample.get("branches", [])]
            for sample in map(json.loads, shown.stdout.splitlines()) if sample["type"] == "sample"]


with tempfile.TemporaryDirectory(prefix="pesa-timed-") as share:
    os.chmod(share, 0o755)
    os.symlink(".", f"{share}/share")
    with open(f"{share}/loops.s", "w", encoding="ascii") as out:
        out.write(LOOPS)
    subprocess.run([f"{CROSS}gcc", "-static", "-nostdlib", "loops.s", "-o", "loops"], cwd=share, check=True)
    core = core_with_transfers(share, DEPTH)
    done = board("--harts", "1", "--core", core, "--share", share, "--console", f"{share}/console", "--", "sh", "-c", SCRIPT, limit=600)
    subprocess.run([PESA, "record", "-q", "--core", core, "-c", "3011", "-o", f"{share}/core.data", "--", f"{share}/loops"], check=True)
    why = f"status {done.returncode}\n{done.stderr}{read(f'{share}/console')}"
    expected, _ = report(f"{share}/core.data")
    hot = [place for place, block in expected.items() if block["share"] > 0.05]
    tap.check(len(hot) >= 3, "the virtual core has the blocks of the loops", expected)
    for name in EVENTS:
        found, sums = report(f"{share}/{name}.data")
        if not tap.check(sums.get("samples", 0) > 100 and sums["broken"] < 0.01 * sums["cycles"],
                         f"{name}: stock perf records stacks with cycle counts", f"{sums}\n{why}"):
            continue
        apart = {place: (found.get(place, {}).get("median"), expected[place]["median"]) for place in hot}
        tap.check(all(have == want for have, want in apart.values()), f"{name}: blocks take what they take without a kernel", apart)
        apart = {place: (found[place]["cycles_per_execution"], expected[place]["cycles_per_execution"]) for place in hot}
        tap.check(all(abs(have - want) < 0.03 * want for have, want in apart.values()),
                  f"{name}: also on average: cycles of the kernel are not counted", apart)
        stacks = counts(f"{share}/{name}.data")
        begun = [stack[-1][2] for stack in stacks if 0 < len(stack) < DEPTH]
        tap.check(not any(begun), f"{name}: the first transfer since the records were cleared has no count", begun)
    sides = [subprocess.run([PESA, "compare", "--block", "--json", "--symfs", os.path.dirname(path), "-i", path], capture_output=True, text=True,
                            check=False) for path in (f"{share}/user.data", f"{share}/core.data")]
    sides = [{(one["start"], one["last"]): one for one in json.loads(side.stdout or '{"blocks": []}')["blocks"]} for side in sides]
    apart = {place: [side.get(place, {}).get("difference") for side in sides] for place in hot}
    tap.check(all(None not in both and abs(both[0] - both[1]) < 0.5 for both in apart.values()) and
              not any(side[place]["verdict"] in ("slower", "faster") for side in sides for place in hot if place in side),
              "pesa compare predicts them, as those of the virtual core", apart)
    stacks = counts(f"{share}/kernel.data")
    tap.check(sum(map(len, stacks)) > 1000 and sum(count > 0 for stack in stacks for *_, count in stack) > 500,
              "transfers of the kernel have counts", f"{stacks[:3]}\n{why}")
    tap.check(not any(count for stack in counts(f"{share}/stacks.data") for *_, count in stack),
              "call stacks have none: returns take records away")
    tap.check("BUG" not in why and "WARNING" not in why, "the kernel complains of nothing", why)
tap.end()
