"""The same crawl with only scrapy-redis and scrapy-redis-bf, as published on PyPI."""

from .settings import *  # noqa: F403

SCHEDULER = "scrapy_redis_bf.scheduler.Scheduler"
DUPEFILTER_CLASS = "scrapy_redis_bf.dupefilter.RFPDupeFilter"
SPIDER_MIDDLEWARES = {}
