"""A dupefilter for Scrapy: all crawlers keep fingerprints of requests in one Bloom filter."""

import logging

import redis
from scrapy.dupefilters import BaseDupeFilter

logger = logging.getLogger(__name__)

# Set in the meta of requests that were tested in a batch, so that they are not tested again.
TESTED = "bloomfilter_tested"


class BloomDupeFilter(BaseDupeFilter):
    """Tests and adds a request in one atomic call, so exactly one of several crawlers gets "new".

    The call is BF.INSERT: BF.ADD that also creates a missing filter, with the capacity and the error
    rate of the settings. So no crawler creates the filter beforehand, and crawlers that start together
    cannot race. A filter that is deleted during a crawl is created again with the same parameters.
    """

    def __init__(self, crawler):
        settings = crawler.settings
        self.stats = crawler.stats
        self.fingerprint = crawler.request_fingerprinter.fingerprint
        self.debug = settings.getbool("DUPEFILTER_DEBUG")
        # scrapy-redis does not provide its client, so this is a second connection.
        self.server = redis.Redis.from_url(settings["REDIS_URL"], **settings.getdict("REDIS_PARAMS"))
        self.bloom = self.server.bf()
        self.key = settings.get("SCHEDULER_DUPEFILTER_KEY", "%(spider)s:bloomfilter") % {"spider": crawler.spider.name}
        self.error_rate = settings.getfloat("BLOOMFILTER_ERRORRATE", 0.001)
        self.capacity = settings.getint("BLOOMFILTER_CAPACITY", 100_000)
        # If the server lacks the command, or the key holds another type, the crawl stops here,
        # before its first page.
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
        if request.meta.pop(TESTED, False):
            return False
        return not self.add([request])[0]

    def add(self, requests):
        """Adds requests in one call. Returns True for each request that is new."""
        answers = self.bloom.insert(
            self.key,
            [self.fingerprint(request) for request in requests],
            capacity=self.capacity,
            error=self.error_rate,
        )
        for answer in answers:
            # If a filter that does not grow is full, the answer for an item is an error.
            if isinstance(answer, Exception):
                raise answer
        return [bool(answer) for answer in answers]

    def log(self, request, spider):
        self.stats.inc_value("bloomfilter/filtered")
        if self.debug:
            logger.debug("Filtered duplicate request: %s", request, extra={"spider": spider})

    def clear(self):
        """Deletes the filter. scrapy-redis calls this at the end without SCHEDULER_PERSIST."""
        self.server.unlink(self.key)

    def close(self, reason):
        self.server.close()
