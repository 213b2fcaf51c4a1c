"""One filter of the pages that many workers have fetched, each of which fills a filter of its own.

    REDIS_URL=redis://127.0.0.1:6379 python parallel.py          # one server
    CLUSTER_URL=redis://127.0.0.1:7000 python parallel.py        # any node of a cluster
    OTHER_URL=redis://127.0.0.1:6380 python parallel.py          # also a server in another region
"""

import argparse
import os
import sys
from concurrent.futures import ThreadPoolExecutor

import redis

from bloomline import BloomlineError, Create, Filter

# The capacity is that of the pages of all workers in all regions, because a merge that would exceed
# it is refused. The seed is the same for all. Where others choose the pages, make it by
# secrets.randbits(64), and keep it secret.
CREATE = Create(capacity=200_000, error_rate=0.001, seed=7)

# The part in braces decides the node, so that all filters are on one and can be merged.
ALL, OTHER = "{crawl}:all", "{crawl}:other"


def work(client, found):
    """Lets each worker add the pages that it has found, all at the same time, and merges.

    The workers may go on: merging again adds what came since. Returns the filters of the workers.
    """
    parts = [Filter(client, f"{{crawl}}:{worker}", CREATE) for worker in found]
    client.delete(ALL, *(part.key for part in parts))
    with ThreadPoolExecutor() as threads:
        list(threads.map(Filter.add_many, parts, found.values()))
    Filter(client, ALL).merge(*(part.key for part in parts))
    return parts


def take(client, other):
    """Joins the pages of another region into the filter of all pages here."""
    client.restore(OTHER, 0, other.dump(ALL), replace=True)
    Filter(client, ALL).merge(OTHER)
    client.delete(OTHER)


def pages(first, last):
    return [f"https://example.com/page/{number}" for number in range(first, last)]


def connect(url, is_cluster=False):
    # Replies are not decoded, since the bytes of DUMP are no text.
    library = redis.RedisCluster if is_cluster else redis.Redis
    return library.from_url(url, socket_timeout=10)


def main():
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    cluster = os.environ.get("CLUSTER_URL")
    here = connect(cluster or os.environ.get("REDIS_URL", "redis://127.0.0.1:6379"), is_cluster=bool(cluster))

    # Neighbours have found 5,000 pages in common.
    parts = work(here, {worker: pages(worker * 20_000, worker * 20_000 + 25_000) for worker in range(4)})
    print(f"{len(parts)} workers with {sum(part.card() for part in parts)} pages together")
    # After a merge the number is an estimate.
    whole = Filter(here, ALL)
    found = whole.contains_many(pages(0, 85_000)).ones
    print(f"merged: about {whole.card()} of 85000 distinct pages, {found} are found")

    if "OTHER_URL" in os.environ:
        there = connect(os.environ["OTHER_URL"])
        work(there, {worker: pages(70_000 + worker * 20_000, 90_000 + worker * 20_000) for worker in range(2)})
        take(here, there)
        take(there, here)
        for whole in (Filter(here, ALL), Filter(there, ALL)):
            found = whole.contains_many(pages(0, 110_000)).ones
            print(f"both regions: about {whole.card()} pages, {found} are found")


if __name__ == "__main__":
    try:
        main()
    except (ValueError, BloomlineError, redis.exceptions.RedisError, redis.exceptions.RedisClusterException) as error:
        sys.exit(f"parallel: {error}")
