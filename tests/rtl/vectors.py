#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What the signals of a retire stage were, cycle by cycle, from a pipeline trace: the input of tests/rtl/bench.sv.

  tests/rtl/vectors.py --elf FILE [--core FILE] [--map virtual-core|in-order] [--rows] [--rename-blocked] [--width N] TRACE VECTORS

It shares no code with `pesa import`: it reads the trace (Kanata) and the text of the ELF file by itself, and classifies nothing.  It
only says in which cycle which wire of a core would have been high.  What a core cannot know in a cycle is not told in it: the causes
of an instruction in the reorder buffer are those that it met before it came there.

--rows: as a reorder buffer whose rows have one PC: instructions that retired before are in the slots in front where that is
possible, and only the PC of slot 0 is told.  --rename-blocked: the cause alloc-blocked is told by the wire and not as a cause.

A line for each cycle, or for N equal ones, in hexadecimal numbers:
  N FLAGS HEAD-PC HEAD-CAUSE FLUSH-PC FLUSH-CAUSE VALID SLOTS, and for each of these slots PC BITS TARGET CAUSE
FLAGS: 1 head valid, 2 head done, 4 flush, 8 roll-back, 10 redirect, 20 redirect due, 40 rename blocked.
BITS: 1 16 bits long, 2 taken, 4 flushes.
"""
import argparse
import bisect
import gzip
import lzma
import struct
import sys

HEAD, DONE, FLUSH, ROLLBACK, REDIRECT, DUE, BLOCKED = 1, 2, 4, 8, 0x10, 0x20, 0x40
STANDARD = {"icache-miss": 0, "itlb-miss": 1, "branch-mispredict": 2, "dcache-miss": 3, "dtlb-miss": 4}
# Names that the virtual core's state map takes only where the log says that they were met before the reorder buffer.
FRONT = ("icache-miss", "itlb-miss", "alloc-blocked")
NEVER = 1 << 62


class Text:
    """Lengths and kinds of the instructions of an ELF file."""

    def __init__(self, path):
        with open(path, "rb") as file:
            data = file.read()
        self.wide = data[4] == 2
        (offset,), (size, count) = (struct.unpack_from("<Q", data, 32), struct.unpack_from("<HH", data, 54)) if self.wide else \
            (struct.unpack_from("<I", data, 28), struct.unpack_from("<HH", data, 42))
        self.parts, self.known = [], {}
        for at in range(offset, offset + size * count, size):
            if self.wide:
                kind, _, start, address, _, length = struct.unpack_from("<IIQQQQ", data, at)
            else:
                kind, start, address, _, length = struct.unpack_from("<IIIII", data, at)
            if kind == 1:
                self.parts.append((address, data[start:start + length]))

    def read(self, pc):
        """(length, whether it always transfers control); None: no text."""
        if pc not in self.known:
            self.known[pc] = self.decode(pc)
        return self.known[pc]

    def decode(self, pc):
        for address, part in self.parts:
            if address <= pc < address + len(part):
                word = int.from_bytes(part[pc - address:pc - address + 4], "little")
                if word & 3 == 3:
                    return 4, word & 0x7f in (0x6f, 0x67)
                half = word & 0xffff
                top = half >> 13
                jumps = half & 3 == 1 and (top == 5 or top == 1 and not self.wide)
                # c.jr and c.jalr; not c.ebreak
                jumps |= half & 3 == 2 and top == 4 and not half & 0x7c and bool(half & 0xf80)
                return 2, jumps
        return None


def causes_of_core(path):
    causes = dict(STANDARD)
    if path:
        with open(path, encoding="utf-8") as file:
            for line in file:
                key, equals, value = line.partition("=")
                if equals and key.strip().startswith("cause."):
                    causes[value.strip()] = int(key.strip()[6:])
    return causes


class Instruction:
    __slots__ = ("pc", "fetch", "dispatched", "complete", "ended", "cause", "flush", "until", "fate")

    def __init__(self, fetch):
        self.pc, self.fetch, self.dispatched, self.complete, self.ended = None, fetch, None, None, None
        self.cause, self.flush, self.until, self.fate = 0, None, None, None


def read_trace(file, causes, kind):
    """All instructions in the order of fetch; cycles from the log's first one."""
    dispatch, complete, retire = {"virtual-core": ("Ds", "Cm", "Rt"), "in-order": ("X", "W", None)}[kind]
    found, flight = [], {}
    now = base = None
    for line in file:
        words = line.rstrip("\n").split("\t")
        what = words[0]
        if what == "S":
            one, stage = flight[words[1]], words[3]
            if words[2] != "0":
                continue
            if stage == dispatch:
                one.dispatched = now
            elif stage == complete:
                one.complete = now
            elif stage == retire:
                one.ended = now
        elif what == "C":
            now += int(words[1])
        elif what == "I":
            one = flight[words[1]] = Instruction(now)
            found.append(one)
        elif what == "L":
            one, text = flight[words[1]], words[3]
            if words[2] == "0":
                one.pc = int(text.partition(":")[0], 16)
                continue
            for word in text.split():
                if word.startswith("flush="):
                    one.flush = word[6:]
                    if kind == "in-order" and word == "flush=transfer":
                        one.cause |= 1 << STANDARD["branch-mispredict"]
                elif word.startswith("until="):
                    one.until = int(word[6:]) - base
                else:
                    front = word.startswith("front:")
                    name = word[6:] if front else word
                    if name in causes and front == (name in FRONT):
                        one.cause |= 1 << causes[name]
        elif what == "R":
            one = flight.pop(words[1])
            one.fate = words[3]
            if one.fate == "1" or retire is None:
                one.ended = now
        elif what == "C=":
            base = int(words[1])
            now = 0
    return found


class Writer:
    """Lines of cycles; single wires are high in cycles of their own, which are known beforehand."""

    def __init__(self, out):
        self.out, self.cycle = out, 0
        self.pulses = {}  # cycle: flags
        self.flushes = []  # [start, end, pc, cause]
        self.edges, self.next_edge, self.flush = [], 0, 0

    def ready(self):
        edges = set()
        for cycle in self.pulses:
            edges.update((cycle, cycle + 1))
        for start, end, *_ in self.flushes:
            edges.update((start, end))
        self.edges = sorted(edges) + [NEVER]

    def write(self, end, flags, head_pc, head_cause, valid=0, slots=()):
        """Cycles from here to `end`; slots are of one cycle only."""
        while self.cycle < end:
            while self.edges[self.next_edge] <= self.cycle:
                self.next_edge += 1
            stop = min(end, self.edges[self.next_edge])
            while self.flush < len(self.flushes) and self.flushes[self.flush][1] <= self.cycle:
                self.flush += 1
            now, pc, cause = flags | self.pulses.get(self.cycle, 0), 0, 0
            if self.flush < len(self.flushes) and self.flushes[self.flush][0] <= self.cycle:
                _, _, pc, cause = self.flushes[self.flush]
                now |= FLUSH
            self.out.write(f"{stop - self.cycle:x} {now:x} {head_pc:x} {head_cause:x} {pc:x} {cause:x} {valid:x} {len(slots):x}")
            for slot in slots:
                self.out.write(" %x %x %x %x" % slot)
            self.out.write("\n")
            self.cycle = stop


def make(found, text, causes, refill, out, rows=False, rename_blocked=False, width=8):
    front = 0
    for name in FRONT:
        front |= 1 << causes[name] if name in causes else 0
    alloc = 1 << causes.get("alloc-blocked", 31) if rename_blocked else 0
    writer = Writer(out)
    path, thrown = [], []
    for one in found:
        if one.fate == "0":
            path.append((one, thrown))
            thrown = []
        elif one.fate == "1" and one.flush == "exception":
            path.append((one, thrown))
            thrown = []
        elif one.fate == "1" and one.flush:
            thrown.append(one)
    # An instruction of the log's end that did not end.
    last = next((one for one in reversed(found) if one.fate is None and one.dispatched is not None), None)
    before = -1
    for index, (one, replayed) in enumerate(path):
        arrival = min(one.dispatched if one.dispatched is not None else one.fetch, one.ended)
        for load in replayed:
            start = max(0, min(load.ended, before))
            writer.flushes.append([start, arrival, load.pc, load.cause])
            redirect(writer, start, load.until, refill)
        if one.fate == "1":
            start = max(one.ended, before + 1)
            then = path[index + 1][0] if index + 1 < len(path) else None
            end = min(then.dispatched, then.ended) if then else NEVER
            writer.flushes.append([start, end, one.pc, one.cause])
            redirect(writer, start, one.until, refill)
        else:
            if one.flush:
                redirect(writer, one.ended, one.until, refill)
            before = one.ended
    if rename_blocked:
        # High in the cycle before the blocked instruction comes; told only while the reorder buffer is empty.
        for one, _ in path:
            if one.cause & alloc and one.dispatched:
                writer.pulses[one.dispatched - 1] = writer.pulses.get(one.dispatched - 1, 0) | BLOCKED
    writer.flushes = [flush for flush in writer.flushes if flush[0] < flush[1]]
    writer.ready()
    leading = []
    index, count = 0, len(path)
    while index < count:
        one = path[index][0]
        arrival = one.dispatched if one.dispatched is not None else one.fetch
        writer.write(min(arrival, one.ended), 0, 0, 0)
        if one.complete is not None and one.complete < one.ended:
            writer.write(max(arrival, one.complete), HEAD, one.pc, one.cause & front & ~alloc)
            writer.write(one.ended, HEAD | DONE, one.pc, one.cause & front & ~alloc)
        else:
            writer.write(one.ended, HEAD, one.pc, one.cause & front & ~alloc)
        if one.fate == "1":
            index += 1
            leading = []
            continue
        slots, cycle = [], one.ended
        while index < count and path[index][0].ended == cycle and path[index][0].fate == "0":
            one = path[index][0]
            then = path[index + 1][0] if index + 1 < count else None
            known = text.read(one.pc)
            length, jumps = known or (4, False)
            after = one.pc + length
            taken = jumps or (then is not None and then.pc != after)
            if known is None and then is not None:
                taken = then.pc not in (one.pc + 2, one.pc + 4)
            slots.append((one.pc, (length == 2) | 2 * taken | 4 * bool(one.flush),
                          then.pc if then else after, one.cause & ~(alloc if rename_blocked else 0)))
            index += 1
        flags = head_pc = head_cause = 0
        then = path[index][0] if index < count else last
        if then is not None and then.dispatched is not None and then.dispatched <= cycle:
            flags = HEAD | (DONE if then.complete is not None and then.complete <= cycle else 0)
            head_pc, head_cause = then.pc, then.cause & front & ~alloc
        lead = leading[-min(len(leading), width - len(slots)):] if rows and len(slots) < width else []
        writer.write(cycle + 1, flags, head_pc, head_cause, ((1 << len(slots)) - 1) << len(lead), lead + slots)
        # What retired in front of the next ones, without a transfer behind it.
        leading = leading + slots
        taken = [place for place, slot in enumerate(leading) if slot[1] & 2]
        leading = leading[taken[-1] + 1 if taken else 0:][-width:]
    return writer.cycle


def redirect(writer, start, until, refill):
    """The redirect is so many cycles before the reorder buffer would be reached."""
    if until is None:
        writer.pulses[start] = writer.pulses.get(start, 0) | DUE
        return
    cycle = until - refill
    if cycle > start:
        writer.pulses[start] = writer.pulses.get(start, 0) | DUE
    if cycle >= 0:
        writer.pulses[cycle] = writer.pulses.get(cycle, 0) | REDIRECT


def open_trace(path):
    if path.endswith(".gz"):
        return gzip.open(path, "rt")
    return lzma.open(path, "rt") if path.endswith(".xz") else open(path, encoding="utf-8")


def refill_of_core(path):
    """Cycles from a redirect to the reorder buffer."""
    total = 0
    with open(path, encoding="utf-8") as file:
        for line in file:
            key, _, value = line.partition("=")
            if key.strip() in ("fetch.depth", "fetch.redirect"):
                total += int(value)
    return total


def main():
    parser = argparse.ArgumentParser(description="signals of a retire stage from a pipeline trace")
    parser.add_argument("--elf", required=True)
    parser.add_argument("--core", help="core description")
    parser.add_argument("--map", choices=("virtual-core", "in-order"), default="virtual-core")
    parser.add_argument("--rows", action="store_true")
    parser.add_argument("--rename-blocked", action="store_true")
    parser.add_argument("--width", type=int, default=8)
    parser.add_argument("trace")
    parser.add_argument("vectors")
    options = parser.parse_args()
    causes = causes_of_core(options.core)
    with open_trace(options.trace) as file:
        found = read_trace(file, causes, options.map)
    with open(options.vectors, "w", encoding="ascii") as out:
        cycles = make(found, Text(options.elf), causes, refill_of_core(options.core) if options.core else 0, out,
                      options.rows, options.rename_blocked, options.width)
    print(cycles)


if __name__ == "__main__":
    sys.exit(main())
