"""A filter in a file: the chunks of SCANDUMP, and a checksum.

The file is a sequence of records, all integers little-endian:

| bytes | content |
|---|---|
| 8 | `BLMLDMP1` |
| 2 | `BF` or `CF` |
| 8 | milliseconds that the key had to live, or -1 |
| per chunk: 8, 8, then the data | iterator, length of the data |
| 8, 8 | 0, 0: the end |
| 32 | SHA-256 of all bytes before |
"""

from __future__ import annotations

import contextlib
import hashlib
import secrets
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, Any, Callable

from ..drivers import beside, call, run
from ..errors import BloomlineError
from ..programs import Call, Program
from ..replies import executed_of

MAGIC = b"BLMLDMP1"
_RECORD = struct.Struct("<qQ")
_TTL = struct.Struct("<q")

# SCANDUMP returns 16 MiB at most; a length beyond this is damage, and not allocated.
_MOST = 64 << 20

# How long a temporary key lives after its last chunk.
_LOADING_MS = 10 * 60 * 1000

_FAMILY_OF = {b"MBbloom--": b"BF", b"bloomfltr": b"BF", b"MBbloomCF": b"CF"}

Chunk = tuple[int, bytes]


@dataclass(frozen=True)
class Head:
    """What a dump has beside its chunks: `BF` or `CF`, and milliseconds to live or -1."""

    family: bytes
    ttl: int


def head_of(client: Any, key: str) -> Head:
    """Reads the type and the time to live of a filter.

    Raises:
        BloomlineError: the key does not exist, or holds another type.
    """
    kind = call(client, "TYPE", key)
    kind = kind.encode() if isinstance(kind, str) else kind
    if kind == b"none":
        raise BloomlineError(f"there is no key {key}")
    if kind not in _FAMILY_OF:
        raise BloomlineError(f"{key} holds no filter of this module, but: {kind.decode()}")
    return Head(_FAMILY_OF[kind], call(client, "PTTL", key))


def chunks_of(client: Any, head: Head, key: str) -> Iterator[Chunk]:
    """Yields the chunks of a filter, of 16 MiB at most."""
    iterator = 0
    while True:
        iterator, data = call(client, head.family.decode() + ".SCANDUMP", key, iterator)
        if iterator == 0:
            return
        yield iterator, data


def load_chunks(
    client: Any, head: Head, key: str, chunks: Iterator[Chunk], *, replace: bool
) -> None:
    """Writes chunks under a temporary key, which becomes `key` when all of them are loaded.

    The temporary key is of this call alone, and expires if the call is killed.

    Raises:
        BloomlineError: the key exists, and `replace` is false; or the server has other bits than
            were loaded.
    """
    if not replace and call(client, "EXISTS", key):
        raise BloomlineError(f"{key} exists: use --replace, or another key")
    # In a cluster both keys are in one slot.
    loading = beside(key, f"loading:{secrets.token_hex(8)}")
    expire: Call = ("PEXPIRE", loading, _LOADING_MS)
    loaded = hashlib.sha256()
    try:
        for iterator, data in chunks:
            add: Call = (head.family.decode() + ".LOADCHUNK", loading, iterator, data)
            _execute(client, [add, expire])
            _add_bits(loaded, iterator, data)
        found = hashlib.sha256()
        for iterator, data in chunks_of(client, head, loading):
            _add_bits(found, iterator, data)
            call(client, *expire)
        if found.digest() != loaded.digest():
            raise BloomlineError(f"{key} is not created: the server has other bits than the file")
        ttl: Call = ("PEXPIRE", loading, head.ttl) if head.ttl >= 0 else ("PERSIST", loading)
        rename: Call = ("RENAME" if replace else "RENAMENX", loading, key)
        # The last call finds no key unless the name was taken.
        _, is_named, _ = _execute(client, [ttl, rename, expire])
        if not is_named:
            raise BloomlineError(f"{key} was created meanwhile: use --replace, or another key")
    except BaseException:
        # If the connection is lost, the key expires.
        with contextlib.suppress(Exception):
            call(client, "DEL", loading)
        raise


def _execute(client: Any, calls: list[Call]) -> list[Any]:
    """Runs calls in one transaction. An error reply is raised."""

    def program() -> Program[list[Any]]:
        executed = executed_of((yield [("MULTI",), *calls, ("EXEC",)]))
        for reply in executed if isinstance(executed, list) else [executed]:
            if isinstance(reply, Exception):
                raise reply
        return list(executed)

    return run(client, program())


def _add_bits(digest: Any, iterator: int, data: bytes) -> None:
    # Some servers leave out chunks of zeros.
    if data.count(0) < len(data):
        digest.update(_RECORD.pack(iterator, len(data)) + data)


def write(file: IO[bytes], head: Head, chunks: Iterator[Chunk]) -> int:
    """Writes a dump. Returns its bytes."""
    checksum = hashlib.sha256()
    size = 0

    def put(data: bytes) -> None:
        nonlocal size
        checksum.update(data)
        file.write(data)
        size += len(data)

    put(MAGIC + head.family + _TTL.pack(head.ttl))
    for iterator, data in chunks:
        put(_RECORD.pack(iterator, len(data)))
        put(data)
    put(_RECORD.pack(0, 0))
    file.write(checksum.digest())
    return size + checksum.digest_size


def read(file: IO[bytes], name: str) -> tuple[Head, Iterator[Chunk]]:
    """Returns the head of a dump, and its chunks as they are read. `name` is that of the file.

    Raises:
        BloomlineError: this is no dump. The iterator raises it for damage, and ends without only
            if the checksum is right; so use no chunk of it for good before its end.
    """
    checksum = hashlib.sha256()

    def take(size: int) -> bytes:
        data = file.read(size)
        if len(data) != size:
            raise BloomlineError(f"{name} is no whole dump: it ends too early")
        checksum.update(data)
        return data

    if take(len(MAGIC)) != MAGIC:
        raise BloomlineError(f"{name} is no dump of a filter: bad magic")
    head = Head(take(2), _TTL.unpack(take(_TTL.size))[0])
    if head.family not in _FAMILY_OF.values():
        raise BloomlineError(f"{name} is damaged: neither a Bloom nor a cuckoo filter")
    return head, _chunks(file, name, take, checksum.digest)


def _chunks(
    file: IO[bytes], name: str, take: Callable[[int], bytes], digest: Callable[[], bytes]
) -> Iterator[Chunk]:
    while True:
        iterator, length = _RECORD.unpack(take(_RECORD.size))
        if iterator == 0:
            break
        if length > _MOST:
            raise BloomlineError(f"{name} is damaged: a chunk of {length} bytes")
        yield iterator, take(length)
    if file.read() != digest():
        raise BloomlineError(f"{name} is damaged: its checksum is wrong")
