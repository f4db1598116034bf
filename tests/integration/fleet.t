#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The commands of Documentation/fleet.md: MPI ranks and Slurm tasks record one file each, and the merged file is their sum."""
import getpass
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time

from tap import PESA, GUEST_CC, QEMU, NATIVE, bail_out, check, command, end, needs, plain_environment, skip

RANKS = 4
work = tempfile.mkdtemp(prefix="pesa-fleet-")
os.chdir(work)
plain = plain_environment(work)
plain["HOME"] = work
if not QEMU and not NATIVE:
    end(needs("qemu-user"))

# Each rank has a part of the work: the instructions of `work` say how often it went round.
with open("program.c", "w", encoding="ascii") as out:
    out.write("""
#include <stdlib.h>
__attribute__((noinline)) long work(long count)
{
	volatile long sum = 0;

	for (long i = 0; i < count; i++)
		sum += i ^ sum << 1;
	return sum;
}
int main(int argc, char **argv)
{
	const char *rank = getenv(argv[1]);

	return !rank || work(2000 + 1000 * atol(rank)) == 1;
}
""")
built = command(GUEST_CC, "-O2", "-g", "-static", "program.c", "-o", "program")
if built.returncode:
    bail_out("no guest:", built.stderr.decode())


def report(path):
    run = command(PESA, "report", "--json", "--sort", "symbol", "-i", path, env=plain)
    try:
        return json.loads(run.stdout)
    except ValueError as error:
        bail_out("no JSON:", error, run.stderr.decode())


def check_job(launcher, prefix, run):
    """The files that the ranks wrote, each alone and merged."""
    files = [f"{prefix}.{rank}.data" for rank in range(RANKS)]
    if not check(run.returncode == 0 and all(os.path.exists(name) for name in files),
                 f"{launcher}: each of {RANKS} ranks wrote a file of its own", run.stderr.decode()):
        return
    parts = [report(name) for name in files]
    rounds = [sum(row["cycles"] for row in part["functions"] if row["symbol"] == "work") for part in parts]
    check(all(left < right for left, right in zip(rounds, rounds[1:])), f"{launcher}: a rank with more work has more cycles", rounds)
    merged = command(PESA, "merge", "-q", *files, "-o", prefix + ".data", env=plain)
    backwards = command(PESA, "merge", "-q", *files[::-1], "-o", prefix + ".backwards", env=plain)
    check(merged.returncode == backwards.returncode == 0 and not merged.stderr, f"{launcher}: the files are merged",
          merged.stderr.decode())
    with open(prefix + ".data", "rb") as one, open(prefix + ".backwards", "rb") as other:
        check(one.read() == other.read(), f"{launcher}: in either order to the same bytes")
    job = report(prefix + ".data")
    check(job["samples"] == sum(part["samples"] for part in parts) and job["cycles"] == sum(part["cycles"] for part in parts),
          f"{launcher}: samples and cycles of the job are the sums over its ranks", (job["samples"], job["cycles"]))
    check(sum(row["cycles"] for row in job["functions"] if row["symbol"] == "work") == sum(rounds),
          f"{launcher}: and so are those of the function that they all run")
    script = command(PESA, "script", "--json", "-i", prefix + ".data", env=plain).stdout.decode()
    check(len(set(re.findall(r'"pid": ?(\d+)', script))) == RANKS, f"{launcher}: each rank is a process of its own")
    # If one rank is killed, the files of the others are complete.
    with open(files[0], "r+b") as file:
        file.truncate(os.path.getsize(files[0]) * 2 // 3)
    lossy = command(PESA, "merge", "-q", *files, "-o", prefix + ".lossy", env=plain)
    check(lossy.returncode == 1 and lossy.stderr.count(b"\n") == 1 and
          report(prefix + ".lossy")["samples"] >= sum(part["samples"] for part in parts[1:]),
          f"{launcher}: a rank whose file is cut off costs a line and its own samples only", lossy.stderr.decode())


def record(prefix, variable):
    return [PESA, "record", "-q", "--core", "ooo-4", "-c", "500", "-o", f"{prefix}.%q{{{variable}}}.data", "--",
            "./program", variable]


# ---- Open MPI

mpirun = shutil.which("mpirun")
if mpirun:
    words = [mpirun, "--oversubscribe", "-n", str(RANKS)] + (["--allow-run-as-root"] if not os.getuid() else [])
    check_job("mpirun", "rank", subprocess.run(words + record("rank", "OMPI_COMM_WORLD_RANK"), capture_output=True, timeout=100,
                                               env=plain, stdin=subprocess.DEVNULL))
else:
    skip("mpirun: ranks that record", needs("openmpi-bin"))

# ---- Slurm, on this machine alone

DAEMONS = ("munged", "slurmctld", "slurmd")


def find(name):
    return shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def write_configuration(host):
    os.makedirs("slurm/run", mode=0o700)
    for folder in ("state", "spool"):
        os.makedirs("slurm/" + folder)
    with open("slurm/munge.key", "wb", opener=lambda path, flags: os.open(path, flags, 0o400)) as key:
        key.write(os.urandom(1024))
    base = os.path.join(work, "slurm")
    user = getpass.getuser()
    with open("slurm/slurm.conf", "w", encoding="ascii") as out:
        out.write(f"""ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={base}/run/munge.socket
CryptoType=crypto/munge
SlurmctldPort={free_port()}
SlurmdPort={free_port()}
StateSaveLocation={base}/state
SlurmdSpoolDir={base}/spool
SlurmctldPidFile={base}/run/slurmctld.pid
SlurmdPidFile={base}/run/slurmd.pid
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
SchedulerType=sched/builtin
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
NodeName={host} NodeAddr=127.0.0.1 CPUs=1 State=UNKNOWN
PartitionName=all Nodes={host} Default=YES State=UP OverSubscribe=YES
""")
    return base


def start(words, daemons, log):
    with open(log, "wb") as out:
        daemons.append(subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=plain))


def answers(*words):
    return subprocess.run(words, capture_output=True, env=plain).returncode == 0


def wait_until(holds):
    for _ in range(150):
        if holds():
            return True
        time.sleep(0.1)
    return False


def start_slurm(daemons):
    """The reason why it could not be started, or None."""
    host = socket.gethostname().split(".")[0]
    base = write_configuration(host)
    plain["SLURM_CONF"] = base + "/slurm.conf"
    start([find("munged"), "--foreground", "--force", f"--key-file={base}/munge.key", f"--socket={base}/run/munge.socket",
           f"--pid-file={base}/run/munged.pid", f"--log-file={base}/munged.log", f"--seed-file={base}/run/seed", "--num-threads=1"],
          daemons, "slurm/munged.out")
    if not wait_until(lambda: os.path.exists("slurm/run/munge.socket")):
        return "munged does not start here"
    start([find("slurmctld"), "-D", "-c", "-f", plain["SLURM_CONF"]], daemons, "slurm/slurmctld.log")
    if not wait_until(lambda: answers("scontrol", "ping")):
        return "slurmctld does not start here"
    start([find("slurmd"), "-D", "-f", plain["SLURM_CONF"]], daemons, "slurm/slurmd.log")
    idle = wait_until(lambda: b"idle" in subprocess.run(["sinfo", "-h", "-o", "%t"], capture_output=True, env=plain).stdout)
    return "" if idle else "slurmd does not start here"


def stop(daemons):
    for daemon in reversed(daemons):
        daemon.send_signal(signal.SIGTERM)
        try:
            daemon.wait(10)
        except subprocess.TimeoutExpired:
            daemon.kill()
            daemon.wait()


if all(find(name) for name in DAEMONS) and find("srun"):
    running = []
    try:
        problem = start_slurm(running)
        if problem:
            skip("srun: tasks that record", problem)
        else:
            check_job("srun", "task", subprocess.run(
                ["srun", "--quiet", "--overcommit", "-n", str(RANKS), "--chdir", work] + record("task", "SLURM_PROCID"),
                capture_output=True, timeout=100, env=plain, stdin=subprocess.DEVNULL))
    finally:
        stop(running)
else:
    skip("srun: tasks that record", needs("slurm-wlm"))

# ---- Names of files

plain["RANK"] = "7"
for pattern, name in (("%q{RANK}.data", "7.data"), ("at.%h.data", f"at.{socket.gethostname().split('.')[0]}.data"),
                      ("%%.data", "%.data")):
    command(PESA, "record", "-q", "-c", "5000", "-o", pattern, "--", "./program", "RANK", env=plain)
    check(os.path.exists(name), f"record -o {pattern} writes {name}", os.listdir("."))
command(PESA, "record", "-q", "-c", "5000", "-o", "process.%p", "--", "./program", "RANK", env=plain)
check([name for name in os.listdir(".") if re.fullmatch(r"process\.\d+", name)], "%p is the process number", os.listdir("."))
for pattern, why in (("%q{NO_SUCH}", "is not set"), ("%x", "is followed by"), ("%q{PATH}", "cannot be part of a file name"),
                     ("%q{RANK", "in braces"), ("%", "is followed by")):
    run = command(PESA, "record", "-o", pattern, "--", "./program", "RANK", env=plain)
    check(run.returncode == 1 and run.stderr.count(b"\n") == 1 and why in run.stderr.decode(), f"record -o {pattern} is refused",
          run.stderr.decode())
os.chdir("/")
shutil.rmtree(work)
end()
