# SPDX-License-Identifier: GPL-2.0-or-later
"""Ten programs of the distribution, each with an input to train on and another one to measure on.

Training inputs are generated (those of tests/accuracy/accuracy.py, but for lua's script, which sorts most of the time); the ones to
measure on are of another kind where there is one: sources of other packages, other pictures, sounds, scripts and queries.
"""
import array
import math
import os
import random
import subprocess
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, "tests/accuracy"))
from accuracy import program  # noqa: E402  pylint: disable=wrong-import-position

# Scale of the training inputs: some 60 million cycles on ooo-4.
PROGRAMS = {"bzip2": 0.55, "zstd": 0.8, "xz": 0.7, "lua": None, "sqlite3": 0.8, "cwebp": 0.7, "flac": 0.5, "nasm": 0.5, "tcc": 0.6, "sort": 0.6}

TRAINING_LUA = """
local function permutations(list, n, visit)
    if n == 0 then visit(list) return end
    for i = 1, n do
        list[i], list[n] = list[n], list[i]
        permutations(list, n - 1, visit)
        list[i], list[n] = list[n], list[i]
    end
end
local sum = 0
permutations({1, 2, 3, 4, 5, 6, 7}, 7, function(list) sum = sum + list[1] * list[2] - list[7] end)
print(sum)
local Queue = {}
Queue.__index = Queue
function Queue.new() return setmetatable({first = 1, last = 0, items = {}}, Queue) end
function Queue:push(item)
    self.last = self.last + 1
    self.items[self.last] = item
end
function Queue:pop()
    local item = self.items[self.first]
    self.items[self.first] = nil
    self.first = self.first + 1
    return item
end
local queue, lengths = Queue.new(), {}
for i = 1, 12000 do queue:push(string.format("item-%03d,%s", i * 7919 % 997, i % 3 == 0 and "third" or "other")) end
for _ = 1, 12000 do
    local number, kind = queue:pop():match("item%-(%d+),(%a+)")
    lengths[kind] = (lengths[kind] or 0) + tonumber(number)
end
print(lengths.third, lengths.other, #(("abc "):rep(2000):gsub("b", "xyz"):upper()))
local primes = {}
for i = 2, 20000 do
    local prime = true
    for _, p in ipairs(primes) do
        if p * p > i then break end
        if i % p == 0 then prime = false break end
    end
    if prime then primes[#primes + 1] = i end
end
table.sort(primes, function(a, b) return a % 100 < b % 100 end)
print(#primes, primes[1])
local function ackermann(m, n)
    if m == 0 then return n + 1 end
    return n == 0 and ackermann(m - 1, 1) or ackermann(m - 1, ackermann(m, n - 1))
end
print(ackermann(2, 60))
"""

LUA = """
local function queens(n, row, columns, up, down)
    if row > n then return 1 end
    local found = 0
    for i = 1, n do
        if not columns[i] and not up[row + i] and not down[row - i] then
            columns[i], up[row + i], down[row - i] = true, true, true
            found = found + queens(n, row + 1, columns, up, down)
            columns[i], up[row + i], down[row - i] = nil, nil, nil
        end
    end
    return found
end
print(queens(6, 1, {}, {}, {}))
local Account = {}
Account.__index = Account
function Account.new(balance) return setmetatable({balance = balance, log = {}}, Account) end
function Account:add(amount)
    self.balance = self.balance + amount
    self.log[#self.log + 1] = string.format("%d:%s", amount, amount % 2 == 0 and "even" or "odd")
end
local account = Account.new(10)
for i = 1, 9000 do account:add(i * 37 % 101) end
local text = table.concat(account.log, " ")
local odd = 0
for word in text:gmatch("%d+:odd") do odd = odd + #word end
print(account.balance, odd, (text:gsub("even", "EVEN"):upper():sub(1, 40)))
local memory = {}
local function fibonacci(n) return n < 2 and n or fibonacci(n - 1) + fibonacci(n - 2) end
for i = 1, 19 do memory[i] = fibonacci(i) end
print(memory[19])
"""

SQL = """
CREATE TABLE person(id INTEGER PRIMARY KEY, name TEXT, city INTEGER, born INTEGER);
CREATE TABLE city(id INTEGER PRIMARY KEY, name TEXT UNIQUE);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40) INSERT INTO city SELECT i, 'city ' || i FROM n;
BEGIN;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2500)
INSERT INTO person SELECT i, upper(hex(i * 7919)), i * 31 % 40 + 1, 1900 + i * 13 % 110 FROM n;
COMMIT;
SELECT city.name, count(*), avg(born), max(person.name) FROM person JOIN city ON city.id = person.city GROUP BY city.id ORDER BY 3, 1 LIMIT 5;
UPDATE person SET born = born + 1 WHERE city IN (SELECT id FROM city WHERE name LIKE '%3%');
DELETE FROM person WHERE born % 7 = 0;
SELECT DISTINCT born / 10 * 10 AS decade, count(*) FROM person GROUP BY decade HAVING count(*) > 20 ORDER BY decade DESC;
SELECT p.name FROM person p WHERE NOT EXISTS (SELECT 1 FROM person q WHERE q.born = p.born AND q.id > p.id) ORDER BY p.name LIMIT 4;
"""


def source(package):
    return subprocess.run([os.path.join(TOP, "tools/source-package"), package], check=True, capture_output=True, encoding="utf-8").stdout.strip()


def concatenated(folder, size):
    """C sources of the interpreter lua."""
    path, where = os.path.join(folder, f"sources-{size}"), os.path.join(source("lua5.4"), "src")
    with open(path, "wb") as out:
        for name in sorted(os.listdir(where)):
            if name.endswith(".c"):
                with open(os.path.join(where, name), "rb") as file:
                    out.write(file.read())
        out.truncate(size)
    return path


def picture(folder, width, height):
    """Stripes and rings, with more noise in one half."""
    random.seed(13)
    path, pixels = os.path.join(folder, "picture.ppm"), bytearray()
    for y in range(height):
        for x in range(width):
            ring = int(60 * math.sin(math.hypot(x - width / 2, y - height / 2) / 5))
            noise = random.randint(0, 48) if x > width / 2 else 0
            pixels += bytes((100 + ring, 200 * ((x // 9 + y // 23) % 2) + noise, (x * y >> 6) & 127))
    with open(path, "wb") as out:
        out.write(b"P6\n%d %d\n255\n" % (width, height) + pixels)
    return path


def music(folder, seconds):
    """Decaying notes, in stereo."""
    random.seed(14)
    path, rate, samples = os.path.join(folder, "music.wav"), 32000, array.array("h")
    for i in range(int(rate * seconds)):
        note = 200 * 2 ** (i // 4000 * 5 % 12 / 12)
        level = 12000 * math.exp(-(i % 4000) / 2500)
        value = level * math.sin(2 * math.pi * note * i / rate) + random.gauss(0, 40)
        samples.extend((int(value), int(0.7 * value + 2000 * math.sin(i / 71))))
    if sys.byteorder == "big":
        samples.byteswap()
    data = samples.tobytes()
    with open(path, "wb") as out:
        out.write(b"RIFF" + (36 + len(data)).to_bytes(4, "little") + b"WAVEfmt " + (16).to_bytes(4, "little") + (1).to_bytes(2, "little")
                  + (2).to_bytes(2, "little") + rate.to_bytes(4, "little") + (4 * rate).to_bytes(4, "little") + (4).to_bytes(2, "little")
                  + (16).to_bytes(2, "little") + b"data" + len(data).to_bytes(4, "little") + data)
    return path


def first_lines(folder, path, lines):
    cut = os.path.join(folder, os.path.basename(path))
    with open(path, encoding="utf-8", errors="replace") as file, open(cut, "w", encoding="utf-8") as out:
        out.writelines(line for line, _ in zip(file, range(lines)))
    return cut


def words_by_number(folder, lines):
    random.seed(12)
    path = os.path.join(folder, "words")
    with open(path, "w", encoding="ascii") as out:
        for i in range(lines):
            out.write(f"{i % 700} {''.join(random.choice('abcdefghij') for _ in range(random.randint(3, 14)))} {random.randint(0, 99)}\n")
    return path


def written(folder, what, content):
    path = os.path.join(folder, what)
    with open(path, "w", encoding="utf-8") as out:
        out.write(content)
    return path


def training(name, folder):
    """Arguments and standard input."""
    if name == "lua":
        return [written(folder, "training.lua", TRAINING_LUA)], None
    command, standard_input, _ = program(name, folder, PROGRAMS[name])
    return command[1:], standard_input


def measuring(name, folder):
    def compiled():
        headers = [os.path.join(source("tcc"), "include"), "/usr/riscv64-linux-gnu/include" if os.path.isdir("/usr/riscv64-linux-gnu") else "/usr/include"]
        return ["-nostdinc", *[word for one in headers for word in ("-I", one)], "-r", "-o", os.path.join(folder, "output"),
                *[os.path.join(source("bzip2"), one) for one in ("blocksort.c", "decompress.c", "compress.c")]]
    arguments = {
        "bzip2": lambda: ["-kc", concatenated(folder, 100000)],
        "zstd": lambda: ["-q", "-6", "-c", concatenated(folder, 250000)],
        "xz": lambda: ["-1", "-kc", concatenated(folder, 120000)],
        "lua": lambda: [written(folder, "other.lua", LUA)],
        "sqlite3": lambda: [],
        "cwebp": lambda: ["-quiet", picture(folder, 220, 170), "-o", os.path.join(folder, "output")],
        "flac": lambda: ["-s", "-f", "-6", "-c", music(folder, 3)],
        "nasm": lambda: ["-w-all", "-f", "elf64", "-o", os.path.join(folder, "output"),
                         first_lines(folder, os.path.join(source("nasm"), "test/avx2.asm"), 600)],
        "tcc": compiled,
        "sort": lambda: ["-k2,2", "-S", "64M", "--parallel=1", words_by_number(folder, 20000)],
    }[name]()
    return arguments, SQL.encode() if name == "sqlite3" else None
