"""Every Bloom filter command of redis-py and of valkey-py, in both protocols, on every server."""

import hashlib

import library
import pytest
from library import ResponseError


def info_of(bf, key):
    """Returns the five attributes that clients read; with `protocol=3` redis-py returns a dict."""
    info = bf.info(key)
    if isinstance(info, list):
        # Redis 6.2 has no maps for modules, so the reply is a list of names and values.
        info = dict(zip(info[::2], info[1::2]))
    if isinstance(info, dict):
        info = {(name.decode() if isinstance(name, bytes) else name): value for name, value in info.items()}
        names = ["Capacity", "Size", "Number of filters", "Number of items inserted", "Expansion rate"]
        assert list(info) == names
        return [info[name] for name in names]
    return [info.capacity, info.size, info.filterNum, info.insertedNum, info.expansionRate]


def test_filter_is_created_once(bf):
    assert bf.create("bloom", 0.01, 1000)
    assert bf.create("expanding", 0.01, 1000, expansion=1)
    assert bf.create("fixed", 0.01, 1000, noScale=True)
    with pytest.raises(ResponseError, match="item exists"):
        bf.create("bloom", 0.01, 1000)


def test_expansion_with_no_scaling_is_refused(bf):
    with pytest.raises(ResponseError, match="Nonscaling filters cannot expand"):
        bf.create("bloom", 0.01, 1000, expansion=2, noScale=True)


def test_item_is_added_once(bf):
    assert bf.add("bloom", "foo") == 1
    assert bf.add("bloom", "foo") == 0
    assert bf.madd("bloom", "foo", "bar", "baz") == [0, 1, 1]
    assert bf.card("bloom") == 3
    assert bf.card("absent") == 0


def test_items_are_found(bf):
    bf.madd("bloom", "foo", "bar")
    assert bf.exists("bloom", "foo") == 1
    assert bf.exists("bloom", "noexist") == 0
    assert bf.mexists("bloom", "foo", "bar", "noexist") == [1, 1, 0]
    assert bf.mexists("absent", "foo", "bar") == [0, 0]


def test_answers_have_the_types_of_the_protocol(server, client, bf, protocol):
    expected = bool if protocol == 3 and not server.name.startswith("redis-6") else int
    answers = [client.execute_command("BF.ADD", "bloom", "foo"), client.execute_command("BF.EXISTS", "bloom", "foo")]
    answers += client.execute_command("BF.MADD", "bloom", "bar", "foo")
    answers += client.execute_command("BF.MEXISTS", "bloom", "bar", "quux")
    answers += bf.insert("bloom", ["one", "two"])
    assert {type(answer) for answer in answers} == {expected}
    assert type(bf.card("bloom")) is int


def test_items_are_binary(bf):
    fingerprints = [hashlib.sha1(str(i).encode()).digest() for i in range(500)]
    assert sum(bf.madd("bloom", *fingerprints)) >= 490
    assert all(bf.mexists("bloom", *fingerprints))
    # In an empty filter, since in one of 500 items this one may be a false positive.
    assert bf.add("empty", b"") == 1
    assert bf.exists("empty", b"") == 1
    assert bf.add(b"\xff\x00key", b"\x00") == 1
    assert bf.exists(b"\xff\x00key", b"\x00") == 1


def test_insert_creates_with_its_options(bf):
    assert bf.insert("bloom", ["foo", "foo", "bar"]) == [1, 0, 1]
    assert bf.insert("captest", ["foo"], capacity=10, error=0.1, expansion=4) == [1]
    capacity, _, filters, items, expansion = info_of(bf, "captest")
    assert (capacity, filters, items, expansion) == (10, 1, 1, 4)
    assert bf.insert("fixed", ["foo"], capacity=5, noScale=True) == [1]
    assert info_of(bf, "fixed")[4] is None
    with pytest.raises(ResponseError, match="^not found$"):
        bf.insert("nothing", ["foo", "bar"], noCreate=True)
    assert bf.insert("bloom", ["foo", "new"], noCreate=True) == [0, 1]


def test_info_has_its_five_attributes(bf):
    bf.create("bloom", 0.001, 2000)
    bf.madd("bloom", "a", "b", "c")
    capacity, size, filters, items, expansion = info_of(bf, "bloom")
    assert (capacity, filters, items, expansion) == (2000, 1, 3, 2)
    assert size > 2000
    bf.create("fixed", 0.001, 2000, noScale=True)
    assert info_of(bf, "fixed")[4] is None


def test_info_of_the_default_protocol_has_attributes(server, client):
    client.execute_command("BF.RESERVE", "bloom", "0.01", "100")
    with server.client(None) as default:
        info = default.bf().info("bloom")
        assert (info.get("capacity"), info["filterNum"], info["expansionRate"]) == (100, 1, 2)


def test_answers_of_the_default_protocol(server, client):
    is_resp3 = library.NAME == "redis" and int(library.VERSION.split(".")[0]) >= 8
    expected = bool if is_resp3 and not server.name.startswith("redis-6") else int
    with server.client(None) as default:
        answers = [default.bf().add("bloom", "foo"), *default.bf().mexists("bloom", "foo", "bar")]
        assert {type(answer) for answer in answers} == {expected}


def test_full_filter_returns_an_error_in_the_list(bf):
    bf.create("fixed", 0.001, 3, noScale=True)
    answers = bf.madd("fixed", "a", "b", "c", "d", "e")
    assert answers[:3] == [1, 1, 1] and len(answers) == 4
    assert isinstance(answers[3], ResponseError) and "non scaling filter is full" in str(answers[3])
    with pytest.raises(ResponseError, match="non scaling filter is full"):
        bf.add("fixed", "f")
    assert bf.add("fixed", "a") == 0
    assert bf.card("fixed") == 3


def test_refused_packed_item_is_an_error_after_the_bitmap(client, bf):
    bf.create("fixed", 0.001, 2, noScale=True)
    processed, bitmap, refused = client.execute_command("BF.BULKADD", "fixed", "LINES", b"a\nb\nc\nd")
    assert (processed, bitmap) == (2, b"\xc0")
    assert isinstance(refused, ResponseError) and "non scaling filter is full" in str(refused)
    assert client.execute_command("BF.BULKEXISTS", "fixed", "FIXED", 1, b"abc") == [3, b"\xc0"]
    # With COUNT it is the whole reply, so that nobody overlooks it.
    with pytest.raises(ResponseError, match="full: line 4 of 5 was refused, 0 of the 3 before it were new"):
        client.execute_command("BF.BULKADD", "fixed", "LINES", b"a\n\nb\nc\nd", "COUNT")


def test_stats_are_read_beside_all_other_calls(client, bf):
    """The library's parser of BF.INFO fails at fields that RedisBloom does not have."""
    bf.create("bloom", 0.01, 100)
    bf.add("bloom", "foo")
    reply = client.execute_command("BF.STATS", "bloom", "items", "estimate", "window")
    stats = reply if isinstance(reply, dict) else dict(zip(reply[::2], reply[1::2]))
    assert stats == {b"items": 1, b"estimate": 1, b"window": None}
    assert len(client.execute_command("BF.STATS", "bloom")) in (19, 38)


def test_filter_is_copied_to_another_key_in_chunks(client, bf):
    bf.create("first", 0.0001, 1000)
    for i in range(5000):
        if i % 500 == 0:
            bf.madd("first", *(f"{j}" for j in range(i, i + 500)))
    chunks, iterator = [], 0
    while True:
        iterator, data = bf.scandump("first", iterator)
        if iterator == 0:
            break
        chunks.append((iterator, data))
    assert len(chunks) >= 3
    for iterator, data in chunks:
        assert bf.loadchunk("second", iterator, data)
    assert client.execute_command("BF.DEBUG", "second") == client.execute_command("BF.DEBUG", "first")
    assert info_of(bf, "second") == info_of(bf, "first")
    items = [f"{i}" for i in range(6000)]
    assert bf.mexists("second", *items) == bf.mexists("first", *items)


def test_errors_have_the_texts_that_clients_compare(client, bf):
    with pytest.raises(ResponseError, match="^not found$"):
        bf.info("absent")
    with pytest.raises(ResponseError, match="^not found$"):
        bf.scandump("absent", 0)
    with pytest.raises(ResponseError, match="^received bad data$"):
        bf.loadchunk("absent", 1, b"garbage")
    client.set("text", "value")
    for call in (lambda: bf.add("text", "a"), lambda: bf.card("text"), lambda: bf.info("text")):
        with pytest.raises(ResponseError, match="WRONGTYPE|wrong kind of value"):
            call()
    assert bf.exists("text", "a") == 0
    assert client.type("text") == b"string"
    bf.add("bloom", "a")
    # A crawler's framework tests this before it uses an existing filter.
    assert client.type("bloom") == b"MBbloom--"


def test_pipeline_answers_in_order(client):
    pipeline = client.pipeline(transaction=False)
    pipeline.execute_command("BF.RESERVE", "bloom", 0.01, 100)
    for i in range(100):
        pipeline.execute_command("BF.ADD", "bloom", f"item:{i}")
    pipeline.execute_command("BF.EXISTS", "bloom", "item:0")
    pipeline.execute_command("BF.INFO", "absent", "CAPACITY")
    pipeline.execute_command("BF.CARD", "bloom")
    answers = pipeline.execute(raise_on_error=False)
    assert answers[0] in (True, b"OK", "OK")
    assert all(answer in (0, 1) for answer in answers[1:101])
    assert answers[101] == 1
    assert isinstance(answers[102], ResponseError)
    assert answers[103] == sum(answers[1:101])


def test_bloom_commands_work_on_a_pipeline(client):
    pipeline = client.pipeline()
    bf = pipeline.bf()
    bf.create("bloom", 0.01, 100)
    bf.add("bloom", "foo")
    bf.exists("bloom", "foo")
    bf.exists("bloom", "bar")
    created, *answers = pipeline.execute()
    assert created in (True, b"OK")
    assert answers == [1, 1, 0]


def test_transaction_returns_all_replies(client, bf):
    with client.pipeline(transaction=True) as transaction:
        transaction.execute_command("BF.ADD", "bloom", "foo")
        transaction.execute_command("BF.MADD", "bloom", "foo", "bar")
        transaction.execute_command("BF.CARD", "bloom")
        assert transaction.execute() == [1, [0, 1], 2]
    assert bf.mexists("bloom", "foo", "bar") == [1, 1]


def test_script_gets_numbers(client):
    script = client.register_script(
        """
        local added = redis.call('BF.ADD', KEYS[1], ARGV[1])
        local again = redis.call('BF.ADD', KEYS[1], ARGV[1])
        local found = redis.call('BF.MEXISTS', KEYS[1], ARGV[1], 'other')
        local info = redis.call('BF.INFO', KEYS[1], 'ITEMS')
        return {added, again, found[1], found[2], info[1]}
        """
    )
    assert script(keys=["bloom"], args=["foo"]) == [1, 0, 1, 0, 1]


def test_new_filter_has_the_layout_of_the_server(server, client):
    client.execute_command("BF.ADD", "bloom", "a")
    answer = client.execute_command("BF.STATS", "bloom", "layout")
    layout = answer[b"layout"] if isinstance(answer, dict) else answer[-1]
    assert layout.decode() == server.layout


def test_decoding_client_gets_chunks_as_bytes(server, protocol, bf):
    bf.madd("first", *(f"item:{i}" for i in range(300)))
    with server.client(protocol, decode_responses=True) as decoding:
        text = decoding.bf()
        iterator = 0
        while True:
            iterator, data = text.scandump("first", iterator)
            assert type(data) is bytes
            if not iterator:
                break
            text.loadchunk("second", iterator, data)
        assert decoding.execute_command("BF.DEBUG", "second") == decoding.execute_command("BF.DEBUG", "first")
        assert decoding.type("second") == "MBbloom--"


def test_no_scale_is_sent_even_if_false(bf):
    # A peculiarity of the library: it sends NONSCALING for any value that is not None.
    bf.create("fixed", 0.01, 10, noScale=False)
    assert info_of(bf, "fixed")[4] is None
