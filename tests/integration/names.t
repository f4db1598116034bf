#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Names that users type or paste: what report prints, annotate takes; suffixes, mangled names, parts, and mistyped ones."""
import json
import os
import re
import shutil
import subprocess
import tempfile

from tap import PESA, CROSS, check, end, needs, skip_all

CXX = CROSS + "g++"
LONG = "a_function_whose_name_is_longer_than_every_column_that_it_stands_in"
PROGRAM = """
#include <vector>
template <int N, class T> struct Machine {
	static __attribute__((noipa)) T step(const std::vector<T> &v) { T s = 0; for (T x : v) s = s * N + x; return s; }
};
extern "C" __attribute__((noipa)) long LONG_first(long n) { long s = 0; for (long i = 0; i < n; i++) s += i ^ s; return s; }
extern "C" __attribute__((noipa)) long LONG_second(long n) { long s = 1; for (long i = 0; i < n; i++) s += i ^ s; return s; }
long clone(long n) __asm__("sorted.constprop.0");
__attribute__((noipa)) long clone(long n) { long s = 2; for (long i = 0; i < n; i++) s += i ^ s; return s; }
namespace shop {
namespace { __attribute__((noipa)) long idle(long n) { return n * 3; } }
__attribute__((noipa)) long busy(long n) { long s = 2; for (long i = 0; i < n; i++) s += i ^ s; return s; }
}
int main() {
	std::vector<unsigned> v(20000, 3);
	std::vector<unsigned long> w(20000, 3);
	return (Machine<3, unsigned>::step(v) + Machine<5, unsigned>::step(v) + Machine<7, unsigned long>::step(w) +
		LONG_first(9000) + LONG_second(9000) + clone(9000) + shop::busy(9000) + (v.size() == 1 ? shop::idle(1) : 0)) & 1;
}
""".replace("LONG", LONG)


def run(*command, **environment):
    return subprocess.run(command, capture_output=True, text=True, check=False,
                          env=dict(os.environ, LC_ALL=environment.get("locale", "C.UTF-8"), COLUMNS=environment.get("columns", "")))


def pesa(*arguments, **environment):
    return run(PESA, *arguments, **environment)


def annotated(*arguments, **environment):
    """The names of the functions that annotate shows."""
    shown = pesa("annotate", "--json", *arguments, **environment)
    return [one["symbol"] for one in json.loads(shown.stdout)["functions"]] if shown.stdout.startswith("{") else []


if not shutil.which(CXX):
    skip_all(needs("g++-riscv64-linux-gnu"))
work = tempfile.mkdtemp(prefix="pesa-names-")
os.chdir(work)
with open("program.cc", "w", encoding="ascii") as file:
    file.write(PROGRAM)
subprocess.run([CXX, "-O1", "-g", "-static", "-o", "program", "program.cc"], check=True)
run(PESA, "record", "-q", "--core", "ooo-4", "-c", "300", "--", "./program")
everything = json.loads(pesa("report", "--json").stdout)["functions"]
names = {one["symbol"] for one in everything}

for locale, columns in (("C.UTF-8", ""), ("C", ""), ("C.UTF-8", "60"), ("C", "60")):
    printed = pesa("report", "-p", "1", locale=locale, columns=columns).stdout
    rows = re.findall(r"^ +[\d.]+%.* program  +(\S.*?)(?: +(?:retiring|stalled|flushed|drained).*| *)$", printed, re.M)
    lost = [row for row in rows if not annotated(row, locale=locale)]
    check(len(set(rows)) == len(rows), f"shortened names are distinct in the locale {locale}, {columns or 'many'} columns", printed)
    cut = [row for row in rows if row.startswith(("…", ".."))]
    check(len({len(row) for row in cut}) <= 1 and (not columns or cut), "shortened at their beginning they have all of their column", cut)
    check(len(rows) >= 6 and not lost, f"annotate takes every name that report prints in the locale {locale}, {columns or 'many'} columns",
          f"{printed}\n{lost}")

for typed, meant in {
        "sorted": ["sorted.constprop.0"],
        "sorted.isra.0.constprop.1": ["sorted.constprop.0"],
        LONG + "_first": [LONG + "_first"],
        LONG + "_f…": [LONG + "_first"],
        "…_second": [LONG + "_second"],
        "a_function…_second": [LONG + "_second"],
        "whose_name": [LONG + "_first", LONG + "_second"],
        "WHOSE_NAME": [LONG + "_first", LONG + "_second"],
        "_ZN7MachineILi7EmE4stepERKSt6vectorImSaImEE": [name for name in names if name.startswith("Machine<7")],
        "Machine<7, unsigned long>::step": [name for name in names if name.startswith("Machine<7")],
        "Machine<…>::step(…)": [name for name in names if name.startswith("Machine<")],
        "shop::": [name for name in names if name == "shop::busy(long)"],
        "Machine<7, unsigned long>::step+0x2": [name for name in names if name.startswith("Machine<7")],
        "step(…)": [name for name in names if name.startswith("Machine<")],
}.items():
    check(sorted(annotated(typed)) == sorted(meant) and meant, f"annotate {typed} shows {len(meant)}", f"{annotated(typed)} {meant}")
# Places: of samples, of instructions, of lines.
addresses = {one["symbol"]: one["address"] for one in json.loads(pesa("annotate", "--json", LONG + "_first").stdout)["functions"]}
first = addresses[LONG + "_first"]
scripted = set(re.findall(r": +[0-9a-f]+ (\S.*?\+0x[0-9a-f]+) \(", pesa("script").stdout))
check(len(scripted) > 20 and all(annotated(one) == [one.rpartition("+")[0]] for one in sorted(scripted)[::max(1, len(scripted) // 20)]),
      "annotate takes the places that script prints", sorted(scripted)[:5])
for typed in (f"{first + 2:x}", f"{first + 2:#x}", f"program+{first + 2:#x}", LONG + "_first+0x2"):
    check(annotated(typed) == [LONG + "_first"], f"annotate {typed} shows the function of the address", annotated(typed))
printed = pesa("report", "--sort", "line", "-p", "1").stdout
lines = set(re.findall(r"\b(program\.cc:\d+)\b", printed))
check(len(lines) >= 4 and all(annotated(one) for one in lines), "annotate takes the lines that report prints", printed)
number = 1 + [LONG + "_second" in line for line in PROGRAM.splitlines()].index(True)
check(annotated(f"program.cc:{number}") == [LONG + "_second"], "and shows the functions that have one", annotated(f"program.cc:{number}"))
for typed in ("program.cc:9999", "other.cc:8", "program+0x2", ""):
    check(not annotated(typed) and "no function" in pesa("annotate", typed).stderr, f"'{typed}' is no place with a function")
check(json.loads(pesa("explain", "--json", LONG + "_first+0x2").stdout)["function"]["symbol"] == LONG + "_first", "explain takes such a place")
check(annotated("-s", "main") == annotated("main") == ["main"], "-s is the symbol, as perf has it")
check(annotated("-s", "main", "--dsos", "other,program") == ["main"] and not annotated("main", "-d", "other"), "-d is a list of binaries")
mistyped = pesa("anotate")
check(mistyped.returncode == 2 and "do you mean 'annotate'?" in mistyped.stderr and "do you mean" not in pesa("zzz").stderr,
      "a mistyped subcommand is answered with the nearest", mistyped.stderr)
mistyped = pesa("annotate", "sroted")
check(mistyped.returncode == 1 and "do you mean 'sorted.constprop.0'?" in mistyped.stderr and mistyped.stderr.count("\n") == 1,
      "a mistyped name is answered with the nearest", mistyped.stderr)
check("do you mean" not in pesa("annotate", "nothing_like_it").stderr, "and with none where none is near")

# Rows of report, as perf chooses them.
def reported(*words, rows="functions"):
    shown = pesa("report", "--json", *words)
    return [(one["symbol"], one["share"]) for one in json.loads(shown.stdout)[rows]] if shown.returncode == 0 else shown.stderr


shares = {one["symbol"]: one["share"] for one in everything}
stepped = sorted(name for name in names if name.startswith("Machine<"))
for words, meant in ((("-S", "main,sorted"), ["main", "sorted.constprop.0"]), (("--symbols", "Machine<…>::step(…)"), stepped),
                     (("-S", "main," + stepped[0]), ["main", stepped[0]]), (("-d", "program", "-S", "main"), ["main"]),
                     (("-d", "program,program"), sorted(names))):
    rows = reported(*words)
    check(sorted(rows) == sorted((name, shares[name]) for name in meant), f"report {' '.join(words)} has {len(meant)} rows, their shares of all cycles",
          rows)
check({name for name, _ in reported("-S", "main", "-s", "sym,insn", rows="instructions")} == {"main"}, "and instructions of one function")
check([name for name, _ in reported("-S", "main", "--children", rows="groups")] == ["main"], "and inclusive cycles")
text = pesa("report", "-S", "main", "-p", "0").stdout
check(re.search(r"^ .* main +", text, re.M) and not any(name in text for name in names - {"main"}) and "more below" not in text,
      "the text has no others", text)
plain = pesa("report").stdout
check(plain and plain == pesa("report", "-F", "overhead,sample").stdout == pesa("report", "-s", "overhead,dso,sym").stdout
      and pesa("report", "-F", "overhead,comm,dso").stdout == pesa("report", "-s", "comm,dso").stdout != plain,
      "-F is --sort, and figures that are always shown are no keys")
for words, status, said in ((("-S", "sroted"), 1, "do you mean 'sorted.constprop.0'?"), (("-d", "program,other"), 1, "'other'"),
                            (("-d", "program", "-s", "comm"), 2, "add the key dso"), (("-S", "main", "-s", "dso"), 2, "add the key sym"),
                            (("-S", "main", "--html", "x.html"), 2, "--html"), (("-d", "program", "--callee", "main"), 2, "--callee")):
    shown = pesa("report", *words)
    check(shown.returncode == status and shown.stderr.count("\n") == 1 and said in shown.stderr, f"report {' '.join(words)}: one line", shown.stderr)

run(PESA, "record", "-q", "--core", "ooo-4", "-c", "500", "-o", "other.data", "--", "./program")
for name in ("sorted", "sorted.constprop.0"):
    rows = json.loads(pesa("diff", "--json", "-S", name, "perf.data", "other.data").stdout)["rows"]
    check([row["symbol"] for row in rows] == ["sorted.constprop.0"], f"diff -S {name} compares one function", rows)
check("do you mean 'sorted.constprop.0'?" in pesa("diff", "-S", "sroted", "perf.data", "other.data").stderr,
      "diff answers a mistyped name")
header = re.search(r"^ +Change .*$", pesa("diff", "perf.data", "other.data").stdout, re.M)
check(header and re.search(r" Binary +Function$", header[0]), "diff has a column with the binary", header)
same = pesa("diff", "perf.data", "perf.data", "-p", "0").stdout
check(not re.findall(r"^ +[-+]0 ", same, re.M) and f"and {len(everything)} more that did not change" in same,
      "of a recording and itself diff shows no row", same)
inside = pesa("diff", "-s", "insn", "-S", "main", "perf.data", "other.data").stdout
check("without cycles" in inside and not re.findall(r"^ +[-+]0 .* 0 +0 ", inside, re.M), "diff shows no instruction without cycles", inside)
shutil.rmtree(work)
end()
