"""A news feed that shows each user only unseen articles, with one small Bloom filter per user.

    REDIS_URL=redis://127.0.0.1:6379 python feed.py
"""

import os

import redis

DAY = 24 * 60 * 60


class Feed:
    """The articles that each user has seen, kept as long as the user comes back."""

    def __init__(self, client, keep_seconds=30 * DAY):
        self.client = client
        self.bloom = client.bf()
        self.keep_seconds = keep_seconds

    @staticmethod
    def key(user):
        return f"seen:{user}"

    def unseen(self, user, articles):
        """Returns the articles that the user has not seen, by one BF.MEXISTS.

        A user without a filter has seen nothing. About one in a hundred new articles may be
        withheld forever (the error rate). An article that was seen is never returned.
        """
        if not articles:
            return []
        answers = self.bloom.mexists(self.key(user), *articles)
        return [article for article, seen in zip(articles, answers) if not seen]

    def remember(self, user, articles):
        """Adds the articles that the user has seen by one BF.MADD, and sets the time to live."""
        if not articles:
            return
        # A transaction, since a filter without a time to live would never be deleted.
        with self.client.pipeline(transaction=True) as together:
            together.execute_command("BF.MADD", self.key(user), *articles)
            together.expire(self.key(user), self.keep_seconds)
            together.execute()


def main():
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
    print(f"forgotten after {client.ttl(Feed.key('ann')) / DAY:.0f} days without a visit")


if __name__ == "__main__":
    main()
