#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The folders of the sources: none has many files, none depends on itself by way of others, and the library knows
nothing of the programs (Documentation/design.md)."""
import collections
import os
import re
import subprocess

import tap
from tap import TOP

FILES_MOST = 40
# A folder below the left one includes nothing below the right ones.
RULES = {
    "include": ("decoder", "daemon", "tools", "kernel"),
    "decoder": ("daemon", "tools", "kernel"),
    "daemon": ("tools", "kernel"),
    "kernel": ("decoder", "daemon", "tools"),
    "decoder/perfdata": ("decoder/binary", "decoder/profile"),
    "decoder/binary": ("decoder/perfdata", "decoder/profile"),
    "decoder/base": ("decoder/perfdata", "decoder/binary", "decoder/profile", "decoder/mca", "decoder/riscv"),
}


def tracked():
    done = subprocess.run(["git", "-c", "safe.directory=*", "ls-files", "-co", "--exclude-standard"], cwd=TOP, capture_output=True, text=True,
                          check=True)
    return [name for name in done.stdout.splitlines() if os.path.isfile(os.path.join(TOP, name))]


def includes(files):
    """Pairs of files: the first includes the second."""
    for name in files:
        with open(os.path.join(TOP, name), encoding="utf-8") as file:
            for path in re.findall(r'^#include "([^"]+)"', file.read(), re.M):
                for place in (path, f"include/{path}", f"{os.path.dirname(name)}/{path}"):
                    if place in files:
                        yield name, place
                        break


def public_functions(folder, files):
    """Those that a folder defines and include/pesa declares."""
    declared = set()
    for name in files:
        if name.startswith("include/"):
            with open(os.path.join(TOP, name), encoding="utf-8") as file:
                declared |= set(re.findall(r"\b(pesa_\w+)\(", file.read()))
    defined = set()
    for name in files:
        if name.startswith(folder + "/") and name.endswith(".c"):
            with open(os.path.join(TOP, name), encoding="utf-8") as file:
                defined |= set(re.findall(r"^(?!static)[\w \*]*\b(pesa_\w+)\([^;{}]*\)\n\{", file.read(), re.M))
    return declared & defined


def calls(folder, functions, files):
    """Where a folder names functions of others: headers in include/ hide that from its includes."""
    for name in files:
        if name.startswith(folder + "/"):
            with open(os.path.join(TOP, name), encoding="utf-8") as file:
                code = re.sub(r"/\*.*?\*/|//[^\n]*", "", file.read(), flags=re.S)
            for function in sorted(set(re.findall(r"\bpesa_\w+", code)) & functions):
                yield f"{name}: {function}()"


def reachable(folder, edges):
    seen, waiting = set(), [folder]
    while waiting:
        for other in edges[waiting.pop()] - seen:
            seen.add(other)
            waiting.append(other)
    return seen


if not os.path.isdir(os.path.join(TOP, ".git")):
    tap.skip_all("this is no checkout")
every = tracked()
sources = {name for name in every if name.endswith((".c", ".h")) and name.split("/")[0] in
           ("include", "decoder", "daemon", "tools", "kernel")}
rooms = collections.Counter(os.path.dirname(name) for name in every
                            if name.split("/")[0] in ("include", "decoder", "daemon", "tools", "kernel"))
full = {room: count for room, count in rooms.items() if count > FILES_MOST}
tap.check(not full, f"no folder has more than {FILES_MOST} files", full)

edges = collections.defaultdict(set)
ties = collections.defaultdict(list)
for one, other in includes(sources):
    rooms_of = os.path.dirname(one), os.path.dirname(other)
    if rooms_of[0] != rooms_of[1]:
        edges[rooms_of[0]].add(rooms_of[1])
        ties[rooms_of].append(f"{one} -> {other}")
tap.check(len(ties) > 100, "what folders include of each other is found", len(ties))
circles = {(one, other): ties[one, other] for one, other in ties if one in reachable(other, edges)}
tap.check(not circles, "no folder depends on itself by way of others", "\n".join(sum(circles.values(), [])))
for low, highs in RULES.items():
    wrong = [tie for (one, other), pairs in ties.items() for tie in pairs
             if (one + "/").startswith(low + "/") and (other + "/").startswith(tuple(high + "/" for high in highs))]
    tap.check(not wrong, f"{low} includes nothing of {', '.join(highs)}", "\n".join(wrong))
    for high in highs if low != "include" else ():
        functions = public_functions(high, sources)
        if not functions:
            continue
        wrong = list(calls(low, functions, sources))
        tap.check(not wrong, f"and calls none of the {len(functions)} public functions of {high}", "\n".join(wrong))
tap.end()
