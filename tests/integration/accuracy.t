#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The sampled profile of real programs is as close to the golden profile as ideal random sampling would be.

For each program the error of the sampled profile (1/2 * sum over instruction and bucket of |share measured -
share golden|) is averaged over a few seeds and compared with the floor: the expected error of the same number of cycles
chosen ideally at random.  The two must agree within 10 %: a larger error is a bias of sampler, record, walk or
stacks; a smaller one means that the golden profile leaks into the sampled one.
"""
import json
import os
import re
import subprocess
import tempfile

from tap import TOP, BUILD, PESA, QEMU, check, end

PROGRAMS = os.path.join(BUILD, "programs")
SEEDS = int(os.environ.get("PESA_ACCURACY_SEEDS", "2"))
TOLERANCE = 0.10


LUA = """
local words, state = {}, 1
for i = 1, 20000 do
    state = (state * 1103515245 + 12345) % 2147483648
    local key = "k" .. state % 997
    words[key] = (words[key] or 0) + #key * 1.5
end
local keys = {}
for key in pairs(words) do keys[#keys + 1] = key end
table.sort(keys)
print(#keys, words[keys[1]])
"""

SQL = """
CREATE TABLE part(id INTEGER PRIMARY KEY, name TEXT, weight REAL);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 4000)
INSERT INTO part SELECT i, 'part' || (i * 7919 % 4001), i * 0.37 FROM n;
CREATE INDEX by_name ON part(name);
SELECT count(*), sum(weight) FROM part WHERE name LIKE 'part1%';
SELECT a.name, count(*) FROM part a JOIN part b ON b.name = 'part' || (a.id % 50) GROUP BY a.name ORDER BY 2 DESC LIMIT 3;
"""


def run(command, **more):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)


with tempfile.TemporaryDirectory() as folder:
    text = os.path.join(folder, "text")
    with open(text, "wb") as out:
        for name in ("Documentation", "decoder", "tools", "include/pesa"):
            for entry in sorted(os.listdir(os.path.join(TOP, name))):
                path = os.path.join(TOP, name, entry)
                if os.path.isfile(path):
                    with open(path, "rb") as source:
                        out.write(source.read())
        out.truncate(180000)
    script = os.path.join(folder, "script.lua")
    with open(script, "w", encoding="utf-8") as out:
        out.write(LUA)
    programs = [
        ("bzip2", ["bzip2", "-kc", text], None),
        ("zstd", ["zstd", "-q", "-5", "-c", text], None),
        ("lua", ["lua", script], None),
        ("sqlite3", ["sqlite3"], SQL.encode()),
    ]
    print(f"# {'program':<10}{'core':<12}{'samples':>9}{'error':>9}{'floor':>9}{'ratio':>8}")
    for core in ("ooo-4", "inorder-2"):
        for name, command, text_in in programs if core == "ooo-4" else programs[:1]:
            command = [os.path.join(PROGRAMS, command[0])] + command[1:]
            plain = run([QEMU] + ([] if os.uname().machine == "riscv64" else
                                             ["-L", "/usr/riscv64-linux-gnu"]) + command, input=text_in)
            errors, floors, problem = [], [], ""
            for seed in range(1, SEEDS + 1):
                data, golden = os.path.join(folder, "perf.data"), os.path.join(folder, "golden.data")
                recorded = run([PESA, "record", "--core", core, "-c", "4000", "--seed", str(seed), "-o", data,
                                "--golden", golden, "--"] + command, input=text_in)
                if recorded.returncode or recorded.stdout != plain.stdout:
                    problem = f"record: status {recorded.returncode}, output as without pesa: " \
                              f"{recorded.stdout == plain.stdout}\n{recorded.stderr.decode()}"
                    break
                result = run([PESA, "error", "--golden", golden, "-i", data, "--json"])
                if result.returncode:
                    problem = result.stderr.decode()
                    break
                values = json.loads(result.stdout)
                errors.append(values["error"])
                floors.append(values["floor"])
            if problem:
                check(False, f"{name} on {core} is recorded and compared", problem)
                continue
            error, floor = sum(errors) / len(errors), sum(floors) / len(floors)
            print(f"# {name:<10}{core:<12}{values['samples']:>9}{error:>9.4f}{floor:>9.4f}{error / floor:>8.3f}")
            check(abs(error / floor - 1) <= TOLERANCE,
                  f"the error of {name} on {core} is within {TOLERANCE:.0%} of ideal random sampling's",
                  f"error {error:.4f} over seeds {errors}, floor {floor:.4f}")
    # A small form of the table of `make accuracy`: one program, one core, every sampler.
    table, figures = os.path.join(folder, "accuracy.md"), os.path.join(folder, "accuracy.json")
    made = run([os.path.join(TOP, "tests/accuracy/accuracy.py"), "--samples", "8000", "--programs", "bzip2",
                "--cores", "ooo-4", "-o", table, "--json", figures], env=dict(os.environ, O=BUILD, PESA=PESA))
    check(made.returncode == 0, "the table of accuracy is made", made.stderr.decode())
    if not made.returncode:
        with open(table, encoding="utf-8") as file:
            text = file.read()
        with open(figures, encoding="utf-8") as file:
            samplers = json.load(file)[0]["samplers"]
        error = {name: one["instruction"]["error"] for name, one in samplers.items()}
        check(text.count("| bzip2 |") == 5 and "| shpms |" in text and all(7900 < one["samples"] < 9700
                                                                          for one in samplers.values()),
              "it has the program's rows, as many samples as wanted", text)
        check(max(map(len, text.splitlines())) <= 100, "no line of it is wider than 100 columns", text)
        check("## Top-down: sampled against counted" in text and re.search(r"both: (9|10) of 10|both: 8 of 10", text),
              "it has the top-down shares, sampled and counted", text)
        check(samplers["shpms"]["error"] < 1.1 * samplers["shpms"]["floor"]
              and error["shpms"] < 0.8 * error["next-commit"] < 0.8 * error["dispatch"],
              "shpms is at its floor, next-commit worse, dispatch worst", error)
    # Timed branches: their section, for one program and core.
    made = run([os.path.join(TOP, "tests/accuracy/accuracy.py"), "--timed", "--samples", "8000", "--programs", "bzip2", "--cores", "ooo-4"],
               env=dict(os.environ, O=BUILD, PESA=PESA))
    row = re.search(r"^\| bzip2 \| \d+ \| \d+ \| " + r" \| ".join([r"([\d.]+)"] * 6) + r" \|$", made.stdout.decode(), re.M)
    check(made.returncode == 0 and row, "the section of timed branches is made", made.stdout.decode() + made.stderr.decode())
    if row:
        instruction, block = [float(value) for value in row.groups()[:3]], [float(value) for value in row.groups()[3:]]
        check(instruction[2] < 0.9 * instruction[1] and block[2] < 0.6 * block[1],
              "timed branches are nearer to the exact profile than interrupts that skid, by instruction and more so by block", row[0])
end()
