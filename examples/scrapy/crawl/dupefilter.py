"""A dupefilter for Scrapy that keeps fingerprints of requests in one Bloom filter, shared by all crawlers."""

import logging

import redis
from scrapy.dupefilters import BaseDupeFilter

logger = logging.getLogger(__name__)

# Set in the meta of requests that were asked for in a batch, so that they are not asked for again.
ASKED = "bloomfilter_asked"


class BloomDupeFilter(BaseDupeFilter):
    """Seen or not, and remembered, in one atomic call: of several crawlers exactly one is told "new".

    The call is BF.INSERT, which is BF.ADD with the capacity and error rate of a filter that it creates if there is
    none. So nobody creates the filter beforehand, and crawlers that start together have nothing to race for; nor
    does a filter that is cleared under way come back with other sizes.
    """

    def __init__(self, crawler):
        settings = crawler.settings
        self.stats = crawler.stats
        self.fingerprint = crawler.request_fingerprinter.fingerprint
        self.debug = settings.getbool("DUPEFILTER_DEBUG")
        # scrapy-redis hands over no client, so this is a second connection.
        self.server = redis.Redis.from_url(settings["REDIS_URL"], **settings.getdict("REDIS_PARAMS"))
        self.bloom = self.server.bf()
        self.key = settings.get("SCHEDULER_DUPEFILTER_KEY", "%(spider)s:bloomfilter") % {"spider": crawler.spider.name}
        self.error_rate = settings.getfloat("BLOOMFILTER_ERRORRATE", 0.001)
        self.capacity = settings.getint("BLOOMFILTER_CAPACITY", 100_000)
        # Stops the crawl here, not at its first page, if there is no such command or the key holds something else.
        self.bloom.card(self.key)

    @classmethod
    def from_crawler(cls, crawler):
        """Called by Scrapy's own scheduler."""
        return cls(crawler)

    @classmethod
    def from_spider(cls, spider):
        """Called by the scheduler of scrapy-redis."""
        return cls(spider.crawler)

    def request_seen(self, request):
        if request.meta.pop(ASKED, False):
            return False
        return not self.add([request])[0]

    def add(self, requests):
        """Remembers requests in one call; true for each that is new."""
        answers = self.bloom.insert(
            self.key,
            [self.fingerprint(request) for request in requests],
            capacity=self.capacity,
            error=self.error_rate,
        )
        for answer in answers:
            # A fixed filter that is full says so in the place of an answer.
            if isinstance(answer, Exception):
                raise answer
        return [bool(answer) for answer in answers]

    def log(self, request, spider):
        self.stats.inc_value("bloomfilter/filtered")
        if self.debug:
            logger.debug("Filtered duplicate request: %s", request, extra={"spider": spider})

    def clear(self):
        """Forgets all; scrapy-redis calls it at the end unless SCHEDULER_PERSIST."""
        self.server.unlink(self.key)

    def close(self, reason):
        self.server.close()
