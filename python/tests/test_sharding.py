"""A filter in shards answers as one filter, on a server and on a cluster."""

import asyncio
import importlib
import re
import threading
import time
from collections import Counter

import pytest
from conftest import DEADLINE, client_class

from bloomline import (
    AsyncShardedFilter,
    BloomlineError,
    BulkError,
    Create,
    Lines,
    ShardedFilter,
    how_many_shards,
)
from bloomline.drivers import slot_of
from bloomline.sharding import SLOTS, ShardedPrograms, shard_keys

SMALL = Create(capacity=20_000, error_rate=1e-9)


def urls(first, last):
    return [f"https://example.com/page/{number}" for number in range(first, last)]


@pytest.mark.parametrize("shards", [1, 2, 3, 16, 256, 4096])
def test_keys_are_spread_evenly_over_the_slots(shards):
    from redis.crc import key_slot  # noqa: PLC0415

    slots = [key_slot(key.encode()) for key in shard_keys("seen", shards)]
    assert [slot * shards // SLOTS for slot in slots] == list(range(shards))


def test_keys_never_change():
    # Filters of earlier releases are found by these names.
    assert shard_keys("seen", 4) == ["seen:4:{2977}", "seen:4:{2}", "seen:4:{1}", "seen:4:{0}"]


def test_first_shards_of_all_numbers_are_in_one_slot():
    # One EXISTS tests all of them, also in a cluster.
    assert {slot_of(shard_keys("seen", shards)[0]) for shards in (1, 3, 16, 4095, 4096)} == {3}


@pytest.mark.parametrize("key", ["{prod}:seen", "seen{", "{}seen", "{"])
def test_keys_with_a_brace_are_refused(key):
    # Its tag would be that of all shards, or end theirs too early.
    with pytest.raises(ValueError, match="no brace"):
        ShardedFilter(None, key, 4)
    with pytest.raises(ValueError, match="no brace"):
        AsyncShardedFilter(None, key, 4)


@pytest.mark.parametrize("shards", [1, 5, 64])
def test_answers_are_in_the_order_of_items(client, shards):
    seen = ShardedFilter(client, "seen", shards, SMALL)
    assert seen.create() and not seen.create()
    assert seen.add_many([]) == seen.contains_many([]) == []
    assert seen.add_many(urls(0, 20_000)[::3]).ones == len(range(0, 20_000, 3))
    expected = [number % 3 == 0 for number in range(20_000)]
    assert seen.contains_many(urls(0, 20_000)) == expected
    assert seen.add_many(urls(0, 20_000)).ones == 20_000 - len(range(0, 20_000, 3))
    assert seen.card() == sum(seen.cards()) == 20_000
    assert seen.contains("https://example.com/page/7") and not seen.add(
        b"https://example.com/page/7"
    )
    # No shard has grown a layer.
    assert seen.stats()["layers"] == shards
    assert seen.stats()["items"] == seen.info()["Number of items inserted"] == 20_000


def test_any_items_are_taken(client):
    seen = ShardedFilter(client, "seen", 3, SMALL)
    items = ["", "a", b"b\n", *urls(0, 2000)]
    assert seen.add_many(items).ones == len(items)
    block = "\n".join([*urls(1990, 2010), "", "x"]).encode()
    assert seen.add_many(Lines(block)) == [False] * 10 + [True] * 10 + [False, True]


def test_rate_of_the_whole_is_the_mean_of_the_shards(client):
    seen = ShardedFilter(client, "seen", 8, Create(capacity=4000, error_rate=0.05))
    seen.add_many(urls(0, 4000))
    found = seen.contains_many(urls(10_000, 50_000)).ones / 40_000
    # Seven standard deviations of 40,000 draws at 5 %, and far below the sum of eight rates.
    assert abs(found - seen.stats()["fp_rate"]) < 0.008


def test_full_shard_ends_the_call_with_the_number_added(client):
    create = Create(capacity=4000, error_rate=1e-9, expansion=0)
    seen = ShardedFilter(client, "seen", 4, create)
    client.execute_command("BF.RESERVE", seen.keys[2], 1e-9, 10, "NONSCALING")
    with pytest.raises(BulkError, match="full") as caught:
        seen.add_many(urls(0, 500))
    error = caught.value
    assert error.new == seen.card() >= error.processed > 10
    assert seen.contains_many(urls(0, error.processed)).to_numpy().all()
    assert not seen.contains(urls(0, 500)[error.processed])


def test_wrong_type_of_one_shard_has_the_number_of_the_others(client):
    seen = ShardedFilter(client, "seen", 4, SMALL)
    client.set(seen.keys[0], "text")
    message = re.escape(f"{seen.keys[0]}, a shard, holds a value of another type (WRONGTYPE)")
    with pytest.raises(BulkError, match=message) as caught:
        seen.add_many(urls(0, 9000))
    cards = [client.execute_command("BF.CARD", key) for key in seen.keys[1:]]
    error = caught.value
    assert (error.new, len(error.answers)) == (sum(cards), error.processed)
    assert error.processed < 50


def test_one_call_per_shard_and_window(client):
    seen = ShardedFilter(client, "seen", 5, SMALL)
    client.config_resetstat()
    seen.add_many(urls(0, 10_000))
    stats = client.info("commandstats")
    assert stats["cmdstat_bf.bulkadd"]["calls"] == 5


def test_asyncio_has_the_same_answers(bloomline_server, library, protocol):
    aio = importlib.import_module(f"{library.__name__}.asyncio")

    async def use():
        async with client_class(aio).from_url(bloomline_server.url, protocol=protocol) as client:
            await client.flushall()
            seen = AsyncShardedFilter(client, "seen", 7, SMALL)
            assert (await seen.add_many(urls(0, 5000))).ones == 5000
            assert (await seen.contains_many(urls(4000, 6000))).ones == 1000
            assert sum(await seen.cards()) == await seen.card() == 5000

    asyncio.run(use())


def test_number_of_shards_follows_from_size_and_nodes():
    assert how_many_shards(1_000_000, 0.001) == 1
    assert how_many_shards(1_000_000, 0.001, nodes=3) == 64
    shards = how_many_shards(10_000_000_000, 0.0001)
    # 10^10 items of 22 bits in shards of 256 MiB.
    assert shards == 128


def test_items_are_spread_evenly():
    seen = ShardedFilter(None, "seen", 16, Create(capacity=100_000))
    numbers = Counter(seen._programs.shard_of(url) for url in urls(0, 100_000))
    capacity = seen._programs.shards[0].make.capacity
    assert max(numbers.values()) <= capacity < 100_000 / 16 * 1.1


def test_shards_are_created_together(client):
    seen = ShardedFilter(client, "seen", 16, SMALL)
    for call in (seen.stats, seen.info, seen.compact):
        with pytest.raises(Exception, match="not found"):
            call()
    assert not seen.contains("a") and seen.contains_many(["a"]) == [False] and seen.card() == 0
    assert not client.keys()
    assert seen.add("a") and seen.add_many(["a", "b"]) == [False, True]
    assert client.exists(*seen.keys) == 16
    assert seen.stats()["layers"] == 16 and sum(seen.cards()) == 2
    assert seen.info()["Number of items inserted"] == 2
    size = seen.info()["Size"]
    assert seen.compact() == size - seen.info()["Size"] >= 0
    assert seen.contains_many(["a", "b"]).ones == 2


def test_shards_are_not_created_without_parameters(client):
    seen = ShardedFilter(client, "seen", 4)
    with pytest.raises(BloomlineError, match="give a Create"):
        seen.add("a")
    with pytest.raises(BulkError, match="give a Create"):
        seen.add_many(["a"])
    assert not client.keys()
    ShardedFilter(client, "seen", 4, SMALL).create()
    assert seen.add("a") and seen.add_many(["a", "b"]) == [False, True]


def recreate(client, key):
    client.delete(key)
    client.execute_command("BF.RESERVE", key, 1e-9, 1000)


def expire(client, key):
    client.pexpire(key, 1)
    end = time.monotonic() + DEADLINE
    while client.exists(key):
        assert time.monotonic() < end


LOSSES = {
    "deleted": lambda client, key: client.delete(key),
    "expired": expire,
    "recreated": recreate,
    "taken": lambda client, key: client.rename("other", key),
}
CALLS = {
    "add": lambda seen, items: [seen.add(each) for each in items],
    "add_many": lambda seen, items: seen.add_many(items),
    "contains": lambda seen, items: [seen.contains(each) for each in items],
    "contains_many": lambda seen, items: seen.contains_many(items),
    "cards": lambda seen, _: seen.cards(),
    "card": lambda seen, _: seen.card(),
    "compact": lambda seen, _: seen.compact(),
    "stats": lambda seen, _: seen.stats(),
}


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("call", CALLS)
def test_lost_shard_ends_calls_that_need_it(plain, loss, call):
    seen = ShardedFilter(plain, "seen", 4, SMALL)
    items = urls(0, 40)
    seen.add_many(items)
    plain.execute_command("BF.RESERVE", "other", 1e-9, 1000)
    LOSSES[loss](plain, seen.keys[1])
    for _ in range(2):
        with pytest.raises(BloomlineError, match=re.escape(f"the shard {seen.keys[1]} was ")):
            CALLS[call](seen, items)
    # No call has created it. Single items are compared afterwards, others before too.
    if call != "add":
        assert plain.execute_command("BF.CARD", seen.keys[1]) == 0
    assert plain.exists(seen.keys[1]) == (loss in ("recreated", "taken"))
    others = [each for each in items if seen._programs.shard_of(each) != 1]
    assert all(map(seen.contains, others)) and seen.contains_many(others).ones == len(others)


@pytest.mark.parametrize("call", [*CALLS, "create"])
def test_lost_shard_is_seen_by_another_program(plain, call):
    items = urls(0, 40)
    ShardedFilter(plain, "seen", 4, SMALL).add_many(items)
    plain.delete("seen:4:{0}")
    seen = ShardedFilter(plain, "seen", 4, SMALL)
    calls = {**CALLS, "create": lambda *_: seen.create()}
    with pytest.raises(BloomlineError, match=r"the shard seen:4:\{0\} was "):
        calls[call](seen, items)
    assert not plain.exists("seen:4:{0}")


def test_lost_shard_ends_a_call_under_way(plain):
    seen = ShardedFilter(plain, "seen", 4, SMALL)

    def items():
        yield from urls(0, 100_000)
        plain.delete(seen.keys[2])
        yield from urls(100_000, 300_000)

    with pytest.raises(BulkError, match="was deleted") as caught:
        seen.add_many(items())
    assert 0 < caught.value.processed == caught.value.new < 100_000
    assert not plain.exists(seen.keys[2])


@pytest.mark.parametrize("call", ["add", "add_many", "contains", "contains_many"])
@pytest.mark.parametrize("again", [False, True], ids=["gone", "of another program"])
def test_filter_whose_shards_are_all_gone_begins_anew(client, call, again):
    seen = ShardedFilter(client, "seen", 4, SMALL)
    seen.add_many(urls(0, 40))
    client.delete(*seen.keys)
    if again:
        ShardedFilter(client, "seen", 4, SMALL).create()
    is_new = call.startswith("add")
    assert list(CALLS[call](seen, urls(0, 40))) == [is_new] * 40
    assert seen.contains_many(urls(0, 40)) == [is_new] * 40
    assert seen.add_many(urls(30, 50)).ones == (10 if is_new else 20)
    assert client.execute_command("BF.INFO", seen.keys[0], "CAPACITY") in (
        [seen._programs.shards[0].make.capacity],
        {b"Capacity": seen._programs.shards[0].make.capacity},
    )


@pytest.mark.parametrize("call", ["add", "add_many", "contains", "contains_many"])
@pytest.mark.parametrize("is_known", [False, True])
def test_shards_that_expire_one_after_the_other_begin_anew(plain, call, is_known):
    seen = ShardedFilter(plain, "seen", 4, SMALL)
    seen.add_many(urls(0, 40))
    if not is_known:
        seen = ShardedFilter(plain, "seen", 4, SMALL)
    for key in seen.keys:
        plain.pexpire(key, 300)
    expire(plain, seen.keys[1])
    assert len(CALLS[call](seen, urls(0, 40))) == 40
    seen.add_many(urls(0, 50))
    assert seen.contains_many(urls(0, 50)).ones == 50
    assert [plain.pttl(key) for key in seen.keys] == [-1] * 4


def test_unfinished_creation_is_finished(plain):
    # Another program was killed between two shards.
    seen = ShardedFilter(plain, "seen", 4, SMALL)
    plain.execute_command(*seen._programs.shards[1].make.reserve(seen.keys[1]))
    assert seen.add_many(urls(0, 100)).ones == 100 == seen.card()
    assert plain.exists(*seen.keys) == 4


OTHER_NUMBERS = [1, 8, 15, 17, 32, 4096]
OPENING = {**CALLS, "create": lambda seen, _: seen.create()}


@pytest.mark.parametrize("other", OTHER_NUMBERS)
def test_other_number_of_shards_is_an_error_of_any_call(plain, other):
    ShardedFilter(plain, "seen", 16, SMALL).add_many(urls(0, 100))
    message = f"seen was created with 16 shards, and is opened with {other}: "
    for name, call in OPENING.items():
        for create in (None, SMALL):
            if name == "create" and create is None:
                continue
            with pytest.raises(BloomlineError, match=message):
                call(ShardedFilter(plain, "seen", other, create), urls(0, 10))
    # Nothing of the other number was created.
    assert len(plain.keys()) == 16


def test_other_number_of_shards_is_an_error_of_clients_of_all_kinds(client):
    ShardedFilter(client, "seen", 4, SMALL).create()
    for call in (lambda seen: seen.add("a"), lambda seen: seen.contains("a")):
        with pytest.raises(BloomlineError, match="created with 4 shards, and is opened with 2:"):
            call(ShardedFilter(client, "seen", 2, SMALL))


def test_other_number_of_shards_is_an_error_of_asyncio(bloomline_server, plain, library):
    aio = importlib.import_module(f"{library.__name__}.asyncio")
    ShardedFilter(plain, "seen", 4, SMALL).create()

    async def use():
        async with client_class(aio).from_url(bloomline_server.url) as client:
            seen = AsyncShardedFilter(client, "seen", 2, SMALL)
            for call in (seen.add, seen.contains):
                with pytest.raises(BloomlineError, match="created with 4 shards"):
                    await call("a")
            with pytest.raises(BulkError, match="created with 4 shards"):
                await seen.contains_many(["a"])

    asyncio.run(use())


@pytest.mark.parametrize("call", CALLS)
def test_filter_that_is_created_again_with_another_number_is_noticed(plain, call):
    seen = ShardedFilter(plain, "seen", 4, SMALL)
    seen.add_many(urls(0, 40))
    plain.delete(*seen.keys)
    ShardedFilter(plain, "seen", 8, SMALL).add_many(urls(0, 40))
    with pytest.raises(BloomlineError, match="created with 8 shards, and is opened with 4"):
        CALLS[call](seen, urls(0, 40))
    assert len(plain.keys()) == 8


def test_numbers_of_other_filters_do_no_harm(plain):
    for key in ("see", "seen:4", "seen:8:4"):
        ShardedFilter(plain, key, 8, SMALL).create()
    assert ShardedFilter(plain, "seen", 4, SMALL).add("a")


@pytest.mark.parametrize("at", range(8))
def test_one_of_two_numbers_that_are_created_together_is_refused(plain, at):
    """Another program creates the filter between two calls of this one."""
    program = ShardedPrograms("seen", 4, SMALL).create()
    calls = next(program)
    error = None
    for step in range(100):
        if step == at:
            other = ShardedFilter(plain, "seen", 2, SMALL)
            try:
                other.create()
            except BloomlineError as refused:
                error = refused
        with plain.pipeline(transaction=False) as pipeline:
            for each in calls:
                pipeline.execute_command(*each)
            replies = pipeline.execute(raise_on_error=False)
        try:
            calls = program.send(replies)
        except StopIteration:
            assert "created with 4 shards, and is opened with 2" in str(error)
            assert len(plain.keys()) == 4
            return
        except BloomlineError as refused:
            assert "created with 2 shards, and is opened with 4" in str(refused)
            assert error is None and len(plain.keys()) == 2
            return
    pytest.fail("the program did not end")


def test_programs_that_create_different_numbers_never_share_items(plain):
    together = threading.Barrier(4)
    used, failed = [], []

    def add(shards):
        seen = ShardedFilter(plain, "seen", shards, SMALL)
        together.wait(DEADLINE)
        try:
            seen.add("a")
            used.append(shards)
        except Exception as error:
            failed.append(error)

    for _ in range(20):
        plain.flushall()
        used.clear()
        threads = [threading.Thread(target=add, args=(shards,)) for shards in (4, 4, 8, 8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(set(used)) <= 1
    assert failed and all(isinstance(error, BloomlineError) for error in failed)


def test_programs_that_begin_together_share_the_shards(plain):
    together = threading.Barrier(6)
    new, failed = [], []

    def add():
        seen = ShardedFilter(plain, "seen", 32, SMALL)
        together.wait(DEADLINE)
        try:
            new.append(seen.add_many(urls(0, 3000)).ones)
        except Exception as error:
            failed.append(error)

    for _ in range(5):
        plain.flushall()
        new.clear()
        threads = [threading.Thread(target=add) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failed and sum(new) == 3000
