#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Back end of the virtual core: small programs whose cycles and events follow from the description.

Latencies and throughputs of single instructions come from llvm-mca, with the core's processor model.  Values that depend
on the description (widths, windows, forwarding, flushes) are computed here.
"""
import json
import subprocess

from core_programs import CORES, PAGE, Cost, changed, events, finish, load_use, near, page_ring, predicted, program
from tap import PESA, check, core_description

INTEGER = ["t0", "t1", "t2", "t3", "t4", "t5", "a2", "a3", "a4", "a5", "a6", "a7"]
OVERHEAD = 3  # instructions that close a loop


def units(core, d):
    found = Cost(core, "addi t0, t0, 1\n" * 128, 200).cycles / 128
    check(near(found, 1, 0.03), f"{core}: dependent adds: a cycle each", f"{found:.3f} cycles")
    adds = "".join(f"add {register}, s2, s3\n" for register in INTEGER * 10)
    found = Cost(core, adds, 200).cycles
    expected = max(predicted(d["model"], adds), (120 + OVERHEAD) / d["dispatch.width"])
    check(near(found, expected, 0.04), f"{core}: independent adds: {120 / expected:.2f} a cycle",
          f"{found:.2f} cycles for 120, expected {expected:.2f}")
    # Only the widths matter: instructions without dependencies.
    nops = "nop\n" * 240
    found = Cost(core, nops, 200).cycles
    expected = max(predicted(d["model"], nops), (240 + OVERHEAD) / min(d["dispatch.width"], d["retire.width"]))
    check(near(found, expected, 0.04), f"{core}: instructions without operands: {240 / expected:.2f} a cycle",
          f"{found:.2f} cycles for 240, expected {expected:.2f}")
    for what, narrow in (("dispatch", {"dispatch_width": 1}), ("retirement", {"retire_width": 1, "retire_transfers": 1})):
        found = Cost(changed(core, what, **narrow), nops, 100).cycles
        check(near(found, 240 + OVERHEAD, 0.04), f"{core}: with a width of {what} of 1: one a cycle",
              f"{found:.2f} cycles for {240 + OVERHEAD}")
    for mnemonic, register in (("mul", "t"), ("divu", "t"), ("rem", "t"), ("fmul.d", "ft"), ("fdiv.d", "ft"), ("fdiv.s", "ft")):
        chain = f"{mnemonic} {register}0, {register}0, {register}1\n" * 32
        apart = "".join(f"{mnemonic} {register}{i}, {register}5, {register}6\n" for i in (0, 1, 2, 3)) * 8
        for body, what in ((chain, "latency"), (apart, "throughput")):
            found, expected = Cost(core, body, 100).cycles / 32, predicted(d["model"], body) / 32
            # The loop's own instructions; in order, results of the loop counter come after those of the body.
            slack = (OVERHEAD + (0 if d["order"] == "out-of-order" else predicted(d["model"], chain) / 32)) / 32
            check(-0.03 * expected <= found - expected <= 0.03 * expected + slack,
                  f"{core}: {mnemonic}: {what} of the model, {expected:.2f} cycles", f"{found:.2f} cycles")


def transfers(core, d):
    """Jumps that wait behind divisions retire as many a cycle as the description allows."""
    jumps = 12
    body = ".option push\n.option rvc\n" + "divu t0, t0, t1\n" * 4 + "c.j .+4\nc.nop\n" * jumps + ".option pop\n"
    found = Cost(core, body, 300, before="li t0, -1\nli t1, 1").event["RETIRE.RETIRING.CYCLES"]
    # The loop's own jump is one more; three divisions retire before.
    least = (jumps + 1) / d["retire.transfers"]
    check(least + 3 <= found <= least + 5, f"{core}: {d['retire.transfers']} taken jumps retire in a cycle",
          f"{found:.2f} cycles in which any of {jumps + 1} retire, expected {least + 3:.2f} or a little more")


def forwarding(core, d):
    store = 1
    whole = Cost(core, "sd t0, 0(s1)\nld t0, 0(s1)\n" * 32, 200)
    expected = store + d["forward.latency"]
    check(near(whole.cycles / 32, expected, 0.03), f"{core}: a value through memory: store and forwarding",
          f"{whole.cycles / 32:.2f} cycles, expected {expected}")
    check(whole.event["LOAD.DSRC.STLF.RET"] == 32, f"{core}: such loads are counted as forwarded", whole.event["LOAD.DSRC.STLF.RET"])
    inside = Cost(core, "sd t0, 0(s1)\nlw t0, 4(s1)\n" * 8, 500)
    check(inside.event["LOAD.DSRC.STLF.RET"] == 8, f"{core}: so is a load of a part of the store",
          inside.event["LOAD.DSRC.STLF.RET"])
    beside = Cost(core, "sw t0, 0(s1)\nlw t1, 4(s1)\n" * 8, 500)
    check(beside.event["LOAD.DSRC.STLF.RET"] == 0, f"{core}: not one of the bytes beside it", beside.event["LOAD.DSRC.STLF.RET"])
    # A newer store to the other half of the eight bytes, in flight together with the one that is read.
    half = Cost(core, "sw t0, 0(s1)\nsw t2, 4(s1)\nlw t0, 0(s1)\n" * 16, 400)
    # In order the other store takes its turn.
    most = 1.05 * expected + (0 if d["order"] == "out-of-order" else 1)
    check(0.95 * expected <= half.cycles / 16 <= most, f"{core}: a store to bytes beside those of the load is not waited for",
          f"{half.cycles / 16:.2f} cycles, expected {expected} to {most}")
    # Stages of a store and a load: executed, retired, to the cache, from the cache.
    part = Cost(core, "sb t0, 0(s1)\nld t0, 0(s1)\n" * 32, 200)
    # An in-order core issues a store before its data is ready, so it is a little faster.
    most = store + 1 + 1 + 2 * d["dcache.latency"]
    least = most if d["order"] == "out-of-order" else whole.cycles / 32 + d["dcache.latency"]
    check(0.97 * least <= part.cycles / 32 <= 1.03 * most,
          f"{core}: a load of more than was stored waits until that is in the cache",
          f"{part.cycles / 32:.2f} cycles, expected {least:.2f} to {most}")
    check(part.event["LOAD.DSRC.STLF.RET"] == 0, f"{core}: and is not forwarded", part.event["LOAD.DSRC.STLF.RET"])


def ordering(core, d):
    """Loads whose address is known at once after a store whose address is known late."""
    pairs = 16
    late = "divu t0, t0, t2\nand t1, t0, zero\nadd t1, t1, s1\nsd t3, {0}(t1)\nld t4, {0}(s1)\n"
    body = "".join(late.format(8 * (i % 8)) for i in range(pairs))
    options = {"before": "li t0, -1\nli t2, 1", "count": 50}
    found = events(core, body, **options)
    flushes = found["FLUSH.MEM_ORDERING.SPEC"]
    expected = pairs if d["order"] == "out-of-order" else 0
    check(flushes == expected, f"{core}: {pairs} loads overtake a store {'once' if expected else 'never'} in 50 turns: "
          f"{expected} machine clears", flushes)
    again = events(core, body, before=options["before"], count=100)["FLUSH.MEM_ORDERING.SPEC"]
    check(again == expected, f"{core}: and no more in 100 turns", again)
    if not expected:
        return
    # One of two stores in turn writes what the load reads.
    either = ("xori t5, t5, 1\ndivu t0, t0, t2\nand t1, t0, zero\nadd t1, t1, s1\nbeqz t5, 1f\nsd t3, 0(t1)\nj 2f\n"
              "1: sd t3, 0(t1)\n2: ld t4, 0(s1)\n")
    flushes_of_both = events(core, either, before=options["before"] + "\nli t5, 0", count=100)["FLUSH.MEM_ORDERING.SPEC"]
    check(1 <= flushes_of_both <= 3, f"{core}: a load learns to wait for either of two stores", flushes_of_both)
    cycles = found["FLUSH.MEM_ORDERING.CYCLES"] / flushes
    refill = d["fetch.redirect"] + d["fetch.depth"]
    check(refill - 1 <= cycles <= refill + 1, f"{core}: each costs redirect and refill", f"{cycles:.2f} cycles, expected {refill}")
    subprocess.run([PESA, "record", "-q", "--core", core, "--golden", "golden.data", "-o", "perf.data", "--",
                    "./" + program(body, **options)], check=True)
    done = subprocess.run([PESA, "annotate", "--json", "-i", "golden.data", "loop"], capture_output=True, text=True, check=True)
    blamed = [(row["text"], cycles) for row in json.loads(done.stdout)["instructions"]
              for causes, cycles in row["stack"].get("flushed", {}).items() if causes != "mispredict"]
    # While the loop's code still comes from memory, retirement waits for older instructions in the meantime.
    check(len(blamed) >= pairs // 4 and all(text.startswith("ld") for text, _ in blamed),
          f"{core}: loads are blamed for these flushes, no other instruction", blamed)


def windows(core, d):
    """Two chains of misses in turn, `distance` instructions apart: they overlap when that fits into the window."""
    caches = {"l2_size": 64 << 10, "dcache_streams": 0, "dcache_prefetch": 0}
    if d["llc.size"]:
        caches["llc_size"] = 128 << 10
    plain = changed(core, "window", walk_levels=0, walk_latency=1, l2tlb_latency=1, memory_interval=1, **caches)
    miss = load_use(d["model"]) + d["l2.latency"] + (d["llc.latency"] if d["llc.size"] else 0) + d["memory.latency"]
    pages = 256
    before = page_ring(pages) + f"li t0, {pages // 2 * PAGE}\nadd a1, s1, t0\n"
    limits = (("reorder buffer", "nop\n", d["rob.entries"]),
              ("integer registers", "add t0, s2, s3\n", d["registers.integer"] - 32),
              ("load queue", "ld t0, 0(s2)\n", d["queue.load"]))
    for what, filler, window in limits:
        if window > d["rob.entries"]:
            continue
        rate = min(d["retire.width"], 60 / predicted(d["model"], filler * 60))
        for distance in (window - 8, window + 8):
            body = f"ld a0, 0(a0)\n{filler * (distance - 1)}ld a1, 0(a1)\n{filler * (distance - 1)}"
            found = Cost(plain, body, 300, before=before + "la s2, memory\n", space=pages * PAGE).cycles
            if distance < window:
                expected = miss + (2 * distance - window) / rate
                overlap = "overlap"
            else:
                expected = 2 * (miss + (distance - window) / rate)
                overlap = "do not overlap"
            check(near(found, expected, 0.06), f"{core}: misses {distance} apart, {what} of {window}: they {overlap}",
                  f"{found:.1f} cycles for two, expected {expected:.1f}")


for name in CORES:
    keys = core_description(name)
    units(name, keys)
    transfers(name, keys)
    forwarding(name, keys)
    ordering(name, keys)
    if keys["order"] == "out-of-order":
        windows(name, keys)
finish()
