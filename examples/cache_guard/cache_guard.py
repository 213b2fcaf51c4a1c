"""A guard in front of a database: a Bloom filter of all ids rejects ids that do not exist.

    REDIS_URL=redis://127.0.0.1:6379 python cache_guard.py
"""

import argparse
import os
import sqlite3
import sys

import redis

PRODUCTS = 10_000
BATCH = 1000


class Database:
    """A table of products in SQLite that counts its queries."""

    def __init__(self, path):
        self.connection = sqlite3.connect(path)
        self.connection.execute("CREATE TABLE IF NOT EXISTS product (id TEXT PRIMARY KEY, name TEXT)")
        self.queries = 0

    def insert(self, products):
        with self.connection:
            self.connection.executemany("INSERT INTO product VALUES (?, ?)", products)

    def find(self, product_id):
        self.queries += 1
        row = self.connection.execute("SELECT name FROM product WHERE id = ?", (product_id,)).fetchone()
        return row and row[0]

    def all_ids(self):
        return (row[0] for row in self.connection.execute("SELECT id FROM product"))


class Guard:
    """Tests the filter, then reads the cache, then the database."""

    KEY = "product:ids"

    # Each factor of ten costs about five bits per id, so a very small error rate is cheap.
    def __init__(self, client, database, error_rate=1e-9, cache_seconds=60):
        self.client = client
        self.bloom = client.bf()
        self.database = database
        self.error_rate = error_rate
        self.cache_seconds = cache_seconds
        self.rejected = 0
        self.from_cache = 0

    def build(self, capacity):
        """Builds the filter under another name: an incomplete filter would reject valid ids."""
        building = f"{self.KEY}:building"
        self.client.delete(building)
        self.bloom.create(building, self.error_rate, capacity)
        ids = list(self.database.all_ids())
        for start in range(0, len(ids), BATCH):
            self.bloom.madd(building, *ids[start : start + BATCH])
        self.client.rename(building, self.KEY)

    def insert(self, products):
        """Adds ids to the filter first, then inserts the rows.

        If the database refuses a row, its id in the filter costs a query. In the other order, a
        crash between the two steps would hide the row.
        """
        self.bloom.madd(self.KEY, *(product_id for product_id, _ in products))
        self.database.insert(products)

    def find(self, product_id):
        """Returns the name of a product, or None."""
        with self.client.pipeline(transaction=True) as together:
            together.exists(self.KEY)
            together.execute_command("BF.EXISTS", self.KEY, product_id)
            together.get(f"product:{product_id}")
            guarded, may_exist, cached = together.execute()
        # If the key is missing (evicted, flushed), BF.EXISTS answers 0 for every id. Then the guard
        # lets everything through.
        if guarded and not may_exist:
            self.rejected += 1
            return None
        if cached is not None:
            self.from_cache += 1
            return cached
        name = self.database.find(product_id)
        if name is not None:
            self.client.set(f"product:{product_id}", name, ex=self.cache_seconds)
        return name


def main():
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    url = os.environ.get("REDIS_URL", "redis://127.0.0.1:6379")
    client = redis.Redis.from_url(url, decode_responses=True, socket_timeout=10)
    database = Database(":memory:")
    database.insert([(f"p{number}", f"Product {number}") for number in range(PRODUCTS)])
    guard = Guard(client, database)
    guard.build(capacity=PRODUCTS)

    real = [f"p{number}" for number in range(0, PRODUCTS, 100)]
    made_up = [f"p{number}" for number in range(PRODUCTS, PRODUCTS + 1000)]
    client.delete(*(f"product:{product_id}" for product_id in real))
    for product_id in real + made_up + real + made_up:
        name = guard.find(product_id)
        assert name == (f"Product {product_id[1:]}" if product_id in real else None)

    print(f"{2 * len(real)} lookups of ids that exist, {2 * len(made_up)} of ids that do not")
    print(f"rejected by the filter: {guard.rejected}")
    print(f"answered by the cache: {guard.from_cache}")
    print(f"answered by the database: {database.queries}")


if __name__ == "__main__":
    try:
        main()
    except (ValueError, redis.exceptions.RedisError) as error:
        sys.exit(f"cache_guard: {error}")
