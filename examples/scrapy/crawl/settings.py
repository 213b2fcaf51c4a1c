"""scrapy-redis for the queue, the dupefilter of this example on BF.*, start URLs in batches."""

import os

BOT_NAME = "crawl"
SPIDER_MODULES = ["crawl.spiders"]
REDIS_URL = os.environ.get("REDIS_URL", "redis://127.0.0.1:6379")

SCHEDULER = "scrapy_redis.scheduler.Scheduler"
# Keep queue and filter at the end of a crawl, so that the next one fetches only what is new.
SCHEDULER_PERSIST = True
DUPEFILTER_CLASS = "crawl.dupefilter.BloomDupeFilter"
SPIDER_MIDDLEWARES = {"crawl.start_batches.StartBatches": 100}

# Of a filter that is yet to be created: how often a new page may be taken for one seen before, and
# how many pages its first layer is for. It grows beyond that; one that was given its size is smaller and faster.
BLOOMFILTER_ERRORRATE = 0.001
BLOOMFILTER_CAPACITY = 100_000
# Start requests that go into one call.
BLOOMFILTER_START_BATCH = 1000

# The pages are on this machine.
TELNETCONSOLE_ENABLED = False
COOKIES_ENABLED = False
LOG_LEVEL = "INFO"
