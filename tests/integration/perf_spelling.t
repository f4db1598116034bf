#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What users of perf type: every option and subcommand of the perf that is installed is accepted, or answered in one line."""
import os
import re
import shutil
import subprocess
import tempfile

from tap import PESA, check, end, needs, skip

PERF = shutil.which("perf")
REFUSED = re.compile("unrecognized option|invalid option|ambiguous|allow an argument|requires an argument|is not a command")
# Enough for the subcommand to end at once when the option has no effect.
REST = {
    "record": ["--", "/nonexistent"],
    "stat": ["--", "/nonexistent"],
    "diff": ["/nonexistent", "/nonexistent"],
    "top": ["--once", "--socket", "/nonexistent"],
    "list": [],
}
# Options that do something else in pesa, as both manual pages say; the letter or the name means what pesa says.
OTHERS = {("top", "-n"), ("top", "-b"), ("report", "-p"), ("record", "--period"), ("record", "--cpu"), ("stat", "--cpu")}


def run(*command):
    result = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, cwd=work,
                            env=dict(os.environ, PAGER="cat"), timeout=60)
    return result


def perf_options(command):
    """The options of `perf COMMAND -h`: (spelling, whether it needs an argument)."""
    text = run(PERF, command, "-h")
    found = []
    for line in (text.stdout + text.stderr).splitlines():
        match = re.match(r"^\s{4,8}(?:(-\w)(?:, )?)?(--[\w-]+)?(\[=.*\]|\s<\S[^>]*>)?", line)
        if not match or not (match[1] or match[2]) or not line[:9].strip(" ") and not match[2]:
            continue
        takes = bool(match[3]) and match[3].startswith(" ")
        found += [(name, takes) for name in match.groups()[:2] if name]
    return found


def argument_for(name):
    values = {"--cpu": "0", "-C": "0", "--pid": "1", "--tid": "1", "-p": "1", "-t": "1", "--percent-limit": "1",
              "--sort": "dso", "-s": "dso", "-F": "max", "--freq": "max", "-e": "cycles", "--event": "cycles", "-m": "8",
              "--mmap-pages": "8", "-c": "1000000", "--count": "1000000", "--call-graph": "fp", "--color": "never",
              "--percentage": "absolute", "--fields": "overhead", "--stdio-color": "never", "-r": "2", "--repeat": "2",
              "-I": "100", "--interval-print": "100", "--timeout": "100", "-d": "1", "--delay": "1", "-o": "out"}
    return values.get(name, "x")


def refusals(command):
    """What pesa says to options that it does not know, and what it says in more than one line."""
    wrong = []
    for name, takes in perf_options(command):
        if (command, name) in OTHERS:
            continue
        words = [name, argument_for(name)] if takes else [name]
        result = run(PESA, command, *words, *REST.get(command, ["-i", "/nonexistent"]))
        if REFUSED.search(result.stderr) or len(result.stderr.splitlines()) > 1 or result.returncode < 0:
            wrong.append(f"pesa {command} {' '.join(words)}: {result.stderr.strip()}")
    return wrong


with tempfile.TemporaryDirectory() as work:
    if PERF:
        for subcommand in ("report", "annotate", "script", "record", "stat", "diff", "top", "list"):
            count = len(perf_options(subcommand))
            missing = refusals(subcommand)
            check(count > 5 and not missing, f"pesa {subcommand} takes or answers every option of perf {subcommand}",
                  f"{count} options\n" + "\n".join(missing))
        names = run(PERF, "--list-cmds").stdout.split()
        unknown = [name for name in names if name != "help" and "is not a command" in run(PESA, name, "--list-opts").stderr]
        check(len(names) > 20 and not unknown, "pesa has or answers every subcommand of perf", unknown)
    else:
        skip("options and subcommands beside perf's", needs("linux-perf"))
    hierarchy = run(PESA, "report", "--hierarchy")
    check(hierarchy.returncode == 2 and hierarchy.stderr.startswith("pesa report: perf's --hierarchy: ") and
          hierarchy.stderr.count("\n") == 1, "an answer is one line that names the option, and a usage error", hierarchy.stderr)
    check(run(PESA, "version").stdout == run(PESA, "--version").stdout != "", "'pesa version' prints the version")
    end()
