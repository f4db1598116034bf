# SPDX-License-Identifier: GPL-2.0-or-later
"""Two answers of a command as JSON: whether they have the same numbers.

Lists may be in another order, since equal weights are in the order of the address space.  Fractions may differ in their last
digits, since sums of squares are added in another order.
"""
import json
import math

from tap import PESA, command


def numbers(path, *words, env):
    """All that a command says of an input as JSON, in order, but for what names files, and the number of records that were walked."""
    run = command(PESA, *words, "--json", "-i", path, env=env)
    if run.returncode:
        return {"failed": run.stderr.decode()}
    whole = json.loads(run.stdout)
    for name in ("input", "cmdline", "distinct_records", "problems"):
        whole.pop(name, None)
    return in_order(whole)


def in_order(value):
    """A value whose lists are sorted, by six digits of their fractions."""
    if isinstance(value, dict):
        return {name: in_order(each) for name, each in value.items()}
    if isinstance(value, list):
        return sorted((in_order(each) for each in value), key=lambda each: json.dumps(rounded(each), sort_keys=True))
    return value


def rounded(value):
    if isinstance(value, dict):
        return {name: rounded(each) for name, each in value.items()}
    if isinstance(value, list):
        return [rounded(each) for each in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value


def differences(left, right, where=""):
    """Where two values in order differ, and how."""
    if isinstance(left, dict) and isinstance(right, dict):
        for name in sorted(set(left) | set(right)):
            yield from differences(left.get(name), right.get(name), f"{where}.{name}")
    elif isinstance(left, list) and isinstance(right, list) and len(left) == len(right):
        for i, pair in enumerate(zip(left, right)):
            yield from differences(*pair, f"{where}[{i}]")
    elif isinstance(left, (int, float)) and isinstance(right, (int, float)) and isinstance(left, float) | isinstance(right, float):
        if not math.isclose(left, right, rel_tol=1e-9):
            yield f"{where}: {left} {right}"
    elif left != right:
        yield f"{where}: {str(left)[:200]} {str(right)[:200]}"
