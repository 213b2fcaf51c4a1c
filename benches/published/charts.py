"""Charts as SVG, readable on light and dark pages: each has a background that follows the reader's."""

import itertools
import math
import xml.sax.saxutils

STYLE = """
text { font: 14px system-ui, sans-serif; fill: var(--text) }
.title { font-size: 16px; font-weight: 600 }
.quiet { fill: var(--quiet) }
.strong { font-weight: 600 }
.end { text-anchor: end }
.middle { text-anchor: middle }
.line { stroke: var(--line) }
.page { fill: var(--page); stroke: var(--line) }
.c0 { fill: var(--c0) } .c1 { fill: var(--c1) } .c2 { fill: var(--c2) }
.c3 { fill: var(--c3) } .c4 { fill: var(--c4) } .c5 { fill: var(--c5) }
svg { --page: #ffffff; --text: #1f2328; --quiet: #59636e; --line: #d1d9e0;
  --c0: #0969da; --c1: #818b98; --c2: #1a7f37; --c3: #218bff; --c4: #bf8700; --c5: #bf3989 }
@media (prefers-color-scheme: dark) {
  svg { --page: #0d1117; --text: #f0f6fc; --quiet: #9198a1; --line: #3d444d;
    --c0: #4493f8; --c1: #656c76; --c2: #3fb950; --c3: #79c0ff; --c4: #d29922; --c5: #db61a2 }
}
"""
WIDTH = 900


def text(x, y, words, classes=""):
    """A line of text, with its base line at `y`."""
    attribute = f' class="{classes}"' if classes else ""
    return f'<text x="{x:g}" y="{y:g}"{attribute}>{xml.sax.saxutils.escape(words)}</text>'


def bar(x, y, width, height, classes):
    """A bar to the right, at least one pixel wide."""
    return f'<rect x="{x:g}" y="{y:g}" width="{max(width, 1):.1f}" height="{height:g}" rx="2" class="{classes}"/>'


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
    """Two bars per row, ours and RedisBloom's, as parts of the longer one.

    A row is a label and two times in ns per item.
    """
    left, right, pitch = 300, 640, 30
    parts = [text(24, 34, title, "title"), text(24, 56, subtitle, "quiet")]
    parts += [bar(24, 70, 12, 12, "c0"), text(42, 81, "Bloomline"), bar(140, 70, 12, 12, "c1")]
    parts += [text(158, 81, "RedisBloom"), text(right + 10, 81, "ns per item", "quiet")]
    parts.append(text(WIDTH - 24, 81, "times as fast", "quiet end"))
    for index, (label, ours, theirs) in enumerate(rows):
        y = 98 + index * pitch
        unit = (right - left) / max(ours, theirs)
        parts += [text(left - 12, y + 16, label, "end"), bar(left, y, ours * unit, 10, "c0")]
        parts += [bar(left, y + 11, theirs * unit, 10, "c1"), text(right + 10, y + 16, f"{ours:,.0f} : {theirs:,.0f}")]
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
    bottom = 112 + bars * height + len(rows) * 14
    parts = [text(24, 34, title, "title"), text(24, 56, subtitle, "quiet")]
    x = 24
    for index, name in enumerate(columns):
        parts += [bar(x, 70, 12, 12, f"c{index}"), text(x + 18, 81, name)]
        x += 44 + 8 * len(name)
    for tick in [1, 2, 5, 10, 20, 50, 100, 200]:
        if tick <= most:
            at = left + math.log(tick) * scale
            parts.append(f'<line x1="{at:.1f}" y1="104" x2="{at:.1f}" y2="{bottom - 8}" class="line"/>')
            parts.append(text(round(at, 1), 100, str(tick), "quiet middle"))
    y = 112
    for label, values in rows:
        count = sum(value is not None for value in values)
        parts.append(text(left - 12, y + count * height / 2 + 5, label, "end"))
        for index, value in enumerate(values):
            if value is not None:
                parts.append(bar(left, y, math.log(value) * scale, height - 2, f"c{index}"))
                y += height
        y += 14
    described = "; ".join(f"{label}: " + ", ".join(f"{v:.1f}" for v in values if v) for label, values in rows)
    return page(bottom, title, f"{subtitle}. Columns: {', '.join(columns)}. {described}.", parts)
