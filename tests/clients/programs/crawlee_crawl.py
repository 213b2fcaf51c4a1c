"""A crawler of crawlee whose queue is on a server, with Bloom filters that leave out known pages.

    python crawlee_crawl.py URL add FIRST LAST      # queues http://site/FIRST to LAST - 1
    python crawlee_crawl.py URL crawl FIRST LAST    # queues them, and handles all that are queued

It prints the paths that it has handled.
"""

import asyncio
import sys
import warnings

from crawlee.configuration import Configuration
from crawlee.crawlers import BasicCrawler, BasicCrawlingContext
from crawlee.storage_clients import RedisStorageClient
from crawlee.storages import RequestQueue

# The storage on Redis is experimental, says a warning.
warnings.simplefilter("ignore")


async def main():
    _, url, action, first, last = sys.argv
    storage = RedisStorageClient(connection_string=url, queue_dedup_strategy="bloom")
    settings = Configuration(purge_on_start=False)
    queue = await RequestQueue.open(name="pages", storage_client=storage, configuration=settings)
    pages = [f"http://site/{number}" for number in range(int(first), int(last))]
    if action == "add":
        await queue.add_requests(pages)
        return
    crawler = BasicCrawler(request_manager=queue, storage_client=storage, configuration=settings, configure_logging=False)
    handled = []

    @crawler.router.default_handler
    async def handle(context: BasicCrawlingContext):
        handled.append(context.request.url.removeprefix("http://site/"))

    await crawler.run(pages)
    print(" ".join(handled))


asyncio.run(main())
