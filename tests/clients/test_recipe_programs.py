"""Runs the complete programs of docs/how-to/clients.md, unchanged but for the port of the server."""

import re
import subprocess

import pytest
from conftest import DEADLINE, ROOT
from programs import GO

PAGE = (ROOT / "docs/how-to/clients.md").read_text()
NODE_FOLDER = ROOT / "tests/clients/node"

# How to run a program in the file that is the last argument. PHP ignores assert() by default.
COMMANDS = {
    "php": ["php", "-d", "zend.assertions=1", "-d", "assert.exception=1"],
    "ruby": ["ruby", "-w"],
    "go": ["go", "run"],
    "c": ["sh", "-c", 'cc -Wall -Wextra -Werror "$1" -lhiredis -o "$1.out" && exec "$1.out"', "sh"],
}
PRINTED = dict.fromkeys(("c", "go"), "new\nnew\nknown\n2 items\n")
# Each section with the language and the text of its blocks; those that connect are programs.
SECTIONS = [section.partition("\n") for section in re.split(r"^##+ ", PAGE, flags=re.M)]
BLOCKS = [
    (name, language, block)
    for name, _, text in SECTIONS
    for language, block in re.findall(r"^```(\w+)\n(.*?)^```", text, re.M | re.S)
    if "6379" in block
]

pytestmark = pytest.mark.newest


@pytest.mark.parametrize("name, language, block", BLOCKS, ids=[name for name, *_ in BLOCKS])
def test_program_of_the_page_runs(server, port, tmp_path, name, language, block):
    with server.client() as client:
        client.flushall()
    path = tmp_path / f"program.{language}"
    path.write_text(block.replace("6379", str(port)))
    command = [*COMMANDS[language], path]
    done = subprocess.run(command, cwd=tmp_path, env=GO, capture_output=True, text=True, timeout=DEADLINE)
    assert done.returncode == 0, done.stderr
    assert done.stdout == PRINTED.get(language, ""), done.stdout
    with server.client() as client:
        assert client.bf().card("pages") == 2


def test_each_program_of_the_page_is_found():
    assert [name for name, *_ in BLOCKS] == [
        "PHP, phpredis",
        "Ruby, redis-rb",
        "Go, redigo",
        "C, hiredis",
    ]


@pytest.mark.parametrize(
    "library, package", [("valkey-py", "valkey"), ("GLIDE for Python", "valkey-glide"), ("crawlee", "crawlee[redis]")]
)
def test_page_names_the_installed_version(library, package):
    lists = "".join(path.read_text() for path in (ROOT / "tests/clients").glob("requirements*.txt"))
    (version,) = re.findall(rf"^\| {library}\b[^|]*\| ([\d.]+) \|", PAGE, re.M)
    assert f"{package}=={version}\n" in lists


def test_page_names_the_installed_version_of_node_glide():
    (version,) = re.findall(r"^\| GLIDE for Node.js [^|]*\| ([\d.]+) \|", PAGE, re.M)
    assert f'"@valkey/valkey-glide": "{version}"' in (NODE_FOLDER / "package.json").read_text()
