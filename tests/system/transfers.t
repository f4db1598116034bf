#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Control transfer records as branch stacks of stock perf: they are a path through the program that ends at the sample, and
they obey the filters."""
import collections
import re
import shutil
import tempfile

from board import TOP, board, compiled, core_with_transfers, instructions, kind_of_transfer, tap

DEPTH = 16
FILTERS = {"any": "any,u", "call": "any_call,u", "return": "any_ret,u", "conditional": "cond,u", "direct": "call,u",
           "kernel": "any,k", "both": "any,u,k"}
SCRIPT = "\n".join([
    *[f"perf record -q -N -j {words} -e pesa/cycles/{'' if name in ('kernel', 'both') else 'u'} -c 3000 -o /tmp/{name} ./calls 2000 "
      f"> /dev/null; echo '== {name}' $?; perf script -i /tmp/{name} -F ip,brstack 2> /dev/null"
      for name, words in FILTERS.items()],
    "echo '== refused'; perf record -q -j in_tx -e pesa/cycles/u -c 3000 -o /tmp/refused ./calls 1 > /dev/null 2>&1; echo $?",
])
ENTRY = re.compile(r"0x([0-9a-f]+)/0x([0-9a-f]+)/([MP-])")


ALLOWED = {"any": None, "call": {"direct", "indirect call"}, "return": {"return"}, "conditional": {"conditional"},
           "direct": {"direct"}}

with tempfile.TemporaryDirectory(prefix="pesa-transfers-") as share:
    program = compiled("calls", [f"{TOP}/tests/system/programs/calls.c"], "-static", "-fno-pie", "-no-pie")
    shutil.copy(program, f"{share}/calls")
    done = board("--core", core_with_transfers(share, DEPTH), "--share", share, "--console", f"{share}/console", "--", "sh", "-c", SCRIPT,
                 limit=600)
    with open(f"{share}/console", encoding="utf-8", errors="replace") as file:
        console = file.read()
code = instructions(program)
parts = dict(re.findall(r"^== (\w+) ?(.*?)(?=^== |\Z)", done.stdout, re.M | re.S))
why = f"status {done.returncode}\n{done.stderr}{console}"

for name, allowed in ALLOWED.items():
    stacks = [(int(line.split()[0], 16), [(int(source, 16), int(target, 16)) for source, target, _ in ENTRY.findall(line)])
              for line in parts.get(name, "").splitlines()[1:] if line.strip()]
    entries = [entry for _, stack in stacks for entry in stack]
    if not tap.check(len(stacks) > 20 and len(entries) > 100, f"{name}: there are samples with branch stacks",
                     parts.get(name, why)[:2000]):
        continue
    tap.check(max(len(stack) for _, stack in stacks) == DEPTH, f"{name}: as many entries as the hart has",
              max(len(stack) for _, stack in stacks))
    tap.check(not any(source >> 63 or target >> 63 for source, target in entries), f"{name}: none is of the kernel")
    kinds = collections.Counter(kind_of_transfer(*code[source]) if source in code else "nowhere" for source, _ in entries)
    # An interrupted instruction can be of any type.
    wrong = sum(count for what, count in kinds.items() if (allowed and what not in allowed) or what == "nowhere")
    tap.check(wrong == 0, f"{name}: all are of the kind that was asked for", kinds)
    if name == "any":
        # Between the target of a record and the source of the next (newer) one there is straight-line code.  Exception:
        # nothing is recorded from a sample to the end of its interrupt, so the records of the next sample may have a gap.
        pairs = [(stack[i + 1][1], stack[i][0]) for _, stack in stacks for i in range(len(stack) - 1)]
        straight = sum(1 for start, end in pairs if 0 <= end - start < 4096)
        tap.check(len(pairs) - straight <= min(len(stacks), 0.02 * len(pairs)), "each goes on where the one before went to", f"{straight} of {len(pairs)}")
        ends = sum(1 for ip, stack in stacks if stack and (0 <= ip - stack[0][1] < 4096 or any(
            source >= ip and source - ip < 64 for source, _ in stack[:4])))
        tap.check(ends >= 0.95 * len(stacks), "and the newest is the last before the sample, or of its cycle",
                  f"{ends} of {len(stacks)}")
# A sample freezes the records: they do not have the transfers between the sample and its interrupt.
newest = [int(ENTRY.findall(line)[0][1], 16) for line in parts.get("both", "").splitlines()[1:]
          if ENTRY.findall(line) and not int(line.split()[0], 16) >> 63]
of_user = sum(1 for target in newest if not target >> 63)
# 95 % and more, by two standard errors of so few.
tap.check(len(newest) > 20 and of_user >= 0.95 * len(newest) - 2 * (0.95 * 0.05 * len(newest)) ** 0.5,
          "of both modes: the newest transfer of a sample of the program is the program's", f"{of_user} of {len(newest)}")
kernel = ENTRY.findall(parts.get("kernel", ""))
tap.check(kernel and all(source.startswith("ff") and target.startswith("ff") for source, target, _ in kernel),
          "of the kernel there is nothing else", kernel[:5] or why)
tap.check(not parts.get("refused", "0\n").strip().endswith("\n0") and parts.get("refused", "").strip() not in ("", "0"),
          "what the records cannot tell is refused", parts.get("refused"))
tap.check(not re.search(r"BUG:|WARNING:|Oops|Call Trace", console), "the kernel complains of nothing", console)
tap.end()
