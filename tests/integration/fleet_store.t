#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""pesa store: what commands show of a database is what they show of the merged recordings, and nothing counts twice."""
import collections
import json
import os
import struct
import subprocess
import tempfile

import clickhouse
from same_numbers import differences, in_order, numbers
from sorting_program import sorting_program
from tap import PESA, GUEST_CC, QEMU, check, command, end, needs, plain_environment, run, skip_all

if not clickhouse.PROGRAM:
    skip_all(needs(clickhouse.PACKAGE))
if not QEMU:
    skip_all(needs("qemu-user"))
work = tempfile.mkdtemp(prefix="pesa-fleet-store-")
os.chdir(work)
plain = plain_environment(work)
SOURCE = sorting_program(1500, 6)


def pesa(*words):
    return command(PESA, *words, env=plain)


def shown(*words):
    return run(PESA, *words, env=plain)


def without_origin(text):
    """Lines in any order (equal weights are in the order of the address space), but for what names files and records."""
    return sorted(line for line in text.splitlines() if "distinct" not in line and "recordings" not in line)


def same_report(url, merged, what):
    differ = list(differences(report(url), report(merged)))
    check(not differ, what, "\n".join(differ))


def report(path):
    return numbers(path, "report", "--sort", "dso,symbol,insn", env=plain)


with open("program.c", "w", encoding="utf-8") as file:
    file.write(SOURCE)
for name, option in (("one", "-O2"), ("two", "-O1")):
    subprocess.run([GUEST_CC, option, "-g", "-static", "-Wl,--build-id", "-o", name, "program.c"], check=True)
files = []
for i in range(6):
    files.append(f"{i}.data")
    shown("record", "-q", "-c", "1000", "-o", files[-1], "--", ["./one", "./two"][i % 2], str(i))
shown("merge", "-q", "-o", "merged.data", *files)

servers = clickhouse.start(work, 2)
single = f"clickhouse://127.0.0.1:{servers[0].http}/single"
cluster = f"clickhouse://127.0.0.1:{servers[0].http}/fleet"

done = pesa("store", "--to", single, files[0])
check(done.returncode == 1 and b"--create" in done.stderr and done.stderr.count(b"\n") == 1,
      "a database without tables is refused, with the command that makes them", done.stderr)
shown("store", "--create", "--to", single)
shown("store", "--create", "--to", single)
for server in servers:
    shown("store", "--create", "--cluster", "fleet", "--to", f"clickhouse://127.0.0.1:{server.http}/fleet")
check(servers[0].ask("SELECT max(version), count() FROM single.pesa_schema") == "4\t4", "tables are made once")

for url, what in ((single, "one server"), (cluster, "two servers")):
    summary = json.loads(shown("store", "--json", "--service", "sort", "--to", url, *files))
    check(summary["recordings"] == 6 and summary["failed"] == 0 and 0 < summary["rows"] < summary["samples"],
          f"{what}: recordings become fewer rows than samples", summary)
    pesa("store", "-q", "--service", "sort", "--to", url, files[3], files[3], files[0])
    same_report(url, "merged.data", f"{what}: report shows what it shows of the merged recordings, number for number; "
                "recordings that are stored again count once")
for words in (("topdown", "--by", "symbol"), ("annotate", "order")):
    of_store, of_merged = numbers(cluster, *words, env=plain), numbers("merged.data", *words, env=plain)
    for node in of_store.get("nodes", []) + of_merged.get("nodes", []):
        node.pop("instructions")  # the first ones, among equal ones
    differ = list(differences(in_order(of_store), in_order(of_merged)))
    check(not differ, f"{' '.join(words)} shows the same", "\n".join(differ))
for words in (("export", "--format", "folded"), ("report", "--sort", "symbol,comm")):
    of_store, of_merged = (without_origin(shown(*words, "-i", path)) for path in (cluster, "merged.data"))
    check(of_store == of_merged and len(of_store) > 5, f"{' '.join(words)} shows the same",
          "\n".join(sorted(set(of_store) ^ set(of_merged))))
same = shown("diff", cluster, "merged.data")
check("0 of " in same, "diff finds no difference between the database and the merged recordings", same)
held = [set(server.ask("SELECT DISTINCT pc_binary FROM fleet.samples").split()) for server in servers]
check(not held[0] & held[1] and len(held[0] | held[1]) >= 2, "the rows of a binary are on one server", held)

# What chooses.
half = files[:3]
shown("store", "-q", "--service", "half's \\ \"name\"", "--to", cluster, *half)
shown("merge", "-q", "-o", "half.data", *half)
url = cluster + "?service=half%27s%20%5C%20%22name%22"
same_report(url, "half.data", "service= chooses, also by a name with quotes")
same_report(cluster + "?service=sort&since=1h", "merged.data", "since= chooses")
for choice in ("service=none", "service=%27%20OR%201%3D1%20--", "host=nobody", "until=2001-01-01"):
    done = pesa("report", "-i", cluster + "?" + choice)
    check(done.returncode == 1 and b"no samples" in done.stderr, f"{choice} finds nothing, and says so", done.stderr)
for bad, why in (("clickhouse://u:p@h/db", b"password-file"), (cluster + "?colour=red", b"colour"), ("clickhouse://h/a;b", b"letters"),
                 (cluster + "?password=x", b"password-file"), ("clickhouse://127.0.0.1:1/db", b"127.0.0.1:1")):
    done = pesa("report", "-i", bad)
    check(done.returncode == 1 and why in done.stderr and done.stderr.count(b"\n") == 1, f"{bad} is refused with one line",
          done.stderr)


def scripted(path):
    """Samples and cycles by all that pesa script says of a sample but when, where in memory and in which process it was."""
    sums = collections.Counter()
    for line in shown("script", "--json", "-i", path).splitlines():
        sample = json.loads(line)
        count, period = sample.pop("samples", 1), sample.pop("period")
        for name in ("time", "pid", "tid", "cpu", "address", "lost", "counter", "opaque"):
            sample.pop(name, None)
        for target in sample.get("targets", []):
            target.pop("address")
        sums[json.dumps(sample, sort_keys=True)] += count + 1j * period
    return sums


sorted_there = cluster + "?service=sort"
check(scripted(sorted_there) == scripted("merged.data"), "pesa script shows each distinct sample, with how many there are",
      sorted(set(scripted(sorted_there).items()) ^ set(scripted("merged.data").items()), key=str)[:4])
lines = shown("script", "-i", sorted_there).splitlines()
check(all(" samples: pesa/cycles/: " in line for line in lines) and sum(int(line.split()[1]) for line in lines) == len(
    shown("script", "-i", "merged.data").splitlines()), "as text, too", lines[:3])
for words in (("script", "--pid", "7"), ("report", "--tid", "7")):
    done = pesa(*words, "-i", cluster)
    check(done.returncode == 1 and b"process numbers" in done.stderr and done.stderr.count(b"\n") == 1,
          f"{' '.join(words)}: process numbers, which are not kept, are refused", done.stderr)
os.makedirs(f"root{work}")
os.rename("two", f"root{work}/two")
differ = list(differences(in_order(json.loads(shown("report", "--json", "--symfs", "root", "-i", url))["functions"]),
                          in_order(json.loads(shown("report", "--json", "--symfs", "root", "-i", "half.data"))["functions"])))
check(not differ, "programs are found below --symfs, by path and build id, as for a file", "\n".join(differ))
shown("archive", "-q", "-i", sorted_there, "-o", "there.tar.zst")
same_report("there.tar.zst", "merged.data", "an archive of a database shows what it shows")
check("inorder-2" in shown("list", "-i", cluster), "pesa list reads it for the processor")
for words, why in ((("archive", "-i", cluster), b"-o"), (("merge", "-o", "x.data", cluster, files[0]), b"-i")):
    done = pesa(*words)
    check(done.returncode == 2 and why in done.stderr and done.stderr.count(b"\n") == 1 and not os.path.exists("x.data"),
          f"{words[0]} of a database: refused, with what to do", done.stderr)

# A recording whose end is lost knows neither its core nor its host.
with open(files[1], "rb") as whole, open("cut.data", "wb") as out:
    begin, size = struct.unpack("<QQ", whole.read(56)[40:])
    whole.seek(0)
    out.write(whole.read(begin + size + 100))
done = pesa("store", "--service", "cut", "--to", cluster, files[0], "cut.data")
check(done.returncode == 1 and b"cut.data: damaged" in done.stderr and b"2 of 2 recordings" in done.stdout, "a damaged recording is stored, and told",
      done.stderr)
pesa("merge", "-q", "-o", "with_cut.data", files[0], "cut.data")
of_store, of_merged = (json.loads(pesa("report", "--json", "--sort", "dso,symbol,insn", "-i", path).stdout) for path in
                       (cluster + "?service=cut", "with_cut.data"))
for whole in (of_store, of_merged):
    for name in ("input", "cmdline", "distinct_records", "problems", "damage"):
        whole.pop(name)
differ = list(differences(in_order(of_store), in_order(of_merged)))
check(not differ and of_store["damaged_records"], "and added to the others, as by pesa merge", "\n".join(differ))
done = pesa("store", "--to", cluster, "merged.data")
check(done.returncode == 1 and b"merged" in done.stderr, "a merged file is refused", done.stderr)
end()
