"""The ways of docs/migrating-from-redisbloom.md: what the page prints is run, on filters that RedisBloom made."""

import json
import re
import subprocess
import sys
import time

import pytest
from conftest import DEADLINE, ROOT, Server, find_servers

# It brings filters of its own, all in one layout.
pytestmark = pytest.mark.one_layout

PAGE = (ROOT / "docs/migrating-from-redisbloom.md").read_text()
GOLDEN = ROOT / "tests/golden/redisbloom"


def block(language, holding):
    """The fenced block of the page in this language that holds a text."""
    blocks = re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.M | re.S)
    found = [block for block in blocks if holding in block]
    assert len(found) == 1, f"{len(found)} blocks of {language!r} hold {holding!r}"
    return found[0]


def fixtures():
    """Names of the filters of which RedisBloom's pieces are recorded, with those pieces."""
    for path in sorted(GOLDEN.glob("*.json")):
        recorded = json.loads(path.read_text())
        pieces = [piece for piece in recorded.get("scandump") or [] if piece[1]] if isinstance(recorded, dict) else []
        if pieces:
            yield path.stem, [(piece[0], (GOLDEN / piece[1]).read_bytes()) for piece in pieces]


@pytest.fixture
def source(server):
    """A server of the same kind as the target, full of RedisBloom's filters, one with a time to live."""
    source = Server(server.name, find_servers()[server.name])
    client = source.client(2)
    for name, pieces in fixtures():
        for iterator, data in pieces:
            client.execute_command("BF.LOADCHUNK", name, iterator, data)
    client.pexpire("one_layer", 3_600_000)
    yield source
    client.close()
    source.stop()


def compare(source, target):
    """What the page says to compare: equal on both sides."""
    absent = json.loads((GOLDEN / "absent_items.json").read_text())["items"]
    names = [name for name, _ in fixtures()]
    assert len(names) >= 5
    for name in names:
        for question in (["BF.DEBUG", name], ["BF.INFO", name], ["BF.SCANDUMP", name, 0], ["BF.MEXISTS", name, *absent]):
            assert target.execute_command(*question) == source.execute_command(*question), question[:2]


def test_the_script_copies_filters_with_their_time_to_live(server, source, tmp_path):
    script = tmp_path / "copy_filters.py"
    script.write_text(block("python", "BF.SCANDUMP"))
    target = server.client(2)
    target.flushall()
    urls = [f"unix://{source.socket}", f"unix://{server.socket}"]
    subprocess.run([sys.executable, script, *urls], check=True, timeout=DEADLINE, stdout=subprocess.DEVNULL)
    compare(source.client(2), target)
    assert 0 < target.pttl("one_layer") <= 3_600_000
    assert not target.keys("*:loading")


def test_the_shell_line_restores_what_was_dumped(server, source):
    line = block("sh", "RESTORE").strip()
    cli = find_servers()[server.name] / "cli"
    target = server.client(2)
    target.flushall()
    for name, _ in fixtures():
        command = line.replace("seen", name)
        for host, socket in (("old-host", source.socket), ("new-host", server.socket)):
            command = command.replace(f"redis-cli -h {host}", f"{cli} -s {socket}")
        subprocess.run(command, shell=True, check=True, timeout=DEADLINE, stdout=subprocess.DEVNULL)
    compare(source.client(2), target)


def test_an_append_only_file_of_commands_is_sent_to_another_server(server, source):
    commands = [line.split("#")[0].split() for line in block("", "aof-use-rdb-preamble no").splitlines()]
    from_client, target = source.client(2), server.client(2)
    target.flushall()
    *settings, question = commands
    for setting in settings:
        from_client.execute_command(*setting)
    end = time.monotonic() + DEADLINE
    while any(from_client.info(question[1])[f"aof_rewrite_{state}"] for state in ("in_progress", "scheduled")):
        assert time.monotonic() < end, "the rewrite does not end"
        time.sleep(0.005)
    line = block("sh", "--pipe").strip()
    cli = find_servers()[server.name] / "cli"
    command = line.replace("redis-cli -h new-host", f"{cli} -s {server.socket}")
    if not (source.home / "appendonlydir").is_dir():
        # Before 7.0 it is one file.
        command = re.sub(r"appendonlydir/\S+", "appendonly.aof", command)
    done = subprocess.run(command, shell=True, cwd=source.home, capture_output=True, text=True, timeout=DEADLINE)
    assert "errors: 0" in done.stdout, done.stdout + done.stderr
    compare(from_client, target)
