"""Runs programs on clients: the only code that differs between waiting and asyncio."""

from __future__ import annotations

import binascii
import importlib
import inspect
from collections.abc import Awaitable
from itertools import count
from typing import Any, TypeVar

from .errors import response_errors
from .packing import Word
from .programs import Call, Program
from .replies import is_unknown

T = TypeVar("T")

# A repetition of these calls would add or delete a second copy.
_ONCE = {"CF.ADD", "CF.BULKADD", "CF.DEL", "CF.BULKDEL"}

# The slots of a cluster.
SLOTS = 16_384


def check_client(client: Any, kind: type, *, is_async: bool) -> None:
    """Raises a TypeError if a class of filters cannot use the client, which names another one."""
    name = kind.__name__
    # What a pipeline returns, and a client of asyncio, is true whatever the reply is.
    if hasattr(client, "execute"):
        raise TypeError("this is a pipeline, whose replies come later: use its client")
    if inspect.iscoroutinefunction(getattr(client, "execute_command", None)):
        if not is_async:
            raise TypeError(f"this is a client of asyncio: use Async{name} instead of {name}")
    elif is_async and hasattr(client, "__enter__") and not hasattr(client, "__aenter__"):
        raise TypeError(f"this is no client of asyncio: use {name[5:]} instead of {name}")


def run(client: Any, program: Program[T]) -> T:
    """Runs a program on a client of redis-py or valkey-py, or of a cluster."""
    try:
        calls = next(program)
        while True:
            try:
                replies = _send(client, calls)
            except Exception as error:
                calls = _go_on_after(error, program, calls)
            else:
                calls = program.send(replies)
    except StopIteration as end:
        result: T = end.value
        return result


class _Once:
    """A pool of connections that repeat no call, for the one connection of a pipeline.

    A client repeats a call after a lost connection as often as its option `retry` says, which the
    connection has.
    """

    def __init__(self, pool: Any) -> None:
        self._pool = pool
        self._retry: Any = None

    def get_connection(self, *words: Any) -> Any:
        found = self._pool.get_connection(*words)
        return self._change_later(found) if inspect.isawaitable(found) else self._change(found)

    async def _change_later(self, found: Awaitable[Any]) -> Any:
        return self._change(await found)

    def _change(self, connection: Any) -> Any:
        self._retry = retry = connection.retry
        library = type(connection).__module__.partition(".")[0]
        no_backoff = importlib.import_module(f"{library}.backoff").NoBackoff()
        connection.retry = type(retry)(no_backoff, 0)
        return connection

    def release(self, connection: Any) -> Any:
        connection.retry = self._retry
        return self._pool.release(connection)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._pool, name)


def _fill(pipeline: Any, calls: list[Call]) -> None:
    if _are_once(calls):
        pipeline.connection_pool = _Once(pipeline.connection_pool)
    # Bits are no text, so replies are not decoded, whatever the client does otherwise.
    for call in calls:
        pipeline.execute_command(*call, NEVER_DECODE=True)


def _are_once(calls: list[Call]) -> bool:
    return any(call[0] in _ONCE for call in calls)


def _is_cluster(client: Any) -> bool:
    return hasattr(client, "get_node_from_key")


def _repeats(client: Any) -> bool:
    """Whether the client of a cluster repeats calls after a lost connection."""
    # An attribute of valkey-py, and of redis-py before version 6.
    attempts = getattr(client, "cluster_error_retry_attempts", None)
    return bool(client.retry.get_retries() if attempts is None else attempts)


def _needs_single_calls(client: Any, calls: list[Call]) -> bool:
    """Whether a pipeline of a cluster would repeat calls that must not be repeated.

    It sends each call of a lost connection again by itself, whatever the options of the client.
    """
    return _is_cluster(client) and len(calls) > 1 and (_are_once(calls) or not _repeats(client))


def _options(client: Any, call: Call) -> dict[str, Any]:
    if call[0] in _ONCE and _is_cluster(client):
        # The client of a cluster repeats no call to a node that it is given.
        return {"target_nodes": client.get_node_from_key(call[1]), "NEVER_DECODE": True}
    return {"NEVER_DECODE": True}


def _send(client: Any, calls: list[Call]) -> list[Any]:
    if _needs_single_calls(client, calls):
        return [reply for call in calls for reply in _send(client, [call])]
    if len(calls) == 1 and (_is_cluster(client) or not _are_once(calls)):
        try:
            return [client.execute_command(*calls[0], **_options(client, calls[0]))]
        except response_errors() as error:
            return [error]
    with client.pipeline(transaction=False) as pipeline:
        _fill(pipeline, calls)
        replies: list[Any] = pipeline.execute(raise_on_error=False)
        return replies


def _go_on_after(error: Exception, program: Program[T], calls: list[Call]) -> list[Call]:
    # A client of a cluster raises this before it sends anything. One server replies with it.
    return program.send([error] * len(calls)) if is_unknown(error) else program.throw(error)


async def run_async(client: Any, program: Program[T]) -> T:
    """Runs a program on a client of `redis.asyncio` or `valkey.asyncio`, or of a cluster."""
    try:
        calls = next(program)
        while True:
            try:
                replies = await _send_async(client, calls)
            except Exception as error:
                calls = _go_on_after(error, program, calls)
            else:
                calls = program.send(replies)
    except StopIteration as end:
        result: T = end.value
        return result


async def _send_async(client: Any, calls: list[Call]) -> list[Any]:
    if _is_cluster(client) and _are_once(calls):
        # It knows its nodes from then on.
        await client.initialize()
    if _needs_single_calls(client, calls):
        return [reply for call in calls for reply in await _send_async(client, [call])]
    if len(calls) == 1 and (_is_cluster(client) or not _are_once(calls)):
        try:
            return [await client.execute_command(*calls[0], **_options(client, calls[0]))]
        except response_errors() as error:
            return [error]
    async with client.pipeline(transaction=False) as pipeline:
        _fill(pipeline, calls)
        replies: list[Any] = await pipeline.execute(raise_on_error=False)
        return replies


def call(client: Any, *words: Word) -> Any:
    """Makes one call. An error reply is raised."""
    (reply,) = _send(client, [words])
    if isinstance(reply, Exception):
        raise reply
    return reply


def node_of(client: Any, key: str) -> Any:
    """Returns a client of the node that has the key: of a cluster, or the client itself."""
    if not _is_cluster(client):
        return client
    return client.get_redis_connection(client.get_node_from_key(key))


def has_filter(client: Any, key: str) -> bool:
    """Whether the key holds a Bloom filter. An error reply, as for another type, is raised."""
    return call(client, "BF.CARD", key) != 0 or bool(call(client, "EXISTS", key))


def slot_of(key: str) -> int:
    """Returns the slot of a key in a cluster: CRC-16/XMODEM of its tag, or else of all of it."""
    data = _bytes_of(key)
    return binascii.crc_hqx(_tag_of(data) or data, 0) % SLOTS


def _bytes_of(key: str) -> bytes:
    return key.encode("utf-8", "surrogateescape")


def _tag_of(data: bytes) -> bytes:
    """The bytes between the first opening brace and the next closing one."""
    _, _, rest = data.partition(b"{")
    tag, end, _ = rest.partition(b"}")
    return tag if end else b""


def beside(key: str, name: str) -> str:
    """Returns the name of a further key in the slot of a key."""
    if _tag_of(_bytes_of(key)):
        return f"{key}:{name}"
    if key and "}" not in key:
        return f"{{{key}}}:{name}"
    # Its closing brace would end a tag too early, so another text of the same slot is the tag.
    slot = slot_of(key)
    tag = next(number for number in count() if slot_of(str(number)) == slot)
    return f"{{{tag}}}:{key}:{name}"
