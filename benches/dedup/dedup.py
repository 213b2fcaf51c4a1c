"""Measures how much time and memory a crawler needs to recognise visited pages.

    make bench-dedup        # 10^5 pages; ARGS="--items 1000000 --server valkey-9.1" for others

The bench compares sets, bits set by the client, and filters, on a server of its own. Every method
gets the same fingerprints: SHA-1 as in Scrapy-Redis, a fifth of them for the second time. It reports
the memory of the key, and the processor time of client and server, which depends less on the load of
the machine than elapsed time.
"""

import argparse
import hashlib
import pathlib
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/clients"), str(pathlib.Path(__file__).parent)]
import chart  # noqa: E402
from conftest import Server, find_servers  # noqa: E402

KEY = "seen"
ERROR_RATE = 0.0001
BATCH = 1000
# The defaults of Scrapy-Redis-BloomFilter: 2^30 bits, six per item.
BITS, HASHES = 30, 6


def fingerprints(items):
    """Yields `items` new pages, and after each four of them one that was seen."""
    for number in range(items):
        yield hashlib.sha1(b"%d" % number).hexdigest()
        if number % 4 == 3:
            yield hashlib.sha1(b"%d" % (number // 2)).hexdigest()


def batches(pages):
    """Yields the pages in batches of a thousand."""
    batch = []
    for page in pages:
        batch.append(page)
        if len(batch) == BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def sadd(client, pages, _items):
    return sum(client.sadd(KEY, page) for page in pages)


def sadd_pipelined(client, pages, _items):
    return pipelined(client, pages, "SADD")


def setbit(client, pages, _items):
    """Reads six bits, and sets them if one is 0. Each bit is a round trip."""
    new = 0
    for page in pages:
        digest = int(page, 16)
        indexes = [digest >> (BITS * i) & (1 << BITS) - 1 for i in range(HASHES - 1)]
        # A fingerprint has 160 bits, so the last index is computed from two parts of it.
        indexes.append((digest ^ digest >> 75) & (1 << BITS) - 1)
        # Not `all(generator)`: Scrapy-Redis-BloomFilter reads all six bits too.
        if not all([client.getbit(KEY, index) for index in indexes]):
            new += 1
            for index in indexes:
                client.setbit(KEY, index, 1)
    return new


def reserve(client, items):
    client.execute_command("BF.RESERVE", KEY, ERROR_RATE, items)


def bf_add(client, pages, items):
    reserve(client, items)
    return sum(client.execute_command("BF.ADD", KEY, page) for page in pages)


def bf_add_pipelined(client, pages, items):
    reserve(client, items)
    return pipelined(client, pages, "BF.ADD")


def bf_madd(client, pages, items):
    reserve(client, items)
    return sum(sum(client.execute_command("BF.MADD", KEY, *batch)) for batch in batches(pages))


def bf_bulkadd(client, pages, items):
    """Packs a batch into one string, and reads only the number of new pages."""
    reserve(client, items)
    new = 0
    for batch in batches(pages):
        data = "".join(batch)
        new += client.execute_command("BF.BULKADD", KEY, "FIXED", len(batch[0]), data, "COUNT")[1]
    return new


def pipelined(client, pages, command):
    new = 0
    for batch in batches(pages):
        pipeline = client.pipeline(transaction=False)
        for page in batch:
            pipeline.execute_command(command, KEY, page)
        new += sum(pipeline.execute())
    return new


METHODS = {
    "SADD": sadd,
    "SADD, pipelined": sadd_pipelined,
    "6 GETBIT, 6 SETBIT": setbit,
    "BF.ADD": bf_add,
    "BF.ADD, pipelined": bf_add_pipelined,
    "BF.MADD": bf_madd,
    "BF.BULKADD": bf_bulkadd,
}


def server_seconds(client):
    cpu = client.info("cpu")
    return cpu["used_cpu_user"] + cpu["used_cpu_sys"]


def measure(client, method, items):
    """Returns seconds of the client, seconds of the server, bytes, and pages reported as new."""
    client.flushall()
    pages = list(fingerprints(items))
    server, mine = server_seconds(client), time.process_time()
    new = METHODS[method](client, pages, items)
    mine, server = time.process_time() - mine, server_seconds(client) - server
    return mine, server, client.memory_usage(KEY, samples=0), new


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=100_000, help="pages (default: 100000)")
    parser.add_argument("--runs", type=int, default=3, help="of which the least time is taken (default: 3)")
    parser.add_argument("--server", default="redis-7.0", help="a folder of .servers (default: redis-7.0)")
    parser.add_argument("--chart", type=pathlib.Path, help="also write this chart, as SVG")
    options = parser.parse_args()
    server = Server(options.server, find_servers()[options.server])
    rows = []
    try:
        print(f"{options.items} new pages and a quarter as many seen ones, {options.server}")
        print("| method | client, s | server, s | memory, MB | reported as new |\n|---|---|---|---|---|")
        with server.client() as client:
            for method in METHODS:
                # On a busy machine a run of many round trips may take twice the processor time.
                runs = [measure(client, method, options.items) for _ in range(options.runs)]
                mine, servers, memory, new = min(runs, key=lambda run: run[0] + run[1])
                # A filter has false positives, but no false negatives. More than twice its error
                # rate is not a random deviation.
                missed = options.items - new
                if not 0 <= missed <= max(3, 2 * ERROR_RATE * options.items):
                    raise SystemExit(f"{method}: {new} of {options.items} pages were reported as new")
                rows.append((method, mine, servers, memory / 1e6))
                print(f"| {method} | {mine:.3f} | {servers:.3f} | {memory / 1e6:.3f} | {new} |", flush=True)
    finally:
        server.stop()
    if options.chart:
        options.chart.write_text(chart.draw(rows, options.items))


if __name__ == "__main__":
    main()
