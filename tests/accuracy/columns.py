# SPDX-License-Identifier: GPL-2.0-or-later
"""Generated parts of documents in Markdown."""
import re
import textwrap

WIDTH = 100


def wrapped(text):
    """Paragraphs and list items broken at 100 columns; tables and headings stay."""
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


def replace_between(path, begin, end, text):
    """Put text between two lines of a document, in place of what is there."""
    with open(path, encoding="utf-8") as file:
        document = file.read()
    with open(path, "w", encoding="utf-8") as file:
        file.write(document.split(begin)[0] + begin + text + end + document.split(end)[1])


def put_section(path, heading, text, before):
    """Put a section into a document in place of the one with its heading, or before another one if there is none; "-": print it."""
    if path == "-":
        print(text)
        return
    with open(path, encoding="utf-8") as file:
        document = file.read()
    document = re.sub(f"^{heading}\n.*?(?=^## )", "", document, flags=re.M | re.S)
    document = re.sub(f"^(?={before}$)", text.replace("\\", r"\\"), document, count=1, flags=re.M)
    with open(path, "w", encoding="utf-8") as file:
        file.write(document)
