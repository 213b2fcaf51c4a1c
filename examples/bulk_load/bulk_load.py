"""Loads a list of unknown length into a filter, and gives back the memory that it does not need.

    REDIS_URL=redis://127.0.0.1:6379 python bulk_load.py            # a list that it makes up
    REDIS_URL=redis://127.0.0.1:6379 python bulk_load.py list.txt   # the lines of a file
"""

import argparse
import os
import sys

import redis

from bloomline import BloomlineError, Create, Filter


def load(client, key, items, at_most, error_rate):
    """Loads all items, and replaces the filter `key`. Returns its bytes before it was compacted.

    `at_most` is a capacity that the list does not exceed. Too large a number costs memory only until
    the load is over, and memory that holds no item is not resident.
    """
    # Readers see the old filter until the new one is complete.
    loading = Filter(client, f"{key}:loading", Create(at_most, error_rate))
    client.delete(loading.key)
    loading.create()
    loading.add_many(items)
    before = loading.stats()["size"]
    # Now, since the filter is full or nearly so afterwards.
    loading.compact()
    client.rename(loading.key, key)
    return before


def made_up():
    """Addresses that must not get mail, each of them twice."""
    for number in range(150_000):
        yield f"user{number}@example.com"
        yield f"user{number}@example.com"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="?", help="a list with one item per line")
    file = parser.parse_args().file
    client = redis.Redis.from_url(os.environ.get("REDIS_URL", "redis://127.0.0.1:6379"), socket_timeout=10)
    at_most = 1_000_000
    if file:
        with open(file, encoding="utf-8") as lines:
            before = load(client, "unsubscribed", (line.strip() for line in lines), at_most, 0.001)
    else:
        before = load(client, "unsubscribed", made_up(), at_most, 0.001)
    unsubscribed = Filter(client, "unsubscribed")
    stats = unsubscribed.stats()
    print(f"{stats['items']} items, reserved for {at_most}: {before} bytes")
    print(f"compacted: {stats['size']} bytes, {8 * stats['size'] / stats['items']:.1f} bits per item")

    # Further items add a layer of twice the new capacity, which is compacted after them.
    unsubscribed.add_many(f"later{number}@example.com" for number in range(11_000))
    stats = unsubscribed.stats()
    print(f"11000 items more: {stats['layers']} layers, {stats['size']} bytes")
    unsubscribed.compact()
    print(f"compacted again: {unsubscribed.stats()['size']} bytes")


if __name__ == "__main__":
    try:
        main()
    except (OSError, ValueError, BloomlineError, redis.exceptions.RedisError) as error:
        sys.exit(f"bulk_load: {error}")
