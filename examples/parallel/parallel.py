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

BATCH = 1000


class Crawl:
    """The filters of a crawl on one server or cluster: one per worker, and one of all pages."""

    # The part in braces decides the node, so that all filters are on one and can be merged.
    ALL = "{crawl}:all"
    OTHER = "{crawl}:other"

    def __init__(self, client, pages, error_rate, seed):
        """`pages` is the number of pages of all workers in all regions together.

        Parts with the same capacity, error rate and seed can be merged. The capacity is that of the
        whole, because a merge that would exceed it is refused.
        """
        self.client = client
        self.pages = pages
        self.error_rate = error_rate
        self.seed = seed

    @staticmethod
    def key(worker):
        return f"{{crawl}}:{worker}"

    def reserve(self, worker):
        """Creates the filter of a worker. Memory that holds no item yet is not resident."""
        self.client.execute_command("BF.RESERVE", self.key(worker), self.error_rate, self.pages, "SEED", self.seed)

    def add(self, worker, pages):
        """Adds pages to the filter of a worker. Returns those that are new to this worker."""
        new = []
        for start in range(0, len(pages), BATCH):
            batch = pages[start : start + BATCH]
            answers = self.client.execute_command("BF.MADD", self.key(worker), *batch)
            # A refused item is an exception object among the answers.
            for answer in answers:
                if isinstance(answer, Exception):
                    raise answer
            new += [page for page, is_new in zip(batch, answers) if is_new]
        return new

    def merge(self, workers):
        """Joins the filters of the workers into the one of all pages, which may exist already.

        The workers may go on: merging again adds what came since.
        """
        self.client.execute_command("BF.MERGE", self.ALL, *(self.key(worker) for worker in workers))

    def take(self, other):
        """Joins the pages of another region into the one of all pages here."""
        self.client.restore(self.OTHER, 0, other.client.dump(self.ALL), replace=True)
        self.client.execute_command("BF.MERGE", self.ALL, self.OTHER)
        self.client.delete(self.OTHER)

    def count(self, key=ALL):
        """Returns the number of pages in a filter. After a merge it is an estimate."""
        return self.client.execute_command("BF.CARD", key)

    def contains(self, pages):
        """Returns how many of the pages are in the filter of all pages, by one call."""
        # No page is empty or contains the end of a line.
        _, found = self.client.execute_command("BF.BULKEXISTS", self.ALL, "LINES", "\n".join(pages), "COUNT")
        return found


def work(crawl, found):
    """Lets each worker add the pages that it has found, all at the same time, and merges."""
    keys = [crawl.key(worker) for worker in found]
    crawl.client.delete(crawl.ALL, *keys)
    for worker in found:
        crawl.reserve(worker)
    with ThreadPoolExecutor() as threads:
        list(threads.map(crawl.add, found.keys(), found.values()))
    crawl.merge(found)
    return [crawl.count(key) for key in keys]


def pages(first, last):
    return [f"https://example.com/page/{number}" for number in range(first, last)]


def connect(url, is_cluster=False):
    # Replies are not decoded, since the bytes of DUMP are no text.
    library = redis.RedisCluster if is_cluster else redis.Redis
    return library.from_url(url, socket_timeout=10)


def main():
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    cluster = os.environ.get("CLUSTER_URL")
    client = connect(cluster or os.environ.get("REDIS_URL", "redis://127.0.0.1:6379"), is_cluster=bool(cluster))
    # The seed is the same for all, in all regions. Where others choose the pages, make it by
    # secrets.randbits(64), and keep it secret.
    parameters = {"pages": 200_000, "error_rate": 0.001, "seed": 7}
    here = Crawl(client, **parameters)

    # Neighbours have found 5,000 pages in common.
    found = {worker: pages(worker * 20_000, worker * 20_000 + 25_000) for worker in range(4)}
    counts = work(here, found)
    print(f"{len(counts)} workers with {sum(counts)} pages together")
    print(f"merged: about {here.count()} of 85000 distinct pages, {here.contains(pages(0, 85_000))} are found")

    if "OTHER_URL" in os.environ:
        there = Crawl(connect(os.environ["OTHER_URL"]), **parameters)
        work(there, {worker: pages(70_000 + worker * 20_000, 90_000 + worker * 20_000) for worker in range(2)})
        here.take(there)
        there.take(here)
        for region in (here, there):
            print(f"both regions: about {region.count()} pages, {region.contains(pages(0, 110_000))} are found")


if __name__ == "__main__":
    try:
        main()
    except (ValueError, redis.exceptions.RedisError, redis.exceptions.RedisClusterException) as error:
        sys.exit(f"parallel: {error}")
