"""Runs the code blocks of docs/how-to/clients.md unchanged; those in Rust are run by recipes.rs.

Blocks that connect by themselves are programs: test_recipe_programs.py runs them.
"""

import os
import re
import subprocess

import pytest
from conftest import DEADLINE, ROOT, find_servers

PAGE = (ROOT / "docs/how-to/clients.md").read_text()
README = (ROOT / "README.md").read_text()
FOLDER = ROOT / "tests/clients/node"

pytestmark = pytest.mark.newest


def blocks(language):
    """Returns the blocks of the page in this language, without complete programs."""
    found = re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.M | re.S)
    return [block for block in found if "6379" not in block]


@pytest.mark.parametrize("block", blocks("python"))
def test_python_of_the_page_runs(server, block):
    with server.client() as client:
        client.flushall()
        exec(block, {"client": client})


@pytest.mark.parametrize("block", blocks("js"))
def test_javascript_of_the_page_runs(server, block):
    program = f"""
        import assert from 'node:assert/strict';
        import {{ createClient, RESP_TYPES }} from 'redis';
        const path = process.env.BLOOMLINE_SOCKET;
        const client = await createClient({{ socket: {{ path }} }}).connect();
        await client.flushAll();
        {block}
        client.destroy();
    """
    node = ROOT / ".venv-node/bin/node"
    command = [node, "--input-type=module", "--eval", program]
    environment = {**os.environ, "BLOOMLINE_SOCKET": str(server.socket)}
    done = subprocess.run(command, cwd=FOLDER, env=environment, capture_output=True, text=True, timeout=DEADLINE)
    assert done.returncode == 0, done.stderr


def test_shell_of_the_page_and_of_the_readme_runs(server, tmp_path):
    """Each command is typed in a folder with a file of lines, some of which occur twice."""
    lines = [f"https://example.org/{number % 90_000}" for number in range(120_000)]
    (tmp_path / "urls.txt").write_text("".join(f"{line}\n" for line in lines))
    one_call, calls = blocks("sh")
    assert f"`{one_call.strip()}`" in README
    for command in [one_call, calls]:
        with server.client() as client:
            client.flushall()
            client.bf().create("seen", 0.0001, 100_000)
            done = typed(server, tmp_path, command)
            assert (done.returncode, done.stderr) == (0, b"")
            processed, new = zip(*[map(int, pair) for pair in pairwise(done.stdout.split())])
            assert processed == ((120_000,) if command == one_call else (50_000, 50_000, 20_000))
            assert sum(new) == client.bf().card("seen")
            assert 89_900 < client.bf().card("seen") <= 90_000
            assert all(client.bf().mexists("seen", *lines[:1000]))


def typed(server, folder, command):
    """Runs a command of the page in a folder. Its `redis-cli` connects to this server."""
    program = folder / "redis-cli"
    program.write_text(f'#!/bin/sh\nexec {find_servers()[server.name] / "cli"} -s {server.socket} "$@"\n')
    program.chmod(0o755)
    environment = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}
    return subprocess.run(command, shell=True, cwd=folder, env=environment, capture_output=True, timeout=DEADLINE)


@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["lf", "crlf"])
def test_shell_of_the_page_loses_no_line(server, tmp_path, end):
    """Files with empty lines are loaded, and a line that is refused is an error of the command."""
    lines = [f"https://example.org/{number}" for number in range(120_000)]
    parts = [lines[:1], [""], lines[1:70_000], ["", ""], lines[70_000:], [""]]
    (tmp_path / "urls.txt").write_text("".join(line + end for part in parts for line in part), newline="")
    for command in blocks("sh"):
        with server.client() as client:
            client.flushall()
            client.execute_command("BF.RESERVE", "seen", 1e-12, 120_000)
            done = typed(server, tmp_path, command)
            assert (done.returncode, done.stderr) == (0, b"")
            assert sum(map(int, done.stdout.split()[::2])) == 120_004
            assert client.bf().card("seen") == 120_000
            assert all(client.bf().mexists("seen", *lines))

            # The filter is full within the second block. What follows it is not loaded.
            client.flushall()
            client.execute_command("BF.RESERVE", "seen", 1e-12, 60_000, "NONSCALING")
            done = typed(server, tmp_path, command)
            assert done.returncode == 1
            assert re.search(rb"full: line \d+ of \d+ was refused", done.stdout + done.stderr)
            assert not any(client.bf().mexists("seen", *lines[100_000:]))

            # A whole call is refused.
            client.set("seen", "text")
            assert typed(server, tmp_path, command).returncode == 1


def pairwise(values):
    """Returns the first and the second value, the third and the fourth, and so on."""
    return zip(values[::2], values[1::2])


def test_page_names_the_installed_versions():
    """A version that changes in the requirements must change on the page too."""
    lists = "".join(path.read_text() for path in (ROOT / "tests/clients").glob("requirements*.txt"))
    lists += (FOLDER / "package.json").read_text()
    named = re.findall(r"^\| (redis-py|node-redis|ioredis|redisbloom)\b[^|]*\| ([\d., ]*\.[\d., ]*) \|", PAGE, re.M)
    assert len(named) == 4
    for library, versions in named:
        package = {"redis-py": "redis", "node-redis": "redis"}.get(library, library)
        for version in versions.split(", "):
            assert f"{package}=={version}\n" in lists or f'"{package}": "{version}"' in lists, (library, version)
