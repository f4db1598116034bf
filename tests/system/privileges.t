#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A user who may not see the kernel (perf_event_paranoid is 2) records a program that is in the kernel most of the time with stock perf:
no address of the kernel is in any field of a sample, and no sample says that it is of the kernel.  Of the counters (PMU cpu) it prints how
many there are: the kernel's own driver gives the registers that an interrupt found."""
import os
import struct
import tempfile

from board import FAULTS, IN_TREE, board, core_with_transfers, read, script_parts, tap

# RV64: the upper half, without small negative numbers, which are errors and marks of perf's.
FIRST, LAST, INT_LEAST = 0xff00000000000000, 0xffffffffeffffff0, 0xffffffff80000000
KERNEL, CPU_MODE = 1, 7  # of a record's misc
PROGRAM = "dd if=/dev/zero of=/dev/null bs=1 count=4000"
FIELDS = {
    "addresses": "",
    "chains": "--call-graph fp --user-callchains",
    "branches": "-j any,u",
    "call stacks": "--call-graph lbr --user-callchains",
    "registers": "--intr-regs --user-regs",
}
RECORDINGS = {f"pesa, {name}": f"-R -e pesa/cycles/u -c 3001 {words}" for name, words in FIELDS.items()}
COUNTERS = {f"{event}, {name}": f"-e {event} -c 20011 {words}" for event in ("cycles:u", "cycles:uppp") for name, words in FIELDS.items()}
ALLOWED = {"root, pesa": "-R -e pesa/cycles/ -c 3001 --call-graph fp", "root, registers": f"-e cycles -c 20011 {FIELDS['registers']}"}


def samples(path):
    """For each sample of a file of stock perf: its misc, and the words of all its fields, with the field's name."""
    with open(path, "rb") as file:
        data = file.read()
    if len(data) < 104:
        return
    attributes, _, start, size = struct.unpack_from("<4Q", data, 24)
    sample_type, = struct.unpack_from("<Q", data, attributes + 24)
    branch_type, user_registers = struct.unpack_from("<2Q", data, attributes + 72)
    registers, = struct.unpack_from("<Q", data, attributes + 96)
    at = start
    while at + 8 <= start + size:
        kind, misc, length = struct.unpack_from("<IHH", data, at)
        if length < 8:
            break
        if kind == 9:
            place, words = at + 8, []

            def take(name, count=1):
                nonlocal place
                values = struct.unpack_from(f"<{count}Q", data, place)
                place += 8 * count
                words.extend((name, value) for value in values)
                return values[0] if count else 0

            for bit, name in ((16, "id"), (0, "ip"), (1, "tid"), (2, "time"), (3, "address"), (6, "id"), (9, "stream"), (7, "cpu"), (8, "period")):
                if sample_type >> bit & 1 and name in ("ip", "address"):
                    take(name)
                elif sample_type >> bit & 1:
                    place += 8
            if sample_type >> 5 & 1:
                take("chain", take("chain"))
            if sample_type >> 10 & 1:
                raw, = struct.unpack_from("<I", data, place)
                # pc, both targets; not shpmsdata and shpmsdetailsdata, which are no addresses.
                if raw >= 48:
                    words.extend(("raw", word) for word in [struct.unpack_from("<Q", data, place + 4 + offset)[0] for offset in (8, 32, 40)])
                place += 4 + raw
            if sample_type >> 11 & 1:
                count, = struct.unpack_from("<Q", data, place)
                place += 16 if branch_type >> 17 & 1 else 8
                for _ in range(count):
                    take("branch", 2)
                    place += 8  # flags
            for bit, mask, name in ((12, user_registers, "user register"), (18, registers, "register")):
                if sample_type >> bit & 1 and take("abi"):
                    take(name, bin(mask).count("1"))
            yield misc, words
        at += length


def is_kernel(word):
    return FIRST <= word < LAST and word != INT_LEAST


def leaks(found):
    """What a sample should not have.  The program's own registers may have values that look like addresses of the kernel."""
    seen = [f"misc {misc:#x}" for misc, _ in found if misc & CPU_MODE == KERNEL]
    for _, words in found:
        own = {word for name, word in words if name == "user register"}
        seen += [f"{name} {word:#x}" for name, word in words if is_kernel(word) and name != "user register" and not (name == "register" and word in own)]
    return seen


def script():
    lines = ["chmod 1777 /tmp /share; echo 2 > /proc/sys/kernel/perf_event_paranoid; echo 0 > /proc/sys/kernel/kptr_restrict"]
    recordings = {**RECORDINGS, **COUNTERS}
    for number, (name, words) in enumerate([*recordings.items(), *ALLOWED.items()]):
        user = "" if name in ALLOWED else "setpriv --reuid=65534 --regid=65534 --clear-groups"
        lines.append(f"echo '== {name}'; {user} perf record -q -N -B {words} -o /share/{number} {PROGRAM} 2>&1; echo status $?; chmod -f 644 /share/{number}")
    return "\n".join([*lines, "true"]) + "\n", [*recordings, *ALLOWED]


with tempfile.TemporaryDirectory(prefix="pesa-privileges-") as share:
    os.chmod(share, 0o777)
    text, names = script()
    with open(f"{share}/script", "w", encoding="utf-8") as out:
        out.write(text)
    options = ["--property", "pesa-sspesa=on"] if IN_TREE else []
    done = board("--core", core_with_transfers(share), *options, "--share", share, "--console", f"{share}/console", "--", "bash", "script", limit=600)
    console, parts = read(f"{share}/console"), script_parts(done.stdout)
    tap.check(done.returncode == 0 and not FAULTS.search(console), "all is recorded, and the kernel complains of nothing",
              f"status {done.returncode}\n{done.stdout[-1500:]}{done.stderr[-1500:]}{console}")
    for index, name in enumerate(names):
        got = list(samples(f"{share}/{index}")) if os.path.exists(f"{share}/{index}") else []
        seen = leaks(got)
        fields = sorted({field for _, words in got for field, _ in words})
        print(f"# {name}: {len(got)} samples with {', '.join(fields)}; {len(seen)} addresses of the kernel, or samples of it")
        if name in ALLOWED:
            tap.check(seen, f"{name}: who may see the kernel sees it", parts.get(name))
        elif name in RECORDINGS:
            tap.check("status 0" in parts.get(name, "") and len(got) > 20, f"{name}: a user records", f"{len(got)} {parts.get(name)}")
            tap.check(not seen, f"{name}: and sees nothing of the kernel", seen[:6])
tap.end()
