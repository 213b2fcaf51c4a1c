"""Idempotency keys of an API: a payment that a client sends again is made once.

    REDIS_URL=redis://127.0.0.1:6379 python idempotency.py
"""

import argparse
import os
import sqlite3
import sys

import redis

DAY = 24 * 60 * 60


class Database:
    """The payments that were made, by idempotency key, in SQLite."""

    def __init__(self, path):
        self.connection = sqlite3.connect(path)
        self.connection.execute("CREATE TABLE IF NOT EXISTS payment (key TEXT PRIMARY KEY, amount INTEGER)")
        self.queries = 0

    def insert(self, key, amount):
        with self.connection:
            self.connection.execute("INSERT INTO payment VALUES (?, ?)", (key, amount))

    def find(self, key):
        self.queries += 1
        row = self.connection.execute("SELECT amount FROM payment WHERE key = ?", (key,)).fetchone()
        return row and row[0]

    def total(self):
        return self.connection.execute("SELECT COALESCE(SUM(amount), 0) FROM payment").fetchone()[0]


class Payments:
    """Makes each payment once, and recognises retries for a day after the last attempt."""

    KEY = "payments:keys"

    # The error rate is the fraction of new requests that are taken for retries. Each factor of ten
    # costs six bits per request.
    def __init__(self, client, database, window_seconds=DAY, requests_per_window=1_000_000, error_rate=1e-9):
        self.client = client
        self.database = database
        self.options = ["CAPACITY", requests_per_window, "ERROR", error_rate, "WINDOW", window_seconds]

    def claim(self, keys):
        """Returns True for each key that nobody has claimed within the window.

        One BF.INSERT is atomic: of several workers, and of equal keys in one call, exactly one gets
        True. The first call creates the filter. A retry renews the key for another window.
        """
        answers = self.client.execute_command("BF.INSERT", self.KEY, *self.options, "ITEMS", *keys)
        return [bool(answer) for answer in answers]

    def pay(self, key, amount):
        """Makes a payment, unless its key was used. Returns what happened, and the amount paid.

        "unknown": another worker is making the payment, or one has failed while making it, or the key
        is a false positive. The client asks again with the same key; if the answer remains "unknown"
        for longer than a payment can take, it uses a new key.
        """
        if self.claim([key]) == [True]:
            self.database.insert(key, amount)
            return "paid", amount
        paid = self.database.find(key)
        return ("unknown", None) if paid is None else ("repeated", paid)


def main():
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    url = os.environ.get("REDIS_URL", "redis://127.0.0.1:6379")
    client = redis.Redis.from_url(url, decode_responses=True, socket_timeout=10)
    client.delete(Payments.KEY)
    payments = Payments(client, Database(":memory:"))

    for key in ("order-1", "order-2", "order-1"):
        outcome, amount = payments.pay(key, 25)
        print(f"{key}: {outcome} {amount}")
    print("a worker stops after it has claimed order-3")
    payments.claim(["order-3"])
    print(f"order-3: {payments.pay('order-3', 25)[0]}")

    # A thousand requests, half of which the clients send a second time.
    requests = [f"request-{number}" for number in range(1000)]
    outcomes = [payments.pay(key, 1)[0] for key in requests + requests[::2]]
    print(f"{outcomes.count('paid')} paid, {outcomes.count('repeated')} repeated")
    print(f"paid in total: {payments.database.total()}, queries: {payments.database.queries}")


if __name__ == "__main__":
    try:
        main()
    except (ValueError, redis.exceptions.RedisError) as error:
        sys.exit(f"idempotency: {error}")
