"""The parameters of new filters."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from .packing import Word, whole

#: Of a new Bloom filter, unless another one is given.
ERROR_RATE = 0.001


@dataclass(frozen=True)
class Create:
    """Parameters with which a missing Bloom filter is created. A filter that exists keeps its own.

    Attributes:
        capacity: the number of items of the first layer, 1 to 2^40; with a window that of the
            distinct items inside it. The filter grows beyond that unless `expansion` is 0.
        error_rate: the highest fraction of absent items that are found, above 0 and below 1.
        expansion: each further layer is this many times as large; 0: full filters refuse items.
        window: seconds for which items are found after their last addition.
        last: items are found until `capacity` further ones were added.
        generations: 2 to 64 older generations of a windowed filter.
        refresh: if false, `window` counts from the first addition.
        ttl: the time to live of the key that is created, in seconds.
        layout: `BLOOMLINE`, `REDISBLOOM` or `VALKEY-BLOOM`.
        seed: 0 to 2^64 - 1; equal seeds allow filters to be merged.

    RedisBloom and valkey-bloom have `capacity`, `error_rate` and `expansion` only. Any other
    parameter is an error there, also where the server would ignore it.
    """

    capacity: int
    error_rate: float = ERROR_RATE
    expansion: int | None = None
    window: int | None = None
    last: bool = False
    generations: int | None = None
    refresh: bool = True
    ttl: int | None = None
    layout: str | None = None
    seed: int | None = None

    def __post_init__(self) -> None:
        _make_plain(self)

    def reserve(self, key: str) -> tuple[Word, ...]:
        """Returns the command that creates the filter, and is refused if there is one."""
        return ("BF.RESERVE", key, self.error_rate, self.capacity, *self._options())

    def insert(self, key: str, items: Iterable[Word]) -> tuple[Word, ...]:
        """Returns the command that adds items, and creates the filter first if it is missing."""
        size = named(CAPACITY=self.capacity, ERROR=self.error_rate)
        return ("BF.INSERT", key, *size, *self._options(), b"ITEMS", *items)

    def kept(self) -> int | str | None:
        """Returns for how long items are kept, as the field `window` of BF.STATS has it."""
        if self.window is not None:
            return self.window
        if self.last:
            return "LAST"
        return None if self.generations is None else "MANUAL"

    def own_options(self) -> list[Word]:
        """Returns the options that Bloomline alone has."""
        words: list[Word] = []
        if self.last:
            words.append(b"LAST")
        if not self.refresh:
            words.append(b"NOREFRESH")
        return words + named(
            WINDOW=self.window,
            GENERATIONS=self.generations,
            TTL=self.ttl,
            LAYOUT=self.layout,
            SEED=self.seed,
        )

    def _options(self) -> list[Word]:
        words: list[Word] = []
        if self.expansion == 0:
            words.append(b"NONSCALING")
        elif self.expansion is not None:
            words += [b"EXPANSION", self.expansion]
        return words + self.own_options()


@dataclass(frozen=True)
class CreateCuckoo:
    """Parameters with which a missing cuckoo filter is created.

    Attributes:
        capacity: the number of items of the first table, 4 to 2^30.
        error_rate: the highest fraction of absent items that are found, 5e-7 or above; the
            server's default without.
        expansion: 0: the filter does not grow.
        ttl: the time to live of the key that is created, in seconds.
        layout: `BLOOMLINE` or `REDISBLOOM`, which has no `error_rate` and no `seed`.
        seed: 0 to 2^64 - 1.

    RedisBloom has `capacity` and `expansion` only. Any other parameter is an error there.
    """

    capacity: int
    error_rate: float | None = None
    expansion: int | None = None
    ttl: int | None = None
    layout: str | None = None
    seed: int | None = None

    def __post_init__(self) -> None:
        _make_plain(self)

    def reserve(self, key: str) -> tuple[Word, ...]:
        """Returns the command that creates the filter, and is refused if there is one."""
        expansion = named(EXPANSION=self.expansion)
        return ("CF.RESERVE", key, self.capacity, *expansion, *self.own_options())

    def own_options(self) -> list[Word]:
        """Returns the options that Bloomline alone has."""
        return named(
            ERROR=self.error_rate,
            TTL=self.ttl,
            LAYOUT=self.layout,
            SEED=self.seed,
        )


_WHOLE = ("capacity", "expansion", "window", "generations", "ttl", "seed")


def _make_plain(create: Create | CreateCuckoo) -> None:
    """Makes numbers of other types, such as those of numpy, plain ones, as clients take them.

    Raises:
        ValueError: a parameter that must be a whole number is none.
    """
    given = {name: value for name, value in vars(create).items() if value is not None}
    plain: dict[str, Any] = {name: whole(name, given[name]) for name in _WHOLE if name in given}
    if "error_rate" in given:
        plain["error_rate"] = float(given["error_rate"])
    for name, value in plain.items():
        object.__setattr__(create, name, value)


def named(**options: Word | None) -> list[Word]:
    """Returns the names and values of the options that are given.

    They are bytes: the encoding of a client, in which it sends text, is that of its keys.
    """
    given = ((name, value) for name, value in options.items() if value is not None)
    words = (word for option in given for word in option)
    return [word.encode() if isinstance(word, str) else word for word in words]


def text_of(words: list[Word]) -> str:
    """Returns options as they are shown in a message."""
    return " ".join(each.decode() if isinstance(each, bytes) else str(each) for each in words)


def window_text(kept: int | str | None) -> str:
    """Returns the value of `Create.kept` as it is shown in a message."""
    return "no window" if kept is None else f"WINDOW {kept}"
