"""The exceptions of this package. Those of the client library pass through unchanged."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .answers import Answers


class BloomlineError(Exception):
    """The base of all exceptions of this package."""


class BulkError(BloomlineError):
    """A call of many items ended early. `__cause__` is the error of the server or the connection.

    Attributes:
        answers: one for each item that has an answer, in order, from the first item on.
        processed: the number of these items. Of a Bloom filter all of them are in the filter, so
            continue at item `processed`, counted from 0.
        new: the number of items that this call added. It may include items after `processed`
            from calls that were sent ahead. They are in the filter too: repeating them changes
            nothing, and their answers are then 0.

    A cuckoo filter that is full still tries the items after a refused one. So of a cuckoo filter
    the items with the answer 0 were not added. If the connection was lost, the items of the calls
    without a reply may be in the filter.
    """

    def __init__(self, message: str, answers: Answers, new: int) -> None:
        # All of them are in `args`, from which pickle and copy make an exception again.
        super().__init__(message, answers, new)
        self.answers = answers
        self.processed = len(answers)
        self.new = new

    def __str__(self) -> str:
        return str(self.args[0])


def response_errors() -> tuple[type[Exception], ...]:
    """Returns the classes of the server's error replies, of the client libraries in use."""
    return error_classes("ResponseError")


def connection_errors() -> tuple[type[Exception], ...]:
    """Returns the classes of lost connections, of the client libraries in use."""
    return error_classes("ConnectionError", "TimeoutError")


def cluster_errors() -> tuple[type[Exception], ...]:
    """Returns the classes of the replies with which a node refuses a call that is not its own."""
    return error_classes("AskError", "MovedError", "TryAgainError", "ClusterDownError")


# The text of both client libraries for a connection that was not made: the server, and why.
_NO_CONNECTION = re.compile(r"Error -?\d+ connecting to (?:unix socket: )?(.*?)\. (.*?)\.?")
# Those for one that was lost have the reason in quotes, or as their last sentence.
_LOST = re.compile(r"Error .*?(?:\(-?\d+, '(.*)'\)|\. (.*?)\.?)")


def reason_of(error: BaseException) -> str:
    """Returns the text of an error, without the numbers of the operating system and of slots."""
    text = str(error)
    if isinstance(error, OSError) and error.strerror:
        name = f"{error.filename}: " if error.filename is not None else ""
        return f"{name}{error.strerror}"
    if isinstance(error, error_classes("MovedError", "AskError")):
        return f"the key is on another node of a cluster, so use a client of clusters ({text})"
    if isinstance(error, connection_errors()):
        if found := _NO_CONNECTION.fullmatch(text):
            return f"{found[1]}: {found[2]}"
        if found := _LOST.fullmatch(text):
            return found[1] or found[2]
    return text


def library_errors() -> tuple[type[Exception], ...]:
    """Returns the base classes of all errors of the client libraries in use."""
    return (*error_classes("RedisError", "ValkeyError"), *cluster_exceptions())


def cluster_exceptions() -> tuple[type[Exception], ...]:
    """Returns the classes with which a client says that it finds no cluster."""
    return error_classes("RedisClusterException", "ValkeyClusterException")


def error_classes(*names: str) -> tuple[type[Exception], ...]:
    """Returns the classes of these names, of the client libraries in use."""
    # A library that nobody has imported has raised nothing.
    modules = [sys.modules.get(f"{name}.exceptions") for name in ("redis", "valkey")]
    found = (getattr(module, name, None) for module in modules for name in names)
    return tuple(each for each in found if each is not None)
