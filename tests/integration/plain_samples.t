#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Samples whose PC skids: cycles are given back to the instructions that waited, on the virtual core, against its exact profile."""
import json
import os
import struct
import sys
import tempfile

from tap import TOP, PESA, GUEST_CC, bail_out, check, command, end

sys.path.insert(0, os.path.join(TOP, "tests/accuracy"))
from random_program import Program  # noqa: E402  pylint: disable=wrong-import-position
from sysroot import sysroot  # noqa: E402  pylint: disable=wrong-import-position

work = tempfile.mkdtemp(prefix="pesa-plain-samples-")
os.chdir(work)

# Each iteration waits for a division; an interrupt lands some additions later.
DIVIDE = """
	.option norvc
	.globl _start
_start:	li s0, 5000
	li a0, 1
	li a1, 1
	.balign 64
1:	add a2, a1, a1
	.globl divide
divide:	div a0, a0, a1
	.rept 20
	add a3, a1, a1
	.endr
	addi s0, s0, -1
	bnez s0, 1b
	li a0, 0
	li a7, 93
	ecall
"""
with open("divide.s", "w", encoding="ascii") as out:
    out.write(DIVIDE)
made = command(GUEST_CC, "-static", "-nostdlib", "divide.s", "-o", "divide")
if made.returncode:
    bail_out("cannot build the guest program:", made.stderr.decode())


def record(core, *options, sampler="lcofi", program="./divide"):
    done = command(PESA, "record", "-q", "--core", core, "-c", "256", "--sampler", sampler, "-o", "data", "--golden", "golden", *options,
                   "--", *([program] if isinstance(program, str) else program))
    if done.returncode:
        bail_out("cannot record:", done.stderr.decode())


def rows(*options):
    """The instructions that annotate shows, by address."""
    document = json.loads(command(PESA, "annotate", "--json", "--full", "--no-source", "-i", "data", *options).stdout)
    return document, {one["address"]: one for one in document["instructions"]}


def errors(*options):
    return json.loads(command(PESA, "error", "--json", "-i", "data", "--golden", "golden", *options).stdout)


for core in ("inorder-2", "ooo-4"):
    for name, skid in (("one instruction", ["--skid", "1"]), ("3 to 6 instructions", ["--skid", "3-6"]), ("as far as the front end", [])):
        record(core, *skid)
        found = errors("--estimate")
        check(found["error"] > 0.75 and found["estimate"]["error"] < 0.05,
      f"{core}: a skid of {name} puts most cycles on wrong instructions, and the estimate hardly any", found)
        check(found["estimate"]["held"] > 0.9,
      f"{core}: {name}: the exact number is in most intervals", found)

# A loop of short blocks: the front end stops at the same instructions each time, so that most of its blocks have no samples at all.
# Its last branches go past one instruction, which must not be taken for executed more often than what follows it.
LOOP = """
	.option norvc
	.globl _start
_start:	li s0, 20000
	li a1, 1
	fcvt.d.l fa4, a1
	fcvt.d.l fa5, zero
	fmv.d fa2, fa4
	fmv.d fa1, fa5
	fmv.d fa0, fa5
	.balign 64
1:	flt.d a3, fa5, fa2
	fmadd.d fa4, fa4, fa0, fa5
	fcvt.d.w fa3, s0
	beqz a3, 2f
	flt.d a3, fa1, fa5
	bnez a3, 3f
2:	fmv.d fa5, fa3
3:	flt.d a3, fa4, fa2
	beqz a3, 4f
	flt.d a3, fa1, fa4
	beqz a3, 4f
	fmv.d fa3, fa4
4:	addi s0, s0, -1
	bnez s0, 5f
	li a0, 0
	li a7, 93
	ecall
5:	fmv.d fa4, fa3
	j 1b
"""
with open("loop.s", "w", encoding="ascii") as out:
    out.write(LOOP)
made = command(GUEST_CC, "-static", "-nostdlib", "loop.s", "-o", "loop")
if made.returncode:
    bail_out("cannot build the guest program:", made.stderr.decode())
for core in ("inorder-2", "ooo-3", "ooo-4", "ooo-8"):
    record(core, program="./loop")
    found = errors("--estimate")
    check(found["error"] > 0.5 and found["estimate"]["error"] < 0.2 and found["estimate"]["flow"] < 0.25,
      f"{core}: blocks of a loop that have no samples are executed as often as those that have them all", found)

# A write of a CSR empties the pipeline, so that interrupts enter behind it.
SERIAL = """
	.option norvc
	.globl _start
_start:	li s0, 5000
	li a1, 1
	.balign 64
1:	.rept 4
	add a2, a1, a1
	.endr
	fsflags a1
	.rept 20
	add a3, a1, a1
	.endr
	addi s0, s0, -1
	bnez s0, 1b
	li a0, 0
	li a7, 93
	ecall
"""
with open("serial.s", "w", encoding="ascii") as out:
    out.write(SERIAL)
made = command(GUEST_CC, "-static", "-nostdlib", "serial.s", "-o", "serial")
if made.returncode:
    bail_out("cannot build the guest program:", made.stderr.decode())
for core in ("ooo-3", "ooo-4", "ooo-8"):
    record(core, "--skid", "0-20", program="./serial")
    found = errors("--estimate")
    check(found["error"] > 0.5 and found["estimate"]["error"] < 0.35,
      f"{core}: what follows a write of a CSR waits for it", found)

# Flow alone gives a loop cycles of others: samples tell how many each has.
Program(1025583244054).build("drawn")
record("ooo-4", "--cpu", "rv64,v=true", "--sysroot", sysroot(work), "--skid", "0-20", program=["./drawn", "100"])
found = errors("--estimate")
check(found["error"] < 0.15 and found["estimate"]["flow"] > 0.3 and found["estimate"]["error"] < 0.15,
      "loops whose samples are right already have as many cycles by the estimate", found)

# A whole program, at whose hottest instruction a flow that is not conserved at branches collects nearly all.
Program(752243852992).build("drawn")
record("ooo-4", "--cpu", "rv64,v=true", "--sysroot", sysroot(work), program=["./drawn", "900"])
found = errors("--estimate")
most = max(one["cycles"] or 0 for one in rows()[1].values())
check(found["estimate"]["error"] < 0.6 * found["error"] and most < 0.45 * found["cycles"],
      "an instruction past which branches go does not collect the cycles of its loop", (found, most))

record("ooo-4", "--skid", "1")
exact = json.loads(command(PESA, "annotate", "--json", "--full", "--no-source", "-i", "golden").stdout)["instructions"]
hottest = max(exact, key=lambda one: one["cycles"] or 0)["address"]
document, estimated = rows()
sampled_document, sampled = rows("--raw")
check(max(estimated, key=lambda at: estimated[at]["cycles"] or 0) == hottest
      and max(sampled, key=lambda at: sampled[at]["cycles"] or 0) == hottest + 4,
      "the division is blamed by the estimate, and the addition behind it by the samples", hottest)
check(estimated[hottest]["sampled_cycles"] < 1000 and estimated[hottest]["cycles_interval"][0] < estimated[hottest]["cycles"]
      and "Div" in estimated[hottest]["predicted"]["waits_for"],
      "beside it stand what was sampled, an interval, and what the model says that it waits for", estimated[hottest])
check(document["estimate"]["model"] == "sifive-p670" and document["estimate"]["generic"] is False
      and sampled_document["estimate"] is None,
      "the document says by which model, and --raw that there is no estimate", document["estimate"])
check(abs(sum(one["cycles"] or 0 for one in estimated.values()) - sum(one["cycles"] or 0 for one in sampled.values()))
      < 0.01 * sum(one["cycles"] or 0 for one in sampled.values()),
      "what was sampled is not lost: both add up to the same")
text = command(PESA, "annotate", "-i", "data").stdout.decode()
check("estimates, by control flow and the model sifive-p670" in text and "waits for SiFiveP600Div" in text,
      "the text says that cycles are estimates, and what the division waits for", text)
check("Predicted" not in command(PESA, "annotate", "--raw", "-i", "data").stdout.decode(),
      "as sampled, no column is empty")


def agree(reported, annotated):
    """annotate shows the hottest functions, report all."""
    found = {one["address"]: one["cycles"] for one in reported["instructions"]}
    return len(annotated) > 20 and all(found.get(at, 0) == (one["cycles"] or 0) for at, one in annotated.items())


by_report = json.loads(command(PESA, "report", "--json", "-s", "insn", "-i", "data").stdout)
check(agree(by_report, estimated) and by_report["estimate"] == json.loads(command(PESA, "annotate", "--json", "-i", "data").stdout)["estimate"],
      "pesa report by instruction has the same estimates", by_report["instructions"][:2])
by_report = json.loads(command(PESA, "report", "--json", "-s", "insn", "--raw", "-i", "data").stdout)
check(agree(by_report, sampled) and by_report["estimate"] is None, "with --raw, too, the samples")
text = command(PESA, "report", "--stdio", "-s", "sym,insn", "-i", "data").stdout.decode()
check("estimates, by control flow and the model sifive-p670" in text, "its text says so", text)
text = command(PESA, "report", "--stdio", "-i", "data").stdout.decode()
check("estimates" not in text, "functions have what was sampled", text)
for words in (["--mcpu=rocket-rv64"], ["-s", "insn", "--raw", "--mcpu=rocket-rv64"], ["--calibration", "x"]):
    done = command(PESA, "report", "--stdio", "-i", "data", *words)
    check(done.returncode == 2 and b"estimates" in done.stderr, f"report {' '.join(words)} is a usage error", done.stderr)
document, _ = rows("-mcpu=rocket-rv64")
check(document["estimate"]["model"] == "rocket-rv64",
      "another model can be named", document["estimate"])

# What names an instruction by itself is left alone.
for sampler in ("next-commit", "last-commit", "dispatch"):
    record("inorder-2", sampler=sampler)
    document, shown = rows()
    raw_document, raw = rows("--raw")
    check(document["estimate"] is None and document["event"] == f"pesa/{sampler}/"
          and {at: one["cycles"] for at, one in shown.items()} == {at: one["cycles"] for at, one in raw.items()},
          f"{sampler}: no interrupt moves the PC, so cycles are as sampled", document["estimate"])
    done = command(PESA, "error", "--estimate", "-i", "data", "--golden", "golden")
    check(done.returncode == 1 and b"does not skid" in done.stderr, f"{sampler}: there is nothing to estimate", done.stderr)
    text = command(PESA, "annotate", "-i", "data").stdout.decode()
    check("PC is not exact" in text and "skidding" not in text, f"{sampler}: nor is it said to skid", text)


def mark_exact(most):
    """Mark the first samples of the recording as exact, as the kernel marks those whose PC a register has."""
    with open("data", "r+b") as file:
        content = bytearray(file.read())
        at, size = struct.unpack_from("<QQ", content, 40)
        end_at = at + size
        while at < end_at and most:
            kind, misc, length = struct.unpack_from("<IHH", content, at)
            if kind == 9:
                struct.pack_into("<H", content, at + 4, misc | 1 << 14)
                most -= 1
            at += length
        file.seek(0)
        file.write(content)


record("inorder-2", "--skid", "3-6", "--compression=0")
mark_exact(-1)
document, shown = rows()
check(document["estimate"] is None and document["skidding_samples"] == 0 and rows("--raw")[1] == shown,
      "a PC that is exact is not moved", (document["estimate"], document["skidding_samples"]))
record("inorder-2", "--skid", "3-6", "--compression=0")
mark_exact(1)
document, shown = rows()
check(document["estimate"] is None and document["skidding_samples"] == document["samples"] - 1 and rows("--raw")[1] == shown,
      "nor are others beside it", (document["estimate"], document["skidding_samples"]))

record("ooo-4", sampler="shpms")
done = command(PESA, "error", "--estimate", "-i", "data", "--event", "pesa/cycles/", "--golden", "golden")
check(done.returncode == 1 and b"does not skid" in done.stderr,
      "samples whose PC is exact are no matter for estimates", done.stderr)
for bad in ("x", "5-3", "-1", "1-", "1001", "3-6x"):
    done = command(PESA, "record", "--core", "ooo-4", "--skid", bad, "--", "./divide")
    check(done.returncode == 2 and b"--skid" in done.stderr,
      f"--skid {bad} is refused", done.stderr)
end()
