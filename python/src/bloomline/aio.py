"""Filters for asyncio: the methods of `filters`, to be awaited. See there for what they do."""

from __future__ import annotations

from typing import Any, TypeVar

from .answers import Answers
from .creation import Create, CreateCuckoo
from .drivers import check_client, run_async
from .packing import Item, Items
from .programs import BF_ADD, BF_EXISTS, CF_ADD, CF_DELETE, CF_EXISTS, Program, Programs, word_of

T = TypeVar("T")


class _Filter:
    def __init__(self, client: Any, key: str, create: Create | CreateCuckoo | None = None) -> None:
        check_client(client, type(self), is_async=True)
        self.client = client
        self.key = key
        self._programs = Programs(key, create)

    async def _run(self, program: Program[T]) -> T:
        return await run_async(self.client, program)

    async def create(self) -> bool:
        """Creates the filter. Returns whether there was none."""
        return await self._run(self._programs.create())


class AsyncFilter(_Filter):
    """A Bloom filter, as `Filter`, on a client of `redis.asyncio` or `valkey.asyncio`."""

    def __init__(self, client: Any, key: str, create: Create | None = None) -> None:
        super().__init__(client, key, create)

    async def add(self, item: Item) -> bool:
        """Adds an item. Returns whether it was new."""
        return await self._run(self._programs.one(BF_ADD, item))

    async def contains(self, item: Item) -> bool:
        """Whether the item may have been added."""
        return await self._run(self._programs.one(BF_EXISTS, item))

    async def add_many(self, items: Items) -> Answers:
        """Adds any number of items; raises `BulkError` as `Filter.add_many` does."""
        return await self._run(self._programs.many(BF_ADD, items))

    async def contains_many(self, items: Items) -> Answers:
        """Tests any number of items."""
        return await self._run(self._programs.many(BF_EXISTS, items))

    async def info(self) -> dict[str, Any]:
        """The reply of BF.INFO."""
        return await self._run(self._programs.fields("BF.INFO"))

    async def stats(self) -> dict[str, Any]:
        """The reply of BF.STATS."""
        return await self._run(self._programs.fields("BF.STATS"))

    async def card(self) -> int:
        """The number of items that were new; 0 if the key is missing."""
        return await self._run(self._programs.number("BF.CARD"))

    async def compact(self) -> int:
        """Gives back memory that the items do not need; returns the bytes that were freed."""
        return await self._run(self._programs.number("BF.COMPACT"))

    async def merge(self, *keys: str) -> None:
        """Adds the items of other filters, as `Filter.merge`."""
        await self._run(self._programs.status("BF.MERGE", *keys))


class AsyncCuckooFilter(_Filter):
    """A cuckoo filter, as `CuckooFilter`, on a client of asyncio."""

    def __init__(self, client: Any, key: str, create: CreateCuckoo | None = None) -> None:
        super().__init__(client, key, create)

    async def add(self, item: Item) -> bool:
        """Adds an item, also if it is there."""
        return await self._run(self._programs.one(CF_ADD, item))

    async def contains(self, item: Item) -> bool:
        """Whether the item may have been added."""
        return await self._run(self._programs.one(CF_EXISTS, item))

    async def delete(self, item: Item) -> bool:
        """Deletes one copy of an item. Returns whether there was one."""
        return await self._run(self._programs.one(CF_DELETE, item))

    async def add_many(self, items: Items) -> Answers:
        """Adds any number of items."""
        return await self._run(self._programs.many(CF_ADD, items))

    async def contains_many(self, items: Items) -> Answers:
        """Tests any number of items."""
        return await self._run(self._programs.many(CF_EXISTS, items))

    async def delete_many(self, items: Items) -> Answers:
        """Deletes a copy of each item."""
        return await self._run(self._programs.many(CF_DELETE, items))

    async def count(self, item: Item) -> int:
        """How many copies of the item may be in the filter."""
        return await self._run(self._programs.number("CF.COUNT", word_of(item)))

    async def info(self) -> dict[str, Any]:
        """The reply of CF.INFO."""
        return await self._run(self._programs.fields("CF.INFO"))
