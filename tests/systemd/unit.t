#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The daemon's unit under a real systemd: started, asked, reloaded, killed, stopped, with no more rights than it needs.

A container of this machine's own files: what is written goes to memory.  It needs root and systemd-nspawn (Debian's package
systemd-container), so this is no part of make check: make check-unit-file.
"""
import os
import re
import shutil
import subprocess
import tempfile

from tap import BUILD, TOP, check, end

PREFIX = "/usr/local"
NEEDED = ("perfmon", "bpf", "sys_ptrace", "syslog")  # a container has them only when reported
KEPT = 1 << 38 | 1 << 39 | 1 << 19  # PERFMON, BPF, SYS_PTRACE: SYSLOG is given up
NOBODY_BELOW = 1000

SCRIPT = r"""
say() { echo "$1: $2"; }
show() { systemctl show pesad -p "$1" --value; }
files() { ls /var/lib/pesa | grep -c '^pesa-.*\.data$'; }
began() { say "$1" "$(systemctl start pesad && show ActiveState)"; }
began start_without_file
systemctl stop pesad
printf '[collect]\nevent = cpu-clock\n[store]\ninterval = 1s\n' > /etc/pesad.conf
began start
process=$(show MainPID)
for name in Uid CapPrm CapEff CapAmb NoNewPrivs Seccomp; do
    say $name "$(sed -n "s/^$name:[[:space:]]*//p" /proc/$process/status | cut -f1)"
done
sleep 3
say files "$(files)"
say metrics "$(curl -s --unix-socket /run/pesa/pesad.socket http://localhost/metrics | grep -c '^pesa')"
say stranger "$(setpriv --reuid=65534 --regid=65534 --clear-groups curl -s --unix-socket /run/pesa/pesad.socket \
    http://localhost/metrics | grep -c '^pesa')"
say ports "$(ss -Hltp 2>/dev/null | grep -c pesad)"
echo 'frequency = 0' >> /etc/pesad.conf
systemctl reload pesad
sleep 1
say wrong_reload "$(show ActiveState) $(show MainPID | grep -cx $process)"
sed -i '$d' /etc/pesad.conf
systemctl reload pesad
sleep 1
say reload "$(show ActiveState) $(show MainPID | grep -cx $process)"
kill -9 $process
for turn in 1 2 3 4 5 6 7 8 9 10; do [ "$(show ActiveState)" = active ] && [ "$(show MainPID)" != $process ] && break; sleep 1; done
say restarted "$(show ActiveState) $(show NRestarts)"
systemctl stop pesad
say stop "$(show Result) $(show ExecMainStatus) $(show ActiveState)"
say left "$(ls -A /var/lib/pesa | grep -c '^\.pesad-.*\.data$')"
journalctl -o cat -u pesad
"""


def unit(description, *lines):
    return f"[Unit]\nDescription={description}\n" + "\n".join(lines) + "\n"


def lay(root):
    """The daemon, its unit, and a target that runs the script and ends."""
    units = os.path.join(root, "etc/systemd/system")
    subprocess.run(["make", "-s", "-C", TOP, f"O={BUILD}", f"DESTDIR={root}", f"PREFIX={PREFIX}", "install"], check=True,
                   stdout=subprocess.DEVNULL)
    for name in ("etc/pesad.conf", "etc/machine-id"):
        if os.path.exists(os.path.join(root, name)):
            os.unlink(os.path.join(root, name))
    with open(os.path.join(root, "script"), "w", encoding="ascii") as file:
        file.write(SCRIPT)
    with open(os.path.join(units, "script.service"), "w", encoding="ascii") as file:
        file.write(unit("the test", "[Service]", "Type=oneshot", "ExecStart=/bin/sh /script", "StandardOutput=file:/said",
                        "StandardError=file:/said", "ExecStopPost=/bin/systemctl poweroff --no-block"))
    with open(os.path.join(units, "script.target"), "w", encoding="ascii") as file:
        file.write(unit("the test", "Requires=basic.target", "After=basic.target", "Wants=script.service"))


def run(work):
    root = os.path.join(work, "root")
    for name in ("root", "upper", "work"):
        os.mkdir(os.path.join(work, name))
    subprocess.run(["mount", "-t", "overlay", "overlay", "-o",
                    f"lowerdir=/,upperdir={work}/upper,workdir={work}/work", root], check=True)
    try:
        lay(root)
        capabilities = ",".join("CAP_" + name.upper() for name in NEEDED)
        done = subprocess.run(["systemd-nspawn", "-q", "--register=no", "--keep-unit", f"--capability={capabilities}",
                               "--system-call-filter=perf_event_open bpf", "-D", root, "--boot",
                               "systemd.unit=script.target"], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=180, check=False)
        said = os.path.join(root, "said")
        if not os.path.exists(said):
            return "", done.stdout[-2000:] + done.stderr
        with open(said, encoding="utf-8") as file:
            return file.read(), ""
    finally:
        subprocess.run(["umount", root], check=True)


for need, there in (("root", os.geteuid() == 0), ("systemd-nspawn", shutil.which("systemd-nspawn"))):
    if not there:
        end(f"this needs {need}")
work = tempfile.mkdtemp()
subprocess.run(["mount", "-t", "tmpfs", "none", work], check=True)
try:
    text, why = run(work)
finally:
    subprocess.run(["umount", work], check=True)
    os.rmdir(work)
said = dict(re.findall(r"^(\w+): (.*)$", text, re.M))
check(text, "systemd boots and runs the test", why)
check(said.get("start_without_file") == "active" or "no PMU 'pesa'" in text, "without a configuration file the defaults hold", text)
check(said.get("start") == "active", "systemctl start waits until it is ready", text)
check(int(said.get("Uid", 0)) >= NOBODY_BELOW, "it has a user of its own", text)
check(int(said.get("CapPrm", "f" * 16), 16) == int(said.get("CapEff", "f" * 16), 16) == KEPT
      and int(said.get("CapAmb", "f"), 16) == 0, "it keeps three capabilities and passes none on", text)
check(said.get("NoNewPrivs") == "1" and said.get("Seccomp") == "2", "no new privileges, and a filter of system calls", text)
check(int(said.get("files", 0)) >= 1, "intervals become files", text)
check(int(said.get("metrics", 0)) > 5, "it answers at its socket", text)
check(said.get("stranger") == "0", "but not a user who may not read the store", text)
check(said.get("ports") == "0", "and it has no port", text)
check(said.get("wrong_reload") == "active 1", "a wrong configuration is not taken up", text)
check(said.get("reload") == "active 1", "systemctl reload: the same process goes on", text)
check(said.get("restarted") == "active 1", "killed, it is started again", text)
check(said.get("stop") == "success 0 inactive", "systemctl stop: it ends well", text)
check(said.get("left") == "0", "no unfinished file is left", text)
end()
