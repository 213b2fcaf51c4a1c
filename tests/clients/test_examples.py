"""The programs of examples/ print what their pages show, and behave as the pages say."""

import os
import re
import subprocess
import sys
import threading

import pytest
from conftest import DEADLINE, ROOT
from older import make_older

for folder in ("feed", "cache_guard", "idempotency", "sharded"):
    sys.path.insert(0, str(ROOT / "examples" / folder))
from cache_guard import Database, Guard  # noqa: E402
from feed import Feed  # noqa: E402
from idempotency import Database as Ledger  # noqa: E402
from idempotency import Payments  # noqa: E402
from seen import Seen  # noqa: E402

pytestmark = pytest.mark.newest


@pytest.fixture
def text(server):
    """A client that decodes replies, as the programs use it, on an empty server."""
    with server.client(decode_responses=True) as client:
        client.flushall()
        yield client


@pytest.mark.parametrize("program", ["cache_guard/cache_guard.py", "sharded/seen.py"])
def test_program_prints_what_its_page_shows(server, text, program):
    check_program(server, program)


# Filters that forget exist in one layout.
@pytest.mark.one_layout
@pytest.mark.parametrize("program", ["feed/feed.py", "idempotency/idempotency.py"])
def test_program_that_forgets_prints_what_its_page_shows(server, text, program):
    check_program(server, program)


def check_program(server, program):
    program = ROOT / "examples" / program
    page = (program.parent / "README.md").read_text()
    (shown,) = re.findall(r"^```text\n(.*?)^```", page, re.M | re.S)
    environment = {**os.environ, "REDIS_URL": server.url}
    done = subprocess.run([sys.executable, program], env=environment, capture_output=True, text=True, timeout=DEADLINE)
    assert done.returncode == 0, done.stderr
    assert done.stdout == shown


def calls(client):
    """Returns how often each Bloom filter command was called since the previous call."""
    stats = client.info("commandstats")
    client.config_resetstat()
    return {name.split("_")[1].upper(): of["calls"] for name, of in stats.items() if name.lower().startswith("cmdstat_bf")}


@pytest.mark.one_layout
def test_feed_tests_once_and_adds_once(text):
    feed = Feed(text, keep_seconds=1000)
    articles = [f"article:{number}" for number in range(500)]
    calls(text)
    assert feed.unseen("ann", articles) == articles
    feed.remember("ann", articles[:50])
    assert calls(text) == {"BF.MEXISTS": 1, "BF.INSERT": 1}
    assert not set(feed.unseen("ann", articles)) & set(articles[:50])
    assert feed.unseen("bob", articles) == articles
    assert feed.unseen("ann", []) == []


@pytest.mark.one_layout
def test_feed_renews_the_time_to_live_at_every_visit(text):
    feed = Feed(text, keep_seconds=1000)
    feed.remember("ann", ["article:1"])
    text.expire(Feed.key("ann"), 10)
    feed.remember("ann", ["article:2"])
    assert 900 < text.ttl(Feed.key("ann")) <= 1000
    text.pexpire(Feed.key("ann"), 0)
    assert feed.unseen("ann", ["article:1"]) == ["article:1"]


@pytest.mark.one_layout
def test_feed_forgets_articles_after_its_window(server, text):
    feed = Feed(text, keep_seconds=1000, error_rate=1e-9)
    feed.remember("ann", ["old"])
    with server.client() as client:
        make_older(client, Feed.key("ann"), 900)
        feed.remember("ann", ["recent"])
        assert feed.unseen("ann", ["old", "recent", "new"]) == ["new"]
        # A window and one of 4 generations after the first visit.
        make_older(client, Feed.key("ann"), 350)
    assert feed.unseen("ann", ["old", "recent", "new"]) == ["old", "new"]


@pytest.fixture
def guard(text, tmp_path):
    """A guard of ten products in a database on disk."""
    database = Database(tmp_path / "products.db")
    database.insert([(f"p{number}", f"Product {number}") for number in range(10)])
    guard = Guard(text, database)
    guard.build(capacity=1000)
    return guard


def test_absent_ids_never_reach_the_database(guard):
    assert [guard.find(f"x{number}") for number in range(1000)] == [None] * 1000
    assert (guard.rejected, guard.database.queries) == (1000, 0)


def test_second_lookup_of_an_id_is_answered_by_the_cache(guard):
    assert [guard.find("p3") for _ in range(5)] == ["Product 3"] * 5
    assert (guard.database.queries, guard.from_cache) == (1, 4)


def test_new_product_is_found_at_once(guard):
    assert guard.find("new") is None
    guard.insert([("new", "The new one")])
    assert guard.find("new") == "The new one"


def test_guard_without_its_filter_lets_everything_through(guard, text):
    text.delete(Guard.KEY)
    assert guard.find("p3") == "Product 3"
    assert guard.find("absent") is None
    assert (guard.rejected, guard.database.queries) == (0, 2)
    guard.build(capacity=1000)
    assert guard.find("absent") is None
    assert guard.rejected == 1


def test_url_is_new_once_in_every_shard(server):
    with server.client() as client:
        client.flushall()
        seen = Seen(client, shards=8, urls=4000, error_rate=1e-6)
        seen.reserve()
        # Several crawlers may call this when they start.
        seen.reserve()
        urls = [f"https://example.com/{number}" for number in range(4000)]
        assert sorted(seen.add(urls + urls[:100])) == sorted(urls)
        assert seen.add(urls) == []
        cards = seen.cards()
        assert sum(cards) == 4000
        assert 0 < min(cards) and max(cards) <= seen.capacity
        # Two lines: the number of items, and the only layer.
        assert {len(client.execute_command("BF.DEBUG", seen.key(shard))) for shard in range(8)} == {2}


@pytest.fixture
def payments(text, tmp_path):
    return Payments(text, Ledger(tmp_path / "ledger.db"))


@pytest.mark.one_layout
def test_first_request_with_a_key_wins(payments):
    assert [payments.pay("k", 5) for _ in range(3)] == [("paid", 5), ("repeated", 5), ("repeated", 5)]
    assert payments.pay("other", 5) == ("paid", 5)
    assert payments.database.total() == 10


@pytest.mark.one_layout
def test_keys_of_a_batch_are_new_once(payments):
    assert payments.claim(["a", "b", "a"]) == [True, True, False]
    assert payments.claim(["b", "c"]) == [False, True]


@pytest.mark.one_layout
def test_key_without_a_result_is_not_paid(payments):
    # A worker has claimed it and not finished; a false positive looks the same.
    payments.claim(["k"])
    assert payments.pay("k", 5) == ("unknown", None)
    assert payments.database.total() == 0


@pytest.mark.one_layout
def test_exactly_one_of_many_workers_pays(server, text, tmp_path):
    Ledger(tmp_path / "ledger.db")
    together = threading.Barrier(8)
    paid = []

    def work():
        with server.client() as client:
            payments = Payments(client, Ledger(tmp_path / "ledger.db"))
            together.wait(DEADLINE)
            paid.extend(number for number in range(50) if payments.claim([f"k{number}"]) == [True])

    threads = [threading.Thread(target=work) for _ in range(together.parties)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(paid) == list(range(50))


@pytest.mark.one_layout
def test_keys_are_recognised_for_a_day_after_the_last_attempt(server, text, payments):
    hour = 60 * 60
    payments.claim(["once", "retried"])
    with server.client() as client:
        make_older(client, Payments.KEY, 23 * hour)
        assert payments.claim(["retried"]) == [False]
        # More than 24 hours and one of 8 generations after the first request.
        make_older(client, Payments.KEY, 5 * hour)
    assert payments.claim(["retried", "once"]) == [False, True]
