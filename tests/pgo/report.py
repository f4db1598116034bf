# SPDX-License-Identifier: GPL-2.0-or-later
"""Tables of pgo.py and flow.py, and the place in a document where they stand."""
import datetime
import math
import os
import shlex
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "accuracy"))
from columns import replace_between, wrapped  # noqa: E402  pylint: disable=wrong-import-position

KINDS = {"plain": "plain PCs", "20k": "20,000", "200k": "200,000", "exact": "exact", "own": "instrumented", "stale": "other build"}


def change(cycles, kind):
    """Relative change of the cycles by a profile."""
    return cycles[kind] / cycles["none"] - 1


def mean(rows, kind):
    """Change in the geometric mean."""
    return math.exp(sum(math.log(cycles[kind] / cycles["none"]) for cycles in rows) / len(rows)) - 1


def machine():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        model = next((line.split(":")[1].strip() for line in file if line.startswith("model name")), "unknown")
    return f"{os.cpu_count()} x {model}, {datetime.datetime.now(datetime.timezone.utc):%F}"


def command():
    words, skip = [os.path.relpath(os.path.abspath(sys.argv[0]))], False
    for word in sys.argv[1:]:
        if skip or word in ("-o", "--jobs", "--json"):
            skip = not skip
            continue
        words.append(word)
    return shlex.join(words)


def table(rows, order):
    """Rows: cycles by kind, by program."""
    kinds = [kind for kind in KINDS if all(kind in cycles for cycles in rows.values())]
    lines = ["| program | million cycles | " + " | ".join(KINDS[kind] for kind in kinds) + " |",
             "| --- |" + " ---: |" * (len(kinds) + 1)]
    for name in order:
        if name in rows:
            cycles = rows[name]
            lines.append(f"| {name} | {cycles['none'] / 1e6:.1f} | " + " | ".join(f"{change(cycles, kind):+.1%}" for kind in kinds) + " |")
    all_rows = list(rows.values())
    lines.append("| geometric mean | | " + " | ".join(f"{mean(all_rows, kind):+.2%}" for kind in kinds) + " |")
    own = math.log1p(mean(all_rows, "own"))
    lines.append("| of the gain of instrumentation | | "
                 + " | ".join(f"{math.log1p(mean(all_rows, kind)) / own:.0%}" if own < 0 else "" for kind in kinds) + " |")
    lines.append("| slowest | | " + " | ".join(f"{max(change(cycles, kind) for cycles in all_rows):+.1%}" for kind in kinds) + " |")
    return "\n".join(lines)


def tables(results, combinations, order):
    parts = [f"`{command()}` on {machine()}. Change of the cycles of the other input, by the profile that the compiler had."]
    for compiler, core in combinations:
        rows = {name: cycles for (one, other, name), cycles in results.items() if (one, other) == (compiler, core)}
        if rows:
            parts.append(f"{compiler}, {core}:\n\n{table(rows, order)}")
    return "\n\n".join(parts) + "\n"


def replace(path, what, text):
    """Put a text between the marks of a document."""
    replace_between(path, f"<!-- {what}: begin -->\n", f"<!-- {what}: end -->\n", wrapped(f"\n{text}\n"))
