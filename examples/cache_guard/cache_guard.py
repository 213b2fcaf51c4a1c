"""A guard in front of a database: ids that do not exist are turned away by a Bloom filter of those that do.

    REDIS_URL=redis://127.0.0.1:6379 python cache_guard.py
"""

import os
import sqlite3

import redis

PRODUCTS = 10_000
BATCH = 1000


class Database:
    """A table of products in SQLite, which counts what it is asked."""

    def __init__(self, path):
        self.connection = sqlite3.connect(path)
        self.connection.execute("CREATE TABLE IF NOT EXISTS product (id TEXT PRIMARY KEY, name TEXT)")
        self.asked = 0

    def insert(self, products):
        with self.connection:
            self.connection.executemany("INSERT INTO product VALUES (?, ?)", products)

    def find(self, product_id):
        self.asked += 1
        row = self.connection.execute("SELECT name FROM product WHERE id = ?", (product_id,)).fetchone()
        return row and row[0]

    def all_ids(self):
        return (row[0] for row in self.connection.execute("SELECT id FROM product"))


class Guard:
    """Looks into the filter, then the cache, then the database."""

    KEY = "product:ids"

    # An id costs about five bits more for each further digit, so an error rate at which nothing gets by is cheap.
    def __init__(self, client, database, error_rate=1e-9, cache_seconds=60):
        self.client = client
        self.bloom = client.bf()
        self.database = database
        self.error_rate = error_rate
        self.cache_seconds = cache_seconds
        self.turned_away = 0
        self.from_cache = 0

    def build(self, capacity):
        """Makes the filter of all ids under another name, since a filter with only some of them would deny the rest."""
        building = f"{self.KEY}:building"
        self.client.delete(building)
        self.bloom.create(building, self.error_rate, capacity)
        ids = list(self.database.all_ids())
        for start in range(0, len(ids), BATCH):
            self.bloom.madd(building, *ids[start : start + BATCH])
        self.client.rename(building, self.KEY)

    def insert(self, products):
        """Into the filter first: an id there that the database refuses costs a look, the other way round it can't be found."""
        self.bloom.madd(self.KEY, *(product_id for product_id, _ in products))
        self.database.insert(products)

    def find(self, product_id):
        """The name of a product, or None."""
        with self.client.pipeline(transaction=True) as together:
            together.exists(self.KEY)
            together.execute_command("BF.EXISTS", self.KEY, product_id)
            together.get(f"product:{product_id}")
            guarded, may_exist, cached = together.execute()
        # Without its key (evicted, flushed) BF.EXISTS denies everything; then the guard lets everything through.
        if guarded and not may_exist:
            self.turned_away += 1
            return None
        if cached is not None:
            self.from_cache += 1
            return cached
        name = self.database.find(product_id)
        if name is not None:
            self.client.set(f"product:{product_id}", name, ex=self.cache_seconds)
        return name


def main():
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
    print(f"turned away by the filter: {guard.turned_away}")
    print(f"answered by the cache: {guard.from_cache}")
    print(f"asked of the database: {database.asked}")


if __name__ == "__main__":
    main()
