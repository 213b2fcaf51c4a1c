"""Runs the tests of the Node.js client libraries, which are files of Node's own test runner."""

import os
import re
import subprocess

import pytest
from conftest import DEADLINE, ROOT, Server, find_servers

FOLDER = ROOT / "tests/clients/node"
NODE = ROOT / ".venv-node/bin/node"


@pytest.mark.newest
@pytest.mark.parametrize("library", ["node_redis", "ioredis"])
def test_tests_of_the_library_pass(server, library):
    run_tests(server, library)


def test_tests_of_node_redis_on_redis_6_2_pass():
    server = Server("redis-6.2", find_servers()["redis-6.2"])
    try:
        run_tests(server, "node_redis_on_6_2")
    finally:
        server.stop()


def run_tests(server, library):
    assert NODE.is_file() and (FOLDER / "node_modules").is_dir(), "Node.js or a library is missing; run scripts/node.sh"
    environment = {**os.environ, "BLOOMLINE_SOCKET": str(server.socket), "BLOOMLINE_LAYOUT": server.layout}
    command = [NODE, "--test", f"--test-timeout={int(DEADLINE * 1000)}", "--test-reporter=spec", f"{library}.test.js"]
    done = subprocess.run(command, cwd=FOLDER, env=environment, capture_output=True, text=True, timeout=2 * DEADLINE)
    assert done.returncode == 0, done.stdout + done.stderr
    # A file without tests, or with skipped tests only, would pass too.
    assert not re.search(r"^ℹ pass 0$", done.stdout, re.M) and re.search(r"^ℹ skipped 0$", done.stdout, re.M), done.stdout
