#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""pesa store and a server: users, TLS, older tables, retention; the queries of the dashboard; tools/fleet-demo."""
import http.server
import json
import os
import re
import shutil
import ssl
import subprocess
import tempfile
import threading
import time

import clickhouse
from tap import BUILD, PESA, TOP, bail_out, check, command, end, needs, plain_environment, run, skip, skip_all

if not clickhouse.PROGRAM:
    skip_all(needs(clickhouse.PACKAGE))
MAKE = os.path.abspath(os.path.join(BUILD, "tests/tools/make_profile"))
work = tempfile.mkdtemp(prefix="pesa-fleet-server-")
os.chdir(work)
os.umask(0o077)
plain = plain_environment(work)


def pesa(*words):
    return command(PESA, *words, env=plain)


def shown(*words):
    return run(PESA, *words, env=plain)


def refused(why, what, *words):
    done = pesa(*words)
    check(done.returncode == 1 and why in done.stderr and done.stderr.count(b"\n") == 1 and not done.stdout, what, done.stderr)


def samples(url):
    return json.loads(shown("report", "--json", "-i", url))["samples"]


for i in range(4):
    text = (f"arch riscv64\nhost board{i % 2}\ncommand pesa record\nevent pesa/cycles/\nperiod 1000\nchains\n"
            f"comm 7 7 worker\nmap 7 0x{i + 1}0000 0x10000 0 /opt/program 0123456789abcdef0123456789abcdef01234567\n")
    for state in range(4):
        text += f"chain 0x{i + 1}0100 0x{i + 1}0200\nsample {10 + i} 7 7 0x{i + 1}0{state}00 {state} {int(state == 0)} 0 0 0 0 0 0 0\n"
    made = subprocess.run([MAKE, f"{i}.data"], input=text, capture_output=True, text=True)
    if made.returncode:
        bail_out(made.stderr)
files = [f"{i}.data" for i in range(4)]
TAKEN = sum(4 * (10 + i) for i in range(4))

# ---- Users, TLS

USERS = ("<writer><password>w-secret</password><networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota></writer>"
         "<reader><password>r-secret</password><networks><ip>127.0.0.1</ip></networks><profile>readonly</profile><quota>default</quota></reader>")
tls, config = shutil.which("openssl"), ""
https = clickhouse.free_ports(1)[0]
if tls:
    for words in (("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "key.pem", "-out", "cert.pem", "-days", "2", "-subj", "/CN=127.0.0.1",
                   "-addext", "subjectAltName=IP:127.0.0.1"),):
        subprocess.run([tls, *words], check=True, capture_output=True)
    config = (f"<https_port>{https}</https_port><openSSL><server><certificateFile>{work}/cert.pem</certificateFile>"
              f"<privateKeyFile>{work}/key.pem</privateKeyFile><verificationMode>none</verificationMode>"
              "<loadDefaultCAFile>false</loadDefaultCAFile></server></openSSL>")
server = clickhouse.start(work, 1, users=USERS, config=config)[0]
address = f"127.0.0.1:{server.http}"
for name, text in (("writer", "writer:w-secret\n"), ("reader", "reader:r-secret\n"), ("wrong", "writer:other\n"), ("open", "writer:w-secret\n")):
    with open(name, "w", encoding="ascii") as out:
        out.write(text)
os.chmod("open", 0o644)
plain_url, as_writer, as_reader = (f"clickhouse://{address}/pesa{rest}" for rest in ("", "?password-file=writer", "?password-file=reader"))
shown("store", "--create", "--to", as_writer)
shown("store", "-q", "--to", as_writer, *files)
check(samples(as_reader) == TAKEN, "a user that may only read reads")
refused(b"not stored", "and stores nothing", "store", "-q", "--to", as_reader, files[0])
refused(b"0600", "a file of a password that others can read is refused", "report", "-i", plain_url + "?password-file=open")
done = pesa("report", "-i", plain_url + "?password-file=wrong")
check(done.returncode == 1 and b"other" not in done.stderr, "a wrong password is refused, and not shown", done.stderr)
if not tls:
    skip("TLS", needs("openssl"))
else:
    secure = f"clickhouses://127.0.0.1:{https}/pesa?password-file=reader"
    check(samples(secure + "&ca=cert.pem") == TAKEN, "a server with TLS is read, if its authority is known")
    refused(b"127.0.0.1", "one whose authority is not known is refused", "report", "-i", secure)
    refused(b"127.0.0.1", "a server without TLS is refused where TLS is asked for", "report", "-i", f"clickhouses://{address}/pesa")

# ---- Older tables

for table in ("functions", "functions_all", "records_view", "records", "records_all", "cycle_stacks_view", "binary_stacks_view", "cycle_stacks", "binary_stacks", "cycle_stacks_all", "binary_stacks_all",
              "binaries_all", "chains_all", "events_all", "hosts_all", "recordings_all", "samples_all"):
    server.ask(f"DROP TABLE pesa.{table}")
server.ask("ALTER TABLE pesa.samples DROP COLUMN record")
server.ask("DROP TABLE pesa.pesa_schema")
server.ask("CREATE TABLE pesa.pesa_schema (version UInt32, cluster String, made DateTime) ENGINE = MergeTree() ORDER BY version")
server.ask("INSERT INTO pesa.pesa_schema SELECT 1, '', now()")
refused(b"version 1", "tables of an older version are refused, with the command that brings them up to date", "report", "-i", as_reader)
shown("store", "--create", "--to", as_writer)
check(samples(as_reader) == TAKEN, "tables that were brought up to date have what they had")
shown("store", "-q", "--to", as_writer, *files)  # a second attempt of each
check(samples(as_reader) == TAKEN, "and count twice for nothing that is stored again")
for table in ("cycle_stacks", "binary_stacks"):
    check(server.ask(f"SELECT sum(samples), uniqExact(attempt) FROM pesa.{table}") == f"{2 * TAKEN}\t{2 * len(files)}",
          f"{table} has what was there before and what came later")
server.ask("INSERT INTO pesa.pesa_schema SELECT 99, '', now()")
refused(b"newer pesa", "tables of a newer version are refused", "report", "-i", as_reader)
server.ask("DROP TABLE pesa.pesa_schema")
server.ask("CREATE TABLE pesa.pesa_schema (version UInt32, cluster String, made DateTime) ENGINE = MergeTree() ORDER BY version")
server.ask("INSERT INTO pesa.pesa_schema SELECT 4, '', now()")

# ---- The dashboard

with open(os.path.join(TOP, "tools/grafana/pesa-fleet.json"), encoding="utf-8") as file:
    dashboard = json.load(file)
now = int(time.time())


def expanded(sql):
    """A query with the macros and variables of Grafana's data source replaced."""
    since, until = f"toDateTime({now - 7200})", f"toDateTime({now + 60})"
    sql = re.sub(r"\$__timeFilter\((\w+)\)", rf"\1 >= {since} AND \1 <= {until}", sql)
    sql = re.sub(r"\$__timeInterval\((\w+)\)", r"toStartOfMinute(\1)", sql)
    for macro, value in (("$__fromTime", since), ("$__toTime", until), ("${database}", "pesa"), ("${service:singlequote}", "'default'")):
        sql = sql.replace(macro, value)
    return sql


answers = {}
for panel in dashboard["panels"]:
    sql = expanded(panel["targets"][0]["rawSql"])
    try:
        answers[panel["title"]] = [line.split("\t") for line in server.ask(sql).splitlines()]
    except OSError as error:
        answers[panel["title"]] = [[f"{error}: {sql}"]]
    check("$" not in sql and len(answers[panel["title"]]) >= 1 and "rror" not in answers[panel["title"]][0][0],
          f"panel {panel['title']}: its query answers", answers[panel["title"]][:3])
check({row[1] for row in answers["Cycles by state"]} == {"retiring", "stalled", "flushed", "drained"}, "states have their names")
for title, column in (("Cycles by state", 2), ("Cycles by service", 2), ("Hosts", 1), ("Binaries", 2), ("Places", 4), ("Functions", 2), ("Functions by day", 2), ("Call chains", 0)):
    check(sum(float(row[column]) for row in answers[title]) == 1000 * TAKEN, f"panel {title} has every cycle once", answers[title])

# ---- Retention

old = now - 40 * 86400
shown("store", "-q", "--service", "old", "--to", as_writer, files[0])
server.ask(f"INSERT INTO pesa.recordings (attempt, service, digest, begin, end) SELECT 5, 'ancient', 'd', toDateTime({old}), toDateTime({old})")
server.ask("INSERT INTO pesa.samples (attempt, service, time, pc_binary, samples, periods) SELECT 5, 'ancient', "
           f"toDateTime({old}), 1, 1, 1")
count = int(server.ask("SELECT count() FROM pesa.samples"))
check(shown("store", "--drop-before", "-30d", "--to", as_writer) == "1 days dropped\n", "days beyond the retention are dropped")
check([server.ask(f"SELECT count() FROM pesa.{table} WHERE service = 'ancient'") for table in ("samples", "recordings", "cycle_stacks")] ==
      ["0"] * 3 and int(server.ask("SELECT count() FROM pesa.samples")) == count - 1, "from all tables, and nothing else")
server.kill()

# ---- Servers that are none


class Garbage(http.server.BaseHTTPRequestHandler):
    status, body = 200, b""

    def do_POST(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(Garbage.status)
        self.send_header("Content-Length", str(len(Garbage.body)))
        self.send_header("Location", "http://127.0.0.1:1/")
        self.end_headers()
        self.wfile.write(Garbage.body)

    def log_message(self, *_):
        pass


other = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Garbage)
threading.Thread(target=other.serve_forever, daemon=True).start()
garbage = f"clickhouse://127.0.0.1:{other.server_address[1]}/pesa"
for Garbage.status, Garbage.body, why in ((200, b"<html>", b"is it a ClickHouse server"), (200, b"\x07" + os.urandom(3000), b"is it a ClickHouse server"),
                                          (200, b"", b"--create"), (302, b"", b"302"), (500, b"\x1b[31mCode: 1\x07\n\nsecond line\n", b"second line")):
    for words in (("report", "-i", garbage), ("store", "--to", garbage, files[0]), ("store", "--functions", "--to", garbage)):
        done = pesa(*words)
        check(done.returncode == 1 and why in done.stderr and done.stderr.count(b"\n") == 1 and b"\x1b" not in done.stderr and not done.stdout,
              f"{' '.join(words[:2])} of a server that answers {Garbage.status} {Garbage.body[:8]!a}: one line", done.stderr)
other.shutdown()
if tls:
    Garbage.status, Garbage.body = 200, b""
    asks = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Garbage)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain("cert.pem", "key.pem")
    context.load_verify_locations("cert.pem")
    context.verify_mode = ssl.CERT_REQUIRED
    asks.socket = context.wrap_socket(asks.socket, server_side=True)
    asks.handle_error = lambda *_: None
    threading.Thread(target=asks.serve_forever, daemon=True).start()
    secure = f"clickhouses://127.0.0.1:{asks.server_address[1]}/pesa?ca=cert.pem"
    refused(b"127.0.0.1", "a server that wants a certificate of the client refuses one without", "report", "-i", secure)
    refused(b"--create", "cert= and key= give it one", "report", "-i", secure + "&cert=cert.pem&key=key.pem")
    asks.shutdown()

# ---- The demo

demo = command(os.path.join(TOP, "tools/fleet-demo"), BUILD, env={**plain, "PATH": os.environ["PATH"]})
check(demo.returncode == 0 and demo.stdout.count(b"$ pesa ") >= 5 and b"10 recordings" in demo.stdout, "tools/fleet-demo shows what it says",
      demo.stdout.decode()[-3000:] + demo.stderr.decode())
end()
