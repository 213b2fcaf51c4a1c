"""Scrapy crawls a local site, with the published packages and with the dupefilter of this one."""

import os
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from types import SimpleNamespace

import pytest
import redis
import valkey_bloom
from conftest import DEADLINE, PATIENT, ROOT
from proxy import Proxy
from scrapy import Request
from scrapy.settings import Settings
from scrapy.utils.request import RequestFingerprinter
from scrapy_redis.connection import get_redis_from_settings

from bloomline import BloomlineError
from bloomline.scrapy import (
    UNAVAILABLE,
    DupeFilter,
    check_reachable,
    key_of,
    server_of,
    size_of,
)

EXAMPLE = ROOT / "examples/scrapy"
sys.path.insert(0, str(EXAMPLE))
from local_site import LocalSite, Page  # noqa: E402
from older import make_older  # noqa: E402

PAGES = {f"/{number}": 1 for number in range(100)}


class Sitemap(LocalSite):
    """A site whose `/sitemap.xml` names the pages of `pages`."""

    def __init__(self):
        super().__init__()
        self.pages = []
        self.RequestHandlerClass = SitemapPage


class SitemapPage(Page):
    def do_GET(self):
        if self.path != "/sitemap.xml":
            super().do_GET()
            return
        with self.server.counting:
            self.server.fetched[self.path] += 1
        pages = "".join(
            f"<url><loc>{self.server.url}{each}</loc></url>" for each in self.server.pages
        )
        body = f"<urlset>{pages}</urlset>".encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/xml")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


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
        return redis.Redis.from_url(self.url, **{**PATIENT, **options})


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
    crawlers = [crawl("default") for _ in range(3)]
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


def seen(pages, some):
    return [pages.request_seen(each) for each in some]


def test_filter_is_created_again_with_the_settings(server, dupefilter):
    pages = dupefilter(
        BLOOMFILTER_CAPACITY=5000,
        BLOOMFILTER_WINDOW_DAYS=2,
        REDIS_PARAMS={"decode_responses": True},
    )
    for _ in range(2):
        assert seen(pages, requests(0, 50)) == [False] * 50
        with server.client(protocol=2) as client:
            assert client.execute_command("BF.INFO", "pages:bloomfilter", "CAPACITY") == [5000]
            assert client.execute_command("BF.STATS", "pages:bloomfilter", "window") == [
                b"window",
                2 * 24 * 60 * 60,
            ]
        pages.clear()


def test_key_is_the_same_during_a_crawl(server):
    settings = {"REDIS_URL": server.url, "SCHEDULER_DUPEFILTER_KEY": "%(spider)s:%(timestamp)s"}
    crawler = SimpleNamespace(
        settings=Settings(settings), spider=SimpleNamespace(name="pages"), _bloomfilter_timestamp=7
    )
    assert key_of(crawler) == key_of(crawler) == "pages:7"
    del crawler._bloomfilter_timestamp
    first = key_of(crawler)
    assert abs(int(first.removeprefix("pages:")) - time.time()) < DEADLINE
    crawler._bloomfilter_timestamp -= 100
    assert key_of(crawler) == f"pages:{crawler._bloomfilter_timestamp}" != first


CONNECTIONS = [
    {},
    {"REDIS_URL": "redis://h:1/2"},
    {"REDIS_HOST": "h"},
    {"REDIS_PORT": "7000"},
    {"REDIS_DB": 5},
    {"REDIS_DB": 5, "REDIS_URL": "redis://h:1"},
    {"REDIS_HOST": "h", "REDIS_PARAMS": {"db": 3}},
    {"REDIS_PARAMS": {"host": "10.1.2.3", "port": 7000}},
    {"REDIS_PARAMS": {"host": "10.1.2.3", "password": "p", "db": 2, "username": "u"}},
    {"REDIS_PARAMS": {"url": "redis://h:1/2", "db": 3}},
    {"REDIS_PARAMS": {"host": "a", "url": "redis://h:1/2"}, "REDIS_HOST": "b"},
    {"REDIS_PARAMS": {"unix_socket_path": "/x/s", "db": 4}},
    {"REDIS_PARAMS": {"decode_responses": True, "socket_timeout": 3}},
    {"REDIS_ENCODING": "latin-1", "REDIS_DECODE_RESPONSES": True},
    {"REDIS_PARAMS": {"redis_cls": "redis.StrictRedis", "retry_on_timeout": True}, "REDIS_DB": 1},
]


@pytest.mark.parametrize("settings", CONNECTIONS)
def test_connection_is_that_of_scrapy_redis(settings):
    # scrapy-redis, pull request 166: crawls in several databases of one server.
    theirs = get_redis_from_settings(Settings(settings))
    ours = server_of(Settings(settings))
    assert type(ours) is type(theirs)
    assert ours.connection_pool.connection_class is theirs.connection_pool.connection_class
    names = ("host", "port", "db", "path", "username", "password", "encoding")
    more = ("decode_responses", "socket_timeout", "socket_connect_timeout")
    for name in (*names, *more):
        mine, other = (each.connection_pool.connection_kwargs.get(name) for each in (ours, theirs))
        assert (mine or None) == (other or None) or (name, mine) == ("encoding", None), name


def test_crawls_in_two_databases_share_nothing(server, dupefilter):
    with server.client() as client:
        client.flushall()
    for number in (1, 2):
        pages = dupefilter(REDIS_URL=None, REDIS_DB=number, REDIS_PARAMS=socket_of(server))
        assert seen(pages, requests(0, 3) * 2) == [False] * 3 + [True] * 3


def socket_of(server):
    return {"unix_socket_path": server.url.removeprefix("unix://")}


def test_page_whose_connection_is_lost_is_fetched(server, dupefilter):
    # scrapy-redis, issue 167: a crawl does not survive the loss of its connection.
    proxy = Proxy(server.url.removeprefix("unix://"))
    pages = dupefilter(REDIS_URL=f"redis://127.0.0.1:{proxy.port}")
    assert seen(pages, requests(0, 2)) == [False, False]
    # It is added, and the reply is lost: it may have been new.
    proxy.cut(b"BF.INSERT")
    assert seen(pages, requests(2, 3)) == [False] and proxy.cuts == 0
    assert seen(pages, requests(0, 4)) == [True] * 3 + [False]
    for number in range(4, 10):
        proxy.drop()
        assert seen(pages, requests(number, number + 1)) == [False]
    assert seen(pages, requests(0, 10)) == [True] * 10
    proxy.close()


class Closing:
    """The engine of a crawl, and its statistics."""

    def __init__(self):
        self.reasons, self.counts = [], Counter()

    def close_spider(self, spider, reason):
        self.reasons.append(reason)

    def inc_value(self, name):
        self.counts[name] += 1


def test_request_takes_one_round_trip(server, dupefilter, monkeypatch):
    monkeypatch.setattr("bloomline.scrapy._BETWEEN_COMPARISONS", 1000)
    pages = dupefilter()
    seen(pages, requests(0, 2))
    with server.client() as client:
        client.config_resetstat()
        assert seen(pages, requests(0, 200)) == [True] * 2 + [False] * 198
        stats = client.info("commandstats")
    calls = {name: each["calls"] for name, each in stats.items() if name.startswith("cmdstat_bf.")}
    assert calls == {"cmdstat_bf.insert": 200}


def test_unreachable_sites_and_servers_are_sentences(server):
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{closed.getsockname()[1]}"
        with pytest.raises(SystemExit) as caught:
            check_reachable(Settings({"REDIS_URL": server.url}), f"http://{address}")
        assert str(caught.value).endswith("no page is remembered: Connection refused")
        with pytest.raises(SystemExit) as caught:
            check_reachable(Settings({"REDIS_URL": f"redis://{address}"}), "http://127.0.0.1")
        assert str(caught.value) == f"crawl: REDIS_URL: {address}: Connection refused"


def test_crawl_whose_server_refuses_is_closed(server, dupefilter):
    pages = dupefilter()
    pages.stats = pages._crawler.engine = closing = Closing()
    assert seen(pages, requests(0, 2)) == [False] * 2 and not closing.reasons
    with server.client() as client:
        client.delete(pages.key)
        client.set(pages.key, "of another program")
    assert seen(pages, requests(0, 5)) == [False] * 5
    assert closing.reasons == [UNAVAILABLE] and closing.counts["bloomfilter/errors"] == 5


@pytest.mark.parametrize("are_many", [False, True], ids=["at the end", "under way"])
def test_filter_that_is_replaced_during_a_crawl_is_reported(
    server, dupefilter, caplog, monkeypatch, are_many
):
    if are_many:
        monkeypatch.setattr("bloomline.scrapy._BETWEEN_COMPARISONS", 2)
    pages = dupefilter()
    pages.stats = closing = Closing()
    assert seen(pages, requests(0, 3)) == [False] * 3
    with server.client() as client:
        client.delete(pages.key)
    assert seen(pages, requests(0, 3)) == [False] * 3
    if not are_many:
        assert not closing.counts
        pages.close("finished")
    assert closing.counts == {"bloomfilter/replaced": 1}
    assert f"{pages.key} holds another filter than before" in caplog.text
    pages.clear()
    pages.close("finished")
    assert closing.counts == {"bloomfilter/replaced": 1}


@pytest.mark.parametrize("is_debug, logged", [(False, 1), (True, 3)])
def test_filtered_requests_are_counted_and_the_first_is_logged(
    server, dupefilter, caplog, is_debug, logged
):
    # Scrapy, issue 105: a request that is filtered without a word is not found for hours.
    pages = dupefilter(DUPEFILTER_DEBUG=is_debug)
    pages.stats = closing = Closing()
    with caplog.at_level("DEBUG", logger="bloomline.scrapy"):
        for request in requests(0, 3):
            pages.log(request, None)
    assert [each.getMessage() for each in caplog.records if "http://site/0" in each.getMessage()]
    assert len(caplog.records) == logged and closing.counts["bloomfilter/filtered"] == 3


SITEMAPS = """
from scrapy.spiders import SitemapSpider

class Pages(SitemapSpider):
    name = "sitemaps"

    def __init__(self, site):
        super().__init__()
        self.sitemap_urls = [site + "/sitemap.xml"]

{start}
    def parse(self, response):
        pass
"""


def test_sitemaps_are_read_again_as_the_page_says(server, tmp_path):
    # Scrapy, issue 4479: the sitemap is a known page, so a resumed or later crawl finds nothing.
    page = (ROOT / "docs/how-to/python.md").read_text()
    start = re.search(r"class Pages\(SitemapSpider\):\n(.*?)```", page, re.S)[1]
    (tmp_path / "sitemaps.py").write_text(SITEMAPS.format(start=start))
    site, items = Sitemap(), [f"REDIS_URL={server.url}", "TELNETCONSOLE_ENABLED=0"]
    items.append("DUPEFILTER_CLASS=bloomline.scrapy.DupeFilter")
    options = [word for each in items for word in ("-s", each)]
    words = ["runspider", "sitemaps.py", "-a", f"site={site.url}", *options]
    with server.client() as client:
        client.flushall()
    for number in (1, 2):
        site.pages.append(f"/{number}")
        command = [sys.executable, "-m", "scrapy", *words]
        subprocess.run(command, cwd=tmp_path, check=True, timeout=DEADLINE, capture_output=True)
        assert site.fetched == {"/sitemap.xml": number, **dict.fromkeys(site.pages, 1)}
    site.close()


CHAIN = """
import scrapy

class Chain(scrapy.Spider):
    name = "chain"

    async def start(self):
        yield scrapy.Request(self.site + "/0")

    def parse(self, response):
        yield scrapy.Request(self.site + "/" + str(int(response.url.rpartition("/")[2]) + 1))
"""


def test_crawl_whose_server_is_gone_has_a_reason_of_its_own(server, site, tmp_path):
    # scrapy-redis, issue 108: a server that breaks down ends the crawl by errors.
    (tmp_path / "chain.py").write_text(CHAIN)
    words = ["runspider", "chain.py", "-a", f"site={site.url}", "-s", "JOBDIR=job"]
    settings = ["DUPEFILTER_CLASS=bloomline.scrapy.DupeFilter", "TELNETCONSOLE_ENABLED=0"]

    def crawl(url):
        options = [word for each in (*settings, f"REDIS_URL={url}") for word in ("-s", each)]
        command = [sys.executable, "-m", "scrapy", *words, *options]
        return subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True)

    def wait(program, count):
        end = time.monotonic() + DEADLINE
        while len(site.fetched) < count:
            assert time.monotonic() < end and program.poll() is None
            time.sleep(0.01)

    with server.client() as client:
        client.flushall()
    proxy = Proxy(server.url.removeprefix("unix://"))
    with crawl(f"redis://127.0.0.1:{proxy.port}") as program:
        wait(program, 5)
        proxy.close()
        _, log = program.communicate(timeout=DEADLINE)
    assert f"'finish_reason': '{UNAVAILABLE}'" in log
    assert int(re.search(r"'bloomfilter/errors': (\d+)", log)[1]) >= 1
    assert "Traceback" not in log, log
    # The request that could not be tested is in the queue of the next run.
    fetched = len(site.fetched)
    with crawl(server.url) as program:
        wait(program, fetched + 3)
        program.kill()
    assert max(site.fetched.values()) == 1


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


def test_filters_with_scrapys_scheduler(server, site, crawl):
    scheduler = "scrapy.core.scheduler.Scheduler"
    assert crawl("default", SCHEDULER=scheduler).filtered() == 10
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
    assert seen(pages, requests(0, 10)) == [False] * 10
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
        assert client.execute_command("BF.STATS", "pages:bloomfilter", "window") in (
            [b"window", None],
            {b"window": None},
        )


def test_key_of_another_type_is_refused_and_kept(server, site, crawl):
    with server.client() as client:
        client.sadd("pages:bloomfilter", "fingerprints of another filter")
        with pytest.raises(AssertionError, match="pages:bloomfilter holds no Bloom filter"):
            crawl("default").stats()
        assert client.scard("pages:bloomfilter") == 1
    assert not site.fetched
