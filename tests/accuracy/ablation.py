#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Measure what each field of shpmsdetails is worth: drop or shrink one at a time, and see what the profile loses.

Programs of accuracy.py run once on each core of the virtual core with every sampler.  Then fields are dropped from the records of that
one recording, and the profile of what is left is compared with that of the full records: the same sampled cycles, so that chance has no
part in the difference.

  tests/accuracy/ablation.py [-o FILE] [--svg FILE] [--samples N] [--programs NAMES] [--cores NAMES]

-o: into a document, between <!-- measured --> and <!-- end of measured -->; without it to standard output.

What was measured stands in O/ablation.partial: a run that was interrupted goes on where it was.
"""
import argparse
import collections
import concurrent.futures
import datetime
import io
import json
import os
import sys
import tempfile

from accuracy import EVENTS, KINDS, O, PERIOD, PESA, SMALL, Failed, machine, program, run
from columns import replace_between, wrapped
from perf_samples import Recording
from variants import ADDRESS, FULL, VARIANTS, full, next_when_flushed

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path += [os.path.join(HERE, "../rtl"), os.path.join(HERE, "../integration")]
import in_order_log
from cost import of as unit_cost

IN_ORDER = os.path.join(HERE, "../data/in-order")

CORES = ["inorder-2", "ooo-3", "ooo-4", "ooo-8"]
# Measured on some programs only: with what a recording has of another sampler.
NEXT_PC = [("full record", FULL, {}, full), ("flushed names the next PC", FULL, None, next_when_flushed)]
SAMPLERS = [("next-commit", ADDRESS), ("last-commit", ADDRESS), ("dispatch", ADDRESS + 10), ("lcofi", 0)]
METRICS = ["instruction", "state", "cause", "instruction, state", "instruction, state, causes"]


# ---- Profiles and their distance -------------------------------------------------------------------------------------


def profile(path, event=EVENTS["shpms"]):
    """Cycles by (address, dso, state, causes), the share that is unattributed, and that of each top-down node."""
    document = json.loads(run([PESA, "report", "--json", "--raw", "--sort", "insn", "--event", event, "-i", path]))
    cells = collections.Counter()
    for one in document["instructions"]:
        for state, parts in one["stack"].items():
            for cause, cycles in parts.items():
                cells[one["address"], one["dso"], state, cause] += cycles
    lost = sum(document["unattributed"].values())
    return cells, document["cycles"], lost / document["cycles"]


def topdown(path):
    document = json.loads(run([PESA, "topdown", "--json", "--top", "0", "--level", "2", "-i", path]))
    return {one["key"]: one["share"] for one in document["nodes"]}


KEYS = {"instruction": lambda cell: cell[:2], "state": lambda cell: cell[2], "cause": lambda cell: cell[3],
        "instruction, state": lambda cell: cell[:3], "instruction, state, causes": lambda cell: cell}


def distance(got, want, key):
    """Half the sum of |share - share|: shares of all cycles; what is unattributed is a bucket, too."""
    shares = collections.Counter()
    for (cells, cycles, _), sign in ((got, 1), (want, -1)):
        for cell, value in cells.items():
            shares[key(cell)] += sign * value / cycles
    return (sum(map(abs, shares.values())) + abs(got[2] - want[2])) / 2


# ---- One program on one core -----------------------------------------------------------------------------------------


def record(name, core, folder, wanted, period=PERIOD, options=(), samplers=tuple(EVENTS)):
    """A recording with about as many samples."""
    data, golden = os.path.join(folder, "perf.data"), os.path.join(folder, "golden.data")
    scale, cycles = SMALL, 0
    for attempt in range(3):
        command, standard_input, cpu = program(name, folder, scale)
        run([PESA, "record", "-q", "-z", "0", "-c", str(period), "--sampler", ",".join(samplers), "-o", data,
             "--golden", golden, "--json=" + os.path.join(folder, "summary"), "--core", core, *options,
             *(["--cpu", cpu] if cpu else []), "--", os.path.join(O, "programs", name), *command[1:]], input=standard_input)
        with open(os.path.join(folder, "summary"), encoding="utf-8") as file:
            summary = json.load(file)
        cycles = summary["cycles"]
        if cycles >= 0.7 * wanted * period or attempt == 2:
            break
        scale *= min(12, 1.05 * wanted * period / cycles)
    return data, golden, cycles


def measure_variants(recording, folder, variants):
    """What each variant of a recording loses against the full records; the profile of these."""
    found, whole, whole_topdown = {}, None, None
    changed = os.path.join(folder, "changed.data")
    for variant, _, _, change in variants:
        recording.write(changed, change)
        got, slots = profile(changed), topdown(changed)
        if whole is None:
            whole, whole_topdown = got, slots
        row = {metric: distance(got, whole, KEYS[metric]) for metric in METRICS}
        row["unattributed"] = got[2]
        row["topdown"] = sum(abs(slots[key] - share) for key, share in whole_topdown.items()) / len(whole_topdown)
        found[variant] = row
    return found, whole


def measure(name, core, wanted):
    result = {"program": name, "core": core, "samplers": {}}
    with tempfile.TemporaryDirectory(prefix="pesa-ablation-") as folder:
        data, golden, result["cycles"] = record(name, core, folder, wanted, options=["--set", "sample.ctr_depth=32"])
        recording = Recording(data)
        result["samples"] = len(recording.places)
        result["variants"], whole = measure_variants(recording, folder, VARIANTS)
        for sampler, _ in SAMPLERS:
            got = profile(data, EVENTS[sampler])
            result["samplers"][sampler] = {"instruction": distance(got, whole, KEYS["instruction"])}
        exact = json.loads(run([PESA, "error", "--json", "--golden", golden, "-i", data, "--event", EVENTS["shpms"]]))
        result["exact"] = {key: [exact[key]["error"], exact[key]["floor"]] for key in ("instruction", "stack")}
    return result


def measure_next(name, core, wanted):
    """The PC of the next instruction where a flush is, as hardware has it that does not remember who flushed."""
    with tempfile.TemporaryDirectory(prefix="pesa-ablation-") as folder:
        data, _, _ = record(name, core, folder, wanted, samplers=("shpms", "next-commit"))
        return {"program": name, "core": core, "variants": measure_variants(Recording(data, 0, 1), folder, NEXT_PC)[0]}


def measure_log(name, core, _):
    """A log of the RTL of an in-order core (tests/data/in-order), every cycle of it."""
    with tempfile.TemporaryDirectory(prefix="pesa-ablation-") as folder:
        elf, log, told, data = (os.path.join(folder, one) for one in ("program.elf", "log", "told.map", "perf.data"))
        with open(elf, "wb") as out:
            out.write(in_order_log.packed(IN_ORDER, name + ".elf"))
        with open(log, "w", encoding="ascii") as out:
            out.write(in_order_log.kanata(IN_ORDER, name))
        with open(told, "w", encoding="ascii") as out:
            out.write('name = told\nformat = kanata\ndispatch = X\ncomplete = W\nflush = label "flush="\n'
                      'cause.branch-mispredict = label "flush=transfer"\n')
        run([PESA, "import", "-q", "-m", told, "-e", elf, "--retire-width", "1", "-c", "1", "--jitter", "0", "-z", "0", "-o", data, log])
        recording = Recording(data)
        return {"program": name, "core": core, "samples": len(recording.places), "cycles": len(recording.places),
                "variants": measure_variants(recording, folder, VARIANTS)[0]}


def measure_periods(name, core, wanted):
    """Error against the exact profile with other periods and other jitter."""
    rows = []
    for period, jitter in ((288, 32), (576, 72), (1152, 144), (2304, 288), (1024, 0), (1024, 128), (1024, 768)):
        with tempfile.TemporaryDirectory(prefix="pesa-ablation-") as folder:
            data, golden, cycles = record(name, core, folder, wanted * PERIOD // period, period, ["--jitter", str(jitter)], ("shpms",))
            exact = json.loads(run([PESA, "error", "--json", "--golden", golden, "-i", data, "--event", EVENTS["shpms"]]))
            rows.append({"period": period, "jitter": jitter, "cycles": cycles, "error": exact["stack"]["error"],
                         "floor": exact["stack"]["floor"]})
    return {"program": name, "core": core, "periods": rows}


# ---- The document ----------------------------------------------------------------------------------------------------


def percent(value):
    return f"{100 * value:.2f}"


def mean(values):
    values = list(values)
    return sum(values) / len(values)


def write_table(out, heads, rows):
    out.write("\n| " + " | ".join(heads) + " |\n| --- |" + " ---: |" * (len(heads) - 1) + "\n")
    for row in rows:
        out.write("| " + " | ".join(map(str, row)) + " |\n")


def averages(results, variant):
    rows = [one["variants"][variant] for one in results]
    return {key: mean(row[key] for row in rows) for key in rows[0]}


def write(out, results, following, logs, periods, command, cost):
    names = sorted({one["program"] for one in results})
    cores = [core for core in CORES if any(one["core"] == core for one in results)]
    samples = sorted(one["samples"] for one in results)
    out.write(f"""
Written by `{command}`; machine: {machine()}; {datetime.date.today()}.

{len(results)} runs: {len(names)} programs ({', '.join(names)}; [accuracy](accuracy.md) says what they are and do) on each of
{', '.join(cores)}, cores of the virtual core. {samples[0]} to {samples[-1]} samples each, {samples[len(samples) // 2]} in the middle, one
every {PERIOD} cycles. Fields were dropped from the records of one recording, so a row differs from the first one by the field alone and
not by chance. Each figure is an average over the runs.

* error: half the sum of |share - share with the full record| over the buckets: instructions; states of the retire stage; sets of
  causes; instructions with state; instructions with state and set of causes; what is unattributed is a bucket of each. Percent of all
  cycles. The full record itself is, with so many samples, {percent(mean(one['exact']['stack'][0] for one in results))} % from the exact
  profile by instruction, state and causes, where ideal random sampling of as many cycles would be expected to be
  {percent(mean(one['exact']['stack'][1] for one in results))} %.
* lost: percent of the cycles that are unattributed.
* top-down: mean of |share - share with the full record| over the nodes of levels 1 and 2, in percent points.
* bits: of the registers that software reads for a sample (RV64, without shpmsdata and shpmsdetailscc, and without the bit of an
  address that is always 0); with control transfer records those of their addresses, too.
* flip-flops, cells: of the unit for a core that retires four instructions in a cycle, without AutoRun, by yosys ([cost](rtl-cost.md)),
  where it has such a parameter.
""")
    rows = []
    for variant, bits, parameters, _ in VARIANTS:
        row = averages(results, variant)
        flops, cells = cost.get(variant, ("", ""))
        rows.append([variant, bits, flops, cells] + [percent(row[metric]) for metric in METRICS]
                    + [percent(row["unattributed"]), percent(row["topdown"])])
    write_table(out, ["variant", "bits", "flip-flops", "cells", "instr.", "state", "cause"],
                [row[:7] for row in rows])
    write_table(out, ["variant", "instr., state", "instr., state, causes", "lost", "top-down"],
                [[row[0], *row[7:]] for row in rows])
    if following:
        row = averages(following, NEXT_PC[1][0])
        out.write(f"\nWhere a flush is named by the PC of the next instruction and not by that of the culprit (so hardware need not "
                  f"remember it, {ADDRESS + 10} bits): error by instruction {percent(row['instruction'])}, by instruction and state "
                  f"{percent(row['instruction, state'])}, by all three {percent(row['instruction, state, causes'])} ("
                  + ", ".join(sorted({one["program"] for one in following})) + " on all cores).\n")
    out.write("\nOther hardware, on the same cycles: error by instruction against the full record.\n")
    write_table(out, ["sampler", "bits", *cores, "all"],
                [[sampler, bits] + [percent(mean(one["samplers"][sampler]["instruction"] for one in results if one["core"] == core))
                                    for core in cores]
                 + [percent(mean(one["samplers"][sampler]["instruction"] for one in results))] for sampler, bits in SAMPLERS])
    out.write("\n![error against bits](ablation.svg)\n\n### By core\n\nError by instruction, state and causes, and what is lost:\n")
    write_table(out, ["variant", *(f"{core}, lost" for core in cores)],
                [[variant] + [" ".join(percent(averages([one for one in results if one["core"] == core], variant)[key])
                                       for key in ("instruction, state, causes", "unattributed")) for core in cores]
                 for variant, *_ in VARIANTS])
    if logs:
        out.write(f"\nOn the logs of the RTL of SCR1, an in-order core with one instruction a cycle ("
                  f"{' and '.join(sorted(one['program'] for one in logs))}, {sum(one['cycles'] for one in logs)} cycles, all of them; its logs "
                  "tell mispredicts and no other cause, and the next PC is not known): what loses anything.\n")
        rows = [[variant, *(averages(logs, variant)[metric] for metric in METRICS), averages(logs, variant)["unattributed"]]
                for variant, *_ in VARIANTS]
        write_table(out, ["variant", "instr.", "state", "cause", "instr., state", "all three", "lost"],
                    [[row[0], *map(percent, row[1:])] for row in rows if max(row[1:]) >= 0.00005])
    if periods:
        out.write("""
### Period and jitter

Error by instruction, state and causes against the exact profile of the same run, and its ratio to that of ideal random sampling
of as many cycles. About as many cycles in each row: longer periods have fewer samples.
""")
        keys = [(row["period"], row["jitter"]) for row in periods[0]["periods"]]
        table = []
        for i, (period, jitter) in enumerate(keys):
            errors = [one["periods"][i]["error"] for one in periods]
            ratios = [one["periods"][i]["error"] / one["periods"][i]["floor"] for one in periods]
            table.append([period, jitter, percent(mean(errors)), f"{mean(ratios):.3f}", f"{max(ratios):.3f}"])
        write_table(out, ["period", "jitter", "error", "error / floor", "largest"], table)
        out.write(f"\n{len(periods)} runs: " + ", ".join(sorted({one["program"] for one in periods})) + " on "
                  + ", ".join(sorted({one["core"] for one in periods})) + ".\n")


# Figures that the papers publish: name, bits of storage in a core, error in percent.
PUBLISHED = [("TIP (published: 57 bytes, 1.6 %)", 57 * 8, 1.6), ("TEA (published: 249 bits, 2.1 %)", 249, 2.1)]


def svg(results):
    """Error by instruction and by everything against the bits of a variant."""
    points = []
    for variant, bits, _, _ in VARIANTS:
        row = averages(results, variant)
        points.append((variant, bits, 100 * row["instruction"], 100 * row["instruction, state, causes"]))
    others = [(sampler, bits, 100 * mean(one["samplers"][sampler]["instruction"] for one in results)) for sampler, bits in SAMPLERS]
    width, height, left, bottom, most_bits = 900, 620, 60, 60, 520
    most = 10 * (1 + int(max([point[3] for point in points] + [other[2] for other in others]) // 10))

    def x(bits):
        return left + (width - left - 20) * min(bits, most_bits) / most_bits

    def y(error):
        return height - bottom - (height - bottom - 30) * (error / most) ** 0.5
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
           'font-family="sans-serif" font-size="11">', f'<rect width="{width}" height="{height}" fill="#fff"/>',
           f'<text x="{width / 2}" y="{height - 14}" text-anchor="middle">bits of the registers of a sample (RV64)</text>',
           '<text x="16" y="20">error, percent (square-root scale): filled by instruction, open by instruction, state and causes; '
           'diamonds: published, with sampling error</text>']
    for bits in range(0, most_bits + 1, 65):
        out.append(f'<path d="M{x(bits):.1f} {height - bottom}v5" stroke="#333"/><text x="{x(bits):.1f}" y="{height - bottom + 18}" '
                   f'text-anchor="middle">{bits}</text>')
    for error in [0, 1, 2, 5] + list(range(10, most + 1, 10)):
        out.append(f'<path d="M{left} {y(error):.1f}H{width - 20}" stroke="#ddd"/><text x="{left - 6}" y="{y(error) + 4:.1f}" '
                   f'text-anchor="end">{error}</text>')
    used = []

    def label(text, at, high, colour):
        # Below each other where they would overlap.
        high = high - 4
        while any(abs(high - other) < 11 and abs(at - place) < 150 for place, other in used):
            high += 11
        used.append((at, high))
        side = 'x="%.1f"' % (at + 6) if at < 640 else 'text-anchor="end" x="%.1f"' % (at - 6)
        out.append(f'<text {side} y="{high:.1f}" fill="{colour}">{text}</text>')
    for name, bits, error, whole in points:
        if bits > most_bits:
            continue
        out.append(f'<path d="M{x(bits):.1f} {y(error):.1f}V{y(whole):.1f}" stroke="#9bc" />'
                   f'<circle cx="{x(bits):.1f}" cy="{y(error):.1f}" r="3" fill="#06c"><title>{name}: {bits} bits, {error:.2f}</title></circle>'
                   f'<circle cx="{x(bits):.1f}" cy="{y(whole):.1f}" r="3" fill="#fff" stroke="#06c"><title>{name}: {whole:.2f}</title>'
                   '</circle>')
        label(name, x(bits), y(whole), "#036")
    for name, bits, error in others:
        out.append(f'<rect x="{x(bits) - 3:.1f}" y="{y(error) - 3:.1f}" width="6" height="6" fill="#c30"/>')
        label(name, x(bits), y(error), "#900")
    for name, bits, error in PUBLISHED:
        out.append(f'<path d="M{x(bits):.1f} {y(error) - 5:.1f}l5 5l-5 5l-5 -5z" fill="#fff" stroke="#080"/>')
        label(name, x(bits), y(error), "#060")
    return "\n".join(out + ["</svg>"]) + "\n"


def main():
    parser = argparse.ArgumentParser(description="what each field of shpmsdetails is worth")
    parser.add_argument("-o", "--output")
    parser.add_argument("--svg")
    parser.add_argument("--samples", type=int, default=30000)
    parser.add_argument("--programs", default=",".join(KINDS))
    parser.add_argument("--periods", default="bzip2,zstd,sort", help="programs that run with other periods, too")
    parser.add_argument("--cores", default=",".join(CORES))
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    names, cores = options.programs.split(","), options.cores.split(",")
    run([os.path.join(HERE, "../../tools/programs"), "-o", os.path.join(O, "programs"), *names])
    partial = os.path.join(O, "ablation.partial")
    done = []
    if os.path.exists(partial):
        with open(partial, encoding="utf-8") as file:
            done = [json.loads(line) for line in file]
    key = [options.samples, os.stat(PESA).st_mtime]
    done = [one for one in done if one["key"] == key]
    with open(partial, "w", encoding="utf-8") as file:
        file.writelines(json.dumps(one) + "\n" for one in done)
    tasks = [(measure, name, core) for name in names for core in cores]
    tasks += [(measure_next, name, core) for name in options.periods.split(",") if name for core in cores]
    tasks += [(measure_periods, name, core) for name in options.periods.split(",") if name for core in cores]
    tasks += [(measure_log, name, "SCR1") for name in ("sort", "stream")]
    known = {(one["kind"], one["program"], one["core"]) for one in done}
    # Processes: changing the records is work in Python.
    with concurrent.futures.ProcessPoolExecutor(options.jobs) as pool:
        running = {pool.submit(what, name, core, options.samples): (what.__name__, name, core) for what, name, core in tasks
                   if (what.__name__, name, core) not in known}
        for one in concurrent.futures.as_completed(running):
            result = {**one.result(), "kind": running[one][0], "key": key}
            done.append(result)
            with open(partial, "a", encoding="utf-8") as file:
                file.write(json.dumps(result) + "\n")
            print(*running[one], flush=True, file=sys.stderr)
    results = [one for one in done if one["kind"] == "measure" and one["program"] in names and one["core"] in cores]
    following = [one for one in done if one["kind"] == "measure_next" and one["core"] in cores]
    logs = [one for one in done if one["kind"] == "measure_log"]
    periods = [one for one in done if one["kind"] == "measure_periods" and one["core"] in cores]
    command = "make ablation" if options.output else " ".join(sys.argv)
    cost = {variant: unit_cost({"Width": 4, "AutoRun": 0, **parameters}) for variant, _, parameters, _ in VARIANTS
            if parameters is not None}
    text = io.StringIO()
    write(text, results, following, logs, periods, command, cost)
    if options.output:
        replace_between(options.output, "<!-- measured -->\n", "<!-- end of measured -->", wrapped(text.getvalue()))
    else:
        print(wrapped(text.getvalue()), end="")
    if options.svg:
        with open(options.svg, "w", encoding="utf-8") as file:
            file.write(svg(results))


if __name__ == "__main__":
    try:
        main()
    except Failed as error:
        sys.exit(f"ablation: {error}")
