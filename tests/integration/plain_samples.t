#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Samples whose PC skids: cycles are given back to the instructions that waited, on the virtual core, against its exact profile."""
import json
import os
import tempfile

from tap import PESA, GUEST_CC, bail_out, check, command, end

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


def record(core, *options):
    done = command(PESA, "record", "-q", "--core", core, "-c", "256", "--sampler", "lcofi", "-o", "data", "--golden", "golden", *options,
                   "--", "./divide")
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

record("ooo-4", "--sampler", "shpms")
done = command(PESA, "error", "--estimate", "-i", "data", "--event", "pesa/cycles/", "--golden", "golden")
check(done.returncode == 1 and b"does not skid" in done.stderr,
      "samples whose PC is exact are no matter for estimates", done.stderr)
for bad in ("x", "5-3", "-1", "1-", "1001", "3-6x"):
    done = command(PESA, "record", "--core", "ooo-4", "--skid", bad, "--", "./divide")
    check(done.returncode == 2 and b"--skid" in done.stderr,
      f"--skid {bad} is refused", done.stderr)
end()
