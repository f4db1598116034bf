#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""perf with the patches of kernel/series: its own test of the decoder of raw samples; each field of each record that `perf script -D`
prints is that of `pesa script --json` and the other way round, in recordings of the virtual core, of the board's driver by stock perf,
and of random bytes; files that are cut off or damaged are read or refused, with sanitizers; perf list describes the board's events.
"""
import collections
import json
import os
import random
import re
import shutil
import struct
import subprocess
import tempfile

from board import BUILD, FAULTS, PESA, TOP, board, compiled, guest_program, read, tap

MAKE = os.path.join(BUILD, "tests/tools/make_profile")
SEED = int(os.environ.get("SEED", "1"))
STATES = ("retiring", "stalled", "flushed", "drained")
# Names that perf gives to the specification's causes where a file has none, and those that pesa gives.
STANDARD = dict(zip(("I-cache-miss", "ITLB-miss", "mispredict", "D-cache-miss", "DTLB-miss"),
                    ("I$miss", "ITLBmiss", "mispredict", "D$miss", "DTLBmiss")))
HAS_DATA, HAS_DETAILS, HAS_TARGET, SCRUBBED, HAS_CAUSES, LOST = 1, 2, 4, 16, 32, 16
KNOWN = HAS_DATA | HAS_DETAILS | HAS_TARGET * 3 | SCRUBBED | HAS_CAUSES | 0xffff << LOST
HEAD = re.compile(r"(?:-?\d+ )?(\d+) 0x[0-9a-f]+ \[0x[0-9a-f]+\]: PERF_RECORD_SAMPLE\(IP, 0x[0-9a-f]+\): (\d+)/(\d+): ")
LINE = re.compile(r"(shpms\w+):\t(.*)")
RECORD = re.compile(r"version 1 XLEN (\d+) flags ([0-9a-f]{8})( scrubbed)? lost (\d+)( or more)?")
DATA = re.compile(r"([0-9a-f]{16}) CNTRID (\d+)")
CAUSES = r" CAUSE ([0-9a-f]{3})(?:=(\S+))?"
DETAILS = re.compile(r"([0-9a-f]{16}) INSTRET (\d+) RSTATE (\d)=(\w+) CTs (\d+) CTOFFSET1 (\d+) CTOFFSET2 (\d+) CAUSEOFFSET (\d+)" + CAUSES)
TAGGED = re.compile(r"([0-9a-f]{16})" + CAUSES + " of a tagged instruction")
REFUSED = re.compile(r"invalid: .*|unknown version \d+")
REPORTS = re.compile(r"ERROR: \w+Sanitizer|runtime error:|Segmentation|stack smashing")


def build(variant):
    done = subprocess.run([os.path.join(TOP, "tools/board/perf"), variant], capture_output=True, text=True, check=False)
    tap.check(not done.returncode, f"perf builds: {variant}", done.stderr[-2000:])
    return done.stdout.strip()


def perf(program, *words, limit=300, **environment):
    """Run perf where nobody's settings, debuginfo or cache of build ids are."""
    return subprocess.run([program, *words], capture_output=True, text=True, errors="replace", check=False, timeout=limit, cwd=work,
                          stdin=subprocess.DEVNULL, env={"PATH": "/usr/bin:/bin", "HOME": work, "PAGER": "cat", "LC_ALL": "C",
                                                         "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1", "UBSAN_OPTIONS": "print_stacktrace=1", **environment})


def causes_of(text):
    """The names of causes, in pesa's words."""
    return [re.sub(r"^bit(\d)$", r"cause\1", STANDARD.get(name, name)) for name in text.split("+")] if text else []


def decode(lines):
    """What perf prints of a record, in the words of `pesa script --json`; every character of it has to be understood."""
    names = [name for name, _ in lines]
    if len(lines) == 1 and REFUSED.fullmatch(lines[0][1]):
        return {"unreadable": True}
    shown = dict(lines)
    order = ["shpmsdetails", "shpmspc", "shpmsdata", "shpmsdetailsdata", "shpmsdetailsbt1", "shpmsdetailsbt2"]
    if names != [name for name in order if name in shown]:
        raise ValueError(f"lines {names}")
    xlen, flags, scrubbed, lost, more = RECORD.fullmatch(shown["shpmsdetails"]).groups()
    flags = int(flags, 16)
    record = {"xlen": int(xlen), "address": int(shown["shpmspc"], 16), "scrubbed": bool(scrubbed), "lost": int(lost),
              "counter": None, "opaque": None, "flags": flags & KNOWN}
    if (lost == "65535") != bool(more) or len(shown["shpmspc"]) != 16:
        raise ValueError(shown)
    if "shpmsdata" in shown:
        data, counter = DATA.fullmatch(shown["shpmsdata"]).groups()
        record |= {"counter": int(counter), "opaque": int(data, 16) >> 5}
    if flags & HAS_DETAILS:
        raw, instret, number, state, transfers, first, second, offset, causes, text = DETAILS.fullmatch(shown["shpmsdetailsdata"]).groups()
        targets = []
        for i, at in enumerate((first, second)[:int(transfers)]):
            line = shown[f"shpmsdetailsbt{i + 1}"]
            targets.append({"offset": int(at), "address": None if line.startswith("none") else int(line, 16)})
        record |= {"details": int(raw, 16), "instret": int(instret), "state": state, "cts": int(transfers), "targets": targets,
                   "cause_offset": int(offset), "mask": int(causes, 16), "causes": causes_of(text)}
        if STATES[int(number)] != state:
            raise ValueError(shown)
    elif flags & HAS_CAUSES:
        _, causes, text = TAGGED.fullmatch(shown["shpmsdetailsdata"]).groups()
        record["causes"] = causes_of(text)
        if bin(int(causes, 16)).count("1") != len(record["causes"]):
            raise ValueError(shown)
    elif shown["shpmsdetailsdata"] != "none: no cycle was sampled":
        raise ValueError(shown)
    if "mask" in record and bin(record["mask"]).count("1") != len(record["causes"]):
        raise ValueError(shown)
    return record


def of_perf(program, path, command="script"):
    """For each sample of a file: time, process, thread, and the record that perf prints; and what it says besides."""
    done = perf(program, command, "-D", "-i", path)
    found, lines, notes = [], [], []
    for line in done.stdout.splitlines():
        field, head = LINE.fullmatch(line), HEAD.match(line)
        if field and field[2].startswith("this file"):
            notes.append(field[2])
        elif field:
            lines.append(field.groups())
        elif head:
            found.append((*map(int, head.groups()), lines and decode(lines)))
            lines = []
    return found, notes, done


def of_pesa(path):
    """The same, as pesa reads it."""
    done = subprocess.run([PESA, "script", "--json", "-i", path], capture_output=True, text=True, errors="replace", check=True)
    found = []
    for one in (json.loads(line) for line in done.stdout.splitlines()):
        if one["type"] != "sample":
            continue
        if "unreadable" in one:
            record = {"unreadable": True}
        elif "xlen" not in one:
            record = []
        else:
            record = {key: one[key] for key in ("xlen", "address", "scrubbed", "lost", "counter", "opaque")}
            record |= {key: one[key] for key in ("details", "instret", "state", "cts", "cause_offset", "causes") if key in one}
            flags = (HAS_DATA if one["counter"] is not None else 0) | (SCRUBBED if one["scrubbed"] else 0) | one["lost"] << LOST
            if "state" in one:
                record["targets"] = [{key: target[key] for key in ("offset", "address")} for target in one["targets"]]
                record["mask"] = one["details"] >> 22 & 0x3ff
                flags |= HAS_DETAILS
                for i, target in enumerate(one["targets"]):
                    flags |= HAS_TARGET << i if target["address"] is not None else 0
            elif "causes" in one:
                flags |= HAS_CAUSES
            record["flags"] = flags
        found.append((one["time"], one["pid"], one["tid"], record))
    return found


def plain(found, strict):
    """Samples as text, to be counted: those of one time can come in any order.  Of random flags pesa does not show those of targets
    that the record does not speak of, nor that of causes beside details."""
    for *_, record in found:
        if record and "unreadable" not in record and not strict:
            hidden = sum(HAS_TARGET << i for i in range(2) if i >= record.get("cts", 0))
            record["flags"] &= ~(hidden | (HAS_CAUSES if "state" in record else 0))
    return collections.Counter(json.dumps(one, sort_keys=True) for one in found)


def agree(name, path, program, strict=True, command="script"):
    """Compare all records.  Returns those of perf."""
    shown, notes, done = of_perf(program, path, command)
    kept = [record for *_, record in shown if record]
    ours, theirs = plain(of_pesa(path), strict), plain(shown, strict)
    tap.check(not done.returncode and kept and ours == theirs, f"{name}: every field of every record", "\n".join(
        [f"{sum(theirs.values())} {sum(ours.values())}", done.stderr[-1000:], *list((theirs - ours).keys())[:3], "pesa:",
         *list((ours - theirs).keys())[:3]]))
    return kept, notes


work = tempfile.mkdtemp(prefix="pesa-series-perf-")
program, sanitized = build("plain"), build("sanitized")
if tap.failed():
    tap.end()
done = perf(sanitized, "test", "-v", "shpmsdetails")
passed = re.findall(r"^ *(\d+\.\d+): .*: Ok$", done.stdout + done.stderr, re.M)
tap.check(len(passed) == 3 and not re.search("FAILED|Skip", done.stdout + done.stderr) and not REPORTS.search(done.stderr),
          "perf test: the decoder passes its own tests", done.stdout + done.stderr)

# ---- Random bytes --------------------------------------------------------------------------------

random.seed(SEED)
NAMES = "0:a,2:b,5:five,6:six,8:eight,9:nine"
HEADERS = ["arch riscv64", "event pesa/cycles/", f"capability cause_names {NAMES}", "capability ct_targets 1"]


def random_record():
    """Mostly what can be a record: any flags, any registers, of any length."""
    size = random.choice((48, 48, 48, 56, 52, 49, random.randrange(1, 96)))
    head = bytes((random.choice((1, 1, 1, 1, 1, 1, 1, 2, 0)), random.choice((64, 64, 32, 32, 64, random.randrange(256)))))
    told = random.choice((48, 48, 48, 48, size, size + random.randrange(24), random.randrange(1 << 16)))
    flags = random.choice((random.randrange(64), random.randrange(64) | 0xffff << 16, random.getrandbits(32) & KNOWN))
    return (head + told.to_bytes(2, "little") + flags.to_bytes(4, "little") + random.randbytes(96))[:size]


def make(path, lines):
    subprocess.run([MAKE, path], input="\n".join(lines) + "\n", text=True, check=True)


def raw_lines(records):
    return [f"raw 1 7 {random.randrange(7, 9)} {random.getrandbits(47):#x} {record.hex()}" for record in records]


make(f"{work}/random.data", [*HEADERS, *raw_lines(random_record() for _ in range(20000))])
kept, notes = agree("random bytes", f"{work}/random.data", sanitized, strict=False)
tap.check(not notes and 0.1 < sum("unreadable" in record for record in kept) / len(kept) < 0.9, "some of them are no record",
          (notes, len(kept)))

def without_names(source, path):
    """A file whose headers have no names of causes: the capability has another name."""
    with open(source, "rb") as file:
        data = file.read()
    with open(path, "wb") as file:
        file.write(data.replace(b"cause_names", b"cause_other"))


without_names(f"{work}/random.data", f"{work}/unnamed.data")
_, notes = agree("random bytes without names of causes", f"{work}/unnamed.data", program, strict=False)
tap.check(notes == ["this file has no names for the bits 5 to 9 of CAUSE"], "that the file names no causes is said, once", notes)

# ---- Another byte order --------------------------------------------------------------------------

HOSTNAME, ARCH, PMU_MAPPINGS, PMU_CAPS = 3, 6, 16, 31  # features of perf.data
SAMPLE_TYPE = 1 | 1 << 1 | 1 << 2 | 1 << 7 | 1 << 8 | 1 << 10  # IP, TID, TIME, CPU, PERIOD, RAW


def swapped(path, records, said=None, pmus=1):
    """A file as a machine of the other byte order would write it; the records in it are as they are everywhere.  `said`: the size that
    each claims to have, if that is not what it has; `pmus`: the number of PMUs that the headers claim to name, of which there is one."""
    def text(word):
        return struct.pack(">I", 64) + word.encode().ljust(64, b"\0")

    samples = b""
    for i, record in enumerate(records):
        raw = record + bytes(-(len(record) + 4) % 8)
        size = len(raw) if said is None else said
        samples += struct.pack(">IHHQIIQIIQI", 9, 2, 52 + len(raw), i, 7, 7, 1000 + i, 0, 0, 1, size) + raw
    features = {
        HOSTNAME: text("swapped"), ARCH: text("riscv64"), PMU_MAPPINGS: struct.pack(">II", pmus, 10) + text("pesa"),
        PMU_CAPS: struct.pack(">II", 1, 2) + text("cause_names") + text(NAMES) + text("ct_targets") + text("1") + text("pesa"),
    }
    attribute = struct.pack(">IIQQQQQIIQQQ", 10, 64, 1, 1, SAMPLE_TYPE, 0, 0, 0, 0, 0, 0, 0)
    head = struct.pack(">8s8Q", b"PERFILE2"[::-1], 104, len(attribute), 104, len(attribute), 104 + len(attribute), len(samples), 0, 0)
    head += struct.pack(">4Q", sum(1 << bit for bit in features), 0, 0, 0)
    at = len(head) + len(attribute) + len(samples) + 16 * len(features)
    table = b""
    for content in features.values():
        table += struct.pack(">QQ", at, len(content))
        at += len(content)
    with open(path, "wb") as out:
        out.write(head + attribute + samples + table + b"".join(features.values()))


several = [random_record() for _ in range(300)]
make(f"{work}/native.data", [*HEADERS, *raw_lines(several)])
swapped(f"{work}/swapped.data", several)
native, other = ([record for *_, record in of_perf(sanitized, f"{work}/{name}.data")[0]] for name in ("native", "swapped"))
tap.check(len(other) == len(several) and native == other, "a file of the other byte order has the same records",
          [len(native), len(other), *[pair for pair in zip(native, other) if pair[0] != pair[1]][:2]])
refused = []
for said in (53, 56, 60, 1 << 16, (1 << 31) - 1, (1 << 32) - 1):
    swapped(f"{work}/swapped.data", [bytes((1, 64, 48, 0)) + bytes(44)] * 3, said)
    done = perf(sanitized, "script", "-D", "-i", f"{work}/swapped.data")
    refused.append((done.returncode, "shpmspc" in done.stdout, bool(REPORTS.search(done.stderr))))
tap.check(all(status and not shown and not report for status, shown, report in refused), "sizes of raw data that reach beyond the sample are refused there", refused)
swapped(f"{work}/swapped.data", several[:3], pmus=100000)
done = perf(sanitized, "script", "-D", "-i", f"{work}/swapped.data")
tap.check(done.stdout and "shpmspc" not in done.stdout and not REPORTS.search(done.stderr), "PMUs that the headers do not name are not looked at",
          done.stderr[-3000:])

# ---- The virtual core ----------------------------------------------------------------------------

guest = compiled("events", [f"{TOP}/tests/system/programs/events.c"], "-static", "-D_GNU_SOURCE")
CORES = {
    "ooo-4": ("--core", "ooo-4", "-c", "997"),
    "ooo-8 with one target": ("--core", "ooo-8", "--set", "sample.ct_targets=1", "-c", "499"),
    "inorder-2 without targets": ("--core", "inorder-2", "--set", "sample.ct_targets=0", "-c", "1499"),
    "several samplers": ("--core", "ooo-4", "--sampler", "shpms,dispatch,lcofi,next-commit", "-c", "1999"),
}
for name, words in CORES.items():
    subprocess.run([PESA, "record", "-q", "-o", f"{work}/core.data", *words, "--", guest, "guess", "60000"], check=True,
                   stdout=subprocess.DEVNULL)
    kept, notes = agree(name, f"{work}/core.data", program)
    targets = sum(target["address"] is not None for record in kept for target in record.get("targets", ()))
    tap.check(len(kept) > 200 and not notes and (targets > 20) == ("without" not in name) and
              ("several" in name) == any("state" not in record for record in kept) and
              len({tuple(record.get("causes", ())) for record in kept}) > 3, f"{name}: records of many kinds", (len(kept), targets, notes))
agree("perf report", f"{work}/core.data", program, command="report")
text = perf(program, "script", "-D", "-i", f"{work}/core.data").stdout
tap.check(" of a tagged instruction" in text, "records of tagged instructions say so", text[-2000:])

# ---- Damaged files -------------------------------------------------------------------------------

RECORDS = [random_record() + random.randbytes(8) for _ in range(300)]
make(f"{work}/small.data", [*HEADERS, "compression 0", *raw_lines(RECORDS)])
with open(f"{work}/small.data", "rb") as file:
    whole = file.read()
start, size = struct.unpack_from("<QQ", whole, 40)  # perf_file_header.data
end = start + size


def every(text, before=0):
    """Where the bytes of a text are in the file, and some before it."""
    return [at for found in re.finditer(re.escape(text), whole) for at in range(found.start() - before, found.end())]


def changed(where):
    """The file with some of these bytes changed, some of them to what ends or begins things in text and lengths."""
    data = bytearray(whole)
    for _ in range(random.randrange(1, 20)):
        data[random.choice(where)] = random.choice((0, 0xff, ord(","), ord(":"), random.randrange(256)))
    return bytes(data)


DAMAGES = {
    "cut off": lambda: whole[:random.randrange(len(whole))],
    "changed names of causes": lambda: changed(every(NAMES.encode())),
    "changed records, and their sizes": lambda: changed([at for record in RECORDS for at in every(record, 4)]),
    "changed samples": lambda: changed(range(start, end)),
    "changed headers": lambda: changed(range(end, len(whole))),
}
for name, damage in DAMAGES.items():
    wrong, read_through = [], 0
    for _ in range(40):
        with open(f"{work}/damaged.data", "wb") as file:
            file.write(damage())
        try:
            done = perf(sanitized, "script", "-D", "-i", f"{work}/damaged.data", limit=30)
        except subprocess.TimeoutExpired:  # billions of PMUs, by the headers: perf looks at each
            continue
        read_through += "PERF_RECORD_SAMPLE" in done.stdout
        if done.returncode < 0 or REPORTS.search(done.stderr):
            wrong.append(f"{done.returncode} {done.stderr[-6000:]}")
    tap.check(not wrong and read_through, f"{name}: read or refused", f"{len(wrong)} {read_through}\n" + "\n".join(wrong[:1]))

# ---- The board: stock perf, the driver's records and capabilities --------------------------------

STOCK = "perf record -q -N -R -e"
SCRIPT = f"""
cd /sys/bus/event_source/devices/pesa
for file in type identifier format/* events/*; do
    to=/share/sysfs/bus/event_source/devices/pesa/$file; mkdir -p ${{to%/*}}; cat $file > $to
done
cd /share; chmod -R a+rX sysfs; grep -m 3 -E '^(mvendorid|marchid|mimpid)' /proc/cpuinfo
{STOCK} pesa/cycles/ -c 5000 -o all.data ls -lR /etc > /dev/null; echo "status $?"
{STOCK} pesa/cycles/u -c 500 -o user.data dd if=/dev/zero of=/dev/null bs=1 count=10000 2> /dev/null; echo "status $?"
{STOCK} pesa/cycles/ -c 300 -o short.data ./hot 2000 > /dev/null; echo "status $?"
{STOCK} pesa/INST.RET/u -c 5000 -o other.data ./hot 20000 > /dev/null; echo "status $?"
chmod a+r *.data
"""
share = tempfile.mkdtemp(prefix="pesa-series-perf-board-")
guest_program("hot", share)
booted = board("--harts", "1", "--share", share, "--", "sh", "-c", SCRIPT, limit=400)
tap.check(booted.stdout.count("status 0") == 4 and not FAULTS.search(booted.stdout), "the board records", booted.stdout + booted.stderr)
KINDS = {
    "all": lambda record: record.get("instret", 0) > 1 and any(target["address"] for target in record["targets"]),
    "user": lambda record: record.get("state") == "flushed" and not record["address"] >> 63,
    "short": lambda record: record["lost"] and record["opaque"],
    "other": lambda record: "state" not in record and record["opaque"],
}
for name, is_one in KINDS.items():
    kept, notes = agree(f"the board, {name}", f"{share}/{name}.data", program)
    tap.check(any(map(is_one, kept)) and not notes, f"the board, {name}: records of the kind that it is recorded for", (len(kept), kept[:3]))

# ---- Event files ---------------------------------------------------------------------------------


def listed():
    """The events of the board's PMU that perf lists where the board's sysfs is: name, number, whether an event file says what it is."""
    done = perf(program, "list", "-j", SYSFS_PATH=f"{share}/sysfs")
    return {one["EventName"].lower(): (int(re.search(r"event=(0x[0-9a-f]+)", one["Encoding"])[1], 16), one.get("Topic") == "sampling")
            for one in json.loads(done.stdout) if one.get("Unit") == "pesa"}


device = f"{share}/sysfs/bus/event_source/devices/pesa"
offered = {name.lower(): int(read(f"{device}/events/{name}").partition("=")[2], 16) for name in os.listdir(f"{device}/events")}
shown = listed()
tap.check(len(offered) > 10 and {name: number for name, (number, _) in shown.items()} == offered and all(known for _, known in shown.values()),
          "perf list: the board's events have the numbers that the driver gives them, and a description", f"{shown}\n{offered}")
with open(f"{device}/identifier", "w", encoding="ascii") as file:
    file.write("another\n")
shown = listed()
tap.check(not any(known for _, known in shown.values()), "the event file is for that core alone", shown)
shutil.rmtree(share)
shutil.rmtree(work)
tap.end()
