#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Size of the page of `pesa report --html` for a million samples of sqlite3, and the times to make it and to load it in
Chromium.

The recording is a run on the virtual core, with its samples repeated.  PAGE_SAMPLES is the number of samples.
"""
import os
import sys
import tempfile

from recordings import PESA, TOP, cost, measured, sqlite3

sys.path.insert(0, os.path.join(TOP, "tests/integration"))
from browser import CHROMIUM, Browser, Page  # noqa: E402  pylint: disable=wrong-import-position

SAMPLES = int(os.environ.get("PAGE_SAMPLES", "1000000"))

with tempfile.TemporaryDirectory(prefix="pesa-bench-") as work:
    data = sqlite3(work, SAMPLES)
    for limit in ("0.1", "0"):
        page = os.path.join(work, "page.html")
        _, wall, usage = measured(PESA, "report", "-i", data, "--percent-limit", limit, "--html", page)
        print(f"pesa report --html --percent-limit {limit}, {SAMPLES} samples: {cost(wall, usage)}; "
              f"{os.path.getsize(page) / 1e6:.2f} MB")
        if not CHROMIUM:
            print("no chromium to load it")
            continue
        browser = Browser(work)
        try:
            tab = Page(browser)
            tab.resize(1200, 1000)
            loads = sorted(tab.open(page) for _ in range(5))
            frames, rows = tab.evaluate("[document.querySelectorAll('.frame').length, report.code.reduce("
                                        "(sum, one) => sum + one.rows.length, 0)]")
            largest = tab.evaluate("""(() => {
                const from = performance.now();
                openCode(report.code.reduce((a, b) => a.rows.length > b.rows.length ? a : b).function);
                document.body.offsetHeight;
                return performance.now() - from;
            })()""")
            print(f"  Chromium loads it in {loads[2]:.2f} s (median of 5), {frames} frames drawn, {rows} instructions; "
                  f"its longest function opens in {largest / 1000:.2f} s")
        finally:
            browser.close()
