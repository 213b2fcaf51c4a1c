"""The Bloom filter commands through the asyncio clients of redis-py and valkey-py, in both protocols."""

import asyncio
import functools

import pytest
from conftest import DEADLINE
from library import ResponseError, async_client

pytestmark = pytest.mark.newest


def with_client(test):
    """Runs a coroutine with an asyncio client of the given protocol on an empty server."""

    @functools.wraps(test)
    def run(server, protocol):
        async def body():
            options = {"unix_socket_path": str(server.socket), "protocol": protocol, "socket_timeout": DEADLINE}
            async with async_client(**options) as client:
                await client.flushall()
                await asyncio.wait_for(test(client), DEADLINE)

        asyncio.run(body())

    # pytest reads the names of the fixtures from the signature.
    del run.__wrapped__
    return run


@with_client
async def test_calls_answer_as_the_synchronous_ones(client):
    bf = client.bf()
    assert await bf.create("bloom", 0.01, 1000)
    assert await bf.add("bloom", "foo") == 1
    assert await bf.madd("bloom", "foo", "bar") == [0, 1]
    assert await bf.insert("inserted", ["a", "a"], capacity=10, error=0.1, expansion=4) == [1, 0]
    assert await bf.exists("bloom", "foo") == 1
    assert await bf.mexists("bloom", "foo", "quux") == [1, 0]
    assert await bf.card("bloom") == 2
    info = await bf.info("bloom")
    if isinstance(info, dict):
        # With `protocol=3` redis-py returns the map unchanged.
        assert [info[name] for name in (b"Capacity", b"Number of items inserted", b"Expansion rate")] == [1000, 2, 2]
    elif not isinstance(info, list):
        assert (info.capacity, info.insertedNum, info.expansionRate) == (1000, 2, 2)


@with_client
async def test_many_tasks_add_an_item_once(client):
    bf = client.bf()
    await bf.create("bloom", 0.000001, 1000)
    # Each task has its own connection; the library allows a hundred.
    answers = await asyncio.gather(*(bf.add("bloom", f"item:{i % 10}") for i in range(80)))
    assert sum(answers) == 10
    assert await bf.card("bloom") == 10


@with_client
async def test_pipelines_transactions_and_scripts_answer_in_order(client):
    async with client.pipeline(transaction=False) as pipeline:
        for i in range(100):
            pipeline.execute_command("BF.ADD", "bloom", f"item:{i}")
        pipeline.execute_command("BF.INFO", "absent", "ITEMS")
        *answers, error = await pipeline.execute(raise_on_error=False)
        assert sum(answers) >= 98 and isinstance(error, ResponseError)
    async with client.pipeline(transaction=True) as transaction:
        transaction.execute_command("BF.MADD", "other", "foo", "foo")
        transaction.execute_command("BF.CARD", "other")
        assert await transaction.execute() == [[1, 0], 1]
    script = "return {redis.call('BF.ADD', KEYS[1], ARGV[1]), redis.call('BF.EXISTS', KEYS[1], ARGV[1])}"
    assert await client.eval(script, 1, "scripted", "foo") == [1, 1]


@with_client
async def test_filter_is_copied_in_chunks(client):
    bf = client.bf()
    items = [f"item:{i}" for i in range(2000)]
    await bf.madd("first", *items)
    iterator = 0
    while True:
        iterator, data = await bf.scandump("first", iterator)
        if not iterator:
            break
        assert await bf.loadchunk("second", iterator, data)
    assert await client.execute_command("BF.DEBUG", "second") == await client.execute_command("BF.DEBUG", "first")
    assert all(await bf.mexists("second", *items))


@with_client
async def test_errors_are_raised(client):
    bf = client.bf()
    with pytest.raises(ResponseError, match="^not found$"):
        await bf.info("absent")
    await bf.create("fixed", 0.01, 1, noScale=True)
    *answers, error = await bf.madd("fixed", "a", "b", "c")
    assert answers == [1] and "non scaling filter is full" in str(error)
    with pytest.raises(ResponseError, match="item exists"):
        await bf.create("fixed", 0.01, 1)
