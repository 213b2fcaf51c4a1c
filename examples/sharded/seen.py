"""The set of URLs that were fetched, in filters that are spread over the nodes of a cluster.

    REDIS_URL=redis://127.0.0.1:6379 python seen.py             # one server
    CLUSTER_URL=redis://127.0.0.1:7000 python seen.py           # any node of a cluster
"""

import argparse
import hashlib
import os
import sys
from collections import defaultdict
from math import ceil, sqrt

import redis


def packed(items):
    """Returns the form and the data of items, as BF.BULKADD and BF.BULKEXISTS take them."""
    width = len(items[0])
    # An item of no bytes has no fixed width.
    if width and all(len(item) == width for item in items):
        return "FIXED", width, b"".join(items)
    return "PREFIXED", b"".join(len(item).to_bytes(4, "little") + item for item in items)


class Seen:
    """A set of URLs in `shards` filters. The hash of a URL decides to which filter it belongs."""

    def __init__(self, client, shards, urls, error_rate):
        self.client = client
        self.shards = shards
        self.error_rate = error_rate
        # The number of URLs per shard is random. In practice it never exceeds the mean by six
        # standard deviations.
        self.capacity = ceil(urls / shards + 6 * sqrt(urls / shards))

    @staticmethod
    def key(shard):
        """The part in braces decides the node, so all keys of a shard can be on one node."""
        return f"seen:{{{shard}}}"

    def locate(self, url):
        """Returns the shard of a URL, and its fingerprint of 20 bytes, which is the item."""
        fingerprint = hashlib.sha1(url.encode()).digest()
        return int.from_bytes(fingerprint[:8], "big") % self.shards, fingerprint

    def reserve(self):
        """Creates the filters that do not exist yet.

        If more URLs come than expected, each filter grows by layers of its first capacity.
        """
        for shard in range(self.shards):
            try:
                self.client.execute_command(
                    "BF.RESERVE", self.key(shard), self.error_rate, self.capacity, "EXPANSION", 1
                )
            except redis.exceptions.ResponseError as error:
                if "item exists" not in str(error):
                    raise

    def add(self, urls):
        """Adds URLs and returns the new ones, by one BF.BULKADD per shard in one pipeline."""
        return [url for url, is_new in zip(urls, self.call("BF.BULKADD", urls)) if is_new]

    def contains(self, urls):
        """Returns whether each URL is in the set, by one BF.BULKEXISTS per shard in one pipeline."""
        return self.call("BF.BULKEXISTS", urls)

    def call(self, command, urls):
        """Returns the answers for URLs, in their order."""
        members_of = defaultdict(list)
        for number, url in enumerate(urls):
            shard, item = self.locate(url)
            members_of[shard].append((number, item))
        pipeline = self.client.pipeline(transaction=False)
        for shard, members in members_of.items():
            pipeline.execute_command(command, self.key(shard), *packed([item for _, item in members]))
        answers = [False] * len(urls)
        for members, (_, bits, *refusal) in zip(members_of.values(), pipeline.execute()):
            # If a filter cannot grow, the call ends at the first item that it refuses.
            if refusal:
                raise refusal[0]
            for at, (number, _) in enumerate(members):
                answers[number] = bool(bits[at // 8] & 128 >> at % 8)
        return answers

    def cards(self):
        """Returns the number of URLs in each shard."""
        return [self.client.execute_command("BF.CARD", self.key(shard)) for shard in range(self.shards)]


def main():
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    cluster = os.environ.get("CLUSTER_URL")
    if cluster:
        client = redis.RedisCluster.from_url(cluster, socket_timeout=10)
    else:
        client = redis.Redis.from_url(os.environ.get("REDIS_URL", "redis://127.0.0.1:6379"), socket_timeout=10)
    seen = Seen(client, shards=16, urls=20_000, error_rate=0.0001)
    for shard in range(seen.shards):
        client.delete(seen.key(shard))
    seen.reserve()

    urls = [f"https://example.com/page/{number}" for number in range(20_000)]
    print(f"{seen.shards} shards of {seen.capacity} URLs")
    new = sum(len(seen.add(urls[start : start + 1000])) for start in range(0, len(urls), 1000))
    # At this error rate up to two false positives are expected in 20,000.
    print("all of 20000 URLs were new" if new >= 19_990 else f"only {new} URLs were new")
    again = sum(len(seen.add(urls[start : start + 1000])) for start in range(0, len(urls), 1000))
    print(f"{again} of them were new the second time")
    cards = seen.cards()
    print(f"the fullest shard has room left: {max(cards) <= seen.capacity}")


if __name__ == "__main__":
    try:
        main()
    except (ValueError, redis.exceptions.RedisError, redis.exceptions.RedisClusterException) as error:
        sys.exit(f"seen: {error}")
