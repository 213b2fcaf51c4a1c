"""Runs the commands of docs/how-to/migrating-from-redisbloom.md on filters of RedisBloom."""

import json
import re
import subprocess
import sys
import textwrap
import threading
import time

import pytest
from conftest import DEADLINE, ROOT, Server, find_servers, poll
from library import exceptions

# The tests load recorded filters, all in one layout.
pytestmark = pytest.mark.one_layout

# Cuckoo filters of the source: how each is reserved, how many items it gets, and how many of them
# are deleted. All have RedisBloom's bytes.
CUCKOOS = {
    "cuckoo": ((1000,), 500, 100),
    "cuckoo_grown": ((64, "EXPANSION", 2), 1000, 10),
    "cuckoo_empty": ((64, "BUCKETSIZE", 4, "EXPANSION", 0), 0, 0),
}

PAGE = (ROOT / "docs/how-to/migrating-from-redisbloom.md").read_text()
GOLDEN = ROOT / "core/tests/golden/redisbloom"


def block(language, holding):
    """Returns the only fenced block of the page in this language that contains a text."""
    blocks = re.findall(r"^ *```(\w*)\n(.*?)^ *```$", PAGE, re.M | re.S)
    found = [textwrap.dedent(text) for name, text in blocks if name == language and holding in text]
    assert len(found) == 1, f"{len(found)} blocks of {language!r} contain {holding!r}"
    return found[0]


def fixtures():
    """Yields the name and the chunks of each filter whose chunks of RedisBloom are recorded."""
    for path in sorted(GOLDEN.glob("*.json")):
        recorded = json.loads(path.read_text())
        chunks = [chunk for chunk in recorded.get("scandump") or [] if chunk[1]] if isinstance(recorded, dict) else []
        if chunks:
            yield path.stem, [(chunk[0], (GOLDEN / chunk[1]).read_bytes()) for chunk in chunks]


@pytest.fixture
def source(server):
    """A server of the target's version with RedisBloom's filters, one with a time to live."""
    source = Server(server.name, find_servers()[server.name])
    client = source.client(2)
    for name, chunks in fixtures():
        for iterator, data in chunks:
            client.execute_command("BF.LOADCHUNK", name, iterator, data)
    for name, (parameters, items, deleted) in CUCKOOS.items():
        client.execute_command("CF.RESERVE", name, *parameters)
        for item in range(items):
            client.execute_command("CF.ADD", name, item)
        for item in range(deleted):
            client.execute_command("CF.DEL", name, item)
    client.pexpire("one_layer", 3_600_000)
    client.pexpire("cuckoo", 3_600_000)
    yield source
    client.close()
    source.stop()


def compare(source, target):
    """Compares the two servers as the page says."""
    absent = json.loads((GOLDEN / "absent_items.json").read_text())["items"]
    names = [name for name, _ in fixtures()]
    assert len(names) >= 5
    for name in names:
        for question in (["BF.DEBUG", name], ["BF.INFO", name], ["BF.SCANDUMP", name, 0], ["BF.MEXISTS", name, *absent]):
            assert target.execute_command(*question) == source.execute_command(*question), question[:2]
    for name in CUCKOOS:
        for question in (["CF.DEBUG", name], ["CF.INFO", name], ["CF.SCANDUMP", name, 0], ["CF.MEXISTS", name, *range(2000)]):
            assert target.execute_command(*question) == source.execute_command(*question), question[:2]
        assert target.dump(name) == source.dump(name)


def run_script(folder, holding, *servers):
    """Runs the Python script of the page that contains a text. Returns exit code and lines."""
    script = folder / "script.py"
    script.write_text(block("python", holding))
    command = [sys.executable, script, *(server.url for server in servers)]
    done = subprocess.run(command, timeout=DEADLINE, capture_output=True, text=True)
    assert not done.stderr, done.stderr
    return done.returncode, set(done.stdout.splitlines())


def answers(outcome, *others):
    """Returns the lines that the script prints if all filters except `others` have this outcome."""
    names = {name for name, _ in fixtures()}.union(CUCKOOS)
    return {f"{name.encode()} {outcome}" for name in names.difference(others)}


def test_script_copies_filters_with_their_time_to_live(server, source, tmp_path):
    target = server.client(2)
    target.flushall()
    assert run_script(tmp_path, ".SCANDUMP", source, server) == (0, answers("copied"))
    compare(source.client(2), target)
    for name in ("one_layer", "cuckoo"):
        assert 0 < target.pttl(name) <= 3_600_000
    assert not target.keys("*:loading")


class Program(threading.Thread):
    """Adds items to both filters. Repeats each call until the present server executes it."""

    def __init__(self, server):
        super().__init__()
        self.server = server
        self.acknowledged = 0
        self.ends = False

    def run(self):
        while not self.ends:
            try:
                with self.server.client(2) as client:
                    while not self.ends:
                        client.execute_command("BF.ADD", "seen", self.acknowledged)
                        client.execute_command("CF.ADD", "members", self.acknowledged)
                        self.acknowledged += 1
            except (exceptions.ConnectionError, exceptions.TimeoutError):
                time.sleep(0.005)

    def pass_some(self):
        """Waits until more items are acknowledged."""
        goal = self.acknowledged + 50
        poll("more items", lambda: self.acknowledged >= goal)


def test_script_loses_no_item_that_is_added_meanwhile(server, source, tmp_path):
    pause, _ = block("sh", "copy_filters.py").splitlines()
    cli = find_servers()[server.name] / "cli"
    client, target = source.client(2), server.client(2)
    target.flushall()
    client.execute_command("BF.RESERVE", "seen", 0.000001, 100_000)
    client.execute_command("CF.RESERVE", "members", 100_000)
    program = Program(source)
    program.start()
    try:
        program.pass_some()
        command = pause.replace("redis-cli -h old", f"{cli} -s {source.socket}")
        subprocess.run(command, shell=True, check=True, timeout=DEADLINE, stdout=subprocess.DEVNULL)
        copies = {f"{name} copied" for name in (b"seen", b"members")}
        assert run_script(tmp_path, ".SCANDUMP", source, server) == (0, answers("copied") | copies)
        program.server = server
        source.stop()
        program.pass_some()
    finally:
        program.server, program.ends = server, True
        source.stop()
        program.join()
    items = range(program.acknowledged)
    assert target.execute_command("BF.MEXISTS", "seen", *items) == [1] * len(items)
    assert target.execute_command("CF.MEXISTS", "members", *items) == [1] * len(items)
    assert target.execute_command("BF.CARD", "seen") >= len(items)


def test_cuckoo_filter_that_cannot_be_dumped_is_reported(server, source, tmp_path):
    """RedisBloom replies to CF.SCANDUMP of an empty filter as to the end; a proxy stands for it."""
    script = block("python", ".SCANDUMP").replace(
        "source, target = ",
        "class Source(redis.Redis):\n"
        "    def execute_command(self, name, *arguments, **options):\n"
        "        if name == 'CF.SCANDUMP' and arguments[0] == b'cuckoo_empty':\n"
        "            return 0, None\n"
        "        return super().execute_command(name, *arguments, **options)\n"
        "redis.Redis = Source\n"
        "source, target = ",
    )
    target = server.client(2)
    target.flushall()
    path = tmp_path / "script.py"
    path.write_text(script)
    done = subprocess.run([sys.executable, path, source.url, server.url], timeout=DEADLINE, capture_output=True, text=True)
    lines = set(done.stdout.splitlines())
    reported = {line for line in lines if line.startswith("b'cuckoo_empty' not copied")}
    assert (done.returncode, done.stderr) == (0, "") and len(reported) == 1, done
    assert lines - reported == answers("copied", "cuckoo_empty")
    assert not target.exists("cuckoo_empty") and not target.keys("*:loading")


def test_second_run_does_not_change_the_copies(server, source, tmp_path):
    target = server.client(2)
    target.flushall()
    run_script(tmp_path, ".SCANDUMP", source, server)
    target.execute_command("BF.ADD", "five_layers", "added after the copy")
    before = target.dump("five_layers")
    assert run_script(tmp_path, ".SCANDUMP", source, server) == (0, answers("exists already"))
    assert target.dump("five_layers") == before
    assert not target.keys("*:loading")


def test_run_continues_after_a_stopped_one(server, source, tmp_path):
    target = server.client(2)
    target.flushall()
    # The header of another filter, and a value of another type.
    header = source.client(2).execute_command("BF.SCANDUMP", "nonscaling", 0)
    target.execute_command("BF.LOADCHUNK", "five_layers:loading", *header)
    target.set("one_layer:loading", "left")
    assert run_script(tmp_path, ".SCANDUMP", source, server) == (0, answers("copied"))
    compare(source.client(2), target)
    assert not target.keys("*:loading")


def test_key_of_the_target_is_not_overwritten(server, source, tmp_path):
    target = server.client(2)
    target.flushall()
    target.set("one_layer", "a string")
    target.execute_command("BF.ADD", "five_layers", "an item of the target")
    kept = ("one_layer", "five_layers")
    expected = answers("copied", *kept) | {f"{name.encode()} exists already" for name in kept}
    assert run_script(tmp_path, ".SCANDUMP", source, server) == (0, expected)
    assert target.get("one_layer") == b"a string"
    assert target.execute_command("BF.CARD", "five_layers") == 1
    assert not target.keys("*:loading")


def test_refused_filter_fails_the_run_but_not_the_others(server, source, tmp_path):
    # A filter that exceeds the limit of the target.
    large = source.client(2)
    large.execute_command("BF.RESERVE", "large", "0.01", 2_000_000)
    target = Server(server.name, find_servers()[server.name], settings="bf-max-filter-bytes 1mb")
    code, lines = run_script(tmp_path, ".SCANDUMP", source, target)
    failed = {line for line in lines if line.startswith("b'large' failed: ")}
    assert (code, lines - failed) == (1, answers("copied")) and len(failed) == 1, lines
    compare(large, target.client(2))
    target.stop()


def test_keys_of_other_types_are_listed(server, tmp_path):
    built = tmp_path / "other_types.so"
    stand_in = ROOT / "tests/clients/other_types.c"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", built, stand_in], check=True)
    source = Server(server.name, find_servers()[server.name], lines=f"loadmodule {built}")
    client = source.client(2)
    client.set("string", "1")
    client.execute_command("BF.ADD", "filter", "1")
    client.execute_command("CF.ADD", "cuckoo", "1")
    assert run_script(tmp_path, "TopK-TYPE", source) == (0, set())
    client.execute_command("OTHERS", "top", "sketch", "digest")
    listed = {"TopK-TYPE b'top'", "CMSk-TYPE b'sketch'", "TDIS-TYPE b'digest'"}
    assert run_script(tmp_path, "TopK-TYPE", source) == (0, listed)
    source.stop()


def test_shell_command_restores_what_was_dumped(server, source):
    line = block("sh", "RESTORE").strip()
    cli = find_servers()[server.name] / "cli"
    target = server.client(2)
    target.flushall()
    for name in [name for name, _ in fixtures()] + [*CUCKOOS]:
        command = line.replace("seen", name)
        for host, socket in (("old", source.socket), ("new", server.socket)):
            command = command.replace(f"redis-cli -h {host}", f"{cli} -s {socket}")
        subprocess.run(command, shell=True, check=True, timeout=DEADLINE, stdout=subprocess.DEVNULL)
    compare(source.client(2), target)


def test_append_only_file_of_commands_is_sent_to_a_server(server, source):
    lines = block("sh", "aof-use-rdb-preamble no").splitlines()
    commands = [line.split("#")[0].removeprefix("redis-cli -h old ").split() for line in lines]
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
    command = line.split(" # ")[0].replace("redis-cli -h new", f"{cli} -s {server.socket}")
    if not (source.home / "appendonlydir").is_dir():
        # Before 7.0 the append-only file is one file.
        command = re.sub(r"appendonlydir/\S+", "appendonly.aof", command)
    done = subprocess.run(command, shell=True, cwd=source.home, capture_output=True, text=True, timeout=DEADLINE)
    assert "errors: 0" in done.stdout, done.stdout + done.stderr
    compare(from_client, target)
