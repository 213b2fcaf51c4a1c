"""A news feed that shows each user only what they have not seen, with one small Bloom filter a user.

    REDIS_URL=redis://127.0.0.1:6379 python feed.py
"""

import os

import redis

DAY = 24 * 60 * 60


class Feed:
    """Which articles a user has seen, kept for as long as the user comes back."""

    def __init__(self, client, keep_seconds=30 * DAY):
        self.client = client
        self.bloom = client.bf()
        self.keep_seconds = keep_seconds

    @staticmethod
    def key(user):
        return f"seen:{user}"

    def unseen(self, user, articles):
        """Those of the articles that the user has not seen, by one BF.MEXISTS.

        A user without a filter has seen nothing. Of a hundred new articles about one may be held back
        for good (the error rate); one that was seen is never shown again.
        """
        if not articles:
            return []
        answers = self.bloom.mexists(self.key(user), *articles)
        return [article for article, seen in zip(articles, answers) if not seen]

    def remember(self, user, articles):
        """The user has seen these: one BF.MADD, which creates the filter the first time, and its time to live."""
        if not articles:
            return
        # A transaction: a filter without a time to live would stay for ever.
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
