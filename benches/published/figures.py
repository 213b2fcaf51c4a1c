"""A run of the server bench, read from its JSON."""

import json

# What the column of the first peer is called, whatever the name of its file is. A run that does not
# record its modules has a peer of this name, or none.
PEER = "RedisBloom"
UNRECORDED = "redisbloom"
# The order of columns in tables and charts.
COLUMNS = [
    "baseline",
    "baseline, hash",
    "bloomline",
    "RedisBloom",
    "redisbloom layout",
    "valkey-bloom layout",
    "scalar",
    "set",
    "bit string",
]


class Cell:
    """A time: the median in ns per item, and its multiple of the baseline."""

    def __init__(self, cell):
        self.median = cell["median"]
        self.multiple = cell["times_baseline"]


class Row:
    """A workload: its name, the number of items per call, and a cell for each column that has one."""

    def __init__(self, row, shown):
        self.name = row["name"]
        self.batch = row["batch"]
        cells = {shown(name): Cell(cell) for name, cell in row["columns"].items() if "failure" not in cell}
        self.cells = {name: cell for name, cell in cells.items() if cell.median is not None}

    def times_as_fast(self):
        """How many times as long RedisBloom takes; none if it has no such row."""
        if not {"RedisBloom", "bloomline"} <= self.cells.keys():
            return None
        return self.cells["RedisBloom"].median / self.cells["bloomline"].median


class Table:
    """Times of one kind of filter."""

    def __init__(self, table, shown):
        self.title = table["title"]
        self.name = self.title.split(":")[0]
        self.rows = [Row(row, shown) for row in table["rows"]]
        self.bytes_per_item = {shown(name): value for name, value in table["bytes_per_item"].items()}
        self.columns = [name for name in COLUMNS if any(name in row.cells for row in self.rows)]


class Sheet:
    """A table of sizes, or of times of whole files: texts that are ready to be shown."""

    def __init__(self, sheet, shown):
        self.title = sheet["title"]
        self.heads = [head["name"] for head in sheet["heads"]]
        self.figures = {shown(line["name"]): line["figures"] for line in sheet["lines"] if "failure" not in line}
        digits = [head["digits"] for head in sheet["heads"]]
        self.lines = {
            name: ["-" if figure is None else f"{figure:,.{places}f}" for figure, places in zip(figures, digits)]
            for name, figures in self.figures.items()
        }


class Run:
    """All tables of the run, and the machine that made it."""

    def __init__(self, path):
        run = json.loads(path.read_text())
        self.command = run["command"]
        self.warning = run["warning"]
        self.machine = run["machine"]
        self.modules = run.get("modules")
        peers = [module["column"] for module in self.modules or [] if module["is_peer"]]
        self.peer = UNRECORDED if self.modules is None else next(iter(peers), None)
        self.tables = {table.name: table for table in (Table(table, self.shown) for table in run["tables"])}
        self.sheets = {sheet.title: sheet for sheet in (Sheet(sheet, self.shown) for sheet in run["costs"])}

    def shown(self, name):
        """The name of a column, or of a line, which begins with that of its column."""
        is_of_peer = self.peer is not None and f"{name}, ".startswith(f"{self.peer}, ")
        return PEER + name[len(self.peer) :] if is_of_peer else name

    def row(self, table, name):
        """The row with this name in the table with this name."""
        return next(row for row in self.tables[table].rows if row.name == name)
