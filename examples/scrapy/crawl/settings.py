"""Queue of scrapy-redis, and the dupefilter of the package bloomline."""

import os

BOT_NAME = "crawl"
SPIDER_MODULES = ["crawl.spiders"]
REDIS_URL = os.environ.get("REDIS_URL", "redis://127.0.0.1:6379")

SCHEDULER = "scrapy_redis.scheduler.Scheduler"
# Keeps queue and filter at the end of a crawl, so that the next one fetches only new pages.
SCHEDULER_PERSIST = True
DUPEFILTER_CLASS = "bloomline.scrapy.DupeFilter"

# Parameters of a filter that has to be created: the fraction of new pages that may be taken for
# visited ones, and the number of pages that its first layer is sized for. It grows beyond that, but
# a filter with the right capacity is smaller and faster.
BLOOMFILTER_ERRORRATE = 0.001
BLOOMFILTER_CAPACITY = 100_000
# Days after which a page is fetched again; 0: never. With a window, the capacity is the number of
# pages within it.
BLOOMFILTER_WINDOW_DAYS = 0

# Not needed for pages on this machine.
TELNETCONSOLE_ENABLED = False
COOKIES_ENABLED = False
LOG_LEVEL = "INFO"
