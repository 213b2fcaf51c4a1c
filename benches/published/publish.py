"""Writes the figures of a run into documents: tables, headline numbers, charts.

    make publish-bench              the published run, docs/reports/run.json, into docs and README.md
    publish.py RUN.json FOLDER      another run, into benchmarks.md and its chart in the folder
    publish.py RUN.json             prints the tables of a run that are no tables of times

The text of docs/benchmarks.md and README.md is written by hand. What stands between two markers,
`<!-- NAME: begin -->` and `<!-- NAME: end -->`, comes from the run. A test runs this program and
compares the documents.
"""

import pathlib
import re
import sys
import textwrap

import charts
from figures import COLUMNS, Run

ROOT = pathlib.Path(__file__).resolve().parents[2]
PUBLISHED = ROOT / "docs/reports/run.json"
PAGE = ROOT / "docs/benchmarks.md"

# The rows of the chart in README.md: label, table, row.
BESIDE = [
    ("look up, in cache", "In cache", "MEXISTS hit ×1,000"),
    ("add, in cache", "In cache", "MADD new, from empty ×1,000"),
    ("look up, default growth", "Default growth", "MEXISTS hit ×1,000"),
    ("add, default growth", "Default growth", "MADD new, from empty ×1,000"),
    ("look up, 100 layers", "EXPANSION 1", "MEXISTS hit ×1,000"),
    ("look up, out of cache", "Out of cache", "MEXISTS hit ×1,000"),
]
# The tables whose calls of a thousand items stand in the chart of docs/benchmarks.md.
CHARTED = ["In cache", "Default growth", "EXPANSION 1", "Out of cache"]
# The columns of this chart, all but the baselines, with their names in its legend.
CHARTED_COLUMNS = {
    "bloomline": "bloomline",
    "RedisBloom": "RedisBloom",
    "redisbloom layout": "bloomline, redisbloom layout",
    "valkey-bloom layout": "bloomline, valkey-bloom layout",
    "scalar": "bloomline without vector instructions",
    "set": "set (SADD, SMISMEMBER)",
    "bit string": "bit string (SETBIT, GETBIT)",
}
# Columns of the sheets that are no result, or the same result in other units, or counted otherwise
# by RedisBloom.
GIVEN = {"MB", "log2(1/e)", "1.44 log2(1/e)", "target %", "bits per item", "pages of the filter", "per item", "bytes sent", "MEMORY USAGE"}
# Columns of a run that the page leaves out: a second baseline, the build without vector
# instructions, which is in the chart, and what follows from the target rate or from other columns.
LEFT_OUT = {"baseline, hash", "scalar", "log2(1/e)", "1.44 log2(1/e)", "target %", "bits per item", "pages of the filter"}
# Rows that the page leaves out: calls of ten items lie between those of a thousand and of one, and
# two clients take the time of one.
LEFT_OUT_ROWS = ["×10", "two clients"]
# A table that the page leaves out: raw bytes are hashed a little faster than the same in hex.
LEFT_OUT_TABLES = {"Items of 20 raw bytes"}
# Columns whose lines of a sheet are left out where they are equal to those of another one.
SAME_AS = {"redisbloom layout": ["RedisBloom", "bloomline"], "valkey-bloom layout": ["bloomline"]}
# Columns that the page also shows as multiples of the baseline.
COMPARED = {"bloomline", "RedisBloom"}
# A smaller difference between two runs means nothing.
NOISE = 0.01
# Why the rows of MEMORY USAGE are not compared.
USAGE = """\
MEMORY USAGE is not among them: that of Bloomline is what the allocator provided, in
classes of up to a quarter more than was requested, and that of RedisBloom its SIZE and the name of
the key, without the classes. `used_memory` rises by 1,573,024 bytes with Bloomline and by 1,573,008
with RedisBloom 2.8.2 (Redis 8.2.3) for a million items reserved at 1 %."""


def table(heads, rows):
    """A table in Markdown: the first column is text, the others are numbers."""
    lines = [f"| {' | '.join(['', *heads]).strip()} |", "|---|" + "---:|" * len(heads)]
    return "\n".join(lines + [f"| {' | '.join(row)} |" for row in rows])


def cell(row, column):
    """A time as it is read, in the columns that are compared with its multiple: `23.2 (1.73)`."""
    if column not in row.cells:
        return "-"
    found = row.cells[column]
    has_multiple = column in COMPARED and found.multiple is not None
    return f"{found.median:.1f}" + (f" ({found.multiple:.2f})" if has_multiple else "")


def times(run):
    """The tables of times, each under its title."""
    parts = []
    for of in run.tables.values():
        if of.name in LEFT_OUT_TABLES:
            continue
        columns = [name for name in of.columns if name not in LEFT_OUT]
        shown = [row for row in of.rows if not any(row.name.endswith(end) for end in LEFT_OUT_ROWS)]
        rows = [[row.name, *(cell(row, column) for column in columns)] for row in shown]
        parts.append(f"### {of.title}\n\n{table(columns, rows)}")
        if of.bytes_per_item:
            sizes = [f"{name} {of.bytes_per_item[name]:.2f}" for name in COLUMNS if name in of.bytes_per_item and name not in LEFT_OUT]
            parts.append(textwrap.fill(f"Bytes per item by MEMORY USAGE: {', '.join(sizes)}.", 100))
        if of.name == "First touch":
            faults = [f"{name} {of.rows[0].cells[name].faults:.2f}" for name in columns]
            parts.append(textwrap.fill(f"Page faults per item: {', '.join(faults)}.", 100))
    return "\n\n".join(parts)


def sheet_table(sheet):
    """The table of a sheet."""
    shown = [at for at, head in enumerate(sheet.heads) if head not in LEFT_OUT]
    rows, same = [], set()
    for name, line in sheet.lines.items():
        column, _, case = name.partition(", ")
        figures = [line[at] for at in shown]
        others = [other for other in SAME_AS.get(column, []) if sheet.lines.get(f"{other}, {case}") == line]
        same.update((column, other) for other in others[:1])
        if not others:
            rows.append([name, *figures])
    notes = [f"Lines of {column} that are equal to those of {other} are left out." for column, other in sorted(same)]
    return "\n\n".join([table([sheet.heads[at] for at in shown], rows), *notes])


def machine(run):
    """The command and the machine, as a list."""
    lines = [f"* {name}: {run.machine[name]}" for name in ["cpu", "vectors", "cores", "memory", "load", "server", "date"]]
    lines += modules(run)
    warning = [textwrap.fill(run.warning, 100), ""] if run.warning else []
    return "\n".join([*warning, textwrap.fill(f"* command: `{run.command}`", 100, subsequent_indent="  "), *lines])


def modules(run):
    """What the run records of the files that it measured, as elements of a list: each file with its columns."""
    if run.modules is None:
        return ["* modules: this run did not record their versions and files"]
    columns = {}
    for of in run.modules:
        file = f"`{of['file']}`, version {of['version']} of the module `{of['name']}`, SHA-256 `{of['sha256']}`"
        columns.setdefault(file, []).append(run.shown(of["column"]))
    return [textwrap.fill(f"* {'; '.join(names)}: {file}", 100, subsequent_indent="  ") for file, names in columns.items()]


def span(run, name):
    """How many times as fast calls of a thousand items are in the table with this name: `2.0 to 4.0`."""
    times = [row.times_as_fast() for row in run.tables[name].rows if row.batch == 1000]
    found = [time for time in times if time]
    if not found:
        return "-"
    return f"{min(found):.1f} to {max(found):.1f}"


def result(run):
    """Where Bloomline is ahead and where RedisBloom is, in a table each."""
    thousand = {
        "in cache": "In cache",
        "default growth to a million items": "Default growth",
        "128 million items, out of cache": "Out of cache",
        "100 layers": "EXPANSION 1",
        "cuckoo filters, in cache": "Cuckoo filter, in cache",
        "cuckoo filters, grown from 1,024 to a million items": "Cuckoo filter, EXPANSION 2",
        "cuckoo filters, 60 million items, out of cache": "Cuckoo filter, out of cache",
    }
    thousand = {words: name for words, name in thousand.items() if name in run.tables}
    ahead = table(["RedisBloom's time / Bloomline's"], [[words, span(run, name)] for words, name in thousand.items()])
    behind = [
        [f"{of.name}: {row.name}", f"{row.cells['bloomline'].median:,.0f} ns", f"{row.cells['RedisBloom'].median:,.0f} ns"]
        for of in run.tables.values()
        for row in of.rows
        if (ratio := row.times_as_fast()) and ratio < 1 / (1 + NOISE)
    ]
    for title, sheet in run.sheets.items():
        for name in filter(lambda name: name.startswith("bloomline"), sheet.lines):
            other = name.replace("bloomline", "RedisBloom")
            if other not in sheet.lines:
                continue
            for at, head in enumerate(sheet.heads):
                ours, theirs = sheet.figures[name][at], sheet.figures[other][at]
                if head not in GIVEN and None not in (ours, theirs) and ours > theirs * (1 + NOISE):
                    of = ", ".join([title, *name.split(", ")[1:]])
                    behind.append([f"{of}: {head}", sheet.lines[name][at], sheet.lines[other][at]])
    return (
        f"{ahead}\n\nRedisBloom is ahead in these rows, and in no others by more than {100 * NOISE:.0f} %.\n"
        "Between runs medians move by some 3 %, those of single commands by 10 %:\n\n"
        f"{table(['Bloomline', 'RedisBloom'], behind)}\n\n{USAGE}"
    )


def numbers(run):
    """The three numbers of README.md."""
    sizes = run.sheets["Bytes per item, and the false-positive rate"].figures
    ours, theirs = (sizes[f"{name}, 1,000,000 at 1 %, from 100"][0] for name in ["bloomline", "RedisBloom"])
    return (
        f"* **{span(run, 'In cache')} times as fast** as RedisBloom in cache, and **{span(run, 'Out of cache')} times** out of cache (128\n"
        f"  million items), in calls of 1,000 items.\n"
        f"* **{span(run, 'Default growth')} times as fast** in a filter that has grown from 100 to a million items.\n"
        f"* **{100 * (1 - ours / theirs):.0f} % smaller** then: {ours:.2f} bytes per item instead of {theirs:.2f}, at an error rate of 1 %."
    )


def filled(text, name, content):
    """The text with this content between the markers with this name."""
    begin, end = f"<!-- {name}: begin -->\n", f"<!-- {name}: end -->\n"
    pattern = re.compile(f"({re.escape(begin)}).*?({re.escape(end)})", re.S)
    text, count = pattern.subn(lambda found: f"{found[1]}\n{content}\n\n{found[2]}", text)
    if count != 1:
        raise SystemExit(f"the markers of {name} occur {count} times")
    return text


def beside_chart(run):
    """The chart of README.md."""
    rows = [(label, run.row(of, name)) for label, of, name in BESIDE]
    return charts.beside(
        "Time in the server, Bloomline and RedisBloom",
        f"Calls of 1,000 items, {run.machine['server'].capitalize()}, {run.machine['date']}; "
        "shorter is better; in each row the longer bar is 100 %",
        [(label, row.cells["bloomline"].median, row.cells["RedisBloom"].median) for label, row in rows],
    )


def multiples_chart(run):
    """The chart of docs/benchmarks.md."""
    columns = [column for column in COLUMNS if column in CHARTED_COLUMNS]
    tables = [name for name in CHARTED if name in run.tables]
    rows = [
        (f"{name}: {row.name}", [row.cells[column].multiple if column in row.cells else None for column in columns])
        for name in tables
        for row in run.tables[name].rows
        if row.batch == 1000 and "two clients" not in row.name and "duplicate" not in row.name
    ]
    return charts.multiples(
        "Time in the server, as multiples of the baseline",
        "The baseline, 1, only reads the same arguments and gives the same replies; "
        "logarithmic scale from 1; shorter is better",
        [CHARTED_COLUMNS[column] for column in columns],
        rows,
    )


def page(run):
    """docs/benchmarks.md with the figures of a run. A sheet that the run does not have is named as missing."""
    text = PAGE.read_text()
    sheets = {title: sheet_table(sheet) for title, sheet in run.sheets.items()}
    contents = {"result": result(run), "machine": machine(run), "times": times(run), **sheets}
    for name in re.findall(r"<!-- (.*): begin -->", text):
        text = filled(text, name, contents.pop(name, "Not in this run."))
    if contents:
        raise SystemExit(f"{PAGE.name} has no markers of {', '.join(contents)}")
    return text


def documents():
    """The path and the content of each document of the published run."""
    run = Run(PUBLISHED)
    readme = ROOT / "README.md"
    return {
        PAGE: page(run),
        readme: filled(readme.read_text(), "numbers", numbers(run)),
        ROOT / "docs/redisbloom.svg": beside_chart(run),
        ROOT / "docs/benchmarks.svg": multiples_chart(run),
    }


def main():
    match sys.argv[1:]:
        case []:
            written = documents()
        case [run]:
            for title, sheet in Run(pathlib.Path(run)).sheets.items():
                print(f"{title}\n\n{sheet_table(sheet)}\n")
            return
        case [run, folder]:
            run, folder = Run(pathlib.Path(run)), pathlib.Path(folder)
            written = {folder / "benchmarks.md": page(run)}
            # With --only a run may have no row of the chart.
            if any(name in run.tables for name in CHARTED):
                written[folder / "benchmarks.svg"] = multiples_chart(run)
        case _:
            raise SystemExit(__doc__)
    for path, content in written.items():
        path.write_text(content)
        print(path)


if __name__ == "__main__":
    main()
