#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""pesa compare on timed branches: blocks of known loops, measured and predicted, on cores with and without a deviation from the
model; beside the exact profile and the steady state of llvm-mca."""
import json
import os
import re
import shutil
import tempfile

from counted_loops import build, program
from tap import PESA, bail_out, check, command, end, needs, plain_environment, skip

DEPTH = 32
LOOPS = {
    "adds": (3000, "add a0, a0, a1; add a0, a0, a1; xor a0, a0, a1; add a2, a1, a1"),
    "products": (2000, "mul a0, a0, a1; add a0, a0, a1; mul a0, a0, a1; add a3, a1, a1"),
    "mixture": (2000, "add a4, a4, a1; mul a5, a4, a1; sub a4, a5, a4; and a6, a4, a1"),
    "quotients": (500, "div a0, a6, a1; add a0, a0, a1; xor a6, a6, a0"),
    "loads": (2000, "ld a2, 0(s2); add a3, a2, a1; and a4, a2, zero; add s2, s2, a4"),
    # Two blocks a pass.
    "jumps": (2000, "mul a0, a0, a1; j 7f; add a3, a1, a1; 7: add a0, a0, a1"),
    # Its branch in the midst is taken every other time: one block or two.
    "choice": (2000, "andi t1, s0, 1; beqz t1, 8f; add a0, a0, a1; mul a0, a0, a1; 8: add a5, a5, a1"),
}
SEVERAL = ("jumps", "choice")
PRODUCTS = {"products": 2, "mixture": 1}  # a chain of so many in an iteration
TURNS = 24
work = tempfile.mkdtemp(prefix="pesa-timed-compare-")
os.chdir(work)
plain = plain_environment(work)


def record(path, core, *words, sampler="lcofi", depth=DEPTH):
    made = command(PESA, "record", "-q", "--core", core, "--set", f"sample.ctr_depth={depth}", "--sampler", sampler, "-c", "320", "-o", path,
                   *words, "--", "./program", env=plain)
    if made.returncode:
        bail_out("cannot record:", made.stderr.decode())


def compare(*words):
    return command(PESA, "compare", "--no-pager", *words)


def result(*words):
    done = compare("--json", *words)
    if done.returncode:
        bail_out("pesa compare", *words, done.stderr.decode())
    return json.loads(done.stdout)


def loops(document):
    """The blocks that are a loop of their own, by function; of the loops of two blocks none."""
    return {block["symbol"]: block for block in document["blocks"] if block["loop"]}


def steady(tool, cpu, name):
    """Cycles of an iteration: of many, less those of half as many."""
    body = LOOPS[name][1].replace("; ", "\n") + "\naddi s0, s0, -1\nbnez s0, 0\n"
    with open("body.s", "w", encoding="ascii") as out:
        out.write(body)
    cycles = []
    for count in (200, 400):
        shown = command(*tool, f"-mcpu={cpu}", f"--iterations={count}", "body.s").stdout.decode()
        cycles.append(int(re.search(r"Total Cycles:\s+(\d+)", shown)[1]))
    return (cycles[1] - cycles[0]) / 200


def exact_cost(path, block):
    """Cycles of a block for each execution, in an exact profile."""
    rows = {one["address"]: one for one in
            json.loads(command(PESA, "report", "--json", "--sort", "insn", "-i", path).stdout)["instructions"]}
    return sum(rows[at]["cycles"] for at in rows if block["start"] <= at <= block["last"]) / rows[block["last"]]["executions"]


def check_plain(core, cpu):
    record("plain.data", core, "--golden", "plain.gold")
    document = result("-i", "plain.data")
    found = loops(document)
    check(set(LOOPS) - set(SEVERAL) <= set(found), f"{core}: loops of one block are found as such", sorted(found))
    wrong = [(one["symbol"], one["measured"], one["predicted"], one["verdict"]) for one in document["blocks"] + document["loops"]
             if one["verdict"] in ("slower", "faster")]
    check(document["blocks"] and not wrong, f"{core}: as the model has it: no block is slower or faster", wrong)
    timed = document["timed"]
    parts = sum(timed[part] for part in ("compared", "warming", "mispredicted", "ordering", "unsupported", "no_text", "saturated"))
    check(abs(parts - timed["cycles"]) < 1e-6 * timed["cycles"] and timed["compared"] > 0.9 * timed["cycles"],
          f"{core}: most cycles of the stacks are compared, and the rest is accounted for", timed)
    for name in sorted(set(found) & set(LOOPS)):
        exact = exact_cost("plain.gold", found[name])
        check(abs(found[name]["measured"] - exact) < 0.02 * exact, f"{core}, {name}: measured are the cycles of the exact profile",
              (found[name]["measured"], exact))
        check(abs(found[name]["difference"] - (found[name]["measured"] - found[name]["predicted"])) < 1e-6,
              f"{core}, {name}: the difference is that of both")
    passes = {one["symbol"]: one for one in document["loops"] if one["symbol"] in LOOPS}
    check(set(passes) == set(SEVERAL) and abs(passes["jumps"]["blocks"] - 2) < 1e-9 and 1 < passes["choice"]["blocks"] < 2,
          f"{core}: loops of several blocks are compared by pass", passes)
    exact = exact_cost("plain.gold", passes["jumps"])
    check(abs(passes["jumps"]["measured"] - exact) < 0.02 * exact and passes["jumps"]["verdict"] == "agrees" and
          abs(passes["jumps"]["executions"] - TURNS * LOOPS["jumps"][0]) < 0.1 * TURNS * LOOPS["jumps"][0],
          f"{core}: a pass has the cycles of the exact profile, and there are as many as were executed", (passes["jumps"], exact))
    tools = {"pesa mca": (PESA, "mca")}
    if shutil.which("llvm-mca-22"):
        tools["llvm-mca"] = ("llvm-mca-22", "-mtriple=riscv64", "-mattr=+m")
    else:
        skip(f"{core}: predicted is the steady state of llvm-mca", needs("llvm-22"))
    for what, tool in tools.items():
        for name in ("adds", "products", "mixture"):
            wanted = steady(tool, cpu, name)
            check(abs(found[name]["predicted"] - wanted) < 0.02 * wanted, f"{core}, {name}: predicted is the steady state of {what}",
                  (found[name]["predicted"], wanted))
    return found


def check_planted(core, before):
    """Multiplications take three cycles more: so do the loops with a chain of them, for each, and no others."""
    latency = {"inorder-2": 3, "ooo-4": 2}[core]
    record("slow.data", core, "--set", f"mul.latency={latency + 3}")
    document = result("-i", "slow.data")
    found = loops(document)
    for name, count in PRODUCTS.items():
        one = found[name]
        check(one["verdict"] == "slower" and abs(one["difference"] - 3 * count) < 0.1,
              f"{core}, {name}: slower by the {3 * count} cycles that were planted", (one["difference"], one["interval"], one["verdict"]))
        check(one["interval"][0] <= 3 * count <= one["interval"][1] and abs(one["predicted"] - before[name]["predicted"]) < 0.1,
              f"{core}, {name}: they are in the interval, and the prediction has not moved", (one["interval"], one["predicted"]))
    others = [(one["symbol"], one["difference"], one["verdict"]) for one in document["blocks"] + document["loops"]
              if one["symbol"] not in (*PRODUCTS, *SEVERAL) and one["verdict"] in ("slower", "faster")]
    passes = next(one for one in document["loops"] if one["symbol"] == "jumps")
    check(passes["verdict"] == "slower" and abs(passes["difference"] - 3) < 0.1, f"{core}, jumps: a pass is slower by what was planted",
          passes)
    check(not others, f"{core}: no block without a multiplication differs", others)
    off = [abs(one["cycles_off"]) for one in document["blocks"] if one["verdict"] != "too few"]
    check(document["blocks"][0]["symbol"] in (*PRODUCTS, *SEVERAL) and off == sorted(off, reverse=True), f"{core}: most cycles of difference first",
          [(one["symbol"], one["cycles_off"]) for one in document["blocks"]])
    named = [key for key in document if key in ("classes", "unexplained")]
    check(not named, f"{core}: no entry of the model is blamed", named)


def check_text():
    text = compare("-i", "slow.data")
    lines = text.stdout.decode().splitlines()
    row = next((line for line in lines if "products+0x" in line), "")
    check(text.returncode == 0 and "slower" in row and "loop" in row and not text.stderr, "the text has the blocks", text.stdout.decode())
    words = " ".join(text.stdout.decode().split())
    check("no entry of the model is named" in words and "middle half" in words, "it says how it compares, and that it names no entry", words)
    for width, heads in ((80, "Off Measured Predicted Differ Block"), (100, "Off Measured Predicted Differ 95% Block"),
                         (140, "Off Share Execs Measured Predicted Differ 95% Block")):
        narrow = command(PESA, "compare", "-i", "slow.data", env={**os.environ, "COLUMNS": str(width)}).stdout.decode().splitlines()
        head = next(line for line in narrow if "Predicted" in line)
        longest = max(len(line) for line in narrow if not line.startswith("note:"))
        check(" ".join(head.split()) == heads and longest <= width and any("products+0x4-0x18" in line for line in narrow),
              f"on {width} columns there are as many as leave room for the place", "\n".join(narrow))
    one = compare("-i", "slow.data", "--symbol", "products").stdout.decode()
    check("products+0x" in one and "mixture+0x" not in one, "--symbol shows the blocks of one function", one)
    none = compare("-i", "slow.data", "--symbol", "nosuchfunction")
    check(none.returncode == 1 and none.stderr.count(b"\n") == 1, "a function that has none is an error", none)


def check_refused():
    for words in (["--write-model", "new.model"], ["--html", "page.html"], ["--format", "td"]):
        done = compare("-i", "slow.data", *words)
        check(done.returncode == 1 and done.stderr.count(b"\n") == 1 and words[0].encode() in done.stderr and not done.stdout,
              f"{words[0]}: there is nothing to write", done)
        done = compare("-i", "slow.data", "--block", *words)
        check(done.returncode == 2, f"--block and {words[0]} exclude each other", done)
    check(not os.path.exists("new.model") and not os.path.exists("page.html"), "and no file is made")
    with open("slow.data", "rb") as file:
        whole = file.read()
    for name, data in (("cut.data", whole[:len(whole) // 2]), ("text.data", b"no recording\n"), ("empty.data", b"")):
        with open(name, "wb") as file:
            file.write(data)
        done = compare("-i", name)
        check(done.returncode == 1 and done.stderr.count(b"\n") == 1, f"{name}: a damaged file is said to be", done)
    shutil.move("program", "away")
    done = compare("-i", "slow.data")
    check(done.returncode == 0 and b"no block of its branch stacks has a prediction" in done.stderr, "without the program nothing is predicted",
          done)
    shutil.move("away", "program")


def check_mixed():
    """Branch stacks beside details change nothing of what details tell; --block compares them."""
    shown = []
    for path, depth in (("without.data", 0), ("with.data", DEPTH)):
        record(path, "ooo-4", "--set", "mul.latency=5", sampler="shpms", depth=depth)
        shown.append(result("-i", path))
        for key in ("input", "cmdline"):
            del shown[-1][key]
    check(shown[0] == shown[1] and [one["change"] for one in shown[0]["classes"]],
          "details beside branch stacks have the findings that they have without", [one.get("classes") for one in shown])
    found = loops(result("-i", "with.data", "--block"))
    check(all(found[name]["verdict"] == "slower" for name in PRODUCTS), "--block compares their branch stacks", found)
    refused = compare("-i", "without.data", "--block")
    check(refused.returncode == 1 and refused.stderr.count(b"\n") == 1 and b"cycle counts" in refused.stderr,
          "and refuses where there are none", refused)


build(program(LOOPS, TURNS, "li a6, -1"))
for name, model in (("inorder-2", "sifive-u74"), ("ooo-4", "sifive-p670")):
    check_planted(name, check_plain(name, model))
check_text()
check_refused()
check_mixed()
os.chdir("/")
shutil.rmtree(work)
end()
