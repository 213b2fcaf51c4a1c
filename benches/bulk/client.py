"""Measures items per second from redis-py on one connection. The server bench runs it as a child.

    client.py SOCKET ITEMS ROUNDS [--packed]

Prints a JSON object: the median of the rounds for each way of sending the items, in items per
second. The filter `filter` must hold as many items. Making the items is not timed. Packing them is:
the arguments of BF.MADD by redis-py, the string of `joined` by the program. `buffer` is one string of
all items, as a file of fingerprints gives it, of which each call sends a part.
"""

import hashlib
import json
import statistics
import sys
import time

import redis

KEY = "filter"
WIDTH = 20
BATCH = 1_000
PACKED_BATCH = 50_000


def madd(client, items, _buffer):
    for first in range(0, len(items), BATCH):
        yield sum(client.execute_command("BF.MADD", KEY, *items[first : first + BATCH]))


def joined(client, items, _buffer):
    for first in range(0, len(items), PACKED_BATCH):
        data = b"".join(items[first : first + PACKED_BATCH])
        yield ones(client.execute_command("BF.BULKADD", KEY, "FIXED", WIDTH, data))


def buffer(client, _items, buffer):
    size = PACKED_BATCH * WIDTH
    for first in range(0, len(buffer), size):
        data = buffer[first : first + size]
        yield ones(client.execute_command("BF.BULKADD", KEY, "FIXED", WIDTH, data))


def ones(reply):
    _processed, bitmap = reply
    return int.from_bytes(bitmap, "big").bit_count()


def seconds(client, way, items, whole):
    """Adds the items to an empty filter."""
    client.delete(KEY)
    client.execute_command("BF.RESERVE", KEY, 0.01, len(items))
    started = time.perf_counter()
    new = sum(way(client, items, whole))
    elapsed = time.perf_counter() - started
    # At the target rate of 1 % a filter takes fewer than that of its new items for known ones.
    if not 0.99 * len(items) <= new <= len(items):
        raise SystemExit(f"{way.__name__}: {new} of {len(items)} items were new")
    return elapsed


def main():
    path, number, rounds = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    client = redis.Redis(unix_socket_path=path)
    items = [hashlib.sha1(b"%d" % i).digest() for i in range(number)]
    whole = b"".join(items)
    ways = [madd, joined, buffer] if "--packed" in sys.argv else [madd]
    times = {way: [] for way in ways}
    for _ in range(rounds):
        for way in ways:
            times[way].append(seconds(client, way, items, whole))
    rates = {way.__name__: number / statistics.median(times[way]) for way in ways}
    print(json.dumps(rates))


main()
