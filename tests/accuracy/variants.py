# SPDX-License-Identifier: GPL-2.0-or-later
"""Records of hardware that lacks a field of shpmsdetails: changes of complete ones (perf_samples.py)."""
# Order of the bits of CAUSE in the cores: 5 to 9 are the core's own.
ICACHE, MISPREDICT, DCACHE = 1 << 0, 1 << 2, 1 << 3
# Bits of the registers, RV64: PC and targets without the bit that is always 0.
ADDRESS = 63
FULL = ADDRESS + 4 + 2 + 4 + 4 + 4 + 4 + 10 + 2 * ADDRESS
RETIRING, STALLED, FLUSHED, DRAINED = range(4)


# ---- Variants --------------------------------------------------------------------------------------------------------


def targets(number):
    def change(one):
        for i in range(number, 2):
            one.bt[i] = None
        one.branches = 0
    return change


def no_offsets(one):
    targets(0)(one)
    one.offset1 = one.offset2 = 0


def control_transfer_records(number):
    def change(one):
        one.bt = [None, None]
        one.branches = min(one.branches, number)
    return change


def causes(mask):
    def change(one):
        one.branches = 0
        one.cause &= mask
        # A cause of another instruction that was named because of a bit that is gone.
        if not one.cause and (one.state != RETIRING or one.cause_offset <= one.retired):
            one.cause_offset = 0
    return change


def no_cause_offset(one):
    one.branches = 0
    one.cause_offset = int(one.cause != 0)


def no_blocker(one):
    """CAUSEOFFSET = INSTRET + 1 with CAUSE = 0 is not given."""
    one.branches = 0
    if not one.cause:
        one.cause_offset = 0


def no_transfers(one):
    targets(0)(one)
    one.transfers = one.offset1 = one.offset2 = 0


def instret_only(one):
    no_transfers(one)
    one.cause = one.cause_offset = 0
    one.state = RETIRING if one.retired else STALLED


def no_instret(one):
    no_transfers(one)
    one.retired = min(one.retired, 1)
    if one.state == RETIRING and one.cause_offset > 1:
        one.cause = one.cause_offset = 0


def one_empty(one):
    one.branches = 0
    if one.state == FLUSHED:
        one.state = DRAINED


def one_idle(one):
    one.branches = 0
    if one.state != RETIRING:
        one.state = STALLED


def next_when_flushed(one):
    one.branches = 0
    if one.state == FLUSHED and one.next_pc is not None:
        one.pc = one.next_pc


def full(one):
    one.branches = 0


# Name, bits of the registers that are left, parameters of the unit that differ, change.
VARIANTS = [
    ("full record", FULL, {}, full),
    ("1 target", FULL - ADDRESS, {"Targets": 1}, targets(1)),
    ("0 targets", FULL - 2 * ADDRESS, {"Targets": 0}, targets(0)),
    ("0 targets, no CTOFFSET", FULL - 2 * ADDRESS - 8, None, no_offsets),
    ("no CTs either", FULL - 2 * ADDRESS - 12, None, no_transfers),
    *((f"0 targets, {number} transfer records", FULL - 2 * ADDRESS + number * 2 * ADDRESS, None, control_transfer_records(number))
      for number in (2, 4, 8, 16, 32)),
    ("CAUSE: the 5 of the draft", FULL - 5, {"Causes": 5}, causes(0x1f)),
    ("CAUSE: 3 (I$, mispredict, D$)", FULL - 7, {"Causes": 3}, causes(ICACHE | MISPREDICT | DCACHE)),
    ("CAUSE: 1 (D$)", FULL - 9, {"Causes": 1}, causes(DCACHE)),
    ("CAUSE: 0", FULL - 10, {"Causes": 0}, causes(0)),
    ("no CAUSEOFFSET", FULL - 4, None, no_cause_offset),
    ("no blocker without a cause", FULL, None, no_blocker),
    ("flushed is drained", FULL - 1, None, one_empty),
    ("one state without retirement", FULL - 2, None, one_idle),
    ("PC, INSTRET", ADDRESS + 4, None, instret_only),
    ("no INSTRET, no CTs", FULL - 2 * ADDRESS - 16, None, no_instret),
]
