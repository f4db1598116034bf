# SPDX-License-Identifier: GPL-2.0-or-later
"""Raw records of a perf.data file without compression, as Documentation/record-format.md has them, and their comparison with
those of the unit."""
import struct

SAMPLE, COMPRESSED = 9, 81
FIELDS = ("pc", "details", "bt1", "bt2")


def of_perf_data(path):
    """(pc, details, bt1, bt2) of each sample, in the order of the file."""
    with open(path, "rb") as file:
        data = file.read()
    if data[:8] != b"PERFILE2":
        raise ValueError(f"{path}: no perf.data file")
    at, size = struct.unpack_from("<QQ", data, 40)
    end = at + size
    records = []
    while at < end:
        kind, _, length = struct.unpack_from("<IHH", data, at)
        if kind == COMPRESSED or length < 8:
            raise ValueError(f"{path}: compressed or damaged")
        if kind == SAMPLE:
            # IDENTIFIER IP TID TIME CPU PERIOD, then the size of the raw record and the raw record
            raw = at + 8 + 6 * 8 + 4
            records.append(struct.unpack_from("<Q8xQQQ", data, raw + 8))
        at += length
    return records


def of_unit(path):
    """(cycle, (pc, details, bt1, bt2), data) of each record."""
    with open(path, encoding="ascii") as file:
        for line in file:
            cycle, pc, details, bt1, bt2, data = line.split()
            yield int(cycle), tuple(int(word, 16) for word in (pc, details, bt1, bt2)), int(data, 16)


def visible(record):
    """Targets that the record does not have are 0 in a perf.data file and anything in a register."""
    pc, details, bt1, bt2 = record
    transfers = details >> 6 & 0xf
    return pc, details, bt1 if transfers > 0 else 0, bt2 if transfers > 1 else 0


def compare(expected, records, first, period):
    """`expected[k]` is of cycle first + k * period.  Returns the number of equal records, the differences, and the overflows
    without a record, of which how many the records count as discarded."""
    differences, equal, skipped, counted, due = [], 0, 0, 0, 0
    for cycle, record, data in records:
        place, rest = divmod(cycle - first, period)
        if rest or not due <= place < len(expected):
            differences.append((cycle, "no overflow is there", record))
            continue
        skipped += place - due
        due = place + 1
        counted += data >> 32
        if visible(record) == visible(expected[place]):
            equal += 1
        else:
            differences.append((cycle, expected[place], visible(record)))
    return equal, differences, skipped, counted


def text(record):
    if not isinstance(record, tuple):
        return str(record)
    pc, details, bt1, bt2 = record
    return (f"{pc:x} retired={details & 15} state={details >> 4 & 3} transfers={details >> 6 & 15}@{details >> 10 & 15},"
            f"{details >> 14 & 15} cause@{details >> 18 & 15}={details >> 22 & 0x3ff:x} {bt1:x} {bt2:x}")
