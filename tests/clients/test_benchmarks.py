"""The published run: documents and charts are what the program writes, and charts can be read."""

import json
import re
import sys
import xml.etree.ElementTree

import pytest
from conftest import ROOT

sys.path.append(str(ROOT / "benches/published"))
import latency  # noqa: E402
import publish  # noqa: E402

CHARTS = sorted((ROOT / "docs").glob("*.svg"))


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
    for name in ["result", "times"]:
        block = re.compile(f"<!-- {name}: begin -->.*<!-- {name}: end -->", re.S)
        assert block.search(page)[0] == block.search(published)[0], name


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
    """What the server bench writes: table, row, column, untouched or filled, layout, milliseconds."""
    keys = ["table", "row", "column", "is_filled", "is_redisbloom", "milliseconds"]
    return {"command": "make it", "machine": MACHINE, "runs": [dict(zip(keys, run)) for run in runs]}


def test_the_page_of_latencies_shows_a_run_and_changes_nowhere_else():
    one, more, packed = "one layer of", "layers", "items in the call"
    run = latency_run(
        (one, "COPY", "1 GB", False, False, 1.0),
        (one, "COPY", "1 GB", True, False, 30.0),
        (one, "COPY", "1 GB", True, False, 1234.4),
        (one, "BF.ADD that adds a layer", "1 GB", False, False, 25.0),
        (one, "SAVE", "1 GB", True, True, 12345.0),
        (one, "COPY", "10 GB", False, False, 501.0),
        (more, "BF.INFO", "3 × 1 MB", False, False, 0.0123),
        *((packed, "BF.BULKADD", "1,000", False, False, time) for time in [0.1, 9.0, 0.3]),
    )
    before, after = latency.PAGE.read_text(), latency.page(run)
    block = re.compile(r"<!-- (latency(?:-packed)?): begin -->.*?<!-- \1: end -->", re.S)
    assert len(block.findall(after)) == 2
    assert block.sub("", after) == block.sub("", before)
    table = """\
| one layer of             |          1 GB |   10 GB |
|--------------------------|--------------:|--------:|
| COPY                     | 1.00 /  1,234 | 501 / – |
| BF.ADD that adds a layer |          25.0 |       – |
| — in RedisBloom's layout |        12,345 |       – |
"""
    assert table in after and "| BF.INFO |    0.012 |" in after
    assert "| BF.BULKADD        | 0.300 / 9.00 |" in after


@pytest.mark.parametrize("chart", CHARTS, ids=lambda path: path.name)
def test_a_chart_has_a_text_and_follows_light_and_dark(chart):
    picture = xml.etree.ElementTree.parse(chart).getroot()
    children = {child.tag.split("}")[1]: child for child in picture}
    assert len(children["title"].text) > 10 and len(children["desc"].text) > 100
    assert "prefers-color-scheme: dark" in children["style"].text
    # Its own background: the page behind it may be light while the picture is dark.
    assert next(child for child in picture if child.tag.endswith("rect")).get("class") == "page"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_texts_of_charts_have_a_contrast_of_at_least_4_5(scheme):
    style = publish.charts.STYLE
    part = style.split("@media")[1] if scheme == "dark" else style.split("@media")[0]
    colours = dict(re.findall(r"--(\w+): (#[0-9a-f]{6})", part))
    for name in ["text", "quiet"]:
        assert contrast(colours[name], colours["page"]) >= 4.5, name
    # Bars: the contrast that WCAG 2.1 asks of graphics.
    for name in [f"c{index}" for index in range(6)]:
        assert contrast(colours[name], colours["page"]) >= 3, name


def contrast(one, other):
    """The contrast of two colours by WCAG 2.1."""
    lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def luminance(colour):
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
