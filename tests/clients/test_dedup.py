"""The dedup bench, once in small: that it still works, not how fast anything is."""

import os
import subprocess
import sys
from xml.etree import ElementTree

import pytest
from conftest import DEADLINE, ROOT, newest_servers


@pytest.mark.parametrize("name", newest_servers())
def test_the_dedup_bench_measures_every_way_and_draws_it(name, tmp_path):
    chart = tmp_path / "chart.svg"
    program = ROOT / "benches/dedup/dedup.py"
    command = [sys.executable, program, "--items", "200", "--server", name, "--chart", chart]
    done = subprocess.run(command, env=os.environ, capture_output=True, text=True, timeout=DEADLINE)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 3 + 6
    drawn = "".join(ElementTree.parse(chart).getroot().itertext())
    for way in ("SADD", "6 GETBIT, 6 SETBIT", "BF.ADD, pipelined", "BF.MADD"):
        assert any(line.startswith(f"| {way} |") for line in lines) and way in drawn
