#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The page of diff in a headless browser: two flame graphs that follow each other, colours of changes, their significance, search."""
import json
import os
import re
import subprocess
import tempfile

from browser import CHROMIUM, Browser, BrowserError, Page
from pages import first, fits_and_reads, focus_is_seen, of_all, sorts
from tap import BUILD, CROSS, GUEST_CC, PESA, bail_out, check, end, needs, run, skip

MAKE = os.path.join(os.path.abspath(BUILD), "tests/tools/make_profile")
EVIL = "</script><script>window.owned=1</script>"
work = tempfile.TemporaryDirectory()
os.chdir(work.name)
os.environ["LC_ALL"] = "C.UTF-8"


# Two builds of one program: grown, shrunk and same have as many cycles in both as the samples below say.
with open("program.c", "w", encoding="ascii") as out:
    out.write("".join(f"void {name}(void) {{ for (volatile int i = 0; i < 100; i++); }}\n" for name in ("grown", "shrunk", "same", "gone")))
    out.write("void _start(void) { grown(); shrunk(); same(); gone(); }\n")
for name in ("old", "new"):
    run(GUEST_CC, "-O1", "-nostdlib", "-static", "-Wl,--build-id", "-DNAME=" + name, "-o", "program-" + name, "program.c")
    run(CROSS + "objcopy", "--redefine-sym", "same=" + EVIL, "program-" + name)


def make(name, data=None, more=(), **counts):
    program = "program-" + name
    address = {line.split(maxsplit=2)[2]: int(line.split()[0], 16) for line in run(CROSS + "nm", program).splitlines()}
    segment = re.search(r"LOAD\s+(0x\w+)\s+(0x\w+)\s+0x\w+\s+(0x\w+)\s+0x\w+\s+R E", run(CROSS + "readelf", "-lW", program))
    offset, start, length = (int(value, 16) for value in segment.groups())
    lines = ["arch riscv64", "event pesa/cycles/", "period 1000"] + ["chains"] * any(line.startswith("chain ") for line in more) + ["comm 7 7 task",
             f"map 7 {start & ~0xfff:#x} {length + 0x1000:#x} {offset & ~0xfff:#x} {os.path.abspath(program)}", *more]
    for function, count in counts.items():
        lines.append(f"sample {count} 7 7 {address[EVIL if function == 'same' else function] + 8:#x} 1 0 0 0 0 0 0 0 0")
    run(MAKE, data or name + ".data", input="\n".join(lines) + "\n")


make("old", grown=1000, shrunk=3000, same=400, gone=100)
make("new", grown=3000, shrunk=1000, same=410)
printed = run(PESA, "diff", "old.data", "new.data", "--html", "diff.html", "--no-pager")
check("Cycles old, new" in printed, "--html writes the page, and the text is printed too", printed)
rows = {row["symbol"]: row for row in json.loads(run(PESA, "diff", "old.data", "new.data", "--json"))["rows"]}
with open("diff.html", encoding="utf-8") as file:
    page_text = file.read()
documents = {name: json.loads(re.search(rf"<script type=application/json id={name}>(.*?)</script>", page_text, re.S).group(1))
             for name in ("data", "frames-old", "frames-new")}
check({row["symbol"]: row for row in documents["data"]["rows"]} == rows, "the document has what diff --json has")
for side in ("old", "new"):
    one = documents["frames-" + side]
    sums = {one["texts"][row[2]]: sum(row[4:9]) for row in one["frames"] if one["frame_kinds"][row[1]] == "function"}
    check(sums == {symbol: row[side]["cycles"] for symbol, row in rows.items() if row[side] and row[side]["cycles"]},
          f"{side}: the cycles of functions are those of the rows", (sums, rows))
refused = subprocess.run([PESA, "diff", "old.data", "new.data", "--html", "old.data"], capture_output=True, text=True)
check(refused.returncode == 1 and refused.stderr.count("\n") == 1, "a page over a recording is refused", refused.stderr)
refused = subprocess.run([PESA, "diff", "old.data", "new.data", "--html", "nowhere/page.html"], capture_output=True, text=True)
check(refused.returncode == 1 and "nowhere/page.html" in refused.stderr, "a page that cannot be written is one line", refused.stderr)
# One recording with call chains, of which the other has none; both programs beside one library.
library = "map 7 0x7f0000000000 0x1000 0 /nowhere/library.so"
used = "sample 500 7 7 0x7f0000000010 1 0 0 0 0 0 0 0 0"
make("old", "chains.data", (library, "chain", used, "chain 0xfffffffffffffe00 0x7f0000000010 0x7f0000000020 0x7f0000000030"),
     grown=1000, shrunk=3000)
make("new", "plain.data", (library, used), grown=3000, shrunk=1000)
run(PESA, "diff", "chains.data", "plain.data", "--html", "mixed.html", "--no-pager")
with open("mixed.html", encoding="utf-8") as file:
    mixed = file.read()
paths = []
for side in ("old", "new"):
    one = json.loads(re.search(rf"<script type=application/json id=frames-{side}>(.*?)</script>", mixed, re.S).group(1))
    paths.append({(one["frame_kinds"][row[1]], one["texts"][row[2]]) for row in one["frames"]
                  if one["frame_kinds"][row[1]] in ("binary", "function") and one["texts"][row[2]] != "[unknown]"})
check(paths[0] ^ paths[1] == {("binary", "program-old"), ("binary", "program-new")}, "where one has no call chains both are shown without", paths)


def frame(page, side, name, expression):
    """The value of an expression in `one` for the frame of a function of a graph (0: old)."""
    return page.evaluate(f"""(one => one ? {expression} : null)(graphs[{side}].boxes.get(graphs[{side}].frames.find(frame =>
        frame.name === {json.dumps(name)} && frame.kind === "function")))""")


def graphs_page(page):
    page.open("diff.html")
    widths = [first(page, f"#{side}-flame", "one.getBoundingClientRect().width") for side in ("old", "new")]
    check(abs(widths[1] / widths[0] - 4410 / 4500) < .01, "a graph is as wide as its cycles", widths)
    colour = "getComputedStyle(one).backgroundColor.match(/[0-9.]+/g).map(Number)"
    grown, shrunk, same = (frame(page, 1, name, colour) for name in ("grown", "shrunk", EVIL))
    check(grown[0] > grown[2] + .1 and shrunk[2] > shrunk[0] + .1, "what grew is red, what shrank blue", (grown, shrunk))
    check(abs(same[0] - same[2]) < (grown[0] - grown[2]) / 2, "what did not change significantly is pale", same)
    check(re.search(r"1M → 3M, \+2M \(\+200\.0%\).*grown itself significant, p < 0\.0001", frame(page, 1, "grown", "one.title"))
          and "not significant, p = " in frame(page, 0, EVIL, "one.title")
          and "100k → 0" in frame(page, 0, "gone", "one.title"), "a frame tells its change and the significance",
          (frame(page, 1, "grown", "one.title"), frame(page, 0, EVIL, "one.title"), frame(page, 0, "gone", "one.title")))
    page.click(f'#new-flame .frame[data-frame="{frame(page, 1, "shrunk", "one.dataset.frame")}"]')
    check(page.evaluate("graphs.map(graph => graph.zoomed.name)") == ["shrunk", "shrunk"]
          and "shrunk" in page.text("#old-detail"), "a press on a frame zooms in in both graphs", page.evaluate("graphs.map(graph => graph.zoomed.name)"))
    page.press("Escape")
    check(page.evaluate("graphs.map(graph => graph.zoomed.kind)") == ["binary", "binary"], "Escape zooms out in both",
          page.evaluate("graphs.map(graph => graph.zoomed.kind)"))
    page.click("#new-reset")
    page.click("#inverted")
    check(page.evaluate("graphs.map(graph => graph.frames[1].kind)") == ["function", "function"], "both can be inverted")
    page.click("#inverted")
    page.open("mixed.html")
    check("1M → 3M" in frame(page, 0, "grown", "one.title") and "3M → 1M" in frame(page, 1, "shrunk", "one.title"),
          "functions of a renamed program are found, also beside a library", (frame(page, 0, "grown", "one.title"), frame(page, 1, "shrunk", "one.title")))


def rows_page(page):
    table = dict(of_all(page, "#rows tbody tr", "[one.cells[8].textContent, [one.cells[0].className, one.cells[1].textContent]]"))
    check("grown" in table["grown"][0] and "shrunk" in table["shrunk"][0] and table[EVIL][0].strip() == "change", "rows have the colour of their change", table)
    check(table["grown"][1] == "significant, p < 0.0001" and table[EVIL][1].startswith("not significant, p = "), "and its significance", table)
    sorts(page, "#rows table", 0, "rows are sorted by their change")
    sorts(page, "#rows table", 8, "rows are sorted by name")
    page.press("/")
    page.type("grow")
    check(page.text("#found") == "1 row; 1M \u2192 3M" and of_all(page, "#rows tbody tr:not([hidden])", "one.cells[8].textContent") == ["grown"]
          and of_all(page, ".frame.match", "one.textContent") == ["grown", "grown"], "the search is in both graphs and the rows", page.text("#found"))
    page.press("Escape")
    check(not of_all(page, "#rows tr[hidden]", "1"), "Escape ends it")
    page.click("#rows tbody tr:first-child button.name")
    name = page.text("#rows tbody tr:not([hidden]) button.name")
    check(page.evaluate("document.activeElement.textContent") == name, "a press on a row goes to its frame", name)
    check(not page.errors, "all of that without a complaint", page.errors)


if not CHROMIUM:
    skip("the page in a browser", needs("chromium"))
else:
    browser = Browser(work.name)
    try:
        tab = Page(browser)
        fits_and_reads(tab, "diff")
        tab.open("diff.html")
        check(not tab.errors and tab.requests == [f"file://{work.name}/diff.html"], "loads without a complaint and asks for nothing",
              (tab.errors, tab.requests))
        check(tab.evaluate("window.owned === undefined") and EVIL in tab.text("main"), "names are text")
        unseen = focus_is_seen(tab)
        check(not unseen, "what has the focus shows it", unseen)
        graphs_page(tab)
        tab.open("diff.html")
        rows_page(tab)
    except BrowserError as problem:
        bail_out(problem)
    finally:
        browser.close()
os.chdir("/")
end()
