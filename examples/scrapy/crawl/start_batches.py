"""A spider middleware that asks the dupefilter for start requests in batches, one call each."""

from .dupefilter import ASKED, BloomDupeFilter


class StartBatches:
    """For spiders with many start URLs, where a round trip each would take longer than the crawl of what is new.

    A batch is remembered before it is queued: a crawler that is killed between the two loses at most this batch.
    It waits for a batch to be full, or for the end, so it is not for spiders whose start waits for news.
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
            # What is to be fetched anyway (`dont_filter`), and items, need no question.
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
        dupefilter.close("all start requests asked for")

    def unseen(self, dupefilter, batch):
        for request, is_new in zip(batch, dupefilter.add(batch), strict=True):
            if is_new:
                request.meta[ASKED] = True
                yield request
            else:
                dupefilter.log(request, self.crawler.spider)
