"""A server with RedisBloom gives the same answers, and clear errors for what it does not have."""

import asyncio
import contextlib
import importlib
import tempfile
from pathlib import Path

import numpy
import pytest
import redis
from conftest import CLUSTERS, PATIENT, SERVERS, client_class, start_node
from test_copying import call
from test_load import refused

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
    Lines,
    ShardedFilter,
)
from bloomline.module import LocalServer

# `scripts/servers.sh redis-7.4` fetches it.
MODULE = SERVERS / "redis-7.4" / "redisbloom.so"
SMALL = Create(capacity=20_000, error_rate=1e-9)
FULL = Create(capacity=1500, error_rate=1e-9, expansion=0)


def items(first, last):
    return [f"item:{number}" for number in range(first, last)]


@contextlib.contextmanager
def redisbloom():
    """Servers that are started meanwhile are of the release of RedisBloom, with this module."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BLOOMLINE_SERVER", str(MODULE.with_name("server")))
        patch.setenv("BLOOMLINE_SO", str(MODULE))
        yield


@pytest.fixture(scope="module")
def peer():
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="bloomline-"))
        with redisbloom():
            server = stack.enter_context(LocalServer(Path(folder)))
        yield server


@pytest.fixture
def client(peer, library, protocol):
    kind, options = client_class(library), {"protocol": protocol, **PATIENT}
    with kind.from_url(peer.url, **options) as client:
        client.flushall()
        yield client


def test_server_has_redisbloom(client):
    assert client.execute_command("BF.MADD", "k", "a", "a") == [1, 0]
    with pytest.raises(Exception, match="unknown command"):
        client.execute_command("BF.BULKADD", "k", "LINES", "a")


def test_bloom_filter_has_the_same_answers(client):
    seen = Filter(client, "k", SMALL)
    assert not seen.contains("a") and seen.contains_many(["a"]) == [False]
    assert seen.add("a") and not seen.add(b"a") and seen.contains("a") and not seen.create()
    assert seen.add_many(items(0, 9000)[::3]).ones == 3000
    assert seen.add_many(items(0, 9000)) == [number % 3 != 0 for number in range(9000)]
    assert seen.contains_many(items(0, 9001)) == [True] * 9000 + [False]
    block = "\r\n".join([*items(8999, 9001), "", "x"]).encode()
    assert seen.add_many(Lines(block)) == [False, True, False, True]
    assert seen.add_many(numpy.arange(100, dtype="<u8")).ones == 100
    assert seen.card() == seen.info()["Number of items inserted"] == 9103
    assert seen.add_many([]) == seen.add_many(iter(())) == seen.add_many(Lines(b"")) == []
    assert seen.add_many(Lines(b"\n")) == [False]


def test_full_bloom_filter_has_the_number_added(client):
    seen = Filter(client, "k", FULL)
    for ready in (0, 700):
        client.delete("k")
        seen.create()
        seen.add_many(items(5000, 5000 + ready))
        with pytest.raises(BulkError, match="full") as caught:
            seen.add_many(items(0, 4000))
        error = caught.value
        assert error.processed == error.new == error.answers.ones == 1500 - ready
        assert seen.card() == 1500
    with pytest.raises(Exception, match="full"):
        seen.add("another")


def test_cuckoo_filter_has_the_same_answers(client):
    members = CuckooFilter(client, "k", CreateCuckoo(capacity=10_000))
    assert members.add("a") and members.add("a") and members.count("a") == 2
    assert members.delete("a") and members.contains("a") and members.delete("a")
    assert members.add_many(items(0, 3000)).ones == 3000
    assert members.contains_many(items(0, 3000)).ones == 3000
    assert members.delete_many(items(0, 1000)).ones == 1000
    assert members.info()["Number of items inserted"] == 2000


def test_full_cuckoo_filter_shows_what_was_added(client):
    members = CuckooFilter(client, "k", CreateCuckoo(capacity=100, expansion=0))
    with pytest.raises(BulkError, match="full") as caught:
        members.add_many(items(0, 250))
    error = caught.value
    assert error.processed == 250
    added = members.info()["Number of items inserted"]
    assert error.new == error.answers.ones == added > 90
    assert members.contains_many(error.answers.select(items(0, 250))).ones == added


@pytest.mark.parametrize(
    "options",
    [
        {"window": 10},
        {"last": True},
        {"refresh": False},
        {"ttl": 5},
        {"seed": 5},
        {"layout": "BLOOMLINE"},
    ],
    ids=lambda options: next(iter(options)),
)
def test_options_of_bloomline_are_refused(client, options):
    # RedisBloom itself ignores them in BF.RESERVE: the filter would never forget.
    seen = Filter(client, "k", Create(100, **options))
    for use in (seen.create, lambda: seen.add("a"), lambda: seen.add_many(["a"])):
        with pytest.raises(BloomlineError, match="needs the module Bloomline"):
            use()
    members = CuckooFilter(client, "k", CreateCuckoo(100, error_rate=0.001))
    for use in (members.create, lambda: members.add("a"), lambda: members.add_many(["a"])):
        with pytest.raises(BloomlineError, match=r"ERROR 0.001 needs the module Bloomline"):
            use()
    sharded = ShardedFilter(client, "k", 3, Create(100, **options))
    for use in (sharded.create, lambda: sharded.add("a"), lambda: sharded.add_many(["a"])):
        with pytest.raises(BloomlineError, match="needs the module Bloomline"):
            use()
    assert client.keys() == []


def test_calls_of_bloomline_are_unknown(client):
    seen = Filter(client, "k", SMALL)
    seen.create()
    for use in (seen.stats, seen.compact, lambda: seen.merge("other")):
        with pytest.raises(Exception, match="unknown command 'BF"):
            use()


def test_wrong_type_adds_nothing(client):
    client.set("k", "text")
    for create in (None, SMALL):
        with pytest.raises(BulkError, match="WRONGTYPE") as caught:
            Filter(client, "k", create).add_many(items(0, 10))
        assert (caught.value.processed, caught.value.new) == (0, 0)


def test_shards_have_the_same_answers(client):
    seen = ShardedFilter(client, "seen", 5, SMALL)
    assert seen.create() and not seen.create()
    assert seen.add_many(items(0, 20_000)[::2]).ones == 10_000
    assert seen.contains_many(items(0, 20_000)) == [n % 2 == 0 for n in range(20_000)]
    assert seen.card() == seen.info()["Number of items inserted"] == 10_000
    client.delete(seen.keys[2])
    client.execute_command("BF.RESERVE", seen.keys[2], 1e-9, 10, "NONSCALING")
    with pytest.raises(BulkError, match="full") as caught:
        seen.add_many(items(20_000, 21_000))
    assert caught.value.new > caught.value.processed > 10
    assert seen.contains_many(items(20_000, 20_000 + caught.value.processed)).to_numpy().all()


def test_asyncio_has_the_same_answers(peer, library, protocol):
    aio = importlib.import_module(f"{library.__name__}.asyncio")

    async def use():
        async with client_class(aio).from_url(peer.url, protocol=protocol) as client:
            await client.flushall()
            seen = AsyncFilter(client, "k", SMALL)
            assert await seen.add("a") and not await seen.add("a") and await seen.contains("a")
            assert (await seen.add_many(items(0, 9000))).ones == 9000
            assert await seen.card() == 9001
            sharded = AsyncShardedFilter(client, "seen", 4, SMALL)
            assert (await sharded.add_many(items(0, 9000))).ones == 9000
            members = AsyncCuckooFilter(client, "members", CreateCuckoo(capacity=1000))
            assert (await members.add_many(items(0, 100))).ones == 100
            with pytest.raises(BulkError, match="full") as caught:
                await AsyncFilter(client, "few", FULL).add_many(items(0, 4000))
            assert caught.value.processed == caught.value.new == 1500
            with pytest.raises(BloomlineError, match="WINDOW 60 needs"):
                await AsyncFilter(client, "new", Create(100, window=60)).add("a")

    asyncio.run(use())


@pytest.fixture(scope="module")
def node():
    with contextlib.ExitStack() as stack:
        with redisbloom():
            url = stack.enter_context(start_node())
        yield url


def test_clients_of_a_cluster_have_the_same_answers(cluster):
    seen = Filter(cluster, "k", SMALL)
    assert seen.add_many(items(0, 9000)).ones == seen.contains_many(items(0, 9500)).ones == 9000
    sharded = ShardedFilter(cluster, "seen", 4, SMALL)
    assert sharded.add_many(items(0, 9000)).ones == sharded.card() == 9000
    with pytest.raises(BloomlineError, match="SEED 7 needs the module Bloomline"):
        Filter(cluster, "new", Create(100, seed=7)).create()


def test_asyncio_clients_of_a_cluster_have_the_same_answers(node, library, protocol):
    aio = importlib.import_module(f"{library.__name__}.asyncio")

    async def use():
        client = getattr(aio, CLUSTERS[library.__name__]).from_url(node, protocol=protocol)
        try:
            await client.flushall()
            assert (await AsyncFilter(client, "k", SMALL).add_many(items(0, 9000))).ones == 9000
            sharded = AsyncShardedFilter(client, "seen", 4, SMALL)
            assert (await sharded.add_many(items(0, 9000))).ones == 9000
        finally:
            await client.aclose()

    asyncio.run(use())


@pytest.mark.parametrize("command", ["load", "check"])
def test_command_line_needs_bloomline(peer, client, tmp_path, command):
    file = tmp_path / "items.txt"
    file.write_text("\n".join(items(0, 10)))
    message = f"bloomline: `bloomline {command}` needs the module Bloomline, which the server does"
    assert refused(peer, command, "k", file) == message + " not have"
    assert client.keys() == []


@pytest.mark.parametrize("family", ["BF", "CF"])
def test_filters_of_the_peer_are_imported(peer, bloomline_server, tmp_path, family):
    with redis.Redis.from_url(peer.url) as here, redis.Redis.from_url(bloomline_server.url) as new:
        here.flushall()
        new.flushall()
        kind, create = (Filter, SMALL) if family == "BF" else (CuckooFilter, CreateCuckoo(4000))
        kind(here, "k", create).add_many(items(0, 3000))
        call(peer, "export", "k", tmp_path / "k.dump")
        call(bloomline_server, "import", "imported", tmp_path / "k.dump")
        assert kind(new, "imported").contains_many(items(0, 3000)).ones == 3000
