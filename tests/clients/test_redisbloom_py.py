"""The client library `redisbloom`, older than these commands in redis-py, with RESP2."""

import pytest
from conftest import DEADLINE
from redis.exceptions import ResponseError
from redisbloom.client import Client


@pytest.fixture
def bloom(server):
    with Client(unix_socket_path=str(server.socket), socket_timeout=DEADLINE) as client:
        client.flushall()
        yield client


def test_filter_is_created_once(bloom):
    assert bloom.bfCreate("bloom", 0.01, 1000)
    assert bloom.bfCreate("expanding", 0.01, 1000, expansion=1)
    assert bloom.bfCreate("fixed", 0.01, 1000, noScale=True)
    with pytest.raises(ResponseError, match="item exists"):
        bloom.bfCreate("bloom", 0.01, 1000)


def test_items_are_added_once_and_found(bloom):
    assert bloom.bfAdd("bloom", "foo") == 1
    assert bloom.bfAdd("bloom", "foo") == 0
    assert bloom.bfMAdd("bloom", "foo", "bar", b"\xff\x00") == [0, 1, 1]
    assert bloom.bfExists("bloom", "foo") == 1
    assert bloom.bfExists("bloom", "noexist") == 0
    assert bloom.bfMExists("bloom", "foo", b"\xff\x00", "noexist") == [1, 1, 0]
    assert bloom.bfMExists("absent", "foo") == [0]


def test_insert_creates_with_its_options(bloom):
    assert bloom.bfInsert("bloom", ["foo", "foo"], capacity=10, error=0.1, expansion=4) == [1, 0]
    assert bloom.bfInsert("bloom", ["bar"], noCreate=True) == [1]
    with pytest.raises(ResponseError, match="not found"):
        bloom.bfInsert("absent", ["foo"], noCreate=True)


def test_info_has_its_five_attributes(bloom):
    bloom.bfCreate("bloom", 0.001, 2000)
    bloom.bfMAdd("bloom", "a", "b", "c")
    info = bloom.bfInfo("bloom")
    assert (info.capacity, info.filterNum, info.insertedNum, info.expansionRate) == (2000, 1, 3, 2)
    assert info.size > 2000
    bloom.bfCreate("fixed", 0.001, 2000, noScale=True)
    assert bloom.bfInfo("fixed").expansionRate is None
    with pytest.raises(ResponseError, match="not found"):
        bloom.bfInfo("absent")


def test_filter_is_copied_to_another_key_in_chunks(bloom):
    items = [f"item:{i}" for i in range(3000)]
    bloom.bfMAdd("first", *items)
    iterator, chunks = 0, 0
    while True:
        iterator, data = bloom.bfScandump("first", iterator)
        if not iterator:
            break
        assert bloom.bfLoadChunk("second", iterator, data) == b"OK"
        chunks += 1
    assert chunks >= 3
    assert bloom.execute_command("BF.DEBUG", "second") == bloom.execute_command("BF.DEBUG", "first")
    assert all(bloom.bfMExists("second", *items))


def test_pipeline_answers_in_order(bloom):
    pipeline = bloom.pipeline()
    pipeline.bfAdd("bloom", "foo")
    pipeline.bfExists("bloom", "foo")
    pipeline.bfExists("bloom", "bar")
    assert pipeline.execute() == [1, 1, 0]
