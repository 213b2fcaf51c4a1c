"""Filters on the cluster clients of both libraries; the cluster is one node with all slots."""

import asyncio
import contextlib
import importlib
import socket
import tempfile
import time
from pathlib import Path

import pytest
import redis
from test_load import start

from bloomline import AsyncFilter, AsyncShardedFilter, BulkError, Create, Filter, ShardedFilter
from bloomline.module import LocalServer

CLUSTERS = {"redis": "RedisCluster", "valkey": "ValkeyCluster"}
SMALL = Create(capacity=100_000, error_rate=1e-9)
DEADLINE = 60.0


def urls(first, last):
    return [f"https://example.com/page/{number}" for number in range(first, last)]


@contextlib.contextmanager
def start_node():
    """Starts a cluster of one node with all slots. Returns its URL."""
    with socket.socket() as probe, socket.socket() as bus_probe:
        probe.bind(("127.0.0.1", 0))
        bus_probe.bind(("127.0.0.1", 0))
        port, bus = probe.getsockname()[1], bus_probe.getsockname()[1]
    options = ["--cluster-enabled", "yes", "--bind", "127.0.0.1"]
    options += ["--port", str(port), "--cluster-port", str(bus)]
    folder = tempfile.TemporaryDirectory(prefix="bloomline-")
    with folder as name, LocalServer(Path(name), *options) as server:
        with redis.Redis.from_url(server.url) as client:
            client.execute_command("CLUSTER", "ADDSLOTSRANGE", 0, 16383)
            end = time.monotonic() + DEADLINE
            while "cluster_state:ok" not in str(client.execute_command("CLUSTER", "INFO")):
                assert time.monotonic() < end
                time.sleep(0.01)
        yield f"redis://127.0.0.1:{port}"


@pytest.fixture(scope="module")
def node():
    with start_node() as url:
        yield url


@pytest.fixture
def cluster(node, library, protocol):
    client = getattr(library, CLUSTERS[library.__name__]).from_url(node, protocol=protocol)
    client.flushall()
    yield client
    client.close()


@pytest.mark.parametrize("create", [None, SMALL], ids=["default", "create"])
def test_filter_answers_as_on_one_server(cluster, create):
    seen = Filter(cluster, "k", create)
    assert seen.add("a") and not seen.add("a") and seen.contains("a")
    assert seen.add_many(urls(0, 50_000)).ones > 49_000
    assert seen.contains_many(urls(0, 50_000)).to_numpy().all()
    assert seen.stats()["items"] == seen.card()


def test_errors_have_the_number_added(cluster):
    few = Filter(cluster, "few", Create(capacity=30_000, error_rate=1e-9, expansion=0))
    with pytest.raises(BulkError, match="full") as caught:
        few.add_many(urls(0, 90_000))
    assert caught.value.processed == caught.value.new == few.card()
    cluster.set("text", "x")
    with pytest.raises(BulkError, match=r"WRONGTYPE|wrong kind") as caught:
        Filter(cluster, "text").add_many(urls(0, 10))
    assert caught.value.processed == 0


def test_client_may_decode(node, library, protocol):
    options = {"decode_responses": True, "protocol": protocol}
    client = getattr(library, CLUSTERS[library.__name__]).from_url(node, **options)
    client.flushall()
    assert Filter(client, "k", SMALL).add_many(urls(0, 50_000)).ones == 50_000
    assert ShardedFilter(client, "seen", 4, SMALL).add_many(urls(0, 5000)).ones == 5000
    client.close()


def test_shards_answer_in_order(cluster):
    seen = ShardedFilter(cluster, "seen", 16, SMALL)
    assert seen.add_many(urls(0, 50_000)[::2]).ones == 25_000
    assert seen.contains_many(urls(0, 50_000)) == [n % 2 == 0 for n in range(50_000)]
    assert sum(seen.cards()) == 25_000


def test_asyncio_has_the_same_answers(node, library, protocol):
    aio = importlib.import_module(f"{library.__name__}.asyncio")

    async def use():
        client = getattr(aio, CLUSTERS[library.__name__]).from_url(node, protocol=protocol)
        try:
            await client.flushall()
            seen = AsyncFilter(client, "k", SMALL)
            assert await seen.add("a") and not await seen.add("a")
            assert (await seen.add_many(urls(0, 50_000))).ones == 50_000
            sharded = AsyncShardedFilter(client, "seen", 8, SMALL)
            assert (await sharded.add_many(urls(0, 10_000))).ones == 10_000
        finally:
            await client.aclose()

    asyncio.run(use())


def test_command_line_loads_into_a_cluster(node, tmp_path):
    file = tmp_path / "urls.txt"
    file.write_text("\n".join(urls(0, 10_000)))
    # So low that no line is a false positive.
    words = ["load", "--cluster", "--url", node, "--error", "1e-9", "loaded", file]

    class Anywhere:
        url = "redis://127.0.0.1:1"

    program = start(Anywhere, *words)
    out, errors = program.communicate(timeout=DEADLINE)
    assert (program.returncode, errors) == (0, b"")
    assert b"10,000 items, 10,000 new" in out
