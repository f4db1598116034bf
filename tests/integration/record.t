#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""pesa record on the virtual core: accounting of cycles, the guest's environment, and the files after an abnormal end."""
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import tempfile
import time

from tap import TOP, BUILD, PESA, QEMU, NATIVE, GUEST_CC, bail_out, check, command, end, needs, plain_environment, skip

DATA = os.path.join(TOP, "tests/data/guest")


work = tempfile.mkdtemp(prefix="pesa-record-")
os.chdir(work)
plain = plain_environment(work)


def build():
    source = os.path.join(DATA, "guest.c")
    version = re.search(rb"version (\d+)", command(QEMU, "--version").stdout)
    api = 2 if int(version.group(1)) >= 9 else 1
    for words in ([GUEST_CC, "-O1", "-g", "-static", "-pthread", source, "-o", "guest"],
                  [GUEST_CC, "-O1", "-g", "-pthread", source, "-o", "guest-dynamic"],
                  ["gcc", "-O1", "-shared", "-fPIC", f"-DQEMU_PLUGIN_API={api}", "-I" + TOP,
                   os.path.join(DATA, "count_plugin.c"), "-o", "count.so"]):
        made = command(*words)
        if made.returncode:
            bail_out("cannot build the guest programs:", made.stderr.decode())


def emulate(*guest, **options):
    """Plain QEMU, its instructions counted."""
    if os.path.exists("count"):
        os.unlink("count")
    run = command(QEMU, "-plugin", os.path.join(work, "count.so") + ",out=" + os.path.join(work, "count"),
                  *guest, env=plain, **options)
    run.counted = 0
    if os.path.exists("count"):
        with open("count", encoding="ascii") as file:
            run.counted = sum(int(line) for line in file)
    return run


def record(*words, **options):
    for name in ("summary.json", "perf.data", "golden.data"):
        if os.path.exists(name):
            os.unlink(name)
    run = command(PESA, "record", "-q", "--golden", "golden.data", "--json=summary.json", *words, env=plain,
                  **options)
    run.summary = {}
    if os.path.exists("summary.json"):
        with open("summary.json", encoding="utf-8") as file:
            run.summary = json.load(file)
    return run


def conserved(summary):
    return (summary.get("cycles", 0) > 0 and summary["golden_cycles"] == summary["cycles"]
            and summary["golden_remainder"] == 0 and summary["golden_lost"] == 0
            and summary["golden_executions"] == summary["instructions"]
            and summary["cycles"] == sum(hart["cycles"] for hart in summary["harts"]))


def samples(path="perf.data"):
    """The records of a file, without what differs from run to run (process numbers)."""
    shown = command(PESA, "script", "--json", "-i", path)
    records = [json.loads(line) for line in shown.stdout.decode().splitlines()]
    return [{key: value for key, value in one.items() if key not in ("pid", "tid", "parent_pid", "parent_tid")}
            for one in records]


build()

# ---- Accounting ------------------------------------------------------------------------------
for core in ("inorder-2", "ooo-4"):
    for guest, faults in ((["work", "3"], 0), (["fork", "3"], 0), (["generated", "200"], 0),
                          (["handlers"], 20), (["faults"], 42), (["descriptors"], 0)):
        oracle = emulate("./guest", *guest)
        run = record("--core", core, "-c", "1000", "--", "./guest", *guest)
        name = f"{core}: guest {guest[0]}"
        check(run.stdout == oracle.stdout and run.stderr == oracle.stderr
              and run.returncode == oracle.returncode,
              f"{name}: output and status are those of plain QEMU", (oracle, run))
        check(conserved(run.summary), f"{name}: golden cycles are the cycles run, golden executions the "
              "instructions retired", run.summary)
        check(run.summary.get("instructions") == oracle.counted - faults > 0,
              f"{name}: as many instructions as plain QEMU executes ({faults} of them fault)",
              f"{oracle.counted} {run.summary}")

# A block that faults in the middle: the instructions before the access were executed, the others are executed later.
record("-c", "1000", "--", "./guest", "faults")
row = sorted((one["address"], one["executions"]) for one in samples("golden.data") if one.get("symbol") == "row")
check("27 21 27 21 21 27 21 21 27 21 21" in " ".join(str(executions) for _, executions in row),
      "faults: each instruction retired as often as it did not fault", row)

oracle = emulate("./guest", "threads", "4")
run = record("-c", "1000", "--", "./guest", "threads", "4")
check(run.stdout == oracle.stdout and conserved(run.summary) and len(run.summary["harts"]) == 5,
      "threads: one hart each, all cycles accounted", run.summary)
check(run.summary["harts"] and all(hart["samples"] > 100 for hart in run.summary["harts"][:4]),
      "threads: each is sampled", run.summary)

oracle = emulate("-L", "/usr/riscv64-linux-gnu", "./guest-dynamic", "work", "2")
run = record("--", "./guest-dynamic", "work", "2")
check(run.stdout == oracle.stdout and conserved(run.summary) and run.summary["instructions"] == oracle.counted,
      "a dynamic program runs and its libraries are accounted too", (oracle.counted, run))

run = record("--cpu", "rv64,v=true", "--", "./guest", "vector")
check(run.stdout == b"9900\n" and conserved(run.summary) and not run.summary["undecoded"],
      "vector instructions are accounted", run)

# ---- Sampling --------------------------------------------------------------------------------
record("-c", "1000", "--seed", "5", "--", "./guest", "work", "3")
first, first_golden = samples(), samples("golden.data")
record("-c", "1000", "--seed", "5", "--", "./guest", "work", "3")
check(len(first) > 600 and samples() == first and samples("golden.data") == first_golden,
      "the same seed and program give the same samples and the same golden reference")
record("-c", "1000", "--seed", "6", "--", "./guest", "work", "3")
check(samples() != first and samples("golden.data") == first_golden,
      "another seed gives other samples and the same golden reference")
run = record("-c", "256", "--jitter", "0", "--", "./guest", "work", "3")
check(run.summary["samples"] == run.summary["cycles"] // 256,
      "without jitter every 256th cycle is sampled", run.summary)
run = record("-c", "40000", "--", "./guest", "short", "300")
expected = run.summary["cycles"] / 40000
check(len(run.summary["harts"]) == 301 and abs(run.summary["samples"] - expected) < 4 * expected ** 0.5,
      "threads shorter than a period have their share of the samples", (expected, run.summary["samples"]))
run = record("-F", "4000000", "--", "./guest", "exit", "0")
check(run.summary["period"] == 800, "-F counts at the nominal frequency", run.summary)

# ---- Ends ------------------------------------------------------------------------------------
for guest, status in ((["exit", "200"], 200), (["signal", "15"], 143), (["signal", "9"], 137), (["crash"], 139),
                      (["illegal"], 132)):
    run = record("-c", "1000", "--", "./guest", *guest)
    check(run.returncode == status and conserved(run.summary),
          f"guest {' '.join(guest)}: status {status}, all cycles accounted", run)

echoed = record("--", "./guest", "echo", input=b"through\0and through" * 1000)
check(echoed.stdout == b"through\0and through" * 1000 and echoed.stderr == b"to standard error\n",
      "standard streams pass through", echoed)

for how, whom in ((signal.SIGINT, "the terminal's process group"), (signal.SIGINT, "pesa alone"),
                  (signal.SIGTERM, "pesa alone"),
                  (signal.SIGHUP, "pesa alone")):
    for name in ("perf.data", "golden.data", "summary.json"):
        if os.path.exists(name):
            os.unlink(name)
    spinning = subprocess.Popen([PESA, "record", "-q", "-c", "1000", "--golden", "golden.data",
                                 "--json=summary.json", "--", "./guest", "spin"], stdout=subprocess.PIPE, env=plain,
                                start_new_session=True)
    spinning.stdout.readline()
    time.sleep(0.3)
    (os.kill if whom == "pesa alone" else os.killpg)(spinning.pid, how)
    status = spinning.wait(timeout=60)
    with open("summary.json", encoding="utf-8") as file:
        summary = json.load(file)
    check(status == 128 + how and conserved(summary) and summary["samples"] > 100
          and len([one for one in samples() if "details" in json.dumps(one) or "state" in json.dumps(one)]) > 100,
          f"{how.name} to {whom}: both files are complete", (status, summary))


def behind_the_size(path):
    """Bytes of records that the file's header does not count yet."""
    with open(path, "rb") as file:
        offset, size = struct.unpack("<40xQQ", file.read(56))
    return os.path.getsize(path) - offset - size


killed = subprocess.Popen([PESA, "record", "-q", "-c", "300", "-z", "0", "--", "./guest", "spin"],
                          stdout=subprocess.PIPE, env=plain, start_new_session=True)
killed.stdout.readline()
for _ in range(1000):
    if behind_the_size("perf.data") > 65536:
        break
    time.sleep(0.01)
os.kill(killed.pid, signal.SIGKILL)
killed.wait()
os.killpg(killed.pid, signal.SIGKILL)
shown = command(PESA, "report", "--json")
check(shown.returncode == 1 and b"the recorder was killed" in shown.stderr
      and json.loads(shown.stdout)["samples"] > 100, "SIGKILL to pesa: what was written is readable, and said to be a part",
      shown)
# ---- execve ----------------------------------------------------------------------------------
run = record("-c", "1000", "--", "./guest", "exec", os.path.join(work, "guest"))
check(run.stdout == b"renamed|arguments|two words\nONLY=this\n" and run.returncode == 5,
      "execve is followed with its arguments and its environment", run)
check(run.summary["processes"] == 2 and conserved(run.summary), "both programs are accounted", run.summary)
run = record("-c", "1000", "--", "./guest", "spawn", os.path.join(work, "guest"))
check(run.returncode == 77 and run.summary["processes"] == 3 and conserved(run.summary),
      "a spawned program is followed: parent, child, and the child's program", run)
for _ in range(3):
    run = record("-c", "1000", "--", "./guest", "orphan", "1")
    shown = [json.loads(line) for line in
             command(PESA, "script", "--json", "--show-events").stdout.decode().splitlines()]
    forks = [one for one in shown if one["type"] == "fork"]
    orphan = forks[-1]["pid"] if forks else None
    sampled = [one for one in shown if one["type"] == "sample" and one["pid"] == orphan]
    if not (len(forks) == 2 and forks[1]["parent_pid"] == forks[0]["pid"] and len(sampled) > 100
            and all(one["comm"] == "guest" and one["dso"] for one in sampled)):
        break
else:
    orphan = None
check(orphan is None, "a child whose parent ends at once has its parent's name and mappings",
      (forks, sampled[:2], len(sampled)))
with open("script", "w", encoding="ascii") as file:
    file.write("#!" + os.path.join(work, "guest") + " arguments\n")
os.chmod("script", 0o755)
run = record("-c", "1000", "--", "./guest", "exec", os.path.join(work, "script"))
check(run.stdout == b"" and run.returncode == 5 or b"ONLY=this" in run.stdout,
      "a script whose interpreter is a RISC-V program is followed", run)
run = record("--", "./guest", "exec", "/nowhere")
check(run.returncode == 3 and b"/nowhere: No such file" in run.stderr and conserved(run.summary),
      "execve of what does not exist fails as without a recorder", run)

# ---- Cores that can tell less, or more -------------------------------------------------------
with open(os.path.join(BUILD, "share/pesa/cores/ooo-4"), encoding="utf-8") as file:
    description = file.read()
for targets, depth, known in ((2, 0, True), (0, 0, False), (0, 16, True)):
    with open("core", "w", encoding="utf-8") as file:
        file.write(re.sub(r"sample.ctr_depth = \d+", f"sample.ctr_depth = {depth}",
                          re.sub(r"sample.ct_targets = \d+", f"sample.ct_targets = {targets}", description)))
    run = record("-c", "300", "--core", "./core", "--", "./guest", "work", "3")
    shown = json.loads(command(PESA, "report", "--json").stdout)
    lost = {reason: cycles for reason, cycles in shown["unattributed"].items() if cycles}
    check(conserved(run.summary) and (not lost if known else set(lost) == {"transfers"}),
          f"{targets} targets in a record, {depth} control transfer records: cycles are "
          + ("all attributed" if known else "missing only where targets are"), lost)

# ---- Stock perf reads it ---------------------------------------------------------------------
perf = shutil.which("perf")
record("-c", "1000", "--", "./guest", "fork", "2")
for path, event in (("perf.data", "pesa/cycles/"), ("golden.data", "pesa/exact/")):
    if not perf:
        skip(f"perf report reads {path}", needs("linux-perf"))
        continue
    shown = command(perf, "report", "--stdio", "-i", path, env=plain)
    check(shown.returncode == 0 and not shown.stderr and event.encode() in shown.stdout
          and re.search(rb"guest +guest +.*work", shown.stdout), f"perf report reads {path} without a warning",
          (shown.stdout + shown.stderr).decode())
record("-c", "1000", "--", "./guest", "rename", "other-name")
shown = command(perf, "report", "--stdio", "--sort", "comm", env=plain) if perf else None
check(not perf or b"other-name" in shown.stdout, "a thread that renames itself has its new name", shown)
piped = command(PESA, "record", "-q", "-o", "-", "--", "./guest", "work", "1", env=plain)
with open("piped.data", "wb") as file:
    file.write(piped.stdout)
check(len(samples("piped.data")) > 10 and piped.stderr.strip().isdigit(),
      "with -o - the samples are a pipe and the guest's output goes to standard error", piped.stderr)

piped = command(PESA, "record", "-q", "--golden", "-", "--", "./guest", "work", "1", env=plain)
with open("piped.data", "wb") as file:
    file.write(piped.stdout)
check(len(samples("piped.data")) > 100 and piped.stderr.strip().isdigit(),
      "--golden - is a pipe alike", piped.stderr)


def into_pipe(*words, named=()):
    """Run the shell command; what came through each named pipe."""
    for name in named:
        os.mkfifo(name)
    readers = [subprocess.Popen(["sh", "-c", f"exec timeout 60 cat {name} > {name}.data"]) for name in named]
    done = subprocess.run(["bash", "-c", " ".join(words)], capture_output=True, env=plain, timeout=120)
    for reader in readers:
        reader.wait()
    return done


piped = into_pipe(PESA, "record -q -o samples --golden exact -- ./guest work 1", named=("samples", "exact"))
check(piped.returncode == 0 and len(samples("samples.data")) > 10 and len(samples("exact.data")) > 100,
      "named pipes get samples and exact profile", piped)
piped = into_pipe(PESA, "record -q -o /dev/stdout -- ./guest work 1 | cat > piped.data")
check(piped.returncode == 0 and len(samples("piped.data")) > 10 and piped.stderr.strip().isdigit(),
      "with -o /dev/stdout, a pipe, the guest's output goes to standard error", piped)
piped = into_pipe(PESA, "record -q -o >(cat > piped.data) -- ./guest work 1; wait $!")
check(piped.returncode == 0 and len(samples("piped.data")) > 10 and piped.stdout.strip().isdigit(),
      "a process substitution gets the samples, and the guest's output stays where it was", piped)
piped = into_pipe(PESA, "record -q -o /dev/fd/5 -- ./guest work 1 5>&1 >&2 | cat > piped.data")
check(piped.returncode == 0 and len(samples("piped.data")) > 10, "so does /dev/fd/N", piped)
piped = command(PESA, "record", "-q", "-o", "samples", "--golden", "samples", "--", "./guest", "work", "1", env=plain)
check(piped.returncode == 1 and b"cannot both be" in piped.stderr, "one pipe for both is refused", piped)

# ---- A full disk -----------------------------------------------------------------------------
os.mkdir("small")
if command("mount", "-t", "tmpfs", "-o", "size=200k", "none", "small").returncode:
    skip("a full disk", "no file system can be mounted here")
else:
    run = record("-c", "256", "-z", "0", "-o", "small/perf.data", "--", "./guest", "spin", "stubborn")
    check(run.returncode == 1 and b"No space left" in run.stderr and len(samples("small/perf.data")) > 1000,
          "a full disk ends the recording and a program that ignores SIGTERM, what fitted is readable", run)
    check(len(samples("golden.data")) > 100, "the golden reference on another disk is there", run)
    for name in os.listdir("small"):
        os.unlink(f"small/{name}")
    run = command(PESA, "record", "-c", "256", "-z", "0", "-o", "small/perf.data", "--golden", "small/golden.data", "--", "./guest",
                  "spin", "stubborn", env=plain)
    check(run.returncode == 1 and b"not all of it could be written" in run.stderr and
          b" cycles in small" not in run.stderr, "and the summary does not say that it holds everything", run)
    command("umount", "small")

# ---- Bad input -------------------------------------------------------------------------------


def refused(words, text, what, status=1):
    run = command(PESA, "record", *words, env=plain)
    message = run.stderr.decode()
    check(run.returncode == status and re.search(text, message) and message.count("\n") <= 2,
          what, f"{run.returncode} {message}")


refused(["--core", "ooo-4", "--", "/bin/true" if not NATIVE else "/nowhere"], "not for RISC-V|no program",
        "a program for another machine")
refused(["--", "./missing"], "no program", "a program that is missing")
refused(["--", os.path.join(work, "script")], "script", "a script")
refused(["-c", "255", "--jitter", "100", "--", "./guest"], "jitter", "a period below 256 cycles with a jitter")
refused(["-F", "100000000000", "--", "./guest"], "100000000000 samples a second .* to 12500000$",
        "more samples a second than the core can take")
few = command(PESA, "record", "-o", "few", "--", "./guest", "work", "1", env=plain).stderr.decode()
hint = re.search(r"'-c (\d+)' takes about ", few)
check(few.count("\n") == 2 and hint, "few samples of the default period: a hint", few)
more = command(PESA, "record", "-o", "few", "-c", hint[1] if hint else "1", "--", "./guest", "work", "1", env=plain).stderr.decode()
counts = [int(re.search(r"record: (\d+) samples of", text)[1]) for text in (few, more)]
check(more.count("\n") == 1 and counts[1] > 2 * counts[0], "with the period that it names there are more, and no hint", (few, more))
none = command(PESA, "record", "-o", "few", "-F", "2", "--", "./guest", "exit", "0", env=plain).stderr.decode()
check(re.search(r"record: 0 samples of .*\n.* 0 samples tell little", none), "no sample of a period that was chosen: a hint", none)
refused(["-c", "1000", "--jitter", "900", "--", "./guest"], "jitter", "a jitter that leaves the allowed periods")
refused(["-c", "many", "--", "./guest"], "many", "a period that is no number", 2)
refused([], "no program", "no program at all", 2)
refused(["--nothing"], "^pesa record: .*--nothing", "an option that there is not", 2)
refused(["--core", "none", "--", "./guest"], "pesa list", "a core that there is not")
refused(["-o", "/nowhere/perf.data", "--", "./guest"], "^pesa record: .*/nowhere/perf.data",
        "a file that cannot be written")
with open("kept.data", "w", encoding="ascii") as file:
    file.write("a recording")
refused(["-o", "kept.data", "--golden", "/nowhere/golden.data", "--", "./guest"], "^pesa record: .*/nowhere/golden.data",
        "an exact profile that cannot be written")
refused(["-o", "kept.data", "--json=/nowhere/summary", "--", "./guest"], "^pesa record: .*/nowhere/summary",
        "a summary that cannot be written")
with open("kept.data", "rb") as file:
    check(file.read() == b"a recording" and not os.path.exists("kept.data.old"), "leaves the earlier recording as it was")
limited = command("sh", "-c", f"ulimit -f 100; exec {PESA} record -o x -- ./guest", env=plain)
check(limited.returncode == 1 and limited.stderr.count(b"\n") == 1 and b"ulimit -f" in limited.stderr,
      "where files may not be as large as what is shared with the core: one line", limited)
refused(["-o", "x", "--golden", "x", "--", "./guest"], "both", "samples and golden reference in the same file")
refused(["-o", "fresh", "--golden", "../" + os.path.basename(work) + "/fresh", "--", "./guest"], "both",
        "or in one that has two names")
with open("there", "w", encoding="ascii"):
    os.symlink("there", "link")
refused(["-o", "there", "--golden", "link", "--", "./guest"], "both", "or in one and a link to it")
refused(["-o", "x", "--pipeline-trace", "x:1-9", "--", "./guest"], "both", "the samples and the pipeline trace")
refused(["--golden", "x", "--pipeline-trace", "x", "--", "./guest"], "both", "the exact profile and the pipeline trace")
refused(["-o", "x", "--json=x", "--", "./guest"], "both", "the samples and the summary")
refused(["--", ""], "no program ''", "a program without a name")
os.mkdir("folder")
refused(["--", "./folder"], "name a program in it", "a directory")
with open("kept", "w", encoding="ascii") as file:
    file.write("of yesterday")
run = command(PESA, "record", "-q", "-o", "kept", "--golden", "empty", "--cpu", "none", "--", "./guest", env=plain)
with open("kept", encoding="ascii") as file:
    check(run.returncode == 1 and file.read() == "of yesterday" and not os.path.exists("kept.old") and not os.path.exists("empty"),
          "a program that does not begin leaves the earlier recording as it was, and no file", run)
run = command(PESA, "record", "-q", "-o", "kept", "--", "./guest", "exit", "0", env=plain)
with open("kept.old", encoding="ascii") as file:
    check(run.returncode == 0 and file.read() == "of yesterday" and os.path.getsize("kept") > 100, "what was in the output is kept", run)
command(PESA, "record", "-q", "-o", "link", "--", "./guest", "exit", "0", env=plain)
check(os.path.islink("link") and os.path.getsize("there") > 100 and not os.path.exists("link.old"),
      "a link stays one, and is written through")
for words, what in ((["--cpu", "none", "--", "./guest"], "a CPU that the emulator does not have"),
                    (["--sysroot", "/nowhere", "--", "./guest-dynamic"], "a sysroot without the interpreter")):
    refused(words, "before the first instruction of .*guest.*--cpu and --sysroot", what)
for old, new, text, what in (
        ("retire.width = 4", "retire.width = 0", r"core:\d+: '0'.*1 to 15", "a width of zero"),
        ("line = 64", "line = 60", r"core:\d+: '60'.*power of two", "a line size that is no power of two"),
        ("icache.ways = 8", "icache.ways = 5", r"icache.size", "a cache geometry that does not fit"),
        ("model = sifive-p670", "model = nothing", r"core:\d+: 'nothing'.*pesa mca", "a model that there is not"),
        ("order = out-of-order", "order = none", r"core:\d+: 'none'.*in-order", "an order that there is not"),
        ("rob.entries = 128", "rob.entries = 128\nrob.entries = 64", r"core:\d+: .*twice", "a key twice"),
        ("rob.entries = 128", "rob.size = 128", r"core:\d+: unknown key 'rob.size'", "an unknown key"),
        ("rob.entries = 128", "", r"rob.entries", "a key that is missing"),
        ("rob.entries = 128", "rob.entries", r"core:\d+: .*key = value", "a line without a value")):
    with open("core", "w", encoding="utf-8") as file:
        file.write(description.replace(old, new))
    refused(["--core", "./core", "--", "./guest"], text, "a core description with " + what)

shutil.rmtree(work)
end()
