"""What a new user does after the installation; it needs no package of tests."""

import asyncio
import tempfile
from pathlib import Path

import redis
import valkey.asyncio

import bloomline
from bloomline.module import LocalServer

assert "site-packages" in bloomline.__file__, bloomline.__file__
ITEMS = [f"item:{number}" for number in range(10_000)]


async def use(url):
    async with valkey.asyncio.Valkey.from_url(url) as client:
        seen = bloomline.AsyncFilter(client, "seen")
        assert (await seen.contains_many(ITEMS)).ones == len(ITEMS)


with tempfile.TemporaryDirectory() as folder, LocalServer(Path(folder)) as server:
    with redis.Redis.from_url(server.url) as client:
        seen = bloomline.Filter(client, "seen", bloomline.Create(capacity=10_000, error_rate=1e-9))
        assert seen.add_many(ITEMS).select(ITEMS) == ITEMS
    asyncio.run(use(server.url))
