# SPDX-License-Identifier: GPL-2.0-or-later
"""Functions shared by the system tests: run the board, bare-metal programs, and TAP as in the integration tests."""
import collections
import fcntl
import json
import os
import random
import re
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile

sys.path.append(os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "integration"))
import tap  # noqa: E402
from tap import BUILD, CROSS, PESA, TOP  # noqa: E402

RUN = os.path.join(TOP, "tools/board/run")
BARE = os.path.join(TOP, "tests/system/bare")
IN_TREE = os.environ.get("BOARD_DRIVER") == "tree"  # the driver is in the kernel of kernel/series, and no module
EXACT = 1 << 14  # PERF_RECORD_MISC_EXACT_IP
SPLITS = 100  # random splits of the samples of two profiles, to measure the noise
# Messages with which the kernel reports an error.
FAULTS = re.compile(r"BUG:|WARNING:|KASAN:|UBSAN:|Oops|INFO: (?:possible|trying|task|rcu|suspicious)|Call Trace|"
                    r"unreferenced object|DEBUG_LOCKS_WARN|possible circular")


def board(*words, limit=240, **keywords):
    """Run the board.  Returns what subprocess.run() returns.  The time limit is multiplied by BOARD_PATIENCE, for slow or
    busy machines."""
    limit *= float(os.environ.get("BOARD_PATIENCE", "1"))
    return subprocess.run([RUN, "--time", str(limit), *words], capture_output=True, text=True, check=False,
                          errors="replace", stdin=subprocess.DEVNULL, **keywords)


def pesa_of_board(*files):
    """Build pesa for the board, with other files of its build directory, and return that directory.  If BOARD_PESA is
    set, return its value."""
    if "BOARD_PESA" in os.environ:
        return os.environ["BOARD_PESA"]
    os.makedirs(BUILD, exist_ok=True)
    with open(f"{BUILD}/board-pesa.lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = subprocess.run([os.path.join(TOP, "tools/board/pesa"), *files], capture_output=True, text=True, check=False,
                              env={**os.environ, "O": BUILD})
    if done.returncode:
        tap.bail_out("pesa cannot be built for the board:", done.stderr[-2000:])
    return done.stdout.strip()


def script_parts(text):
    """The output of a script after each line "== NAME", by NAME."""
    return {part.partition("\n")[0]: part.partition("\n")[2]
            for part in re.split(r"^== ", text, flags=re.M)[1:]}


def read(path):
    """The text of a file; "" if the file does not exist."""
    if not os.path.exists(path):
        return ""
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def events(path):
    """The records of a perf.data file in the shared directory, read with this machine's pesa script."""
    share = os.path.dirname(path)
    # A link, so that /share/x, a path on the board, is found below the directory.
    if not os.path.lexists(f"{share}/share"):
        os.symlink(".", f"{share}/share")
    done = subprocess.run([PESA, "script", "--json", "--show-events", "--symfs", share, "-i", path],
                          capture_output=True, text=True, check=False, errors="replace")
    return [json.loads(line) for line in done.stdout.splitlines()]


def marked_addresses(path):
    """The kind (misc) and address of each sample of a perf.data file with PERF_SAMPLE_IP first, or behind an identifier."""
    if not os.path.exists(path):
        return []
    with open(path, "rb") as file:
        data = file.read()
    attributes, _, start, size = struct.unpack_from("<4Q", data, 24)
    sample_type = struct.unpack_from("<Q", data, attributes + 24)[0]
    address = 16 if sample_type & 1 << 16 else 8  # PERF_SAMPLE_IDENTIFIER
    found, at = [], start
    while at + 8 <= start + size:
        kind, misc, length = struct.unpack_from("<IHH", data, at)
        if length < 8:
            break
        if kind == 9:
            found.append((misc, struct.unpack_from("<Q", data, at + address)[0]))
        at += length
    return found


def only_samples(records):
    return [record for record in records if record["type"] == "sample"]


def lost(records):
    """The number of samples that were lost because a buffer was full, by the file's records.  Each loss is reported when it
    happens, and once more at the end of the file, without a time."""
    reported = [record for record in records if record["type"] == "lost"]
    return max(sum(record["lost"] for record in reported if record["time"]),
               sum(record["lost"] for record in reported if not record["time"]))


def phases(samples):
    """For each process, in the order of time: the number of the hot function's samples by hart."""
    harts = collections.OrderedDict()
    for sample in samples:
        if sample["symbol"] == "divide":
            harts.setdefault(sample["pid"], collections.Counter())[sample["cpu"]] += 1
    return list(harts.values())


def check_harts(name, seen):
    """The hot function ran on hart 0, 1, 0 and 1: check that each phase has samples, and about the same number."""
    tap.check([set(harts) for harts in seen] == [{0}, {1}, {0}, {1}] and
              min(sum(harts.values()) for harts in seen) > 0.7 * max(sum(harts.values()) for harts in seen),
              f"{name}: each hart is sampled whenever it works", seen)


def written_once(samples, command):
    """Remove duplicates.  Stock perf reads the end of its ring buffer twice, and writes a record that arrives in between
    twice (perf_mmap__push(), up to Linux 6.12 at least).  Two samples of a thread never have the same time."""
    if "perf record" not in command:
        return samples
    return list({(sample["tid"], sample["time"], sample["address"]): sample for sample in samples}.values())


def handed_out(statistics):
    """The driver's count of samples that it handed to perf, including those that perf counted as lost."""
    return statistics["recorded"] + statistics["unreported"]


def check_handed_out(name, command, records, statistics, why):
    """Check that all samples of a recording are accounted for.  `statistics`: the driver's, during `command`."""
    tap.check(handed_out(statistics) == len(written_once(only_samples(records), command)) + lost(records) > 0,
              f"{name}: each sample that the driver handed out is in the file or counted", why)


def check_device(device, taken, why):
    """Compare the counts of the device with the driver's count of samples that it took from the device."""
    if tap.check(device, "the device tells what it counted", why):
        tap.check(0 < taken <= sum(hart["taken"] for hart in device["harts"]) and
                  all(hart["period"] == 0 for hart in device["harts"]), "the driver invents none", f"{device} {taken}")


def is_user(sample):
    return sample["address"] < 1 << 63


def distance(one, other):
    """The distance of two profiles, each a list with the bucket of each sample: half the sum of |share - share|."""
    first, second = collections.Counter(one), collections.Counter(other)
    return sum(abs(first[bucket] / len(one) - second[bucket] / len(other)) for bucket in first | second) / 2


def noise(one, other):
    """The distance of two profiles of the same distribution: mean and standard deviation over random splits."""
    together = one + other
    random.seed(1)
    distances = []
    for _ in range(SPLITS):
        random.shuffle(together)
        distances.append(distance(together[:len(one)], together[len(one):]))
    return statistics.mean(distances), statistics.stdev(distances)


def core_with_transfers(directory, depth=16):
    """The board's default core, with `depth` control transfer records."""
    with open(os.path.join(BUILD, "share/pesa/cores/ooo-4"), encoding="utf-8") as file:
        description = re.sub(r"^sample.ctr_depth = \d+", f"sample.ctr_depth = {depth}", file.read(), flags=re.M)
    with open(f"{directory}/core", "w", encoding="utf-8") as file:
        file.write(description)
    return f"{directory}/core"


def guest_program(name, share, *options):
    """Compile a program of tests/system/programs into a shared directory, which users of the board may read."""
    os.chmod(share, 0o755)
    shutil.copy(compiled(name, [f"{TOP}/tests/system/programs/{name}.c"], "-static", "-pthread", "-D_GNU_SOURCE",
                         "-fno-omit-frame-pointer", *options), f"{share}/{name}")
    # perf takes the assembler's mapping symbol ($xrv64...) at a function's address for the function.
    subprocess.run([f"{CROSS}objcopy", "-w", "--strip-symbol=$*", f"{share}/{name}"], check=True)


def compiled(name, sources, *options):
    """A cross-compiled program in a directory of its own, removed when the test ends."""
    directory = tempfile.TemporaryDirectory(prefix="pesa-system-")
    compiled.directories.append(directory)
    program = os.path.join(directory.name, name)
    subprocess.run([f"{CROSS}gcc", "-O2", "-g", "-Wall", "-Wextra", f"-I{TOP}/include", *options, "-o", program,
                    *sources], check=True)
    return program


compiled.directories = []


# sparse 0.6.4 does not know the extensions in the kernel's -march.
SPARSE = r"""#!/bin/sh
for word; do
    shift
    case $word in -march=*) ;; *) set -- "$@" "$word" ;; esac
done
exec sparse "$@"
"""


def sparse(directory):
    """The words for make that check what the kernel's build compiles with sparse, whose wrapper is put into a directory;
    none if it is not installed."""
    if not shutil.which("sparse"):
        return []
    with open(f"{directory}/sparse", "w", encoding="ascii") as file:
        file.write(SPARSE)
    os.chmod(f"{directory}/sparse", 0o755)
    return ["C=2", f"CHECK={directory}/sparse"]


def instructions(program):
    """The instructions of a program: address -> mnemonic and operands."""
    shown = subprocess.run([f"{CROSS}objdump", "-d", "--no-show-raw-insn", "-M", "no-aliases", program],
                           capture_output=True, text=True, check=True).stdout
    return {int(address, 16): (name, operands) for address, name, operands in
            re.findall(r"^\s*([0-9a-f]+):\s+(\S+)[ \t]*(.*)$", shown, re.M)}


def kind_of_transfer(name, operands):
    """The transfer type in Ssctr's terms, by the rules for link registers."""
    compressed = name.startswith("c.")
    name = name.removeprefix("c.")
    if name.startswith("b"):
        return "conditional"
    if name in ("j", "jal"):
        return "direct" if not compressed and operands.split(",")[0] in ("ra", "t0") else "jump"
    if name in ("jr", "jalr"):
        links = name == "jalr" and (compressed or operands.split(",")[0] in ("ra", "t0"))
        source = operands.split("(")[-1].rstrip(")") if "(" in operands else operands.split(",")[-1]
        if not links and source in ("ra", "t0"):
            return "return"
        return "indirect call" if links else "indirect"
    return "other"


def bare_program(name, *options):
    return compiled(name, [f"{BARE}/start.S", f"{BARE}/{name}.c"], "-march=rv64gc", "-mabi=lp64d",
                    "-mcmodel=medany", "-ffreestanding", "-nostdlib", "-nostartfiles", "-static", "-no-pie",
                    "-fno-pic", f"-I{BARE}", f"-Wl,--build-id=none,-T,{BARE}/bare.ld", "-Wl,-z,noexecstack", *options)


def bare(name, *words, options=()):
    """Run a bare-metal program.  Returns its output and the counts of the device."""
    program = bare_program(name, *options)
    counts = program + ".counts"
    done = board("--bare", program, "--harts", "1", "--counts", counts, *words, limit=60)
    device = None
    if os.path.exists(counts):
        with open(counts, encoding="utf-8") as file:
            device = json.load(file)
    return done, device


def guest_module(share):
    """Build the module of tests/system/module for the board's plain kernel, into the shared directory."""
    kernel = subprocess.run([f"{TOP}/tools/board/kernel-directory"], stdout=subprocess.PIPE, text=True,
                            check=True).stdout.strip()
    with tempfile.TemporaryDirectory(prefix="pesa-module-") as work:
        shutil.copytree(f"{TOP}/tests/system/module", work, dirs_exist_ok=True)
        shutil.copytree(f"{TOP}/include", f"{work}/include")
        done = subprocess.run(["make", "-C", kernel, "ARCH=riscv", f"CROSS_COMPILE={CROSS}", f"M={work}", "modules"],
                              capture_output=True, text=True, check=False)
        if done.returncode:
            tap.bail_out("the tests' module cannot be built:", done.stderr[-2000:])
        shutil.copy(f"{work}/probing.ko", share)
