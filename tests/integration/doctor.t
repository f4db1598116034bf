#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""pesa doctor: this machine, and saved files of others; what it says of privileges and events is held against what stock
perf and the kernel's files say."""
import gzip
import json
import os
import shutil
import subprocess
import tempfile

from tap import PESA, check, copy_of_pesa, end, skip

work = tempfile.mkdtemp(prefix="pesa-doctor-")
os.chmod(work, 0o755)
os.chdir(work)


def doctor(*words, prefix=(), **environment):
    return subprocess.run([*prefix, PESA, "doctor", *words], capture_output=True, text=True, timeout=120, check=False,
                          env={**os.environ, **environment})


def findings(done):
    return {one["subject"]: one for one in json.loads(done.stdout)["findings"]}


def read(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read().strip()


# ---- This machine

text, machine = doctor(), doctor("--json")
shown = json.loads(machine.stdout)
check(text.returncode in (0, 1) and machine.returncode == text.returncode and not text.stderr, "it ends with 0 or 1", text)
check(text.returncode == any(one["state"] == "lack" for one in shown["findings"]), "1 if something is missing", shown)
check("What pesa can do here:" in text.stdout and shown["machine"]["kernel"] == read("/proc/sys/kernel/osrelease")
      and shown["machine"]["kernel"] in text.stdout, "it names the kernel, and what can be done", text.stdout)
check(shown["machine"]["perf_event_paranoid"] == int(read("/proc/sys/kernel/perf_event_paranoid")),
      "the level of perf_event_paranoid is the kernel's", shown["machine"])
check(all(one["mend"] or one["state"] != "lack" for one in shown["findings"]), "every lack has what mends it", shown)
check({word for one in shown["subcommands"] for word in one["commands"].replace(",", "").split()} >=
      {"record", "stat", "top", "report", "annotate", "topdown", "compare", "explain", "advise", "diff", "export", "script",
       "archive", "merge", "calibrate", "mca", "import", "list", "error", "pesad"}, "it speaks of every subcommand", shown["subcommands"])
perf = shutil.which("perf")
report = doctor("--report=report.json")
sent = json.loads(read("report.json"))
answers = {one["event"]: one for one in sent["answers"]}
check(report.returncode == text.returncode and not report.stdout and sent["findings"] == shown["findings"],
      "a report goes into a file, with the findings", report)
check(os.uname().nodename not in json.dumps(sent["answers"]) and "hostname" not in json.dumps(sent).lower(),
      "it does not name the host")
if perf:
    for event in ("task-clock", "cycles", "instructions"):
        theirs = subprocess.run([perf, "stat", "-x,", "-e", event, "true"], capture_output=True, text=True, check=False).stderr
        check((answers[event]["refusal"] == "ENOENT") == ("not supported" in theirs), f"{event} is there as stock perf has it",
              (answers[event], theirs))
else:
    skip("events are there as stock perf has them", "needs the package linux-perf")
check(answers["cpu-clock"]["sampled"] and not answers["cpu-clock"]["exact"], "a clock samples, with a late PC", answers["cpu-clock"])
for level in ("details", "pc", "cycles", "leader", "clock"):
    done = doctor("--require", level)
    record = subprocess.run([PESA, "record", "-q", "--require", level, "-o", "/dev/null", "-p", str(os.getpid()), "--duration", "0.01"],
                            capture_output=True, check=False)
    check(done.returncode == record.returncode, f"--require {level}: as pesa record has it", (done, record))

# ---- As somebody else

setpriv = shutil.which("setpriv")
if os.geteuid() == 0 and setpriv and shown["machine"]["perf_event_paranoid"] == 2:
    copy_of_pesa(".")
    other = subprocess.run([setpriv, "--reuid=65534", "--regid=65534", "--clear-groups", "bin/pesa", "doctor", "--json"],
                           capture_output=True, text=True, check=False)
    found = findings(other)["perf_event_paranoid"]
    check(other.returncode == 1 and found["state"] == "lack" and "sysctl kernel.perf_event_paranoid=1" in found["mend"],
          "an ordinary user lacks privileges, and is told the command", found)
else:
    skip("an ordinary user", "needs root, setpriv, and perf_event_paranoid 2")

# ---- Another machine's files

FILES = {
    "proc/cpuinfo": "processor\t: 0\nhart\t\t: 1\nisa\t\t: rv64imafdc_zicntr_zihpm\nuarch\t\t: thead,c910\nmvendorid\t: 0x5b7\n"
                    "marchid\t\t: 0x0\nmimpid\t\t: 0x0\n",
    "sys/firmware/devicetree/base/model": "Sipeed \x1b[31mLichee Pi 4A\0",
    "sys/firmware/devicetree/base/pmu/compatible": "riscv,pmu\0",
    "sys/bus/event_source/devices/cpu/type": "4\n",
    "proc/sys/kernel/osrelease": "6.6.0-test\n",
    "proc/sys/kernel/perf_event_paranoid": "4\n",
    "dev/kmsg": "6,1,2,-;SBI specification v1.0 detected\n6,1,2,-;SBI implementation ID=0x1 Version=0x10003\n"
                "6,9,9,-;riscv-pmu-sbi: 16 firmware and 18 hardware counters\n",
}
for name, contents in FILES.items():
    os.makedirs(os.path.dirname(f"root/{name}"), exist_ok=True)
    with open(f"root/{name}", "w", encoding="utf-8") as file:
        file.write(contents)
with gzip.open("root/proc/config.gz", "wt") as file:
    file.write("CONFIG_PERF_EVENTS=y\nCONFIG_RISCV_PMU=y\nCONFIG_RISCV_PMU_SBI=y\n# CONFIG_ERRATA_THEAD_PMU is not set\n")
done = doctor("--root", "root", "--json", DEBUGINFOD_URLS="")
found = findings(done)
check(done.returncode == 1 and json.loads(done.stdout)["level"] is None and found["source of samples"]["state"] == "unknown",
      "files of another machine: nothing is tried", found)
check("CONFIG_ERRATA_THEAD_PMU=y" in found["overflow interrupt"]["mend"], "the kernel lacks the option of this processor", found)
check("OpenSBI 1.3" in found["firmware"]["value"] and "newer" in found["firmware fault"]["mend"], "the firmware has faults", found)
check(found["processor"]["state"] == "good" and "18 counters" in found["counters"]["value"], "its event files are there", found)
check("nobody but root" in found["perf_event_paranoid"]["effect"], "4 of paranoid is more than the kernel's own levels", found)
text = doctor("--root", "root").stdout
check("\x1b" not in text and "Lichee" in text, "what files say is safe to print", text)
check(not json.loads(doctor("--root", "root", "--report").stdout)["answers"], "and a report of them has no answers")

# ---- Wrong usage

for words, says in ((("--root", "none"), "no folder"), (("--require", "much"), "details, pc"), (("extra",), "unexpected"),
                    (("--json", "--report"), "either"), (("--root", "root", "--require", "clock"), "without --root")):
    done = doctor(*words)
    check(done.returncode == 2 and says in done.stderr and done.stderr.count("\n") == 1, f"refused: {' '.join(words)}", done)
done = doctor("--report=/none/x")
check(done.returncode == 1 and "/none/x" in done.stderr, "a report that cannot be written", done)
shutil.rmtree(work)
end()
