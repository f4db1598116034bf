# SPDX-License-Identifier: GPL-2.0-or-later
"""Raw records in a perf.data file (`pesa record -z 0`), changed in their places: fields of shpmsdetails that hardware may lack."""
import struct

SAMPLE = 9
IDENTIFIER, IP, TID, TIME, CPU, PERIOD, RAW, BRANCH_STACK = (1 << bit for bit in (16, 0, 1, 2, 7, 8, 10, 11))
HAS_DETAILS, HAS_BT1, HAS_BT2 = 1 << 1, 1 << 2, 1 << 3


class Record:
    """The fields of one sample that a variant may change."""
    __slots__ = ("pc", "retired", "state", "transfers", "offset1", "offset2", "cause_offset", "cause", "bt", "branches", "next_pc")


def fields(details):
    return (details & 15, details >> 4 & 3, details >> 6 & 15, details >> 10 & 15, details >> 14 & 15, details >> 18 & 15,
            details >> 22 & 0x3ff)


class Recording:
    """The samples of one event.  `next_event`: the event whose samples name the next instruction to retire, one for each of these, in
    the same order; they bear the time at which that one retired."""

    def __init__(self, path, number=0, next_event=None):
        with open(path, "rb") as file:
            self.data = bytearray(file.read())
        if self.data[:8] != b"PERFILE2":
            raise ValueError(f"{path}: no perf.data file")
        size, at, _, start, length = struct.unpack_from("<QQQQQ", self.data, 16)
        kinds = {}
        for i in range(struct.unpack_from("<Q", self.data, 32)[0] // size):
            kind, = struct.unpack_from("<Q", self.data, at + i * size + 24)
            # Samplers without details have no raw record.
            if kind & ~BRANCH_STACK & (~RAW if i != number else ~0) != IDENTIFIER | IP | TID | TIME | CPU | PERIOD | \
                    (RAW if i == number else 0):
                raise ValueError(f"{path}: samples of another form ({kind:#x})")
            ids, _ = struct.unpack_from("<QQ", self.data, at + (i + 1) * size - 16)
            kinds[struct.unpack_from("<Q", self.data, ids)[0]] = (i, bool(kind & BRANCH_STACK))
        self.places, self.next_pcs, at = [], [], start
        while at < start + length:
            kind, _, size = struct.unpack_from("<IHH", self.data, at)
            if kind == SAMPLE:
                event, has_branches = kinds[struct.unpack_from("<Q", self.data, at + 8)[0]]
                if event == number:
                    raw_size, = struct.unpack_from("<I", self.data, at + 56)
                    self.places.append((at, at + 60, at + 60 + raw_size if has_branches else None))
                elif event == next_event:
                    self.next_pcs.append(struct.unpack_from("<Q", self.data, at + 16)[0])
            at += size

    def write(self, path, change):
        """The file with its records changed."""
        data = bytearray(self.data)
        for number, (at, raw, stack) in enumerate(self.places):
            flags, pc, details, bt1, bt2 = (*struct.unpack_from("<IQ", data, raw + 4), *struct.unpack_from("<QQQ", data, raw + 24))
            one = Record()
            one.pc, one.bt = pc, [bt1 if flags & HAS_BT1 else None, bt2 if flags & HAS_BT2 else None]
            (one.retired, one.state, one.transfers, one.offset1, one.offset2, one.cause_offset, one.cause) = fields(details)
            one.branches = struct.unpack_from("<Q", data, stack)[0] if stack else 0
            one.next_pc = self.next_pcs[number] if number < len(self.next_pcs) else None
            change(one)
            details = (one.retired | one.state << 4 | one.transfers << 6 | one.offset1 << 10 | one.offset2 << 14
                       | one.cause_offset << 18 | one.cause << 22)
            flags = flags & ~(HAS_BT1 | HAS_BT2) | (HAS_BT1 if one.bt[0] is not None else 0) \
                | (HAS_BT2 if one.bt[1] is not None else 0)
            struct.pack_into("<Q", data, at + 16, one.pc)
            struct.pack_into("<IQ", data, raw + 4, flags, one.pc)
            struct.pack_into("<QQQ", data, raw + 24, details, one.bt[0] or 0, one.bt[1] or 0)
            if stack:
                struct.pack_into("<Q", data, stack, one.branches)
        with open(path, "wb") as file:
            file.write(data)
