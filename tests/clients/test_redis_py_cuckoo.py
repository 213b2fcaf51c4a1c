"""Every cuckoo filter command of redis-py and of valkey-py, in both protocols, on every server."""

import pytest
from library import ResponseError


@pytest.fixture
def cf(client):
    """The cuckoo filter commands of the library."""
    return client.cf()


def info_of(cf, key):
    """Returns the attributes that clients read, as a map; with `protocol=3` redis-py returns one."""
    info = cf.info(key)
    if isinstance(info, list):
        # Redis 6.2 has no maps for modules, so the reply is a list of names and values.
        info = dict(zip(info[::2], info[1::2]))
    if isinstance(info, dict):
        return {(name.decode() if isinstance(name, bytes) else name): value for name, value in info.items()}
    return {
        "Size": info.size,
        "Number of buckets": info.bucketNum,
        "Number of filters": info.filterNum,
        "Number of items inserted": info.insertedNum,
        "Number of items deleted": info.deletedNum,
        "Bucket size": info.bucketSize,
        "Expansion rate": info.expansionRate,
        "Max iterations": info.maxIteration,
    }


def test_filter_is_created_once(cf):
    assert cf.create("cuckoo", 1000)
    assert cf.create("every option", 1000, bucket_size=4, max_iterations=10, expansion=2)
    with pytest.raises(ResponseError, match="item exists"):
        cf.create("cuckoo", 1000)


def test_items_are_added(cf):
    assert cf.add("cuckoo", "foo") == 1
    assert cf.add("cuckoo", "foo") == 1
    assert cf.addnx("cuckoo", "foo") == 0
    assert cf.addnx("cuckoo", "bar") == 1
    assert cf.count("cuckoo", "foo") == 2
    assert cf.count("cuckoo", "absent") == 0


def test_items_are_inserted(cf):
    assert cf.insert("cuckoo", ["foo"]) == [1]
    assert cf.insert("cuckoo", ["foo"], capacity=1000) == [1]
    assert cf.insertnx("cuckoo", ["bar"]) == [1]
    assert cf.insertnx("cuckoo", ["food"], nocreate="1") == [1]
    assert cf.insertnx("cuckoo", ["foo", "bar", "baz"]) == [0, 0, 1]
    with pytest.raises(ResponseError, match="not found"):
        cf.insert("absent", ["foo"], nocreate="1")


def test_items_are_found_and_deleted(cf):
    cf.create("cuckoo", 1000)
    cf.add("cuckoo", "foo")
    assert cf.exists("cuckoo", "foo") == 1
    assert cf.exists("cuckoo", "absent") == 0
    assert cf.delete("cuckoo", "absent") == 0
    assert cf.delete("cuckoo", "foo") == 1
    assert cf.exists("cuckoo", "foo") == 0
    with pytest.raises(ResponseError, match="[Nn]ot found"):
        cf.delete("nothing", "foo")


def test_many_items_are_found_at_once(cf):
    cf.insert("cuckoo", ["foo", "bar"])
    assert cf.mexists("cuckoo", "foo", "absent", "bar") == [1, 0, 1]


def test_info_has_the_numbers_of_the_filter(server, cf):
    cf.create("cuckoo", 1000, bucket_size=3, max_iterations=9, expansion=4)
    cf.insert("cuckoo", ["foo", "bar", "baz"])
    cf.delete("cuckoo", "bar")
    info = info_of(cf, "cuckoo")
    assert info["Number of filters"] == 1
    assert info["Number of items inserted"] == 2
    assert info["Number of items deleted"] == 1
    assert (info["Bucket size"], info["Max iterations"], info["Expansion rate"]) == (3, 9, 4)
    if server.layout == "redisbloom":
        assert (info["Size"], info["Number of buckets"]) == (1592, 512)
    else:
        assert 1000 <= info["Size"] <= 2000


def test_a_filter_is_copied_in_chunks(cf, client):
    cf.create("cuckoo", 1000)
    items = [f"item:{number}" for number in range(500)]
    assert cf.insert("cuckoo", items) == [1] * 500
    position, chunks = 0, []
    while True:
        position, data = cf.scandump("cuckoo", position)
        if position == 0:
            break
        chunks.append((position, data))
    assert len(chunks) >= 2
    before = info_of(cf, "cuckoo")
    client.delete("cuckoo")
    for position, data in chunks:
        assert cf.loadchunk("cuckoo", position, data)
    assert info_of(cf, "cuckoo") == before
    assert all(cf.exists("cuckoo", item) for item in items)


def test_calls_are_sent_in_a_pipeline(client):
    with client.pipeline(transaction=False) as pipe:
        for call in ["CF.RESERVE k 1000", "CF.ADD k foo", "CF.MEXISTS k foo bar", "CF.DEL k foo", "CF.COUNT k foo"]:
            pipe.execute_command(*call.split())
        assert pipe.execute()[1:] == [1, [1, 0], 1, 0]
