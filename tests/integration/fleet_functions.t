#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""pesa store --functions: a dashboard's query sums cycles by function as pesa report does, and each place is named once."""
import collections
import json
import os
import subprocess
import tempfile

import clickhouse
from sorting_program import sorting_program
from tap import PESA, GUEST_CC, QEMU, check, command, end, needs, plain_environment, run, skip_all

if not clickhouse.PROGRAM:
    skip_all(needs(clickhouse.PACKAGE))
if not QEMU:
    skip_all(needs("qemu-user"))
work = tempfile.mkdtemp(prefix="pesa-fleet-functions-")
os.chdir(work)
plain = plain_environment(work)
plain["HOME"] = work
SOURCE = sorting_program(1500, 6)


def pesa(*words):
    return run(PESA, *words, env=plain)


with open("program.c", "w", encoding="utf-8") as file:
    file.write(SOURCE)
for name, options in (("one", ("-O2", "-static")), ("two", ("-O1",))):
    subprocess.run([GUEST_CC, *options, "-g", "-Wl,--build-id", "-o", name, "program.c"], check=True)
files = {"plain": [], "records": []}
for i in range(6):
    kind = ["plain", "records"][i % 2]
    files[kind].append(f"{i}.data")
    pesa("record", "-q", "-c", "1000", *(("--sampler", "lcofi") if kind == "plain" else ()), "-o", f"{i}.data", "--",
         "./one" if i < 4 else "./two", str(i))
pesa("merge", "-q", "-o", "plain.data", *files["plain"])
servers = clickhouse.start(work, 2)
for server in servers:
    pesa("store", "--create", "--cluster", "fleet", "--to", f"clickhouse://127.0.0.1:{server.http}/fleet")
url = f"clickhouse://127.0.0.1:{servers[0].http}/fleet"
for kind, some in files.items():
    pesa("store", "-q", "--service", kind, "--to", url, *some)


def stored(service):
    """Cycles by function as a dashboard has them; the empty name is of places without one."""
    answer = servers[1].ask(
        "SELECT sum(cycles), name FROM (SELECT pc_binary AS binary, pc, sum(periods) AS cycles FROM fleet.samples_all "
        f"WHERE service = '{service}' AND attempt GLOBAL IN (SELECT min(attempt) FROM fleet.recordings_all GROUP BY service, digest) "
        "GROUP BY binary, pc) AS sums GLOBAL ANY LEFT JOIN (SELECT binary, pc, any(name) AS name FROM fleet.functions_all GROUP BY binary, pc) AS names "
        "USING binary, pc GROUP BY name")
    return {name: int(cycles) for cycles, _, name in (line.partition("\t") for line in answer.splitlines())}


def reported(path):
    """The same as pesa report says."""
    sums = collections.Counter()
    for row in json.loads(pesa("report", "--json", "--sort", "symbol", "-i", path))["functions"]:
        sums["" if row["symbol"] == "[unknown]" else row["symbol"]] += row["cycles"]
    return dict(sums)


def scripted(paths):
    """The same, sample by sample."""
    sums = collections.Counter()
    for path in paths:
        for line in pesa("script", "--json", "-i", path).splitlines():
            sample = json.loads(line)
            if "period" in sample:
                sums[sample.get("symbol") or ""] += sample["period"]
    return dict(sums)


check(set(stored("plain")) == {""}, "before, no place has a name", stored("plain"))
os.mkdir("elsewhere")
os.rename("two", "elsewhere/two")
summary = json.loads(pesa("store", "--json", "--functions", "--to", url))
check(summary["binaries_absent"] == 1 and summary["binaries"] >= 2 and summary["places_named"] > 50, "the functions of binaries that are here are named",
      summary)
os.makedirs(f"root{work}")
os.rename("elsewhere/two", f"root{work}/two")
summary = json.loads(pesa("store", "--json", "--functions", "--symfs", "root", "--to", url))
check(summary["binaries_absent"] == 0 and summary["places_named"] > 5, "and those below --symfs", summary)
os.rename(f"root{work}/two", "two")
check(stored("plain") == reported("plain.data") and {"main", "order"} <= set(stored("plain")),
      "each function has the cycles that pesa report gives it in the merged recordings", f"{stored('plain')} {reported('plain.data')}")
check(stored("records") == scripted(files["records"]), "of records, those whose PC is in it", f"{stored('records')} {scripted(files['records'])}")
rows = servers[0].ask("SELECT count(), uniqExact(binary, pc) FROM fleet.functions_all")
summary = json.loads(pesa("store", "--json", "--functions", "--to", url))
check(summary["places_named"] == 0 and servers[0].ask("SELECT count(), uniqExact(binary, pc) FROM fleet.functions_all") == rows and
      len(set(rows.split())) == 1, "each place is named once", f"{summary} {rows}")
starts = servers[0].ask("SELECT count() FROM fleet.functions_all WHERE pc < start OR pc >= start + size AND size")
check(starts == "0", "and lies in its function", starts)
pesa("record", "-q", "-c", "337", "-o", "late.data", "--", "./one", "9")
said = pesa("store", "--service", "late", "--functions", "--to", url, "late.data")
check("1 of 1 recordings" in said and " places named" in said and not said.startswith("0 "), "with FILE, those of what was just stored, too", said)
check(stored("late") == scripted(["late.data"]), "which then has its names", stored("late"))
wrong = command(PESA, "store", "--functions", env=plain)
check(wrong.returncode == 2 and b"--to" in wrong.stderr, "without --to it is refused", wrong.stderr)
end()
