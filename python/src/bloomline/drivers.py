"""Runs programs on clients: the only code that differs between waiting and asyncio."""

from __future__ import annotations

from typing import Any, TypeVar

from .errors import response_errors
from .packing import Word
from .programs import Call, Program
from .replies import is_unknown

T = TypeVar("T")


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


def _send(client: Any, calls: list[Call]) -> list[Any]:
    # Bits are no text, so replies are not decoded, whatever the client does otherwise.
    if len(calls) == 1:
        try:
            return [client.execute_command(*calls[0], NEVER_DECODE=True)]
        except response_errors() as error:
            return [error]
    with client.pipeline(transaction=False) as pipeline:
        for call in calls:
            pipeline.execute_command(*call, NEVER_DECODE=True)
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
    if len(calls) == 1:
        try:
            return [await client.execute_command(*calls[0], NEVER_DECODE=True)]
        except response_errors() as error:
            return [error]
    async with client.pipeline(transaction=False) as pipeline:
        for call in calls:
            pipeline.execute_command(*call, NEVER_DECODE=True)
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
    if not hasattr(client, "get_node_from_key"):
        return client
    return client.get_redis_connection(client.get_node_from_key(key))


def has_filter(client: Any, key: str) -> bool:
    """Whether the key holds a Bloom filter. An error reply, as for another type, is raised."""
    return call(client, "BF.CARD", key) != 0 or bool(call(client, "EXISTS", key))


def beside(key: str, name: str) -> str:
    """Returns the name of a further key in the slot of a key."""
    return f"{key}:{name}" if "{" in key else f"{{{key}}}:{name}"
