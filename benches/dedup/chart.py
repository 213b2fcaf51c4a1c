"""The chart of the dedup bench: two bars per method, time and memory, on logarithmic scales."""

from math import log10
from xml.sax.saxutils import escape

# The background is transparent, so the colours must be readable on black and on white.
TEXT, TIME, MEMORY = "#7d8590", "#2f81f7", "#db6d28"
WIDTH, LEFT, BAR, ROW, TOP = 900, 190, 15, 46, 50


def number(value):
    """Formats a value with three significant digits."""
    return f"{value:.{max(0, 2 - int(log10(value) // 1))}f}" if value > 0 else "0"


def draw(rows):
    """Returns the chart as SVG. Rows are (name, client seconds, server seconds, megabytes)."""
    pairs = [(name, (client + server, "s"), (memory, "MB")) for name, client, server, memory in rows]
    parts = [legend(LEFT, TIME, "processor time, client and server"), legend(LEFT + 330, MEMORY, "memory of the key")]
    scales = [scale([pair[1 + kind][0] for pair in pairs]) for kind in (0, 1)]
    for index, (name, *values) in enumerate(pairs):
        top = TOP + index * ROW
        parts.append(label(LEFT - 10, top + BAR + 4, name, "end", 16))
        for line, ((value, unit), length, colour) in enumerate(zip(values, scales, (TIME, MEMORY))):
            y, width = top + line * (BAR + 2), length(value)
            parts.append(f'<rect x="{LEFT}" y="{y}" width="{width:.0f}" height="{BAR}" fill="{colour}"/>')
            parts.append(label(LEFT + width + 6, y + BAR - 2, f"{number(value)} {unit}", "start", 14))
    height = TOP + len(pairs) * ROW
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}">'
    return "\n".join([head, *parts, "</svg>\n"])


def scale(values):
    """Returns the logarithmic scale from values to pixels.

    A tenth of the smallest value has length 0; the largest value fills the chart.
    """
    least, most = min(values) / 10, max(values)
    pixels = (WIDTH - LEFT - 100) / log10(most / least)
    return lambda value: log10(value / least) * pixels


def legend(x, colour, text):
    return f'<rect x="{x}" y="14" width="13" height="13" fill="{colour}"/>' + label(x + 20, 26, text, "start", 15)


def label(x, y, text, anchor, size):
    return (
        f'<text x="{x:.0f}" y="{y}" text-anchor="{anchor}" font-family="sans-serif" font-size="{size}" '
        f'fill="{TEXT}">{escape(text)}</text>'
    )
