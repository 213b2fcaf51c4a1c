"""A spider middleware that tests start requests in batches, with one call per batch."""

from .dupefilter import TESTED, BloomDupeFilter


class StartBatches:
    """For spiders with many start URLs, where one round trip per URL would take too long.

    A batch is added to the filter before it is queued: a crawler that is killed in between loses at
    most this batch. The middleware waits until a batch is full or the start requests end. So it does
    not suit spiders that wait for new URLs in their start method.
    """

    def __init__(self, crawler):
        self.crawler = crawler
        self.size = crawler.settings.getint("BLOOMFILTER_START_BATCH", 1000)

    @classmethod
    def from_crawler(cls, crawler):
        return cls(crawler)

    async def process_start(self, start):
        dupefilter = BloomDupeFilter.from_crawler(self.crawler)
        batch = []
        async for request in start:
            # Requests with `dont_filter`, and items, are not tested.
            if getattr(request, "dont_filter", True):
                yield request
                continue
            batch.append(request)
            if len(batch) == self.size:
                for new in self.unseen(dupefilter, batch):
                    yield new
                batch = []
        if batch:
            for new in self.unseen(dupefilter, batch):
                yield new
        dupefilter.close("all start requests tested")

    def unseen(self, dupefilter, batch):
        for request, is_new in zip(batch, dupefilter.add(batch), strict=True):
            if is_new:
                request.meta[TESTED] = True
                yield request
            else:
                dupefilter.log(request, self.crawler.spider)
