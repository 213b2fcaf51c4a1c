"""Which filter a key holds, so that nothing long goes on in another one."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

from .errors import BloomlineError
from .packing import Word
from .replies import as_dict, is_missing

# Fields of BF.STATS that a filter keeps for life. The seed is random.
_FIXED = ("seed", "layout", "error_rate", "expansion", "window", "norefresh")
# Fields that change when it grows, is compacted or rotated.
_SHAPE = ("layers", "size", "capacity", "rotations")


@dataclass(frozen=True)
class Identity:
    """A filter at one time.

    Attributes:
        fixed: what it keeps for life.
        shape: its layers and their sizes.
        count: a number that never falls: the items that were new, or with a window the rotations.
    """

    fixed: str
    shape: str
    count: int

    def may_become(self, later: Identity) -> bool:
        """Whether `later` may be the same filter, seen later.

        A filter with the same seed and parameters and at least as many items is taken for it.
        """
        return self.fixed == later.fixed and self.count <= later.count

    def has_shape_of(self, later: Identity) -> bool:
        """Whether no layer was added, dropped or resized until `later`."""
        return self.shape == later.shape


def identity_call(key: str, family: str = "BF") -> tuple[Word, ...]:
    """The call whose reply `identity_in` takes, for a filter of Bloomline: `BF` or `CF`."""
    if family == "CF":
        return ("CF.INFO", key)
    return ("BF.STATS", key, *(name.encode() for name in (*_FIXED, *_SHAPE, "items")))


def identity_in(reply: Any) -> Identity:
    """The identity in a reply of `identity_call`, or of BF.INFO on other servers."""
    fields = as_dict(reply)
    if "seed" not in fields:
        # An addition to a cuckoo filter moves other items, so their number is part of its shape.
        is_cuckoo = "Bucket size" in fields
        items = 0 if is_cuckoo else fields.pop("Number of items inserted")
        fixed = str(fields.pop("Expansion rate", None))
        return Identity(fixed, str(sorted(fields.items())), items)
    fixed = hashlib.sha256("/".join(str(fields[name]) for name in _FIXED).encode()).hexdigest()[:16]
    shape = "/".join(str(fields[name]) for name in _SHAPE)
    return Identity(fixed, shape, fields["items" if fields["window"] is None else "rotations"])


class Watch:
    """The filter that a command began with, and how it was seen last.

    After each call `see` takes the reply of an `identity_call` of the same transaction, so a filter
    that was replaced meanwhile is noticed, also by an older state of the same one.
    """

    def __init__(self, key: str, *, is_there: bool = False) -> None:
        """`is_there`: the filter is known to exist."""
        self.key = key
        self._is_there = is_there
        self._seen: Identity | None = None

    def text(self) -> str:
        """The filter as it is stored beside a position."""
        return f"{self._seen.fixed} {self._seen.count}" if self._seen is not None else ""

    def remember(self, fixed: str, count: int) -> None:
        """Sets the filter to that of a stored text."""
        self._seen = Identity(fixed, "", count)

    def see(self, reply: Any) -> None:
        """Compares the filter with the one that was seen last, and remembers it.

        Raises:
            BloomlineError: the key holds another filter, an older state of it, or none.
        """
        if isinstance(reply, Exception):
            if not is_missing(reply):
                raise reply
            raise BloomlineError(f"{self.key} was deleted, or has expired")
        found = identity_in(reply)
        if self._seen is not None and not self._seen.may_become(found):
            raise BloomlineError(f"{self.key} holds another filter than before, or an older state")
        self._seen = found
        self._is_there = True

    def notice(self, reply: Any) -> None:
        """As `see`, as far as the server and the user's rights show the filter."""
        if not isinstance(reply, Exception) or (self._is_there and is_missing(reply)):
            self.see(reply)
