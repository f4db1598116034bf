# SPDX-License-Identifier: GPL-2.0-or-later
"""Functions shared by the tests in a debug kernel, which checks memory (KASAN, kmemleak), undefined behaviour, locks, and sleeping in
atomic context."""
import tempfile

from board import FAULTS, board, guest_program, read, script_parts, tap

CHECKERS = "KASAN|UBSAN|PROVE_LOCKING|DEBUG_ATOMIC_SLEEP|DEBUG_KMEMLEAK"
LEAKS = "/sys/kernel/debug/kmemleak"


def script(work):
    lines = ["export cpu=/sys/devices/system/cpu/cpu1; chmod 1777 /tmp",
             f"echo '== checkers'; zcat /proc/config.gz | grep -cE '^CONFIG_({CHECKERS})=y'",
             # Memory that the kernel lost before is not the fault of what is tested.
             f"sleep 6; echo scan > {LEAKS}; echo clear > {LEAKS}"]
    for name, command in work:
        lines.append(f"rm -f /tmp/data; echo '== {name}'; ({command}) 2>&1; echo status $?")
    lines.append(f"rm -f /tmp/*; sleep 6; echo scan > {LEAKS}; sleep 6; echo scan > {LEAKS}; "
                 f"echo '== leaks'; cat {LEAKS}; echo '== end'")
    return "\n".join(lines) + "\n"


def check_work(work, programs, *options, **keywords):
    """Boot a debug kernel, with options and keywords of board(), and run commands there, (name, command) each, beside guest programs:
    all succeed, and the kernel reports nothing."""
    with tempfile.TemporaryDirectory(prefix="pesa-debug-") as share:
        for program in programs:
            guest_program(program, share)
        with open(f"{share}/script", "w", encoding="utf-8") as file:
            file.write(script(work))
        done = board(*options, "--share", share, "--console", f"{share}/console", "--", "bash", "script", limit=1080, **keywords)
        console = read(f"{share}/console")
    parts = script_parts(done.stdout)
    why = f"status {done.returncode}\n{done.stdout}{done.stderr}{console}"
    tap.check(done.returncode == 0 and "end" in parts, "the debug kernel boots and the script ends", why)
    tap.check(parts.get("checkers", "").strip() == "5", "it has the five checkers", parts.get("checkers", why))
    for name, command in work:
        tap.check("status 0" in parts.get(name, ""), f"recorded: {name}", f"{command}\n{parts.get(name)}")
    tap.check(parts.get("leaks", "none").strip() == "", "no memory is lost", parts.get("leaks", why))
    tap.check(not FAULTS.search(console), "the kernel reports nothing", "\n".join(
        line for line in console.splitlines() if FAULTS.search(line)) + "\n" + console)
