"""Charts as SVG, readable on light and dark pages: the background of each follows the reader's.

Some programs that draw SVG know neither variables of CSS nor media queries. So each class has its
light colour as a plain value, and a query replaces it on dark pages.
"""

import itertools
import math
import xml.sax.saxutils

# On light pages and on dark ones.
PAGE = "#ffffff", "#0d1117"
TEXT = "#1f2328", "#f0f6fc"
QUIET = "#59636e", "#9198a1"
LINE = "#d1d9e0", "#3d444d"
# The series. A test computes that they differ from the page, and from each other for colour-blind
# readers too.
BARS = [
    ("#0969da", "#4493f8"),
    ("#818b98", "#8b949e"),
    ("#0f5c38", "#59ffac"),
    ("#b0308f", "#bf3993"),
    ("#0b0b73", "#4560e6"),
    ("#d97706", "#ffd659"),
    ("#4d1f00", "#d96c36"),
]


def rules(scheme):
    """The colours as CSS: 0 for light pages, 1 for dark ones."""
    bars = [f".c{series} {{ fill: {colours[scheme]} }}" for series, colours in enumerate(BARS)]
    return "\n".join([
        f".page {{ fill: {PAGE[scheme]}; stroke: {LINE[scheme]} }}",
        f"text {{ fill: {TEXT[scheme]} }}",
        f".quiet {{ fill: {QUIET[scheme]} }}",
        f".line {{ stroke: {LINE[scheme]} }}",
        *bars,
    ])


STYLE = f"""
text {{ font: 14px system-ui, sans-serif }}
.title {{ font-size: 16px; font-weight: 600 }}
.strong {{ font-weight: 600 }}
.end {{ text-anchor: end }}
.middle {{ text-anchor: middle }}
{rules(0)}
@media (prefers-color-scheme: dark) {{
{rules(1)}
}}
"""
WIDTH = 900


def text(x, y, words, classes=""):
    """A line of text, with its base line at `y`."""
    attribute = f' class="{classes}"' if classes else ""
    return f'<text x="{x:g}" y="{y:g}"{attribute}>{xml.sax.saxutils.escape(words)}</text>'


def bar(x, y, width, height, series):
    """A bar to the right, at least one pixel wide. Series are numbered from 0."""
    assert series < len(BARS), f"series {series} has no colour: BARS has {len(BARS)}"
    place = f'x="{x:g}" y="{y:g}" width="{max(width, 1):.1f}" height="{height:g}"'
    return f'<rect {place} rx="2" class="c{series}"/>'


def legend(y, names):
    """The name of each series beside its colour, in lines from `y` on, and where these end."""
    parts, x = [], 24
    for series, name in enumerate(names):
        width = 44 + 8 * len(name)
        if x > 24 and x + width > WIDTH:
            x, y = 24, y + 20
        parts += [bar(x, y, 12, 12, series), text(x + 18, y + 11, name)]
        x += width
    return parts, y + 12


def page(height, title, description, parts):
    """The whole picture. Screen readers read the title and the description."""
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        f'role="img" aria-labelledby="title description">\n'
        f'<title id="title">{xml.sax.saxutils.escape(title)}</title>\n'
        f'<desc id="description">{xml.sax.saxutils.escape(description)}</desc>\n<style>{STYLE}</style>\n'
        f'<rect x="0.5" y="0.5" width="{WIDTH - 1}" height="{height - 1}" rx="8" class="page"/>\n'
    )
    return head + "\n".join(parts) + "\n</svg>\n"


def beside(title, subtitle, rows):
    """Two bars per row, ours and RedisBloom's. The longer bar of each row has the full width.

    A row is a label and two times in ns per item.
    """
    left, right, pitch = 300, 640, 30
    parts = [text(24, 34, title, "title"), text(24, 56, subtitle, "quiet")]
    parts += legend(70, ["Bloomline", "RedisBloom"])[0]
    parts.append(text(right + 10, 81, "ns per item", "quiet"))
    parts.append(text(WIDTH - 24, 81, "times as fast", "quiet end"))
    for index, (label, ours, theirs) in enumerate(rows):
        y = 98 + index * pitch
        unit = (right - left) / max(ours, theirs)
        parts += [text(left - 12, y + 16, label, "end"), bar(left, y, ours * unit, 10, 0)]
        parts.append(bar(left, y + 11, theirs * unit, 10, 1))
        parts.append(text(right + 10, y + 16, f"{ours:,.0f} : {theirs:,.0f}"))
        parts.append(text(WIDTH - 24, y + 16, f"{theirs / ours:.1f}", "strong end"))
    described = "; ".join(f"{label}: {ours:.0f} and {theirs:.0f} ns" for label, ours, theirs in rows)
    return page(98 + len(rows) * pitch + 14, title, f"{subtitle}. {described}.", parts)


def multiples(title, subtitle, columns, rows):
    """Groups of bars on a logarithmic scale from 1, one bar per column that a row has.

    A row is a label and a multiple for each column, or None. Columns that no row has are left out.
    """
    measured = [any(values[index] for _, values in rows) for index in range(len(columns))]
    columns = list(itertools.compress(columns, measured))
    rows = [(label, list(itertools.compress(values, measured))) for label, values in rows]
    left, right, height = 370, WIDTH - 40, 11
    most = max(value for _, values in rows for value in values if value)
    scale = (right - left) / math.log(most)
    bars = sum(value is not None for _, values in rows for value in values)
    parts, top = legend(70, columns)
    parts += [text(24, 34, title, "title"), text(24, 56, subtitle, "quiet")]
    top += 36
    bottom = top + bars * height + len(rows) * 14
    for tick in [1, 2, 5, 10, 20, 50, 100, 200]:
        if tick <= most:
            at = left + math.log(tick) * scale
            ends = f'x1="{at:.1f}" y1="{top - 8}" x2="{at:.1f}" y2="{bottom - 8}"'
            parts.append(f'<line {ends} class="line"/>')
            parts.append(text(round(at, 1), top - 12, str(tick), "quiet middle"))
    y = top
    for label, values in rows:
        count = sum(value is not None for value in values)
        parts.append(text(left - 12, y + count * height / 2 + 5, label, "end"))
        for series, value in enumerate(values):
            if value is not None:
                parts.append(bar(left, y, math.log(value) * scale, height - 2, series))
                y += height
        y += 14
    described = []
    for label, values in rows:
        pairs = [f"{name} {value:.1f}" for name, value in zip(columns, values) if value]
        described.append(f"{label}: {'; '.join(pairs)}.")
    return page(bottom, title, f"{subtitle}. {' '.join(described)}", parts)
