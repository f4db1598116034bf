#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Rules for the source folders: none has too many files, no folder depends on itself through others, nor does a file on
itself through others of its folder, and the library does not include headers of the programs (Documentation/design.md)."""
import collections
import os
import re
import shutil
import subprocess

import tap
from tap import BUILD, TOP

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
    """The functions that a folder defines and include/pesa declares."""
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
    """Uses of other folders' functions: with headers in include/ they are not visible from a folder's includes."""
    for name in files:
        if name.startswith(folder + "/"):
            with open(os.path.join(TOP, name), encoding="utf-8") as file:
                code = re.sub(r"/\*.*?\*/|//[^\n]*", "", file.read(), flags=re.S)
            for function in sorted(set(re.findall(r"\bpesa_\w+", code)) & functions):
                yield f"{name}: {function}()"


def symbols_of(objects):
    """What each object defines for others and what it takes of others, by nm.  gcc's own also reads the objects of the
    plugin, which are compiled for link-time optimization."""
    defined, used = collections.defaultdict(set), collections.defaultdict(set)
    nm = shutil.which("gcc-nm") or "nm"
    done = subprocess.run([nm, "-A", "-P", "-g", *objects], cwd=BUILD, capture_output=True, text=True, check=True)
    for line in done.stdout.splitlines():
        path, symbol, kind = re.match(r"(.*): (\S+) (\w)", line).groups()
        (used if kind in "Uw" else defined)[path].add(symbol)
    return defined, used


def calls_inside(folder, objects, defined, used):
    """Pairs of files of one folder, with the functions and tables of the second that the first uses."""
    owner = {symbol: objects[path] for path in objects if os.path.dirname(objects[path]) == folder
             for symbol in defined[path]}
    for path, name in objects.items():
        if os.path.dirname(name) != folder:
            continue
        for symbol in sorted(used[path] & owner.keys()):
            if owner[symbol] != name:
                yield name, owner[symbol], symbol


def reachable(folder, edges):
    seen, waiting = set(), [folder]
    while waiting:
        for other in edges[waiting.pop()] - seen:
            seen.add(other)
            waiting.append(other)
    return seen


if not os.path.exists(os.path.join(TOP, ".git")):  # a file in a work tree of its own
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

# A header hides which of its functions are in which file: the objects tell.
objects = {}
for tree in ("obj", "vcore", "vcore-1"):
    for name in sorted(sources):
        path = f"{tree}/{name[:-2]}.o"
        if name.endswith(".c") and name not in objects.values() and os.path.isfile(os.path.join(BUILD, path)):
            objects[path] = name
defined, used = symbols_of(objects)
edges, ties = collections.defaultdict(set), collections.defaultdict(list)
for folder in sorted({os.path.dirname(name) for name in objects.values()}):
    for one, other, symbol in calls_inside(folder, objects, defined, used):
        edges[one].add(other)
        ties[one, other].append(f"{one} -> {other}: {symbol}")
with_calls = {os.path.dirname(one) for one in edges}
tap.check(len(ties) > 100 and {"decoder/mca/engine", "tools/vcore/core"} <= with_calls,
          "what files of a folder call of each other is found", sorted(with_calls))
circles = {(one, other): ties[one, other] for one, other in ties if one in reachable(other, edges)}
tap.check(not circles, "no file of a folder is called back by one that it calls, nor by way of others",
          "\n".join(sum(circles.values(), [])))
tap.end()
