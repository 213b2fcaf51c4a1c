"""A dupefilter for Scrapy: all crawlers keep fingerprints of requests in one Bloom filter."""

import logging

import redis
from scrapy.dupefilters import BaseDupeFilter

logger = logging.getLogger(__name__)

# Set in the meta of requests that were tested in a batch, so that they are not tested again.
TESTED = "bloomfilter_tested"

# Seconds.
DAY = 24 * 60 * 60


class BloomDupeFilter(BaseDupeFilter):
    """Tests and adds a request in one atomic call, so exactly one of several crawlers gets "new".

    The call is BF.INSERT: BF.ADD that also creates a missing filter, with the capacity and the error
    rate of the settings. So no crawler creates the filter beforehand, and crawlers that start together
    cannot race. A filter that is deleted during a crawl is created again with the same parameters.

    With a window of days, pages are forgotten, and so fetched again, that long after they were first
    requested. NOREFRESH is what counts from the first request: without it, a page that is linked
    every day would be remembered for ever.
    """

    def __init__(self, crawler):
        settings = crawler.settings
        self.stats = crawler.stats
        self.fingerprint = crawler.request_fingerprinter.fingerprint
        self.debug = settings.getbool("DUPEFILTER_DEBUG")
        # scrapy-redis does not provide its client, so this is a second connection.
        self.server = redis.Redis.from_url(settings["REDIS_URL"], **settings.getdict("REDIS_PARAMS"))
        self.key = settings.get("SCHEDULER_DUPEFILTER_KEY", "%(spider)s:bloomfilter") % {"spider": crawler.spider.name}
        self.error_rate = settings.getfloat("BLOOMFILTER_ERRORRATE", 0.001)
        self.capacity = settings.getint("BLOOMFILTER_CAPACITY", 100_000)
        self.window_days = settings.getfloat("BLOOMFILTER_WINDOW_DAYS", 0)
        # If the server lacks the command, or the key holds another type, the crawl stops here,
        # before its first page.
        self.server.execute_command("BF.CARD", self.key)

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
        options = ["CAPACITY", self.capacity, "ERROR", self.error_rate]
        if self.window_days:
            options += ["WINDOW", round(self.window_days * DAY), "NOREFRESH"]
        items = [self.fingerprint(request) for request in requests]
        answers = self.server.execute_command("BF.INSERT", self.key, *options, "ITEMS", *items)
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
