"""The set of URLs that were fetched, in filters that are spread over the nodes of a cluster.

    REDIS_URL=redis://127.0.0.1:6379 python seen.py             # one server
    CLUSTER_URL=redis://127.0.0.1:7000 python seen.py           # any node of a cluster
"""

import argparse
import os
import sys

import redis

from bloomline import BloomlineError, Create, ShardedFilter


def main():
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    cluster = os.environ.get("CLUSTER_URL")
    if cluster:
        client = redis.RedisCluster.from_url(cluster, socket_timeout=10)
    else:
        client = redis.Redis.from_url(os.environ.get("REDIS_URL", "redis://127.0.0.1:6379"), socket_timeout=10)
    # If more URLs come than expected, each filter grows by layers of its first capacity.
    seen = ShardedFilter(client, "seen", 16, Create(20_000, error_rate=0.0001, expansion=1))
    for key in seen.keys:
        client.delete(key)
    seen.create()

    urls = [f"https://example.com/page/{number}" for number in range(20_000)]
    new = seen.add_many(urls).ones
    # At this error rate up to two false positives are expected in 20,000.
    print("all of 20000 URLs were new" if new >= 19_990 else f"only {new} URLs were new")
    print(f"{seen.add_many(urls).ones} of them were new the second time")
    print(f"one layer in each of {len(seen.keys)} shards: {seen.stats()['layers'] == len(seen.keys)}")


if __name__ == "__main__":
    try:
        main()
    except (ValueError, BloomlineError, redis.exceptions.RedisError, redis.exceptions.RedisClusterException) as error:
        sys.exit(f"seen: {error}")
