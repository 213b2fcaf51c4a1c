"""Scrapy crawls a local site, with the published packages and with the dupefilter of this one."""

import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from types import SimpleNamespace

import pytest
import redis
import valkey_bloom
from conftest import ROOT
from scrapy import Request
from scrapy.settings import Settings
from scrapy.utils.request import RequestFingerprinter

from bloomline import BloomlineError, BulkError
from bloomline.scrapy import DupeFilter, size_of

EXAMPLE = ROOT / "examples/scrapy"
sys.path.insert(0, str(EXAMPLE))
sys.path.insert(0, str(ROOT / "tests/clients"))
from local_site import LocalSite  # noqa: E402
from older import make_older  # noqa: E402

# A crawl takes a second or two, and longer on a busy machine.
DEADLINE = 120.0
PAGES = {f"/{number}": 1 for number in range(100)}


class Crawl:
    """A running crawler: a separate process, as users of Scrapy start it."""

    def __init__(self, project, server, site, **settings):
        self.environment = {**os.environ, "SCRAPY_PROJECT": project, "REDIS_URL": server.url}
        options = [word for name, value in settings.items() for word in ("-s", f"{name}={value}")]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "scrapy", "crawl", "pages", "-a", f"site={site.url}", *options],
            cwd=EXAMPLE,
            env=self.environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )

    def stats(self):
        """Returns the statistics that Scrapy prints at the end, as numbers by name."""
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


class Server:
    """The server of the tests, with clients of any options."""

    def __init__(self, url):
        self.url = url

    def client(self, **options):
        return redis.Redis.from_url(self.url, **options)


@pytest.fixture
def server(bloomline_server):
    return Server(bloomline_server.url)


@pytest.fixture
def site():
    site = LocalSite()
    yield site
    site.close()


@pytest.fixture
def crawl(server, site):
    """Starts crawlers of a project on an empty server, and kills them at the end."""
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
            assert time.monotonic() < end, f"{key} was not created"
            time.sleep(0.01)


# Both projects use the same items and the same key, so a later crawl may use the other project.
@pytest.mark.parametrize(
    "first, later", [("published", ["published", "default"]), ("default", ["default"])]
)
def test_repeats_are_filtered_and_later_crawls_fetch_nothing(server, site, crawl, first, later):
    assert crawl(first).filtered() == 10
    assert site.fetched == PAGES
    with server.client(decode_responses=True) as client:
        assert client.type("pages:bloomfilter") == "MBbloom--"
        assert client.bf().card("pages:bloomfilter") == 100
    for project in later:
        assert crawl(project).filtered() == 110
        assert site.fetched == PAGES


def test_two_published_crawlers_fetch_no_page_twice(server, site, crawl):
    first = crawl("published")
    # It tests whether the filter exists before it creates it. A second crawler that tests in
    # between would fail.
    wait_for_key(server, "pages:bloomfilter")
    second = crawl("published")
    assert first.filtered() + second.filtered() == 120
    assert site.fetched == PAGES


def test_example_crawlers_that_start_together_fetch_no_page_twice(server, site, crawl):
    crawlers = [crawl("default", BLOOMFILTER_START_BATCH=7) for _ in range(3)]
    assert sum(crawler.filtered() for crawler in crawlers) == 230
    assert site.fetched == PAGES
    with server.client() as client:
        # The capacity of the settings, whichever crawler created the filter.
        assert client.bf().info("pages:bloomfilter").get("capacity") == 100_000


def test_exactly_one_of_many_crawlers_sees_a_page_as_new(server):
    with server.client() as client:
        client.flushall()
    settings = Settings(
        {"REDIS_URL": server.url, "BLOOMFILTER_ERRORRATE": 1e-9, "BLOOMFILTER_CAPACITY": 1000}
    )
    together = threading.Barrier(8)
    new = [0] * 200

    def crawl_pages():
        crawler = SimpleNamespace(
            settings=settings,
            stats=None,
            request_fingerprinter=RequestFingerprinter(),
            spider=SimpleNamespace(name="pages"),
        )
        dupefilter = DupeFilter.from_crawler(crawler)
        together.wait(DEADLINE)
        for number in range(len(new)):
            if not dupefilter.request_seen(Request(f"http://site/{number}")):
                with counting:
                    new[number] += 1
        dupefilter.close("tested")

    counting = threading.Lock()
    threads = [threading.Thread(target=crawl_pages) for _ in range(together.parties)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert new == [1] * len(new)


def test_start_requests_are_tested_in_one_call(server, site, crawl):
    assert crawl("default").filtered() == 10
    with server.client() as client:
        calls = {
            name.lower(): of["calls"]
            for name, of in client.info("commandstats").items()
            if "_bf." in name.lower()
        }
    # BF.EXISTS is the call by which a crawl tests its server before it begins.
    assert calls == {
        "cmdstat_bf.exists": 1,
        "cmdstat_bf.insert": 1,
        "cmdstat_bf.bulkadd": 1,
        "cmdstat_bf.stats": 3,
    }


@pytest.fixture
def dupefilter(server):
    """Creates dupefilters with settings, on an empty server."""
    with server.client() as client:
        client.flushall()
    created = []

    def create(**settings):
        settings = Settings({"REDIS_URL": server.url, "BLOOMFILTER_ERRORRATE": 1e-9, **settings})
        crawler = SimpleNamespace(
            settings=settings,
            stats=None,
            request_fingerprinter=RequestFingerprinter(),
            spider=SimpleNamespace(name="pages"),
        )
        created.append(DupeFilter.from_crawler(crawler))
        return created[-1]

    yield create
    for each in created:
        each.close("tested")


def requests(first, last):
    return [Request(f"http://site/{number}") for number in range(first, last)]


@pytest.mark.parametrize("days", [0, 1])
def test_window_needs_bloomline(days):
    folder = tempfile.TemporaryDirectory(prefix="bloomline-")
    with folder as name, valkey_bloom.Server(name) as server:
        crawler = SimpleNamespace(
            settings=Settings({"REDIS_URL": server.url, "BLOOMFILTER_WINDOW_DAYS": days}),
            stats=None,
            request_fingerprinter=RequestFingerprinter(),
            spider=SimpleNamespace(name="pages"),
        )
        if days:
            with pytest.raises(BloomlineError, match="BLOOMFILTER_WINDOW_DAYS needs"):
                DupeFilter.from_crawler(crawler)
            return
        pages = DupeFilter.from_crawler(crawler)
        assert [pages.request_seen(each) for each in requests(0, 2) * 2] == [False] * 2 + [True] * 2
        pages.close("tested")


@pytest.mark.parametrize("count", [1, 7, 8, 9, 1000])
def test_batch_is_answered_in_order(dupefilter, count):
    pages = dupefilter()
    seen = [not pages.request_seen(request) for request in requests(0, count)[::3]]
    assert all(seen)
    assert pages.add(requests(0, count)) == [number % 3 != 0 for number in range(count)]
    # A request that is twice in a batch is new once.
    assert pages.add(requests(count, count + 2) * 2) == [True, True, False, False]
    assert all(map(pages.request_seen, requests(0, count + 2)))


def test_batch_creates_the_filter_of_the_settings(server, dupefilter):
    pages = dupefilter(
        BLOOMFILTER_CAPACITY=5000,
        BLOOMFILTER_WINDOW_DAYS=2,
        REDIS_PARAMS={"decode_responses": True},
    )
    for _ in range(2):
        assert pages.add(requests(0, 500)) == [True] * 500
        with server.client(protocol=2) as client:
            assert client.execute_command("BF.INFO", "pages:bloomfilter", "CAPACITY") == [5000]
            assert client.execute_command("BF.INFO", "pages:bloomfilter", "WINDOW") == [
                2 * 24 * 60 * 60
            ]
        pages.clear()


def test_batch_for_a_full_filter_is_an_error(server, dupefilter):
    with server.client() as client:
        client.execute_command("BF.RESERVE", "pages:bloomfilter", 1e-9, 10, "NONSCALING")
    with pytest.raises(BulkError, match="full"):
        dupefilter().add(requests(0, 1000))


@pytest.mark.parametrize(
    "settings, expected",
    [
        ({}, (100_000, 0.001)),
        # scrapy-redis-bf.
        ({"BLOOMFILTER_CAPACITY": 5, "BLOOMFILTER_ERRORRATE": 0.1}, (5, 0.1)),
        # scrapy-redis-bloomfilter: six hashes and 2^30 bits are optimal for 2^30 * ln 2 / 6 items.
        ({"BLOOMFILTER_BIT": 30}, (124_043_519, 1 / 64)),
        ({"BLOOMFILTER_BIT": 20, "BLOOMFILTER_HASH_NUMBER": 10}, (72_681, 1 / 1024)),
        ({"BLOOMFILTER_BIT": 20, "BLOOMFILTER_ERRORRATE": 0.1}, (121_136, 0.1)),
    ],
)
def test_settings_of_other_packages_are_understood(settings, expected):
    assert size_of(Settings(settings)) == expected


@pytest.mark.parametrize(
    "scheduler", ["scrapy.core.scheduler.Scheduler", "scrapy_redis.scheduler.Scheduler"]
)
def test_settings_of_bloomfilter_package_crawl(server, site, crawl, scheduler):
    settings = {"SCHEDULER": scheduler, "BLOOMFILTER_BIT": 20, "BLOOMFILTER_HASH_NUMBER": 10}
    for filtered in (10, 110):
        assert crawl("default", **settings).filtered() == filtered
        assert site.fetched == PAGES
    with server.client() as client:
        # The capacity in the settings of the project takes precedence.
        assert client.bf().info("pages:bloomfilter").get("capacity") == 100_000


def test_filters_without_batches_and_with_scrapys_scheduler(server, site, crawl):
    scheduler = "scrapy.core.scheduler.Scheduler"
    assert crawl("default", SCHEDULER=scheduler, SPIDER_MIDDLEWARES="{}").filtered() == 10
    assert site.fetched == PAGES
    assert crawl("default", SCHEDULER=scheduler).filtered() == 110
    assert site.fetched == PAGES


def test_pages_are_fetched_again_after_the_window(server, site, crawl):
    day = 24 * 60 * 60
    window = {"BLOOMFILTER_WINDOW_DAYS": 7}
    assert crawl("default", **window).filtered() == 10
    with server.client() as client:
        make_older(client, "pages:bloomfilter", 7 * day - 3600)
        assert crawl("default", **window).filtered() == 110
        assert site.fetched == PAGES
        # A window and one of 8 generations after the first crawl; the second did not prolong it.
        make_older(client, "pages:bloomfilter", 1 * day)
    assert crawl("default", **window).filtered() == 10
    assert site.fetched == dict.fromkeys(PAGES, 2)


@pytest.mark.parametrize(
    "created, days, differs",
    [
        ([], 7, "no window, the settings request WINDOW 604800 NOREFRESH"),
        (["WINDOW", 86400, "NOREFRESH"], 7, "WINDOW 86400 NOREFRESH, the settings"),
        (["WINDOW", 604800], 7, "WINDOW 604800, the settings"),
        (["LAST"], 7, "WINDOW LAST, the settings"),
        (["WINDOW", 86400], 0, "has WINDOW 86400, the settings request no window"),
        (["WINDOW", 604800, "NOREFRESH"], 7, None),
        ([], 0, None),
    ],
)
def test_window_of_an_existing_filter_is_compared(server, dupefilter, created, days, differs):
    with server.client() as client:
        client.execute_command("BF.RESERVE", "pages:bloomfilter", 1e-9, 1000, *created)
    if differs:
        with pytest.raises(ValueError, match=re.escape(differs)):
            dupefilter(BLOOMFILTER_WINDOW_DAYS=days)
        return
    pages = dupefilter(BLOOMFILTER_WINDOW_DAYS=days)
    assert pages.add(requests(0, 10)) == [True] * 10
    assert [pages.request_seen(request) for request in requests(9, 11)] == [True, False]


def test_window_that_changes_during_a_crawl_is_refused(server, dupefilter):
    pages = dupefilter(BLOOMFILTER_WINDOW_DAYS=7)
    pages.clear()
    with server.client() as client:
        client.execute_command("BF.ADD", "pages:bloomfilter", "a")
    with pytest.raises(BloomlineError, match="has no window, but Create has WINDOW 604800"):
        pages.request_seen(*requests(0, 1))


def test_filter_without_a_window_remembers_for_ever(server, crawl):
    assert crawl("default").filtered() == 10
    with server.client() as client:
        assert client.execute_command("BF.INFO", "pages:bloomfilter", "WINDOW") in (
            [None],
            {b"Window": None},
        )


def test_key_of_another_type_is_refused_and_kept(server, site, crawl):
    with server.client() as client:
        client.sadd("pages:bloomfilter", "fingerprints of another filter")
        with pytest.raises(AssertionError, match="pages:bloomfilter holds no Bloom filter"):
            crawl("default").stats()
        assert client.scard("pages:bloomfilter") == 1
    assert not site.fetched
