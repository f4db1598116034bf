#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The pipeline in a page: of a trace of the virtual core, of a log by hand, and of a long one; in a headless browser."""
import json
import os
import re
import subprocess
import tempfile

from browser import CHROMIUM, Browser, BrowserError, Page
from pages import data_of, fits_and_reads, focus_is_seen
from tap import GUEST_CC, PESA, QEMU, bail_out, check, end, needs, run, skip

EVIL = "</script><script>window.owned=1</script>"
work = tempfile.TemporaryDirectory()
os.chdir(work.name)
os.environ["LC_ALL"] = "C.UTF-8"
STATES = ["retiring", "stalled", "flushed", "drained"]


def cycles_by_state(document):
    """Cycles of the retire stage; the spans of each hart must follow each other."""
    sums, at = dict.fromkeys(STATES, 0), {}
    for hart, start, cycles, state, _ in document["retire_stage"]:
        if at.setdefault(hart, 0) != start:
            return f"a gap at cycle {start} of hart {hart}"
        at[hart] = start + cycles
        sums[STATES[state]] += cycles
    return sums


# ---- A log by hand: two instructions of the program, one thrown away between them

MAP = "name = test\nformat = kanata\ndispatch = Ds\ncomplete = Cm\n"
with open("map", "w", encoding="ascii") as out:
    out.write(MAP)
LOG = ["Kanata\t0004", "C=\t100", "I\t0\t0\t0", f"L\t0\t0\t1000: ld a0, 0(a1) {EVIL}", "S\t0\t0\tF", "C\t2", "S\t0\t0\tDs", "I\t1\t1\t0", "L\t1\t0\t1004: bad",
       "S\t1\t0\tF", "C\t5", "S\t0\t0\tCm", "R\t1\t1\t1", "C\t1", "R\t0\t0\t0", "I\t2\t2\t0", "L\t2\t0\t1004: addi a0, a0, 1", "S\t2\t0\tF", "C\t1", "S\t2\t0\tDs",
       "C\t1", "S\t2\t0\tCm", "R\t2\t1\t0"]
with open("hand.log", "w", encoding="ascii") as out:
    out.write("\n".join(LOG) + "\n")
summary = json.loads(run(PESA, "import", "-q", "--json", "-m", "./map", "--html", "hand.html", "-o", "hand.data", "hand.log"))
hand = data_of("hand.html")
names = hand["stages"]
shown = [[f"{row[0]:x}", hand["texts"][row[1]] if row[1] is not None else None, row[3], row[4], row[5], [(names[row[i]], row[i + 1]) for i in range(6, len(row), 2)]]
         for row in hand["instructions"]]
check(shown == [["1000", "ld a0, 0(a1) " + EVIL, 0, 8, 1, [("F", 0), ("Ds", 2), ("Cm", 7)]], ["1004", "addi a0, a0, 1", 2, 5, 0, [("F", 0)]],
                ["1004", "addi a0, a0, 1", 8, 2, 1, [("F", 0), ("Ds", 1), ("Cm", 2)]]],
      "each instruction has its address, text, stages, and what became of it", shown)
check(cycles_by_state(hand) == {name: summary["states"][name] for name in STATES} and hand["first_cycle"] == 100,
      "the track has the cycles of the summary", (cycles_by_state(hand), summary.get("states")))

# ---- Of the virtual core

if QEMU:
    with open("loop.c", "w", encoding="ascii") as out:
        out.write("""volatile long data[4096];
long work(long n) { long s = 0; for (long i = 0; i < n; i++) { s += data[(i * 577) & 4095]; s = s & 8 ? s ^ i * 3 : s / 3; data[i & 4095] = s; } return s; }
void _start(void) { work(TURNS); asm volatile("li a0, 0; li a7, 93; ecall"); }
""")
    for name, turns in (("core", 300), ("long", 8000)):
        run(GUEST_CC, "-O2", "-static", "-nostdlib", "-ffreestanding", f"-DTURNS={turns}", "loop.c", "-o", name)
        run(PESA, "record", "-q", "--core", "ooo-4", "-o", name + ".data", "--pipeline-trace", name + ".trace", "--", "./" + name)
        summary = json.loads(run(PESA, "import", "-q", "--json", "--html", name + ".html", "-o", name + ".imported", name + ".trace"))
        document = data_of(name + ".html")
        if name == "core":
            check(cycles_by_state(document) == {one: summary["states"][one] for one in STATES}, "a trace of the virtual core: every cycle is in the track",
                  (cycles_by_state(document), summary["states"]))
            check(sum(row[5] for row in document["instructions"]) == summary["instructions"] and document["left_out"] == 0
                  and document["core"] == "ooo-4", "and every instruction that retired", len(document["instructions"]))
        else:
            check(len(document["instructions"]) == 100000 and document["left_out"] == summary["instructions"] + summary["thrown_away"] - 100000,
                  "of a long one the first 100,000 instructions, the others are counted", (len(document["instructions"]), document["left_out"]))
else:
    skip("traces of the virtual core", needs("qemu-user"))
refused = subprocess.run([PESA, "import", "-q", "-m", "./map", "--html", "nowhere/page.html", "-o", "hand.data", "hand.log"], capture_output=True, text=True)
check(refused.returncode and refused.stderr.count("\n") == 1 and "nowhere/page.html" in refused.stderr, "a page that cannot be written is one line", refused.stderr)
refused = subprocess.run([PESA, "import", "-q", "-m", "./map", "--html", "hand.log", "-o", "hand.data", "hand.log"], capture_output=True, text=True)
check(refused.returncode == 2 and "hand.log" in refused.stderr, "nor one over the trace", refused.stderr)

# ---- In a browser


def pixel(page, x, y):
    """The colour of a pixel of the picture."""
    return page.evaluate(f"""new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done([...canvas.getContext("2d")
        .getImageData({x}, {y}, 1, 1).data].slice(0, 3)))))""")


def colour(page, expression):
    return page.evaluate(f"""(() => {{ const one = new OffscreenCanvas(1, 1).getContext("2d"); one.fillStyle = {expression};
        one.fillRect(0, 0, 1, 1); return [...one.getImageData(0, 0, 1, 1).data].slice(0, 3); }})()""")


def click(page, x, y):
    """Click a point of the picture."""
    box = page.evaluate("(box => [box.left, box.top])(view.getBoundingClientRect())")
    for kind in ("mousePressed", "mouseReleased"):
        page.command("Input.dispatchMouseEvent", type=kind, x=box[0] + x, y=box[1] + y, button="left", clickCount=1)


def hand_page(page):
    page.open("hand.html")
    check(not page.errors and page.evaluate("window.owned === undefined") and EVIL in page.evaluate("every[0].text"), "names are text", page.errors)
    left, cell, row = (page.evaluate(name) for name in ("labelWidth() - view.scrollLeft", "cellWidth()", "rowHeight()"))
    middle = [round(22 + row * number + row - 3) for number in range(3)]
    seen = [pixel(page, round(left + cell * (cycle + .8)), middle[number]) for number, cycle in ((0, 1), (0, 4), (2, 8), (2, 9))]
    wanted = [colour(page, f"colours.stage[trace.stages.indexOf('{name}')]") for name in ("F", "Ds", "F", "Ds")]
    check(seen == wanted, "a stage has its colour in its cycles", (seen, wanted))
    check(pixel(page, round(left + cell * 7.5), middle[2]) == colour(page, "colours.paper"), "before its fetch an instruction is nowhere")
    states = [pixel(page, round(left + cell * (cycle + .5)), 8) for cycle in (0, 4, 8)]
    expected = [colour(page, f"colours.state[{next(state for _, start, cycles, state, _ in hand['retire_stage'] if start <= cycle < start + cycles)}]")
                for cycle in (0, 4, 8)]
    check(states == expected, "the track has the colours of the states", (states, expected))
    click(page, 30, middle[1])
    check("1004 addi" in page.text("#detail") and "F 102" in page.text("#detail") and "thrown away after" in page.text("#detail"),
          "a press on an instruction tells its stages", page.text("#detail"))
    click(page, left + cell * 4.5, 10)
    check(re.search(r"^Cycle 104: stalled.*, from cycle \d+, \d+ cycles", page.text("#detail")), "a press on the track tells the state", page.text("#detail"))


def core_page(page):
    page.open("core.html")
    before = page.evaluate("[cellWidth(), rowHeight()]")
    page.click("#zoom-in")
    after = page.evaluate("[cellWidth(), rowHeight()]")
    check(after[0] > before[0] and after[1] >= before[1], "zooms in", (before, after))
    page.evaluate("view.focus()")
    for _ in range(6):
        page.press("-")
    check(page.evaluate("cellWidth()") < before[0] and page.evaluate("rowHeight()") < before[1], "and out, by key too", page.evaluate("[cellWidth(), rowHeight()]"))
    page.click("#zoom-in")
    page.evaluate("view.focus()")
    page.press("ArrowDown", 3)
    check(page.text("#detail").startswith("3: "), "arrow keys select an instruction", page.text("#detail"))
    page.press("End")
    check(page.evaluate("selected === shown[shown.length - 1]") and page.evaluate("view.scrollTop > 0 && view.scrollLeft > 0"),
          "End goes to the last one, and the cycles follow", page.evaluate("[view.scrollTop, view.scrollLeft]"))
    page.press("/")
    page.type("div")
    count = page.evaluate("every.filter(one => one.text.includes('div')).length")
    check(count > 0 and page.text("#found") == f"{count} instructions", "the search counts what matches", (count, page.text("#found")))
    page.press("Enter")
    check("div" in page.text("#detail"), "and Enter goes to the next", page.text("#detail"))
    check(not page.errors and page.requests == [f"file://{work.name}/core.html"], "all of that without a complaint or a request", (page.errors, page.requests))


if not CHROMIUM:
    skip("the page in a browser", needs("chromium"))
else:
    browser = Browser(work.name)
    try:
        tab = Page(browser)
        fits_and_reads(tab, "hand")
        tab.open("hand.html")
        unseen = focus_is_seen(tab)
        check(not unseen, "what has the focus shows it", unseen)
        hand_page(tab)
        if QEMU:
            core_page(tab)
            seconds = tab.open("long.html")
            check(tab.evaluate("shown.length") == 100000 and not tab.errors, "100,000 instructions are shown", (seconds, tab.errors))
    except BrowserError as problem:
        bail_out(problem)
    finally:
        browser.close()
os.chdir("/")
end()
