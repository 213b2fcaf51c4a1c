"""Writes the figures of a run into documents: tables, headline numbers, charts.

    make publish-bench              the published run, docs/reports/run.json, into docs and README.md
    publish.py RUN.json FOLDER      another run, into benchmarks.md and its chart in the folder
    publish.py RUN.json             prints all rows and columns of a run

The text of docs/benchmarks.md and README.md is written by hand. What stands between two markers,
`<!-- NAME: begin -->` and `<!-- NAME: end -->`, comes from the run. A test runs this program and
compares the documents.

The page shows the rows that are listed here, and each row in which RedisBloom is ahead.
"""

import itertools
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
# The columns of the page.
MODULES = ["bloomline", "RedisBloom", "redisbloom layout", "valkey-bloom layout"]
TIMED = ["baseline", *MODULES]
# The rows of times on the page, by table.
SHOWN_ROWS = {
    "In cache": [
        "MEXISTS hit ×1,000",
        "MEXISTS miss ×1,000",
        "MADD new, from empty ×1,000",
        "EXISTS hit",
        "ADD new, from empty",
    ],
    "Packed items of 20 characters": [
        "MEXISTS hit ×1,000",
        "BULKEXISTS FIXED hit ×50,000",
        "BULKEXISTS LINES hit ×50,000",
        "BULKADD FIXED new, from empty ×50,000",
    ],
    "Default growth": ["MADD new, from empty ×1,000", "MEXISTS hit ×1,000", "EXISTS hit"],
    "EXPANSION 1": ["MEXISTS hit ×1,000"],
    "Forgets, in cache": ["MEXISTS hit ×1,000", "MADD new, after a rotation ×1,000"],
    "Out of cache": ["MEXISTS hit ×1,000", "MEXISTS miss ×1,000", "MADD new ×1,000", "EXISTS hit"],
    "First touch": ["MADD new, from empty ×1,000"],
    "Tiny filters": ["ADD first item, creates", "MADD new ×19"],
    "Cuckoo filter, in cache": ["MEXISTS hit ×1,000", "EXISTS hit", "MDEL all ×1,000"],
    "Cuckoo filter, EXPANSION 2": ["MEXISTS hit ×1,000"],
    "Cuckoo filter, out of cache": ["MEXISTS hit ×1,000", "INSERT new ×1,000"],
}
# The rows of the other figures on the page, by title of the sheet and column: how their cases end.
# A run without `--full` has other numbers of items.
SIZES, FILES = "Bytes per item, and the false-positive rate", "Saving and loading one filter"
SHOWN_FIGURES = {
    (SIZES, "bytes per item"): (
        " at 1 %, NONSCALING",
        " at 1 %, may grow",
        " at 1 %, from 100",
        " at 1 %, GENERATIONS 8",
    ),
    (SIZES, "measured %"): (" at 1 %, NONSCALING", " at 1 %, from 100"),
    ("A tiny filter, made by its first item", "used_memory per key"): ("",),
    (FILES, "SAVE s"): ("",),
    (FILES, "in addition, MB"): ("",),
    (FILES, "load s"): ("",),
    ("Making and freeing one large filter", "UNLINK us"): ("",),
    ("Making and freeing one large filter", "DEL us"): ("",),
    ("Pages copied while a child saves", "per item"): ("",),
    ("Bytes replicated when nine of ten additions are duplicates", "%"): ("BF.MADD ×1000", "BF.MADD ×10", "BF.ADD"),
}
# The rows that compare a filter with a set and a bit string: table, and row or bytes per item.
EXACT = [
    ("In cache", "MEXISTS hit ×1,000"),
    ("In cache", "MADD new, from empty ×1,000"),
    ("In cache", None),
    ("Default growth", None),
]
# Columns of the sheets that are no result, or the same result in other units, or counted otherwise
# by RedisBloom.
GIVEN = {"MB", "log2(1/e)", "1.44 log2(1/e)", "target %", "bits per item", "pages of the filter", "per item", "bytes sent", "MEMORY USAGE"}
# A smaller difference between two runs means nothing.
NOISE = 0.01


def table(heads, rows):
    """A table in Markdown: the first column is text, the others are numbers."""
    lines = [f"| {' | '.join(['', *heads]).strip()} |", "|---|" + "---:|" * len(heads)]
    return "\n".join(lines + [f"| {' | '.join(row)} |" for row in rows])


def line(name, columns, texts, is_behind):
    """A row of a table: `**` marks a RedisBloom that is ahead."""
    if is_behind:
        texts = {**texts, "RedisBloom": f"**{texts['RedisBloom']}**"}
    return [name, *(texts.get(column, "-") for column in columns)]


def is_behind(ours, theirs):
    """Whether RedisBloom's figure is better by more than noise. Of each figure, less is better."""
    return None not in (ours, theirs) and ours > theirs * (1 + NOISE)


def rows_behind(of):
    """The rows of a table of times in which RedisBloom is ahead."""
    return [row for row in of.rows if (ratio := row.times_as_fast()) and is_behind(1, ratio)]


def figures_behind(sheet):
    """The figures of a sheet in which RedisBloom is ahead: column of the sheet, and case."""
    for name, ours in sheet.figures.items():
        column, _, case = name.partition(", ")
        theirs = sheet.figures.get(name.replace("bloomline", "RedisBloom", 1))
        if column != "bloomline" or theirs is None:
            continue
        for at, head in enumerate(sheet.heads):
            if head not in GIVEN and is_behind(ours[at], theirs[at]):
                yield head, case


def sections(columns, parts):
    """One table of several, each below a row with its title, without columns that have no cell."""
    used = [any(row[at] != "-" for _, rows in parts for row in rows) for at in range(1, len(columns) + 1)]
    lines = []
    for title, rows in parts:
        lines.append([f"**{title}**"])
        lines += [[row[0], *itertools.compress(row[1:], used)] for row in rows]
    return table(list(itertools.compress(columns, used)), lines)


def times(run):
    """Two tables of times, of Bloom filters and of cuckoo filters."""
    kinds = {}
    for of in run.tables.values():
        behind, rows = rows_behind(of), []
        for row in of.rows:
            if row in behind or row.name in SHOWN_ROWS.get(of.name, []):
                texts = {column: f"{cell.median:,.1f}" for column, cell in row.cells.items()}
                rows.append(line(row.name, TIMED, texts, row in behind))
        if rows:
            kind = "Cuckoo filters" if of.name.startswith("Cuckoo") else "Bloom filters"
            kinds.setdefault(kind, []).append((of.title, rows))
    return "\n\n".join(f"### {kind}\n\n{sections(TIMED, parts)}" for kind, parts in kinds.items())


def exact(run):
    """A filter beside a set and a bit string."""
    columns, rows = ["bloomline", "set", "bit string"], []
    for name, row in EXACT:
        if name not in run.tables:
            continue
        of = run.tables[name]
        texts = {column: f"{size:.2f}" for column, size in of.bytes_per_item.items()}
        if row:
            texts = {column: f"{cell.median:,.1f}" for column, cell in run.row(name, row).cells.items()}
        rows.append(line(f"{name}: {row or 'bytes per item'}", columns, texts, False))
    return table(columns, rows)


def figures(run):
    """All that is no time per item, in one table."""
    parts = []
    for title, sheet in run.sheets.items():
        behind, rows = list(figures_behind(sheet)), []
        # The names of a case, by column.
        cases = {}
        for name in sheet.lines:
            column, _, case = name.partition(", ")
            cases.setdefault(case, {})[column] = name
        for at, head in enumerate(sheet.heads):
            for case, names in cases.items():
                if (head, case) in behind or case.endswith(SHOWN_FIGURES.get((title, head), ())):
                    texts = {column: sheet.lines[name][at] for column, name in names.items()}
                    label = f"{head}: {case}" if case else head
                    rows.append(line(label, MODULES, texts, (head, case) in behind))
        if rows:
            parts.append((title, rows))
    return sections(MODULES, parts)


def everything(run):
    """All tables of a run, with all rows and columns."""
    parts = []
    for of in run.tables.values():
        rows = []
        for row in of.rows:
            texts = {column: f"{cell.median:,.1f}" for column, cell in row.cells.items()}
            rows.append(line(row.name, of.columns, texts, False))
        sizes = {column: f"{size:.2f}" for column, size in of.bytes_per_item.items()}
        rows.append(line("bytes per item, MEMORY USAGE", of.columns, sizes, False))
        parts.append(f"{of.title}\n\n{table(of.columns, rows)}")
    for title, sheet in run.sheets.items():
        parts.append(f"{title}\n\n{table(sheet.heads, [[name, *texts] for name, texts in sheet.lines.items()])}")
    return "\n\n".join(parts)


def machine(run):
    """The command and the machine, as a list."""
    lines = [f"* {name}: {run.machine[name]}" for name in ["cpu", "vectors", "cores", "memory", "load", "server", "date"]]
    lines += modules(run)
    warning = [textwrap.fill(run.warning, 100), ""] if run.warning else []
    return "\n".join([*warning, textwrap.fill(f"* command: `{run.command}`", 100, subsequent_indent="  "), *lines])


def made_by(command, machine):
    """The command and the machine of a run, as a paragraph."""
    cores = machine["cores"].split(",")[0]
    texts = [machine["cpu"], f"{cores} cores", *(machine[name] for name in ["memory", "system", "server"])]
    busy = " Other work ran on the machine: figures may be too high." if float(machine["load"]) > 1.5 else ""
    text = f"Made by `{command}`: {', '.join(texts)}, load {machine['load']}, {machine['date']}.{busy}"
    return textwrap.fill(text, 100, break_long_words=False, break_on_hyphens=False)


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
    """How many times as fast Bloomline is, and where RedisBloom is ahead."""
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
    behind = sum(len(rows_behind(of)) for of in run.tables.values())
    behind += sum(len(list(figures_behind(sheet))) for sheet in run.sheets.values())
    return f"{ahead}\n\nRedisBloom is ahead by more than {100 * NOISE:.0f} % in the {behind} figures that are bold below."


def numbers(run):
    """The numbers of README.md."""
    sizes = run.sheets["Bytes per item, and the false-positive rate"].figures
    ours, theirs = (sizes[f"{name}, 1,000,000 at 1 %, from 100"][0] for name in ["bloomline", "RedisBloom"])
    tiny = run.sheets["A tiny filter, made by its first item"]
    used = tiny.heads.index("used_memory per key")
    key, their_key = (tiny.figures[name][used] for name in ["bloomline", "RedisBloom"])
    return (
        f"* **{span(run, 'In cache')} times as fast** as RedisBloom in cache, and **{span(run, 'Out of cache')} times** out of cache (128\n"
        f"  million items), in calls of 1,000 items.\n"
        f"* **{span(run, 'Default growth')} times as fast** in a filter that has grown from 100 to a million items.\n"
        f"* **{100 * (1 - ours / theirs):.0f} % smaller** then: {ours:.2f} bytes per item instead of {theirs:.2f}, at an error rate of 1 %.\n"
        f"* **{100 * (1 - key / their_key):.0f} % smaller** with one item: {key:.0f} bytes of `used_memory` per key instead of {their_key:.0f}."
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
    """docs/benchmarks.md with the figures of a run."""
    text = PAGE.read_text()
    for content in [result, machine, times, exact, figures]:
        text = filled(text, content.__name__, content(run))
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
            print(everything(Run(pathlib.Path(run))))
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
