"""Writes the times of large filters into docs/reference/memory.md, from JSON of the server bench.

    huge.py RUN.json                what `make bench ARGS=--huge` measured
"""

import pathlib
import sys

from figures import Run
from publish import ROOT, filled, made_by, table

PAGE = ROOT / "docs/reference/memory.md"
# How the titles of the two sheets begin; the size of the pages follows.
TITLE = "Large filters, pages of "


def rows(sheets):
    """A row for each filter and size of pages, in the order of the filters."""
    for name in next(iter(sheets.values())).lines:
        for pages, sheet in sheets.items():
            size, *others = sheet.lines[name]
            yield [name.removeprefix("bloomline, "), size, pages, *others]


def main():
    run = Run(pathlib.Path(sys.argv[1]))
    sheets = {title.removeprefix(TITLE): sheet for title, sheet in run.sheets.items() if title.startswith(TITLE)}
    size, *others = next(iter(sheets.values())).heads
    content = f"{made_by(run.command, run.machine)}\n\n{table([size, 'pages', *others], rows(sheets))}"
    PAGE.write_text(filled(PAGE.read_text(), "huge", content))
    print(content, PAGE, sep="\n\n")


if __name__ == "__main__":
    main()
