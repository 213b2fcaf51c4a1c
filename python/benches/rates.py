"""Prints items per second of the package beside calls that are packed by hand, and `client.bf()`.

    REDIS_URL=redis://127.0.0.1:6379 python rates.py

Each way is measured in turn, in nine rounds; the figures are medians. It deletes the keys that
begin with `bloomline:rates:`.
"""

import os
import statistics
import time

import numpy
import redis

from bloomline import Create, Filter

ITEMS = 500_000
ROUNDS = 9
# Items of a call that is packed by hand, and of BF.MADD.
PACKED, PLAIN = 50_000, 1_000


def main():
    client = redis.Redis.from_url(os.environ.get("REDIS_URL", "redis://127.0.0.1:6379"))
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
    for _ in range(ROUNDS):
        for name, way in ways.items():
            key = "bloomline:rates:" + name.replace(" ", "")
            client.delete(key)
            Filter(client, key, Create(ITEMS)).create()
            began = time.perf_counter()
            way(key)
            seconds[name].append(time.perf_counter() - began)
            client.delete(key)
    rates = {name: ITEMS / statistics.median(of) / 1e6 for name, of in seconds.items()}
    for name, rate in rates.items():
        by_hand = rates[name.split(",")[0] + ", packed by hand"]
        print(f"{name:24} {rate:6.2f} million items/s  {rate / by_hand:5.2f} of by hand")


if __name__ == "__main__":
    main()
