"""Crawls of a site on this machine by Scrapy: with scrapy-redis and scrapy-redis-bf as published, and with the example's own filter."""

import os
import re
import subprocess
import sys
import threading
import time
from types import SimpleNamespace

import pytest
from conftest import ROOT
from scrapy import Request
from scrapy.settings import Settings
from scrapy.utils.request import RequestFingerprinter

EXAMPLE = ROOT / "examples/scrapy"
sys.path.insert(0, str(EXAMPLE))
from crawl.dupefilter import BloomDupeFilter  # noqa: E402
from local_site import LocalSite  # noqa: E402

# A crawl takes a second or two; a machine busy with other tests several.
DEADLINE = 120.0
PAGES = {f"/{number}": 1 for number in range(100)}

pytestmark = [pytest.mark.newest, pytest.mark.one_layout]


class Crawl:
    """A crawler at work: a process of its own, as Scrapy's users start it."""

    def __init__(self, project, server, site, **settings):
        self.environment = {**os.environ, "SCRAPY_PROJECT": project, "REDIS_URL": server.url}
        words = [word for name, value in settings.items() for word in ("-s", f"{name}={value}")]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "scrapy", "crawl", "pages", "-a", f"site={site.url}", *words],
            cwd=EXAMPLE,
            env=self.environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )

    def stats(self):
        """What Scrapy says at the end, as numbers by name."""
        try:
            _, log = self.process.communicate(timeout=DEADLINE)
        finally:
            self.process.kill()
        assert self.process.returncode == 0, log
        found = {name: int(value) for name, value in re.findall(r"'([\w/]+)': (\d+),", log)}
        assert "log_count/ERROR" not in found, log
        return found

    def filtered(self):
        return self.stats().get("bloomfilter/filtered", 0)


@pytest.fixture
def site():
    site = LocalSite()
    yield site
    site.close()


@pytest.fixture
def crawl(server, site):
    """Starts a crawler of a project on an empty server; all that were started are ended."""
    started = []

    def start(project, **settings):
        started.append(Crawl(project, server, site, **settings))
        return started[-1]

    with server.client() as client:
        client.flushall()
        client.config_resetstat()
    yield start
    for crawler in started:
        crawler.process.kill()
        crawler.process.wait()


def wait_for_key(server, key):
    end = time.monotonic() + DEADLINE
    with server.client() as client:
        while not client.exists(key):
            assert time.monotonic() < end, f"{key} does not come"
            time.sleep(0.01)


# The two keep the same items under the same key, so the crawl may go on with the other.
@pytest.mark.parametrize("first, later", [("published", ["published", "default"]), ("default", ["default"])])
def test_a_hundred_pages_are_fetched_ten_repeats_filtered_and_later_crawls_fetch_nothing(server, site, crawl, first, later):
    assert crawl(first).filtered() == 10
    assert site.fetched == PAGES
    with server.client(decode_responses=True) as client:
        assert client.type("pages:bloomfilter") == "MBbloom--"
        assert client.bf().card("pages:bloomfilter") == 100
    for project in later:
        assert crawl(project).filtered() == 110
        assert site.fetched == PAGES


def test_two_published_crawlers_that_share_a_filter_fetch_no_page_twice(server, site, crawl):
    first = crawl("published")
    # It asks whether there is a filter before it creates one: a second that asks in between would fail.
    wait_for_key(server, "pages:bloomfilter")
    second = crawl("published")
    assert first.filtered() + second.filtered() == 120
    assert site.fetched == PAGES


def test_crawlers_of_our_own_that_start_together_fetch_no_page_twice(server, site, crawl):
    crawlers = [crawl("default", BLOOMFILTER_START_BATCH=7) for _ in range(3)]
    assert sum(crawler.filtered() for crawler in crawlers) == 230
    assert site.fetched == PAGES
    with server.client() as client:
        # As in the settings, whoever created it.
        assert client.bf().info("pages:bloomfilter").get("capacity") == 100_000


def test_exactly_one_of_many_filters_is_told_that_a_page_is_new(server):
    with server.client() as client:
        client.flushall()
    settings = Settings({"REDIS_URL": server.url, "BLOOMFILTER_ERRORRATE": 1e-9, "BLOOMFILTER_CAPACITY": 1000})
    together = threading.Barrier(8)
    told = [0] * 200

    def ask():
        crawler = SimpleNamespace(
            settings=settings, stats=None, request_fingerprinter=RequestFingerprinter(), spider=SimpleNamespace(name="pages")
        )
        dupefilter = BloomDupeFilter.from_crawler(crawler)
        together.wait(DEADLINE)
        for number in range(len(told)):
            if not dupefilter.request_seen(Request(f"http://site/{number}")):
                with counting:
                    told[number] += 1
        dupefilter.close("asked")

    counting = threading.Lock()
    threads = [threading.Thread(target=ask) for _ in range(together.parties)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert told == [1] * len(told)


def test_start_requests_are_asked_for_in_one_call(server, site, crawl):
    assert crawl("default").filtered() == 10
    with server.client() as client:
        calls = {name.lower(): of["calls"] for name, of in client.info("commandstats").items() if "_bf." in name.lower()}
    assert calls == {"cmdstat_bf.insert": 1, "cmdstat_bf.card": 2}


def test_without_batches_and_with_scrapys_own_scheduler_it_filters_the_same(server, site, crawl):
    scheduler = "scrapy.core.scheduler.Scheduler"
    assert crawl("default", SCHEDULER=scheduler, SPIDER_MIDDLEWARES="{}").filtered() == 10
    assert site.fetched == PAGES
    assert crawl("default", SCHEDULER=scheduler).filtered() == 110
    assert site.fetched == PAGES


def test_a_key_of_another_type_is_refused_and_kept(server, site, crawl):
    with server.client() as client:
        client.sadd("pages:bloomfilter", "fingerprints of another filter")
        with pytest.raises(AssertionError, match="WRONGTYPE|wrong kind of value"):
            crawl("default").stats()
        assert client.scard("pages:bloomfilter") == 1
    assert not site.fetched
