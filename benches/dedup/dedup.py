"""What a crawler's "have I seen this page?" costs: sets, bits set by hand, and filters, on a server of its own.

    make bench-dedup                    # 10^5 pages; ARGS="--items 1000000" for more, --server valkey-9.1 to choose

Every way is offered the same fingerprints, SHA-1 as Scrapy-Redis keeps them, a fifth of them for the second time.
What is told is processor time of client and server, which does not wait for a busy machine as the clock does, and
memory of the key.
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
# As Scrapy-Redis-BloomFilter does without settings: 2^30 bits, six of them an item.
BITS, HASHES = 30, 6


def fingerprints(items):
    """`items` pages that are new, and after each four of them one that was seen."""
    for number in range(items):
        yield hashlib.sha1(b"%d" % number).hexdigest()
        if number % 4 == 3:
            yield hashlib.sha1(b"%d" % (number // 2)).hexdigest()


def batches(pages):
    """The pages, a thousand at a time."""
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
    """Looks for six bits, and sets them if one is missing: a round trip each."""
    new = 0
    for page in pages:
        digest = int(page, 16)
        places = [digest >> (BITS * i) & (1 << BITS) - 1 for i in range(HASHES - 1)]
        # A fingerprint has 160 bits: the last place is made of two parts.
        places.append((digest ^ digest >> 75) & (1 << BITS) - 1)
        # Not `all(generator)`: the library asks for all six.
        if not all([client.getbit(KEY, place) for place in places]):
            new += 1
            for place in places:
                client.setbit(KEY, place, 1)
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


def pipelined(client, pages, command):
    new = 0
    for batch in batches(pages):
        pipeline = client.pipeline(transaction=False)
        for page in batch:
            pipeline.execute_command(command, KEY, page)
        new += sum(pipeline.execute())
    return new


WAYS = {
    "SADD": sadd,
    "SADD, pipelined": sadd_pipelined,
    "6 GETBIT, 6 SETBIT": setbit,
    "BF.ADD": bf_add,
    "BF.ADD, pipelined": bf_add_pipelined,
    "BF.MADD": bf_madd,
}


def server_seconds(client):
    cpu = client.info("cpu")
    return cpu["used_cpu_user"] + cpu["used_cpu_sys"]


def measure(client, way, items):
    """Seconds of the client, seconds of the server, bytes, pages taken for new."""
    client.flushall()
    pages = list(fingerprints(items))
    server, mine = server_seconds(client), time.process_time()
    new = WAYS[way](client, pages, items)
    mine, server = time.process_time() - mine, server_seconds(client) - server
    return mine, server, client.memory_usage(KEY, samples=0), new


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=100_000, help="pages (default: 100000)")
    parser.add_argument("--server", default="redis-7.0", help="a folder of .servers (default: redis-7.0)")
    parser.add_argument("--chart", type=pathlib.Path, help="also draw it, as SVG")
    options = parser.parse_args()
    server = Server(options.server, find_servers()[options.server])
    rows = []
    try:
        print(f"{options.items} pages and a quarter as many seen ones, {options.server}")
        print("| way | client, s | server, s | memory, MB | taken for new |\n|---|---|---|---|---|")
        with server.client() as client:
            for way in WAYS:
                mine, servers, memory, new = measure(client, way, options.items)
                # A filter may take a new page for a seen one, never the reverse; twice its rate is no chance.
                missed = options.items - new
                if not 0 <= missed <= max(3, 2 * ERROR_RATE * options.items):
                    raise SystemExit(f"{way}: {new} of {options.items} pages were taken for new")
                rows.append((way, mine, servers, memory / 1e6))
                print(f"| {way} | {mine:.2f} | {servers:.2f} | {memory / 1e6:.3f} | {new} |", flush=True)
    finally:
        server.stop()
    if options.chart:
        options.chart.write_text(chart.draw(rows))


if __name__ == "__main__":
    main()
