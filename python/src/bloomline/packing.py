"""Packs items into batches, as BF.BULKADD and its relatives take them.

An item is a `str`, which stands for its UTF-8 bytes, or bytes. A batch has about 1 MiB or 16,384
items, so the server is blocked for at most about a millisecond per batch, and memory is bounded.
Only a single item makes a batch of more than 4 MiB; servers accept 512 MiB by default.
"""

from __future__ import annotations

import io
import itertools
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Union

Item = Union[str, bytes, bytearray, memoryview]
Word = Union[str, bytes, memoryview, int, float]

BATCH_BYTES = 1 << 20
BATCH_ITEMS = 1 << 14
# Where items are much larger than those before them, a batch is split.
MOST_BYTES = 4 * BATCH_BYTES
_FIRST_ITEMS = 256

_PREFIX = struct.Struct("<I")


def whole(name: str, value: Any) -> int:
    """Returns a number of any type, such as those of numpy, as an `int`.

    Raises:
        ValueError: it is no whole number.
    """
    try:
        number = int(value)
    except (OverflowError, TypeError, ValueError):
        number = None
    if number is None or number != value:
        raise ValueError(f"{name} must be a whole number, not {value!r}")
    return number


@dataclass(frozen=True)
class Fixed:
    """Items of equal width in one block of bytes, which is sent without a copy.

    `width` is in bytes, 1 or more; the block has a whole number of items.
    """

    block: Any
    width: int

    def __post_init__(self) -> None:
        size = memoryview(self.block).nbytes
        object.__setattr__(self, "width", whole("width", self.width))
        if self.width < 1 or size % self.width:
            raise ValueError(f"{size} bytes are no whole number of items of {self.width} bytes")


@dataclass(frozen=True)
class Lines:
    """A block of bytes with one item per line, which is sent without a copy per line.

    LF and CRLF end a line. An empty line is no item, but has a place among the answers.
    """

    block: Any


Items = Union[Iterable[Item], Fixed, Lines]


@dataclass(frozen=True)
class Batch:
    """Packed items of one call."""

    form: tuple[Word, ...]
    data: bytes | memoryview
    #: The items one by one, for servers without packed calls; None for an empty line.
    items: Iterable[Item | None]


def batches(items: Items) -> Iterator[Batch]:
    """Yields the items in batches, in order.

    An array of numpy, or another object with the buffer protocol, is one item per element of its
    first dimension: the bytes as they are in memory. It is sent without a copy.

    Raises:
        TypeError: an item is neither text nor bytes, or the items are one `str` or `bytes`.
    """
    if isinstance(items, Lines):
        return _of_lines(items.block)
    if isinstance(items, Fixed):
        return _of_block(memoryview(items.block).cast("B"), items.width)
    if isinstance(items, (str, bytes, bytearray)):
        raise TypeError("one text is no list of items: use Lines(block) or Fixed(block, width)")
    try:
        view = memoryview(items)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return _of_iterable(items)
    return _of_array(view)


def _of_array(view: memoryview) -> Iterator[Batch]:
    if view.format.endswith(("w", "u", "O")):
        raise TypeError("an array of text or objects has no bytes of items: use array.tolist()")
    if not view.c_contiguous:
        raise TypeError("the array is not contiguous: use numpy.ascontiguousarray(array)")
    if view.ndim == 0:
        raise TypeError("the array has no dimension")
    count = (view.shape or (0,))[0]
    if count == 0:
        return iter(())
    width = view.nbytes // count
    if width == 0:
        raise ValueError("the rows of the array have no bytes")
    try:
        block = view.cast("B")
    except TypeError:
        # `cast` knows the formats of single numbers only; numpy has others, such as S20 and >u8.
        block = memoryview(view.obj.view("u1")).cast("B")  # type: ignore[attr-defined]
    return _of_block(block, width)


def _of_block(block: memoryview, width: int) -> Iterator[Batch]:
    step = max(1, min(BATCH_ITEMS, BATCH_BYTES // width)) * width
    for start in range(0, block.nbytes, step):
        data = block[start : start + step]
        items = _Slices(data, width)
        yield Batch((b"FIXED", width), data, items)


@dataclass(frozen=True)
class _Slices:
    data: memoryview
    width: int

    def __iter__(self) -> Iterator[bytes]:
        for at in range(0, len(self.data), self.width):
            yield bytes(self.data[at : at + self.width])


def _of_lines(block: Any) -> Iterator[Batch]:
    view = memoryview(block).cast("B")
    start, size = 0, BATCH_BYTES
    while start < len(view):
        data = view[start : start + size]
        if start + size < len(view):
            # A view has no `rfind`, and the block may be a file that is mapped into memory.
            end = bytes(data).rfind(b"\n") + 1
            if end == 0:
                size *= 2
                continue
            data = data[:end]
        yield Batch((b"LINES",), data, _SplitLines(data))
        start, size = start + len(data), BATCH_BYTES


@dataclass(frozen=True)
class _SplitLines:
    data: memoryview

    def __iter__(self) -> Iterator[bytes | None]:
        for line in io.BytesIO(self.data):
            yield line.removesuffix(b"\n").removesuffix(b"\r") or None


def _of_iterable(items: Iterable[Item]) -> Iterator[Batch]:
    # The size of items is unknown: the first batch is small, and its mean sizes the next.
    remaining = iter(items)
    batch = _first_of(remaining)
    start = count = len(batch)
    while batch:
        size = 0
        for packed in _pack_in_parts(batch):
            size += len(packed.data)
            yield packed
        fitting = BATCH_BYTES * len(batch) // max(size, 1)
        count = max(1, min(BATCH_ITEMS, fitting, 16 * count))
        # A slice of a list takes a quarter of the time of an iterator.
        if isinstance(items, list):
            batch = items[start : start + count]
            start += count
        else:
            batch = list(itertools.islice(remaining, count))


def _first_of(items: Iterator[Item]) -> list[Item]:
    batch, size = [], 0
    for item in itertools.islice(items, _FIRST_ITEMS):
        batch.append(item)
        # Packing refuses others.
        size += len(item) if isinstance(item, (str, bytes, bytearray, memoryview)) else 0
        if size >= BATCH_BYTES:
            break
    return batch


def _pack_in_parts(items: list[Item]) -> Iterator[Batch]:
    packed = pack(items)
    if len(packed.data) <= MOST_BYTES or len(items) == 1:
        yield packed
    else:
        half = len(items) // 2
        yield from _pack_in_parts(items[:half])
        yield from _pack_in_parts(items[half:])


def pack(items: list[Item]) -> Batch:
    """Packs items in the form that takes the least time: LINES where their bytes allow it."""
    try:
        lines = "\n".join(items).encode()  # type: ignore[arg-type]
    except TypeError:
        items = [item.encode() if isinstance(item, str) else item for item in items]
        if check_types(items):
            items = [bytes(item) for item in items]  # type: ignore[arg-type]
        lines = b"\n".join(items)  # type: ignore[arg-type]
    if _is_lines(lines, items):
        return Batch((b"LINES",), lines, items)
    encoded = [item.encode() if isinstance(item, str) else item for item in items]
    widths = set(map(len, encoded))
    if len(widths) == 1 and (width := widths.pop()):
        return Batch((b"FIXED", width), b"".join(encoded), items)
    prefixes = map(_PREFIX.pack, map(len, encoded))
    data = b"".join(itertools.chain.from_iterable(zip(prefixes, encoded)))
    return Batch((b"PREFIXED",), data, items)


def check_types(items: list[Item]) -> bool:
    """Returns whether an item is a view, whose bytes may lie apart.

    Raises:
        TypeError: an item is not bytes.
    """
    has_view = False
    for item in items:
        if isinstance(item, memoryview):
            has_view = True
            # The bytes of another view are those of one machine.
            if item.format != "B":
                raise TypeError("an item that is a memoryview must have the format B")
        elif not isinstance(item, (bytes, bytearray)):
            raise TypeError(f"an item must be str or bytes, not {type(item).__name__}")
    return has_view


def _is_lines(data: bytes, items: list[Item]) -> bool:
    """Whether items that were joined by LF are these items again when the server cuts lines."""
    # The rare CR is refused anywhere, since a search for one byte takes the least time.
    return b"\r" not in data and all(items) and data.count(b"\n") == len(items) - 1
