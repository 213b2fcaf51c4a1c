"""The command line client of each server: its output in RESP3, and filters sent through pipes."""

import subprocess

import pytest
from conftest import DEADLINE, find_servers


@pytest.fixture
def cli(server):
    """Runs the client once with the given input, and returns its output."""
    program = find_servers()[server.name] / "cli"
    with server.client() as client:
        client.flushall()

    def run(*arguments, given=b""):
        command = [program, "-s", server.socket, *arguments]
        return subprocess.run(command, input=given, capture_output=True, check=True, timeout=DEADLINE).stdout

    return run


def test_resp3_shows_booleans_and_maps(server, cli):
    def typed(*arguments):
        return cli("-3", "--no-raw", *arguments).decode().rstrip()

    booleans = not server.name.startswith("redis-6")
    yes, no = ("(true)", "(false)") if booleans else ("(integer) 1", "(integer) 0")
    assert typed("BF.ADD", "bloom", "foo") == yes
    assert typed("BF.MADD", "bloom", "foo", "bar").splitlines() == [f"1) {no}", f"2) {yes}"]
    assert typed("BF.EXISTS", "bloom", "foo") == yes
    assert typed("BF.MEXISTS", "bloom", "foo", "quux").splitlines() == [f"1) {yes}", f"2) {no}"]
    assert typed("BF.CARD", "bloom") == "(integer) 2"
    expansion = '5# Expansion rate => (integer) 2' if booleans else "10) (integer) 2"
    assert typed("BF.INFO", "bloom").splitlines()[-1] == expansion
    assert typed("BF.INFO", "absent") == "(error) ERR not found"


def test_filter_goes_through_pipes_chunk_by_chunk(server, cli):
    items = [f"item:{i}" for i in range(3000)]
    cli("BF.MADD", "first", *items)
    iterator, chunks = b"0", 0
    while True:
        # Raw output is the iterator, a newline, the unchanged bytes, and one more newline.
        iterator, data = cli("--raw", "BF.SCANDUMP", "first", iterator).split(b"\n", 1)
        if iterator == b"0":
            break
        assert cli("-x", "BF.LOADCHUNK", "second", iterator, given=data[:-1]) == b"OK\n"
        chunks += 1
    assert chunks >= 3
    assert cli("BF.DEBUG", "second") == cli("BF.DEBUG", "first")
    assert set(cli("BF.MEXISTS", "second", *items).split()) == {b"1"}


def test_lines_of_a_file_are_packed_items(cli):
    lines = b"".join(b"item:%d\n" % i for i in range(3000))
    assert cli("-x", "BF.BULKADD", "bloom", "LINES", given=lines).startswith(b"3000\n")
    assert int(cli("BF.CARD", "bloom")) >= 2940
    assert cli("-x", "BF.BULKADD", "bloom", "LINES", given=b"item:0\n") == b"1\n\0\n"
    assert cli("-x", "BF.BULKADD", "bloom", "COUNT", "LINES", given=lines) == b"3000\n0\n"
    assert cli("BF.BULKEXISTS", "bloom", "LINES", lines, "COUNT") == b"3000\n3000\n"


def test_pipe_mode_loads_a_file_of_commands(cli):
    commands = b"".join(
        b"*3\r\n$6\r\nBF.ADD\r\n$5\r\nbloom\r\n$%d\r\n%s\r\n" % (len(item), item)
        for item in (f"item:{i}".encode() for i in range(1000))
    )
    assert b"errors: 0, replies: 1000" in cli("--pipe", given=commands)
    assert int(cli("BF.CARD", "bloom")) >= 980
