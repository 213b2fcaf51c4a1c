"""Prints items per second of the package beside calls that are packed by hand, and `client.bf()`.

    python rates.py

It starts a server with the module, as `bloomline serve` does, on a Unix socket. Each way is
measured in each of 15 rounds; the figures are medians, of the quotients too. Each round has another
order, since the first way of a round finds its items in no cache, and the next ones do.
"""

import os
import random
import statistics
import tempfile
import time
from pathlib import Path

import numpy
import redis

from bloomline import Create, Filter
from bloomline.module import LocalServer

ITEMS = 500_000
ROUNDS = 15
KEY = "rates"
# Items of a call that is packed by hand, and of BF.MADD.
PACKED, PLAIN = 50_000, 1_000


def main():
    folder = tempfile.TemporaryDirectory(prefix="bloomline-")
    with folder as name, LocalServer(Path(name)) as server:
        measure(redis.Redis.from_url(server.url))


def measure(client):
    urls = [f"https://example.com/page/{number}" for number in range(ITEMS)]
    ids = numpy.arange(ITEMS, dtype="<u8")

    def lines_by_hand(key):
        for at in range(0, ITEMS, PACKED):
            data = "\n".join(urls[at : at + PACKED]).encode()
            client.execute_command("BF.BULKADD", key, "LINES", data)

    def array_by_hand(key):
        for at in range(0, ITEMS, PACKED):
            data = ids[at : at + PACKED].tobytes()
            client.execute_command("BF.BULKADD", key, "FIXED", 8, data)

    def madd(key):
        for at in range(0, ITEMS, PLAIN):
            client.bf().madd(key, *urls[at : at + PLAIN])

    ways = {
        "texts, Filter.add_many": lambda key: Filter(client, key).add_many(urls),
        "texts, packed by hand": lines_by_hand,
        "texts, bf().madd": madd,
        "numpy, Filter.add_many": lambda key: Filter(client, key).add_many(ids),
        "numpy, packed by hand": array_by_hand,
    }
    seconds = {name: [] for name in ways}
    order = random.Random(1)
    for _ in range(ROUNDS):
        for name in order.sample(list(ways), len(ways)):
            client.delete(KEY)
            Filter(client, KEY, Create(ITEMS)).create()
            began = time.perf_counter()
            ways[name](KEY)
            seconds[name].append(time.perf_counter() - began)
    for name, of in seconds.items():
        by_hand = seconds[name.split(",")[0] + ", packed by hand"]
        quotient = statistics.median(hand / way for hand, way in zip(by_hand, of))
        rate = ITEMS / statistics.median(of) / 1e6
        print(f"{name:24} {rate:6.2f} million items/s  {quotient:5.2f} of by hand")
    print("load average: {:.1f} {:.1f} {:.1f}".format(*os.getloadavg()))


if __name__ == "__main__":
    main()
