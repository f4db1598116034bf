#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Cycle counts of control transfer records: those of the virtual core beside its log of every cycle, and what reports make of them."""
import bisect
import json
import os
import re
import shutil
import subprocess
import tempfile

from tap import BUILD, TOP, PESA, GUEST_CC, bail_out, check, command, core_description, end, needs, plain_environment, skip

DEPTH = 32
work = tempfile.mkdtemp(prefix="pesa-timed-")
os.chdir(work)
plain = plain_environment(work)

# Two loops: one waits for three divisions that depend on each other, the other takes its branch every other time.
# Behind them a wait that no count of 12 bits can hold, and a call.
LOOPS = """
	.globl _start
_start:	li s0, 3000
	li a1, 7
	li a0, -1
	.globl divide
divide:	div a0, a0, a1
	div a0, a0, a1
	div a0, a0, a1
	addi s0, s0, -1
	bnez s0, divide
	li s0, 3000
	.globl choose
choose:	addi s0, s0, -1
	andi t1, s0, 1
	beqz t1, 3f
	mul a0, a0, a1
	mul a0, a0, a1
3:	bnez s0, choose
	li s0, 100
	.globl long
long:	.rept 600
	div a0, a0, a1
	.endr
	addi s0, s0, -1
	call last
	bnez s0, long
	li a0, 0
	li a7, 93
	ecall
last:	ret
"""


def build():
    with open("loops.s", "w", encoding="ascii") as out:
        out.write(LOOPS)
    for words in ([GUEST_CC, "-g", "-static", "-nostdlib", "loops.s", "-o", "loops"],
                  [GUEST_CC, "-O1", "-g", "-static", "-pthread", os.path.join(TOP, "tests/data/guest/guest.c"), "-o", "guest"]):
        made = command(*words)
        if made.returncode:
            bail_out("cannot build the guest programs:", made.stderr.decode())


def record(data, core, *words, period=997, depth=DEPTH):
    made = command(PESA, "record", "-q", "--core", core, "--set", f"sample.ctr_depth={depth}", "-c", str(period), "-o", data, *words,
                   env=plain)
    if made.returncode not in (0, 42):
        bail_out("pesa record:", made.stderr.decode())


def script(data, *words):
    return [json.loads(line) for line in command(PESA, "script", "--json", "-i", data, *words).stdout.splitlines()]


def report(data, *words):
    return json.loads(command(PESA, "report", "--block", "--json", "-i", data, *words).stdout)


def retired(log):
    """Address and cycle of each retirement, from a Kanata log."""
    cycle, address, done = 0, {}, []
    with open(log, encoding="utf-8") as file:
        for line in file:
            word = line.split("\t")
            if word[0] == "C=":
                cycle = int(word[1])
            elif word[0] == "C":
                cycle += int(word[1])
            elif word[0] == "L" and word[2] == "0":
                address[word[1]] = int(word[3].partition(":")[0], 16)
            elif word[0] == "R" and word[3].strip() == "0":
                done.append((address.pop(word[1]), cycle))
    return done


def lengths(binary):
    """Bytes of each instruction, as objdump has them."""
    shown = subprocess.run([GUEST_CC.replace("gcc", "objdump"), "-d", "-j", ".text", binary], capture_output=True, text=True, check=True)
    return {int(at, 16): len(code) // 2 for at, code in re.findall(r"^\s*([0-9a-f]+):\t([0-9a-f]+)\s", shown.stdout, re.M)}


def encoded(cycles):
    """The cycles that 12 bits of mantissa and 4 of exponent hold, and perf's 16 bits of these; by the specification's words."""
    if cycles >= 4096:
        exponent = cycles.bit_length() - 1 - 11
        mantissa = (cycles >> (exponent - 1)) & 0xfff
        cycles = (4096 + mantissa) << (exponent - 1)
    return min(cycles, 65535)


def visible(branches, size):
    """Address, target and count of the entries; a branch to the instruction behind it, which the log cannot show, is part of
    what comes after it."""
    shown, more = [], 0
    for one in branches[::-1]:
        count = one["cycles"]
        if one["to"] == one["from"] + size.get(one["from"], 0):
            more += count
            continue
        shown.append((one["from"], one["to"], count + more))
        more = 0
    return shown[::-1]


def check_counts(core, program, *words):
    """Each count in each stack is the difference of the cycles in which the two transfers retired."""
    record("log.data", core, "--pipeline-trace=log.kanata", "--jitter", "0", "--", "./" + program, *words)
    done, size = retired("log.kanata"), lengths(program)
    # A transfer: the next instruction is not the one behind it.
    transfers = [(at, to, cycle) for (at, cycle), (to, _) in zip(done, done[1:]) if to != at + size.get(at, 0)]
    cycles = [cycle for _, _, cycle in transfers]
    frequency = core_description(core)["frequency"]
    stacks = wrong = entries = several = chains = 0
    why = []
    for sample in script("log.data"):
        branches = sample.get("branches")
        if not branches:
            continue
        stacks += 1
        branches = visible(branches, size)
        # The newest transfer in or before the sampled cycle: its time is in ns, which are a few cycles.
        newest = bisect.bisect_right(cycles, sample["time"] * frequency // 10**9 + 8)
        for last in range(newest, max(newest - 24, 0), -1):
            part = transfers[max(last - len(branches), 0):last][::-1]
            if [one[:2] for one in branches] != [one[:2] for one in part]:
                continue
            counts = [count for _, _, count in branches]
            before = [cycle for _, _, cycle in part[1:]] + [transfers[last - len(branches) - 1][2] if last > len(branches) else part[-1][2]]
            if counts == [encoded(cycle - start) for (_, _, cycle), start in zip(part, before)]:
                entries += len(counts)
                several += counts.count(0) > 1
                chains += max(counts) < 4096 and sum(counts[:-1]) == part[0][2] - part[-1][2]
                break
        else:
            wrong += 1
            why.append(f"{sample['time']}: {branches[:4]}, log {transfers[newest - 5:newest]}")
    check(stacks > 20 and not wrong, f"{core}, {program}: each count is the difference of two retirements in the log of all cycles, "
          "as the hardware rounds it", f"{wrong} of {stacks} stacks\n" + "\n".join(why[:5]))
    check(chains > 10, f"{core}, {program}: the counts of a stack add up to what passed between its ends", chains)
    return several


def check_blocks(core):
    """The loops' cycles, from branch stacks beside details, and from stacks alone; beside those of the exact profile."""
    record("loops.data", core, "--sampler", "shpms,lcofi", "--golden", "loops.gold", "--", "./loops", period=509)
    exact = {one["address"]: one for one in
             json.loads(command(PESA, "report", "--json", "--sort", "insn", "-i", "loops.gold").stdout)["instructions"]}
    size = lengths("loops")
    for event in ("pesa/cycles/", "pesa/lcofi/"):
        shown = report("loops.data", "--event", event)
        blocks, symbols = shown["blocks"], {}
        for block in blocks:
            symbols.setdefault(block["symbol"], []).append(block)
        divide = symbols["divide"][0]
        own = sum(exact[at]["cycles"] for at in size if divide["start"] <= at <= divide["last"]) / exact[divide["last"]]["executions"]
        check(abs(divide["cycles_per_execution"] - own) < 0.01 * own and
              abs(divide["median"] - own) < 1 and divide["instructions"] == 5,
              f"{core}, {event}: three divisions that wait for each other have the cycles of the exact profile", (divide, own))
        total = sum(one["cycles"] for one in exact.values())
        shares = [divide["share"], sum(exact[at]["cycles"] for at in size if divide["start"] <= at <= divide["last"]) / total]
        check(abs(shares[0] - shares[1]) < 0.02, f"{core}, {event}: and their share of all cycles", shares)
        summed = sum(block["cycles"] for block in blocks) + shown["timed_branches"]["broken"]
        check(abs(summed - shown["timed_branches"]["cycles"]) < 1e-6 * summed and
              sum(block["seen"] for block in blocks) == shown["timed_branches"]["seen"] and
              all(sum(one["seen"] for one in block["distribution"]) == block["seen"] and
                  abs(sum(one["share"] for one in block["distribution"]) - 1) < 1e-9 for block in blocks),
              f"{core}, {event}: blocks and distributions add up to the periods of the samples", summed)
        long = [block for block in symbols["long"] if block["instructions"] and block["instructions"] > 600]
        check(len(long) == 1 and long[0]["median"] > 4096 and
              abs(long[0]["cycles_per_execution"] - sum(exact[at]["cycles"] for at in size if long[0]["start"] <= at <= long[0]["last"]) /
                  exact[long[0]["last"]]["executions"]) < 0.01 * long[0]["median"],
              f"{core}, {event}: a block of more cycles than the mantissa holds", long[:1])


def check_commands():
    """The text, the usage errors, and files that have nothing."""
    text = command(PESA, "report", "--block", "-i", "loops.data")
    row = next((line for line in text.stdout.decode().splitlines() if "divide+0x0" in line), "")
    check(text.returncode == 0 and re.match(r"\s*\d+\.\d\d%", row), "pesa report --block prints the blocks", text.stdout.decode())
    place = f"loops.s:{LOOPS[:LOOPS.index('divide:')].count(chr(10)) + 1}-{LOOPS[:LOOPS.index('bnez')].count(chr(10)) + 1}"
    check(place in row, "with their lines of source", f"{place} {row}")
    for width, heads in ((90, "Share Cycles Execs Cyc/exec IPC Block"),
                         (130, "Share Cycles Execs Cyc/exec Median IPC Insns 5% of executions 95% Block")):
        narrow = command(PESA, "report", "--block", "--color=always", "-i", "loops.data", env={**os.environ, "COLUMNS": str(width)})
        lines = re.sub("\x1b\\[[0-9;]*m", "", narrow.stdout.decode()).splitlines()
        head = next(line for line in lines if "Cyc/exec" in line)
        check(" ".join(head.split()) == heads and any("divide+0x0-0x" in line for line in lines) and
              max(map(len, lines[4:-1])) <= width, f"on {width} columns fewer of them, and the block itself", narrow.stdout.decode())
    same = command(PESA, "report", "--total-cycles", "-i", "loops.data")
    check(same.stdout == text.stdout, "perf's name of the option is known, too")
    shown = json.loads(command(PESA, "annotate", "--json", "-i", "loops.data", "divide").stdout)
    check([block["symbol"] for block in shown["blocks"]] == ["divide"], "pesa annotate has the blocks of its functions in JSON",
          shown.get("blocks"))
    lines = command(PESA, "annotate", "-i", "loops.data", "divide").stdout.decode().splitlines()
    note = [number for number, line in enumerate(lines) if "block to" in line]
    check(len(note) == 1 and "div " in lines[note[0] + 1] and "median" in lines[note[0]],
          "and in the text before their first instruction", "\n".join(lines))
    record("none.data", "ooo-4", "--", "./loops", depth=0)
    refused = command(PESA, "report", "--block", "-i", "none.data")
    check(refused.returncode == 1 and refused.stderr.count(b"\n") == 1 and b"cycle counts" in refused.stderr and not refused.stdout,
          "a recording without branch stacks is refused in one line", refused)
    refused = command(PESA, "report", "--block", "--children", "-i", "loops.data")
    check(refused.returncode == 2 and b"--block" in refused.stderr, "what does not go together is a usage error", refused)
    with open("loops.data", "rb") as file:
        whole = file.read()
    with open("cut.data", "wb") as file:
        file.write(whole[:len(whole) // 2])
    cut = command(PESA, "report", "--block", "-i", "cut.data")
    check(cut.returncode == 1 and cut.stderr.count(b"\n") == 1, "a file that was cut is said to be damaged", cut)
    with open("text.data", "wb") as file:
        file.write(b"no recording\n")
    refused = command(PESA, "report", "--block", "-i", "text.data")
    check(refused.returncode == 1 and refused.stderr.count(b"\n") == 1 and not refused.stdout, "what is no recording is refused", refused)


def check_profiles():
    """Counts change nothing else: the profile of the same run without records is the same."""
    for words in ([], ["--set", f"sample.ctr_depth={DEPTH}"]):
        made = command(PESA, "record", "-q", "--core", "ooo-4", "-c", "997", "-o", "with.data" if words else "without.data", *words, "--",
                       "./loops", env=plain)
        if made.returncode:
            bail_out(made.stderr.decode())
    shown = [json.loads(command(PESA, "report", "--json", "--sort", "insn", "-i", name).stdout) for name in ("without.data", "with.data")]
    for one in shown:
        for key in ("input", "cmdline"):
            del one[key]
    check(shown[0] == shown[1], "the profile of instructions is the same with control transfer records and without")


def check_import(core):
    """pesa import makes of the log what the virtual core has recorded."""
    with open(os.path.join(BUILD, "share/pesa/cores", core), encoding="utf-8") as file:
        text = re.sub(r"^sample.ctr_depth = .*$", f"sample.ctr_depth = {DEPTH}", file.read(), flags=re.M)
    with open("core", "w", encoding="utf-8") as out:
        out.write(text)
    same = ["-q", "--core", os.path.join(work, "core"), "-c", "997", "--jitter", "0"]
    for words in (["record", *same, "--pipeline-trace", "loops.kanata", "-o", "recorded.data", "--", "./loops"],
                  ["import", *same, "-m", "virtual-core", "-e", "loops", "-o", "imported.data", "loops.kanata"]):
        made = command(PESA, *words, env=plain)
        if made.returncode:
            bail_out("pesa", words[0], made.stderr.decode())
    recorded, imported = ([[(one["from"], one["to"], one["flags"]) for one in sample.get("branches", [])]
                           for sample in script(name) if sample["type"] == "sample"] for name in ("recorded.data", "imported.data"))
    check(len(recorded) > 1000 and max(flags >> 4 for stack in recorded for *_, flags in stack) > 4096 and recorded == imported,
          f"{core}: pesa import of the log has the same stacks with the same counts", (len(recorded), len(imported)))


def check_perf():
    """perf reads the counts where it reads the stacks."""
    if not shutil.which("perf"):
        skip("perf has the same counts", needs("linux-perf"))
        return
    dump = subprocess.run(["perf", "script", "-D", "-i", "log.data"], capture_output=True, text=True, check=False).stdout
    counts = [int(cycles) for cycles in re.findall(r"^\.\.\.\.\. +\d+: [0-9a-f]+ -> [0-9a-f]+ (\d+) cycles", dump, re.M)]
    own = [one["cycles"] for sample in script("log.data") for one in sample.get("branches", [])]
    check(own and counts == own, "perf has the same counts", f"{counts[:20]} {own[:20]} {len(counts)} {len(own)}")


build()
check(check_counts("ooo-4", "loops"), "transfers that retire in one cycle have a count of 0")
check_counts("inorder-2", "loops")
check_counts("ooo-8", "guest", "work", "5")
check_perf()
for name in ("inorder-2", "ooo-4"):
    check_blocks(name)
check_commands()
check_profiles()
check_import("ooo-4")
os.chdir("/")
shutil.rmtree(work)
end()
