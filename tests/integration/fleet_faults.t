#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A database of two servers while servers, networks and senders fail: 50 recordings of 5 hosts, each counted once in the end."""
import http.client
import http.server
import os
import random
import signal
import socketserver
import subprocess
import tempfile
import threading
import time
import urllib.parse

import clickhouse
from profile_store import Pusher
from same_numbers import differences, in_order, numbers
from tap import BUILD, PESA, GUEST_CC, bail_out, check, command, end, needs, plain_environment, skip, skip_all

if not clickhouse.PROGRAM:
    skip_all(needs(clickhouse.PACKAGE))
MAKE = os.path.abspath(os.path.join(BUILD, "tests/tools/make_profile"))
work = tempfile.mkdtemp(prefix="pesa-fleet-faults-")
os.chdir(work)
os.umask(0o077)
plain = plain_environment(work)
seed = int(os.environ.get("SEED", time.time()))
print(f"# SEED={seed}")
draw = random.Random(seed)
FILES, HOSTS = 50, 5
RETIRING, STALLED, FLUSHED, DRAINED = range(4)


def pesa(*words):
    return command(PESA, *words, env=plain)


def report(path):
    return numbers(path, "report", "--sort", "dso,symbol,insn", env=plain)


def same(url, merged, what):
    differ = list(differences(report(url), report(merged)))
    return check(not differ, what, "\n".join(differ[:20]))


# ---- Recordings

with open("program.c", "w", encoding="utf-8") as out:
    out.write("int f(int a) { return a * a + 3; }\nint g(int a) { return f(a) / 7; }\nint _start(void) { return g(4); }\n")
programs = []
for i in range(4):
    build = subprocess.run([GUEST_CC, f"-O{i % 2}", "-nostdlib", "-static", "-Wl,--build-id", f"-Wl,--defsym=number={i}", "-o", f"program{i}",
                            "program.c"], capture_output=True, text=True)
    if build.returncode:
        bail_out(build.stderr)
    notes = subprocess.run([GUEST_CC.replace("gcc", "readelf"), "-n", f"program{i}"], capture_output=True, text=True).stdout
    symbols = subprocess.run([GUEST_CC.replace("gcc", "nm"), f"program{i}"], capture_output=True, text=True).stdout
    build_id = notes.split("Build ID:")[1].split()[0] if "Build ID:" in notes else ""
    text = sorted(int(line.split()[0], 16) for line in symbols.splitlines() if line.endswith((" f", " g", " _start")))
    programs.append((os.path.abspath(f"program{i}"), build_id, text))


def description(index):
    """Samples of a host's processes: with bases, names, chains and losses of its own."""
    lines = ["arch riscv64", f"host board{index % HOSTS}", f"command pesa record {index}", "event pesa/cycles/", "period 1000",
             "capability retire_width 4"] + (["chains"] if index % 3 == 0 else [])
    lines.append("map 4294967295 0xffffffff80000000 0x1000000 0xffffffff80000000 [kernel.kallsyms]_text")
    for pid in (100, 101):
        path, build_id, text = programs[draw.randrange(len(programs))]
        base = draw.randrange(1 << 20) << 20
        page = text[0] & ~0xfff
        lines.append(f"comm {pid} {pid} worker{draw.randrange(3)}")
        lines.append(f"map {pid} {base + page:#x} 0x4000 {page - 0x10000:#x} {path} {build_id}")
        for _ in range(draw.randrange(3, 25)):
            pc = base + draw.choice(text) + 2 * draw.randrange(4)
            if draw.random() < 0.1:
                pc = 0xffffffff80000000 + 4 * draw.randrange(1000)
            if draw.random() < 0.05:
                pc = 0x1000 + 4 * draw.randrange(100)  # in no map
            if index % 3 == 0:
                lines.append(f"chain {pc:#x} {base + draw.choice(text) + 4:#x} {base + text[-1]:#x}")
            state = draw.choice((RETIRING, STALLED, FLUSHED, DRAINED))
            instret = draw.randrange(1, 4) if state == RETIRING else 0
            lines.append(f"sample {draw.randrange(1, 400)} {pid} {pid} {pc:#x} {state} {instret} 0 0 0 0 0 0 {draw.choice((0, 1, 8))} "
                         f"{draw.randrange(1 << 20)} {draw.choice((0, 0, 0, 2))}")
    if index % 7 == 0:
        lines.append(f"lost {draw.randrange(1, 50)}")
    return "\n".join(lines) + "\n"


files = []
for i in range(FILES):
    files.append(f"{i}.data")
    made = subprocess.run([MAKE, files[-1]], input=description(i), capture_output=True, text=True)
    if made.returncode:
        bail_out(made.stderr)
merge = pesa("merge", "-q", "-o", "merged.data", *files)
if merge.returncode:
    bail_out(merge.stderr.decode())

# ---- Servers, and a network in front of one that fails

servers = clickhouse.start(work, 2)
for server in servers:
    made = pesa("store", "--create", "--cluster", "fleet", "--to", f"clickhouse://127.0.0.1:{server.http}/fleet")
    if made.returncode:
        bail_out(made.stderr.decode())
direct = f"clickhouse://127.0.0.1:{servers[0].http}/fleet"


class Network(http.server.BaseHTTPRequestHandler):
    """Passes requests on; some are lost on the way there, of some the answer on the way back."""
    protocol_version = "HTTP/1.1"
    lost = {"request": 0, "answer": 0}
    failing = True
    poison = None  # rows with these bytes are refused
    table, passed = None, None  # when rows of the table have arrived: a function that is called

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        fate = draw.random() if Network.failing and "INSERT" in self.path else 1
        if fate < 0.06:
            Network.lost["request"] += 1
            self.close_connection = True
            return
        if Network.poison and Network.poison in body:
            self.answer(500, b"Code: 117, e.displayText() = DB::Exception: Incorrect data, e.what() = DB::Exception\n")
            return
        try:
            there = http.client.HTTPConnection("127.0.0.1", servers[0].http, timeout=60)
            there.request("POST", self.path, body)
            answer = there.getresponse()
            text = answer.read()
        except OSError:
            self.close_connection = True
            return
        if fate < 0.12:
            Network.lost["answer"] += 1
            self.close_connection = True
            return
        if Network.table and f".{Network.table}_all " in urllib.parse.unquote(self.path):
            Network.passed()
        self.answer(answer.status, text)

    def answer(self, status, text):
        try:
            self.send_response(status)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)
        except OSError:
            self.close_connection = True

    def log_message(self, *_):
        pass


class Threads(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        """A sender that is killed resets its connection."""


network = Threads(("127.0.0.1", 0), Network)
threading.Thread(target=network.serve_forever, daemon=True).start()
through = f"http://127.0.0.1:{network.server_address[1]}/fleet"
OPTIONS = ("kind=clickhouse", "least=20", "most=200", "timeout=20000")

# ---- pesad's sender through that network; it is killed, and so is a server

pusher = Pusher(through, *OPTIONS, spool="spool")
for path in files[:30]:
    pusher.offer(path)
pusher.wait(lambda counts: counts["sent"] >= 8)
servers[1].kill()
waiting = pusher.wait(lambda counts: counts["failures"] >= 2)
check(waiting["failures"] >= 2 and waiting["refused"] == 0, "while a server is away, recordings wait in the spool", waiting)
pusher.process.send_signal(signal.SIGKILL)
pusher.process.wait()
away = pesa("report", "-i", direct)
check(away.returncode == 1 and away.stderr.count(b"\n") == 1 and not away.stdout,
      "while a server is away, a report says so, and shows no half of the numbers", away.stderr)
stored = pesa("store", "-q", "--service", "pushed", "--to", direct, files[49])
check(stored.returncode == 1 and b"not stored" in stored.stderr, "what cannot be stored is told", stored.stderr)
servers[1].start()
pusher = Pusher(through, *OPTIONS, spool="spool")
for path in files[:40]:  # what the killed one had taken is offered again
    pusher.offer(path)
pusher.wait(lambda counts: counts["sent"] >= 5)
servers[0].kill()
servers[0].start()
for _ in range(10):  # on a busy machine it takes longer than one wait
    done = pusher.wait(lambda counts: counts["sent"] >= 40 and not counts["spooled"] and not counts["pending"])
    if not done["spooled"]:
        break
log = pusher.end()
check(done["sent"] >= 40 and not done["spooled"] and not done["refused"], "all arrive, when servers and network work again", f"{done}\n{log}")
print("#", Network.lost, done)
check(Network.lost["request"] and Network.lost["answer"], "the network lost requests and answers", Network.lost)
Network.failing = False
stored = pesa("store", "-q", "--service", "pushed", "--to", direct, *files[30:], *files[:5])
check(stored.returncode == 0, "the rest is stored by pesa store, some for the second or third time", stored.stderr)
recordings, attempts, held = (int(servers[0].ask(f"SELECT {what}")) for what in (
    "uniqExact(digest) FROM fleet.recordings_all", "uniqExact(attempt) FROM fleet.samples_all", "sum(samples) FROM fleet.samples_all"))
check(recordings == FILES and attempts > FILES, "rows of repeated and broken attempts are there", (recordings, attempts))
same(direct, "merged.data", "the report of the database is that of the merged recordings, number for number")
check(held > report("merged.data")["samples"], "which is less than what the rows add up to", held)
for words in (("topdown",), ("report", "--sort", "comm"), ("report", "--sort", "symbol", "--children")):
    of_store, of_merged = numbers(direct, *words, env=plain), numbers("merged.data", *words, env=plain)
    for node in of_store.get("nodes", []) + of_merged.get("nodes", []):
        node.pop("instructions")
    for group in of_store.get("groups", []) + of_merged.get("groups", []):
        for name in ("address", "size", "linkage_name", "executions"):  # of the first one of that name
            group.pop(name, None)
    differ = list(differences(in_order(of_store), in_order(of_merged)))
    check(not differ, f"{' '.join(words)}: the same", "\n".join(differ[:20]))
for host in (0, 3):
    pesa("merge", "-q", "-o", "host.data", *files[host::HOSTS])
    same(f"{direct}?host=board{host}", "host.data", f"host=board{host} has the recordings of that host")

# ---- Recordings that are sent together

for server in servers:
    pesa("store", "--create", "--cluster", "fleet", "--to", f"clickhouse://127.0.0.1:{server.http}/batch")
batch = f"clickhouse://127.0.0.1:{servers[0].http}/batch"
behind = f"clickhouse://127.0.0.1:{network.server_address[1]}/batch"
inserts = []


def counting(body):
    """How many inserts it takes to run something."""
    inserts.clear()
    Network.table, Network.passed = "recordings", lambda: inserts.append(1)
    body()
    Network.table = None
    return len(inserts)


for table in ("binaries", "samples", "recordings"):
    Network.table, Network.passed = table, lambda: client.kill()  # pylint: disable=unnecessary-lambda
    client = subprocess.Popen([PESA, "store", "-q", "--to", behind, *files], env=plain, stderr=subprocess.DEVNULL)
    client.wait()
    Network.table = None
    if table != "recordings":
        away = pesa("report", "-i", batch)
        check(client.returncode == -signal.SIGKILL and away.returncode == 1 and b"no samples" in away.stderr,
              f"of {FILES} recordings whose sender was killed behind {table} none counts", (client.returncode, away.stderr))
    else:
        same(batch, "merged.data", "when all rows have arrived, all count, though the sender never heard of it")
together = counting(lambda: pesa("store", "-q", "--to", behind, *files))
check(together == 1, f"{FILES} recordings are one insert a table", together)
same(batch, "merged.data", "sent again, they count once")

for server in servers:
    pesa("store", "--create", "--cluster", "fleet", "--to", f"clickhouse://127.0.0.1:{server.http}/poison")
bad = 23
with open("cut.data", "wb") as out, open(files[5], "rb") as whole:
    out.write(whole.read()[:50])
poisonous = subprocess.run([MAKE, "poison.data"], input=description(1).replace("board1", "poisonous"), capture_output=True, text=True)
Network.poison = b"poisonous"
stored = pesa("store", "--to", behind.replace("/batch", "/poison"), *files[:bad], "poison.data", "cut.data", "absent.data", *files[bad:])
Network.poison = None
lines = stored.stderr.decode().splitlines()
check(stored.returncode == 1 and len(lines) == 3 and all(sum(name in line for line in lines) == 1 for name in ("poison.data", "cut.data", "absent.data")),
      "one that the server refuses, one that is damaged and one that is not there are told", stored.stderr)
check(f"{FILES} of {FILES + 3} recordings".encode() in stored.stdout, "and how many are stored", stored.stdout)
same(batch.replace("/batch", "/poison"), "merged.data", "the others, which were sent with them, count once")

# ---- A disk that is full

os.mkdir("disk")
mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3M", "tmpfs", "disk"], capture_output=True, text=True)
if mounted.returncode:
    skip("a full disk", "tmpfs cannot be mounted: " + mounted.stderr)
else:
    try:
        small = clickhouse.start(work + "/small", 1, data=work + "/disk")[0]
        url = f"clickhouse://127.0.0.1:{small.http}/small"
        pesa("store", "--create", "--to", url)
        room = os.statvfs("disk")
        with open("disk/filling", "wb") as out:
            out.write(bytes(max(0, room.f_bavail * room.f_frsize - 40000)))
        stored = pesa("store", "-q", "--to", url, *files)
        check(stored.returncode == 1 and b"not stored" in stored.stderr, "on a full disk, what is not stored is told",
              stored.stderr[:500])
        os.unlink("disk/filling")
        subprocess.run(["mount", "-o", "remount,size=200M", "disk"], check=True)
        stored = pesa("store", "-q", "--to", url, *files)
        check(stored.returncode == 0, "with room again, all are stored", stored.stderr[:500])
        same(url, "merged.data", "and each counts once")
        small.kill()
    finally:
        time.sleep(0.2)
        subprocess.run(["umount", "-l", "disk"], check=False)
network.shutdown()
end()
