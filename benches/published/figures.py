"""A published run of the server bench, read from its JSON under the names of today's documents."""

import json
import pathlib

RUN = pathlib.Path(__file__).resolve().parents[2] / "docs/reports/2026-11-22-redisbloom.json"

# The run was made before these names changed.
NAMES = {"floor": "baseline", "floor, hash": "baseline, hash"}
# The order of columns in tables and charts.
COLUMNS = ["baseline", "baseline, hash", "bloomline", "RedisBloom", "redisbloom layout", "scalar", "set", "bit string"]
TITLES = {
    "Bytes an item, and the rate of false positives": "Bytes per item, and the false-positive rate",
}
HEADS = {
    "bytes an item": "bytes per item",
    "bits an item": "bits per item",
    "asked %": "target %",
    "used_memory a key": "used_memory per key",
    "beyond, MB": "in addition, MB",
    "an item": "per item",
}
# Digits after the point, by the name of the head in the run. Others have none.
DIGITS = {
    "bytes an item": 3,
    "bits an item": 2,
    "log2(1/e)": 2,
    "1.44 log2(1/e)": 2,
    "asked %": 3,
    "measured %": 3,
    "SAVE s": 2,
    "beyond, MB": 1,
    "load s": 2,
    "load peak / MB": 3,
    "AOF rewrite s": 2,
    "child, MB": 2,
    "AOF load s": 2,
    "AOF peak / MB": 3,
    "an item": 2,
    "%": 1,
}


class Cell:
    """A time: the median in ns per item, its multiple of the baseline, and page faults per item."""

    def __init__(self, cell):
        self.median = cell["median"]
        self.multiple = cell["times_floor"]
        self.faults = cell["page_faults_an_item"]


class Row:
    """A workload: its name, the number of items per call, and a cell for each column that has one."""

    def __init__(self, row):
        self.name = row["name"]
        self.batch = row["batch"]
        self.cells = {NAMES.get(name, name): Cell(cell) for name, cell in row["columns"].items()}

    def times_as_fast(self):
        """How many times as long RedisBloom takes."""
        return self.cells["RedisBloom"].median / self.cells["bloomline"].median


class Table:
    """Times of one kind of filter."""

    def __init__(self, table):
        self.title = table["title"]
        self.name = self.title.split(":")[0]
        self.rows = [Row(row) for row in table["rows"]]
        self.bytes_per_item = {NAMES.get(name, name): value for name, value in table["bytes_an_item"].items()}
        self.columns = [name for name in COLUMNS if any(name in row.cells for row in self.rows)]


class Sheet:
    """A table of sizes, or of times of whole files: texts that are ready to be shown."""

    def __init__(self, sheet):
        self.title = TITLES.get(sheet["title"], sheet["title"])
        self.heads = [HEADS.get(head, head) for head in sheet["heads"]]
        self.figures = {line["name"]: line["figures"] for line in sheet["lines"]}
        digits = [DIGITS.get(head, 0) for head in sheet["heads"]]
        self.lines = {
            name: [f"{figure:,.{places}f}" for figure, places in zip(figures, digits)]
            for name, figures in self.figures.items()
        }


class Run:
    """All tables of the run, and the machine that made it."""

    def __init__(self, path=RUN):
        run = json.loads(path.read_text())
        self.machine = run["machine"]
        self.tables = {table.name: table for table in map(Table, run["tables"])}
        self.sheets = {sheet.title: sheet for sheet in map(Sheet, run["costs"])}

    def row(self, table, name):
        """The row with this name in the table with this name."""
        return next(row for row in self.tables[table].rows if row.name == name)
