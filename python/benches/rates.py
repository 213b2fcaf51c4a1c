"""Prints items per second of the package beside calls that are packed by hand, and `client.bf()`.

    python rates.py                 a table in Markdown, below a line on the machine

It starts a server with the module, as `bloomline serve` does, on a Unix socket. Each way is
measured in each of 15 rounds; the figures are medians, of the quotients too. Each round has another
order, since the first way of a round finds its items in no cache, and the next ones do.
"""

import datetime
import os
import platform
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
# The ways, as heads of columns.
PACKAGE, BY_HAND, MADD = "`add_many`", "packed by hand", "`bf().madd`"


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

    texts, array = "texts of 26 to 31 bytes", "an array of numpy, `<u8`"
    ways = {
        (texts, PACKAGE): lambda key: Filter(client, key).add_many(urls),
        (texts, BY_HAND): lines_by_hand,
        (texts, MADD): madd,
        (array, PACKAGE): lambda key: Filter(client, key).add_many(ids),
        (array, BY_HAND): array_by_hand,
    }
    seconds = {way: [] for way in ways}
    order = random.Random(1)
    for _ in range(ROUNDS):
        for way in order.sample(list(ways), len(ways)):
            client.delete(KEY)
            Filter(client, KEY, Create(ITEMS)).create()
            began = time.perf_counter()
            ways[way](KEY)
            seconds[way].append(time.perf_counter() - began)

    print(machine(client), end="\n\n")
    heads = ["million items per second", PACKAGE, BY_HAND, f"{PACKAGE} / {BY_HAND}", MADD]
    print(f"| {' | '.join(heads)} |", "|---|---:|---:|---:|---:|", sep="\n")
    for items in [texts, array]:
        pairs = zip(seconds[items, BY_HAND], seconds[items, PACKAGE])
        quotient = statistics.median(by_hand / package for by_hand, package in pairs)
        rates = [rate(seconds.get((items, way))) for way in [PACKAGE, BY_HAND, MADD]]
        rates.insert(2, f"{quotient:.2f}")
        print(f"| {items} | {' | '.join(rates)} |")


def rate(seconds):
    """The median in million items per second; none if the way was not measured."""
    return f"{ITEMS / statistics.median(seconds) / 1e6:.2f}" if seconds else "-"


def machine(client):
    """What the figures depend on."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    names = [line.partition(": ")[2] for line in lines if line.startswith("model name")]
    server = client.info("server")["redis_version"]
    texts = [
        f"Medians of {ROUNDS} rounds: {names[0] if names else platform.machine()}",
        f"{os.cpu_count()} cores",
        f"redis {server} on a Unix socket",
        f"Python {platform.python_version()}",
        f"redis-py {redis.__version__}",
        f"load {os.getloadavg()[0]:.2f}",
        f"{datetime.date.today()}.",
    ]
    return ", ".join(texts)


if __name__ == "__main__":
    main()
