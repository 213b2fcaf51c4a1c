"""Sessions that end: a cuckoo filter in front of the table of the sessions that are open.

    REDIS_URL=redis://127.0.0.1:6379 python sessions.py
"""

import os
import sqlite3

import redis

USERS = 5000
FORGED = 20_000
BATCH = 1000


class Database:
    """A table of open sessions in SQLite that counts its queries."""

    def __init__(self, path):
        self.connection = sqlite3.connect(path)
        self.connection.execute("CREATE TABLE IF NOT EXISTS session (token TEXT PRIMARY KEY, user TEXT)")
        self.queries = 0

    def open(self, token, user):
        with self.connection:
            self.connection.execute("INSERT INTO session VALUES (?, ?)", (token, user))

    def close(self, token):
        """True if the session was open: of two calls with one token only the first is answered so."""
        with self.connection:
            return self.connection.execute("DELETE FROM session WHERE token = ?", (token,)).rowcount == 1

    def user(self, token):
        self.queries += 1
        row = self.connection.execute("SELECT user FROM session WHERE token = ?", (token,)).fetchone()
        return row and row[0]

    def tokens(self):
        return [row[0] for row in self.connection.execute("SELECT token FROM session")]


class Sessions:
    """Open sessions: the filter rejects tokens that are none, the database decides."""

    KEY = "sessions"

    def __init__(self, client, database):
        self.client = client
        self.cuckoo = client.cf()
        self.database = database
        self.rejected = 0

    def build(self, capacity, error_rate=0.0001):
        """Builds the filter from the database, under another name until it is complete."""
        building = f"{self.KEY}:building"
        self.client.delete(building)
        # create() of redis-py has no argument for the rate.
        self.client.execute_command("CF.RESERVE", building, capacity, "ERROR", error_rate)
        tokens = self.database.tokens()
        for start in range(0, len(tokens), BATCH):
            self.cuckoo.insert(building, tokens[start : start + BATCH])
        self.client.rename(building, self.KEY)

    def open(self, token, user):
        """Adds the token with CF.ADD, never CF.ADDNX: each session needs an entry of its own."""
        self.cuckoo.add(self.KEY, token)
        self.database.open(token, user)

    def close(self, token):
        """Deletes the token once, and only if it was there: the table decides, not the filter."""
        if self.database.close(token):
            self.cuckoo.delete(self.KEY, token)

    def user(self, token):
        """Returns the user of an open session, or None."""
        with self.client.pipeline(transaction=True) as together:
            together.exists(self.KEY)
            together.execute_command("CF.EXISTS", self.KEY, token)
            is_there, may_be_open = together.execute()
        # If the key is missing (evicted, flushed), the filter knows nothing.
        if is_there and not may_be_open:
            self.rejected += 1
            return None
        return self.database.user(token)


def main():
    client = redis.Redis.from_url(os.environ.get("REDIS_URL", "redis://127.0.0.1:6379"))
    database = Database(":memory:")
    sessions = Sessions(client, database)
    sessions.build(capacity=2 * USERS)
    for number in range(USERS):
        sessions.open(f"token:{number}", f"user:{number}")
    for number in range(0, USERS, 2):
        sessions.close(f"token:{number}")
        # The user clicks twice.
        sessions.close(f"token:{number}")
    lost = sum(sessions.user(f"token:{number}") is None for number in range(1, USERS, 2))
    print(f"{USERS} sessions opened, {USERS // 2} closed, {lost} of the open ones lost")
    before = database.queries
    for number in range(FORGED):
        assert sessions.user(f"forged:{number}") is None
    assert database.queries - before <= FORGED // 1000, "more false positives than the rate allows"
    print(f"{FORGED} forged tokens: at most {FORGED // 1000} reached the database")


if __name__ == "__main__":
    main()
