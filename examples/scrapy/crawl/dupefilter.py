"""A dupefilter for Scrapy: all crawlers keep fingerprints of requests in one Bloom filter."""

import logging

import redis
from scrapy.dupefilters import BaseDupeFilter

logger = logging.getLogger(__name__)

# Set in the meta of requests that were tested in a batch, so that they are not tested again.
TESTED = "bloomfilter_tested"

# Seconds.
DAY = 24 * 60 * 60


def packed(items):
    """Returns the form and the data of items for BF.BULKADD."""
    # Scrapy's own fingerprints have 20 bytes. Those of another REQUEST_FINGERPRINTER_CLASS may differ
    # in length.
    width = len(items[0])
    if all(len(item) == width for item in items):
        return "FIXED", width, b"".join(items)
    return "PREFIXED", b"".join(len(item).to_bytes(4, "little") + item for item in items)


class BloomDupeFilter(BaseDupeFilter):
    """Tests and adds requests in one atomic step, so exactly one of several crawlers gets "new".

    A missing filter is created in the same step, with the capacity and the error rate of the settings.
    So no crawler creates the filter beforehand, and crawlers that start together cannot race. A filter
    that is deleted during a crawl is created again with the same parameters. For one request the step
    is BF.INSERT; for many it is BF.RESERVE and BF.BULKADD, which takes all fingerprints as one string.

    With a window of days, pages are forgotten, and so fetched again, that long after they were first
    requested. NOREFRESH is what counts from the first request: without it, a page that is linked
    every day would be remembered for ever.
    """

    def __init__(self, crawler):
        settings = crawler.settings
        self.stats = crawler.stats
        self.fingerprint = crawler.request_fingerprinter.fingerprint
        self.debug = settings.getbool("DUPEFILTER_DEBUG")
        # scrapy-redis does not provide its client, so this is a second connection. The answers for
        # many requests are bits, and no text.
        parameters = {**settings.getdict("REDIS_PARAMS"), "decode_responses": False}
        self.server = redis.Redis.from_url(settings["REDIS_URL"], **parameters)
        self.key = settings.get("SCHEDULER_DUPEFILTER_KEY", "%(spider)s:bloomfilter") % {"spider": crawler.spider.name}
        self.error_rate = settings.getfloat("BLOOMFILTER_ERRORRATE", 0.001)
        self.capacity = settings.getint("BLOOMFILTER_CAPACITY", 100_000)
        window_days = settings.getfloat("BLOOMFILTER_WINDOW_DAYS", 0)
        self.window = ["WINDOW", round(window_days * DAY), "NOREFRESH"] if window_days else []
        self.check_window()

    def check_window(self):
        """Compares the settings with the filter of earlier crawls, which keeps its window.

        If they differ, if the server lacks the command, or if the key holds another type, the crawl
        stops here, before its first page.
        """
        try:
            reply = self.server.execute_command("BF.STATS", self.key, "window", "norefresh")
        except redis.exceptions.ResponseError as error:
            if "not found" in str(error):
                return
            raise
        # RESP3 has maps, RESP2 has names and values in turn.
        stats = reply if isinstance(reply, dict) else dict(zip(reply[::2], reply[1::2]))
        window = stats[b"window"]
        if isinstance(window, bytes):
            # LAST or MANUAL.
            window = window.decode()
        window = ["WINDOW", window, *["NOREFRESH"] * stats[b"norefresh"]] if window else []
        if window == self.window:
            return
        names = [" ".join(map(str, each)) or "no window" for each in (window, self.window)]
        differs = f"the filter {self.key} has {names[0]}, the settings request {names[1]}"
        if self.window:
            raise ValueError(f"{differs}: delete it, or set SCHEDULER_DUPEFILTER_KEY to another key")
        logger.warning("%s: pages will be fetched again", differs)

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
        options = ["CAPACITY", self.capacity, "ERROR", self.error_rate, *self.window]
        item = self.fingerprint(request)
        (is_new,) = self.server.execute_command("BF.INSERT", self.key, *options, "ITEMS", item)
        # If a filter that does not grow is full, the answer for an item is an error.
        if isinstance(is_new, Exception):
            raise is_new
        return not is_new

    def add(self, requests):
        """Adds requests in one transaction. Returns True for each request that is new."""
        items = [self.fingerprint(request) for request in requests]
        with self.server.pipeline() as together:
            together.execute_command("BF.RESERVE", self.key, self.error_rate, self.capacity, *self.window)
            together.execute_command("BF.BULKADD", self.key, *packed(items))
            created, added = together.execute(raise_on_error=False)
        if isinstance(created, Exception) and "item exists" not in str(created):
            raise created
        if isinstance(added, Exception):
            raise added
        _, bits, *refusal = added
        # If a filter that does not grow is full, the third element is the error for the first
        # request that it refused.
        if refusal:
            raise refusal[0]
        return [bool(bits[number // 8] & 128 >> number % 8) for number in range(len(items))]

    def log(self, request, spider):
        self.stats.inc_value("bloomfilter/filtered")
        if self.debug:
            logger.debug("Filtered duplicate request: %s", request, extra={"spider": spider})

    def clear(self):
        """Deletes the filter. scrapy-redis calls this at the end without SCHEDULER_PERSIST."""
        self.server.unlink(self.key)

    def close(self, reason):
        self.server.close()
