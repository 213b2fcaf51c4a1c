"""A news feed that shows each user only unseen articles, with one small Bloom filter per user.

    REDIS_URL=redis://127.0.0.1:6379 python feed.py
"""

import argparse
import os
import sys

import redis

DAY = 24 * 60 * 60


class Feed:
    """The articles that each user has seen in the last thirty days."""

    # Articles are remembered for at least `keep_seconds`, and at most one generation longer: with 4
    # generations for 30 to 37.5 days. A small filter with more generations takes more memory.
    GENERATIONS = 4

    def __init__(self, client, keep_seconds=30 * DAY, capacity=300, error_rate=0.01):
        self.client = client
        self.bloom = client.bf()
        self.keep_seconds = keep_seconds
        # `capacity` is the number of articles that most users see in that time. A filter grows beyond
        # it.
        self.options = ["CAPACITY", capacity, "ERROR", error_rate, "WINDOW", keep_seconds]
        self.options += ["GENERATIONS", self.GENERATIONS, "TTL", keep_seconds]

    @staticmethod
    def key(user):
        return f"seen:{user}"

    def unseen(self, user, articles):
        """Returns the articles that the user has not seen, by one BF.MEXISTS.

        A user without a filter has seen nothing. About one in a hundred new articles may be
        withheld (the error rate). An article that was seen is not returned for thirty days.
        """
        if not articles:
            return []
        answers = self.bloom.mexists(self.key(user), *articles)
        return [article for article, seen in zip(articles, answers) if not seen]

    def remember(self, user, articles):
        """Adds the articles that the user has seen, and renews the time to live of the filter."""
        if not articles:
            return
        # No transaction is needed: TTL sets the time to live of a filter that this call creates, so
        # no filter is without one.
        with self.client.pipeline(transaction=False) as together:
            together.execute_command("BF.INSERT", self.key(user), *self.options, "ITEMS", *articles)
            together.expire(self.key(user), self.keep_seconds)
            together.execute()


def bytes_of_one_key(client, articles):
    """The bytes of a filter that has taken so many articles per thirty days for a long time.

    Without WINDOW it is rotated by hand, so that nobody has to wait for thirty days. It has the same
    size.
    """
    key = "seen:measured"
    client.delete(key)
    part = articles // Feed.GENERATIONS
    client.execute_command("BF.RESERVE", key, 0.01, articles, "GENERATIONS", Feed.GENERATIONS)
    for generation in range(Feed.GENERATIONS + 1):
        if generation > 0:
            client.execute_command("BF.ROTATE", key)
        first = generation * part
        client.bf().madd(key, *(f"article:{number}" for number in range(first, first + part)))
    return size_and_delete(client, key)


def bytes_of_two_months(client, articles):
    """The bytes of two filters of a month each, which together have the same error rate."""
    total = 0
    for month in range(2):
        key = f"seen:measured:{month}"
        client.delete(key)
        client.bf().create(key, 0.005, articles)
        client.bf().madd(key, *(f"article:{month}:{number}" for number in range(articles)))
        total += size_and_delete(client, key)
    return total


def size_and_delete(client, key):
    size = client.bf().info(key).get("size")
    client.delete(key)
    return size


def main():
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    url = os.environ.get("REDIS_URL", "redis://127.0.0.1:6379")
    client = redis.Redis.from_url(url, decode_responses=True, socket_timeout=10)
    client.delete(Feed.key("ann"), Feed.key("bob"))
    feed = Feed(client)
    today = [f"article:{number}" for number in range(1, 26)]

    for user in ("ann", "ann", "bob", "ann", "ann"):
        page = feed.unseen(user, today)[:10]
        feed.remember(user, page)
        print(f"{user}: {page[0]} to {page[-1]}" if page else f"{user}: nothing new")

    print(f"ann has seen {feed.bloom.card(Feed.key('ann'))}, bob {feed.bloom.card(Feed.key('bob'))}")
    print(f"deleted after {client.ttl(Feed.key('ann')) / DAY:.0f} days without a visit")

    print()
    print("articles in 30 days   bytes: one key   a key per month")
    for articles in (100, 300, 1000, 10_000):
        print(f"{articles:19,}{bytes_of_one_key(client, articles):17,}{bytes_of_two_months(client, articles):18,}")


if __name__ == "__main__":
    try:
        main()
    except (ValueError, redis.exceptions.RedisError) as error:
        sys.exit(f"feed: {error}")
