#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A database read where the programs are not: symbols and code come by build id from a debuginfod server."""
import http.server
import os
import shutil
import subprocess
import tempfile
import threading

import clickhouse
from same_numbers import differences, in_order, numbers
from tap import PESA, GUEST_CC, QEMU, check, command, end, needs, plain_environment, run, skip_all

if not clickhouse.PROGRAM:
    skip_all(needs(clickhouse.PACKAGE))
if not QEMU:
    skip_all(needs("qemu-user"))
if "libdebuginfod.so.1" not in subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True).stdout:
    skip_all(needs("libdebuginfod1"))
work = tempfile.mkdtemp(prefix="pesa-fleet-debuginfod-")
os.chdir(work)
plain = plain_environment(work)
plain["HOME"] = work
SOURCE = r"""
__attribute__((noinline)) static long spin(long count) { long sum = 0; while (count--) sum += count ^ sum << 3; return sum; }
int main(int count, char **words) { (void)words; return spin(200000L * count) == 1; }
"""
with open("program.c", "w", encoding="ascii") as file:
    file.write(SOURCE)
TOOL = GUEST_CC.removesuffix("gcc")
run(GUEST_CC, "-O1", "-g", "-static", "-Wl,--build-id", "-o", "program", "program.c")
run(TOOL + "objcopy", "--only-keep-debug", "program", "program.debug")
run(TOOL + "strip", "program")
build_id = run(TOOL + "readelf", "-n", "program").split("Build ID: ")[1].split()[0]
run(PESA, "record", "-q", "-c", "1000", "-o", "one.data", "--", "./program", env=plain)
database = clickhouse.start(work, 1)[0]
url = f"clickhouse://127.0.0.1:{database.http}/pesa"
for words in (("--create",), ("-q", "one.data")):
    run(PESA, "store", "--to", url, *words, env=plain)

files = {f"/buildid/{build_id}/executable": "elsewhere/program", f"/buildid/{build_id}/debuginfo": "elsewhere/program.debug"}
asked = []


class Debuginfod(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        asked.append(self.path)
        if self.path not in files:
            self.send_error(404)
            return
        with open(files[self.path], "rb") as served:
            body = served.read()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Debuginfod)
threading.Thread(target=server.serve_forever, daemon=True).start()
ask = {**plain, "DEBUGINFOD_URLS": f"http://127.0.0.1:{server.server_address[1]}"}


def shown(environment):
    """What a report and an annotated function say, as numbers."""
    return {"report": numbers(url, "report", "--sort", "dso,symbol,insn", env=environment),
            "annotate": numbers(url, "annotate", "spin", env=environment)}


os.mkdir("debug")
shutil.copy("program.debug", f"debug/{build_id}")
os.makedirs(f".debug/.build-id/{build_id[:2]}/{build_id[2:]}")  # perf's cache, for what is to be shown
shutil.copy("program", f".debug/.build-id/{build_id[:2]}/{build_id[2:]}/elf")
os.mkdir("elsewhere")
for name in ("program", "program.debug"):
    os.rename(name, f"elsewhere/{name}")
with_cache = numbers(url, "report", "--sort", "dso,symbol,insn", env=plain)
shutil.rmtree(".debug")
bare = shown(plain)
check(not asked and "failed" in bare["annotate"] and "spin" not in str(bare["report"]), "without the variable no server is asked, and nothing is known",
      str(bare)[:300])
fetched = shown({**ask, "DEBUGINFOD_CACHE_PATH": f"{work}/cache"})
check(set(files) <= set(asked), "with it, program and debug information are asked for", asked)
lines = command(PESA, "annotate", "-i", url, "spin", env={**ask, "DEBUGINFOD_CACHE_PATH": f"{work}/cache"}).stdout.decode()
check("failed" not in fetched["annotate"] and "slli" in lines and "while (count--)" in lines, "annotate shows the instructions of the program",
      lines[:1000])
cycles = {name: sum(row["cycles"] for row in fetched["report"]["functions"] if row["symbol"] == name) for name in ("spin", "main")}
check(cycles["spin"] > 100000, "and report names its functions", cycles)
parts = [in_order([(row["address"], row["cycles"]) for row in whole["instructions"]]) for whole in (with_cache, fetched["report"])]
check(len(parts[0]) > 20 and not list(differences(*parts)), "cycles are those that the program itself gives, found in perf's cache",
      "\n".join(differences(*parts)))
again = len(asked)
shown({**ask, "DEBUGINFOD_CACHE_PATH": f"{work}/cache"})
check(len(asked) == again, "what was fetched is not asked for again", asked[again:])

# A server that sends something else.
run(GUEST_CC, "-O2", "-static", "-Wl,--build-id", "-x", "c", "-o", "elsewhere/other", "-", input="int main(void) { return 3; }")
files[f"/buildid/{build_id}/executable"] = "elsewhere/other"
other = numbers(url, "report", "--sort", "dso,symbol,insn", env={**ask, "DEBUGINFOD_CACHE_PATH": f"{work}/other"})
check("failed" not in other and other["functions"][0]["symbol"] == bare["report"]["functions"][0]["symbol"],
      "a program of another build is not used", f"{other.get('functions')} {bare['report'].get('functions')}")
with open("elsewhere/other", "wb") as file:
    file.write(os.urandom(5000))
other = command(PESA, "report", "-i", url, env={**ask, "DEBUGINFOD_CACHE_PATH": f"{work}/third"})
check(other.returncode == 0, "nor are bytes that are no program", other.stderr)
server.shutdown()
end()
