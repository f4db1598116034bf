# SPDX-License-Identifier: GPL-2.0-or-later
"""accuracy.py --sampled: sampled recordings (pesa record --sampled) against exact profiles of the same programs.

Each program runs three times on the core: with the exact profile, and sampled with either period.  CPI is compared with that of the
exact run, the profile with the exact profile.
"""
import datetime
import io
import json
import os
import sys
import tempfile

import accuracy
from columns import put_section, wrapped

CORE = "ooo-4"
PERIODS = (1000000, 100000)  # cycles
HEADING = "## Sampled mode"
NEXT = "## Programs"
GUESS = 1.0  # scale of the run that tells how many cycles a scale takes


def recorded(words, folder, standard_input, common):
    summary = os.path.join(folder, "summary")
    accuracy.run([accuracy.PESA, "record", "-q", "--json=" + summary, *words, *common], input=standard_input)
    with open(summary, encoding="utf-8") as file:
        return json.load(file)


def measure(name, wanted):
    """Figures of a program of about `wanted` cycles."""
    with tempfile.TemporaryDirectory(prefix="pesa-accuracy-") as folder:
        data, golden = os.path.join(folder, "perf.data"), os.path.join(folder, "golden.data")

        def command_of(scale):
            command, standard_input, cpu = accuracy.program(name, folder, scale)
            return (["--core", CORE] + (["--cpu", cpu] if cpu else []) + ["--", os.path.join(accuracy.O, "programs", name)]
                    + command[1:], standard_input)
        common, standard_input = command_of(GUESS)
        guess = recorded(["--sampled", "-c", str(PERIODS[-1]), "-o", data], folder, standard_input, common)
        common, standard_input = command_of(GUESS * wanted / guess["cycles"])
        exact = recorded(["-c", str(PERIODS[0]), "-o", data, "--golden", golden], folder, standard_input, common)
        found = {"program": name, "cycles": exact["cycles"], "instructions": exact["instructions"],
                 "cpi": exact["cycles"] / exact["instructions"], "periods": {}}
        for period in PERIODS:
            sampled = recorded(["--sampled", "-c", str(period), "-o", data], folder, standard_input, common)
            error = json.loads(accuracy.run([accuracy.PESA, "error", "--json", "--golden", golden, "-i", data]))
            found["periods"][period] = {
                **sampled["sampled"], "samples": sampled["samples"],
                "error": error["error"], "floor": error["floor"]}
        return found


def percent(value):
    return f"{100 * value:.2f}"


def section(results, command):
    cpi, profiles = [], []
    ratios = {period: [] for period in PERIODS}
    off = {period: [] for period in PERIODS}
    held = cases = 0
    for one in results:
        cells = [one["program"], f"{one['cycles'] / 1e6:.0f}", f"{one['cpi']:.4f}"]
        others = [one["program"]]
        for period in PERIODS:
            got = one["periods"][period]
            difference, half = got["cpi"] / one["cpi"] - 1, got["cpi_interval"] / one["cpi"]
            cells += [str(got["windows"]), f"{100 * difference:+.2f}", percent(half)]
            others += [str(got["samples"]), percent(got["error"]), percent(got["floor"]), f"{got['error'] / got['floor']:.3f}"]
            ratios[period].append((got["error"] / got["floor"], one["program"]))
            off[period].append((abs(difference), one["program"]))
            held += abs(difference) <= half
            cases += 1
        cpi.append("| " + " | ".join(cells) + " |\n")
        profiles.append("| " + " | ".join(others) + " |\n")
    out = io.StringIO()
    out.write(f"""{HEADING}

`pesa record --sampled` ([virtual-core](virtual-core.md#sampled-mode)) against the exact profile of another run of the same
program with the same input, on {CORE}. Written by `{command}`; machine: {accuracy.machine()}; {datetime.date.today()}. Figures are
percent but for counts, CPI and ratios.

""")
    for period in PERIODS:
        worst, name = max(off[period])
        ratio, at = max(ratios[period])
        out.write(f"* Every {period} cycles: CPI is {percent(worst)} % off at most ({name}), "
                  f"{percent(sum(value for value, _ in off[period]) / len(results))} % on average; the error of the profile is "
                  f"{ratio:.3f} times the floor at most ({at}).\n")
    out.write(f"* {held} of {cases} exact CPIs are in the 95 % interval that the recording states.\n")
    out.write(f"""
Million cycles, CPI of the exact run; then for a period of {PERIODS[0]} and one of {PERIODS[1]} cycles: windows, difference of
the CPI, half of its interval:

| program | cycles | CPI | windows | difference | interval | windows | difference | interval |
| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
{''.join(cpi)}
By instruction, state and causes, for the same periods: samples, error, floor, and error over floor:

| program | samples | error | floor | ratio | samples | error | floor | ratio |
| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
{''.join(profiles)}
""")
    return wrapped(out.getvalue())


def main(names, path, cycles, command):
    """Measure, and write the section into the document, or all to standard output."""
    results = []
    for name in names:
        results.append(measure(name, cycles))
        figures = results[-1]["periods"][PERIODS[-1]]
        print(f"{name:<14}{results[-1]['cycles']:>12} cycles  CPI {results[-1]['cpi']:.4f}, sampled {figures['cpi']:.4f}  "
              f"error {percent(figures['error'])} %  floor {percent(figures['floor'])} %", file=sys.stderr, flush=True)
    put_section(path, HEADING, section(results, command), NEXT)
