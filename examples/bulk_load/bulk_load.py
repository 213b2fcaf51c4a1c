"""Loads a list of unknown length into a filter, and gives back the memory that it does not need.

    REDIS_URL=redis://127.0.0.1:6379 python bulk_load.py            # a list that it makes up
    REDIS_URL=redis://127.0.0.1:6379 python bulk_load.py list.txt   # the lines of a file
"""

import argparse
import itertools
import os
import sys

import redis

BATCH = 1000


class BulkLoad:
    """A filter that is filled once, from a list whose length nobody knows."""

    def __init__(self, client, key, at_most, error_rate):
        """`at_most` is a capacity that the list does not exceed. Too large a number costs memory
        only until the load is over, and memory that holds no item is not resident.
        """
        self.client = client
        self.key = key
        # Readers see the old filter until the new one is complete.
        self.loading = f"{key}:loading"
        self.at_most = at_most
        self.error_rate = error_rate

    def load(self, items):
        """Loads all items. Returns the bytes of the filter before and after it was compacted."""
        self.client.delete(self.loading)
        self.client.execute_command("BF.RESERVE", self.loading, self.error_rate, self.at_most)
        items = iter(items)
        while batch := list(itertools.islice(items, BATCH)):
            self.client.execute_command("BF.MADD", self.loading, *batch)
        before = self.info("SIZE", self.loading)
        # Now, since the filter is full or nearly so afterwards.
        self.client.execute_command("BF.COMPACT", self.loading)
        after = self.info("SIZE", self.loading)
        self.client.rename(self.loading, self.key)
        return before, after

    def info(self, field, key=None):
        (value,) = self.client.execute_command("BF.INFO", key or self.key, field)
        return value


def made_up():
    """Addresses that must not get mail, each of them twice."""
    for number in range(150_000):
        yield f"user{number}@example.com"
        yield f"user{number}@example.com"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="?", help="a list with one item per line")
    file = parser.parse_args().file
    url = os.environ.get("REDIS_URL", "redis://127.0.0.1:6379")
    # RESP2 returns the value of a field without its name.
    client = redis.Redis.from_url(url, decode_responses=True, protocol=2, socket_timeout=10)
    load = BulkLoad(client, "unsubscribed", at_most=1_000_000, error_rate=0.001)
    if file:
        with open(file, encoding="utf-8") as lines:
            before, after = load.load(line.strip() for line in lines)
    else:
        before, after = load.load(made_up())
    count = load.info("ITEMS")
    print(f"{count} items, reserved for {load.at_most}: {before} bytes")
    print(f"compacted: {after} bytes, {8 * after / count:.1f} bits per item")

    # Further items add a layer of twice the new capacity, which is compacted after them.
    client.execute_command("BF.MADD", load.key, *(f"later{number}@example.com" for number in range(11_000)))
    print(f"11000 items more: {load.info('FILTERS')} layers, {load.info('SIZE')} bytes")
    client.execute_command("BF.COMPACT", load.key)
    print(f"compacted again: {load.info('SIZE')} bytes")


if __name__ == "__main__":
    try:
        main()
    except (OSError, ValueError, redis.exceptions.RedisError) as error:
        sys.exit(f"bulk_load: {error}")
