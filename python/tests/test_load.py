"""`bloomline load` adds every line, resumes after a kill, and ends with one line of explanation."""

import argparse
import bz2
import fcntl
import gzip
import lzma
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import termios
import time

import pytest
from conftest import DEADLINE

from bloomline import BloomlineError, Create
from bloomline.cli import check, console, sources
from bloomline.cli.load import Load, positions_key, reserve
from bloomline.cli.program import run as run_command
from bloomline.cli.sources import MIB, Source, count_empty
from bloomline.drivers import run, slot_of

KEY = "urls"
# So low that no answer of a test is a false positive.
RATE = 1e-9
MARK = b"\xef\xbb\xbf"


@pytest.fixture
def path(tmp_path):
    return tmp_path / "urls.txt"


def lines(first, last):
    return [b"https://example.com/page/%d" % number for number in range(first, last)]


def text(items, end=b"\n"):
    return b"".join(item + end for item in items)


def start(server, *arguments, **options):
    words = [each if isinstance(each, bytes) else str(each) for each in arguments]
    words = [sys.executable, "-m", "bloomline", *words]
    piped = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    environment = {**os.environ, "REDIS_URL": server.url}
    return subprocess.Popen(words, env=environment, **{**piped, **options})


def load(server, *arguments, **options):
    """Runs the command. Returns the numbers of items and of new ones, and all that it printed."""
    program = start(server, "load", "--error", RATE, *arguments, **options)
    out, errors = program.communicate(timeout=DEADLINE)
    assert (program.returncode, errors) == (0, b"")
    counts = re.findall(r"^(.*) items, (.*) new$", out.decode(), re.M)
    numbers = [tuple(int(each.replace(",", "")) for each in file) for file in counts]
    return numbers, out.decode()


def refused(server, *arguments, **options):
    """Runs the command, which fails. Returns the only line that it prints."""
    program = start(server, *arguments, **options)
    _, errors = program.communicate(timeout=DEADLINE)
    assert program.returncode == 1
    (line,) = errors.decode().splitlines()
    assert line.startswith("bloomline: ")
    return line


def present(client, items):
    """How many items the filter contains, by the call for single items."""
    with client.pipeline(transaction=False) as pipeline:
        for item in items:
            pipeline.execute_command("BF.EXISTS", KEY, item)
        return sum(map(bool, pipeline.execute()))


@pytest.mark.parametrize("block", [1, 30, 1000, 1 << 20])
@pytest.mark.parametrize("end", [b"\n", b"\r\n"], ids=["lf", "crlf"])
def test_every_line_is_an_item(bloomline_server, plain, path, end, block):
    path.write_bytes(text(lines(0, 300), end).removesuffix(end))
    numbers, _ = load(bloomline_server, "--block", block, KEY, path)
    assert numbers == [(300, 300)]
    assert present(plain, lines(0, 300)) == 300
    assert present(plain, lines(300, 1000)) == 0
    assert plain.keys() == [KEY.encode()]


@pytest.mark.parametrize("way", ["file", "gzip", "pipe", "gzip in a pipe"])
def test_mark_and_empty_lines_are_skipped_and_counted(bloomline_server, plain, path, way):
    # The mark is skipped at the start of the file only.
    items = [*lines(0, 20), MARK + b"inside"]
    data = MARK + b"\r\n" + text(items[:5]) + b"\n\r\n\n" + text(items[5:], b"\r\n") + b"\n"
    path.write_bytes(gzip.compress(data) if "gzip" in way else data)
    with path.open("rb") as file:
        is_pipe = "pipe" in way
        options = {"stdin": file} if is_pipe else {}
        where = "-" if is_pipe else path
        words = ["--block", 7, "--capacity", 100, KEY, where]
        numbers, out = load(bloomline_server, *words, **options)
    assert numbers == [(21, 21)]
    assert "skipped the byte order mark at the start\n" in out
    assert "skipped 5 empty lines\n" in out
    assert present(plain, items) == plain.execute_command("BF.CARD", KEY) == 21
    assert present(plain, [MARK + items[0], b"inside"]) == 0


def capacity_of(plain):
    capacity = plain.execute_command("BF.STATS", KEY, "capacity")
    return capacity[b"capacity"] if isinstance(capacity, dict) else capacity[1]


def test_capacity_is_estimated_from_files(bloomline_server, plain, path):
    path.write_bytes(text(lines(0, 100_000)))
    packed = path.with_suffix(".gz")
    packed.write_bytes(gzip.compress(text(lines(100_000, 200_000))))
    numbers, _ = load(bloomline_server, KEY, path, packed)
    assert numbers == [(100_000, 100_000)] * 2
    assert 200_000 <= capacity_of(plain) < 260_000


@pytest.mark.parametrize("is_packed", [False, True])
def test_lines_of_a_short_input_are_counted(bloomline_server, plain, path, is_packed):
    data = MARK + text(lines(0, 100_000))
    path.write_bytes(gzip.compress(data) if is_packed else data)
    with path.open("rb") as source:
        numbers, _ = load(bloomline_server, KEY, "-", stdin=source)
    assert numbers == [(100_000, 100_000)]
    assert 100_000 <= capacity_of(plain) <= 100_001
    assert present(plain, lines(0, 100_000)) == 100_000


@pytest.mark.parametrize("is_packed", [False, True])
def test_a_long_input_needs_a_capacity(bloomline_server, plain, path, is_packed):
    data = b"a line\n" * (17 * MIB // 7)
    path.write_bytes(gzip.compress(data) if is_packed else data)
    with path.open("rb") as source:
        error = refused(bloomline_server, "load", KEY, "-", stdin=source)
    assert "use --capacity, since the standard input has more than 16 MiB" in error
    assert plain.exists(KEY) == 0


def offset_of(plain, path):
    stored = plain.hget(positions_key(KEY), str(path))
    return int(stored.split()[1]) if stored else 0


def test_killed_load_leaves_no_gap_and_is_resumed(bloomline_server, plain, path):
    items = lines(0, 200_000)
    path.write_bytes(text(items))
    for kills in (1, 2):
        # Small blocks, so that it takes long enough to be killed.
        words = ["load", "--error", RATE, "--block", 200, KEY, path]
        program = start(bloomline_server, *words)
        end = time.monotonic() + DEADLINE
        while offset_of(plain, path) < kills * 100_000:
            assert program.poll() is None and time.monotonic() < end
        program.send_signal(signal.SIGKILL)
        program.communicate(timeout=DEADLINE)
    done = offset_of(plain, path)
    assert 200_000 <= done < path.stat().st_size
    before = path.read_bytes()[:done].split()
    assert present(plain, before) == len(before)

    _, out = load(bloomline_server, KEY, path)
    assert f"resumed after {len(before):,} lines, at byte {done:,}\n" in out
    assert plain.execute_command("BF.CARD", KEY) == present(plain, items) == 200_000
    assert plain.keys() == [KEY.encode()]


def test_finished_files_are_not_loaded_again(bloomline_server, plain, path):
    path.write_bytes(text(lines(0, 100)))
    last = path.with_suffix(".last")
    last.write_bytes(text(lines(100, 300)))
    plain.execute_command("BF.RESERVE", KEY, RATE, 200, "NONSCALING")
    message = refused(bloomline_server, "load", KEY, path, last)
    number = int(re.search(r"line (\d+), at byte \d+, was refused: .*full", message)[1])
    assert number > 100
    # Nothing is skipped when the load goes on, and the first file is not read.
    path.touch()
    os.utime(path, ns=(0, 0))
    assert "has changed" in refused(bloomline_server, "load", KEY, path, last)


@pytest.mark.parametrize("block", [200, 1 << 20])
def test_counts_add_up_after_a_refused_line(bloomline_server, plain, path, block):
    plain.execute_command("BF.RESERVE", KEY, RATE, 500, "NONSCALING")
    path.write_bytes(b"\n\n" + text(lines(0, 1000), b"\r\n"))
    words = ["load", "--block", block, KEY, path]
    message = refused(bloomline_server, *words)
    found = re.search(r"line (\d+), at byte (\d+), was refused", message)
    number, at = int(found[1]), int(found[2])
    data = path.read_bytes()
    assert data[:at].count(b"\n") == number - 1
    accepted = data[:at].split()
    assert present(plain, accepted) == len(accepted) >= 500
    assert present(plain, [data[at:].split()[0]]) == 0
    assert refused(bloomline_server, *words) == message
    new = int(plain.hget(positions_key(KEY), str(path)).split()[3])
    assert new == plain.execute_command("BF.CARD", KEY)


def test_changed_file_is_not_resumed(bloomline_server, plain, path):
    path.write_bytes(text(lines(0, 1000)))
    plain.execute_command("BF.RESERVE", KEY, RATE, 500, "NONSCALING")
    refused(bloomline_server, "load", KEY, path)
    plain.delete(KEY)
    # A position without its filter means nothing.
    assert load(bloomline_server, KEY, path)[0] == [(1000, 1000)]
    assert plain.keys() == [KEY.encode()]


def create(client, key=KEY, count=0):
    client.execute_command("BF.RESERVE", key, RATE, 1000)
    client.execute_command("BF.BULKADD", key, "LINES", b"\n".join(b"%d" % n for n in range(count)))


def expire(client):
    client.pexpire(KEY, 1)
    end = time.monotonic() + DEADLINE
    while client.exists(KEY):
        assert time.monotonic() < end


def restore_backup(client):
    """Replaces the filter by an older state of it, which `keep_backup` has kept."""
    client.restore(KEY, 0, client.dump("backup"), replace=True)


# What may become of a filter, beside a load or between two of its runs.
REPLACEMENTS = {
    "deleted": lambda client: client.delete(KEY),
    "expired": expire,
    "created again": lambda client: [client.delete(KEY), create(client)],
    "created again with more items": lambda client: [client.delete(KEY), create(client, count=900)],
    "renamed": lambda client: [create(client, "other", 900), client.rename("other", KEY)],
    "an older state": restore_backup,
}


class Interfered(Source):
    """A file during whose load something happens once: at a number of reads, or at its end."""

    def __init__(self, path, happen, at=10):
        super().__init__(str(path))
        self.happen = happen
        self.left = at

    def read(self, size):
        data = super().read(size)
        self.left -= 1
        if self.left == 0 or (self.left > 0 and not data):
            self.left = 0
            self.happen()
        return data


def run_load(client, source):
    load = Load(KEY, source, 500)
    run(client, load.resume())
    load.seek()
    run(client, load.run(lambda position: None))


@pytest.mark.parametrize("name", REPLACEMENTS)
@pytest.mark.parametrize("at", [6, 20, 10_000], ids=["early", "late", "end"])
def test_filter_that_is_replaced_ends_the_load(bloomline_server, plain, path, name, at):
    path.write_bytes(text(lines(0, 1000)))
    create(plain)
    plain.copy(KEY, "backup")

    source = Interfered(path, lambda: REPLACEMENTS[name](plain), at)
    with pytest.raises(BloomlineError, match=r"was deleted|holds another filter"):
        run_load(plain, source)
    assert not plain.exists(positions_key(KEY))
    # Nothing of the load is left where there was no filter any more.
    assert plain.exists(KEY) == (name not in ("deleted", "expired"))
    plain.delete(KEY)
    assert load(bloomline_server, KEY, path)[0] == [(1000, 1000)]


def test_filter_to_which_others_add_is_kept(plain, path):
    path.write_bytes(text(lines(0, 1000)))
    create(plain)

    class Client:
        """Another client adds an item to what the load has created, before that is deleted."""

        def __getattr__(self, name):
            return getattr(plain, name)

        def execute_command(self, *words, **options):
            if words[0] == "EVAL":
                plain.execute_command("BF.ADD", KEY, "of another client")
            return plain.execute_command(*words, **options)

    with pytest.raises(BloomlineError, match="delete it, and begin again"):
        run_load(Client(), Interfered(path, lambda: plain.delete(KEY), 20))
    assert plain.execute_command("BF.EXISTS", KEY, "of another client") == 1


class Stopped(Exception):
    """The end of a run."""


def stop():
    raise Stopped


@pytest.mark.parametrize("name", REPLACEMENTS)
def test_load_is_not_resumed_in_another_filter(bloomline_server, plain, path, name):
    path.write_bytes(text(lines(0, 1000)))
    create(plain)
    plain.copy(KEY, "backup")
    with pytest.raises(Stopped):
        run_load(plain, Interfered(path, stop, 20))
    done = offset_of(plain, path)
    assert done > 0
    REPLACEMENTS[name](plain)
    if name in ("deleted", "expired"):
        assert load(bloomline_server, KEY, path)[0] == [(1000, 1000)]
        assert present(plain, lines(0, 1000)) == 1000
        return
    message = refused(bloomline_server, "load", KEY, path)
    assert "holds another filter" in message and "--restart" in message
    assert offset_of(plain, path) == done
    load(bloomline_server, "--restart", KEY, path)
    assert present(plain, lines(0, 1000)) == 1000


def test_load_is_resumed_in_the_same_filter(bloomline_server, plain, path):
    path.write_bytes(text(lines(0, 1000)))
    create(plain)
    with pytest.raises(Stopped):
        run_load(plain, Interfered(path, stop, 20))
    # Others add items, it grows, is renamed, and is loaded from a file.
    plain.execute_command("BF.BULKADD", KEY, "LINES", b"\n".join(lines(5000, 9000)))
    plain.rename(KEY, "other")
    plain.rename("other", KEY)
    plain.restore(KEY, 0, plain.dump(KEY), replace=True)
    numbers, out = load(bloomline_server, KEY, path)
    assert numbers[0][0] == 1000 and "resumed after" in out
    assert present(plain, lines(0, 1000)) == 1000


def test_filter_that_another_load_creates_meanwhile_is_used(plain):
    def parameters():
        create(plain)
        return Create(500)

    reserve(plain, KEY, parameters, None)
    assert plain.bf().info(KEY).get("capacity") == 1000


def test_windowed_filter_may_forget_items_during_a_load(plain, path):
    path.write_bytes(text(lines(0, 5000)))
    plain.execute_command("BF.RESERVE", KEY, RATE, 50_000, "GENERATIONS", 2)

    def rotate():
        for _ in range(4):
            plain.execute_command("BF.ROTATE", KEY)

    run_load(plain, Interfered(path, rotate, 20))
    assert 0 < plain.execute_command("BF.CARD", KEY) < 5000


def test_check_notices_another_filter(plain, path, monkeypatch):
    path.write_bytes(text(lines(0, 1000)))
    create(plain)
    source = Interfered(path, lambda: [plain.delete(KEY), create(plain)], 1)
    monkeypatch.setattr(check, "Source", lambda path: source)
    with pytest.raises(BloomlineError, match="holds another filter"):
        check.main(plain, argparse.Namespace(key=KEY, file=str(path)))


def test_progress_is_a_bar_on_a_terminal_only(bloomline_server, plain, path):
    pytest.importorskip("tqdm")
    path.write_bytes(text(lines(0, 50_000)))
    ours, theirs = os.openpty()
    # 24 rows and 120 columns: a new terminal has none.
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("4H", 24, 120, 0, 0))
    try:
        program = start(bloomline_server, "load", "--block", 10_000, KEY, path, stderr=theirs)
        out, _ = program.communicate(timeout=DEADLINE)
        shown = os.read(ours, 10_000).decode()
    finally:
        os.close(ours)
        os.close(theirs)
    assert "%" in shown and "new" in shown
    assert b"%" not in out


def test_wrong_key_file_or_server_is_one_line(bloomline_server, plain, path):
    plain.execute_command("BF.ADD", KEY, "a")
    plain.set("text", "x")
    advice = "name another one in --url or REDIS_URL"
    # The file of `import` is read before the server is called.
    start(bloomline_server, "export", KEY, path).communicate(timeout=DEADLINE)
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{closed.getsockname()[1]}"
        for name in ("load", "check", "export", "import"):
            key = "new" if name == "import" else KEY
            missing, folder = path.parent / "missing" / "file", path.parent
            message = refused(bloomline_server, name, key, missing)
            assert message.startswith(f"bloomline: {missing} cannot be ")
            assert "(No such file or directory): c" in message
            message = refused(bloomline_server, name, key, folder)
            assert f"{folder} cannot be " in message and "name a file in it" in message
            for url, server in ((f"redis://:secret@{address}", address), ("unix:///none", "/none")):
                message = refused(bloomline_server, name, "--url", url, key, path)
                assert f"there is no connection to {server} (" in message and advice in message
                assert "Error" not in message and "secret" not in message
            message = refused(bloomline_server, name, "--url", "nonsense", key, path)
            assert "--url or REDIS_URL names no server: " in message
            if name != "import":
                message = refused(bloomline_server, name, "text", path)
                assert message.startswith("bloomline: text holds ")


def test_refusals_of_the_server_name_the_key_and_what_to_do(bloomline_server, plain, path):
    path.write_bytes(b"a\n")
    words = [KEY, path]
    plain.execute_command("ACL", "SETUSER", "bob", "on", ">x", "~*", "+bf.stats", "+hget")
    try:
        url = bloomline_server.url.replace("unix://", "unix://bob:x@")
        message = refused(bloomline_server, "load", "--url", url, *words)
        assert f"refuses a call for {KEY}: " in message and "bf.card" in message
        wrong = bloomline_server.url.replace("unix://", "unix://bob:wrong@")
        message = refused(bloomline_server, "load", "--url", wrong, *words)
        assert "refuses the user or the password: give both in --url" in message
        assert "wrong@" not in message
    finally:
        plain.execute_command("ACL", "DELUSER", "bob")


def test_rates_after_a_resume_are_those_of_this_run(
    bloomline_server, plain, path, monkeypatch, capsys
):
    path.write_bytes(text(lines(0, 10_000)))
    create(plain)
    with pytest.raises(Stopped):
        run_load(plain, Interfered(path, stop, 600))
    before = path.read_bytes()[: offset_of(plain, path)]
    monkeypatch.setattr(console.Progress, "_seconds", lambda _: 1e-3)
    assert run_command(["load", "--url", bloomline_server.url, KEY, str(path)]) == 0
    number = 10_000 - before.count(b"\n")
    assert 0 < number < 9000
    size = path.stat().st_size - len(before)
    rates = f"{number / 1e3:.2f} million lines/s, {size / 1e3:.0f} MB/s\n"
    assert capsys.readouterr().out.endswith(rates)


def test_closed_outputs_do_no_harm(bloomline_server, plain, path):
    path.write_bytes(text(lines(0, 1000)))
    shell = f"{sys.executable} -m bloomline load {KEY}"
    for command, code in [
        (f"{shell} - <&-", 1),
        (f"{shell} {path} >&-", 0),
        (f"{shell} {path} >/dev/full", 0),
        (f"{shell} {path} 2>&-", 0),
        (f"{shell} {path} <&- >&- 2>&-", 0),
    ]:
        environment = {**os.environ, "REDIS_URL": bloomline_server.url}
        done = subprocess.run(["sh", "-c", command], env=environment, timeout=DEADLINE, check=False)
        assert done.returncode == code, command
    assert present(plain, lines(0, 1000)) == 1000


def test_window_of_an_existing_filter_is_compared(bloomline_server, plain, path):
    path.write_bytes(text(lines(0, 10)))
    words = ["load", "--window", 60, KEY, path]
    plain.execute_command("BF.RESERVE", KEY, RATE, 1000)
    assert "has no window, but Create has WINDOW 60" in refused(bloomline_server, *words)
    plain.delete(KEY)
    plain.execute_command("BF.RESERVE", KEY, RATE, 1000, "WINDOW", 90)
    assert "has WINDOW 90, but Create has WINDOW 60" in refused(bloomline_server, *words)
    assert plain.execute_command("BF.CARD", KEY) == 0
    # A load that requests none takes the filter as it is.
    assert load(bloomline_server, KEY, path)[0] == [(10, 10)]
    assert load(bloomline_server, "--window", 90, KEY, path)[0] == [(10, 0)]


def test_check_counts_what_is_found(bloomline_server, plain, path):
    path.write_bytes(text(lines(0, 1000)))
    load(bloomline_server, KEY, path)
    for items, code, expected in [
        (lines(0, 500), 0, b"500 of 500 items are found"),
        (lines(500, 1500), 1, b"500 of 1,000 items are found"),
    ]:
        path.write_bytes(b"\n" + text(items))
        program = start(bloomline_server, "check", KEY, path)
        out, errors = program.communicate(timeout=DEADLINE)
        assert (program.returncode, errors) == (code, b"")
        assert expected in out and b"skipped 1 empty lines" in out


def test_check_skips_what_load_skips(bloomline_server, plain, path):
    path.write_bytes(MARK + text([b"", *lines(0, 10), b""], b"\r\n"))
    load(bloomline_server, KEY, path)
    program = start(bloomline_server, "check", KEY, path)
    out, errors = program.communicate(timeout=DEADLINE)
    assert (program.returncode, errors) == (0, b"")
    assert b"skipped the byte order mark" in out and b"10 of 10 items are found" in out


def test_check_refuses_what_is_no_filter(bloomline_server, plain, path):
    path.write_bytes(b"a\n")
    plain.set("text", "x")
    assert "there is no filter missing" in refused(bloomline_server, "check", "missing", path)
    assert "WRONGTYPE" in refused(bloomline_server, "check", "text", path)


def test_capacity_is_a_number_above_zero(bloomline_server, plain, path):
    path.write_bytes(b"a\n")
    assert "capacity" in refused(bloomline_server, "load", KEY, path, "--capacity", "0")
    load(bloomline_server, KEY, path, "--capacity", "2e3")
    assert plain.bf().info(KEY).get("capacity") == 2000


@pytest.mark.parametrize(
    "block, empty",
    [
        *[(b"", 0), (b"a\n", 0), (b"\n", 1), (b"\r\n", 1), (b"a\n\n\n", 2), (b"a\n\r\nb", 1)],
        *[(b"\n\n\na", 3), (b"a\r\nb\r\n", 0), (b"a\n\r", 1), (b"a\r\n\r\n", 1)],
    ],
)
def test_empty_lines_are_counted_as_the_server_does(plain, block, empty):
    assert count_empty(block) == empty
    number, new = plain.execute_command("BF.BULKADD", KEY, "LINES", block, "COUNT")
    assert number - new == empty


def test_killed_load_of_several_files_is_resumed(bloomline_server, plain, path):
    items = lines(0, 100_000)
    packed = path.with_suffix(".gz")
    packed.write_bytes(gzip.compress(text(items[:50_000]), 1))
    path.write_bytes(text(items[50_000:]))
    words = ["load", "--error", RATE, "--capacity", 100_000, "--block", 1000, KEY, packed, path]
    for file in (packed, path):
        program = start(bloomline_server, *words)
        end = time.monotonic() + DEADLINE
        while offset_of(plain, file) < 200_000:
            assert program.poll() is None and time.monotonic() < end
        program.send_signal(signal.SIGKILL)
        program.communicate(timeout=DEADLINE)
    numbers, out = load(bloomline_server, *words[1:])
    assert [each for each, _ in numbers] == [50_000, 50_000]
    assert out.count("resumed after") == 2
    assert plain.execute_command("BF.CARD", KEY) == present(plain, items) == 100_000


BRACES = ["a{", "{}x", "a}b", "}{x", "{a", "a{}b{c}", "}", "", "{", "{}", "a{b}c}", "{{a}}", "ä}"]


@pytest.mark.parametrize("key", ["urls", "{tag}:urls", "urls:{tag}", *BRACES])
def test_positions_are_in_the_slot_of_their_filter(key):
    from redis.crc import key_slot  # noqa: PLC0415

    assert key_slot(positions_key(key).encode()) == key_slot(key.encode()) == slot_of(key)


TEXT = "".join(f"https://example.com/{number}\n" for number in range(1000))
ZSTD = b"\x28\xb5\x2f\xfd\x04\x58\x41\x00\x00line\n"
FOREIGN = {
    "bz2": (bz2.compress(TEXT.encode()), "bzip2"),
    "empty bz2": (bz2.compress(b""), "bzip2"),
    "xz": (lzma.compress(TEXT.encode()), "xz"),
    "lzma": (lzma.compress(TEXT.encode(), lzma.FORMAT_ALONE), "lzma"),
    "zstd": (ZSTD, "zstd"),
    "lz4": (b"\x04\x22\x4d\x18" + ZSTD, "lz4"),
    "zip": (b"PK\x03\x04" + ZSTD, "zip"),
    "7z": (b"7z\xbc\xaf\x27\x1c" + ZSTD, "7z"),
    "utf-16": (TEXT.encode("utf-16"), "UTF-16"),
    "utf-16-be": (b"\xfe\xff" + TEXT.encode("utf-16-be"), "UTF-16"),
    "utf-32": (TEXT.encode("utf-32"), "UTF-32"),
    "utf-32-be": (b"\x00\x00\xfe\xff" + TEXT.encode("utf-32-be"), "UTF-32"),
}


@pytest.mark.parametrize("way", ["file", "gzip", "pipe"])
@pytest.mark.parametrize("name", FOREIGN)
def test_other_compressions_and_encodings_are_refused(monkeypatch, path, name, way):
    data, what = FOREIGN[name]
    path.write_bytes(gzip.compress(data) if way == "gzip" else data)
    if way == "pipe":
        monkeypatch.setattr("sys.stdin", path.open())
    with pytest.raises(BloomlineError, match=f"is .*{what}"):
        Source("-" if way == "pipe" else str(path))


@pytest.mark.parametrize("name", ["load", "check"])
def test_a_refused_file_is_one_line(bloomline_server, plain, path, name):
    plain.execute_command("BF.ADD", KEY, "a")
    path.write_bytes(FOREIGN["bz2"][0])
    assert "bzip2" in refused(bloomline_server, name, KEY, path)
    data = gzip.compress(b"".join(b"line %d %d\n" % (n, n * n) for n in range(100_000)))
    flipped = data[:5000] + bytes([data[5000] ^ 0xFF]) + data[5001:]
    cut = [data[:-1000], data[: len(data) // 2], data[:2], data[:9], data[:-1]]
    for damaged in [*cut, flipped, data[:-6] + b"\0\0" + data[-4:], data + b"rubbish"]:
        path.write_bytes(damaged)
        assert "damaged" in refused(bloomline_server, name, KEY, path)


def test_bytes_of_a_slow_pipe_are_not_misread(bloomline_server, plain):
    data = MARK + text(lines(0, 20))
    for sent in (data, gzip.compress(data)):
        words = ["load", "--error", RATE, "--capacity", 100, KEY, "-"]
        program = start(bloomline_server, *words, stdin=subprocess.PIPE)
        for at in range(len(sent)):
            program.stdin.write(sent[at : at + 1])
            program.stdin.flush()
        _, errors = program.communicate(timeout=DEADLINE)
        assert (program.returncode, errors) == (0, b"")
        assert plain.execute_command("BF.CARD", KEY) == present(plain, lines(0, 20)) == 20


def test_names_may_be_any_bytes(bloomline_server, plain, tmp_path):
    name = os.fsencode(tmp_path) + b"/caf\xe9.txt"
    with open(name, "wb") as file:
        file.write(text(lines(0, 100)))
    for words in (["load", b"k\xe9y", name], ["check", b"k\xe9y", name]):
        program = subprocess.run(
            [sys.executable, "-m", "bloomline", *words],
            env={**os.environ, "REDIS_URL": bloomline_server.url},
            capture_output=True,
            check=False,
        )
        assert (program.returncode, program.stderr) == (0, b"")
    assert plain.keys() == [b"k\xe9y"]
    program = start(bloomline_server, "load", "missing", name + b"\xff")
    assert b"No such file" in program.communicate(timeout=DEADLINE)[1]


def read_by(command, client, path):
    if command == "load":
        load = Load(KEY, Source(str(path)))
        load.seek()
        run(client, load.run(lambda position: None))
    else:
        check.main(client, argparse.Namespace(key=KEY, file=str(path)))


@pytest.mark.parametrize("command", ["load", "check"])
@pytest.mark.parametrize("before", [0, 3])
def test_line_longer_than_a_server_accepts_is_named(plain, path, monkeypatch, command, before):
    # A file without line ends, as of an image, by mistake.
    monkeypatch.setattr(sources, "_LONGEST_LINE", 2 << 20)
    create(plain)
    short = text(lines(0, before))
    path.write_bytes(short + bytes(10 << 20))
    with pytest.raises(BloomlineError, match=f"more than 2 MiB.* at byte {len(short)}: "):
        read_by(command, plain, path)


@pytest.mark.parametrize("command", ["load", "check"])
@pytest.mark.parametrize("is_packed", [False, True], ids=["plain", "gzip"])
def test_file_that_becomes_shorter_is_an_error(plain, path, monkeypatch, command, is_packed):
    create(plain)
    whole = text(lines(0, 200_000))
    path.write_bytes(gzip.compress(whole) if is_packed else whole)
    read, blocks = Source.read, []

    def read_and_truncate(source, size):
        blocks.append(size)
        if len(blocks) == 2:
            os.truncate(path, path.stat().st_size // 2)
        return read(source, size)

    monkeypatch.setattr(Source, "read", read_and_truncate)
    with pytest.raises(BloomlineError, match=r"has become shorter|is damaged"):
        read_by(command, plain, path)


@pytest.mark.parametrize("rest", [b"", b" x", b" 1 2 3 4 5 6 7 8", b" 1 2 3 x y z", b"\xff"])
def test_position_that_cannot_be_read_is_an_error(bloomline_server, plain, path, rest):
    path.write_bytes(text(lines(0, 10)))
    create(plain)
    identity = Source(str(path)).identity.encode()
    plain.hset(positions_key(KEY), os.path.abspath(path), identity + rest)
    assert "use --restart" in refused(bloomline_server, "load", KEY, path)
    load(bloomline_server, "--restart", KEY, path)
    assert present(plain, lines(0, 10)) == 10


def test_lines_longer_than_a_block_are_read_to_their_end(tmp_path, monkeypatch):
    monkeypatch.setattr(sources, "_LONGEST_LINE", 100)
    path = tmp_path / "lines"
    items = [b"a" * 100, b"b", b"c" * 99, b"d" * 55]
    path.write_bytes(text(items)[:-1])
    for size in (1, 7, 20, 1000):
        assert b"".join(sources.read_blocks(Source(str(path)), size)) == path.read_bytes()
    path.write_bytes(b"short\n" * 50 + b"a" * 101 + b"\n" + b"short\n")
    blocks = sources.read_blocks(Source(str(path)), 7)
    found = []
    with pytest.raises(BloomlineError):
        found.extend(blocks)
    assert b"".join(found) == b"short\n" * 50
