"""The code blocks of docs/how-to/python.md run one after the other, as a reader types them."""

import re

from conftest import ROOT


def test_python_of_the_page_runs(plain, bloomline_server):
    page = (ROOT / "docs/how-to/python.md").read_text()
    blocks = re.findall(r"^```python\n(.*?)^```", page, re.M | re.S)
    assert len(blocks) == 4
    names = {}
    for block in blocks:
        exec(
            block.replace("redis.Redis()", f"redis.Redis.from_url({bloomline_server.url!r})"), names
        )
    names["client"].close()
