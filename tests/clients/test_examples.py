"""The programs of examples/ print what their pages show, and behave as the pages say."""

import os
import re
import subprocess
import sys
import threading

import pytest
import redis
from conftest import DEADLINE, ROOT, Server, find_servers, poll
from older import make_older
from ports import free_port

from bloomline import Create, Filter, ShardedFilter

for folder in ("bulk_load", "feed", "cache_guard", "idempotency", "parallel"):
    sys.path.insert(0, str(ROOT / "examples" / folder))
from bulk_load import load as bulk_load  # noqa: E402
from cache_guard import Database, Guard  # noqa: E402
from feed import Feed  # noqa: E402
from idempotency import Database as Ledger  # noqa: E402
from idempotency import Payments  # noqa: E402
from parallel import ALL, CREATE, OTHER, take, work  # noqa: E402

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


# Windowed filters and rates of cuckoo filters exist in one layout. The sizes after a compaction are those of one.
@pytest.mark.one_layout
@pytest.mark.parametrize(
    "program", ["feed/feed.py", "idempotency/idempotency.py", "bulk_load/bulk_load.py", "sessions/sessions.py"]
)
def test_program_of_one_layout_prints_what_its_page_shows(server, text, program):
    check_program(server, program)


@pytest.mark.one_layout
def test_parallel_program_prints_what_its_page_shows(server, text, other):
    check_program(server, "parallel/parallel.py", OTHER_URL=other.url)


def check_program(server, program, **variables):
    program = ROOT / "examples" / program
    page = (program.parent / "README.md").read_text()
    (shown,) = re.findall(r"^```text\n(.*?)^```", page, re.M | re.S)
    environment = {**os.environ, "REDIS_URL": server.url, **variables}
    done = subprocess.run([sys.executable, program], env=environment, capture_output=True, text=True, timeout=DEADLINE)
    assert done.returncode == 0, done.stderr
    assert done.stdout == shown


@pytest.fixture
def other(server):
    """A second server of the same kind."""
    other = Server(server.name, find_servers()[server.name])
    yield other
    other.stop()


@pytest.fixture
def cluster(server):
    """The client of a cluster of two nodes, each with half of the slots."""
    nodes = []
    try:
        for slots in ((0, 8191), (8192, 16383)):
            # The bus of the cluster uses a second port.
            port, bus = free_port(), free_port()
            lines = f"cluster-enabled yes\nport {port}\nbind 127.0.0.1\ncluster-port {bus}"
            nodes.append((Server(server.name, find_servers()[server.name], lines=lines), port, bus))
            with nodes[-1][0].client() as client:
                client.execute_command("CLUSTER", "ADDSLOTSRANGE", *slots)
        (first, port, _), (second, second_port, second_bus) = nodes
        with first.client() as client:
            client.execute_command("CLUSTER", "MEET", "127.0.0.1", second_port, second_bus)
        for node in (first, second):
            with node.client() as client:

                def is_ok(client=client):
                    return client.execute_command("CLUSTER INFO")["cluster_state"] == "ok"

                poll("the nodes to find each other", is_ok)
        with redis.RedisCluster(host="127.0.0.1", port=port, socket_timeout=DEADLINE) as client:
            yield client
    finally:
        for node, *_ in nodes:
            node.stop()


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


@pytest.mark.one_layout
def test_shards_are_spread_over_a_cluster(cluster):
    seen = ShardedFilter(cluster, "seen", 16, Create(20_000, error_rate=1e-9))
    assert seen.create() and not seen.create()
    urls = pages(0, 20_000)
    assert seen.add_many(urls).ones == 20_000
    assert seen.contains_many(urls[::2] + pages(20_000, 30_000)) == [True] * 10_000 + [False] * 10_000
    # Half of the slots have half of the shards.
    for node in cluster.get_primaries():
        assert len(cluster.get_redis_connection(node).keys("seen:*")) == 8


def pages(first, last):
    return [f"https://example.com/{number}" for number in range(first, last)]


def whole(client):
    return Filter(client, ALL)


@pytest.mark.one_layout
def test_merged_parts_are_the_filter_of_one_worker(server):
    with server.client() as client:
        client.flushall()
        one = Filter(client, "{crawl}:one", CREATE)
        assert one.add_many(pages(0, 3000)).ones == 3000
        parts = work(client, {1: pages(0, 2000), 2: pages(1000, 3000)})
        assert [part.card() for part in parts] == [2000, 2000]
        bits, merged = (client.execute_command("BF.SCANDUMP", key, 1) for key in (one.key, ALL))
        assert bits == merged
        # Four standard errors of the estimate, which adds 1000 items to the exact count of a part.
        assert abs(whole(client).card() - 3000) < 40
        # The workers go on.
        parts[1].add_many(pages(3000, 3500))
        assert whole(client).contains_many(pages(3000, 3500)).ones <= 2
        whole(client).merge(*(part.key for part in parts))
        assert whole(client).contains_many(pages(0, 3500)).ones == 3500


@pytest.mark.one_layout
def test_parts_are_merged_in_a_cluster(cluster):
    work(cluster, {worker: pages(worker * 500, worker * 500 + 700) for worker in range(8)})
    assert whole(cluster).contains_many(pages(0, 4200)).ones == 4200
    with pytest.raises(redis.exceptions.RedisClusterException):
        cluster.execute_command("BF.MERGE", "elsewhere", ALL)


@pytest.mark.one_layout
def test_regions_exchange_their_pages(server, other):
    with server.client() as client, other.client() as far:
        client.flushall()
        work(client, {1: pages(0, 1000)})
        work(far, {1: pages(500, 2000)})
        take(client, far)
        take(far, client)
        for region in (client, far):
            assert whole(region).contains_many(pages(0, 2000)).ones == 2000
            assert region.exists(OTHER) == 0
        here, there = (region.execute_command("BF.SCANDUMP", ALL, 1) for region in (client, far))
        assert here == there


def test_bulk_load_gives_memory_back_and_keeps_all_items(server):
    with server.client() as client:
        client.flushall()
        before = bulk_load(client, "k", pages(0, 3000) + pages(0, 10), at_most=65_536, error_rate=0.01)
        after = Filter(client, "k").stats()["size"]
        # In RedisBloom's layout a layer can only be folded to sizes that divide it.
        assert after < before / 8 or (server.layout == "redisbloom" and after <= before)
        assert client.keys() == [b"k"]
        assert Filter(client, "k").contains_many(pages(0, 3000)).ones == 3000
        # Four standard deviations above the error rate.
        assert Filter(client, "k").contains_many(pages(3000, 13_000)).ones < 140


@pytest.mark.one_layout
def test_bulk_load_takes_the_lines_of_a_file(server, text, tmp_path):
    path = tmp_path / "list.txt"
    path.write_text("".join(f"{page}\n" for page in pages(0, 500)))
    program = ROOT / "examples/bulk_load/bulk_load.py"
    environment = {**os.environ, "REDIS_URL": server.url}
    command = [sys.executable, program, path]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=DEADLINE)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("500 items, ")
    assert all(text.execute_command("BF.MEXISTS", "unsubscribed", *pages(0, 500)))


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
