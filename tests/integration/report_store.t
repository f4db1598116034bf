#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""pesa report on a store of pesad: intervals chosen by time and host, several hosts, what cannot be read."""
import datetime
import json
import os
import subprocess
import tempfile

from tap import BUILD, PESA, bail_out, check, end

MAKE = os.path.join(os.path.abspath(BUILD), "tests/tools/make_profile")
work = tempfile.TemporaryDirectory()
os.chdir(work.name)
# Local time is not UTC.
os.environ.update(LC_ALL="C.UTF-8", TZ="UTC-5", TMPDIR=work.name)
START = datetime.datetime(2026, 11, 21, 19, 0, tzinfo=datetime.timezone.utc)


def interval(folder, minutes, samples, host="one", pid=7):
    """A file of pesad: the minute that begins so many minutes after START."""
    os.makedirs(folder, exist_ok=True)
    begin = START + datetime.timedelta(minutes=minutes)
    path = os.path.join(folder, begin.strftime("pesa-%Y%m%dT%H%M%S.000Z.data"))
    done = subprocess.run([MAKE, path], text=True, capture_output=True,
                          input=f"host {host}\nperiod 1000\ncommand pesad\ncomm {pid} {pid} task{minutes}\n"
                          f"map {pid} 0x10000 0x1000 0 /nowhere/program\nsample {samples} {pid} {pid} 0x10000 1 0 0 0 0 0 0 0 0\n")
    if done.returncode:
        bail_out(done.stderr)
    os.utime(path, (begin.timestamp() + 60, begin.timestamp() + 60))
    return path


def report(*words):
    return subprocess.run([PESA, "report", "--json", *words], capture_output=True, text=True)


def samples(*words):
    done = report(*words)
    return json.loads(done.stdout)["samples"] if done.returncode == 0 else done.stderr


for number in range(4):
    interval("store", number, 10 ** number)
check(samples("-i", "store") == 1111, "a store is read as one recording", samples("-i", "store"))
document = json.loads(report("-i", "store").stdout)
check(document["input"] == "store" and document["cycles"] == 1111000 and document["lost"] == 0, "with the cycles of all intervals", document["input"])
for words, expected, what in (
        (("--since", "2026-11-21 19:02Z"), 1110, "since a minute; the interval that ends there is taken, too"),
        (("--since", "2026-11-21T19:02:01Z"), 1100, "since a second"),
        (("--until", "2026-11-21T19:02:00Z"), 11, "until"),
        (("--since", "2026-11-21T19:01:30Z", "--until", "2026-11-21T19:02:30Z"), 110, "a range: the intervals that overlap it"),
        (("--since", "2026-11-22 00:02:01"), 1100, "local time"),
        (("--since", "2026-11-21", "--until", "2026-11-23"), 1111, "days")):
    check(samples("-i", "store", *words) == expected, what, samples("-i", "store", *words))
age = (datetime.datetime.now(datetime.timezone.utc) - START).total_seconds()
check(samples("-i", "store", "--since", f"-{age - 90:.0f}s") in (1110, 1100), "seconds before now", samples("-i", "store", "--since", f"-{age - 90:.0f}s"))
check(samples("-i", "store", "--since", f"-{age / 3600 + 1:.0f}h") == 1111, "hours before now")
nothing = report("-i", "store", "--since", "-10min")
check(nothing.returncode == 1 and nothing.stderr.count("\n") == 1 and "no interval of 4" in nothing.stderr, "nothing at that time: one line", nothing.stderr)

interval("fleet/one", 0, 1, "one")
interval("fleet/two", 0, 20, "two", 9)
check(samples("-i", "fleet") == 21, "stores of several hosts beside each other")
check(samples("-i", "fleet", "--host", "two") == 20 and samples("-i", "fleet", "--host", "one") == 1, "one host alone",
      samples("-i", "fleet", "--host", "two"))
nobody = report("-i", "fleet", "--host", "three")
check(nobody.returncode == 1 and nobody.stderr.count("\n") == 1, "no such host: one line", nobody.stderr)

with open("store/pesa-20261121T190400.000Z.data", "wb") as out:
    out.write(b"no perf.data")
with open("store/.pesad-20261121T190500.000Z.1a.data", "wb") as out:
    out.write(b"under way")
broken = report("-i", "store")
check(broken.returncode == 0 and json.loads(broken.stdout)["samples"] == 1111 and "left out" in broken.stderr
      and "190400" in broken.stderr and "190500" not in broken.stderr, "what cannot be read is left out, and named", broken.stderr)
check(not [name for name in os.listdir() if name.startswith("pesa-store")], "nothing is left behind", os.listdir())

run = subprocess.run([PESA, "report", "-i", "store", "--html", "page.html", "--since", "2026-11-21T19:03:01Z"], capture_output=True, text=True)
check(run.returncode == 0 and os.path.getsize("page.html") > 10000, "a page of a range", run.stderr)
for words in (("--since", "yesterday"), ("--until", "25:00"), ("--since", "-3parsecs"), ("--since", "-1e300d"), ("--since", "")):
    run = report("-i", "store", *words)
    check(run.returncode == 2 and run.stderr.count("\n") == 1, f"{words}: status 2", run.stderr)
run = report("-i", "store/pesa-20261121T190000.000Z.data", "--since", "-1h")
check(run.returncode == 1 and "is none" in run.stderr, "a file is no store", run.stderr)
os.makedirs("empty")
run = report("-i", "empty")
check(run.returncode == 1 and run.stderr.count("\n") == 1, "a directory without intervals: one line", run.stderr)
os.chdir("/")
end()
