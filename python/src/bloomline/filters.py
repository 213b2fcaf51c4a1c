"""Filters for clients that wait for replies."""

from __future__ import annotations

from typing import Any, TypeVar

from .answers import Answers
from .creation import Create, CreateCuckoo
from .drivers import check_client, run
from .packing import Item, Items
from .programs import BF_ADD, BF_EXISTS, CF_ADD, CF_DELETE, CF_EXISTS, Program, Programs, word_of

T = TypeVar("T")


class _Filter:
    def __init__(self, client: Any, key: str, create: Create | CreateCuckoo | None = None) -> None:
        check_client(client, type(self), is_async=False)
        self.client = client
        self.key = key
        self._programs = Programs(key, create)

    def _run(self, program: Program[T]) -> T:
        return run(self.client, program)

    def create(self) -> bool:
        """Creates the filter. Returns whether there was none. Raises without parameters."""
        return self._run(self._programs.create())


class Filter(_Filter):
    """A Bloom filter of a server or a cluster.

    ```python
    seen = Filter(redis.Redis(), "seen", Create(capacity=1_000_000))
    new = seen.add_many(urls).select(urls)
    ```

    `client` is one of redis-py or valkey-py. A missing filter is created with `create` by every
    call that adds, or without it with the server's defaults. A server with RedisBloom or
    valkey-bloom gets calls of a thousand items each, about a tenth as fast; a parameter that it
    does not have is a `BloomlineError`.

    Errors of the client library pass through, but those of `*_many` are the cause of a
    `BulkError`. If the client repeats a call because the connection was lost, the items of that
    call are answered as known.
    """

    def __init__(self, client: Any, key: str, create: Create | None = None) -> None:
        super().__init__(client, key, create)

    def add(self, item: Item) -> bool:
        """Adds an item. Returns whether it was new: of several clients one gets `True`."""
        return self._run(self._programs.one(BF_ADD, item))

    def contains(self, item: Item) -> bool:
        """Whether the item may have been added; false if the key is missing."""
        return self._run(self._programs.one(BF_EXISTS, item))

    def add_many(self, items: Items) -> Answers:
        """Adds any number of items, in order. An answer is true if the item was new.

        Takes any iterable of text or bytes, an array of numpy, `Fixed` or `Lines`. It keeps
        about 4 MiB of items in memory, and one bit per item for the answer. A call has 16,384
        items or 1 MiB of them, and four calls are one round trip.

        Raises:
            BulkError: an item was refused, or a call failed.
            TypeError: an item is neither text nor bytes.

        An error of the iterable, and a TypeError, pass through: items before may have been added.
        """
        return self._run(self._programs.many(BF_ADD, items))

    def contains_many(self, items: Items) -> Answers:
        """Tests any number of items. Takes and raises what `add_many` does."""
        return self._run(self._programs.many(BF_EXISTS, items))

    def info(self) -> dict[str, Any]:
        """The reply of BF.INFO: names and values."""
        return self._run(self._programs.fields("BF.INFO"))

    def stats(self) -> dict[str, Any]:
        """The reply of BF.STATS, which Bloomline alone has: names and values."""
        return self._run(self._programs.fields("BF.STATS"))

    def card(self) -> int:
        """The number of items that were new: the reply of BF.CARD, 0 if the key is missing."""
        return self._run(self._programs.number("BF.CARD"))

    def compact(self) -> int:
        """Gives back memory that the items do not need. Returns the bytes that were freed.

        Call it when a load is over: further items add a layer. It blocks the server for one pass.
        A windowed filter is refused.
        """
        return self._run(self._programs.number("BF.COMPACT"))

    def merge(self, *keys: str) -> None:
        """Adds the items of other filters, which were created with the same parameters and seed.

        Raises the error of the server, and changes nothing, if the filters differ or have a window,
        or the result would exceed the error rate: each needs the capacity of the whole.
        """
        self._run(self._programs.status("BF.MERGE", *keys))

    def __contains__(self, item: Item) -> bool:
        return self.contains(item)


class CuckooFilter(_Filter):
    """A cuckoo filter, from which items can be deleted. See `Filter` for what they share."""

    def __init__(self, client: Any, key: str, create: CreateCuckoo | None = None) -> None:
        super().__init__(client, key, create)

    def add(self, item: Item) -> bool:
        """Adds an item, also if it is there: then it must be deleted as often."""
        return self._run(self._programs.one(CF_ADD, item))

    def contains(self, item: Item) -> bool:
        """Whether the item may have been added; false if the key is missing."""
        return self._run(self._programs.one(CF_EXISTS, item))

    def delete(self, item: Item) -> bool:
        """Deletes one copy of an item. Returns whether there was one.

        Delete only what was added: another item may have the same fingerprint.
        """
        return self._run(self._programs.one(CF_DELETE, item))

    def add_many(self, items: Items) -> Answers:
        """Adds items as `Filter.add_many` does. An answer is true if the item was added."""
        return self._run(self._programs.many(CF_ADD, items))

    def contains_many(self, items: Items) -> Answers:
        """Tests any number of items."""
        return self._run(self._programs.many(CF_EXISTS, items))

    def delete_many(self, items: Items) -> Answers:
        """Deletes a copy of each item. An answer is true if there was one."""
        return self._run(self._programs.many(CF_DELETE, items))

    def count(self, item: Item) -> int:
        """How many copies of the item may be in the filter."""
        return self._run(self._programs.number("CF.COUNT", word_of(item)))

    def info(self) -> dict[str, Any]:
        """The reply of CF.INFO: names and values."""
        return self._run(self._programs.fields("CF.INFO"))

    def __contains__(self, item: Item) -> bool:
        return self.contains(item)
