"""Runs programs on clients: the only code that differs between waiting and asyncio."""

from __future__ import annotations

import binascii
import contextlib
import importlib
import inspect
from collections.abc import Awaitable
from functools import cache
from itertools import count
from typing import Any, Callable, TypeVar

from .errors import cluster_errors, connection_errors, response_errors
from .packing import Word
from .programs import Call, Program
from .replies import is_unknown

T = TypeVar("T")

# A repetition of these calls would add or delete a second copy.
_ONCE = {"CF.ADD", "CF.BULKADD", "CF.DEL", "CF.BULKDEL"}

_PAIR = 2

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


def _go_on_after(error: Exception, program: Program[T], calls: list[Call]) -> list[Call]:
    # A client of a cluster raises this before it sends anything. One server replies with it.
    return program.send([error] * len(calls)) if is_unknown(error) else program.throw(error)


def _are_once(calls: list[Call]) -> bool:
    return not _ONCE.isdisjoint([call[0] for call in calls])


def _are_pair(calls: list[Call]) -> bool:
    """Whether these are two calls of one filter, as for each single item of a filter in shards.

    A pipeline of the libraries takes a third longer for them, that of a cluster twice as long.
    """
    return len(calls) == _PAIR and calls[0][1:2] == calls[1][1:2] and not _are_once(calls)


def _is_cluster(client: Any) -> bool:
    return hasattr(client, "get_node_from_key")


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
    for call in calls:
        pipeline.execute_command(*call, **_BYTES)


# Bits are no text, so replies are not decoded, whatever the client does otherwise.
_BYTES = {"NEVER_DECODE": True}


def _send(client: Any, calls: list[Call]) -> list[Any]:
    if _is_cluster(client):
        return _send_to_cluster(client, calls)
    if len(calls) == 1 and not _are_once(calls):
        return _execute(client, calls[0], _BYTES)
    if _are_pair(calls) and hasattr(client, "connection_pool"):
        return _exchange(client.connection_pool, calls)
    return _send_pipeline(client, calls)


def _send_pipeline(client: Any, calls: list[Call]) -> list[Any]:
    with client.pipeline(transaction=False) as pipeline:
        _fill(pipeline, calls)
        replies: list[Any] = pipeline.execute(raise_on_error=False)
        return replies


def _execute(client: Any, call: Call, options: dict[str, Any]) -> list[Any]:
    try:
        return [client.execute_command(*call, **options)]
    except response_errors() as error:
        return [error]


def _exchange(pool: Any, calls: list[Call]) -> list[Any]:
    """Sends calls on one connection, and then reads their replies."""
    connection = pool.get_connection(*_names(type(pool).get_connection))

    def exchange() -> list[Any]:
        connection.send_packed_command(connection.pack_commands(calls))
        replies = []
        for _ in calls:
            try:
                replies.append(connection.read_response(disable_decoding=True))
            except response_errors() as error:
                replies.append(error)
        return replies

    try:
        replies: list[Any] = connection.retry.call_with_retry(
            exchange, lambda _: connection.disconnect()
        )
        return replies
    except BaseException:
        # Some replies may not have been read.
        connection.disconnect()
        raise
    finally:
        pool.release(connection)


@cache
def _names(get_connection: Callable[..., Any]) -> list[str]:
    """The arguments of a method of pools: older releases require the name of a command."""
    parameter = inspect.signature(get_connection).parameters.get("command_name")
    return ["_"] if parameter is not None and parameter.default is parameter.empty else []


def _send_to_cluster(client: Any, calls: list[Call]) -> list[Any]:
    if len(calls) == 1:
        return _execute(client, calls[0], _options(client, calls[0]))
    if _needs_single_calls(client, calls):
        return [reply for call in calls for reply in _send_to_cluster(client, [call])]
    if _are_pair(calls):
        # If the node is gone, a pipeline finds its successor.
        with contextlib.suppress(*connection_errors()):
            found = _exchange(node_of(client, calls[0][1]).connection_pool, calls)
            moved = cluster_errors()
            return [
                _send_to_cluster(client, [call])[0] if isinstance(reply, moved) else reply
                for call, reply in zip(calls, found)
            ]
    return _send_pipeline(client, calls)


def _needs_single_calls(client: Any, calls: list[Call]) -> bool:
    """Whether a pipeline of a cluster would repeat calls that must not be repeated.

    It sends each call of a lost connection again by itself, whatever the options of the client.
    """
    # An attribute of valkey-py, and of redis-py before version 6.
    attempts = getattr(client, "cluster_error_retry_attempts", None)
    repetitions = client.retry.get_retries() if attempts is None else attempts
    return not repetitions or _are_once(calls)


def _options(client: Any, call: Call) -> dict[str, Any]:
    if call[0] in _ONCE:
        # The client of a cluster repeats no call to a node that it is given.
        return {"target_nodes": client.get_node_from_key(call[1]), **_BYTES}
    return _BYTES


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
    if _is_cluster(client):
        return await _send_to_cluster_async(client, calls)
    if len(calls) == 1 and not _are_once(calls):
        return await _execute_async(client, calls[0], _BYTES)
    if _are_pair(calls) and hasattr(client, "connection_pool"):
        return await _exchange_async(client.connection_pool, calls)
    return await _send_pipeline_async(client, calls)


async def _send_pipeline_async(client: Any, calls: list[Call]) -> list[Any]:
    async with client.pipeline(transaction=False) as pipeline:
        _fill(pipeline, calls)
        replies: list[Any] = await pipeline.execute(raise_on_error=False)
        return replies


async def _execute_async(client: Any, call: Call, options: dict[str, Any]) -> list[Any]:
    try:
        return [await client.execute_command(*call, **options)]
    except response_errors() as error:
        return [error]


async def _exchange_async(pool: Any, calls: list[Call]) -> list[Any]:
    connection = await pool.get_connection(*_names(type(pool).get_connection))

    async def exchange() -> list[Any]:
        await connection.send_packed_command(connection.pack_commands(calls))
        replies = []
        for _ in calls:
            try:
                replies.append(await connection.read_response(disable_decoding=True))
            except response_errors() as error:
                replies.append(error)
        return replies

    try:
        replies: list[Any] = await connection.retry.call_with_retry(
            exchange, lambda _: connection.disconnect()
        )
        return replies
    except BaseException:
        await connection.disconnect(nowait=True)
        raise
    finally:
        await pool.release(connection)


async def _send_to_cluster_async(client: Any, calls: list[Call]) -> list[Any]:
    # It knows its nodes from then on.
    await client.initialize()
    if len(calls) == 1:
        return await _execute_async(client, calls[0], _options(client, calls[0]))
    if _needs_single_calls(client, calls):
        return [reply for call in calls for reply in await _send_to_cluster_async(client, [call])]
    return await _send_pipeline_async(client, calls)


def call(client: Any, *words: Word) -> Any:
    """Makes one call. An error reply is raised."""
    (reply,) = _send(client, [words])
    if isinstance(reply, Exception):
        raise reply
    return reply


def node_of(client: Any, key: Word) -> Any:
    """Returns a client of the node that has the key: of a cluster, or the client itself."""
    if not _is_cluster(client):
        return client
    # Each library has its own name in it.
    connection_to = getattr(client, "get_redis_connection", None) or client.get_valkey_connection
    return connection_to(client.get_node_from_key(key))


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
