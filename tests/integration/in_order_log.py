# SPDX-License-Identifier: GPL-2.0-or-later
"""Logs of an in-order core, as tests/data/in-order describes them, and their comparison with the truth."""
import collections
import lzma
import os

STATES = {"C": "retiring", "S": "stalled", "F": "flushed", "E": "drained"}


def packed(folder, name):
    with lzma.open(os.path.join(folder, name + ".xz")) as file:
        return file.read()


def kanata(folder, program):
    """The log as Kanata: stages F, Q, X, W; the label flush=transfer where the log says that a redirect flushes."""
    first, *rows = packed(folder, program + ".log").decode().splitlines()
    lines = collections.defaultdict(lambda: ([], [], []))
    address, begin = 0, int(first)
    for number, row in enumerate(rows):
        step, later, *stages, end, kind, flushes = row.split(",")
        address += int(step)
        begin += int(later)
        lines[begin][0].extend((f"I\t{number}\t{number}\t0", f"L\t{number}\t0\t{address:08x}"))
        for stage, offset in zip("FQXW", stages):
            if offset:
                lines[begin + int(offset)][1].append(f"S\t{number}\t0\t{stage}")
        if end:
            if flushes:
                lines[begin + int(end)][2].append(f"L\t{number}\t1\tflush=transfer")
            lines[begin + int(end)][2].append(f"R\t{number}\t{number}\t{kind}")
    text, now = [f"Kanata\t0004\nC=\t{first}"], int(first)
    for cycle in sorted(lines):
        if cycle > now:
            text.append(f"C\t{cycle - now}")
        now = cycle
        text.extend(line for part in lines[cycle] for line in part)
    return "\n".join(text) + "\n"


def truth(folder, program):
    """State and address of every cycle."""
    cycles, address = [], 0
    for row in packed(folder, program + ".truth").decode().splitlines():
        state, step = row.split(",")
        address += int(step)
        cycles.append((address, STATES[state]))
    return cycles


def same_in_profile(cycles, instructions):
    """Share of the cycles that a profile (`instructions` of `pesa report --json`) gives the right address and state."""
    got = collections.Counter()
    for instruction in instructions:
        for state, parts in instruction["stack"].items():
            got[(instruction["address"], state)] += sum(parts.values())
    want = collections.Counter(cycles)
    return sum(min(count, got[key]) for key, count in want.items()) / len(cycles)


def same_in_cycles(cycles, samples):
    """Share of the cycles whose sample has the right address and state, cycle by cycle."""
    right = sum(one == (sample["address"], sample["state"]) for one, sample in zip(cycles, samples))
    return right / max(len(cycles), len(samples))
