"""The chart of the dedup bench: two bars per method, time and memory, on logarithmic scales."""

import pathlib
import sys
from math import log10

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "published"))
from charts import WIDTH, bar, page, text  # noqa: E402

LEFT, BAR, ROW, TOP = 200, 15, 44, 112
TITLE = "Deduplication by a client"


def number(value):
    """Formats a value with three significant digits."""
    return f"{value:.{max(0, 2 - int(log10(value) // 1))}f}" if value > 0 else "0"


def draw(rows, items):
    """Returns the chart as SVG. Rows are (name, client seconds, server seconds, megabytes)."""
    pairs = [(name, (client + server, "s"), (memory, "MB")) for name, client, server, memory in rows]
    parts = [text(24, 34, TITLE, "title"), text(24, 56, f"{items:,} new pages; logarithmic scales, shorter is better", "quiet")]
    parts += [bar(24, 70, 12, 12, "c0"), text(42, 81, "processor time, client and server")]
    parts += [bar(290, 70, 12, 12, "c4"), text(308, 81, "memory of the key")]
    scales = [scale([pair[1 + kind][0] for pair in pairs]) for kind in (0, 1)]
    for index, (name, *values) in enumerate(pairs):
        top = TOP + index * ROW
        parts.append(text(LEFT - 12, top + BAR + 6, name, "end"))
        for line, ((value, unit), length, colour) in enumerate(zip(values, scales, ("c0", "c4"))):
            y, width = top + line * (BAR + 2), length(value)
            parts.append(bar(LEFT, y, width, BAR, colour))
            parts.append(text(round(LEFT + width + 6, 1), y + BAR - 3, f"{number(value)} {unit}"))
    described = "; ".join(f"{name}: {number(time)} s, {number(memory)} MB" for name, (time, _), (memory, _) in pairs)
    return page(TOP + len(pairs) * ROW + 4, TITLE, f"Processor time and memory of each method. {described}.", parts)


def scale(values):
    """Returns the logarithmic scale from values to pixels.

    A tenth of the smallest value has length 0; the largest value fills the chart.
    """
    least, most = min(values) / 10, max(values)
    pixels = (WIDTH - LEFT - 110) / log10(most / least)
    return lambda value: log10(value / least) * pixels
