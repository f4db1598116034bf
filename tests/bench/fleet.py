#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""pesa store and reports of a database, measured on two ClickHouse servers of this machine (loopback only).

  fleet.py [--samples N] [--hosts N] [--days N] [--distinct N] [--file-samples N] [--files N] [--clients N]

Synthetic rows are made by the servers themselves: a recording for each host and ten minutes, a hundredth as many rows as
samples, drawn from a pool of distinct records.  The insert rate and the size of perf.data are measured on recordings of the
virtual core.  What is printed is a table for Documentation/fleet.md.
"""
import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))
import clickhouse  # noqa: E402
from sorting_program import sorting_program  # noqa: E402
from tap import BUILD, PESA, GUEST_CC, QEMU  # noqa: E402

SHARE = 100  # samples a row
ROWS = 1000  # rows a recording
PERIOD = 1000000  # cycles a sample
BINARIES = 50
PROGRAM = sorting_program(3000, 60)


def pesa(*words):
    done = subprocess.run([PESA, *words], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"pesa {' '.join(words)}: {done.stderr}")
    return done.stdout


def timed(function, *arguments, runs=3):
    """The least of several times, s, and the last result."""
    least = None
    for _ in range(runs):
        begin = time.monotonic()
        result = function(*arguments)
        least = min(least or 1e9, time.monotonic() - begin)
    return least, result


def fill(servers, database, samples, hosts, distinct, days, start):
    """Rows of so many samples, drawn from a pool of distinct records, spread over hosts and days."""
    recordings = samples // (SHARE * ROWS)
    step = max(1, days * 86400 // max(1, recordings // hosts))
    first = servers[0]
    first.ask(f"INSERT INTO {database}.binaries_all SELECT cityHash64(number), 0, lower(hex(cityHash64(number, 1))), "
              f"concat('/usr/lib/service/library', toString(number), '.so'), 0 FROM numbers({BINARIES})")
    first.ask(f"INSERT INTO {database}.events_all SELECT 7, 'pesa/cycles/', 64, 0, {PERIOD}, 0, 3")
    host = f"concat('host', toString(r % {hosts}))"
    moment = f"toDateTime({start} + intDiv(r, {hosts}) * {step})"
    pool = f"toUInt64({distinct} * pow(intHash64(number + 77) / 18446744073709551616., 3))"
    columns = ("attempt, service, time, host, core, event, kind, xlen, flags, details, state, causes, pc_binary, pc, to1_binary, to1, "
               "to2_binary, to2, branches, chain, process, thread, samples, periods, squares, lost")
    details = "toUInt64(bitOr(bitShiftLeft(toUInt64(k % 3 + 1), 4), bitShiftLeft(intHash64(k) % 32, 22)))"
    part = 2000  # recordings an insert
    for begin in range(0, recordings, part):
        count = min(part, recordings - begin)
        for server in servers:  # each makes the rows of its own binaries
            index = servers.index(server)
            server.ask(
                f"INSERT INTO {database}.samples ({columns}) SELECT intHash64(r) + 1, 'web', {moment}, {host}, 1, 7, 129, 64, 2, "
                f"{details}, toUInt8(k % 3 + 1), toUInt16(intHash64(k) % 32), pc_binary, (intHash64(k) % 2000000) * 2, "
                "0, 0, 0, 0, 0, 0, 'server', concat('worker', toString(k % 8)), n, n * 1000000, n * 1e12, 0 FROM ("
                f"SELECT intDiv(number, {ROWS}) AS r, {pool} AS k, cityHash64(intHash64(k) % {BINARIES}) AS pc_binary, "
                f"1 + intHash64(number + 5) % {2 * SHARE - 1} AS n FROM numbers({begin * ROWS}, {count * ROWS})) "
                f"WHERE pc_binary % {len(servers)} = {index}")
    first.ask(f"INSERT INTO {database}.recordings_all (attempt, service, digest, begin, end, host, core, arch, cpu, cpu_id, capabilities, "
              f"cmdline, samples, lost, left_out, damaged_records, damaged_bytes) SELECT intHash64(number) + 1, 'web', "
              f"hex(cityHash64(number)), {moment.replace('r,', 'number,')}, {moment.replace('r,', 'number,')} + {step}, "
              f"{host.replace('r %', 'number %')}, 1, 'riscv64', 'core', '', 'xlen=64', 'pesad', {SHARE * ROWS}, 0, 0, 0, 0 "
              f"FROM numbers({recordings})")
    return recordings


def settle(servers, database):
    """Wait until the servers have merged what was inserted into few parts, as they do by and by."""
    for server in servers:
        server.ask(f"OPTIMIZE TABLE {database}.records")
        for table in ("samples", "recordings"):
            for partition in server.ask("SELECT DISTINCT partition FROM system.parts WHERE active AND database = "
                                        f"'{database}' AND table = '{table}'").split():
                server.ask(f"OPTIMIZE TABLE {database}.{table} PARTITION {partition}")


def held(servers, database):
    rows = bytes_held = 0
    for server in servers:
        answer = server.ask("SELECT sum(rows * (table = 'samples')), sum(bytes_on_disk) FROM system.parts WHERE active "
                            f"AND database = '{database}'").split()
        rows += int(answer[0])
        bytes_held += int(answer[1])
    return rows, bytes_held


def synthetic(servers, name, samples, hosts, distinct, days):
    port = servers[0].http
    for server in servers:
        pesa("store", "--create", "--cluster", "fleet", "--to", f"clickhouse://127.0.0.1:{server.http}/{name}")
    fill(servers, name, samples, hosts, distinct, days, 1700000000)
    time.sleep(2)
    settle(servers, name)
    rows, bytes_held = held(servers, name)
    counted = int(servers[0].ask(f"SELECT sum(samples) FROM {name}.samples_all"))
    url = f"clickhouse://127.0.0.1:{port}/{name}?service=web"
    begin = time.monotonic()
    out = json.loads(pesa("report", "--json", "-i", url))
    cold = time.monotonic() - begin
    warm, out = timed(lambda: json.loads(pesa("report", "--json", "-i", url)))
    if out["samples"] != counted:
        sys.exit(f"the report has {out['samples']} samples, the database {counted}")
    servers[0].ask(f"INSERT INTO {name}.functions_all SELECT DISTINCT pc_binary, pc, concat('function', toString(intDiv(pc, 400))), "
                   f"intDiv(pc, 400) * 400, 400 FROM {name}.records_all")
    by_day, _ = timed(servers[0].ask, f"""
        SELECT day, name, sum(cycles) AS all_cycles
        FROM (SELECT toDate(time) AS day, pc_binary AS binary, pc, sum(periods) AS cycles FROM {name}.samples_all
              WHERE service = 'web' AND attempt GLOBAL IN (SELECT min(attempt) FROM {name}.recordings_all GROUP BY service, digest)
              GROUP BY day, binary, pc) AS sums
        GLOBAL ANY LEFT JOIN (SELECT binary, pc, any(name) AS name FROM {name}.functions_all GROUP BY binary, pc) AS names USING binary, pc
        GROUP BY day, name ORDER BY all_cycles DESC LIMIT 100""")
    print(f"| {counted:.3g} | {hosts} | {days} | {distinct} | {rows:.3g} | {bytes_held / rows:.1f} | {bytes_held / counted:.3f} | "
          f"{cold:.2f} | {warm:.2f} | {by_day:.2f} |", flush=True)
    for server in servers:
        server.ask(f"DROP DATABASE {name}")


def store(urls, paths):
    """Store recordings, by as many clients at once as there are URLs; the time, and what each says."""
    begin = time.monotonic()
    clients = [subprocess.Popen([PESA, "store", "--json", "--to", url, *paths[i::len(urls)]], stdout=subprocess.PIPE, text=True)
               for i, url in enumerate(urls)]
    summaries = [json.loads(client.communicate()[0]) for client in clients]
    taken = time.monotonic() - begin
    if any(client.returncode for client in clients):
        sys.exit("a client could not store all")
    return taken, {name: sum(each[name] for each in summaries) for name in ("samples", "rows", "bytes_sent")}


def files(servers, work, wanted, count, most_clients):
    """Recordings of the virtual core, stored; and the same as perf.data."""
    with open(f"{work}/program.c", "w", encoding="utf-8") as file:
        file.write(PROGRAM)
    subprocess.run([GUEST_CC, "-O2", "-static", "-o", f"{work}/program", f"{work}/program.c"], check=True)
    pesa("record", "-q", "-c", "257", "-o", f"{work}/once.data", "--", f"{work}/program", "1")
    repeat = os.path.join(BUILD, "tests/tools/repeat_recording")
    subprocess.run([repeat, f"{work}/once.data", f"{work}/long.data", str(wanted)], check=True)
    size = os.path.getsize(f"{work}/long.data")
    paths = [f"{work}/{i}.data" for i in range(count)]
    for i, path in enumerate(paths):
        shutil.copy(f"{work}/long.data", path)
        with open(path, "ab") as file:
            file.write(bytes(8 * (i + 1)))  # another digest
    for clients in (n for n in (1, 2, 4, 8, 16) if n <= most_clients):
        for server in servers:
            pesa("store", "--create", "--cluster", "fleet", "--to", f"clickhouse://127.0.0.1:{server.http}/files{clients}")
        taken, sums = store([f"clickhouse://127.0.0.1:{servers[i % len(servers)].http}/files{clients}" for i in range(clients)], paths)
        print(f"pesa store, {count} files, {clients} at once: {sums['samples']} samples, {sums['rows']} rows, {taken:.2f} s, "
              f"{sums['samples'] / taken / 1e6:.2f} million samples/s, {sums['bytes_sent'] / sums['samples']:.3f} bytes a sample sent", flush=True)
    for path in paths:
        os.unlink(path)
    samples = sums["samples"] // count
    ours, _ = timed(lambda: pesa("report", "--json", "-i", f"{work}/long.data"), runs=2)
    print(f"perf.data of {samples} samples: {size / samples:.2f} bytes a sample, pesa report {ours:.2f} s")
    perf = shutil.which("perf")
    if perf:
        theirs, _ = timed(lambda: subprocess.run([perf, "report", "-i", f"{work}/long.data", "--stdio"], capture_output=True,
                                                 stdin=subprocess.DEVNULL, check=True), runs=1)
        print(f"perf report of that file: {theirs:.2f} s, {theirs / samples * 1e9:.0f} s for 10^9 samples at that rate")


def one_by_one(servers, work, seconds):
    """How many recordings a second come in from four clients that send one at a time, as pesad does."""
    for server in servers:
        pesa("store", "--create", "--cluster", "fleet", "--to", f"clickhouse://127.0.0.1:{server.http}/rate")
    with open(f"{work}/once.data", "rb") as file:
        recording = file.read()
    until = time.monotonic() + seconds
    sent = [0] * 4

    def client(number):
        path = f"{work}/client{number}.data"
        while time.monotonic() < until:
            with open(path, "wb") as file:
                file.write(recording + bytes(8 * (4 * sent[number] + number + 1)))  # another digest
            pesa("store", "-q", "--to", f"clickhouse://127.0.0.1:{servers[number % len(servers)].http}/rate", path)
            sent[number] += 1

    threads = [threading.Thread(target=client, args=(i,)) for i in range(len(sent))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    there, rows = (int(servers[0].ask(f"SELECT {what}")) for what in ("uniqExact(digest) FROM rate.recordings_all",
                                                                      "count() FROM rate.samples_all"))
    parts = max(int(server.ask("SELECT max(parts) FROM (SELECT count() AS parts FROM system.parts WHERE active AND database = 'rate' "
                               "GROUP BY table)")) for server in servers)
    if there != sum(sent):
        sys.exit(f"{sum(sent)} recordings were sent, {there} are there")
    print(f"one by one: {there} recordings of {rows // there} rows in {seconds} s, {there / seconds:.1f} a second; "
          f"at most {parts} parts a table", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=float, default=1e9, help="of the synthetic database; 0: none")
    parser.add_argument("--hosts", type=int, default=2000)
    parser.add_argument("--days", type=int, default=1)
    parser.add_argument("--distinct", type=int, default=20000)
    parser.add_argument("--file-samples", type=float, default=1e6)
    parser.add_argument("--files", type=int, default=8, help="recordings that are stored")
    parser.add_argument("--clients", type=int, default=1, help="store them by 1, 2, 4 ... clients at once, up to so many")
    parser.add_argument("--one-by-one", type=int, metavar="SECONDS", help="send recordings one by one, as pesad does, for so long")
    parser.add_argument("--growth", action="store_true", help="also with other numbers of hosts, days, distinct records")
    wanted = parser.parse_args()
    if not clickhouse.PROGRAM or not QEMU:
        sys.exit("fleet.py: needs the packages clickhouse-server and qemu-user: tools/dependencies fleet")
    work = tempfile.mkdtemp(prefix="pesa-bench-fleet-")
    servers = clickhouse.start(work, 2)
    try:
        files(servers, work, int(wanted.file_samples), wanted.files, wanted.clients)
        if wanted.one_by_one:
            one_by_one(servers, work, wanted.one_by_one)
        if not wanted.samples:
            return
        print("\n| samples | hosts | days | distinct records | rows | bytes a row | bytes a sample | first report, s | next, s | functions by day, s |")
        print("| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |", flush=True)
        samples = int(wanted.samples)
        synthetic(servers, "main", samples, wanted.hosts, wanted.distinct, wanted.days)
        if wanted.growth:
            for i, (some, hosts, days, distinct) in enumerate((
                    (samples // 10, wanted.hosts, wanted.days, wanted.distinct),
                    (samples, wanted.hosts // 10, wanted.days, wanted.distinct),
                    (samples, wanted.hosts, 30 * wanted.days, wanted.distinct),
                    (samples, wanted.hosts, wanted.days, 10 * wanted.distinct))):
                synthetic(servers, f"growth{i}", some, hosts, distinct, days)
    finally:
        for server in servers:
            server.kill()
        shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    main()
