"""Clients of both libraries and both protocols, on an empty server."""

import contextlib
import importlib
import os
import sys
import tempfile
import time
from pathlib import Path

import pytest
import redis

import bloomline
from bloomline.module import LocalServer

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests/clients"))
from ports import free_port  # noqa: E402

SERVERS = Path(os.environ.get("BLOOMLINE_SERVERS", ROOT / ".servers"))
# An installed wheel has its own module.
if not Path(bloomline.__file__).with_name("bloomline.so").exists():
    os.environ.setdefault("BLOOMLINE_SO", str(ROOT / "bloomline.so"))
# The newest Redis, unless another server is named.
os.environ.setdefault("BLOOMLINE_SERVER", str(SERVERS / "redis-8.2" / "server"))

LIBRARIES = {"redis": "Redis", "valkey": "Valkey"}
CLUSTERS = {"redis": "RedisCluster", "valkey": "ValkeyCluster"}
# Only a defect reaches it, also on a slow and busy machine. The default of redis-py is 5 seconds.
DEADLINE = 300.0
PATIENT = {"socket_timeout": DEADLINE}


@pytest.fixture(params=LIBRARIES)
def library(request):
    return importlib.import_module(request.param)


def client_class(library):
    return getattr(library, LIBRARIES[library.__name__.split(".")[0]])


@pytest.fixture(params=[2, 3], ids=["resp2", "resp3"])
def protocol(request):
    return request.param


@pytest.fixture
def plain(bloomline_server):
    """A client of redis-py, on an empty server."""
    with redis.Redis.from_url(bloomline_server.url, **PATIENT) as client:
        client.flushall()
        yield client


@pytest.fixture
def client(bloomline_server, library, protocol):
    kind, options = client_class(library), {"protocol": protocol, **PATIENT}
    with kind.from_url(bloomline_server.url, **options) as client:
        client.flushall()
        yield client


@contextlib.contextmanager
def start_node(announced=None):
    """Starts a cluster of one node with all slots. Returns its URL.

    `announced` is called with the node's port, and returns the one that clients are to use.
    """
    port, _, options = node_options()
    if announced is not None:
        port = announced(port)
        options += ["--cluster-announce-ip", "127.0.0.1", "--cluster-announce-port", str(port)]
    folder = tempfile.TemporaryDirectory(prefix="bloomline-")
    with folder as name, LocalServer(Path(name), *options) as server:
        with redis.Redis.from_url(server.url, **PATIENT) as client:
            client.execute_command("CLUSTER", "ADDSLOTSRANGE", 0, 16383)
            wait_for_cluster(client)
        yield f"redis://127.0.0.1:{port}"


@contextlib.contextmanager
def start_two_nodes():
    """Starts a cluster of two nodes, of which the first has the lower slots. Returns their URLs."""
    with contextlib.ExitStack() as stack:
        ports, clients = [], []
        for slots in ((0, 8191), (8192, 16383)):
            port, bus, options = node_options()
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="bloomline-"))
            server = stack.enter_context(LocalServer(Path(folder), *options))
            client = stack.enter_context(redis.Redis.from_url(server.url, **PATIENT))
            client.execute_command("CLUSTER", "ADDSLOTSRANGE", *slots)
            ports.append((port, bus))
            clients.append(client)
        clients[0].execute_command("CLUSTER", "MEET", "127.0.0.1", *ports[1])
        for client in clients:
            wait_for_cluster(client)
        yield [f"redis://127.0.0.1:{port}" for port, _ in ports]


def node_options():
    """Returns free ports for a node and its bus, and its options."""
    port, bus = free_port(), free_port()
    options = ["--cluster-enabled", "yes", "--bind", "127.0.0.1"]
    return port, bus, [*options, "--port", str(port), "--cluster-port", str(bus)]


def wait_for_cluster(client):
    end = time.monotonic() + DEADLINE
    while "cluster_state:ok" not in str(client.execute_command("CLUSTER", "INFO")):
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.fixture
def cluster(node, library, protocol):
    """A client of the fixture `node` of the file, the URL of an empty cluster."""
    kind, options = getattr(library, CLUSTERS[library.__name__]), {"protocol": protocol, **PATIENT}
    client = kind.from_url(node, **options)
    client.flushall()
    yield client
    client.close()
