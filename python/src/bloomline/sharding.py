"""One logical filter in many keys, which are spread over the slots of a cluster.

A key is on one node, so a filter that is too large for a node is split: an item belongs to the
shard `crc32(item) mod shards`. It is tested in its own shard only, so the false-positive rate of
the whole is the mean of those of the shards, and no sum.
"""

from __future__ import annotations

import math
import zlib
from collections import defaultdict
from dataclasses import replace
from itertools import islice
from typing import Any

from .aio import AsyncFilter
from .answers import Answers, Builder, of_booleans
from .creation import Create
from .drivers import SLOTS, slot_of
from .filters import Filter
from .packing import Item, Items, Word, batches, pack
from .programs import Program, Programs, Verb, ended, gather
from .replies import is_missing

# Six standard deviations: in practice no shard has more items beyond the mean.
_DEVIATIONS = 6

# Fields of BF.INFO and BF.STATS whose values of the shards add up.
_SUMS = {
    "Capacity",
    "Size",
    "Number of filters",
    "Number of items inserted",
    "capacity",
    "size",
    "layers",
    "items",
    "estimate",
}


def how_many_shards(
    capacity: int, error_rate: float, nodes: int = 1, shard_bytes: int = 256 << 20
) -> int:
    """Returns a number of shards for `capacity` items, a power of two.

    A shard has at most about `shard_bytes`, since a node stops while it receives or moves one;
    the size is estimated within 15 % (`bloomline plan` has exact numbers). There are 16 shards or
    more per node, so that slots can be moved in small parts. The number cannot be changed later,
    so give the numbers that you expect in the end.
    """
    bits = capacity * 1.15 * math.log2(1 / error_rate) / math.log(2)
    wanted = max(bits / 8 / shard_bytes, 16 * nodes if nodes > 1 else 1)
    return 1 << math.ceil(math.log2(wanted))


def shard_keys(key: str, shards: int) -> list[str]:
    """Returns the keys of the shards, evenly spread over the slots of a cluster.

    Shard `i` is in the `i`-th of `shards` equal ranges of slots: its tag, in braces, is the first
    number whose slot is there. So nodes with equal numbers of slots have equal numbers of shards.

    Raises:
        ValueError: `shards` is not in 1..=4096, or the key has an opening brace, which would begin
            the tag of all shards.
    """
    if "{" in key:
        raise ValueError(f"each shard has another tag, so the key {key} must have no brace")
    if not 1 <= shards <= SLOTS // 4:
        raise ValueError(f"the number of shards must be 1 to {SLOTS // 4}, not {shards}")
    tags: dict[int, int] = {}
    tag = 0
    while len(tags) < shards:
        tags.setdefault(slot_of(str(tag)) * shards // SLOTS, tag)
        tag += 1
    return [f"{key}:{{{tags[shard]}}}" for shard in range(shards)]


class ShardedPrograms(Programs):
    """The programs of a filter in shards: those of the shards, run in step."""

    def __init__(self, key: str, shards: int, create: Create | None) -> None:
        """`create.capacity` is that of all shards together."""
        super().__init__(key, create)
        if create is not None:
            mean = create.capacity / shards
            create = replace(create, capacity=math.ceil(mean + _DEVIATIONS * math.sqrt(mean)))
        self.shards = [Programs(each, create) for each in shard_keys(key, shards)]

    def shard_of(self, item: Item) -> Programs:
        """Returns the shard of an item."""
        return self.shards[self._number_of(item)]

    def _number_of(self, item: Item) -> int:
        data = item.encode() if isinstance(item, str) else item
        return zlib.crc32(data) % len(self.shards)

    def create(self) -> Program[bool]:
        """Creates the shards that do not exist. Returns whether one was missing."""
        return any((yield from gather([shard.create() for shard in self.shards])))

    def one(self, verb: Verb, item: Item) -> Program[bool]:
        """One call to the shard of the item."""
        return self.shard_of(item).one(verb, item)

    def many(self, verb: Verb, items: Items) -> Program[Answers]:
        """A packed call per shard and window of items; answers are in the order of the items."""
        builder = Builder()
        remaining = batches(items)
        while window := list(islice(remaining, verb.in_flight)):
            words = [item for batch in window for item in batch.items]
            rows: defaultdict[int, list[int]] = defaultdict(list)
            answers: list[bool | None] = [None] * len(words)
            for at, word in enumerate(words):
                if word is None:
                    answers[at] = False
                else:
                    rows[self._number_of(word)].append(at)
            programs = []
            for number, row in rows.items():
                batch = pack([word for at in row if (word := words[at]) is not None])
                programs.append(self.shards[number].send(verb, [batch]))
            try:
                replies = yield from gather(programs)
            except Exception as error:
                raise ended(builder, 0, error) from error
            failed: Exception | None = None
            ahead = 0
            for row, (reply,) in zip(rows.values(), replies):
                failed = failed or reply.error
                ahead += reply.ahead
                for at, answer in zip(row, reply.answers):
                    answers[at] = answer
            # Items behind the first one without an answer may have been added too.
            end = answers.index(None) if None in answers else len(answers)
            builder.append(of_booleans(answers[:end]))
            if failed is not None:
                raise ended(builder, ahead + sum(map(bool, answers[end:])), failed) from failed
        return builder.build()

    def fields(self, command: str) -> Program[dict[str, Any]]:
        """The fields of all shards: sums of numbers, the mean false-positive rate, and values that
        are equal in all shards; of others a list of those of the shards.

        A shard is created by its first item. One that is missing has no fields, and reports no
        absent item as present.

        Raises:
            ResponseError: all shards are missing.
        """
        replies = yield from gather([_unless_missing(each.fields(command)) for each in self.shards])
        found = [reply for reply in replies if not isinstance(reply, Exception)]
        if not found:
            raise replies[0]
        joined = {name: _joined(name, [each[name] for each in found]) for name in found[0]}
        if "fp_rate" in joined:
            joined["fp_rate"] *= len(found) / len(replies)
        return joined

    def status(self, command: str, *words: Word) -> Program[None]:
        """Refused: a shard cannot be merged with whole filters."""
        raise TypeError(f"{command} is a call for single filters, and not for shards")

    def numbers(self, command: str) -> Program[list[int]]:
        """A number of each shard: 0 of one that is missing.

        Raises:
            ResponseError: all shards are missing.
        """
        replies = yield from gather([_unless_missing(each.number(command)) for each in self.shards])
        if all(isinstance(reply, Exception) for reply in replies):
            raise replies[0]
        return [0 if isinstance(reply, Exception) else reply for reply in replies]

    def number(self, command: str, *_: object) -> Program[int]:
        """The sum of a number of each shard."""
        return sum((yield from self.numbers(command)))


def _unless_missing(program: Program[Any]) -> Program[Any]:
    """The result of a program of a shard, or the error if the shard is missing."""
    try:
        return (yield from program)
    except Exception as error:
        if not is_missing(error):
            raise
        return error


def _joined(name: str, values: list[Any]) -> Any:
    if name in _SUMS:
        return sum(values)
    if name == "fp_rate":
        # An absent item belongs to each shard with the same probability.
        return sum(map(float, values)) / len(values)
    return values[0] if all(value == values[0] for value in values) else values


class ShardedFilter(Filter):
    """A Bloom filter in `shards` keys, with the methods of `Filter`.

    `create.capacity` is that of all shards. Each gets its part and six standard deviations more,
    since the number of its items is random. `shards` must be the same in all programs and cannot
    be changed later: see `how_many_shards`. The client is that of a cluster, or of one server.
    """

    def __init__(self, client: Any, key: str, shards: int, create: Create | None = None) -> None:
        super().__init__(client, key, create)
        self._programs: ShardedPrograms = ShardedPrograms(key, shards, create)

    @property
    def keys(self) -> list[str]:
        """The keys of the shards."""
        return [shard.key for shard in self._programs.shards]

    def cards(self) -> list[int]:
        """The number of items of each shard."""
        return self._run(self._programs.numbers("BF.CARD"))


class AsyncShardedFilter(AsyncFilter):
    """As `ShardedFilter`, with the methods of `AsyncFilter`."""

    def __init__(self, client: Any, key: str, shards: int, create: Create | None = None) -> None:
        super().__init__(client, key, create)
        self._programs: ShardedPrograms = ShardedPrograms(key, shards, create)

    @property
    def keys(self) -> list[str]:
        """The keys of the shards."""
        return [shard.key for shard in self._programs.shards]

    async def cards(self) -> list[int]:
        """The number of items of each shard."""
        return await self._run(self._programs.numbers("BF.CARD"))
