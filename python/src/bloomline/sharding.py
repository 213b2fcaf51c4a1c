"""One logical filter in many keys, which are spread over the slots of a cluster.

A key is on one node, so a filter that is too large for a node is split: an item belongs to the
shard `crc32(item) mod shards`. It is tested in its own shard only, so the false-positive rate of
the whole is the mean of those of the shards, and no sum.

The keys contain the number of shards: `seen:16:{2977}`. So programs that open a filter with another
number share no key with it. The first shards of all numbers are in one slot, where one EXISTS finds
out whether the filter has another number.
"""

from __future__ import annotations

import math
import zlib
from collections import defaultdict
from dataclasses import replace
from itertools import islice
from operator import itemgetter
from typing import Any

from .aio import AsyncFilter
from .answers import Answers, Builder, of_booleans
from .creation import Create
from .drivers import SLOTS, slot_of
from .errors import BloomlineError
from .filters import Filter
from .packing import Item, Items, Word, batches, pack
from .programs import Call, Program, Programs, Verb, ended, gather, word_of
from .replies import is_missing, is_unknown, is_wrong_type

_MOST_SHARDS = SLOTS // 4

# The tag of the first shard. Its slot, 3, is in the first range of any number of shards.
_FIRST_TAG = 2977

# Six standard deviations: in practice no shard has more items beyond the mean.
_DEVIATIONS = 6

# Replies of PTTL: milliseconds before a key expires, and that of a missing key.
_EXPIRING = range(1000)
_GONE = -2

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
    number whose slot is there, but for the first shard, whose tag is the same for any number of
    shards. So nodes with equal numbers of slots have equal numbers of shards.

    Raises:
        ValueError: `shards` is not in 1..=4096, or the key has an opening brace, which would begin
            the tag of all shards.
    """
    if "{" in key:
        raise ValueError(f"each shard has another tag, so the key {key} must have no brace")
    if not 1 <= shards <= _MOST_SHARDS:
        raise ValueError(f"the number of shards must be 1 to {_MOST_SHARDS}, not {shards}")
    tags = {0: _FIRST_TAG}
    tag = 0
    while len(tags) < shards:
        tags.setdefault(slot_of(str(tag)) * shards // SLOTS, tag)
        tag += 1
    return [_shard_key(key, shards, tags[shard]) for shard in range(shards)]


def _shard_key(key: str, shards: int, tag: int) -> str:
    return f"{key}:{shards}:{{{tag}}}"


class ShardedPrograms(Programs):
    """The programs of a filter in shards: those of the shards, run in step.

    All shards are created before the first item is added. So a shard that is missing beside others
    with items is lost, and so are its items, which would be answered as absent.
    """

    def __init__(self, key: str, shards: int, create: Create | None) -> None:
        """`create.capacity` is that of all shards together."""
        super().__init__(key, create)
        if create is not None:
            mean = create.capacity / shards
            create = replace(create, capacity=math.ceil(mean + _DEVIATIONS * math.sqrt(mean)))
        self._keys = shard_keys(key, shards)
        # The programs that create shards, and those that use them.
        self.shards = [Programs(each, create) for each in self._keys]
        self._users = [Programs(each, None) for each in self._keys]
        # What has the seeds of the shards, once all of them were seen.
        self._seeds: list[Any] | None = None
        self._may_add = False
        # Whether the server has BF.STATS. The first call shows it.
        self._has_stats = True

    def shard_of(self, item: Item) -> int:
        """Returns the number of the shard of an item."""
        data = item.encode() if isinstance(item, str) else item
        return zlib.crc32(data) % len(self.shards)

    def create(self) -> Program[bool]:
        """Creates the shards that are missing. Returns whether one was.

        Raises:
            BloomlineError: a shard is missing, and others have items; or the filter has another
                number of shards.
        """
        if self.make is None:
            raise ValueError("the filter has no parameters: give a Create")
        self._forget()
        return (yield from self._open(adds=True))

    def one(self, verb: Verb, item: Item) -> Program[bool]:
        """One call to the shard of the item, which never creates the shard."""
        word = word_of(item)
        number = self.shard_of(word)
        key = self._keys[number]
        call: Call = (verb.single, key, word)
        if verb.adds:
            call = ("BF.INSERT", key, b"NOCREATE", b"ITEMS", word)
        while True:
            if self._seeds is None or (verb.adds and not self._may_add):
                yield from self._open(adds=verb.adds)
            reply, seed = yield [call, self._seed_call(number)]
            if isinstance(reply, list):
                (reply,) = reply
            if not self._is_same(number, self._seed_in(number, seed)):
                yield from self._refuse_or_forget([number])
                if isinstance(reply, Exception) and is_missing(reply):
                    continue
            if isinstance(reply, Exception):
                raise reply
            return bool(reply)

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
                    rows[self.shard_of(word)].append(at)
            programs = []
            for number, row in rows.items():
                batch = pack([word for at in row if (word := words[at]) is not None])
                programs.append(self._users[number].send(verb, [batch]))
            try:
                yield from self._open(adds=verb.adds)
                if verb.adds:
                    # A packed call creates a shard that is missing.
                    yield from self._refuse_or_forget(list(rows))
                    yield from self._open(adds=True)
                replies = yield from gather(programs)
            except Exception as error:
                raise ended(self.key, builder, 0, error) from error
            errors = [(self._keys[number], reply.error) for number, (reply,) in zip(rows, replies)]
            key, failed = next(filter(itemgetter(1), errors), (self.key, None))
            ahead = 0
            for row, (reply,) in zip(rows.values(), replies):
                ahead += reply.ahead
                for at, answer in zip(row, reply.answers):
                    answers[at] = answer
            try:
                if failed is None:
                    yield from self._refuse_or_forget(list(rows), is_strict=verb.adds)
            except Exception as error:
                raise ended(self.key, builder, sum(map(bool, answers)), error) from error
            # Items behind the first one without an answer may have been added too.
            end = answers.index(None) if None in answers else len(answers)
            builder.append(of_booleans(answers[:end]))
            if failed is not None:
                ahead += sum(map(bool, answers[end:]))
                raise ended(key, builder, ahead, failed) from failed
        return builder.build()

    def fields(self, command: str) -> Program[dict[str, Any]]:
        """The fields of all shards: sums of numbers, the mean false-positive rate, and values that
        are equal in all shards; of others a list of those of the shards.

        Raises:
            BloomlineError: a shard is lost.
            ResponseError: there are no shards.
        """
        yield from self._see_all()
        found = yield from gather([each.fields(command) for each in self.shards])
        return {name: _joined(name, [each[name] for each in found]) for name in found[0]}

    def status(self, command: str, *words: Word) -> Program[None]:
        """Refused: a shard cannot be merged with whole filters."""
        raise TypeError(f"{command} is a call for single filters, and not for shards")

    def numbers(self, command: str) -> Program[list[int]]:
        """A number of each shard.

        Raises:
            BloomlineError: a shard is lost.
            ResponseError: there are no shards, and the command needs one.
        """
        yield from self._see_all()
        return (yield from self._numbers(command))

    def _numbers(self, command: str) -> Program[list[int]]:
        return (yield from gather([each.number(command) for each in self._users]))

    def number(self, command: str, *_: object) -> Program[int]:
        """The sum of a number of each shard."""
        return sum((yield from self.numbers(command)))

    def _see_all(self) -> Program[None]:
        """Raises a BloomlineError if a shard is lost."""
        yield from self._open(adds=False)
        yield from self._refuse_or_forget(list(range(len(self.shards))))

    def _open(self, *, adds: bool) -> Program[bool]:
        """Sees all shards once, and creates those that are missing for calls that add.

        Returns whether one was missing.

        Raises:
            BloomlineError: a shard is missing, and others have items; the filter has another number
                of shards; or there are no shards to add to, and no parameters.
        """
        if self._seeds is not None and (self._may_add or not adds):
            return False
        every = list(range(len(self.shards)))
        yield from self._refuse_or_forget(every)
        seeds = yield from self._read_seeds(every)
        while None in seeds and any((yield from self._numbers("BF.CARD"))):
            # Another program may have created the last ones, and added items, meanwhile.
            seeds = yield from self._read_seeds(every)
            left = [at for at, seed in zip(every, seeds) if seed is not None]
            if None in seeds and not (yield from self._are_expiring(left)):
                raise self._lost(seeds.index(None))
        is_new = None in seeds
        if is_new:
            yield from self._refuse_other_number()
        if adds and self.make is not None:
            if is_new:
                yield from self._create_missing()
            else:
                yield from gather([each.check() for each in self.shards])
            seeds = yield from self._read_seeds(every)
        if None in seeds:
            if not adds:
                return False
            if self.make is not None:
                raise self._lost(seeds.index(None))
            raise BloomlineError(f"{self.key} has no shards: give a Create, which creates them")
        self._seeds = seeds
        self._may_add = adds
        return is_new

    def _create_missing(self) -> Program[None]:
        """Creates the shards that are missing.

        The first one is created before the others, and other numbers are looked for once more. So
        of programs that create different numbers at the same time at most one goes on.
        """
        is_first = yield from self.shards[0].create()
        try:
            yield from self._refuse_other_number()
        except BloomlineError:
            # Otherwise the other number would be refused too. Another program with this number may
            # have gone on since; if it creates the other shards later, it notices that this one is
            # lost.
            if is_first and not (yield from self._is_in_use()):
                yield [("DEL", self._keys[0])]
            raise
        yield from gather([each.create() for each in self.shards[1:]])

    def _is_in_use(self) -> Program[bool]:
        """Whether a program has created the shards after the first one, or has added items."""
        # One batch: what happens after it is not seen.
        calls: list[Call] = [("EXISTS", key) for key in self._keys[1:]]
        replies = yield [*calls, ("BF.CARD", self._keys[0])]
        for reply in replies:
            if isinstance(reply, Exception):
                raise reply
        return any(replies)

    def _refuse_other_number(self) -> Program[None]:
        """Raises a BloomlineError if the filter has another number of shards.

        One call tests all numbers. If there is one, it is found by bisection.
        """
        own = len(self.shards)
        numbers = [each for each in range(1, _MOST_SHARDS + 1) if each != own]
        while (yield from self._has_number(numbers)):
            if len(numbers) == 1:
                raise BloomlineError(
                    f"{self.key} was created with {numbers[0]} shards, and is opened with {own}: "
                    f"give {numbers[0]}, or another key. To begin anew, delete all keys "
                    f"{self.key}:{numbers[0]}:*"
                )
            half = numbers[: len(numbers) // 2]
            is_lower = yield from self._has_number(half)
            numbers = half if is_lower else numbers[len(half) :]

    def _has_number(self, numbers: list[int]) -> Program[bool]:
        """Whether a filter with one of these numbers of shards has its first shard."""
        (reply,) = yield [("EXISTS", *(_shard_key(self.key, n, _FIRST_TAG) for n in numbers))]
        if isinstance(reply, Exception):
            raise reply
        return bool(reply)

    def _forget(self) -> None:
        self._seeds = None
        self._may_add = False
        self.shards = [Programs(each.key, each.make) for each in self.shards]

    def _refuse_or_forget(self, numbers: list[int], *, is_strict: bool = False) -> Program[None]:
        """Compares shards with those that were seen.

        If none is left, for example because their time to live is over, the filter begins anew.

        Raises:
            BloomlineError: a shard is missing or another one; with `is_strict` even if all are; or
                the filter has another number of shards now.
        """
        if self._seeds is None:
            return
        seeds = yield from self._read_seeds(numbers)
        changed = [at for at, seed in zip(numbers, seeds) if not self._is_same(at, seed)]
        if not changed:
            return
        every = list(range(len(self.shards)))
        while not is_strict:
            seeds = yield from self._read_seeds(every)
            left = [at for at, seed in zip(every, seeds) if self._is_same(at, seed)]
            if not left:
                self._forget()
                yield from self._refuse_other_number()
                return
            is_strict = not (yield from self._are_expiring(left))
        raise self._lost(changed[0])

    def _are_expiring(self, numbers: list[int]) -> Program[bool]:
        """Whether shards expire within a second: after others, as they were created."""
        replies = yield [("PTTL", self._keys[number]) for number in numbers]
        return all(reply == _GONE or reply in _EXPIRING for reply in replies)

    def _is_same(self, number: int, seed: Any) -> bool:
        # Another thread may forget them.
        seeds = self._seeds
        return seed == seeds[number] if seeds is not None else seed is not None

    def _lost(self, number: int) -> BloomlineError:
        return BloomlineError(
            f"the shard {self._keys[number]} was deleted, has expired, or was created again, and "
            "the others were not: its items are lost. Restore it from a backup, or delete all "
            "shards to begin anew"
        )

    def _seed_call(self, number: int) -> Call:
        key = self._keys[number]
        return ("BF.STATS", key, b"seed") if self._has_stats else ("BF.INFO", key)

    def _read_seeds(self, numbers: list[int]) -> Program[list[Any]]:
        """What has the seeds of shards: None of one that is missing."""
        replies = yield [self._seed_call(number) for number in numbers]
        if any(map(is_unknown, replies)):
            self._has_stats = False
            replies = yield [self._seed_call(number) for number in numbers]
        return [self._seed_in(number, reply) for number, reply in zip(numbers, replies)]

    def _seed_in(self, number: int, reply: Any) -> Any:
        if isinstance(reply, Exception):
            if is_wrong_type(reply):
                raise BloomlineError(
                    f"{self._keys[number]}, a shard, holds a value of another type (WRONGTYPE): "
                    "delete it, or use another key"
                ) from reply
            if not is_missing(reply):
                raise reply
            return None
        # The whole reply of BF.STATS, since this is part of each call.
        return reply if self._has_stats else b""


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

    Calls that add create all shards, if there are none and `create` is given. A `BloomlineError`,
    which is the cause of the `BulkError` of `*_many`, is raised if

    * the filter was created with another number of shards: by the first call;
    * a shard was deleted or replaced while others remain: by the first call, and by each call that
      needs this shard.
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
