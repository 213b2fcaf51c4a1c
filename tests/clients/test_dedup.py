"""Runs the dedup bench with few items, to check that it still works."""

import os
import subprocess
import sys
from xml.etree import ElementTree

import pytest
from conftest import DEADLINE, ROOT, newest_servers


@pytest.mark.parametrize("name", newest_servers())
def test_dedup_bench_measures_and_draws_every_method(name, tmp_path):
    chart = tmp_path / "chart.svg"
    program = ROOT / "benches/dedup/dedup.py"
    command = [sys.executable, program, "--items", "200", "--runs", "1", "--server", name, "--chart", chart]
    done = subprocess.run(command, env=os.environ, capture_output=True, text=True, timeout=DEADLINE)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 3 + 7
    drawn = "".join(ElementTree.parse(chart).getroot().itertext())
    for method in ("SADD", "6 GETBIT, 6 SETBIT", "BF.ADD, pipelined", "BF.MADD", "BF.BULKADD"):
        assert any(line.startswith(f"| {method} |") for line in lines) and method in drawn
