#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What `pesa compare` finds wrong where nothing is: programs of the distribution, as it built them, without changes of the model.

The packages for riscv64 come from the mirror and the keyring of this machine's apt, of the suite given, into a cache; they run on the
virtual core with these libraries.  Each finding is one too many.

  tests/accuracy/distribution.py [-o FILE] [--cores NAMES] [--programs NAMES] [--suite NAME] [--jobs N] [--json FILE]

With -o the table in FILE (Documentation/compare.md) is replaced.  What --json has in FILE already is not run again: an interrupted run
goes on where it was.
"""
import argparse
import json
import os
import random
import struct
import sys
import tempfile
import zlib

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from accuracy import PESA, Failed, image, numbers, sound, text  # noqa: E402  pylint: disable=wrong-import-position
from columns import replace_between, wrapped  # noqa: E402  pylint: disable=wrong-import-position
from compare import comparison_of  # noqa: E402  pylint: disable=wrong-import-position
from pool import gather, run  # noqa: E402  pylint: disable=wrong-import-position
from sysroot import no_cache  # noqa: E402  pylint: disable=wrong-import-position

BEGIN, END = "<!-- distribution: begin -->\n", "<!-- distribution: end -->\n"
CACHE = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "pesa", "distribution")
KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg"
PERIOD = 997
APT_SECONDS = 1800
CORES = "inorder-2,ooo-3,ooo-4,ooo-8"

# ---- Programs: the package, and what it does ---------------------------------------------------------------------------


def formula(folder, variables):
    """A random 3-SAT formula below the threshold at which most have no solution."""
    random.seed(5)
    path = os.path.join(folder, "formula.cnf")
    clauses = int(variables * 4.1)
    with open(path, "w", encoding="ascii") as out:
        out.write(f"p cnf {variables} {clauses}\n")
        for _ in range(clauses):
            chosen = random.sample(range(1, variables + 1), 3)
            out.write(" ".join(str(one if random.random() < 0.5 else -one) for one in chosen) + " 0\n")
    return path


def packing(folder, items):
    """A knapsack, in the format of CPLEX."""
    random.seed(6)
    path = os.path.join(folder, "packing.lp")
    weights = [random.randint(5, 60) for _ in range(items)]
    with open(path, "w", encoding="ascii") as out:
        out.write("Maximize\n value: " + " + ".join(f"{w + random.randint(0, 9)} x{i}" for i, w in enumerate(weights)) + "\nSubject To\n")
        out.write(" room: " + " + ".join(f"{w} x{i}" for i, w in enumerate(weights)) + f" <= {sum(weights) // 3}\n")
        out.write("Binary\n " + " ".join(f"x{i}" for i in range(items)) + "\nEnd\n")
    return path


def records(folder, count):
    random.seed(7)
    path = os.path.join(folder, "records.json")
    with open(path, "w", encoding="ascii") as out:
        json.dump([{"id": i, "name": f"part{random.randint(0, 999)}", "weight": random.random(), "tags": random.sample("abcdefgh", 3)}
                   for i in range(count)], out)
    return path


def png(folder, width, height):
    """The image of accuracy.py, hardly compressed."""
    with open(image(folder, width, height), "rb") as file:
        pixels = file.read().split(b"255\n", 1)[1]
    rows = b"".join(b"\0" + pixels[3 * width * y:3 * width * (y + 1)] for y in range(height))
    path = os.path.join(folder, "image.png")

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    with open(path, "wb") as out:
        out.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
                  + chunk(b"IDAT", zlib.compress(rows, 1)) + chunk(b"IEND", b""))
    return path


COUNT = 'BEGIN { srand(1); for (i = 0; i < 6000; i++) { n[int(rand() * 500)] += i %% 7; s = s substr("%s", 1 + i %% 9, 1) } print length(s) }'
PERL = 'my %h; for my $i (1 .. 15000) { my $k = join "-", $i % 97, ($i * 7919) % 89; $h{$k} .= chr(65 + $i % 26) } print scalar(keys %h), "\\n";'

# Name: the package, the words of the command as a function of a folder for its input.
PROGRAMS = {
    "gzip": ("gzip", lambda folder: ["gzip", "-9c", text(folder, 90000)]),
    "brotli": ("brotli", lambda folder: ["brotli", "-q", "6", "-c", text(folder, 130000)]),
    "lz4": ("lz4", lambda folder: ["lz4", "-9", "-c", text(folder, 60000)]),
    "lzip": ("lzip", lambda folder: ["lzip.lzip", "-3", "-c", text(folder, 60000)]),
    "zopfli": ("zopfli", lambda folder: ["zopfli", "--i1", "-c", text(folder, 7000)]),
    "mawk": ("mawk", lambda folder: ["mawk", COUNT % "profile me"]),
    "gawk": ("gawk", lambda folder: ["gawk", COUNT % "profile me"]),
    "bc": ("bc", lambda folder: ["bc", "-l", numerals(folder)]),
    "jq": ("jq", lambda folder: ["jq", "-c", "map(select(.weight > 0.5) | .tags | join(\"\")) | group_by(.) | map(length)", records(folder, 900)]),
    "perl": ("perl-base", lambda folder: ["perl", "-e", PERL]),
    "grep": ("grep", lambda folder: ["grep", "-cE", "(a|e)[b-d]+(in|on)|t(h|r)+e.*s$", text(folder, 300000)]),
    "sed": ("sed", lambda folder: ["sed", "-E", "s/([a-f]+)n/<\\1>/g; y/aeiou/AEIOU/; /Th/d", text(folder, 120000)]),
    "openssl": ("openssl", lambda folder: ["openssl", "dgst", "-sha3-256", text(folder, 500000)]),
    "pngcrush": ("pngcrush", lambda folder: ["pngcrush", "-q", "-m", "7", png(folder, 140, 110), os.path.join(folder, "out.png")]),
    "oggenc": ("vorbis-tools", lambda folder: ["oggenc", "-Q", "-o", os.path.join(folder, "out.ogg"), sound(folder, 1)]),
    "lame": ("lame", lambda folder: ["lame", "--quiet", sound(folder, 0.7), os.path.join(folder, "out.mp3")]),
    "cjpeg": ("libjpeg-turbo-progs", lambda folder: ["cjpeg", "-optimize", "-progressive", "-outfile", os.path.join(folder, "out.jpg"), image(folder, 300, 200)]),
    "minisat": ("minisat", lambda folder: ["minisat", "-verb=0", formula(folder, 150)]),
    "glpsol": ("glpk-utils", lambda folder: ["glpsol", "--lp", packing(folder, 38)]),
    "sort": ("busybox", lambda folder: ["busybox", "sort", "-k2n", numbers(folder, 4000)]),
}


def numerals(folder):
    path = os.path.join(folder, "numerals")
    with open(path, "w", encoding="ascii") as out:
        out.write("scale = 120\nfor (i = 1; i < 6; i++) x = e(i / 7) * a(1 / i)\nx\nquit\n")
    return path


# ---- The packages ------------------------------------------------------------------------------------------------------


def mirror():
    """Where this machine's apt gets the distribution from."""
    targets = run(["apt-get", "indextargets", "--format", "$(SITE) $(ORIGIN)"], environment=os.environ).decode()
    for line in targets.splitlines():
        site, _, origin = line.partition(" ")
        if origin == "Debian":
            return site
    raise Failed("apt of this machine has no mirror of Debian")


def sysroot(suite, packages):
    """The files of the packages and of what they depend on."""
    key = f"{zlib.crc32(' '.join([suite] + sorted(packages)).encode()):08x}"
    root = os.path.join(CACHE, f"{suite}-{key}")
    if os.path.exists(root):
        return root
    os.makedirs(CACHE, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE) as work:
        for folder in ("etc/apt/apt.conf.d", "etc/apt/preferences.d", "state/lists/partial", "cache/archives/partial", "root"):
            os.makedirs(os.path.join(work, folder))
        with open(os.path.join(work, "etc/apt/sources.list"), "w", encoding="utf-8") as out:
            out.write(f"deb [arch=riscv64 signed-by={KEYS}] {mirror()} {suite} main\n")
        with open(os.path.join(work, "status"), "w", encoding="utf-8"):
            pass
        apt = ["apt-get", "-qq", "-o", f"Dir::Etc={work}/etc/apt", "-o", f"Dir::State={work}/state", "-o", f"Dir::State::status={work}/status",
               "-o", f"Dir::Cache={work}/cache", "-o", "APT::Architecture=riscv64", "-o", "APT::Architectures::=riscv64",
               "-o", "APT::Sandbox::User=", "-o", "APT::Install-Recommends=false"]
        run(apt + ["update"], timeout=APT_SECONDS, environment=os.environ)
        run(apt + ["-y", "--download-only", "install", "libc6"] + sorted(packages), timeout=APT_SECONDS, environment=os.environ)
        files = os.path.join(work, "root")
        for folder in ("bin", "lib", "sbin"):
            os.makedirs(os.path.join(files, "usr", folder))
            os.symlink(f"usr/{folder}", os.path.join(files, folder))
        archives = os.path.join(work, "cache/archives")
        for name in sorted(os.listdir(archives)):
            if name.endswith(".deb"):
                run(["dpkg-deb", "-x", os.path.join(archives, name), files])
        os.rename(files, root)
    return root


# ---- Runs --------------------------------------------------------------------------------------------------------------


def trial(root, name, core):
    command = PROGRAMS[name][1]
    with tempfile.TemporaryDirectory() as folder:
        data, words = os.path.join(folder, "data"), command(folder)
        program = os.path.join(root, "usr/bin", words[0])
        run([PESA, "record", "-q", "-c", str(PERIOD), "--core", core, "--sysroot", root, "-o", data, "--", program] + words[1:],
            accepted=(0, 10, 20), timeout=900)  # the answers of minisat
        found = comparison_of(data)
    return [{"program": name, "core": core, "samples": found["samples"], "core_time": found["totals"]["measured"] / found["cycles"],
            "misfit": found["totals"]["misfit"], "findings": [one["change"] for one in found["classes"]],
            "unexplained": found["unexplained"]["share"] if found["unexplained"] else 0}]


def table(results, cores, suite):
    rows = [["program", "package"] + [f"`{core}`" for core in cores]]
    for name in PROGRAMS:
        cells = [next((one for one in results if (one["program"], one["core"]) == (name, core)), None) for core in cores]
        if any(cells):
            rows.append([name, PROGRAMS[name][0]] + ["not run" if not one else ("; ".join(f"`{change}`" for change in one["findings"])
                                                                                or f"none ({one['samples']:,})") for one in cells])
    lines = [f"| {' | '.join(row)} |" for row in rows]
    lines.insert(1, "|---|---|" + "---|" * len(cores))
    wrong = sum(bool(one["findings"]) for one in results)
    said = wrapped(f"{len({one['program'] for one in results})} programs of Debian {suite} for riscv64, as it built them, every {PERIOD} "
                   f"cycles; in brackets the samples. **{wrong} of {len(results)} runs have a finding.**")
    return said.rstrip("\n") + "\n\n" + "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", metavar="FILE")
    parser.add_argument("--cores", default=CORES)
    parser.add_argument("--programs", default=",".join(PROGRAMS))
    parser.add_argument("--suite", default="trixie")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--json")
    arguments = parser.parse_args()
    cores, names = arguments.cores.split(","), arguments.programs.split(",")
    unknown = [name for name in names if name not in PROGRAMS]
    if unknown:
        parser.error(f"no program {unknown[0]}; there are {', '.join(PROGRAMS)}")
    root = sysroot(arguments.suite, {package for package, _ in PROGRAMS.values()})
    no_cache(root)
    results = []
    if arguments.json and os.path.exists(arguments.json):
        with open(arguments.json, encoding="utf-8") as file:
            results = json.load(file)
    wanted = [(name, core) for name in names for core in cores if not any((one["program"], one["core"]) == (name, core) for one in results)]

    def tell(ended):
        for one in ended:
            print(f"{one['program']} {one['core']}: {one['samples']} samples, core time {one['core_time']:.0%}, misfit {one['misfit']:.1%}, "
                  f"unexplained {one['unexplained']:.1%}; findings: {', '.join(one['findings']) or 'none'}", file=sys.stderr, flush=True)
        results.extend(ended)
        if arguments.json:
            with open(arguments.json + ".part", "w", encoding="utf-8") as out:
                json.dump(results, out, indent=1)
            os.replace(arguments.json + ".part", arguments.json)

    _, failed = gather(arguments.jobs, {f"{name} {core}": (trial, root, name, core) for name, core in wanted}, tell)
    printed = table(results, cores, arguments.suite)
    print(printed, end="")
    if arguments.output:
        replace_between(arguments.output, BEGIN, END, printed)
    print(f"{len(results)} runs, {failed} could not be run, {sum(bool(one['findings']) for one in results)} with a finding", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
