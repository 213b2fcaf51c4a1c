"""Writes how long a command blocks into docs/explanation/performance.md, from JSON of the server bench.

    latency.py RUN.json             what `make bench-latency` measured
"""

import json
import pathlib
import statistics
import sys
import textwrap

from publish import ROOT, filled, made_by

PAGE = ROOT / "docs/explanation/performance.md"

NOT_RUN = "–"
# Rows that stay below the last of these limits, in milliseconds, are only named, with their limit.
SHORT = [1, 10]

MANY_LAYERS = """\
In filters of many layers, lookups and BF.DEBUG take some time per layer (number of layers × bytes
of a layer, on average):"""


def number(value):
    """Three digits, or whole milliseconds."""
    for limit, digits in [(0.9995, 3), (9.995, 2), (99.95, 1)]:
        if value < limit:
            return f"{value:.{digits}f}"
    return f"{value:,.0f}"


class Figures:
    """The runs of one table: of each row, layout, column, and of an untouched or a filled filter."""

    def __init__(self, run, name):
        self.columns, self.rows, self.cells = [], [], {}
        for table in run["tables"]:
            of, _, rest = table["title"].partition(": ")
            column, _, state = rest.partition(", ")
            for row in table["rows"] if of == name else []:
                for layout, cell in row["columns"].items():
                    key = row["name"], layout == "redisbloom layout", column, state == "filled"
                    if cell["rounds"]:
                        self.cells.setdefault(key, []).extend(cell["rounds"])
        for row, _, column, _ in self.cells:
            self.rows += [row] * (row not in self.rows)
            self.columns += [column] * (column not in self.columns)

    def text(self, *key):
        """The longest run."""
        return number(max(self.cells[key])) if key in self.cells else None

    def limit(self, row):
        """The first limit of short rows that no run of the row reaches, in any layout. None: it is not short."""
        longest = max(max(times) for (name, *_), times in self.cells.items() if name == row)
        return next((limit for limit in SHORT if longest < limit), None)

    def short(self):
        """Sentences that name the short rows."""
        rows = {limit: [row for row in self.rows if self.limit(row) == limit] for limit in SHORT}
        return textwrap.fill(" ".join(f"Below {limit} ms: {'; '.join(names)}." for limit, names in rows.items() if names), 100)

    def longest(self):
        """The rows of the table that are not short: name and cells. The slashes of a column are aligned."""
        lines = []
        for row in self.rows:
            for is_redisbloom in [] if self.limit(row) else [False, True]:
                pairs = [[self.text(row, is_redisbloom, column, state) for state in [False, True]] for column in self.columns]
                if any(text for pair in pairs for text in pair):
                    lines.append(("— in RedisBloom's layout" if is_redisbloom else row, pairs))
        widths = [
            [max(len(pairs[at][state] or NOT_RUN) for _, pairs in lines) for state in [0, 1]] for at in range(len(self.columns))
        ]
        for name, pairs in lines:
            is_pair = any(all(pair) for pair in pairs)
            yield [name, *(self.cell(pair, is_pair, width) for pair, width in zip(pairs, widths))]

    @staticmethod
    def cell(pair, is_pair, widths):
        """The text of a cell: one number if no column of the row has two."""
        if not any(pair):
            return NOT_RUN
        if not is_pair:
            return next(filter(None, pair))
        return " / ".join((text or NOT_RUN).rjust(width) for text, width in zip(pair, widths))

    def medians(self):
        """The rows of the table of packed calls: median and longest run."""
        for row in self.rows:
            runs = [self.cells[row, False, column, False] for column in self.columns]
            yield [row, *(f"{number(statistics.median(times))} / {number(max(times))}" for times in runs)]


def largest(run):
    """The tables of calls whose time grows with two quantities: of packed items by their bytes, and others."""
    packed, others = {}, []
    for table in run["tables"]:
        of, _, kind = table["title"].partition(": ")
        for row in table["rows"] if of == "largest" else []:
            rounds = row["columns"]["bloomline"]["rounds"]
            if kind == "ms":
                others.append([row["name"], number(max(rounds))])
            else:
                packed.setdefault(kind, {})[row["name"]] = max(rounds, default=None)
    heads = list(next(iter(packed.values()), {}))
    lines = [[kind, *in_proportion(cells)] for kind, cells in packed.items()]
    tables = [("one call, ms by the bytes of its items", heads, lines), ("other calls", ["ms"], others)]
    return [aligned(corner, heads, lines) for corner, heads, lines in tables if lines]


def in_proportion(cells):
    """The texts of a row. A call that was not made takes the time of the longest one that was, in proportion to its bytes."""
    for size, time in cells.items():
        if time is not None:
            per_byte = time / in_bytes(size)
        yield number(time) if time is not None else f"~{number(per_byte * in_bytes(size))}"


def in_bytes(size):
    """The bytes of a size as the bench writes it."""
    count, unit = size.split()
    return int(count) * {"bytes": 1, "KB": 10**3, "MB": 10**6}[unit]


def aligned(corner, heads, lines):
    """A table in Markdown that is readable as plain text."""
    lines = [[corner, *heads], *lines]
    widths = [max(map(len, column)) for column in zip(*lines)]
    texts = [
        " | ".join(cell.rjust(width) if at else cell.ljust(width) for at, (cell, width) in enumerate(zip(line, widths)))
        for line in lines
    ]
    ruler = "|".join("-" * (width + 1) + (":" if at else "-") for at, width in enumerate(widths))
    return "\n".join([f"| {texts[0]} |", f"|{ruler}|", *(f"| {text} |" for text in texts[1:])])


def page(run):
    """The page with the tables of a run."""
    names = ["one layer of", "layers", "items in the call"]
    one, layers, packed = (Figures(run, name) for name in names)
    text, made = PAGE.read_text(), made_by(run["command"], run["machine"])
    if tables := largest(run):
        text = filled(text, "latency-largest", "\n\n".join([made, *tables]))
    if not one.rows:
        return text
    whole = [
        made,
        aligned("one layer of", one.columns, one.longest()),
        one.short(),
        MANY_LAYERS,
        aligned("layers", layers.columns, layers.longest()),
        layers.short(),
    ]
    text = filled(text, "latency", "\n\n".join(filter(None, whole)))
    calls = aligned("items in the call", packed.columns, packed.medians())
    return filled(text, "latency-packed", f"{made}\n\n{calls}")


def main():
    PAGE.write_text(page(json.loads(pathlib.Path(sys.argv[1]).read_text())))
    print(PAGE)


if __name__ == "__main__":
    main()
