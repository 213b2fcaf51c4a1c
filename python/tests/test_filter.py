"""Filters answer as the commands for single items do, in every form of items."""

import asyncio
import contextlib
import copy
import hashlib
import importlib
import multiprocessing
import pickle
import threading
import time
import tracemalloc
from collections import deque

import numpy
import pytest
import redis
from conftest import CLUSTERS, DEADLINE, client_class

from bloomline import (
    AsyncCuckooFilter,
    AsyncFilter,
    AsyncShardedFilter,
    BloomlineError,
    BulkError,
    Create,
    CreateCuckoo,
    CuckooFilter,
    Filter,
    Fixed,
    Lines,
    ShardedFilter,
)
from bloomline.answers import of_booleans

SMALL = Create(capacity=200_000, error_rate=1e-9)


def urls(first, last):
    return [f"https://example.com/page/{number}" for number in range(first, last)]


def test_answers_of_single_items(client):
    seen = Filter(client, "k", Create(capacity=1000, window=3600, ttl=7200))
    assert not seen.contains("a")
    assert seen.add("a") and not seen.add("a") and seen.contains(b"a") and "a" in seen
    assert not seen.create()
    assert seen.stats()["window"] == 3600
    assert 7100 < client.ttl("k") <= 7200
    assert seen.card() == 1


@pytest.mark.parametrize("count", [0, 1, 7, 8, 9, 255, 256, 257, 100_003])
def test_many_items_are_answered_in_order(client, count):
    seen = Filter(client, "k", SMALL)
    assert seen.add_many(urls(0, count)[::3]) == [True] * len(range(0, count, 3))
    # A generator has no length.
    answers = seen.add_many(url for url in urls(0, count))
    assert answers == [number % 3 != 0 for number in range(count)]
    assert answers.ones == count - len(range(0, count, 3))
    assert answers.select(urls(0, count)) == [u for n, u in enumerate(urls(0, count)) if n % 3]
    assert seen.contains_many(urls(0, count)).to_numpy().all()
    assert seen.card() == count
    assert all(client.execute_command("BF.EXISTS", "k", url) for url in urls(0, count)[:50])


@pytest.mark.parametrize(
    "items",
    [
        [""],
        ["", "a"],
        ["a", ""],
        ["a\n", "b"],
        ["\na"],
        ["a\r", "b"],
        ["a", "b\r"],
        ["a\r"],
        ["\n"],
        ["ä", b"\xff", bytearray(b"c"), memoryview(b"d")],
        [b"\n\n", b"ab"],
        [hashlib.sha1(b"%d" % n).digest() for n in range(1000)],
        [b"x" * 3_000_000, b"y", b"z" * 2_000_000],
    ],
)
def test_any_item_is_its_bytes(client, items):
    seen = Filter(client, "k", SMALL)
    assert seen.add_many(items) == [True] * len(items)
    assert seen.card() == len(items)
    for item in items:
        word = item.encode() if isinstance(item, str) else bytes(item)
        assert client.execute_command("BF.EXISTS", "k", word)


@pytest.mark.parametrize("dtype", ["<u8", ">u8", "S20", "u1", "<f4"])
def test_arrays_are_items_of_equal_width(client, dtype):
    array = numpy.arange(1, 200).astype(dtype)
    seen = Filter(client, "k", SMALL)
    assert seen.add_many(array).to_numpy().all()
    assert seen.contains_many([array[i : i + 1].tobytes() for i in range(len(array))]).ones == 199
    rows = numpy.arange(600, dtype="u1").reshape(30, 20) if dtype == "u1" else array.reshape(-1, 1)
    assert len(seen.contains_many(rows)) == len(rows)


@pytest.mark.parametrize(
    "item",
    [5, None, 1.5, memoryview(numpy.arange(3)), numpy.arange(3)],
    ids=["int", "none", "float", "view", "array"],
)
def test_single_items_that_are_no_bytes_are_refused(client, item):
    seen, members = Filter(client, "k", SMALL), CuckooFilter(client, "members")
    uses = [seen.add, seen.contains, members.add, members.contains, members.delete, members.count]
    for use in uses:
        with pytest.raises(TypeError, match="item"):
            use(item)
    # Nothing was sent: the length of such a view is not its number of bytes.
    assert client.ping() and client.keys() == []


def test_single_items_may_be_views_of_bytes(client):
    seen = Filter(client, "k", SMALL)
    assert seen.add(memoryview(b"abcd")[::2]) and seen.contains("ac") and "ac" in seen
    assert seen.add(bytearray(b"xy")) and seen.contains(memoryview(b"xy"))


def test_arrays_that_are_no_items_are_refused(client):
    seen = Filter(client, "k", SMALL)
    texts = numpy.array(["a", "b"])
    for wrong in ("abc", b"abc", texts, numpy.arange(10)[::2], numpy.array(1), [1], ["a", 1]):
        with pytest.raises(TypeError):
            seen.add_many(wrong)
    assert not client.exists("k")


def test_blocks_are_cut_by_the_server(client):
    seen = Filter(client, "k", SMALL)
    block = "\r\n".join(urls(0, 90_000)).encode()
    assert seen.add_many(Lines(block)).ones == 90_000
    assert seen.contains_many(Lines(b"none\n\n" + block)).ones == 90_000
    assert seen.add_many(Lines(b"")) == []
    assert seen.add_many(Fixed(b"abcdef", 3)) == [True, True]
    assert seen.contains("def")
    with pytest.raises(ValueError, match="whole number"):
        Fixed(b"abcd", 3)


def test_refused_item_ends_the_call_with_the_number_added(client):
    seen = Filter(client, "k", Create(capacity=70_000, error_rate=1e-9, expansion=0))
    seen.add_many(urls(100, 200))
    with pytest.raises(BulkError, match="full") as caught:
        seen.add_many(urls(0, 90_000))
    error = caught.value
    assert error.processed == len(error.answers) > 60_000
    assert error.new == seen.card() - 100 == error.answers.ones
    assert seen.contains_many(urls(0, error.processed)).to_numpy().all()
    assert not seen.contains(urls(0, 90_000)[error.processed])


def test_wrong_type_has_no_items(client):
    client.set("k", "text")
    for create in (None, SMALL):
        with pytest.raises(BulkError, match=r"WRONGTYPE|wrong kind") as caught:
            Filter(client, "k", create).add_many(urls(0, 10))
        assert (caught.value.processed, caught.value.new) == (0, 0)
    assert client.get("k") == b"text"


def test_counts_add_up_when_memory_ends_during_a_load(client):
    seen = Filter(client, "k", SMALL)
    state = {"is_out": False}

    def items():
        for number, url in enumerate(urls(0, 150_000)):
            if number == 100_000:
                client.config_set("maxmemory", 1)
                state["is_out"] = True
            yield url

    try:
        with pytest.raises(BulkError, match=r"maxmemory|memory") as caught:
            seen.add_many(items())
    finally:
        client.config_set("maxmemory", 0)
    error = caught.value
    assert state["is_out"] and 0 < error.processed <= 100_000
    assert seen.contains_many(urls(0, error.processed)).to_numpy().all()
    again = seen.add_many(urls(error.processed, 150_000))
    assert error.new + again.ones == seen.card() == 150_000


def loop_until_killed(client):
    with contextlib.suppress(Exception):
        client.eval("while true do end", 0)


def wait_until_busy(client):
    end = time.monotonic() + DEADLINE
    while time.monotonic() < end:
        try:
            client.ping()
        except Exception as error:
            assert "BUSY" in str(error).upper(), error
            return
    raise AssertionError("the server did not become busy")


def test_counts_add_up_when_the_server_is_busy_during_a_load(client, bloomline_server):
    seen = Filter(client, "k", SMALL)
    client.config_set("lua-time-limit", 1)
    other = type(client).from_url(bloomline_server.url)
    script = threading.Thread(target=loop_until_killed, args=(other,))

    def items():
        for number, url in enumerate(urls(0, 150_000)):
            if number == 100_000:
                script.start()
                wait_until_busy(client)
            yield url

    try:
        with pytest.raises(BulkError, match=r"(?i)busy") as caught:
            seen.add_many(items())
    finally:
        client.script_kill()
        script.join()
        other.close()
    error = caught.value
    assert 0 < error.processed <= 100_000
    assert seen.contains_many(urls(0, error.processed)).to_numpy().all()
    again = seen.add_many(urls(error.processed, 150_000))
    assert error.new + again.ones == seen.card() == 150_000


def test_user_without_permission_adds_nothing(client, bloomline_server):
    rules = ["on", "nopass", "~*", "+@all", "-bf.bulkadd"]
    client.execute_command("ACL", "SETUSER", "reader", *rules)
    url = bloomline_server.url
    reader = type(client).from_url(url, username="reader", password="x")
    with reader, pytest.raises(BulkError, match="permission") as caught:
        Filter(reader, "k").add_many(urls(0, 20))
    assert (caught.value.processed, caught.value.new) == (0, 0)
    assert not client.exists("k")


@pytest.mark.parametrize("create", [SMALL, Create(1000, window=60)], ids=["plain", "window"])
def test_adding_needs_two_rights_in_every_call(client, bloomline_server, create):
    rights = ["+bf.insert", "+bf.bulkadd", "+hello", "+client|setinfo"]
    client.execute_command("ACL", "SETUSER", "adder", "on", "nopass", "~*", "-@all", *rights)
    url = bloomline_server.url
    with type(client).from_url(url, username="adder", password="x") as adder:
        seen = Filter(adder, "k", create)
        assert seen.add("a") and seen.add_many(["a", "b"]) == [False, True]
        assert Filter(adder, "k2", create).add_many(["a", "b"]) == [True, True]
        assert Filter(adder, "long", SMALL).add_many(urls(0, 80_000)).ones == 80_000
        client.execute_command("BF.RESERVE", "other", 0.01, 1000)
        if create.window:
            for add in (lambda f: f.add("a"), lambda f: f.add_many(["a", "b"])):
                with pytest.raises(Exception, match="without a window"):
                    add(Filter(adder, "other", create))
    client.execute_command("ACL", "SETUSER", "adder", "-bf.insert")
    with type(client).from_url(url, username="adder", password="x") as adder:
        with pytest.raises(BulkError, match="permission") as caught:
            Filter(adder, "k3", create).add_many(["a"])
        assert (caught.value.processed, caught.value.new) == (0, 0)
    assert not client.exists("k3") and client.execute_command("BF.CARD", "other") == 0


WINDOWS = {
    "none": (Create(1000), []),
    "seconds": (Create(1000, window=60), ["WINDOW", 60]),
    "other seconds": (Create(1000, window=90), ["WINDOW", 90]),
    "last": (Create(1000, last=True), ["LAST"]),
    "manual": (Create(1000, generations=4), ["GENERATIONS", 4]),
}


@pytest.mark.parametrize("found", WINDOWS)
@pytest.mark.parametrize("wanted", WINDOWS)
def test_every_call_that_adds_refuses_another_window(plain, bloomline_server, found, wanted):
    create, words = WINDOWS[wanted][0], WINDOWS[found][1]
    uses = [
        lambda: Filter(plain, "k", create).add("a"),
        lambda: Filter(plain, "k", create).add_many(["a", "b"]),
        lambda: Filter(plain, "k", create).create(),
        lambda: ShardedFilter(plain, "s", 1, create).add_many(["a", "b"]),
    ]
    for use in uses:
        plain.flushall()
        for key in ("k", "s:1:{2977}"):
            plain.execute_command("BF.RESERVE", key, 1e-9, 1000, *words)
        if found == wanted:
            assert use() in (True, False, [True, True])
            continue
        with pytest.raises(
            (BloomlineError, redis.exceptions.ResponseError), match=r"window|WINDOW"
        ):
            use()
        assert [plain.execute_command("BF.CARD", key) for key in ("k", "s:1:{2977}")] == [0, 0]


def test_window_is_compared_when_another_program_created_the_filter(plain):
    seen = Filter(plain, "k", Create(1000))
    assert seen.add_many(["a"]) == [True]
    plain.delete("k")
    again = Filter(plain, "k", Create(1000))
    again.contains("a")
    plain.execute_command("BF.RESERVE", "k", 0.01, 1000, "WINDOW", 60)
    with pytest.raises(BulkError, match="has WINDOW 60, but Create has no window"):
        again.add_many(["a"])
    with pytest.raises(BloomlineError, match="has WINDOW 60, but Create has no window"):
        again.add("a")


@pytest.mark.parametrize("form", ["list", "generator", "lines", "fixed", "array"])
def test_a_filter_is_created_by_one_call_and_no_error(client, form):
    count = 200_000
    numbers = [b"%09d" % number for number in range(count)]
    items = {
        "list": numbers,
        "generator": (each for each in numbers),
        "lines": Lines(b"\n\n" + b"\n".join(numbers)),
        "fixed": Fixed(b"".join(numbers), 9),
        "array": numpy.array(numbers),
    }[form]
    client.config_resetstat()
    seen = Filter(client, "k", Create(300_000, 1e-9, ttl=1000))
    skipped = [False] * 2 if form == "lines" else []
    assert seen.add_many(items) == skipped + [True] * count
    assert seen.card() == count and seen.info()["Capacity"] == 300_000
    # The missing key is the only error.
    errors = client.info("errorstats")
    assert sum(each["count"] for each in errors.values()) == 1
    # A filter that goes away is created again as the first one.
    client.delete("k")
    assert seen.add_many(numbers).ones == count and seen.info()["Capacity"] == 300_000


REPLACEMENTS = {
    "deleted": lambda client: client.delete("k"),
    "created again": lambda client: (
        client.delete("k"),
        client.execute_command("BF.RESERVE", "k", 1e-9, 300_000),
    ),
    "an older one": lambda client: client.rename("older", "k"),
}


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "asyncio"])
@pytest.mark.parametrize("use", ["add_many", "contains_many"])
@pytest.mark.parametrize("replacement", REPLACEMENTS)
def test_filter_that_is_replaced_during_a_call_is_an_error(
    plain, bloomline_server, replacement, use, is_async
):
    create = Create(300_000, 1e-9, ttl=1000)
    seen = Filter(plain, "k", create)
    seen.add("a")
    plain.copy("k", "older")
    seen.add("b")

    def items():
        yield from urls(0, 100_000)
        REPLACEMENTS[replacement](plain)
        yield from urls(100_000, 200_000)

    async def use_async():
        async with redis.asyncio.Redis.from_url(bloomline_server.url) as client:
            await getattr(AsyncFilter(client, "k", create), use)(items())

    with pytest.raises(BulkError, match=r"k (was deleted|holds another filter)") as caught:
        asyncio.run(use_async()) if is_async else getattr(seen, use)(items())
    assert isinstance(caught.value.__cause__, BloomlineError)
    if use == "add_many" and replacement == "deleted":
        # What has been created meanwhile has the parameters of the first one.
        assert seen.info()["Capacity"] == 300_000 and plain.ttl("k") > 900


def test_cuckoo_filter_that_is_deleted_during_a_call_is_an_error(plain):
    members = CuckooFilter(plain, "k", CreateCuckoo(300_000))

    def items():
        yield from urls(0, 50_000)
        plain.delete("k")
        yield from urls(50_000, 100_000)

    for use in (members.add_many, members.contains_many, members.delete_many):
        members.add("a")
        with pytest.raises(BulkError, match="k was deleted"):
            use(items())


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1", "utf-16"])
def test_text_is_utf8_whatever_the_client_encodes(plain, bloomline_server, protocol, encoding):
    options = {"encoding": encoding, "protocol": protocol}
    with redis.Redis.from_url(bloomline_server.url, **options) as other:
        for seen in (Filter(other, "k", SMALL), ShardedFilter(other, "s", 3, SMALL)):
            assert seen.add("caf\u00e9") and not seen.add("caf\u00e9".encode())
            assert seen.add_many(["caf\u00e9", "b"]) == [False, True]
            assert seen.contains("b") and seen.contains_many(["b", "caf\u00e9"]).ones == 2
        members = CuckooFilter(other, "m", CreateCuckoo(1000, error_rate=1e-6, ttl=1000))
        assert members.add("caf\u00e9") and members.add_many(["caf\u00e9"]).ones
        assert members.count("caf\u00e9") == 2 and members.delete("caf\u00e9".encode())
    assert Filter(plain, "k".encode(encoding)).contains("caf\u00e9")


class Losing:
    """A client that loses its connection at the given pipeline."""

    def __init__(self, client, at):
        self.client = client
        self.left = at

    def execute_command(self, *words, **options):
        return self.client.execute_command(*words, **options)

    def pipeline(self, **options):
        self.left -= 1
        if self.left < 0:
            raise ConnectionError("lost")
        return self.client.pipeline(**options)


def test_lost_connection_is_an_error_with_the_number_added(client):
    seen = Filter(Losing(client, 2), "k", SMALL)
    with pytest.raises(BulkError, match="lost") as caught:
        seen.add_many(urls(0, 300_000))
    error = caught.value
    assert 0 < error.processed < 300_000
    assert error.new == error.processed == Filter(client, "k").card()
    assert Filter(client, "k").contains_many(urls(0, error.processed)).ones == error.processed
    assert isinstance(error.__cause__, ConnectionError)


def test_cuckoo_filter_deletes(client):
    members = CuckooFilter(client, "k", CreateCuckoo(capacity=10_000, error_rate=1e-6))
    assert members.add("a") and members.add("a") and members.count("a") == 2
    assert members.delete("a") and members.delete("a") and not members.delete("a")
    assert members.add_many(urls(0, 5000)).ones == 5000
    assert members.delete_many(urls(2500, 7500)).ones == 2500
    assert members.contains_many(urls(0, 2500)).to_numpy().all()
    assert members.info()["Number of items deleted"] == 2502


def test_full_cuckoo_filter_shows_what_was_added(client):
    members = CuckooFilter(client, "k", CreateCuckoo(capacity=1000, expansion=0))
    with pytest.raises(BulkError, match="full") as caught:
        members.add_many(urls(0, 5000))
    assert 900 < caught.value.new == caught.value.answers.ones < 5000
    assert members.info()["Number of items inserted"] == caught.value.new


def test_client_may_decode_and_have_used_bf(client, bloomline_server, protocol):
    options = {"decode_responses": True, "protocol": protocol}
    with type(client).from_url(bloomline_server.url, **options) as text:
        seen = Filter(text, "k", SMALL)
        assert seen.add_many(urls(0, 1000)).ones == 1000
        text.bf().info("k")
        assert seen.info()["Number of items inserted"] == 1000
        assert seen.info()["Capacity"] == 200_000
        assert seen.contains_many(urls(999, 1001)) == [True, False]


class WithoutPackedCalls:
    """A client of a server that does not know packed calls, as RedisBloom does not."""

    def __init__(self, client):
        self.client = client
        self.names = []

    def change(self, words):
        self.names.append(words[0])
        return ["NO." + words[0], *words[1:]] if "BULK" in words[0] else words

    def execute_command(self, *words, **options):
        return self.client.execute_command(*self.change(words), **options)

    def pipeline(self, **options):
        pipeline = self.client.pipeline(**options)
        known = pipeline.execute_command
        pipeline.execute_command = lambda *words, **options: known(*self.change(words), **options)
        return pipeline


def test_server_without_packed_calls_is_served(client):
    plain = WithoutPackedCalls(client)
    seen = Filter(plain, "k", SMALL)
    assert seen.add_many(urls(0, 3000)).ones == 3000
    assert seen.add_many(Lines("\n".join(urls(2990, 3010)).encode())) == [False] * 10 + [True] * 10
    assert seen.contains_many(numpy.zeros(3, "<u8")) == [False] * 3
    # They are tried once.
    assert 0 < sum("BULKADD" in name for name in plain.names) <= 4
    assert Filter(plain, "default").add_many(urls(0, 3000)).ones > 2900
    assert "BF.MADD" in plain.names
    few = Filter(plain, "few", Create(capacity=1500, error_rate=1e-9, expansion=0))
    with pytest.raises(BulkError, match="full") as caught:
        few.add_many(urls(0, 3000))
    assert caught.value.processed == few.card() == caught.value.new
    members = CuckooFilter(plain, "members", CreateCuckoo(capacity=10_000))
    assert members.add_many(urls(0, 10)).ones == members.delete_many(urls(0, 20)).ones == 10


def test_asyncio_has_the_same_answers(bloomline_server, library, protocol):
    aio = importlib.import_module(f"{library.__name__}.asyncio")

    async def use():
        async with client_class(aio).from_url(bloomline_server.url, protocol=protocol) as client:
            await client.flushall()
            seen = AsyncFilter(client, "k", SMALL)
            assert await seen.add("a") and not await seen.add("a") and await seen.contains("a")
            assert (await seen.add_many(urls(0, 40_000))).ones == 40_000
            assert (await seen.contains_many(urls(1, 40_001))).ones == 39_999
            assert await seen.card() == 40_001
            assert (await seen.stats())["capacity"] == 200_000
            assert (await seen.info())["Capacity"] == 200_000
            members = AsyncCuckooFilter(client, "members", CreateCuckoo(capacity=100))
            assert await members.add("a") and await members.delete("a")
            await client.set("text", "x")
            with pytest.raises(BulkError, match=r"WRONGTYPE|wrong kind"):
                await AsyncFilter(client, "text").add_many(["a"])

    asyncio.run(use())


def test_memory_does_not_grow_with_the_number_of_items(client):
    seen = Filter(client, "k", SMALL)
    tracemalloc.start()
    seen.add_many(str(number % 1000) for number in range(1_000_000))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # Four batches of 16,384 texts with their packed bytes, and a bit per item.
    assert peak < 24 << 20


def test_parts_are_merged_and_compacted(client):
    create = Create(capacity=100_000, error_rate=1e-6, seed=7)
    parts = [Filter(client, f"{{crawl}}:{number}", create) for number in range(3)]
    for number, part in enumerate(parts):
        part.add_many(urls(number * 1000, number * 1000 + 1500))
    whole = Filter(client, "{crawl}:all")
    whole.merge(*(part.key for part in parts))
    assert whole.contains_many(urls(0, 3500)).to_numpy().all()
    size = whole.info()["Size"]
    assert whole.compact() == size - whole.info()["Size"] > size / 2
    assert whole.contains_many(urls(0, 3500)).to_numpy().all()
    other = Filter(client, "{crawl}:other", Create(capacity=100, seed=7))
    other.create()
    with pytest.raises(Exception, match="cannot merge"):
        whole.merge(other.key)


def test_clients_of_the_other_kind_are_refused(library):
    aio = importlib.import_module(f"{library.__name__}.asyncio")
    waiting, other = client_class(library)(), client_class(aio)()
    many = importlib.import_module(f"{library.__name__}.asyncio.cluster")
    clusters = getattr(many, CLUSTERS[library.__name__])(host="127.0.0.1", port=1)
    for kind, of_asyncio in [
        (Filter, AsyncFilter),
        (CuckooFilter, AsyncCuckooFilter),
        (ShardedFilter, AsyncShardedFilter),
    ]:
        more = [2] if kind is ShardedFilter else []
        for client in (other, clusters):
            with pytest.raises(TypeError, match=f"use {of_asyncio.__name__} instead"):
                kind(client, "seen", *more)
            of_asyncio(client, "seen", *more)
        with pytest.raises(TypeError, match=f"use {kind.__name__} instead"):
            of_asyncio(waiting, "seen", *more)
        for pipeline in (waiting.pipeline(), other.pipeline()):
            for each in (kind, of_asyncio):
                with pytest.raises(TypeError, match="this is a pipeline"):
                    each(pipeline, "seen", *more)


def raise_bulk_error(url):
    with redis.Redis.from_url(url) as client:
        Filter(client, "few", Create(10, 1e-9, expansion=0)).add_many(urls(0, 1000))


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_errors_and_answers_are_pickled(plain, bloomline_server, protocol):
    with pytest.raises(BulkError) as caught:
        raise_bulk_error(bloomline_server.url)
    error = caught.value
    error.user = "of the program"
    for again in (pickle.loads(pickle.dumps(error, protocol)), copy.copy(error)):
        assert type(again) is BulkError and str(again) == str(error) and "full" in str(again)
        assert (again.answers, again.processed, again.new) == (error.answers, 10, 10)
        assert again.user == "of the program"
    again = pickle.loads(pickle.dumps(BloomlineError("why"), protocol))
    assert (type(again), str(again)) == (BloomlineError, "why")


def test_error_of_another_process_is_raised(plain, bloomline_server):
    # CPython, issue 103061: a pool never stops waiting for an error that cannot be made again.
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        result = pool.apply_async(raise_bulk_error, (bloomline_server.url,))
        with pytest.raises(BulkError, match="full") as caught:
            result.get(DEADLINE)
    assert caught.value.processed == 10


@pytest.mark.parametrize("items", [[], ["a"], ["a", "b", "c", "d"], iter(["a", "b"]), iter("abcd")])
def test_select_refuses_another_number_of_items(items):
    with pytest.raises(ValueError, match="the call, which has 3"):
        of_booleans([True, False, True]).select(items)


def test_select_refuses_the_generator_that_is_used_up(plain):
    items = (url for url in urls(0, 100))
    answers = Filter(plain, "k", SMALL).add_many(items)
    with pytest.raises(ValueError, match="100"):
        answers.select(items)
    assert answers.select(url for url in urls(0, 100)) == urls(0, 100)


def test_answers_equal_any_sequence_of_the_same_booleans():
    answers = of_booleans([True, False])
    for same in ([True, False], (True, False), of_booleans([1, 0]), deque([True, False])):
        assert answers == same and same == answers
    for other in ([True], (True, True), of_booleans([True]), "10", None, 2, {True, False}):
        assert answers != other and other != answers


def test_numbers_of_numpy_are_numbers(plain):
    create = Create(numpy.int64(100), numpy.float64(0.01), ttl=numpy.int32(1000))
    assert create == Create(1e2, numpy.float32(0.01).astype("f8").round(2), ttl=1000)
    assert Filter(plain, "k", create).create() and Filter(plain, "k2", create).add("a")
    cuckoo = CreateCuckoo(numpy.uint16(100), numpy.float64(0.01))
    assert CuckooFilter(plain, "m", cuckoo).create()
    assert Filter(plain, "k").add_many(Fixed(b"abcdef", numpy.int64(3))).ones == 2
    for wrong in (1.5, "100", float("nan"), float("inf"), numpy.float64(0.5)):
        with pytest.raises(ValueError, match="capacity must be a whole number"):
            Create(wrong)
        with pytest.raises(ValueError, match="capacity must be a whole number"):
            CreateCuckoo(wrong)
    with pytest.raises(ValueError, match="width must be a whole number"):
        Fixed(b"abc", 1.5)


def test_views_are_their_bytes_in_every_call(client):
    rows = numpy.arange(6, dtype="u1").reshape(2, 3)
    views = [
        memoryview(b"hxix")[::2],
        memoryview(rows),
        memoryview(rows.T),
        memoryview(b"ab")[::-1],
    ]
    words = [b"hi", bytes(range(6)), bytes([0, 3, 1, 4, 2, 5]), b"ba"]
    seen, members = Filter(client, "k", SMALL), CuckooFilter(client, "members")
    assert seen.add_many(views).ones == members.add_many([*views, "text"]).ones - 1 == 4
    assert seen.contains_many(words).ones == seen.contains_many(views).ones == seen.card() == 4
    for view, word in zip(views, words):
        assert seen.contains(view) and seen.contains(word) and members.contains(word)


def test_rows_of_no_bytes_are_refused(plain):
    with pytest.raises(ValueError, match="no bytes"):
        Filter(plain, "k").add_many(numpy.zeros((5, 0), "u1"))


@pytest.mark.parametrize("item", [5, None, 1.5])
def test_items_are_text_or_bytes(plain, item):
    for call in (Filter(plain, "seen").add, CuckooFilter(plain, "members").delete):
        with pytest.raises(TypeError, match="must be str or bytes"):
            call(item)


def test_fields_are_text(client):
    seen = Filter(client, "seen", Create(capacity=1000))
    seen.add("a")
    assert all(isinstance(fill, str) for fill in seen.stats()["layer_fills"])
