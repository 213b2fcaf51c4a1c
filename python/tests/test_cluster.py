"""Filters on the cluster clients of both libraries; the cluster is one node with all slots."""

import argparse
import asyncio
import importlib

import pytest
import redis
from conftest import CLUSTERS, DEADLINE, start_node, start_two_nodes
from ports import free_port
from test_load import refused, start

from bloomline import (
    AsyncFilter,
    AsyncShardedFilter,
    BloomlineError,
    BulkError,
    Create,
    Filter,
    ShardedFilter,
    drivers,
)
from bloomline.cli import copying
from bloomline.module import LocalServer

SMALL = Create(capacity=100_000, error_rate=1e-9)


def urls(first, last):
    return [f"https://example.com/page/{number}" for number in range(first, last)]


@pytest.fixture(scope="module")
def node():
    with start_node() as url:
        yield url


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


def test_other_number_of_shards_is_an_error(cluster):
    ShardedFilter(cluster, "seen", 16, SMALL).add("a")
    for shards in (8, 32):
        for create in (None, SMALL):
            with pytest.raises(BloomlineError, match="was created with 16 shards, and is opened"):
                ShardedFilter(cluster, "seen", shards, create).contains("a")
        with pytest.raises(BloomlineError, match="was created with 16 shards, and is opened"):
            ShardedFilter(cluster, "seen", shards, SMALL).add("a")
    assert sum(ShardedFilter(cluster, "seen", 16).cards()) == 1


@pytest.mark.parametrize("error", ["MovedError", "ClusterDownError", "ConnectionError"])
def test_single_call_that_a_node_does_not_answer_goes_to_another(
    cluster, library, monkeypatch, error
):
    seen = ShardedFilter(cluster, "seen", 4, SMALL)
    assert seen.add("a")
    found = getattr(library.exceptions, error)("1 127.0.0.1:1")

    def exchange(_, calls):
        if error == "ConnectionError":
            raise found
        return [found] * len(calls)

    monkeypatch.setattr(drivers, "_exchange", exchange)
    assert seen.add("b") and not seen.add("b")
    assert seen.contains("a") and not seen.contains("c")


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
            with pytest.raises(BloomlineError, match="was created with 8 shards"):
                await AsyncShardedFilter(client, "seen", 4, SMALL).contains("a")
        finally:
            await client.aclose()

    asyncio.run(use())


def test_filter_of_a_cluster_is_copied(cluster, tmp_path):
    Filter(cluster, "k", SMALL).add_many(urls(0, 1000))
    file = str(tmp_path / "file")
    copying.export(cluster, argparse.Namespace(key="k", file=file))
    copying.import_(cluster, argparse.Namespace(key="copy", file=file, replace=False))
    assert Filter(cluster, "copy").contains_many(urls(0, 1000)).ones == 1000


def test_command_line_loads_into_a_cluster(node, tmp_path):
    file = tmp_path / "urls.txt"
    file.write_text("\n".join(urls(0, 10_000)))
    # So low that no line is a false positive.
    words = ["load", "--cluster", "--url", node, "--error", "1e-9", "loaded", file]

    program = start(Anywhere, *words)
    out, errors = program.communicate(timeout=DEADLINE)
    assert (program.returncode, errors) == (0, b"")
    assert b"10,000 items, 10,000 new" in out


@pytest.fixture(scope="module")
def two_nodes():
    with start_two_nodes() as urls:
        yield urls


class Anywhere:
    url = "redis://127.0.0.1:1"


@pytest.mark.parametrize("command", ["load", "check", "export", "import"])
def test_key_of_another_node_is_an_error_that_names_the_option(two_nodes, tmp_path, command):
    file = tmp_path / "file"
    with redis.RedisCluster.from_url(two_nodes[0]) as client:
        client.flushall()
        # The slot of k, 7629, is of the first node.
        Filter(client, "k").add("a")
        copying.export(client, argparse.Namespace(key="k", file=str(file)))
    address = two_nodes[1].removeprefix("redis://")
    message = refused(Anywhere, command, "--url", two_nodes[1], "k", file)
    assert f"{address} is a node of a cluster, and k is on another node: add --cluster" in message


def test_call_to_the_wrong_node_says_which_client_is_needed(two_nodes):
    message = "k: ended after 0 items, .* another node of a cluster, so use a client of clusters"
    with redis.Redis.from_url(two_nodes[1]) as client, pytest.raises(BulkError, match=message):
        Filter(client, "k").add_many(["a"])


def test_option_for_a_cluster_is_refused_elsewhere(tmp_path):
    (tmp_path / "file").write_text("a\n")
    port = free_port()
    with LocalServer(tmp_path, "--port", str(port), "--bind", "127.0.0.1"):
        words = ["load", "--cluster", "--url", f"redis://127.0.0.1:{port}", "k", tmp_path / "file"]
        assert "is no node of a cluster: leave out --cluster" in refused(Anywhere, *words)
