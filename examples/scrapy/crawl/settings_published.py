"""The same crawl with scrapy-redis and scrapy-redis-bf as they come from PyPI, and nothing of our own."""

from .settings import *  # noqa: F403

SCHEDULER = "scrapy_redis_bf.scheduler.Scheduler"
DUPEFILTER_CLASS = "scrapy_redis_bf.dupefilter.RFPDupeFilter"
SPIDER_MIDDLEWARES = {}
