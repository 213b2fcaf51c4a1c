"""A spider that requests ten pages, and then a hundred pages of which those ten are the first."""

import scrapy

from bloomline.scrapy import check_reachable


class Pages(scrapy.Spider):
    """Requests 110 pages of a site; a dupefilter leaves 100 of them."""

    name = "pages"
    site = "http://127.0.0.1:8000"  # scrapy crawl pages -a site=...

    @classmethod
    def from_crawler(cls, crawler, *args, **kwargs):
        spider = super().from_crawler(crawler, *args, **kwargs)
        check_reachable(crawler.settings, spider.site)
        return spider

    async def start(self):
        # Scrapy 2.13 and later call this instead of `start_requests`. A spider that has only the
        # old method fetches nothing, and ends without an error.
        for count in (10, 100):
            for number in range(count):
                yield scrapy.Request(f"{self.site}/{number}")

    def parse(self, response):
        self.logger.debug("fetched %s", response.url)
