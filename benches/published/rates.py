"""Writes the speed of the Python package into docs/how-to/python.md.

    python/benches/rates.py | rates.py
"""

import sys
import textwrap

from publish import ROOT, filled

PAGE = ROOT / "docs/how-to/python.md"


def main():
    machine, _, table = sys.stdin.read().partition("\n\n")
    content = f"{textwrap.fill(machine, 100, break_on_hyphens=False)}\n\n{table.strip()}"
    PAGE.write_text(filled(PAGE.read_text(), "rates", content))
    print(content, PAGE, sep="\n\n")


if __name__ == "__main__":
    main()
