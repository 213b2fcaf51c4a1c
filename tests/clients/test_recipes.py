"""Runs the code blocks of docs/recipes.md unchanged."""

import os
import re
import subprocess

import pytest
from conftest import DEADLINE, ROOT

PAGE = (ROOT / "docs/recipes.md").read_text()
FOLDER = ROOT / "tests/clients/node"

pytestmark = pytest.mark.newest


def block(language):
    """Returns the only block of the page in this language."""
    (found,) = re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.M | re.S)
    return found


def test_python_of_the_page_runs(server):
    with server.client() as client:
        client.flushall()
        exec(block("python"), {"client": client})


def test_javascript_of_the_page_runs(server):
    program = f"""
        import assert from 'node:assert/strict';
        import {{ createClient, RESP_TYPES }} from 'redis';
        const client = await createClient({{ socket: {{ path: process.env.BLOOMLINE_SOCKET }} }}).connect();
        await client.flushAll();
        {block("js")}
        client.destroy();
    """
    node = ROOT / ".venv-node/bin/node"
    command = [node, "--input-type=module", "--eval", program]
    environment = {**os.environ, "BLOOMLINE_SOCKET": str(server.socket)}
    done = subprocess.run(command, cwd=FOLDER, env=environment, capture_output=True, text=True, timeout=DEADLINE)
    assert done.returncode == 0, done.stderr


def test_page_names_the_installed_versions():
    """A version that changes in the requirements must change on the page too."""
    lists = "".join(path.read_text() for path in (ROOT / "tests/clients").glob("requirements*.txt"))
    lists += (FOLDER / "package.json").read_text()
    named = re.findall(r"^\| (redis-py|node-redis|ioredis|redisbloom)\b[^|]*\| ([\d., ]+) \|", PAGE, re.M)
    assert len(named) == 4
    for library, versions in named:
        package = {"redis-py": "redis", "node-redis": "redis"}.get(library, library)
        for version in versions.split(", "):
            assert f"{package}=={version}\n" in lists or f'"{package}": "{version}"' in lists, (library, version)
