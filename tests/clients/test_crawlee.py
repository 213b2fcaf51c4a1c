"""crawlee's queue on a server, which leaves out known requests by two Bloom filters."""

import subprocess

import pytest
from conftest import DEADLINE, ROOT, Server, find_servers

PYTHON = ROOT / ".venv-crawlee/bin/python"
PROGRAM = ROOT / "tests/clients/programs/crawlee_crawl.py"
ADDED, HANDLED = (f"request_queues:pages:{kind}_bloom_filter" for kind in ("added", "handled"))

pytestmark = pytest.mark.newest


@pytest.fixture(scope="session")
def json(tmp_path_factory):
    """A stand-in for the JSON module, in whose objects the queue keeps its counts."""
    built = tmp_path_factory.mktemp("json") / "json_stand_in.so"
    source = ROOT / "tests/clients/json_stand_in.c"
    subprocess.run(["cc", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o", built, source], check=True)
    return built


@pytest.fixture
def queue(server, json):
    """A server of the same kind and layout with the JSON commands."""
    queue = Server(server.name, find_servers()[server.name], server.layout, lines=f"loadmodule {json}")
    yield queue
    queue.stop()


def run(server, action, first, last):
    """Runs the program in a new process. Returns the numbers of the pages that it handled."""
    assert PYTHON.is_file(), f"{PYTHON} is missing; run `make test-clients`"
    command = [PYTHON, PROGRAM, server.url, action, str(first), str(last)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=2 * DEADLINE)
    assert done.returncode == 0, done.stderr
    return sorted(map(int, done.stdout.split()))


def test_page_is_handled_once_over_all_runs(queue):
    assert run(queue, "add", 0, 40) == []
    # A crawler that is started later handles what is queued, and what it adds itself.
    assert run(queue, "crawl", 30, 60) == list(range(60))
    assert run(queue, "crawl", 0, 60) == []
    assert run(queue, "crawl", 50, 65) == list(range(60, 65))
    with queue.client(protocol=2) as client:
        assert [client.bf().card(key) for key in (ADDED, HANDLED)] == [65, 65]


def test_queue_makes_these_calls(queue):
    run(queue, "crawl", 0, 20)
    with queue.client(protocol=2) as client:
        stats = client.info("commandstats")
        calls = {name.split("_", 1)[1].lower(): of["calls"] for name, of in stats.items() if "_bf." in name.lower()}
        # Of the calls with many items, BF.MADD is made by a script.
        assert calls == {"bf.reserve": 2, "bf.mexists": 2, "bf.madd": 1, "bf.add": 20}
        for key in (ADDED, HANDLED):
            _, rate, *answers = client.execute_command("BF.STATS", key, "error_rate", "capacity", "expansion")
            assert answers[1::2] == [100_000, 10] and float(rate) == 1e-7
