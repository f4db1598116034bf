#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""libpesa as its users see it: only the files that `make install` installs, without the source tree."""
import ctypes
import glob
import json
import os
import re
import shutil
import subprocess
import tempfile

import tap
from tap import TOP, PESA, CROSS, GUEST_CC, bail_out, check, end, needs, skip

BASE = 0x400000
BUILD = os.path.abspath(tap.BUILD)
folder = tempfile.TemporaryDirectory()
work = os.path.realpath(folder.name)
root = os.path.join(work, "root")
os.environ["LC_ALL"] = "C.UTF-8"
for variable in ("DEBUGINFOD_URLS", "MAKEFLAGS", "MFLAGS"):  # the last two: the jobs of a make that runs the tests
    os.environ.pop(variable, None)


def run(*words, **options):
    return subprocess.run(words, capture_output=True, text=True, timeout=600, cwd=options.pop("cwd", work), **options)


def must(*words, **options):
    result = run(*words, **options)
    if result.returncode:
        bail_out(" ".join(words), result.stderr[-2000:])
    return result.stdout


def make(*words):
    return run("make", "--no-print-directory", "-s", f"O={BUILD}", f"DESTDIR={root}", *words, cwd=TOP)


def files_below(path):
    return sorted(os.path.relpath(os.path.join(where, name), path)
                  for where, _, names in os.walk(path) for name in names)


installed = make("install")
if installed.returncode:
    bail_out("make install", installed.stderr[-2000:])
pc = glob.glob(f"{root}/**/libpesa.pc", recursive=True)[0]
libdir = os.path.dirname(os.path.dirname(pc))
prefix = os.path.dirname(libdir)
library = os.path.join(libdir, "libpesa.so")
names = sorted(os.path.basename(name) for name in glob.glob(f"{prefix}/include/pesa/*.h"))
environment = dict(os.environ, PKG_CONFIG_PATH=os.path.dirname(pc), LD_LIBRARY_PATH=libdir)
os.environ.update(environment)


def pkg_config(*words):
    return must("pkg-config", f"--define-variable=prefix={prefix}", *words, "libpesa").split()


def source(name, text):
    with open(os.path.join(work, name), "w", encoding="utf-8") as file:
        file.write(text)
    return name


# ---- What is exported ----------------------------------------------------------------------------

every = source("every.c", "".join(f"#include <pesa/{name}>\n" for name in names))
must("gcc", *pkg_config("--cflags"), "-fsyntax-only", "-aux-info", "declared", every)
with open(os.path.join(work, "declared"), encoding="utf-8") as file:
    prototypes = [line for line in file if f"{prefix}/include/pesa/" in line and ":NC */ extern" in line]
declared = {re.search(r"(\w+) \(", line.split("*/", 1)[1]).group(1) for line in prototypes}
headers_text = {}
for name in names:
    with open(f"{prefix}/include/pesa/{name}", encoding="utf-8") as file:
        headers_text[name] = re.sub(r"/\*.*?\*/", " ", file.read(), flags=re.S)
declared |= {found for text in headers_text.values()
             for found in re.findall(r"^extern [^;(]*?\b(\w+)(?:\[[^;]*)?;", text, re.M)}
symbols = [line.split() for line in must("nm", "-D", "--defined-only", library).splitlines()]
exported = {name.split("@")[0]: name for _, kind, name in symbols if kind != "A"}
check(len(declared) > 200 and not declared - set(exported), "the library exports every function that a header declares",
      sorted(declared - set(exported)))
check(not set(exported) - declared, "and nothing else", sorted(set(exported) - declared))
check(all(name.startswith("pesa_") and full.endswith("@@LIBPESA_0") for name, full in exported.items()),
      "every exported name begins with pesa_ and has the version LIBPESA_0", list(exported.values())[:5])
dynamic = must("readelf", "-d", library)
needed = set(re.findall(r"NEEDED.*\[lib([\w-]+)\.so", dynamic))
wanted = {word[2:] for word in must("pkg-config", "--static", "--libs", "libpesa").split() if word.startswith("-l")}
check("SONAME" in dynamic and "[libpesa.so.0]" in dynamic, "its soname is libpesa.so.0", dynamic)
check(needed and needed <= wanted | {"c"}, "it needs no library that libpesa.pc does not name", sorted(needed - wanted))
archive = must("nm", "-g", "--defined-only", f"{libdir}/libpesa.a")
visible = set(re.findall(r" [A-Z] (\S+)$", archive, re.M))
check(visible == declared, "the static library's global names are the same", sorted(visible ^ declared)[:20])

# ---- The version ---------------------------------------------------------------------------------

numbers = dict(re.findall(r"#define PESA_VERSION_(\w+) (\d+)", headers_text["version.h"]))
version = ".".join(numbers[part] for part in ("MAJOR", "MINOR", "PATCH"))
loaded = ctypes.CDLL(library)
loaded.pesa_version.restype = ctypes.c_char_p
driver = make("install-driver-source")
dkms = "".join(open(path, encoding="utf-8").read() for path in glob.glob(f"{root}/usr/src/pesa-{version}/dkms.conf"))
with open(os.path.join(TOP, "Documentation/driver.md"), encoding="utf-8") as file:
    manual = set(re.findall(r"\bpesa/(\d+\.\d+\.\d+)", file.read()))
reported = {"the header's text": re.findall(r'#define PESA_VERSION "(.*)"', headers_text["version.h"]),
        "pesa_version()": [loaded.pesa_version().decode()], "pkg-config": pkg_config("--modversion"),
        "pesa": [must(PESA, "--version").split()[1]], "file": [os.path.basename(os.path.realpath(library))[len("libpesa.so."):]],
        "dkms.conf": re.findall(r'PACKAGE_VERSION="(.*)"', dkms), "driver.md": list(manual)}
for place, versions in reported.items():
    check(versions == [version], f"the version is the same: {place}", f"{versions}, not {version}")
check(f"[libpesa.so.{numbers['MAJOR']}]" in dynamic, "the soname is the major version")

# ---- Headers -------------------------------------------------------------------------------------

WARNINGS = ("-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only")
for compiler, language, suffix in (("gcc", "-std=c11", "c"), ("clang", "-std=c11", "c"),
                                   ("g++", "-std=c++17", "cc"), ("clang++", "-std=c++17", "cc")):
    what = f"each header compiles alone, and twice: {compiler} {language}"
    if not shutil.which(compiler):
        skip(what, needs(compiler.replace("clang++", "clang")))
        continue
    failed = []
    for name in names:
        one = source(f"one.{suffix}", f"#include <pesa/{name}>\n#include <pesa/{name}>\nint nothing;\n")
        compiled = run(compiler, language, *WARNINGS, *pkg_config("--cflags"), one)
        if compiled.returncode:
            failed.append(f"{name}: {compiled.stderr[:500]}")
    check(names and not failed, what, "\n".join(failed))
macros = {kind: set(re.findall(r"#define (\w+)", must("gcc", "-E", "-dM", *pkg_config("--cflags"),
                                                       source("macros.c", text))))
          for kind, text in (("ours", "".join(f"#include <pesa/{name}>\n" for name in names)),
                             ("theirs", "".join(sorted({f"#include <{found}>\n" for text in headers_text.values()
                                                        for found in re.findall(r"#include <(.*)>", text)}))))}
foreign = {name for name in macros["ours"] - macros["theirs"] if not name.startswith("PESA_")}
check(len(macros["ours"] - macros["theirs"]) > 100 and not foreign, "every macro of the headers begins with PESA_", foreign)
reserved = {word for text in headers_text.values() for word in re.findall(r"\b(?:__\w+|_[A-Z]\w*)\b", text)} - \
    {"__cplusplus", "__attribute__", "_Pragma", "__u8", "__u16", "__u32", "__u64"}
check(not reserved, "no name of the headers is a reserved one", reserved)
keywords = {"class", "new", "delete", "this", "template", "private", "public", "operator", "namespace", "typename"}
used = {word for text in headers_text.values() for word in re.findall(r"\b[a-z]+\b", text)} & keywords
check(not used, "nor a keyword of C++", used)

# ---- Examples ------------------------------------------------------------------------------------

PROGRAM = """
int data[64];
__attribute__((noinline)) int first(int n) { int sum = 0; for (int i = 0; i < n; i++) sum += data[i] * i; return sum; }
__attribute__((noinline)) int second(int n) { for (int i = 0; i < n; i++) data[i] ^= n / (i + 1); return data[0]; }
int main(int argc, char **argv) { (void)argv; return first(argc) + second(argc + 2); }
"""
guest = source("guest.c", PROGRAM)
must(GUEST_CC, "-g", "-O2", "-o", "guest", guest)
listing = re.findall(r"^ +([0-9a-f]+):", must(CROSS + "objdump", "-d", "--no-show-raw-insn", "-j", ".text", "guest"), re.M)
first = next(int(line.split()[0], 16) for line in must(CROSS + "nm", "guest").splitlines() if line.endswith(" T first"))
addresses = [int(address, 16) for address in listing if int(address, 16) >= first][:14]
lines = ["command ./guest", "period 1000", "comm 7 7 guest", f"map 7 {BASE:#x} 0x1000 0 {work}/guest"]
# Stalled, without a cause; each instruction another number of times; more instructions than are shown.
lines += [f"sample {10 + 7 * i % 101} 7 7 {BASE + address:#x} 1 0 0 0 0 0 0 0 0" for i, address in enumerate(addresses)]
must(os.path.join(BUILD, "tests/tools/make_profile"), "known.data", input="\n".join(lines))
report = json.loads(must(PESA, "report", "--sort", "insn", "--percent-limit", "0", "--json", "-i", "known.data"))
expected = [(f"{one['share']:.6f}", f"{one['address']:x}", one["symbol"])
            for one in sorted(report["instructions"], key=lambda one: -one["cycles"])[:10]]
examples = os.path.join(TOP, "Documentation/examples")
C = ("gcc", "-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror")
for name in ("hottest", "predict"):
    must(*C, "-o", name, os.path.join(examples, f"{name}.c"), *pkg_config("--cflags", "--libs"))
    shown = must("ldd", name)
    check(f"{libdir}/libpesa.so.0 " in shown, f"{name} runs with the installed library", shown)
static = [word.replace("-lpesa", "-l:libpesa.a") for word in pkg_config("--static", "--cflags", "--libs")]
# What is built to count lines needs the library that counts them.
counting = os.environ.get("LDFLAGS", "").split()
built = run(*C, "-o", "hottest-static", os.path.join(examples, "hottest.c"), *static, *counting)
check(built.returncode == 0 and "libpesa" not in run("ldd", "hottest-static").stdout,
      "hottest is linked with the static library by what pkg-config --static says", built.stderr[-2000:])
check(len(expected) == 10 and len(addresses) == 14 and len(set(expected)) == 10, "pesa report has ten to compare with", expected)
for name, words in (("hottest.c", ("./hottest",)), ("hottest.c, static", ("./hottest-static",)),
                    ("hottest.py", ("python3", os.path.join(examples, "hottest.py")))):
    result = run(*words, "known.data")
    rows = [tuple(line.split(" ")[:3]) for line in result.stdout.splitlines()]
    check(result.returncode == 0 and rows == expected, f"{name} prints the ten instructions of pesa report",
          f"{result.stderr}\n{rows}\n{expected}")
    result = run(*words, "missing.data")
    check(result.returncode == 1 and result.stderr.count("\n") == 1 and "missing.data" in result.stderr,
          f"{name} says in one line that there is no such file", result.stderr)
texts = {line.split()[0].rstrip(":"): line.split()[1:] for line in
         must(CROSS + "objdump", "-d", "--no-show-raw-insn", "-M", "no-aliases", "guest").splitlines()
         if re.match(r" +[0-9a-f]+:", line)}
shown = [line.split(" ", 3) for line in must("./hottest", "known.data").splitlines()]
check(all(len(row) == 4 and row[3].split("\t")[0] for row in shown) and all(row[1] in texts for row in shown),
      "with the text of each", shown)

BLOCK = "mul a0, a0, a1   # a chain\nadd a2, a2, a0\n\nld a3, 8(sp)\nadd a4, a3, a2\nbne a4, a5, 16\n"
source("block.s", BLOCK)
for processor in ("sifive-p670", "sifive-u74", "spacemit-x60"):
    result = run("./predict", processor, input=BLOCK)
    cycles = re.match(r"(\d+) cycles for 100 iterations of 5 instructions: (\S+) an iteration\n", result.stdout)
    by_pesa = json.loads(must(PESA, "mca", f"-mcpu={processor}", "--json", "block.s"))
    summary = by_pesa["CodeRegions"][0]["SummaryView"]
    check(cycles and int(cycles[1]) == summary["TotalCycles"], f"predict.c and pesa mca agree: {processor}",
          f"{result.stdout}{result.stderr}{summary}")
    if shutil.which("llvm-mca-22"):
        by_llvm = must("llvm-mca-22", "-mtriple=riscv64", f"-mcpu={processor}", "block.s")
        check(cycles and f"Total Cycles:      {cycles[1]}\n" in by_llvm, f"and with llvm-mca-22: {processor}", by_llvm[:300])
    else:
        skip(f"and with llvm-mca-22: {processor}", needs("llvm-22"))
for words, text, why in ((["no-such-core"], BLOCK, "no-such-core"), (["sifive-p670"], "frobnicate a0\n", "line 1"),
                         (["sifive-p670"], "", "no instructions")):
    result = run("./predict", *words, input=text)
    check(result.returncode == 1 and why in result.stderr and result.stderr.count("\n") == 1,
          f"predict.c says what is wrong: {why}", result.stderr)

# ---- Threads -------------------------------------------------------------------------------------

THREADS = """
#include <pesa/mca.h>
#include <pesa/profile.h>
#include <pesa/riscv.h>
#include <pesa/symbols.h>
#include <pthread.h>
#include <stdio.h>

static struct pesa_mca_model *model;
static struct pesa_isa *isa;

/* A profile, symbols and a block of its own; model and instruction set shared. */
static void *work(void *result)
{
	static const uint8_t code[] = {0x33, 0x05, 0xb5, 0x02};	/* mul a0, a0, a1 */
	uint64_t *sum = result;

	for (int i = 0; i < 20; i++) {
		struct pesa_mca_instruction instruction = {.latency = -1};
		struct pesa_mca_block_options options = {.processor = NULL};
		struct pesa_mca_run_options run = {.iterations = 100};
		struct pesa_profile *profile;
		struct pesa_symbols *symbols;
		struct pesa_mca_block *block;
		uint64_t cycles;

		if (pesa_profile_load("known.data", NULL, &profile) || pesa_symbols_create(profile, NULL, &symbols) ||
		    !pesa_insn_decode(isa, code, sizeof(code), &instruction.insn) ||
		    pesa_mca_block_create(model, &instruction, 1, &options, &block) ||
		    pesa_mca_run(block, &run, NULL, 0, &cycles))
			return NULL;
		for (size_t at = 0; at < pesa_profile_instruction_count(profile); at++) {
			const struct pesa_instruction *one = pesa_profile_instruction(profile, at);
			const struct pesa_symbol *symbol;

			if (pesa_symbols_find(symbols, one->dso, one->address, &symbol))
				return NULL;
			*sum += one->weight + (symbol ? symbol->start : 0);
		}
		*sum += cycles;
		pesa_mca_block_free(block);
		pesa_symbols_free(symbols);
		pesa_profile_free(profile);
	}
	return NULL;
}

int main(void)
{
	uint64_t sum[4] = {0};
	pthread_t thread[4];

	if (pesa_mca_model_builtin("sifive-p670", &model) || pesa_isa_create("rv64", &isa))
		return 1;
	for (int i = 0; i < 4; i++)
		pthread_create(&thread[i], NULL, work, &sum[i]);
	for (int i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
	for (int i = 0; i < 4; i++)
		printf("%llu\\n", (unsigned long long)sum[i]);
	return 0;
}
"""
must(*C, "-o", "threads", source("threads.c", THREADS), *pkg_config("--cflags", "--libs"), "-lpthread")
sums = must("./threads").split()
check(len(sums) == 4 and len(set(sums)) == 1 and sums[0] != "0", "threads with objects of their own do not disturb each other", sums)
data = {line.split()[2] for line in must("nm", library).splitlines() if line.split()[-2] in ("b", "B")}
owners = {name for name in data if not re.match(r"completed\.\d+$|_?_?(bss|dso)|cplus|hex_value", name)}
check(not owners, "the library has no state of its own", owners)

# ---- The reference -------------------------------------------------------------------------------

if shutil.which("doxygen"):
    made = run("make", "--no-print-directory", "-s", f"O={BUILD}", f"DOC={work}/doc", "doc", cwd=TOP)
    check(made.returncode == 0 and not made.stderr, "make doc: every public name is documented", made.stderr)
    pages = "".join(open(path, encoding="utf-8", errors="replace").read() for path in glob.glob(f"{work}/doc/html/*.html"))
    absent = {name for name in declared if name not in pages}
    check(pages and not absent, "and every function is in the reference", absent)
else:
    skip("make doc: every public name is documented", needs("doxygen"))
silent = [name for name in names if not re.search(r"\bThreads: ", open(f"{prefix}/include/pesa/{name}", encoding="utf-8").read())
          and headers_text[name].count("PESA_DECLARATIONS_BEGIN") == 1 and name != "api.h"]
check(not silent, "each header says what threads may do", silent)

# Aliases of Documentation/Doxyfile, one of each kind in the comment of every function.
STATEMENTS = {"threads": {"any_thread", "one_thread", "readers"},
              "ownership": {"caller_owns", "object_owns", "static_result", "nothing_owned", "takes_object"}}
functions = {re.search(r"(\w+) \(", line.split("*/", 1)[1]).group(1) for line in prototypes}
said = {}
for name in names:
    with open(f"{prefix}/include/pesa/{name}", encoding="utf-8") as file:
        text = file.read()
    functions |= set(re.findall(r"^static inline [\w* ]*?\b(pesa_\w+)\(", text, re.M))
    for found in re.finditer(r"/\*\*((?:(?!\*/).)*)\*/\s*[\w* \n]*?\b(pesa_\w+)\(", text, re.S):
        said[found[2]] = re.findall(r"@(\w+)", found[1])
for what, words in STATEMENTS.items():
    unsaid = sorted(name for name in functions if len(words & set(said.get(name, ()))) != 1)
    check(len(functions) > 200 and not unsaid, f"each function says one thing of {what}", unsaid)
with open(os.path.join(TOP, "Documentation/Doxyfile"), encoding="utf-8") as file:
    aliases = set(re.findall(r'"(\w+)=@note', file.read()))
check(aliases == set.union(*STATEMENTS.values()), "which the reference writes out", aliases)

# ---- Uninstalling --------------------------------------------------------------------------------

shutil.rmtree(f"{root}/usr/src", ignore_errors=True)
check(files_below(root), "there is something to uninstall")
removed = make("uninstall")
check(removed.returncode == 0 and not files_below(root), "make uninstall leaves no file", files_below(root))

end()
