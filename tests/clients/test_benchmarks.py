"""The published run: documents and charts are what the program writes, and charts can be read."""

import itertools
import json
import math
import operator
import re
import sys
import xml.etree.ElementTree

import pytest
from conftest import ROOT

sys.path.append(str(ROOT / "benches/published"))
import latency  # noqa: E402
import publish  # noqa: E402

CHARTS = sorted((ROOT / "docs").glob("*.svg"))
SCHEMES = ["light", "dark"]
# Linear red, green and blue as they are seen (Machado, Oliveira, Fernandes, 2009, severity 1).
VISIONS = {
    "normal": [(1, 0, 0), (0, 1, 0), (0, 0, 1)],
    "protanopia": [
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ],
    "deuteranopia": [
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    ],
    "tritanopia": [
        (1.255528, -0.076749, -0.178779),
        (-0.078411, 0.930809, 0.147602),
        (0.004733, 0.691367, 0.303900),
    ],
}
# Oklab (Ottosson, 2020): from linear red, green and blue, and from the cube roots of the product.
CONES = [
    (0.4122214708, 0.5363325363, 0.0514459929),
    (0.2119034982, 0.6806995451, 0.1073969566),
    (0.0883024619, 0.2817188376, 0.6299787005),
]
OKLAB = [
    (0.2104542553, 0.793617785, -0.0040720468),
    (1.9779984951, -2.428592205, 0.4505937099),
    (0.0259040371, 0.7827717662, -0.808675766),
]


def test_documents_show_the_published_run():
    for path, content in publish.documents().items():
        assert path.read_text() == content, f"{path.relative_to(ROOT)}: run `make publish-bench`"


def test_a_peer_keeps_its_column_whatever_its_file_is_called(tmp_path):
    run = json.loads(publish.PUBLISHED.read_text())
    text = json.dumps(run).replace('"redisbloom"', '"rb-2.8"').replace('"redisbloom, ', '"rb-2.8, ')
    run = json.loads(text)
    hashed = "0123456789abcdef" * 4
    ours = {"column": "bloomline", "is_peer": False, "file": "bloomline.so", "name": "bf", "version": 100, "sha256": hashed}
    peer = {**ours, "column": "rb-2.8", "is_peer": True, "file": "rb-2.8.so", "version": 20802, "sha256": hashed[::-1]}
    path = tmp_path / "run.json"
    path.write_text(json.dumps({**run, "modules": [ours, peer]}))
    page, published = publish.page(publish.Run(path)), publish.PAGE.read_text()
    assert "RedisBloom: `rb-2.8.so`, version 20802 of the module `bf`" in page and hashed[::-1] in page
    for name in ["result", "times", "figures"]:
        block = re.compile(f"<!-- {name}: begin -->.*<!-- {name}: end -->", re.S)
        assert block.search(page)[0] == block.search(published)[0], name


def test_rows_listed_for_the_page_are_rows_of_the_published_run():
    run = publish.Run(publish.PUBLISHED)
    for name, rows in publish.SHOWN_ROWS.items():
        assert set(rows) <= {row.name for row in run.tables[name].rows}, name
    for title, head in publish.SHOWN_FIGURES:
        assert head in run.sheets[title].heads, title


def test_the_page_shows_and_marks_each_figure_in_which_redisbloom_is_ahead():
    page = publish.PAGE.read_text()
    marked = re.findall(r"^\|[^|]+\|.* \*\*[\d.,]+\*\* \|", page, re.M)
    count = int(re.search(r"RedisBloom is ahead by more than 1 % in the (\d+) figures", page)[1])
    assert len(marked) == count > 20
    row = publish.Run(publish.PUBLISHED).row("Tiny filters", "ADD first item, creates")
    ours, theirs = (f"{row.cells[column].median:,.1f}" for column in ["bloomline", "RedisBloom"])
    assert f"| {ours} | **{theirs}** |" in page


def test_speeds_in_the_readme_are_those_of_the_run():
    """A ratio or a time per item outside the markers would not follow the run."""
    page = (ROOT / "README.md").read_text()
    block = re.search(r"<!-- numbers: begin -->.*<!-- numbers: end -->\n", page, re.S)[0]
    rest = page.replace(block, "")
    assert len(re.findall(r"times as fast", block)) == 2
    lookup = publish.Run(publish.PUBLISHED).row("In cache", "MEXISTS hit ×1,000").cells["bloomline"].median
    memory = (ROOT / "docs/reference/memory.md").read_text()
    # The filter of ten billion items with huge pages: new items, hits, absent ones.
    large = re.search(r"\| 10,000,000,000 .*\| 2 MiB \|[^|]*\|[^|]*\| ([\d.]+) \|", memory)[1]
    assert re.findall(r"([\d.]+) (?:ns|times)\b", rest) == [f"{float(large):.0f}", f"{lookup:.0f}"]


MACHINE = {"cpu": "CPU", "cores": "2, none pinned", "memory": "4 GiB", "system": "linux", "load": "0.1", "server": "redis", "date": "today"}


def latency_run(*runs):
    """What the server bench writes: title of a table, row, layout, milliseconds."""
    tables = [
        {"title": title, "rows": [{"name": row, "columns": {layout: {"rounds": milliseconds}}}]}
        for title, row, layout, *milliseconds in runs
    ]
    return {"command": "make it", "machine": MACHINE, "tables": tables}


def test_the_page_of_latencies_shows_a_run_and_changes_nowhere_else():
    ours = "bloomline"
    run = latency_run(
        ("one layer of: 1 GB, untouched", "COPY", ours, 1.0),
        ("one layer of: 1 GB, filled", "COPY", ours, 30.0, 1234.4),
        ("one layer of: 1 GB, untouched", "BF.ADD that adds a layer", ours, 25.0),
        ("one layer of: 1 GB, filled", "SAVE", "redisbloom layout", 12345.0),
        ("one layer of: 10 GB, untouched", "COPY", ours, 501.0),
        ("one layer of: 1 GB, untouched", "BF.CARD", ours, 0.001, 0.9),
        ("one layer of: 10 GB, untouched", "BF.STATS", ours, 9.9),
        ("one layer of: 10 GB, untouched", "BF.MEXISTS", "redisbloom layout", 1.0),
        ("layers: 3 × 1 MB, untouched", "BF.MADD", ours, 117.0),
        ("layers: 3 × 1 MB, untouched", "BF.INFO", ours, 0.0123),
        ("items in the call: 1,000", "BF.BULKADD", ours, 0.1, 9.0, 0.3),
        ("largest: BF.BULKEXISTS, 9 layers", "1 KB", ours, 5.0, 6.0),
        ("largest: BF.BULKEXISTS, 9 layers", "80 KB", ours, 240.0),
        ("largest: BF.BULKEXISTS, 9 layers", "1 MB", ours),
        ("largest: ms", "BF.MERGE", ours, 17.1, 18.2),
    )
    before, after = latency.PAGE.read_text(), latency.page(run)
    block = re.compile(r"<!-- (latency(?:-packed|-largest)?): begin -->.*?<!-- \1: end -->", re.S)
    assert len(block.findall(after)) == 3
    assert block.sub("", after) == block.sub("", before)
    table = """\
| one layer of             |          1 GB |   10 GB |
|--------------------------|--------------:|--------:|
| COPY                     | 1.00 /  1,234 | 501 / – |
| BF.ADD that adds a layer |          25.0 |       – |
| — in RedisBloom's layout |        12,345 |       – |
"""
    assert f"{table}\nBelow 1 ms: BF.CARD. Below 10 ms: BF.STATS; BF.MEXISTS.\n" in after
    assert "| BF.MADD |      117 |\n\nBelow 1 ms: BF.INFO.\n" in after
    assert "| BF.BULKADD        | 0.300 / 9.00 |" in after
    assert "| BF.BULKEXISTS, 9 layers                | 6.00 |   240 | ~3,000 |\n" in after
    assert "| BF.MERGE    | 18.2 |\n" in after


def test_every_chart_is_one_that_the_program_writes():
    assert CHARTS and set(CHARTS) <= publish.documents().keys()


@pytest.mark.parametrize("chart", CHARTS, ids=lambda path: path.name)
def test_a_chart_has_a_text_and_follows_light_and_dark(chart):
    picture = xml.etree.ElementTree.parse(chart).getroot()
    children = {child.tag.split("}")[1]: child for child in picture}
    assert len(children["title"].text) > 10 and len(children["desc"].text) > 100
    assert "prefers-color-scheme: dark" in children["style"].text
    # Its own background: the page behind it may be light while the picture is dark.
    assert next(child for child in picture if child.tag.endswith("rect")).get("class") == "page"


def colours(style, scheme):
    """The colours of the rules for light pages or for dark ones, by class: plain values only."""
    parts = dict(zip(SCHEMES, style.split("@media (prefers-color-scheme: dark)")))
    rule = re.compile(r"^\.?(\w+) \{ (?:fill|stroke): (#[0-9a-f]{6})\b", re.M)
    found = rule.findall(parts[scheme])
    assert len(found) == len(dict(found)), found
    return dict(found)


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("chart", CHARTS, ids=lambda path: path.name)
def test_every_series_has_a_colour_and_a_name_in_the_legend(chart, scheme):
    """Programs without variables and media queries draw the light colours."""
    picture = list(xml.etree.ElementTree.parse(chart).getroot())
    style = next(child for child in picture if child.tag.endswith("style")).text
    assert "var(" not in chart.read_text()
    fills = colours(style, scheme)
    assert {"page", "text", "quiet", "line"} <= fills.keys()
    drawn = {child.get("class") for child in picture if child.tag.endswith("rect")} - {"page"}
    assert drawn <= fills.keys() and len({fills[series] for series in drawn}) == len(drawn) > 1
    named = [
        (box.get("class"), name.text)
        for box, name in zip(picture, picture[1:])
        if (box.get("width"), box.get("height")) == ("12.0", "12") and name.tag.endswith("text")
    ]
    assert len(named) == len(drawn) and dict(named).keys() == drawn
    assert len({name for _, name in named}) == len(named) and all(name for _, name in named)


def test_a_series_without_a_colour_is_an_error():
    def chart(columns):
        return publish.charts.multiples("", "", ["name"] * columns, [("row", [2.0] * columns)])

    count = len(publish.charts.BARS)
    assert f"c{count - 1}" in chart(count)
    with pytest.raises(AssertionError, match=f"series {count} has no colour"):
        chart(count + 1)


def test_charts_name_the_scale_of_their_bars():
    charts = {chart.stem: list(xml.etree.ElementTree.parse(chart).getroot()) for chart in CHARTS}
    for name, scale in [
        ("benchmarks", "logarithmic scale from 1"),
        ("redisbloom", "in each row the longer bar is 100 %"),
    ]:
        assert any(scale in child.text for child in charts[name] if child.get("class") == "quiet")
    of_rows = [child for child in charts["redisbloom"] if child.get("height") == "10"]
    bars = [float(bar.get("width")) for bar in of_rows]
    assert len(bars) == 2 * len(publish.BESIDE)
    assert {max(pair) for pair in zip(bars[::2], bars[1::2])} == {max(bars)}


@pytest.mark.parametrize("scheme", SCHEMES)
def test_texts_of_charts_have_a_contrast_of_at_least_4_5(scheme):
    shown = colours(publish.charts.STYLE, scheme)
    for name in ["text", "quiet"]:
        assert contrast(shown[name], shown["page"]) >= 4.5, name
    # Bars: the contrast that WCAG 2.1 asks of graphics.
    for name in sorted(shown.keys() - {"page", "text", "quiet", "line"}):
        assert contrast(shown[name], shown["page"]) >= 3, name


@pytest.mark.parametrize("vision", VISIONS)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_colours_of_bars_differ_for_colour_blind_readers(scheme, vision):
    """Distances in Oklab, in which black and white have a distance of 1."""
    shown = colours(publish.charts.STYLE, scheme)
    bars = [name for name in shown if re.fullmatch(r"c\d+", name)]
    assert len(bars) == len(publish.charts.BARS)
    points = {name: oklab(seen(shown[name], vision)) for name in bars}
    for one, other in itertools.combinations(bars, 2):
        assert math.dist(points[one], points[other]) >= 0.08, (one, other)


def seen(colour, vision):
    """The linear parts of a colour as it is seen."""
    parts = linear(colour)
    return [min(1, max(0, sum(map(operator.mul, row, parts)))) for row in VISIONS[vision]]


def oklab(parts):
    """Linear red, green and blue in Oklab."""
    cones = [sum(map(operator.mul, row, parts)) ** (1 / 3) for row in CONES]
    return [sum(map(operator.mul, row, cones)) for row in OKLAB]


def contrast(one, other):
    """The contrast of two colours by WCAG 2.1."""
    lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def luminance(colour):
    red, green, blue = linear(colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def linear(colour):
    """Red, green and blue, linear, from 0 to 1."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    return [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
