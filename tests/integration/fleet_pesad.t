#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""pesad sends its intervals to a database, is killed, and goes on: the database has what its store has, each interval once."""
import glob
import os
import re
import signal
import subprocess
import tempfile
import time

import clickhouse
from same_numbers import differences, in_order, numbers
from tap import BUILD, PESA, bail_out, check, command, end, needs, plain_environment, skip_all

if not clickhouse.PROGRAM:
    skip_all(needs(clickhouse.PACKAGE))
PESAD = os.path.abspath(os.path.join(BUILD, "bin/pesad"))
work = tempfile.mkdtemp(prefix="pesa-fleet-pesad-")
os.chmod(work, 0o755)
if not os.geteuid():
    os.chown(work, 65534, 65534)
os.chdir(work)
plain = plain_environment(work)
plain["ASAN_OPTIONS"] = plain.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
server = clickhouse.start(tempfile.mkdtemp(prefix="pesa-fleet-pesad-server-"), 1)[0]
url = f"clickhouse://127.0.0.1:{server.http}/pesa"
with open("pesad.conf", "w", encoding="ascii") as out:
    out.write(f"[daemon]\nuser = nobody\n[collect]\nevent = cpu-clock\n[store]\ndirectory = {work}/store\ninterval = 1s\n"
              f"[http]\nlisten =\nsocket =\n[push]\nurl = http://127.0.0.1:{server.http}/pesa\nkind = clickhouse\napplication = web\n"
              f"spool = {work}/spool\nretry-least = 100ms\nretry-most = 500ms\n")


def pesa(*words):
    return command(PESA, *words, env=plain)


def recordings():
    return int(server.ask("SELECT uniqExact(digest) FROM pesa.recordings"))


def said():
    with open("log", encoding="utf-8", errors="replace") as file:
        return file.read()


def start():
    with open("log", "ab") as log:
        return subprocess.Popen([PESAD, "-c", "pesad.conf"], stdout=log, stderr=log, stdin=subprocess.DEVNULL, env=plain)


def wait_for(holds, process):
    until = time.monotonic() + 60
    while not holds() and process.poll() is None and time.monotonic() < until:
        time.sleep(0.1)
    return holds()


load = subprocess.Popen(["sh", "-c", "while :; do :; done"])
daemon = start()
if not wait_for(lambda: "push" in said(), daemon) and daemon.poll() is not None:
    load.kill()
    skip_all("pesad does not start here: " + said()[-300:])
try:
    check(wait_for(lambda: re.search("pesa store --create|Code: (60|81)", said()), daemon),
          "a database without tables is told in the log, with the command that makes them", said()[-2000:])
    if pesa("store", "--create", "--to", url).returncode:
        bail_out("no tables")
    check(wait_for(lambda: recordings() >= 3, daemon), "what waited in the spool arrives when there are tables", said()[-2000:])
    daemon.send_signal(signal.SIGKILL)
    daemon.wait()
    time.sleep(1)
    before = recordings()
    daemon = start()
    check(wait_for(lambda: recordings() >= before + 3, daemon), "a pesad that was killed goes on", said()[-2000:])
    daemon.send_signal(signal.SIGTERM)
    check(daemon.wait(60) == 0, "and ends", said()[-2000:])
finally:
    load.kill()
    if daemon.poll() is None:
        daemon.kill()
files = sorted(glob.glob("store/pesa-*.data"))
sent = recordings()
check(3 <= sent <= len(files), f"{sent} of {len(files)} intervals were sent", said()[-2000:])
check(pesa("store", "-q", "--service", "web", "--to", url, *files).returncode == 0, "all are stored by pesa store as well")
check(recordings() == len(files), "those that pesad sent are the same recordings", f"{sent} {recordings()} {len(files)}")
merged = pesa("merge", "-q", "-o", "merged.data", *files)
if merged.returncode:
    bail_out(merged.stderr.decode())
answers = []
for path in (url + "?service=web", "merged.data"):
    whole = numbers(path, "report", env=plain)
    # Memory with code that a process made: the database has all of it as one, since it keeps no process numbers.
    made = [row for row in whole["functions"] if row["dso"].startswith("//anon")]
    whole["functions"] = [row for row in whole["functions"] if row not in made]
    whole["made"] = sum(row["cycles"] for row in made)
    answers.append(in_order(whole))
differ = list(differences(*answers))
check(answers[0]["samples"] > 100 and not differ, "the report of the database is that of the merged intervals", "\n".join(differ[:20]))
end()
