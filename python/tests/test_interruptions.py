"""What a program does to a call of many items: it interrupts, cancels, shares, or runs out."""

import asyncio
import contextlib
import importlib
import itertools
import tempfile
import threading
import tracemalloc
from pathlib import Path

import pytest
import redis.backoff
from conftest import CLUSTERS, LIBRARIES, client_class, start_node
from proxy import Proxy

from bloomline import (
    AsyncCuckooFilter,
    AsyncFilter,
    BulkError,
    Create,
    CreateCuckoo,
    CuckooFilter,
    Filter,
    Lines,
    ShardedFilter,
)
from bloomline.errors import library_errors
from bloomline.module import LocalServer

SMALL = Create(capacity=400_000, error_rate=1e-9)


def urls(first, last):
    return [f"https://example.com/page/{number}" for number in range(first, last)]


def test_error_of_the_iterable_passes_through(client):
    seen = Filter(client, "k", SMALL)

    def items():
        yield from urls(0, 100_000)
        raise KeyError("no more")

    with pytest.raises(KeyError, match="no more"):
        seen.add_many(items())
    # Of what was drawn at most four batches were not sent.
    assert 100_000 - 4 * 16_384 <= seen.card() <= 100_000
    assert seen.contains_many(urls(0, seen.card())).to_numpy().all()


def test_endless_items_end_at_the_first_refused_one(client):
    drawn = itertools.count()
    seen = Filter(client, "k", Create(capacity=1000, error_rate=1e-9, expansion=0))
    with pytest.raises(BulkError, match="full") as caught:
        seen.add_many(str(number) for number in drawn)
    assert caught.value.processed == caught.value.new == seen.card() >= 1000
    assert next(drawn) < 4 * 16_384


@pytest.mark.parametrize("at", [0, 1, 3, 6])
def test_interrupted_call_leaves_the_client_usable(client, at):
    seen = Filter(client, "k", SMALL)
    items = urls(0, 200_000)
    seen.contains("a")
    (connection,) = client.connection_pool._available_connections
    parser, replies = connection._parser, itertools.count()
    read = parser.read_response

    def interrupted(*arguments, **options):
        if next(replies) == at:
            raise KeyboardInterrupt
        return read(*arguments, **options)

    parser.read_response = interrupted
    with pytest.raises(KeyboardInterrupt):
        seen.contains_many(items)
    # No reply of the interrupted call is taken for one of these.
    assert seen.add_many(items[:1000]).ones == 1000
    assert seen.contains_many(items[:2000]) == [True] * 1000 + [False] * 1000
    assert seen.card() == 1000


def test_cancelled_call_leaves_the_client_usable(bloomline_server, library, protocol):
    aio = importlib.import_module(f"{library.__name__}.asyncio")

    async def use():
        async with client_class(aio).from_url(bloomline_server.url, protocol=protocol) as client:
            await client.flushall()
            seen = AsyncFilter(client, "k", SMALL)
            items = urls(0, 400_000)
            for seconds in (0.0001, 0.002, 0.02):
                call = asyncio.create_task(seen.contains_many(items))
                await asyncio.sleep(seconds)
                # On a fast machine it may be over.
                call.cancel()
                await asyncio.gather(call, return_exceptions=True)
            assert (await seen.add_many(items[:1000])).ones == 1000
            found = await seen.contains_many(items[:2000])
            assert found == [True] * 1000 + [False] * 1000

    asyncio.run(use())


def test_threads_may_share_a_filter(client):
    seen = Filter(client, "k", SMALL)
    new = []

    def add(first):
        new.append(seen.add_many(urls(first, first + 30_000)).ones)
        assert seen.contains_many(urls(first, first + 30_000)).to_numpy().all()

    threads = [threading.Thread(target=add, args=(first,)) for first in range(0, 80_000, 20_000)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    # Of the items that two of them add, one gets each as new.
    assert sum(new) == seen.card() == 90_000


@pytest.mark.parametrize("form", [list, iter], ids=["list", "iterator"])
def test_calls_of_large_items_are_bounded(client, form):
    # 400 items of 1 MiB in one call would be near the server's limit of 512 MiB.
    client.config_set("proto-max-bulk-len", 8 << 20)
    small = [b"%d" % number for number in range(5000)]
    # The same bytes but for the first ones, so that the test does not need their memory.
    large = [b"%04d" % number * (1 << 18) for number in range(20)]
    try:
        seen = Filter(client, "k", SMALL)
        assert seen.add_many(form(large)).ones == 20
        assert seen.add_many(form(small + large + small)).ones == 5000
        assert seen.contains_many(form(large)).ones == 20
    finally:
        client.config_set("proto-max-bulk-len", 512 << 20)


def test_large_items_of_an_iterator_take_little_memory(client):
    seen = Filter(client, "k", SMALL)
    tracemalloc.start()
    seen.add_many(b"%04d" % number * (1 << 16) for number in range(1024))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # All of them have 256 MiB.
    assert peak < 128 << 20


def test_mapped_file_of_lines_is_not_read_into_memory(client, tmp_path):
    import mmap  # noqa: PLC0415

    path = tmp_path / "lines"
    path.write_bytes(b"".join(b"line %d\n" % (number % 1000) for number in range(3_000_000)))
    seen = Filter(client, "k", SMALL)
    with path.open("rb") as file:
        block = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    tracemalloc.start()
    new = seen.add_many(Lines(block)).ones
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert new == 1000
    assert peak < 12 << 20 < path.stat().st_size


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
@pytest.mark.parametrize("size", [10, 1 << 20, 5 << 20], ids=["short", "batch", "long"])
def test_blocks_of_long_lines_are_cut_at_line_ends(client, kind, size):
    lines = [b"a" * size, b"b", b"c" * size + b"\r", b"", b"d" * size]
    answers = Filter(client, "k", SMALL).add_many(Lines(kind(b"\n".join(lines))))
    assert answers == [True, True, True, False, True]
    assert Filter(client, "k").contains_many([lines[0], b"b", lines[2][:-1], lines[4]]).ones == 4


@pytest.fixture(scope="module")
def proxied():
    """Ways to a server and to a cluster: proxies, by the name of the class of the client."""
    with (
        tempfile.TemporaryDirectory(prefix="bloomline-") as folder,
        contextlib.ExitStack() as stack,
    ):
        server = stack.enter_context(LocalServer(Path(folder)))
        proxies = {"server": Proxy(server.socket)}

        def announced(port):
            proxies["cluster"] = Proxy(("127.0.0.1", port))
            return proxies["cluster"].port

        stack.enter_context(start_node(announced))
        yield proxies
        for proxy in proxies.values():
            proxy.close()


RETRIES = {"default": lambda _: {}, "none": lambda _: {"retry": None}, "ten": lambda retry: retry}
# Calls, the command whose connection is lost, and the copies of the item afterwards.
ONCE = {
    "add": (lambda members: members.add("a"), b"CF.ADD", 3),
    "add_many": (lambda members: members.add_many(["a"]), b"CF.BULKADD", 3),
    "delete": (lambda members: members.delete("a"), b"CF.DEL", 1),
    "delete_many": (lambda members: members.delete_many(["a"]), b"CF.BULKDEL", 1),
}


def options_of(library, retry):
    module = importlib.import_module(f"{library.__name__}.retry")
    name = library.__name__.partition(".")[0]
    backoff = importlib.import_module(f"{name}.backoff").NoBackoff()
    return RETRIES[retry]({"retry": module.Retry(backoff, 10)})


@pytest.mark.parametrize("kind", ["server", "cluster"])
@pytest.mark.parametrize("retry", RETRIES)
@pytest.mark.parametrize("use", ONCE)
def test_no_copy_is_added_or_deleted_twice(proxied, library, kind, retry, use):
    # redis-py, issue 261: a call whose reply is late or lost is sent, and runs, twice.
    names = LIBRARIES if kind == "server" else CLUSTERS
    call, text, copies = ONCE[use]
    proxy = proxied[kind]
    options = options_of(library, retry)
    for create in (None, CreateCuckoo(1000)):
        name = names[library.__name__]
        client = getattr(library, name)(host="127.0.0.1", port=proxy.port, **options)
        client.flushall()
        members = CuckooFilter(client, "k", create)
        assert members.add("a") and members.add("a")
        proxy.cut(text)
        with pytest.raises((BulkError, OSError, *library_errors())):
            call(members)
        assert proxy.cuts == 0
        # The client of a cluster may have to learn of its nodes again.
        with getattr(library, name)(host="127.0.0.1", port=proxy.port) as other:
            assert CuckooFilter(other, "k").count("a") == copies
        if (kind, retry) == ("server", "ten"):
            (connection,) = client.connection_pool._available_connections
            # Other calls are repeated as before.
            assert connection.retry._retries == 10
        client.close()


@pytest.mark.parametrize("kind", ["server", "cluster"])
@pytest.mark.parametrize("retry", RETRIES)
@pytest.mark.parametrize("use", ONCE)
def test_no_copy_is_added_or_deleted_twice_by_asyncio(proxied, library, kind, retry, use):
    aio = importlib.import_module(f"{library.__name__}.asyncio")
    names = LIBRARIES if kind == "server" else CLUSTERS
    call, text, copies = ONCE[use]
    proxy = proxied[kind]
    options = options_of(aio, retry)

    async def run():
        name = names[library.__name__]
        client = getattr(aio, name)(host="127.0.0.1", port=proxy.port, **options)
        await client.flushall()
        members = AsyncCuckooFilter(client, "k", CreateCuckoo(1000))
        assert await members.add("a") and await members.add("a")
        proxy.cut(text)
        with pytest.raises((BulkError, OSError, *library_errors())):
            await call(members)
        await client.aclose()
        assert proxy.cuts == 0
        with getattr(library, name)(host="127.0.0.1", port=proxy.port) as other:
            assert CuckooFilter(other, "k").count("a") == copies

    asyncio.run(run())


@pytest.mark.parametrize("number", [0, 1])
def test_interrupted_call_leaves_no_reply_for_the_next_one(plain, monkeypatch, number):
    seen = ShardedFilter(plain, "seen", 4, SMALL)
    seen.add("a")
    kind = plain.connection_pool.connection_class
    read, replies = kind.read_response, []

    def read_response(*words, **options):
        if len(replies) == number:
            monkeypatch.undo()
            raise KeyboardInterrupt
        replies.append(read(*words, **options))
        return replies[-1]

    monkeypatch.setattr(kind, "read_response", read_response)
    with pytest.raises(KeyboardInterrupt):
        seen.contains("a")
    assert seen.contains("a") and not seen.contains("b")


# Options with which a client repeats no call, as the page has them.
NO_REPETITION = {
    ("redis", "server"): lambda _: {"retry": None},
    ("valkey", "server"): lambda _: {"retry": None},
    ("redis", "cluster"): lambda retry: {"retry": retry(redis.backoff.NoBackoff(), 0)},
    ("valkey", "cluster"): lambda _: {"cluster_error_retry_attempts": 0},
}
# Calls, and the commands whose connection is lost after they have run.
CALLS = {
    "add": (lambda seen: seen.add("a"), "BF.INSERT"),
    "add_many": (lambda seen: seen.add_many(urls(0, 50_000)), "BF.BULKADD"),
}


@pytest.mark.parametrize("kind", ["server", "cluster"])
@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "asyncio"])
@pytest.mark.parametrize("use", CALLS)
def test_lost_reply_is_an_error_where_calls_are_not_repeated(proxied, library, kind, is_async, use):
    # redis-py, issues 977 and 3554: a repeated call makes new items known, without an error.
    name = library.__name__
    module = importlib.import_module(f"{name}.asyncio") if is_async else library
    retry = importlib.import_module(f"{module.__name__}.retry").Retry
    kinds = (LIBRARIES if kind == "server" else CLUSTERS)[name]
    proxy, options = proxied[kind], NO_REPETITION[name, kind](retry)
    call, text = CALLS[use]
    client = getattr(module, kinds)(host="127.0.0.1", port=proxy.port, **options)
    with contextlib.closing(getattr(library, kinds)(host="127.0.0.1", port=proxy.port)) as other:
        other.flushall()

    async def use_async():
        seen = AsyncFilter(client, "k", SMALL)
        await seen.add("before")
        proxy.cut(text.encode())
        try:
            await call(seen)
        finally:
            await client.aclose()

    with pytest.raises((BulkError, OSError, *library_errors())) as caught:
        if is_async:
            asyncio.run(use_async())
        else:
            seen = Filter(client, "k", SMALL)
            seen.add("before")
            proxy.cut(text.encode())
            call(seen)
    assert proxy.cuts == 0
    if use == "add_many":
        assert caught.value.answers == [] and caught.value.processed == 0
    with contextlib.closing(getattr(library, kinds)(host="127.0.0.1", port=proxy.port)) as other:
        # The call has run: whoever repeats it knows so by the error.
        again = Filter(other, "k", SMALL)
        assert not again.add("a" if use == "add" else urls(0, 1)[0])
