#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What profiles of pesa win when compilers optimise by them: cycles of real programs on the virtual core.

  tests/pgo/pgo.py [--programs NAMES] [--compilers gcc,clang] [--cores NAMES] [--jobs N] [-o FILE] [--stale] [--cached]
                   [--gcc-flags=FLAGS] [--own-flags=FLAGS] [--json FILE]

Each program is built without a profile, runs with its training input, and is built again with each profile; all builds run with
another input, and their cycles are compared:

  plain      200,000 samples of the PC that an interrupt sees (--sampler lcofi): what perf has on today's hardware
  20k, 200k  so many samples of shpmsdetails
  exact      every execution
  own        the compiler's own instrumentation

GCC gets --gcc-flags beside a profile of samples (default: -fno-tracer -fno-unroll-loops, which such profiles enable).  --own-flags are
beside the compiler's own profile.

--stale adds a profile (200k) of a build with other flags, -fno-inline, of the same sources; its table is one of its own.

Recordings, counts and programs stay in the cache, by the contents of all that they are made of, so that a run that was
interrupted goes on where it was; with --cached profiles are exported, but nothing is built or run, and programs that are not
complete are left out.  With -o the tables in FILE (Documentation/pgo.md) are replaced.
"""
import argparse
import concurrent.futures
import functools
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading

import inputs
import report
from pool import ENVIRONMENT  # found by inputs

TOP, O = inputs.TOP, os.path.abspath(os.environ.get("O", os.path.join(inputs.TOP, "build")))
PESA = os.environ.get("PESA", os.path.join(O, "bin/pesa"))
CACHE = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "pesa/pgo")
SAMPLES = {"20k": 20000, "200k": 200000}
SYSROOT = [] if os.uname().machine == "riscv64" else ["--sysroot", "/usr/riscv64-linux-gnu"]
# Lua hashes with the time of day, and where its functions are, as the seed.
FLAGS = {"lua": "-Dluai_makeseed(L)=5u"}
# What -fauto-profile enables, and what costs more than it wins (Documentation/pgo.md).
GCC_FLAGS = "-fno-tracer -fno-unroll-loops"
locks, locks_lock = {}, threading.Lock()
only_cached = False


class Failed(Exception):
    pass


def run(words, environment=None, **options):
    done = subprocess.run(words, capture_output=True, check=False, env=ENVIRONMENT | (environment or {}), **options)
    if done.returncode:
        raise Failed(f"{' '.join(words)}: status {done.returncode}\n{done.stderr.decode(errors='replace')[-2000:]}")
    return done.stdout


def hash_of(*parts):
    """A name for whatever is made of these: texts, or paths of files and folders, of which the contents count."""
    digest = hashlib.sha256()
    for part in parts:
        if isinstance(part, str) and os.path.isabs(part) and os.path.exists(part):
            files = [os.path.join(folder, name) for folder, _, names in os.walk(part) for name in names] if os.path.isdir(part) else [part]
            for path in sorted(files):
                with open(path, "rb") as file:
                    digest.update(os.path.relpath(path, part).encode() + hashlib.sha256(file.read()).digest())
        else:
            digest.update(repr(part).encode())
        digest.update(b"\0")
    return digest.hexdigest()[:32]


def once(folder, make, even_if_cached=False):
    """Make a folder of the cache, unless it is there.  even_if_cached: with --cached, too."""
    with locks_lock:
        lock = locks.setdefault(folder, threading.Lock())
    with lock:
        if not os.path.exists(folder):
            if only_cached and not even_if_cached:
                raise Failed("not complete in the cache")
            os.makedirs(os.path.dirname(folder), exist_ok=True)
            part = tempfile.mkdtemp(prefix=".part-", dir=os.path.dirname(folder))
            try:
                make(part)
                if not os.path.exists(folder):  # another process may have been faster
                    os.rename(part, folder)
            finally:
                shutil.rmtree(part, ignore_errors=True)
    return folder


def the_model():
    """What decides about cycles: the sources of the virtual core."""
    return hash_of(os.path.join(TOP, "tools/vcore"), os.path.join(TOP, "decoder/core"))


MODEL = the_model()


class Input:
    """Arguments and standard input of one run, with files in a folder of its own."""

    def __init__(self, name, make, folder):
        os.makedirs(folder, exist_ok=True)
        self.words, self.standard_input = make(name, folder)
        self.output = os.path.join(folder, "output")
        self.remove_output()
        self.hash = hash_of(folder, [word for word in self.words if not word.startswith("/")], self.standard_input or b"")

    def remove_output(self):
        if os.path.exists(self.output):
            os.remove(self.output)

    @property
    def arguments(self):
        """For one run: a program may do otherwise where its output is there already."""
        self.remove_output()
        return self.words


@functools.lru_cache(maxsize=None)
def input_of(name, make, folder):
    """Made once: files are written in place, and what is random is so by one seed of the process."""
    return Input(name, make, folder)


def clang_runtime():
    """clang's resource folder with the runtime of its instrumentation."""
    return run([os.path.join(TOP, "tests/pgo/clang-runtime")]).decode().strip()


def kept_profile(exported):
    """A profile in the cache, by its contents."""
    folder = once(os.path.join(CACHE, "profiles", hash_of(exported)), lambda folder: shutil.copy(exported, os.path.join(folder, "profile")), True)
    return os.path.join(folder, "profile")


class Program:
    """A program and a compiler."""

    def __init__(self, name, compiler, work, gcc_flags=GCC_FLAGS, own_flags=""):
        self.name, self.compiler, self.gcc_flags, self.own_flags = name, compiler, gcc_flags, own_flags
        self.train = input_of(name, inputs.training, os.path.join(work, f"{name}-train"))
        self.other = input_of(name, inputs.measuring, os.path.join(work, f"{name}-other"))

    # ---- Builds ----

    def build(self, flags="", depends=None):
        """Returns the path of the program."""
        clang = self.compiler == "clang"
        flags = " ".join(one for one in (FLAGS.get(self.name), "-fdebug-info-for-profiling" if clang else "", flags) if one)

        def make(folder):
            words = [os.path.join(TOP, "tools/programs"), "-o", folder] + (["--clang"] if clang else [])
            run(words + (["--flags", flags] if flags else []) + (["--depends", depends] if depends else []) + [self.name])
        key = hash_of(self.name, self.compiler, flags, os.path.join(TOP, "tools/programs"), depends or "")
        return os.path.join(once(os.path.join(CACHE, "builds", key), make), self.name)

    def optimised(self, profile):
        if self.compiler == "clang":
            return self.build(f"-fprofile-sample-use={profile}", profile)
        return self.build(f"-fauto-profile={profile} {self.gcc_flags}".strip(), profile)

    def instrumented(self):
        """The program built with the counts of the compiler's own instrumentation."""
        clang = self.compiler == "clang"
        place = os.path.join(CACHE, "counting", f"{self.name}-{self.compiler}")
        counting = self.build(f"-fprofile-generate -fprofile-update=atomic -resource-dir={clang_runtime()}" if clang
                              else f"-fprofile-generate={place} -fprofile-update=atomic")

        def count(folder):
            shutil.rmtree(place, ignore_errors=True)
            os.makedirs(place)
            run(([] if not SYSROOT else ["qemu-riscv64", "-L", SYSROOT[1]]) + [counting] + self.train.arguments,
                {"LLVM_PROFILE_FILE": os.path.join(place, "raw")}, input=self.train.standard_input)
            if clang:
                run([shutil.which("llvm-profdata-22") or "llvm-profdata", "merge", os.path.join(place, "raw"), "-o", os.path.join(folder, "counts")])
            else:
                shutil.copytree(place, os.path.join(folder, "counts"))
                if not os.listdir(place):
                    raise Failed(f"{counting} wrote no counts")
        counts = os.path.join(once(os.path.join(CACHE, "counts", hash_of(counting, self.train.hash)), count), "counts")
        if clang:
            return self.build(f"-fprofile-use={counts} {self.own_flags}".strip(), counts)
        listing = os.path.join(os.path.dirname(counts), "hash")
        with open(listing, "w", encoding="utf-8") as out:
            out.write(hash_of(counts))
        return self.build(f"-fprofile-use={counts} -Wno-missing-profile {self.own_flags}".strip(), listing)

    # ---- Runs ----

    def cycles(self, path, core, what):
        def make(folder):
            output = os.path.join(folder, "counts.json")
            run([PESA, "stat", "--core", core, *SYSROOT, "-e", "CYCLES.HART", f"--json={output}", "--", path] + what.arguments,
                input=what.standard_input)
        folder = once(os.path.join(CACHE, "cycles", hash_of(path, core, MODEL, what.hash, sorted(ENVIRONMENT.values()))), make)
        with open(os.path.join(folder, "counts.json"), encoding="utf-8") as file:
            return json.load(file)["events"][0]["value"]

    def record(self, path, core, period):
        """The folder of a recording: samples of both samplers, and the exact profile."""
        def make(folder):
            run([PESA, "record", "-q", "--core", core, *SYSROOT, "-c", str(period), "--sampler", "shpms,lcofi",
                 "-o", os.path.join(folder, "data"), f"--golden={os.path.join(folder, 'golden')}", "--", path] + self.train.arguments,
                input=self.train.standard_input)
        # The recording names the program by its path.
        return once(os.path.join(CACHE, "recordings", hash_of(path, "at " + path, core, period, MODEL, self.train.hash)), make)

    def export(self, recording, event=None):
        """The profile for the compiler, in the cache by its contents: pesas that export the same share what is built with it."""
        kind = "llvm-sample" if self.compiler == "clang" else "gcc-afdo"

        def make(folder):
            run([PESA, "export", "--format", kind, "-i", recording, "-o", os.path.join(folder, "profile")] + (["--event", event] if event else []))
        # What the recording is made of is in its path.
        exported = os.path.join(once(os.path.join(CACHE, "exports", hash_of(PESA, kind, event, "of " + recording)), make, True), "profile")
        return kept_profile(exported)

    def profiles(self, base, core, kinds=tuple(SAMPLES)):
        """By kind; the exact one is the same on every core."""
        total = self.cycles(base, core, self.train)
        found = {}
        for kind in kinds:
            recording = self.record(base, core, max(total // SAMPLES[kind], 50))
            found[kind] = self.export(os.path.join(recording, "data"), "pesa/cycles/")
            if kind == "200k":
                found["plain"] = self.export(os.path.join(recording, "data"), "pesa/lcofi/")
                found["exact"] = self.export(os.path.join(recording, "golden"))
        return found

    def measure(self, core, stale):
        """Cycles with the other input by kind of profile."""
        base = self.build()
        profiles = self.profiles(base, core)
        builds = {"none": base, "own": self.instrumented()}
        builds.update((kind, self.optimised(profile)) for kind, profile in profiles.items())
        if stale:
            builds["stale"] = self.optimised(self.profiles(self.build("-fno-inline"), core, ["200k"])["200k"])
        return {kind: self.cycles(path, core, self.other) for kind, path in builds.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", default=",".join(inputs.PROGRAMS))
    parser.add_argument("--compilers", default="gcc,clang")
    parser.add_argument("--cores", default="ooo-4,inorder-2")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--stale", action="store_true")
    parser.add_argument("--cached", action="store_true")
    parser.add_argument("--gcc-flags", default=GCC_FLAGS)
    parser.add_argument("--own-flags", default="")
    parser.add_argument("-o", metavar="FILE")
    parser.add_argument("--json", metavar="FILE")
    arguments = parser.parse_args()
    global only_cached  # pylint: disable=global-statement
    only_cached = arguments.cached
    names, compilers, cores = (one.split(",") for one in (arguments.programs, arguments.compilers, arguments.cores))
    os.makedirs(CACHE, exist_ok=True)
    work, results, failed = os.path.join(CACHE, "inputs"), {}, False

    def one(core, compiler, name):
        return Program(name, compiler, work, arguments.gcc_flags, arguments.own_flags).measure(core, arguments.stale)
    for name in names:  # by one thread
        Program(name, compilers[0], work)
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        waiting = {pool.submit(one, core, compiler, name): (compiler, core, name) for core in cores for compiler in compilers for name in names}
        for done in concurrent.futures.as_completed(waiting):
            compiler, core, name = waiting[done]
            try:
                results[compiler, core, name] = done.result()
            except (Failed, subprocess.CalledProcessError, OSError) as error:
                failed = True
                print(f"{compiler} {core} {name}: {error}", file=sys.stderr)
                continue
            cycles = results[compiler, core, name]
            print(f"{compiler} {core} {name}: {cycles['none']} cycles, "
                  + ", ".join(f"{kind} {report.change(cycles, kind):+.2%}" for kind in cycles if kind != "none"), file=sys.stderr, flush=True)
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as out:
            json.dump([{"compiler": key[0], "core": key[1], "program": key[2], "cycles": cycles} for key, cycles in sorted(results.items())], out, indent=1)
    text = report.tables(results, [(compiler, core) for compiler in compilers for core in cores], names)
    print(text)
    if arguments.o:
        report.replace(arguments.o, "stale" if arguments.stale else "compilers", text)
    sys.exit(failed)


if __name__ == "__main__":
    main()
