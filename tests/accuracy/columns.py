# SPDX-License-Identifier: GPL-2.0-or-later
"""Paragraphs and list items of a document in Markdown, broken at 100 columns; tables and headings stay."""
import re
import textwrap

WIDTH = 100


def wrapped(text):
    lines, paragraph = [], []

    def flush():
        if not paragraph:
            return
        if max(map(len, paragraph)) <= WIDTH:
            lines.extend(paragraph)
        else:
            whole = " ".join(line.strip() for line in paragraph)
            lines.extend(textwrap.wrap(whole, WIDTH, subsequent_indent="  " if whole.startswith("* ") else "",
                                       break_long_words=False, break_on_hyphens=False))
        paragraph.clear()

    for line in text.split("\n"):
        alone = not line or re.match(r"[|#<]", line)
        if alone or line.startswith("* "):
            flush()
        if alone:
            lines.append(line)
        else:
            paragraph.append(line)
    flush()
    return "\n".join(lines)
