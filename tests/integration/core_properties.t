#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Front end and memory of the virtual core: small programs whose cycles and events follow from the description.

The expectations are computed from the core description and llvm-mca's latency of a load alone.
"""
from core_programs import CORES, PAGE, Cost, changed, finish, load_use, near, page_ring, stride_ring
from tap import check, core_description

CHASE = "ld a0, 0(a0)\n" * 16
RANDOM = "li t1, 0x5851f42d4c957f2d\nli t2, 0x14057b7ef767814f\nli t0, 1\n"
NEXT_RANDOM = "mul t0, t0, t1\nadd t0, t0, t2\n"


def memory_properties(core, d):
    use = load_use(d["model"])
    last = "llc" if d["llc.size"] else "l2"
    outer = d["l2.latency"] + (d["llc.latency"] if d["llc.size"] else 0)

    def chase(pages, expected, tolerance, what):
        found = Cost(core, CHASE, pages * 64 // 16, before=page_ring(pages), space=pages * PAGE).cycles / 16
        check(near(found, expected, tolerance), f"{core}: {what}", f"{found:.2f} cycles a load, expected {expected:.2f}")

    chase(d["dcache.size"] // 2 // PAGE, use, 0.01, "a chain of loads in the L1: its load-use latency")
    chase(2 * d["dcache.size"] // PAGE, use + d["l2.latency"], 0.01, "in the L2")
    if d["llc.size"]:
        chase(2 * d["l2.size"] // PAGE, use + outer + d["l2tlb.latency"] / 64, 0.01,
              "in the LLC, a page found in the second-level TLB every 64 loads")
    # Memory takes a line every interval: half of one is waited for on average.  A walk's entry is seldom in a cache.
    slot = (d["memory.interval"] - 1) / 2
    walk = d["l2tlb.latency"] + d["walk.latency"] + d["dcache.latency"] + outer
    chase(2 * d[last + ".size"] // PAGE, use + outer + d["memory.latency"] + slot + walk / 64, 0.02,
          "in memory, a page walk every 64 loads")

    pages = 2 * d["dtlb.entries"]
    found = Cost(core, CHASE, 2000, before=stride_ring(pages, PAGE + 64), space=(pages + 1) * (PAGE + 64)).cycles / 16
    expected = use + d["l2tlb.latency"]
    check(near(found, expected, 0.01), f"{core}: twice as many pages as the L1 TLB has: a second-level hit each",
          f"{found:.2f} cycles a load, expected {expected:.2f}")
    # Eight entries of the page table share a line, which comes from the L2.
    pages = 2 * d["l2tlb.entries"]
    found = Cost(core, CHASE, pages // 4, before=stride_ring(pages, PAGE + 64), space=(pages + 1) * (PAGE + 64)).cycles / 16
    expected = (use + d["l2.latency"] + d["l2tlb.latency"] + d["walk.latency"] + d["dcache.latency"] + d["l2.latency"] / 8)
    check(near(found, expected, 0.03), f"{core}: twice as many pages as both TLBs have: a walk through the caches each",
          f"{found:.2f} cycles a load, expected {expected:.2f}")

    # Independent loads of lines that are in no cache.  Strides alternate, so that prefetching fails.  Page walks are off.
    plain = changed(core, "no-walks", walk_levels=0, walk_latency=1, l2tlb_latency=1, dcache_mshrs=4, walk_walkers=16)
    stream = "".join(f"ld t0, {64 * line}(s1)\n" for line in (0, 1, 3, 4, 6, 7, 9, 10)) + "addi s1, s1, 768\n"
    found = Cost(plain, stream, 1500, space=8 << 20).cycles / 8
    expected = max((d["dcache.latency"] + outer + d["memory.latency"] + slot) / 4, d["memory.interval"])
    check(near(found, expected, 0.05), f"{core}: independent misses with 4 MSHRs: the latency of memory each 4 lines",
          f"{found:.2f} cycles a line, expected {expected:.2f}")
    slow = changed(core, "slow", walk_levels=0, walk_latency=1, l2tlb_latency=1, walk_walkers=16, memory_interval=60)
    found = Cost(slow, stream, 1500, space=8 << 20).cycles / 8
    check(near(found, 60, 0.02), f"{core}: independent misses with slow memory: its interval each line",
          f"{found:.2f} cycles a line, expected 60")
    small = {last + "_size": 2 * d["l2.size"] if last == "llc" else d["dcache.size"] * 2}
    dirty = changed(core, "dirty", walk_levels=0, walk_latency=1, l2tlb_latency=1, walk_walkers=16, memory_interval=60, **small)
    found = Cost(dirty, stream.replace("ld t0", "sd t0"), small[last + "_size"] // 64 // 8 * 2, space=24 << 20).cycles / 8
    check(near(found, 120, 0.03), f"{core}: stores to a stream of lines: each comes from memory and is written back",
          f"{found:.2f} cycles a line, expected 120")
    if d["dcache.streams"]:
        sequence = "".join(f"ld a0, {64 * line}(s1)\nadd t1, t1, a0\nand s2, a0, x0\nadd s1, s1, s2\n" for line in range(8))
        sequence += "addi s1, s1, 512\n"
        found = Cost(core, sequence, 2000, space=4 << 20).cycles / 8
        off = Cost(changed(core, "off", dcache_streams=0, dcache_prefetch=0), sequence, 2000, space=4 << 20).cycles / 8
        check(off > use + outer + d["memory.latency"] and found < off / (d["dcache.prefetch"] + 1) * 1.5,
              f"{core}: dependent loads in sequence: the prefetcher has {d['dcache.prefetch']} lines under way",
              f"{found:.2f} cycles a line, {off:.2f} without it")


def branch_properties(core, d):
    flush = 1 + d["fetch.redirect"] + d["fetch.depth"]
    found = Cost(core, ".option push\n.option rvc\n" + "c.j .+4\nc.nop\n" * 16 + ".option pop\n", 1000).cycles
    expected = 17 * (1 + d["fetch.taken_bubble"])
    check(near(found, expected, 0.08), f"{core}: jumps that the BTB knows: one a cycle", f"{found} cycles, expected {expected}")
    count = d["btb.entries"]
    found = Cost(core, ".option push\n.option rvc\n" + "c.j .+4\nc.nop\n" * count + ".option pop\n", 20).cycles / count
    expected = 1 + d["fetch.decode_redirect"]
    check(near(found, expected, 0.03), f"{core}: more jumps than the BTB has ways for: decode finds each",
          f"{found:.3f} cycles a jump, expected {expected}")

    random = Cost(core, NEXT_RANDOM + "srli t3, t0, 63\nbeqz t3, 1f\nnop\n1:\n", 4000, before=RANDOM)
    steady = Cost(core, NEXT_RANDOM + "srli t3, t0, 63\nbeqz zero, 1f\nnop\n1:\n", 4000, before=RANDOM)
    rate = random.event["INST.MISPRED.RET"]
    cost = (random.cycles - steady.cycles) / rate
    check(0.45 < rate < 0.55, f"{core}: half of the branches on random bits are mispredicted", rate)
    check(flush <= cost <= flush + 6, f"{core}: each costs the redirect and the refill",
          f"{cost:.2f} cycles, redirect and refill are {flush}")
    longer = changed(core, "redirect", fetch_redirect=d["fetch.redirect"] + 10)
    late = Cost(longer, NEXT_RANDOM + "srli t3, t0, 63\nbeqz t3, 1f\nnop\n1:\n", 4000, before=RANDOM)
    found = (late.cycles - random.cycles) / rate
    check(near(found, 10, 0.03), f"{core}: a redirect of 10 cycles more costs 10 more", f"{found:.2f} cycles")
    steps = (6, 18) if d["predictor.history_max"] >= 24 else (6,)
    for trip in steps:
        loop = f"li t3, {trip}\n1: addi t3, t3, -1\nbnez t3, 1b\n"
        rate = Cost(core, loop, 1000, before="").event["INST.MISPRED.RET"]
        check(rate < 0.02, f"{core}: the end of a loop of {trip} is in the history", f"{rate} mispredicts a loop")
    trip = 2 * d["predictor.history_max"] + 10
    rate = Cost(core, f"li t3, {trip}\n1: addi t3, t3, -1\nbnez t3, 1b\n", 1000).event["INST.MISPRED.RET"]
    check(near(rate, 1, 0.05), f"{core}: the end of a loop of {trip} is not: one mispredict each", f"{rate} mispredicts a loop")

    # A chain of calls, each with a return address of its own.
    for depth in (d["ras.entries"], d["ras.entries"] + 5):
        functions = "".join(f"f{i}: addi sp, sp, -16\nsd ra, 0(sp)\ncall f{i + 1}\nld ra, 0(sp)\naddi sp, sp, 16\nret\n"
                            for i in range(1, depth)) + f"f{depth}: ret\n"
        rate = Cost(core, "call f1\n", 1000, after=functions).event["INST.MISPRED.RET"]
        check(abs(rate - (depth - d["ras.entries"])) < 0.05, f"{core}: {depth} calls deep: returns beyond the stack are "
              "mispredicted", f"{rate} mispredicts, the stack has {d['ras.entries']} entries")
    # Returns without calls: the return address stack has no correct entry.
    empty = "la ra, 1f\nret\nnop\n1: la ra, 2f\nret\nnop\n2:\n"
    rate = Cost(core, empty, 1000).event["INST.MISPRED.RET"]
    check(near(rate, 2, 0.05), f"{core}: returns that no call announced are mispredicted", f"{rate} of 2")

    # Indirect jumps: targets in turn, and at random.
    def targets(count):
        return "".join(f".balign 64\nt{i}: j back\n" for i in range(count))
    go = "slli t4, t3, 6\nla t5, t0_\nadd t4, t4, t5\njr t4\nback:\n"
    for period in (2, 4):
        turn = f"addi t3, t3, 1\nandi t3, t3, {period - 1}\n" + go
        rate = Cost(core, turn, 1000, before="li t3, 0", after=".balign 64\nt0_:\n" + targets(period)).event["INST.MISPRED.RET"]
        check(rate < 0.01, f"{core}: an indirect jump to {period} targets in turn: the path tells which", rate)
    rate = Cost(core, NEXT_RANDOM + "srli t3, t0, 61\n" + go, 4000, before=RANDOM,
                after=".balign 64\nt0_:\n" + targets(8)).event["INST.MISPRED.RET"]
    check(0.8 < rate < 0.95, f"{core}: an indirect jump to 8 targets at random: 7 of 8 mispredicted", rate)


def fetch_properties(core, d):
    lines = 2 * d["icache.size"] // 64
    straight = Cost(core, ".option push\n.option norvc\n" + "nop\n" * 16 * lines + ".option pop\n", 8)
    found, supplied = straight.cycles / lines, 16 / d["dispatch.width"]
    # A line that comes too late was asked for when fetch got there, and those that are fetched ahead with it: they are there
    # in time.  Then the next one is late.
    ahead = d["icache.prefetch"] + 1
    expected = max((d["l2.latency"] + 64 / d["fetch.bytes"]) / ahead, supplied)
    check(near(found, expected, 0.05), f"{core}: twice as much code as the L1I: the L2's latency for each {ahead} lines",
          f"{found:.2f} cycles a line, expected {expected:.2f}")
    late = straight.event["CACHE.L1I.RD.CODE.MISS"] + straight.event["CACHE.L1I.RD.CODE.MERGE"]
    check(0.95 * lines / ahead < late <= lines, f"{core}: at least one line of {ahead} is not there when it is needed",
          f"{late} of {lines} lines")
    if d["l2.size"] < 8 * d["icache.size"]:
        return
    # Decision 2.  Jumps to targets at random, all mispredicted, whose line is in the L2: the refill without a miss is flushed,
    # what the miss adds is drained.
    blocks = 4 * d["icache.size"] // 64
    shift = 64 - (blocks.bit_length() - 1)
    plain = changed(core, "plain", icache_prefetch=0)
    jump = NEXT_RANDOM + f"srli t3, t0, {shift}\nslli t4, t3, 6\nadd t4, t4, s2\njr t4\nback:\n"
    cold = Cost(plain, jump, 8 * blocks, before=RANDOM + "la s2, t0_", after=".balign 64\nt0_:\n" + ".balign 64\nj back\n" * blocks)
    few = Cost(plain, NEXT_RANDOM + "srli t3, t0, 59\nslli t4, t3, 6\nadd t4, t4, s2\njr t4\nback:\n", 8 * blocks,
               before=RANDOM + "la s2, t0_", after=".balign 64\nt0_:\n" + ".balign 64\nj back\n" * 32)
    missing = cold.event["CACHE.L1I.RD.CODE.MISS"]
    flushed = cold.event["RETIRE.FLUSHED.CYCLES"] / cold.event["INST.MISPRED.RET"]
    expected = few.event["RETIRE.FLUSHED.CYCLES"] / few.event["INST.MISPRED.RET"]
    check(near(flushed, expected, 0.05), f"{core}: a flush lasts as long as the refill would without the miss at the target",
          f"{flushed:.2f} cycles, {expected:.2f} where the target is in the L1I")
    drained = (cold.event["RETIRE.DRAINED.CYCLES"] - few.event["RETIRE.DRAINED.CYCLES"]) / missing
    pages = 4 * d["icache.size"] // PAGE
    slack = d["l2tlb.latency"] if pages >= d["itlb.entries"] else 0
    check(d["l2.latency"] * 0.95 <= drained <= d["l2.latency"] * 1.05 + slack,
          f"{core}: what the miss adds to it is drained: the L2's latency", f"{drained:.2f} cycles, expected {d['l2.latency']}")


for name in CORES:
    keys = core_description(name)
    memory_properties(name, keys)
    branch_properties(name, keys)
    fetch_properties(name, keys)

finish()
