"""Prints how many times as long this module takes as another build of it: beside.py run.json

The ratio of a row is the median of those of its rounds, each of which runs both builds in turn.
"""

import json
import statistics
import sys


def ratios(run):
    """Yields each row with its two medians in nanoseconds per item, and its ratio."""
    for table in run["tables"]:
        for row in table["rows"]:
            now, before = (row["columns"].get(name) for name in ("bloomline", "before"))
            if now and before:
                rounds = zip(now["rounds"], before["rounds"], strict=True)
                ratio = statistics.median(a / b for a, b in rounds)
                name = f"{table['title']}: {row['name']}"
                yield name, before["median"], now["median"], ratio


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        rows = list(ratios(json.load(file)))
    width = max(len(name) for name, *_ in rows)
    for name, before, now, ratio in rows:
        print(f"{name:{width}}  {before:8.1f} ns  {now:8.1f} ns  {ratio:.3f}")
    print(f"{'median of the rows':{width}}  {'':26}{statistics.median(r[3] for r in rows):.3f}")


if __name__ == "__main__":
    main()
