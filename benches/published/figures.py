"""A run of the server bench, read from its JSON."""

import json

# The column of RedisBloom has the name of its file.
NAMES = {"redisbloom": "RedisBloom"}
# The order of columns in tables and charts.
COLUMNS = ["baseline", "baseline, hash", "bloomline", "RedisBloom", "redisbloom layout", "scalar", "set", "bit string"]


class Cell:
    """A time: the median in ns per item, its multiple of the baseline, and page faults per item."""

    def __init__(self, cell):
        self.median = cell["median"]
        self.multiple = cell["times_baseline"]
        self.faults = cell["page_faults_per_item"]


class Row:
    """A workload: its name, the number of items per call, and a cell for each column that has one."""

    def __init__(self, row):
        self.name = row["name"]
        self.batch = row["batch"]
        cells = {NAMES.get(name, name): Cell(cell) for name, cell in row["columns"].items() if "failure" not in cell}
        self.cells = {name: cell for name, cell in cells.items() if cell.median is not None}

    def times_as_fast(self):
        """How many times as long RedisBloom takes; none if it has no such row."""
        if not {"RedisBloom", "bloomline"} <= self.cells.keys():
            return None
        return self.cells["RedisBloom"].median / self.cells["bloomline"].median


class Table:
    """Times of one kind of filter."""

    def __init__(self, table):
        self.title = table["title"]
        self.name = self.title.split(":")[0]
        self.rows = [Row(row) for row in table["rows"]]
        self.bytes_per_item = {NAMES.get(name, name): value for name, value in table["bytes_per_item"].items()}
        self.columns = [name for name in COLUMNS if any(name in row.cells for row in self.rows)]


def shown(name):
    """The name of a line, which begins with that of its column."""
    column, *rest = name.split(", ", 1)
    return ", ".join([NAMES.get(column, column), *rest])


class Sheet:
    """A table of sizes, or of times of whole files: texts that are ready to be shown."""

    def __init__(self, sheet):
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
        self.tables = {table.name: table for table in map(Table, run["tables"])}
        self.sheets = {sheet.title: sheet for sheet in map(Sheet, run["costs"])}

    def row(self, table, name):
        """The row with this name in the table with this name."""
        return next(row for row in self.tables[table].rows if row.name == name)
