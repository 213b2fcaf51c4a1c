"""Random events beside all that adds items: nothing is lost without an error that says so.

Processes are killed and doubled, connections cut, filters replaced. `BLOOMLINE_ROUNDS` is the
number of rounds, of which there is one with processes for twenty without, `BLOOMLINE_SEED` the
first seed. A round that fails names its seed.
"""

import argparse
import contextlib
import os
import signal
import threading
import time
from collections import Counter
from functools import partial
from random import Random
from types import SimpleNamespace

import pytest
import redis
from conftest import DEADLINE, PATIENT
from proxy import Proxy
from scrapy.settings import Settings
from scrapy.utils.request import RequestFingerprinter
from test_load import (
    KEY,
    RATE,
    REPLACEMENTS,
    Interfered,
    Stopped,
    create,
    lines,
    offset_of,
    present,
    run_load,
    start,
    stop,
)
from test_load import text as text_of
from test_scrapy import Closing, requests
from test_sharding import LOSSES

from bloomline import BloomlineError, BulkError, Create, Filter, Lines, ShardedFilter
from bloomline.cli import copying, dump
from bloomline.cli.load import positions_key
from bloomline.errors import library_errors
from bloomline.scrapy import DupeFilter

ROUNDS = int(os.environ.get("BLOOMLINE_ROUNDS", "20"))
SEED = int(os.environ.get("BLOOMLINE_SEED", "0"))
EVENTS = 6
SEEDS = range(SEED, SEED + ROUNDS)
FEW_SEEDS = range(SEED, SEED + max(1, ROUNDS // 20))


def begin_again(client):
    """Does what the errors of a load advise."""
    client.delete(KEY, positions_key(KEY))
    create(client)


def load_through_events(client, path, random):
    """Runs a load again until it succeeds. Something happens in each of the first runs."""
    for number in range(10 * EVENTS):
        name = (
            random.choice([*REPLACEMENTS, "stopped", "nothing"]) if number < EVENTS else "nothing"
        )
        events = {"stopped": stop, "nothing": lambda: None}
        happen = events.get(name, lambda name=name: REPLACEMENTS[name](client))
        try:
            run_load(client, Interfered(path, happen, random.randint(1, 60)))
            return
        except Stopped:
            continue
        except BloomlineError:
            begin_again(client)
    pytest.fail("the load did not end")


@pytest.mark.parametrize("seed", SEEDS)
def test_nothing_is_lost_without_an_error(plain, tmp_path, monkeypatch, seed):
    random = Random(seed)
    path, file = tmp_path / "lines", tmp_path / "file"
    path.write_bytes(text_of(lines(0, 1000)))
    create(plain)
    plain.copy(KEY, "backup")
    load_through_events(plain, path, random)
    assert present(plain, lines(0, 1000)) == 1000

    real = dump.chunks_of
    events = random.sample([*REPLACEMENTS, "nothing"], 2)

    def chunks_of(client, head, key):
        for chunk in real(client, head, key):
            yield chunk
            if events and (name := events.pop()) != "nothing":
                REPLACEMENTS[name](client)

    monkeypatch.setattr(dump, "chunks_of", chunks_of)
    try:
        copying.export(plain, argparse.Namespace(key=KEY, file=str(file)))
    except Exception as error:
        assert not isinstance(error, AssertionError)
        assert not file.exists()
        return
    monkeypatch.undo()
    options = argparse.Namespace(key=KEY, file=str(file), replace=True)
    copying.import_(plain, options)
    assert present(plain, lines(0, 1000)) == 1000


@pytest.fixture
def proxy(bloomline_server):
    proxy = Proxy(bloomline_server.url.removeprefix("unix://"))
    proxy.url = f"redis://127.0.0.1:{proxy.port}"
    yield proxy
    proxy.close()


def found(client, items, key=KEY):
    return Filter(client, key).contains_many(Lines(text_of(items))).ones


def wait_for(condition, programs):
    """Waits until the condition holds, or the programs have ended."""
    end = time.monotonic() + DEADLINE
    while not condition() and any(program.poll() is None for program in programs):
        assert time.monotonic() < end


def some_cuts(random):
    """A number of cuts: a call is repeated up to three times, with some seconds in between."""
    return random.choice([1, 1, 1, 8])


def finish(programs):
    """Returns the status of each program. The last line of one that fails names the reason."""
    statuses = []
    for program in programs:
        _, errors = program.communicate(timeout=DEADLINE)
        statuses.append(program.returncode)
        assert program.returncode in (0, 1, -signal.SIGKILL), errors
        if program.returncode == 1:
            assert errors.decode().splitlines()[-1].startswith("bloomline: ")
    return statuses


WAYS = ["undisturbed", "killed", "cut", "doubled", "doubled and killed", "doubled and cut"]


@pytest.mark.parametrize("seed", FEW_SEEDS)
def test_loads_lose_no_line(plain, proxy, tmp_path, seed):
    random = Random(seed)
    path, items = tmp_path / "lines", lines(0, 30_000)
    path.write_bytes(text_of(items))
    words = ["load", "--error", RATE, "--capacity", 50_000, "--block", 500, KEY, path]
    for number in range(10 * EVENTS):
        way = random.choice(WAYS) if number < EVENTS else "undisturbed"
        programs = [start(proxy, *words) for _ in range(1 + ("doubled" in way))]
        if way not in ("undisturbed", "doubled"):
            reached = random.randrange(path.stat().st_size)
            wait_for(lambda: offset_of(plain, path) >= reached, programs)  # noqa: B023
            programs[0].kill() if "killed" in way else proxy.drop()
        statuses = finish(programs)
        acknowledged = path.read_bytes()[: offset_of(plain, path)].split()
        assert found(plain, acknowledged) == len(acknowledged)
        if 0 in statuses:
            assert found(plain, items) == len(items), way
            if number >= EVENTS:
                return
            plain.delete(KEY, positions_key(KEY))
    pytest.fail("the load did not end")


@pytest.fixture
def two(plain):
    """Two filters of two chunks each, and their items."""
    sets = {"a": lines(0, 2000), "b": lines(2000, 4000)}
    for name, items in sets.items():
        plain.execute_command("BF.RESERVE", name, RATE, 3_200_000)
        plain.execute_command("BF.BULKADD", name, "LINES", text_of(items))
    return sets


@pytest.mark.parametrize("seed", FEW_SEEDS)
def test_exports_are_whole_or_none(plain, proxy, two, tmp_path, seed):
    random = Random(seed)
    file = tmp_path / "file"
    for number in range(EVENTS):
        way = random.choice(WAYS) if number else "undisturbed"
        file.unlink(missing_ok=True)
        proxy.cut(b"SCANDUMP", some_cuts(random) if "cut" in way else 0)
        programs = [start(proxy, "export", "a", file) for _ in range(1 + ("doubled" in way))]
        if "killed" in way:
            wait_for(lambda: list(tmp_path.glob("*.partial")), programs)
            programs[0].kill()
        statuses = finish(programs)
        proxy.cut(b"", 0)
        for left in tmp_path.glob("*.partial"):
            left.unlink()
        assert file.exists() or 0 not in statuses
        if file.exists():
            copying.import_(plain, argparse.Namespace(key="copy", file=str(file), replace=True))
            assert found(plain, two["a"], "copy") == len(two["a"]), way


@pytest.mark.parametrize("seed", FEW_SEEDS)
def test_imports_are_whole_or_none(plain, proxy, two, tmp_path, seed):
    random = Random(seed)
    for name in two:
        copying.export(plain, argparse.Namespace(key=name, file=str(tmp_path / name)))
    for number in range(EVENTS):
        way = random.choice(WAYS) if number else "undisturbed"
        names = ["a", "b"] if "doubled" in way else [random.choice("ab")]
        options = random.choice([[], ["--replace"]])
        text = random.choice([b"LOADCHUNK", b"SCANDUMP", b"RENAME"])
        proxy.cut(text, some_cuts(random) if "cut" in way else 0)
        programs = [start(proxy, "import", *options, KEY, tmp_path / name) for name in names]
        if "killed" in way:
            wait_for(lambda: plain.keys("*loading*"), programs)
            programs[0].kill()
        statuses = finish(programs)
        proxy.cut(b"", 0)
        counts = {name: found(plain, items) for name, items in two.items()}
        whole = [name for name, items in two.items() if counts[name] == len(items)]
        assert len(whole) == plain.exists(KEY) and sum(counts.values()) in (0, 2000), way
        assert whole or 0 not in statuses
        for name, status in zip(names, statuses):
            assert status != 0 or options or whole == [name], way
        # What a kill leaves behind expires.
        for key in plain.keys("*loading*"):
            assert plain.pttl(key) > 0
            plain.delete(key)
        plain.delete(KEY)


def cut_while(threads, proxy, plain, random, cuts=10 * EVENTS):
    """Cuts the connections of threads at random times. Returns how often."""
    for thread in threads:
        thread.start()
    done = 0
    while any(thread.is_alive() for thread in threads) and done < cuts:
        for _ in range(random.randrange(300)):
            plain.ping()
        proxy.drop()
        done += 1
    for thread in threads:
        thread.join(DEADLINE)
        assert not thread.is_alive()
    return done


@pytest.mark.parametrize("shards", [None, 8], ids=["filter", "shards"])
@pytest.mark.parametrize("seed", FEW_SEEDS)
def test_acknowledged_items_are_there(plain, proxy, seed, shards):
    random = Random(seed)
    parameters = Create(200_000, RATE)
    acknowledged, failed = [], []

    def filter_of(client):
        if shards is None:
            return Filter(client, KEY, parameters)
        return ShardedFilter(client, KEY, shards, parameters)

    def add(items, options):
        lost = (OSError, *library_errors())
        with redis.Redis.from_url(proxy.url, **options, **PATIENT) as client:
            seen = filter_of(client)
            while items:
                try:
                    count = len(seen.add_many(iter(items)))
                except BulkError as error:
                    assert isinstance(error.__cause__, lost), error
                    count = error.processed
                acknowledged.extend(items[:count])
                items = items[count:]
                with contextlib.suppress(*lost):
                    for item in items[:10]:
                        seen.add(item)
                        acknowledged.append(item)

    def run(*words):
        try:
            add(*words)
        except BaseException as error:
            failed.append(error)

    parts = [lines(first, first + 40_000) for first in range(0, 160_000, 40_000)]
    options = [{}, {"retry": None}] * 2
    threads = [threading.Thread(target=run, args=words) for words in zip(parts, options)]
    cut_while(threads, proxy, plain, random)
    assert not failed
    assert set(acknowledged) == {item for part in parts for item in part}
    assert filter_of(plain).contains_many(acknowledged).ones == len(acknowledged)


@pytest.mark.parametrize("seed", SEEDS)
def test_additions_to_a_replaced_filter_end_with_an_error(plain, seed):
    random = Random(seed)
    items, at = lines(0, 150_000), random.randrange(150_000)
    seen = random.choice([Filter, partial(ShardedFilter, shards=8)])(
        plain, KEY, create=Create(200_000, RATE)
    )
    seen.create()
    if isinstance(seen, ShardedFilter):
        create(plain, "other")
        name, key = random.choice([*LOSSES]), random.choice(seen.keys)
        happen = partial(LOSSES[name], plain, key)
    else:
        plain.copy(KEY, "backup")
        name = random.choice([*REPLACEMENTS])
        happen = partial(REPLACEMENTS[name], plain)

    def given():
        yield from items[:at]
        happen()
        yield from items[at:]

    with contextlib.suppress(BulkError):
        seen.add_many(given())
        assert seen.contains_many(items).ones == len(items), name


@pytest.mark.parametrize("seed", FEW_SEEDS)
def test_every_page_is_fetched_by_one_crawler(plain, proxy, seed):
    random = Random(seed)
    pages = requests(0, 400)
    fetched, failed = [], []
    settings = Settings({"REDIS_URL": proxy.url, "BLOOMFILTER_ERRORRATE": RATE})

    def begin():
        """A crawl. It fails at its start without its server, and is started again."""
        closing = Closing()
        crawler = SimpleNamespace(
            settings=settings,
            stats=closing,
            engine=closing,
            request_fingerprinter=RequestFingerprinter(),
            spider=SimpleNamespace(name="pages"),
        )
        while True:
            with contextlib.suppress(OSError, *library_errors()):
                return DupeFilter.from_crawler(crawler), closing

    def crawl(order):
        dupefilter, closing = begin()
        for page in order:
            # What is new is fetched, or is in the queue of the next crawl.
            if not dupefilter.request_seen(page):
                fetched.append(page.url)
            if closing.reasons:
                dupefilter.close("closed")
                dupefilter, closing = begin()
        dupefilter.close("finished")

    def run(order):
        try:
            crawl(order)
        except BaseException as error:
            failed.append(error)

    orders = [random.sample(pages, len(pages)) for _ in range(3)]
    threads = [threading.Thread(target=run, args=(order,)) for order in orders]
    cuts = cut_while(threads, proxy, plain, random)
    assert not failed
    times = Counter(fetched)
    assert set(times) == {page.url for page in pages}
    # Each cut loses at most one call of each crawler, whose page may be fetched twice.
    assert sum(times.values()) - len(pages) <= cuts * len(threads)
