"""Writes how long a command blocks into docs/reference/latency.md, from JSON of the server bench.

    latency.py RUN.json             what `make bench-blocking` or `make bench-packed` measured
"""

import json
import pathlib
import statistics
import sys
import textwrap

from publish import ROOT, filled

PAGE = ROOT / "docs/reference/latency.md"

NOT_RUN = "–"

HOW_TO_READ = """\
Each figure is the time of one call in milliseconds, the longest of up to five runs, by SLOWLOG: while the call runs,
the server serves no other client. Two numbers in a cell: an untouched filter, just reserved and never written to / a
filled filter, every page written and half of the bits set. “–”: not run, since it would take too much memory or
time. Not one call: the sum of all chunks of BF.SCANDUMP; the child of BGSAVE, which runs beside the server and
blocks it for the fork only (`latest_fork_usec`); the plain copy, which is the time to get as much fresh memory from
the system and copy into it; the plain OR, a loop over memory that is in use. BF.MERGE and BF.COMPACT are on fixed
filters. BF.ROTATE and the BF.ADD that rotates open a generation and drop the oldest of a filter that forgets; the
size is that of its nine generations together. The cuckoo filters are fixed ones in Bloomline's layout, full ones of
which 95 % of the items were deleted."""

MANY_LAYERS = """\
In filters of many layers, BF.INFO, BF.DEBUG and lookups take some time per layer (number of layers × bytes of a
layer, on average):"""

# What filled filters of 1 GB and untouched ones of 10 GB have to reach: a row, a row whose runs it is divided by, the
# limit of that ratio or of the milliseconds.
GOALS = [
    ("1 GB", True, "COPY", "plain copy", 1.3),
    ("1 GB", True, "BF.MERGE into a filled filter", "plain OR of as much memory", 1.3),
    ("1 GB", True, "BF.COMPACT, 60 % full", "plain OR of one half into the other", 1.3),
    ("1 GB", True, "BF.ROTATE, 9 generations", None, 1),
    ("1 GB", True, "BF.ADD that rotates, 9 generations", None, 1),
    ("10 GB", False, "COPY", None, 500),
    ("10 GB", False, "BF.SCANDUMP, sum of chunks", None, 500),
    ("10 GB", False, "DUMP", None, 500),
    ("10 GB", False, "BGSAVE, child", None, 500),
]


def number(value):
    """Three digits, or whole milliseconds."""
    for limit, digits in [(0.9995, 3), (9.995, 2), (99.95, 1)]:
        if value < limit:
            return f"{value:.{digits}f}"
    return f"{value:,.0f}"


def paragraph(text, indent=""):
    """A text in lines of at most 98 columns: list items have two more."""
    return textwrap.fill(text, 98, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def made_by(run):
    """The command and the machine."""
    machine = run["machine"]
    cores = machine["cores"].split(",")[0]
    texts = [machine["cpu"], f"{cores} cores", *(machine[name] for name in ["memory", "system", "server"])]
    busy = " Other work ran on the machine: figures may be too high." if float(machine["load"]) > 1.5 else ""
    return f"Made by `{run['command']}`: {', '.join(texts)}, load {machine['load']}, {machine['date']}.{busy}"


class Figures:
    """The runs of one table: of each row, layout, column, and of an untouched or a filled filter."""

    def __init__(self, run, name):
        done = [one for one in run["runs"] if one["table"] == name]
        self.columns = list(dict.fromkeys(one["column"] for one in done))
        self.rows = list(dict.fromkeys(one["row"] for one in done))
        self.cells, self.refused = {}, {}
        for one in done:
            key = one["row"], one["is_redisbloom"], one["column"], one["is_filled"]
            if one["refused"] is None:
                self.cells.setdefault(key, []).append(one["milliseconds"])
            else:
                self.refused[key] = one["refused"]

    def runs(self, row, column, is_filled):
        """The runs in Bloomline's layout."""
        return self.cells.get((row, False, column, is_filled), [])

    def text(self, *key):
        """The longest run."""
        if key in self.refused:
            return "refused"
        return number(max(self.cells[key])) if key in self.cells else None

    def lines(self):
        """The rows of the table: name and cells. The slashes of a column are aligned."""
        lines = []
        for row in self.rows:
            for is_redisbloom in [False, True]:
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

    def goals(self):
        """The goals, and the measured values."""
        for column, is_filled, row, plain, limit in GOALS:
            runs = self.runs(row, column, is_filled)
            name = f"{'filled' if is_filled else 'untouched'} {column}: {row}"
            unit, value = " ms", max(runs, default=None)
            if plain:
                # Each run relative to the plain one just before it.
                unit, name = "", f"{name} / {plain}, median"
                ratios = [run / other for run, other in zip(runs, self.runs(plain, column, is_filled))]
                value = statistics.median(ratios) if ratios else None
            if value is None:
                yield [name, f"{limit}{unit}", NOT_RUN, NOT_RUN]
            else:
                shown = f"{value:.2f}" if plain else number(value)
                yield [name, f"{limit}{unit}", shown + unit, "yes" if value <= limit else "no"]

    def refusals(self):
        """The server's refusal, for the cells that have one."""
        for (row, is_redisbloom, column, is_filled), why in self.refused.items():
            layout = ", RedisBloom's layout" if is_redisbloom else ""
            state = "filled" if is_filled else "untouched"
            yield paragraph(f"* {row} refused, {column} {state}{layout}: {why}.", "  ")


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


def blocking(run):
    """The tables of `make bench-blocking` and the text around them."""
    single, layers = Figures(run, "one layer of"), Figures(run, "layers")
    parts = [paragraph(made_by(run)), paragraph(HOW_TO_READ)]
    parts.append(aligned("one layer of", single.columns, single.lines()))
    parts += [paragraph(MANY_LAYERS), aligned("layers", layers.columns, layers.lines())]
    parts += ["Goals, and what this run measured:", aligned("goal", ["limit", "measured", "met"], single.goals())]
    refusals = [*single.refusals(), *layers.refusals()]
    return "\n\n".join([*parts, *(["\n".join(refusals)] if refusals else [])])


def packed(run):
    """The table of `make bench-packed` and the text above it."""
    calls = Figures(run, "items in the call")
    most = run["most_runs"]
    about = (
        f"{made_by(run)} Milliseconds of one call by SLOWLOG, median / longest of {5 * most} runs, of {most} for calls of "
        "more than 100,000 items. The items are FIXED, of 20 bytes. The filter is reserved for 100,000,000 items at 1 %, "
        "untouched before the first run or filled."
    )
    cells = [[calls.runs(row, column, False) for column in calls.columns] for row in calls.rows]
    lines = [
        [row, *(f"{number(statistics.median(runs))} / {number(max(runs))}" for runs in line)]
        for row, line in zip(calls.rows, cells)
    ]
    return f"{paragraph(about)}\n\n{aligned('items in the call', calls.columns, lines)}"


def page(run):
    """The page with the tables of a run."""
    is_packed = any(one["table"] == "items in the call" for one in run["runs"])
    name, content = ("bench-packed", packed(run)) if is_packed else ("bench-blocking", blocking(run))
    return filled(PAGE.read_text(), name, content)


def main():
    PAGE.write_text(page(json.loads(pathlib.Path(sys.argv[1]).read_text())))
    print(PAGE)


if __name__ == "__main__":
    main()
