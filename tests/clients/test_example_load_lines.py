"""examples/load_lines loads every line, resumes after a kill, and ends with one line of explanation."""

import os
import pty
import re
import signal
import subprocess
import sys
import time

import pytest
import redis
from conftest import DEADLINE, ROOT, Server, find_servers, free_port

EXAMPLE = ROOT / "examples/load_lines"
sys.path.insert(0, str(EXAMPLE))
from load_lines import Load  # noqa: E402

pytestmark = [pytest.mark.newest, pytest.mark.one_layout]

KEY = "urls"
# So low that no answer of a test is a false positive.
RATE = 1e-9


@pytest.fixture
def client(server):
    with server.client() as client:
        client.flushall()
        yield client


@pytest.fixture
def path(tmp_path):
    return tmp_path / "urls.txt"


def lines(first, last):
    return [b"https://example.com/page/%d" % number for number in range(first, last)]


def text(items, end=b"\n"):
    return b"".join(item + end for item in items)


def start(url, *arguments, **options):
    program = [sys.executable, EXAMPLE / "load_lines.py", *map(str, arguments)]
    options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
    return subprocess.Popen(program, env={**os.environ, "REDIS_URL": url}, **options)


def load(server, *arguments, **options):
    """Runs the program. Returns its counts of lines and of new ones."""
    program = start(server.url, "--rate", RATE, *arguments, **options)
    out, errors = program.communicate(timeout=DEADLINE)
    assert (program.returncode, errors) == (0, b"")
    (counts,) = re.findall(r"^(.*) lines, (.*) new$", out.decode(), re.M)
    return tuple(int(count.replace(",", "")) for count in counts)


def refused(url, *arguments, **options):
    """Runs the program, which fails. Returns the only line that it prints."""
    program = start(url, *arguments, **options)
    _, errors = program.communicate(timeout=DEADLINE)
    assert program.returncode == 1
    (line,) = errors.decode().splitlines()
    assert line.startswith("load_lines: ")
    return line


def present(client, items):
    """Returns how many items the filter contains, by the call for single items."""
    with client.pipeline(transaction=False) as pipeline:
        for item in items:
            pipeline.execute_command("BF.EXISTS", KEY, item)
        return sum(pipeline.execute())


@pytest.mark.parametrize("is_pipe", [False, True], ids=["file", "pipe"])
def test_byte_order_mark_is_no_part_of_the_first_line(server, client, path, is_pipe):
    items, mark = lines(0, 3), b"\xef\xbb\xbf"
    # Only at the start of the file.
    path.write_bytes(mark + text([*items, mark + b"inside"]))
    arguments = [KEY, "-" if is_pipe else path, "--block", 8, "--capacity", 100]
    with path.open("rb") as file:
        program = start(server.url, "--rate", RATE, *arguments, **({"stdin": file} if is_pipe else {}))
        out, errors = program.communicate(timeout=DEADLINE)
    assert (program.returncode, errors) == (0, b"")
    assert b"skipped the byte order mark at the start\n" in out and b"4 lines, 4 new" in out
    assert present(client, items) == 3
    assert present(client, [mark + items[0], b"inside"]) == 0
    assert present(client, [mark + b"inside"]) == 1


def test_lines_after_a_byte_order_mark_are_reported_at_their_bytes(server, client, path):
    client.execute_command("BF.RESERVE", KEY, RATE, 2, "NONSCALING")
    path.write_bytes(b"\xef\xbb\xbf" + text([b"a", b"b", b"c"]))
    assert "line 3, at byte 7, was refused" in refused(server.url, KEY, path)


def test_page_shows_what_the_program_prints(server, client, path):
    path.write_bytes(text(lines(0, 1000)))
    out, _ = start(server.url, KEY, path).communicate(timeout=DEADLINE)
    (shown,) = re.findall(r"^```text\n(.*?)^```", (EXAMPLE / "README.md").read_text(), re.M | re.S)
    without_numbers = [re.sub(r"[\d,.]*\d", "0", each) for each in (out.decode(), shown)]
    assert without_numbers[0] == without_numbers[1]


@pytest.mark.parametrize("block", [1, 30, 1000, 1 << 20])
@pytest.mark.parametrize("end", [b"\n", b"\r\n"], ids=["lf", "crlf"])
def test_every_line_is_an_item(server, client, path, end, block):
    items = lines(0, 300)
    path.write_bytes(text(items, end).removesuffix(end))
    assert load(server, "--block", block, KEY, path) == (300, 300)
    assert present(client, items) == 300
    assert present(client, lines(300, 1000)) == 0
    assert client.keys() == [KEY.encode()]
    assert load(server, KEY, path) == (300, 0)


def test_filter_equals_that_of_single_additions(server, client, path):
    items = lines(0, 5000)
    path.write_bytes(text(items))
    for key in (KEY, "single"):
        client.execute_command("BF.RESERVE", key, 0.01, 1000, "SEED", 7)
    assert load(server, "--block", 4096, KEY, path)[0] == 5000
    for item in items:
        client.execute_command("BF.ADD", "single", item)
    loaded, single = (client.execute_command("BF.DEBUG", key) for key in (KEY, "single"))
    assert loaded == single
    assert present(client, items) == 5000


@pytest.mark.parametrize("block", [1, 7, 64, 1 << 20])
@pytest.mark.parametrize("end", [b"\n", b"\r\n"], ids=["lf", "crlf"])
def test_empty_lines_are_counted_but_no_items(server, client, path, end, block):
    items = lines(0, 20)
    path.write_bytes(end + text(items[:5], end) + 3 * end + text(items[5:], end) + end)
    assert load(server, "--block", block, KEY, path) == (25, 20)
    assert present(client, items) == 20
    assert client.execute_command("BF.CARD", KEY) == 20


def test_file_of_empty_lines_or_nothing_adds_nothing(server, client, path):
    for data, count in [(b"", 0), (b"\n\n\r\n", 3), (b"\r", 1)]:
        path.write_bytes(data)
        assert load(server, KEY, path) == (count, 0)
    assert client.execute_command("BF.CARD", KEY) == 0


def test_line_longer_than_a_block_is_one_item(server, client, path):
    items = [b"a", b"x" * 3_000_000, b"b", b"y" * 1_100_000]
    path.write_bytes(text(items).removesuffix(b"\n"))
    assert load(server, "--block", 65_536, KEY, path) == (4, 4)
    assert present(client, items) == 4


def test_standard_input_is_loaded_with_a_capacity(server, client, path):
    path.write_bytes(text(lines(0, 1000)))
    with path.open("rb") as source:
        assert "--capacity" in refused(server.url, KEY, "-", stdin=source)
        assert load(server, "--capacity", 2000, KEY, "-", stdin=source) == (1000, 1000)
    assert present(client, lines(0, 1000)) == 1000


def test_estimated_capacity_suffices_and_is_not_much_more(server, client, path):
    path.write_bytes(text(lines(0, 100_000)))
    assert load(server, KEY, path) == (100_000, 100_000)
    (capacity,) = server_info(server, "CAPACITY")
    assert 100_000 <= capacity < 120_000


def server_info(server, field):
    with server.client(protocol=2) as client:
        return client.execute_command("BF.INFO", KEY, field)


def wait_for_position(client, offset, program):
    """Polls until a position beyond `offset` is stored. Returns it."""
    end = time.monotonic() + DEADLINE
    while time.monotonic() < end:
        assert program.poll() is None, "the program ended too early"
        position = client.get(Load(client, KEY).progress)
        if position and int(position.split()[2]) > offset:
            return int(position.split()[2])
    raise AssertionError("no position was stored")


def test_killed_load_is_resumed(server, client, path):
    items = lines(0, 200_000)
    path.write_bytes(text(items))
    for kills in (1, 2):
        # Small blocks, so that it takes long enough to be killed.
        program = start(server.url, "--rate", RATE, "--block", 200, KEY, path)
        wait_for_position(client, kills * 100_000, program)
        program.send_signal(signal.SIGKILL)
        program.communicate(timeout=DEADLINE)
    done = int(client.get(Load(client, KEY).progress).split()[2])
    assert 200_000 < done < path.stat().st_size
    before = path.read_bytes()[:done].split()
    assert present(client, before[-1000:]) == len(before[-1000:])

    out, errors = start(server.url, KEY, path).communicate(timeout=DEADLINE)
    assert errors == b""
    assert f"resumed after {len(before):,} lines, at byte {done:,}\n200,000 lines, " in out.decode()
    assert client.execute_command("BF.CARD", KEY) == 200_000
    assert present(client, items) == 200_000
    assert client.keys() == [KEY.encode()]


def test_crash_of_the_server_loses_no_line(server, client, path):
    items = lines(0, 100_000)
    path.write_bytes(text(items))
    folder = find_servers()[server.name]
    crashing = Server(server.name, folder, lines="appendonly yes\nappendfsync no")
    try:
        program = start(crashing.url, "--rate", RATE, "--block", 200, KEY, path)
        with crashing.client() as client:
            wait_for_position(client, 100_000, program)
        crashing.process.kill()
        crashing.process.wait()
        _, errors = program.communicate(timeout=DEADLINE)
        assert program.returncode == 1 and len(errors.splitlines()) == 1, errors

        config = crashing.home / "server.conf"
        crashing.process = subprocess.Popen([folder / "server", config], stdout=crashing.log, stderr=crashing.log)
        crashing.wait()
        with crashing.client() as client:
            done = int(client.get(Load(client, KEY).progress).split()[2])
            assert 100_000 < done < path.stat().st_size
            before = path.read_bytes()[:done].split()
            assert present(client, before) == len(before)
            assert load(crashing, KEY, path)[0] == 100_000
            assert present(client, items) == 100_000
    finally:
        crashing.stop()


@pytest.fixture
def interrupted(client, path):
    """A load of a file in blocks that stopped after a third of it. Returns its identity."""

    class Source:
        def __init__(self):
            self.file = path.open("rb")

        def read(self, size):
            if self.file.tell() > 10_000:
                raise KeyboardInterrupt
            return self.file.read(size)

    path.write_bytes(text(lines(0, 1000)))
    client.execute_command("BF.RESERVE", KEY, RATE, 1000)
    facts = path.stat()
    identity = f"{facts.st_size} {facts.st_mtime_ns}"
    with pytest.raises(KeyboardInterrupt):
        Load(client, KEY, block_bytes=1000).run(Source(), identity)
    return identity


def test_changed_file_is_not_resumed(server, client, path, interrupted):
    with path.open("ab") as file:
        file.write(b"one more\n")
    assert "--restart" in refused(server.url, KEY, path)
    assert load(server, "--restart", KEY, path)[0] == 1001
    assert present(client, lines(0, 1000) + [b"one more"]) == 1001


def test_position_without_its_filter_is_ignored(server, client, path, interrupted):
    client.delete(KEY)
    assert load(server, KEY, path) == (1000, 1000)


def test_other_inputs_do_not_touch_a_position(server, client, path, interrupted):
    with path.open("rb") as source:
        assert load(server, KEY, "-", stdin=source)[0] == 1000
    first = Load(client, KEY)
    first.resume(interrupted)
    assert 5000 < first.offset < 15_000


def test_filter_that_is_deleted_ends_the_load(client, path):
    class Source:
        def __init__(self):
            self.file = path.open("rb")

        def read(self, size):
            if self.file.tell() == 1000:
                client.delete(KEY)
            return self.file.read(size)

    path.write_bytes(text(lines(0, 1000)))
    client.execute_command("BF.RESERVE", KEY, RATE, 1000)
    with pytest.raises(Exception, match="was deleted"):
        Load(client, KEY, block_bytes=500).run(Source(), "identity 1")
    assert not client.exists(Load(client, KEY).progress)


@pytest.mark.parametrize("block", [200, 1 << 20])
def test_full_filter_ends_the_load_at_its_line(server, client, path, block):
    client.execute_command("BF.RESERVE", KEY, RATE, 500, "NONSCALING")
    path.write_bytes(b"\n\n" + text(lines(0, 1000), b"\r\n"))
    message = refused(server.url, "--block", block, KEY, path)
    number, at = map(int, re.search(r"line (\d+), at byte (\d+), was refused: .*full", message).groups())
    data = path.read_bytes()
    assert data[:at].count(b"\n") == number - 1
    accepted = data[:at].split()
    assert present(client, accepted) == len(accepted) >= 500
    assert present(client, [data[at:].split()[0]]) == 0
    # Nothing is skipped when the load goes on.
    assert refused(server.url, "--block", block, KEY, path) == message


def test_progress_is_shown_on_a_terminal_only(server, client, path):
    path.write_bytes(text(lines(0, 1000)))
    ours, theirs = pty.openpty()
    try:
        program = start(server.url, "--block", 10_000, KEY, path, stderr=theirs)
        out, _ = program.communicate(timeout=DEADLINE)
        shown = os.read(ours, 10_000).decode()
    finally:
        os.close(ours)
        os.close(theirs)
    assert re.search(r"\r +\d+\.\d%, \d+\.\d\d million lines/s, \d+ MB/s, 0:\d\d left", shown)
    assert b"%" not in out


@pytest.mark.parametrize(
    "url, expected",
    [
        ("nonsense", "must specify"),
        ("redis://127.0.0.1:{port}", "refused"),
        ("unix:///nowhere", "No such file"),
        ("redis://127.0.0.1:port", "Port"),
    ],
)
def test_wrong_url_is_one_line_of_error(server, path, url, expected):
    path.write_bytes(b"a\n")
    assert expected in refused(url.format(port=free_port()), KEY, path)


def test_wrong_file_or_key_is_one_line_of_error(server, client, path):
    assert "No such file" in refused(server.url, KEY, path)
    assert "directory" in refused(server.url, KEY, path.parent)
    path.write_bytes(b"a\n")
    client.set(KEY, "text")
    assert "WRONGTYPE" in refused(server.url, KEY, path)


def test_closed_files_do_no_harm(server, client, path):
    path.write_bytes(text(lines(0, 1000)))
    shell = f"{sys.executable} {EXAMPLE / 'load_lines.py'} {KEY}"
    for command, code, errors in [
        (f"{shell} - <&-", 1, b"load_lines: the standard input is closed\n"),
        (f"{shell} {path} >&-", 0, b""),
        (f"{shell} {path} >/dev/full", 0, b""),
        (f"{shell} {path} 2>&-", 0, b""),
        (f"{shell} {path}.missing 2>&-", 1, b""),
        (f"{shell} {path} <&- >&- 2>&-", 0, b""),
    ]:
        environment = {**os.environ, "REDIS_URL": server.url}
        done = subprocess.run(["sh", "-c", command], env=environment, capture_output=True, timeout=DEADLINE)
        assert (done.returncode, done.stderr) == (code, errors), command
    assert present(client, lines(0, 1000)) == 1000


@pytest.mark.parametrize("key", ["urls", "{tag}:urls", "urls:{tag}"])
def test_position_is_in_the_slot_of_its_filter(key):
    progress = Load(None, key).progress
    assert redis.crc.key_slot(progress.encode()) == redis.crc.key_slot(key.encode())
