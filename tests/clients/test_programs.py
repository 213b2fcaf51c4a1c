"""The Bloom filter commands through clients that have no methods for them.

Each test runs through each library. LIBRARIES is what each library gives for the same replies.
"""

import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest
from conftest import DEADLINE, ROOT
from programs import FOLDER, GLIDE_PYTHON, GO, NODE, ErrorInside, Program, Refused

HIREDIS_1 = ROOT / ".hiredis/hiredis"
FULL = "non scaling filter is full"
NAMES = [b"Capacity", b"Size", b"Number of filters", b"Number of items inserted", b"Expansion rate"]

pytestmark = pytest.mark.newest


def flat(pairs):
    return [value for pair in pairs for value in pair]


def keyed(pairs):
    return [{"key": name, "value": value} for name, value in pairs]


def nameless(pairs):
    return [value for _, number in pairs for value in (True, number)]


@dataclass
class Library:
    """How to start the program of a library, and the values that it gives."""

    command: list
    by_port: bool = False
    ok: object = b"OK"
    null: object = None
    # The answers for a new and for a known item.
    answers: tuple = (1, 0)
    # An error inside an array: its text, "raised" for the whole call, or another value.
    error: object = "text"
    # The pairs of BF.INFO, and the pair of one field; None: only its value.
    info: object = flat
    field: object = None


def glide(*command, **values):
    return Library([*command], by_port=True, error="raised", **values)


SYNC, ASYNC = ([GLIDE_PYTHON, FOLDER / f"glide_{kind}_client.py"] for kind in ("sync", "async"))
NODE_GLIDE = [NODE, FOLDER.parent / "node/glide.js"]
RESP3 = {"answers": (True, False), "info": dict, "field": dict}
LIBRARIES = {
    "phpredis": Library(["php", FOLDER / "phpredis.php"], ok=True, null=False, error=False, info=nameless),
    "phpredis-literal": Library(["php", FOLDER / "phpredis.php", "literal"], null=False, error=False),
    "predis": Library(["php", FOLDER / "predis.php"]),
    "redis-rb": Library(["ruby", FOLDER / "redis_rb.rb"]),
    "redigo": Library(["redigo"]),
    "hiredis-0": Library(["hiredis-0", "2"]),
    "hiredis-1-resp2": Library(["hiredis-1", "2"]),
    "hiredis-1-resp3": Library(["hiredis-1", "3"], **RESP3),
    "glide-sync-resp2": glide(*SYNC, "2"),
    "glide-sync-resp3": glide(*SYNC, "3", **RESP3),
    "glide-async-resp2": glide(*ASYNC, "2"),
    "glide-async-resp3": glide(*ASYNC, "3", **RESP3),
    "glide-node-resp2": glide(*NODE_GLIDE, "2"),
    "glide-node-resp3": glide(*NODE_GLIDE, "3", answers=(True, False), info=keyed, field=keyed),
}


@pytest.fixture(scope="session")
def compiled(tmp_path_factory):
    """The programs in C and Go. The one in C has the library of the system, or a newer source."""
    assert HIREDIS_1.is_dir(), f"{HIREDIS_1} is missing; run scripts/hiredis.sh"
    parts = ("alloc", "async", "hiredis", "net", "read", "sds", "sockcompat")
    libraries = {
        "hiredis-0": ["-Wall", "-Wextra", "-Werror", "-lhiredis"],
        "hiredis-1": [f"-I{HIREDIS_1.parent}", *(HIREDIS_1 / f"{part}.c" for part in parts)],
    }
    folder = tmp_path_factory.mktemp("compiled")
    for name, library in libraries.items():
        command = ["cc", "-O1", FOLDER / "hiredis.c", *library, "-o", folder / name]
        subprocess.run(command, check=True, timeout=DEADLINE)
    command = ["go", "build", "-o", folder / "redigo", FOLDER / "redigo.go"]
    subprocess.run(command, check=True, timeout=DEADLINE, env=GO)
    return folder


@pytest.fixture(scope="session", params=LIBRARIES)
def library(request):
    return LIBRARIES[request.param]


@pytest.fixture(scope="session")
def program(server, port, compiled, library):
    """The running program of the library, connected to the server."""
    name, *words = library.command
    place = str(port if library.by_port else server.socket)
    # The first argument is the server, behind the program or behind its interpreter and the script.
    own = compiled / Path(name).name
    if own.is_file():
        command = [own, place, *words]
    else:
        command = [name, words[0], place, *words[1:]]
    program = Program(command)
    yield program
    program.stop()


@pytest.fixture
def call(server, program):
    """Runs commands through the library, on an empty server."""
    with server.client() as client:
        client.flushall()
    return program


def answers(library, text):
    """Returns what the library gives for the answers 1 and 0 of a text."""
    return [library.answers[0] if answer == "1" else library.answers[1] for answer in text]


def refused(library, call, *command):
    """Runs a command whose reply ends with an error, and returns the elements before it, or None."""
    if library.error == "raised":
        with pytest.raises(Refused, match=FULL):
            call(*command)
        return None
    *before, error = call(*command)
    if library.error == "text":
        assert isinstance(error, ErrorInside) and error == f"ERR {FULL}"
    else:
        assert error is library.error
    return before


def test_items_are_added_once_and_found(library, call):
    assert call("BF.RESERVE", "bloom", 0.01, 1000) == library.ok
    assert [call("BF.ADD", "bloom", item) for item in ("foo", "foo")] == answers(library, "10")
    assert call("BF.MADD", "bloom", "foo", "bar", "bar") == answers(library, "010")
    assert call("BF.INSERT", "new", "CAPACITY", 10, "ITEMS", "a", "a") == answers(library, "10")
    assert [call("BF.EXISTS", "bloom", item) for item in ("foo", "absent")] == answers(library, "10")
    assert call("BF.MEXISTS", "bloom", "foo", "absent", "bar") == answers(library, "101")
    assert call("BF.CARD", "bloom") == 2
    # Of an integer reply and of a boolean one.
    assert type(call("BF.ADD", "bloom", "type")) is type(library.answers[0])


def test_refused_call_raises_with_its_text(call):
    call("BF.RESERVE", "bloom", 0.01, 1000)
    with pytest.raises(Refused, match="item exists$"):
        call("BF.RESERVE", "bloom", 0.01, 1000)
    with pytest.raises(Refused, match="not found$"):
        call("BF.INFO", "absent")
    call("SET", "text", "value")
    with pytest.raises(Refused, match="wrong kind of value$"):
        call("BF.ADD", "text", "item")
    # The connection is still in order.
    assert call("BF.CARD", "bloom") == 0


def test_error_of_a_full_filter_is_last_in_the_array(library, call):
    call("BF.RESERVE", "full", 0.001, 3, "NONSCALING")
    before = refused(library, call, "BF.MADD", "full", "a", "a", "b", "c", "d", "e")
    assert before in (None, answers(library, "1011"))
    # Also where the library raises, the items before the error were added.
    assert call("BF.MEXISTS", "full", "a", "b", "c") == answers(library, "111")
    with pytest.raises(Refused, match=FULL):
        call("BF.ADD", "full", "d")
    before = refused(library, call, "BF.BULKADD", "full", "LINES", "a\nd\ne")
    assert before in (None, [1, b"\x00"])


def test_info_has_names_and_values(server, library, call):
    call("BF.RESERVE", "fixed", 0.001, 2000, "NONSCALING")
    call("BF.MADD", "fixed", "a", "b", "c")
    with server.client(protocol=2) as client:
        (size,) = client.execute_command("BF.INFO", "fixed", "SIZE")
    values = [2000, size, 1, 3, library.null]
    assert size > 2000 and call("BF.INFO", "fixed") == library.info(list(zip(NAMES, values)))


def test_info_of_a_field_is_its_value_or_a_pair(server, library, call):
    call("BF.RESERVE", "fixed", 0.001, 2000, "NONSCALING")
    for field, pair in [
        ("CAPACITY", (b"Capacity", 2000)),
        ("EXPANSION", (b"Expansion rate", library.null)),
    ]:
        assert call("BF.INFO", "fixed", field) == ([pair[1]] if library.field is None else library.field([pair]))
    pair = (b"layout", server.layout.encode())
    assert call("BF.STATS", "fixed", "layout") == (library.field or flat)([pair])


def test_filter_is_copied_in_chunks_of_bytes(library, call):
    items = [f"item:{number}".encode() + b"\r\n\x00\xff" for number in range(1000)]
    call("BF.MADD", "first", *items)
    iterator, data = call("BF.SCANDUMP", "first", 0)
    chunks = 0
    while iterator:
        assert call("BF.LOADCHUNK", "second", iterator, data) == library.ok
        iterator, data = call("BF.SCANDUMP", "first", iterator)
        chunks += 1
    assert chunks >= 3 and data == b""
    assert call("BF.DEBUG", "second") == call("BF.DEBUG", "first")
    assert call("BF.MEXISTS", "second", *items) == answers(library, "1" * len(items))


def test_packed_items_are_binary(call):
    data = b"\x00\xff\r\n\x00\xff\x80\x00"
    assert call("BF.BULKADD", "seen", "FIXED", 2, data) == [4, b"\xd0"]
    assert call("BF.BULKEXISTS", "seen", "FIXED", 2, b"no" + data) == [5, b"\x78"]
    prefixed = b"".join(len(item).to_bytes(4, "little") + item for item in (b"a\nb", b"", b"\xff" * 300))
    assert call("BF.BULKADD", "long", "PREFIXED", prefixed, "COUNT") == [3, 3]


def test_items_and_keys_are_binary(library, call):
    key, item = b"\x00\xfe key", b"\xff\x00\r\n"
    assert call("BF.ADD", key, item) == library.answers[0]
    assert [call("BF.EXISTS", key, each) for each in (item, item[:3], b"")] == answers(library, "100")
    assert call("BF.ADD", key, b"") == library.answers[0]


@pytest.mark.one_layout
def test_filter_with_a_window_reports_it(library, call):
    assert call("BF.RESERVE", "recent", 0.01, 100, "WINDOW", 60, "TTL", 3600) == library.ok
    assert call("BF.MADD", "recent", "a", "a") == answers(library, "10")
    assert call("BF.STATS", "recent", "window") == (library.field or flat)([(b"window", 60)])
    assert 3500 < call("TTL", "recent") <= 3600
