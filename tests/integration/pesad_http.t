#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A complete pesad: each sample arrives at a profile store exactly once, even if the sending worker is killed; it serves
profiles that the real pprof reads, and pesa top; and samples lost because of requests are counted."""
import atexit
import base64
import concurrent.futures
import glob
import http.client
import http.server
import io
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

from pprof_profile import Profile, pprof
from profile_store import form
from tap import BUILD, PESA, check, end, plain_environment, skip

PESAD = os.path.join(BUILD, "bin/pesad")
TIMEOUT = 40  # seconds that anything may take on a busy machine
work = tempfile.TemporaryDirectory()
environment = plain_environment(work.name)
# The leak checker traces its process, which the daemon does not permit itself.
environment["ASAN_OPTIONS"] = environment.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
os.chdir(work.name)
# As root it becomes another user, who writes here.
os.chmod(work.name, 0o755)
if not os.geteuid():
    os.chown(work.name, 65534, 65534)
received = []
down = threading.Event()


class Store(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        refuses = down.is_set()  # once: it may change meanwhile
        if not refuses:
            query = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(self.path).query))
            received.append((query, form(self.headers, body).get("profile", body)))
        self.send_response(503 if refuses else 200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *words):
        pass


store = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Store)
store.daemon_threads = True
threading.Thread(target=store.serve_forever, args=(0.05,), daemon=True).start()
with socket.create_server(("127.0.0.1", 0)) as listener:
    port = listener.getsockname()[1]


def wait_for(holds):
    until = time.monotonic() + TIMEOUT
    while not holds() and time.monotonic() < until:
        time.sleep(0.05)
    return holds()


def said():
    with open("log", encoding="utf-8", errors="replace") as file:
        return file.read()


def start(interval="1s", **push):
    with open("pesad.conf", "w", encoding="ascii") as out:
        out.write(f"[daemon]\nuser = nobody\n[collect]\nevent = cpu-clock\nfrequency = 200\n[store]\ndirectory = {work.name}/store\ninterval = {interval}\n"
                  f"[push]\nurl = http://127.0.0.1:{store.server_address[1]}\nspool = {work.name}/spool\nretry-least = 100ms\n"
                  "retry-most = 500ms\n" + "".join(f"{name} = {value}\n" for name, value in push.items())
                  + f"[http]\nlisten = 127.0.0.1:{port}\nopen = yes\nconnections = 512\nsocket = {work.name}/socket\n")
    with open("log", "wb") as log:
        process = subprocess.Popen([PESAD, "-c", "pesad.conf"], stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                                   env=environment)
    # Whatever becomes of this test.
    atexit.register(process.kill)
    return process


def get(path):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def metric(name):
    return int(re.search(rf"^{re.escape(name)} (\d+)$", get("/metrics")[1].decode(), re.M)[1])


def answers():
    try:
        return get("/healthz")[0] == 200
    except OSError:
        return False


def process_named(name):
    for path in glob.glob("/proc/[0-9]*/status"):
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                text = file.read()
        except OSError:
            continue
        if re.match(rf"Name:\s+{name}\n", text) and re.search(rf"^PPid:\s+{daemon.pid}$", text, re.M):
            return int(path.split("/")[2])
    return 0


def files():
    return sorted(glob.glob("store/pesa-*.data"))


def begin_of(path):
    """The time in a file's name, in seconds."""
    return re.search(r"pesa-(\d{8}T\d{6})\.\d{3}Z", path)[1]


daemon = start()
if not wait_for(lambda: "samples cpu-clock" in said() or daemon.poll() is not None) or daemon.poll() is not None:
    end(f"no sampling by cpu-clock here: {said().strip()[:200]}")
busy = subprocess.Popen([sys.executable, "-c", "import time\nwhile True:\n sum(range(100000))\n time.sleep(0.01)"])
atexit.register(busy.kill)
# A program that counts in code made at run time; somebody has put a link in the place of its map.
COUNTS = {"x86_64": "b900004000ffc975fcc3", "aarch64": "0008a05200040071e1ffff54c0035fd6",
          "riscv64": "37054000" "1305f5ff" "e31e05fe" "67800000"}
loop = subprocess.Popen([sys.executable, "-c", "import ctypes, mmap, time\n"
                         "code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)\n"
                         f"code.write(bytes.fromhex('{COUNTS[os.uname().machine]}'))\n"
                         "count = ctypes.CFUNCTYPE(None)(ctypes.addressof(ctypes.c_char.from_buffer(code)))\n"
                         "while True:\n count()\n time.sleep(0.01)\n"])
atexit.register(loop.kill)
in_its_place = f"/tmp/perf-{loop.pid}.map"
os.symlink("/etc/passwd", in_its_place)
atexit.register(lambda: os.path.lexists(in_its_place) and os.unlink(in_its_place))

# ---- Sent

wait_for(lambda: len(received) >= 3)
check(len(received) >= 3, "intervals arrive at the store", said())
query, body = received[-1]
profile = Profile(io.BytesIO(body))
check("format" not in query and query["name"] == "pesad" and 1 <= int(query["until"]) - int(query["from"]) < 60,
      "with their name and times", query)
check(profile.samples and any(str(busy.pid) in sample["labels"].get("pid", []) for sample in profile.samples),
      "as profiles of what ran", [sample["labels"] for sample in profile.samples[:5]])
check(wait_for(lambda: metric('pesad_maps_refused_total{process="push"}') > 0), "a map that is a link is refused and counted, for the store",
      get("/metrics")[1].decode())

down.set()
wait_for(lambda: metric("pesad_push_failures_total") >= 2 and metric("pesad_spool_files") >= 2)
check(metric("pesad_spool_files") >= 2, "while the store is down they wait", get("/metrics")[1].decode())
before = process_named("pesad-push")
os.kill(before, signal.SIGKILL)
wait_for(lambda: process_named("pesad-push") not in (0, before))
check(process_named("pesad-push") not in (0, before), "the worker that sends was killed and started again", said())
down.clear()
count = len(received)
wait_for(lambda: len(received) >= count + 4 and metric("pesad_spool_files") <= 1)
check(metric('pesad_worker_restarts_total{process="push"}') == 1 and len(received) >= count + 4, "and sends what waited", said())

# ---- Asked for

status, body = get("/debug/pprof/profile?seconds=2")
check(status == 200, "a profile of two seconds", body[:200])
asked = Profile(io.BytesIO(body))
check(asked.samples and any(str(busy.pid) in sample["labels"].get("pid", []) for sample in asked.samples),
      "has what ran", [sample["labels"] for sample in asked.samples[:5]])
with open("asked.pb.gz", "wb") as out:
    out.write(body)
program, why = pprof()
if program:
    shown = subprocess.run([program, "-top", "-nodecount=5", "asked.pb.gz"], capture_output=True, text=True, timeout=TIMEOUT)
    check(shown.returncode == 0 and "flat%" in shown.stdout, "the real pprof reads it", shown.stdout + shown.stderr)
else:
    skip("the real pprof", why)
shown = subprocess.run([PESA, "top", "-S", "socket", "-d", "1", "--once", "--view", "processes", "--rows", "0"],
                       capture_output=True, text=True, timeout=TIMEOUT, env=environment)
check(shown.returncode == 0 and re.search(rf"% +\S+ +{busy.pid} +", shown.stdout), "pesa top shows what runs",
      shown.stdout + shown.stderr)


def client(_):
    try:
        return get("/metrics")[0]
    except OSError as error:
        return str(error)


with concurrent.futures.ThreadPoolExecutor(100) as pool:
    statuses = list(pool.map(client, range(200)))
check(statuses == [200] * 200, "100 clients at once are answered", {status: statuses.count(status) for status in statuses})

# On a busy machine two seconds may pass without a sample of that program.
asked_again = wait_for(lambda: metric('pesad_maps_refused_total{process="http"}') > 0 or not get("/debug/pprof/profile?seconds=2"))
check(asked_again, "a map that is a link is refused and counted, for who asks", get("/metrics")[1].decode())
os.unlink(in_its_place)
loop.kill()
loop.wait()

# ---- The end

busy.kill()
busy.wait()


def times_sent():
    return sorted(time.strftime("%Y%m%dT%H%M%S", time.gmtime(int(query["from"]))) for query, _ in list(received))


def missing():
    """Intervals that are older than one that was sent, and were neither sent nor reported as lost: the oldest come last after a
    worker's restart."""
    sent = times_sent()
    gone = [seconds for seconds in map(begin_of, files()) if seconds < sent[-1] and seconds not in sent]
    return gone[len(re.findall(r"is not sent: the worker that converted it ended", said())):]


wait_for(lambda: not missing())
left = missing()
daemon.terminate()
status = daemon.wait(TIMEOUT)
sums = re.search(r"ends: (\d+) samples taken, (\d+) written in (\d+) files, (\d+) filtered, (\d+) lost", said())
taken, written, _, filtered, lost = (int(value) for value in sums.groups()) if sums else (-1, 0, 0, 0, 0)
check(status == 0 and taken == written + filtered + lost, "it ends, and every sample is written or counted as lost", said())
sent = times_sent()
kept = [begin_of(path) for path in files()]
check(not left, "every interval of the store was sent, or reported as lost", f"missing {left}\nsent {sent}\nkept {kept}\n{said()}")
check(len(sent) <= len(kept) and all(sent.count(one) <= kept.count(one) for one in sent), "and none twice", f"{sent}\n{kept}")

# ---- Without symbols

received.clear()
# What waits there has symbols; a worker that was killed may still be on its way out.
wait_for(lambda: shutil.rmtree("spool", ignore_errors=True) or not os.path.exists("spool"))
# A worker that ended while it converted, and one profile that waits for a store that is down.
os.mkdir("spool", 0o700)
with open("spool/.progress", "w", encoding="ascii") as out:
    out.write(f"taken\n{os.path.basename(files()[-1])}\n")
with open(f"spool/{1:020}-{time.time_ns():020}-00000000-0000-4000-8000-000000000000.pprof.gz", "wb") as out:
    out.write(b"waits")
if not os.geteuid():
    for path in ("spool", *glob.glob("spool/*"), "spool/.progress"):
        os.chown(path, 65534, 65534)
down.set()
daemon = start(symbols="no", kind="parca", tenant="team")
wait_for(lambda: answers() and metric("pesad_push_failures_total") >= 1)
check(metric('pesad_push_lost_total{cause="failed"}') == 1 and f"{os.path.basename(files()[-1])} is not sent" in said(),
      "an interval whose conversion ended is told and counted, also beside failed attempts", said())
down.clear()
wait_for(lambda: len(received) >= 2 and daemon.poll() is None)
document = json.loads(received[1][1]) if received[1:] else {}
check(document.get("tenant") == "team", "Parca: the tenant", said())
plain = Profile(io.BytesIO(base64.b64decode(document["series"][0]["samples"][0]["rawProfile"]))) if document else None
check(plain and plain.samples and all(function["name"].startswith("[") for function in plain.functions.values()),
      "without symbols there are addresses, and no function", plain and [one["name"] for one in plain.functions.values()][:10])
check(plain and any(mapping["build_id"] for mapping in plain.mappings.values()), "and build ids", plain and plain.mappings)
daemon.terminate()
daemon.wait(TIMEOUT)

# ---- Without an end of the interval

before = files()
daemon = start(interval="1h")
wait_for(answers)
busy = subprocess.Popen([sys.executable, "-c", "while True:\n sum(range(100000))"])
atexit.register(busy.kill)
status, body = get("/debug/pprof/profile?seconds=1")
profile = Profile(io.BytesIO(body)) if status == 200 else None
check(profile and any(str(busy.pid) in sample["labels"].get("pid", []) for sample in profile.samples),
      "a profile of an interval that goes on has what ran", body[:200] if status != 200 else "")
serial, handed_out, wrong = 0, 0, []
for turn in range(3):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT)
    connection.request("GET", f"/debug/pesa/interval?after={serial}&seconds=1")
    answer = connection.getresponse()
    with open("piece.data", "wb") as out:
        out.write(answer.read())
    connection.close()
    serial = int(answer.headers["X-Pesa-Serial"])
    report = subprocess.run([PESA, "report", "--json", "-i", "piece.data"], capture_output=True, text=True, timeout=TIMEOUT)
    samples = json.loads(report.stdout)["samples"] if report.returncode == 0 else report.stderr
    handed_out += int(answer.headers["X-Pesa-Samples"])
    if answer.status != 200 or samples != int(answer.headers["X-Pesa-Samples"]):
        wrong.append((answer.status, samples, dict(answer.headers)))
check(not wrong and handed_out, "what was sampled between two requests is a file, complete by itself", wrong)
check(files() == before, "and no request ends an interval of the store", f"{before}\n{files()}")
busy.kill()
busy.wait()
daemon.terminate()
daemon.wait(TIMEOUT)
sums = re.search(r"ends: (\d+) samples taken, (\d+) written in (\d+) files", said())
check(sums and sums[3] == "1" and int(sums[2]) >= handed_out, "the interval's file has them all", said())
os.chdir("/")
end()
