"""A dupefilter for Scrapy: all crawlers keep fingerprints of requests in one Bloom filter.

```python
DUPEFILTER_CLASS = "bloomline.scrapy.DupeFilter"
REDIS_URL = "redis://127.0.0.1:6379"
```

It works with Scrapy's own scheduler and with that of scrapy-redis.

| setting | default | meaning |
|---|---|---|
| `BLOOMFILTER_CAPACITY` | 100000 | requests of the first layer; with a window those within it |
| `BLOOMFILTER_ERRORRATE` | 0.001 | fraction of new requests that may be taken for known ones |
| `BLOOMFILTER_WINDOW_DAYS` | 0 | days after which a page is fetched again; 0: never |
| `SCHEDULER_DUPEFILTER_KEY` | `%(spider)s:bloomfilter` | the key |
| `REDIS_URL`, `REDIS_HOST`, `REDIS_PORT`, `REDIS_DB` | as in scrapy-redis | the server |
| `REDIS_ENCODING`, `REDIS_PARAMS` | as in scrapy-redis | other options of the client |
| `DUPEFILTER_DEBUG` | false | log each request that is filtered, not the first one only |
| `BLOOMFILTER_BIT`, `BLOOMFILTER_HASH_NUMBER` | none | of scrapy-redis-bloomfilter: see `size_of` |
"""

from __future__ import annotations

import logging
import math
import socket
import sys
import time
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from scrapy.dupefilters import BaseDupeFilter
from scrapy.utils.defer import deferred_from_coro
from scrapy.utils.misc import load_object

from .connecting import client_class
from .creation import Create
from .drivers import call
from .errors import (
    BloomlineError,
    connection_errors,
    library_errors,
    reason_of,
    response_errors,
)
from .filters import Filter
from .identity import Watch, identity_call
from .replies import is_missing, is_unknown, is_wrong_type

if TYPE_CHECKING:
    from typing_extensions import Self

logger = logging.getLogger(__name__)

#: The reason for which a crawl is closed whose dupefilter cannot use its server.
UNAVAILABLE = "bloomline_unavailable"

_DAY = 24 * 60 * 60

# Seconds to reach a site.
_TIMEOUT = 10

# Requests after which the filter is compared with what it was.
_BETWEEN_COMPARISONS = 1000


# Settings of scrapy-redis, which take precedence over the same ones in REDIS_PARAMS.
_PARAMETERS = {
    "REDIS_URL": "url",
    "REDIS_HOST": "host",
    "REDIS_PORT": "port",
    "REDIS_DB": "db",
    "REDIS_ENCODING": "encoding",
    "REDIS_DECODE_RESPONSES": "decode_responses",
}


def server_of(settings: Any) -> Any:
    """Returns a client of the server that the settings of scrapy-redis name.

    scrapy-redis does not provide its own client, so this is a second connection. It repeats no
    call, since a page that was added by the first one would be answered as known.
    """
    parameters: dict[str, Any] = {"socket_timeout": 30, "socket_connect_timeout": 30}
    parameters.update(settings.getdict("REDIS_PARAMS"))
    given = {parameter: settings.get(name) for name, parameter in _PARAMETERS.items()}
    parameters.update({parameter: value for parameter, value in given.items() if value})
    for option in ("retry", "retry_on_timeout", "retry_on_error"):
        parameters.pop(option, None)
    kind = load_object(parameters.pop("redis_cls", None) or client_class())
    url = parameters.pop("url", None)
    make = kind if url is None else partial(kind.from_url, url)
    return make(retry=None, **parameters)


def size_of(settings: Any) -> tuple[int, float]:
    """Returns the capacity and the error rate that the settings request.

    scrapy-redis-bf has the names of this package. scrapy-redis-bloomfilter has a number of bits,
    `2 ** BLOOMFILTER_BIT`, and of hashes: for these it is optimal to hold `bits * ln 2 / hashes`
    items, at the rate `2 ** -hashes`, which is what they mean here.
    """
    capacity, error_rate = 100_000, 0.001
    if settings.get("BLOOMFILTER_BIT") is not None:
        hashes = settings.getint("BLOOMFILTER_HASH_NUMBER", 6)
        capacity = max(1, int(2 ** settings.getint("BLOOMFILTER_BIT") * math.log(2) / hashes))
        error_rate = 2.0**-hashes
    return (
        settings.getint("BLOOMFILTER_CAPACITY", capacity),
        settings.getfloat("BLOOMFILTER_ERRORRATE", error_rate),
    )


def key_of(crawler: Any) -> str:
    """Returns the key of a spider's filter, the same one during a crawl."""
    pattern = crawler.settings.get("SCHEDULER_DUPEFILTER_KEY", "%(spider)s:bloomfilter")
    began = vars(crawler).setdefault("_bloomfilter_timestamp", int(time.time()))
    return str(pattern % {"spider": crawler.spider.name, "timestamp": began})


class DupeFilter(BaseDupeFilter):
    """Tests and adds a request in one atomic step, so exactly one of several crawlers gets "new".

    A missing filter is created in the same step, with capacity and error rate of the settings. So
    crawlers that start together cannot race, and a filter that is deleted during a crawl is
    created again with the same parameters, which is reported.

    With a window of days pages are forgotten, and so fetched again, that long after they were
    first requested: links to a page do not prolong it.

    A request is remembered before it is fetched, so the page of one that fails, or that a killed
    crawler had taken, is not fetched by a later crawl.
    """

    def __init__(self, crawler: Any) -> None:
        """Connects, and compares the window of the settings with that of the filter.

        Raises:
            ValueError: the filter has another window than the settings request, or one of both has
                none; or the key holds another type. It is kept.
            BloomlineError: a window is requested of a server without Bloomline.
        """
        settings = crawler.settings
        self.stats = crawler.stats
        self.fingerprint = crawler.request_fingerprinter.fingerprint
        self.debug = settings.getbool("DUPEFILTER_DEBUG")
        self.key = key_of(crawler)
        self._crawler = crawler
        self._is_closing = self._has_logged = False
        self._watch = Watch(self.key)
        self._requests = 0
        self.window = round(settings.getfloat("BLOOMFILTER_WINDOW_DAYS", 0) * _DAY) or None
        capacity, error_rate = size_of(settings)
        create = Create(capacity, error_rate, window=self.window, refresh=self.window is None)
        self.server = server_of(settings)
        self.filter = Filter(self.server, self.key, create)
        self._check_window()

    @classmethod
    def from_crawler(cls, crawler: Any) -> Self:
        """Called by Scrapy's own scheduler."""
        return cls(crawler)

    @classmethod
    def from_spider(cls, spider: Any) -> Self:
        """Called by the scheduler of scrapy-redis."""
        return cls(spider.crawler)

    def _check_window(self) -> None:
        try:
            stats = self.filter.stats()
        except response_errors() as error:
            if is_unknown(error):
                if self.window:
                    raise BloomlineError(
                        "BLOOMFILTER_WINDOW_DAYS needs the module Bloomline, which the server does "
                        "not have"
                    ) from error
                return
            if is_missing(error):
                return
            if is_wrong_type(error):
                raise ValueError(
                    f"{self.key} holds no Bloom filter ({error}): set SCHEDULER_DUPEFILTER_KEY to "
                    "another key"
                ) from error
            raise
        words = [f"WINDOW {stats['window']}"] if stats["window"] else []
        words += ["NOREFRESH"] * bool(stats["norefresh"])
        found = " ".join(words) or "no window"
        requested = f"WINDOW {self.window} NOREFRESH" if self.window else "no window"
        if found == requested:
            return
        raise ValueError(
            f"the filter {self.key} has {found}, the settings request {requested}: delete it, or "
            "set SCHEDULER_DUPEFILTER_KEY to another key"
        )

    def request_seen(self, request: Any) -> bool:
        """Adds a request. Returns whether it was known.

        If the connection is lost during the call, the page may have been added by it, so it counts
        as new. If the server cannot be used any more, all pages count as new, and the crawl is
        closed with the reason `UNAVAILABLE`.
        """
        if self._is_closing:
            self.stats.inc_value("bloomfilter/errors")
            return False
        item = self.fingerprint(request)
        try:
            is_known = not self._add(item)
            if self._requests % _BETWEEN_COMPARISONS == 0:
                self._compare()
            self._requests += 1
            return is_known
        except Exception as error:
            engine = getattr(self._crawler, "engine", None)
            if engine is None or not isinstance(error, _errors()):
                raise
            logger.error("%s cannot be used, the crawl is closed: %s", self.key, reason_of(error))
            self._is_closing = True
            self.stats.inc_value("bloomfilter/errors")
            if hasattr(engine, "close_spider_async"):
                deferred_from_coro(engine.close_spider_async(reason=UNAVAILABLE))
            else:
                engine.close_spider(self._crawler.spider, UNAVAILABLE)
            return False

    def _add(self, item: bytes) -> bool:
        try:
            return self.filter.add(item)
        except Exception as error:
            if not isinstance(error, (OSError, *connection_errors())):
                raise
            self.filter.add(item)
            return True

    def _compare(self) -> None:
        """Reports a filter that was replaced, whose pages are fetched again."""
        try:
            try:
                reply = call(self.server, *identity_call(self.key))
            except response_errors() as error:
                reply = error
            self._watch.notice(reply)
        except Exception as error:
            if not isinstance(error, _errors()):
                raise
            # Whatever else is wrong is an error of the next request too.
            if isinstance(error, BloomlineError):
                logger.warning("%s: the pages that it had are fetched again", error)
                self.stats.inc_value("bloomfilter/replaced")
                self._watch = Watch(self.key)

    def log(self, request: Any, spider: Any) -> None:
        """Counts a request that is filtered, and logs the first one as Scrapy's own filter does."""
        self.stats.inc_value("bloomfilter/filtered")
        if not self.debug and self._has_logged:
            return
        self._has_logged = True
        rest = "" if self.debug else ": no more are logged, see DUPEFILTER_DEBUG"
        text = "Filtered duplicate request: %s%s"
        logger.debug(text, request, rest, extra={"spider": spider})

    def clear(self) -> None:
        """Deletes the filter. scrapy-redis calls this at the end without SCHEDULER_PERSIST."""
        self.server.unlink(self.key)
        self._watch = Watch(self.key)

    def close(self, reason: str) -> None:
        """Disconnects."""
        self._compare()
        self.server.close()


def _errors() -> tuple[type[Exception], ...]:
    """The errors of a server that cannot be used."""
    return (OSError, BloomlineError, *library_errors())


def check_reachable(settings: Any, site: str) -> None:
    """Ends the process with one line and status 1 if the server or the site cannot be reached.

    A request is remembered before it is fetched. So a crawl of a site that is down would remember
    all pages that it failed to fetch, and the next crawl would fetch none of them. Call it in
    `from_crawler` of a spider. `site` is a URL of http or https.
    """
    server = None
    try:
        server = server_of(settings)
        # For a key of another type the answer is 0: what to do with it is up to the dupefilter.
        Filter(server, "bloomline:reachable").contains("")
    except Exception as error:
        if not isinstance(error, (ValueError, *_errors())):
            raise
        sys.exit(f"crawl: REDIS_URL: {reason_of(error)}")
    finally:
        if server is not None:
            server.close()
    try:
        url = urlsplit(site)
        port = url.port or {"http": 80, "https": 443}[url.scheme]
        socket.create_connection((url.hostname or "", port), _TIMEOUT).close()
    except KeyError:
        sys.exit(f"crawl: the site {site} is no URL of http or https")
    except (ValueError, OSError) as error:
        reason = reason_of(error)
        sys.exit(f"crawl: the site {site} cannot be reached, so no page is remembered: {reason}")
