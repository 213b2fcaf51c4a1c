"""A server that behaves as valkey-bloom: the same answers, and clear errors for the rest."""

import asyncio
import importlib
import tempfile

import pytest
import valkey_bloom
from conftest import PATIENT, client_class
from test_load import refused

from bloomline import (
    AsyncFilter,
    BloomlineError,
    BulkError,
    Create,
    CuckooFilter,
    Filter,
    Lines,
    ShardedFilter,
)

SMALL = Create(capacity=10_000, error_rate=0.001)
FULL = Create(capacity=1500, error_rate=0.001, expansion=0)


def items(first, last):
    return [f"item:{number}" for number in range(first, last)]


@pytest.fixture
def peer():
    folder = tempfile.TemporaryDirectory(prefix="bloomline-")
    with folder as name, valkey_bloom.Server(name) as server:
        yield server


@pytest.fixture
def client(peer, library, protocol):
    kind, options = client_class(library), {"protocol": protocol, **PATIENT}
    with kind.from_url(peer.url, **options) as client:
        yield client


@pytest.mark.parametrize("create", [None, SMALL, Create(10_000, expansion=4)])
def test_answers_are_those_of_the_items(client, create):
    seen = Filter(client, "k", create)
    assert not seen.contains("a") and seen.contains_many(["a"]) == [False] and seen.card() == 0
    assert seen.add("a") and not seen.add(b"a") and seen.contains("a")
    assert seen.add_many(items(0, 9000)[::3]).ones == 3000
    assert seen.add_many(items(0, 9000)) == [number % 3 != 0 for number in range(9000)]
    assert seen.contains_many(items(0, 9001)) == [True] * 9000 + [False]
    assert seen.add_many(Lines(b"item:1\n\nx")) == [False, False, True]
    assert seen.card() == seen.info()["Number of items inserted"] == 9002


def test_filter_that_exists_is_not_created(client):
    seen = Filter(client, "k", SMALL)
    assert seen.create() and not seen.create()
    sharded = ShardedFilter(client, "seen", 3, SMALL)
    assert sharded.create() and not sharded.create()
    assert sharded.add_many(items(0, 5000)).ones == sharded.card() == 5000


@pytest.mark.parametrize(
    "create, most, why",
    [
        (FULL, 1500, "non scaling filter is full"),
        (SMALL, valkey_bloom.LIMIT, "exceeds bloom object memory limit"),
    ],
    ids=["full", "limit"],
)
def test_refused_item_ends_the_call_with_the_number_added(client, create, most, why):
    seen = Filter(client, "k", create)
    for ready in (0, 700):
        seen = Filter(client, f"k{ready}", create)
        seen.create()
        seen.add_many(items(90_000, 90_000 + ready))
        with pytest.raises(BulkError, match=why) as caught:
            seen.add_many(items(0, 40_000))
        error = caught.value
        assert error.processed == error.new == error.answers.ones == most - ready
        assert seen.card() == most
        with pytest.raises(Exception, match=why):
            seen.add("another")


def test_options_and_calls_of_bloomline_are_refused(client, peer):
    seen = Filter(client, "k", Create(100, window=60))
    for use in (seen.create, lambda: seen.add("a"), lambda: seen.add_many(["a"])):
        with pytest.raises(BloomlineError, match="WINDOW 60 needs the module Bloomline"):
            use()
    for use in (seen.stats, seen.compact, lambda: CuckooFilter(client, "c").add("a")):
        with pytest.raises(Exception, match="unknown command"):
            use()
    with pytest.raises(BulkError, match=r"unknown command 'CF\.ADD'"):
        CuckooFilter(client, "c").add_many(["a"])
    assert peer.filters == {}


def test_asyncio_has_the_same_answers(peer, library, protocol):
    aio = importlib.import_module(f"{library.__name__}.asyncio")

    async def use():
        async with client_class(aio).from_url(peer.url, protocol=protocol) as client:
            seen = AsyncFilter(client, "k", FULL)
            assert await seen.add("a") and not await seen.add("a") and await seen.contains("a")
            with pytest.raises(BulkError, match="full") as caught:
                await seen.add_many(items(0, 4000))
            assert caught.value.processed == caught.value.new == 1499

    asyncio.run(use())


def test_command_line_names_what_the_server_lacks(peer, tmp_path):
    file = tmp_path / "items.txt"
    file.write_text("\n".join(items(0, 10)))
    peer.filters[b"k"] = valkey_bloom.Stored()
    for command in ("load", "check"):
        assert "needs the module Bloomline" in refused(peer, command, "k", file)
    assert "unknown command 'BF.SCANDUMP'" in refused(peer, "export", "k", tmp_path / "k.dump")
    assert not peer.filters[b"k"].items
    assert [each.name for each in tmp_path.iterdir()] == ["items.txt"]
