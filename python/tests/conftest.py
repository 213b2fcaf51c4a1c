"""Clients of both libraries and both protocols, on an empty server."""

import importlib
import os
from pathlib import Path

import pytest
import redis

import bloomline

ROOT = Path(__file__).resolve().parents[2]
SERVERS = Path(os.environ.get("BLOOMLINE_SERVERS", ROOT / ".servers"))
# An installed wheel has its own module.
if not Path(bloomline.__file__).with_name("bloomline.so").exists():
    os.environ.setdefault("BLOOMLINE_SO", str(ROOT / "bloomline.so"))
# The newest Redis, unless another server is named.
os.environ.setdefault("BLOOMLINE_SERVER", str(SERVERS / "redis-8.2" / "server"))

LIBRARIES = {"redis": "Redis", "valkey": "Valkey"}


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
    """A client of redis-py with its defaults, on an empty server."""
    with redis.Redis.from_url(bloomline_server.url) as client:
        client.flushall()
        yield client


@pytest.fixture
def client(bloomline_server, library, protocol):
    with client_class(library).from_url(bloomline_server.url, protocol=protocol) as client:
        client.flushall()
        yield client
